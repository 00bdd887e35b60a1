// SPDX-License-Identifier: Apache-2.0
// NSCC's window as a rate control of its own; beside credits it is in rccc.cpp. Equations: nscc.hpp.
#include "core/nic/pacing/nscc.hpp"

#include <unordered_map>

#include "core/config/error.hpp"

namespace exanet {

namespace {

constexpr double kNsccReferenceBytes = 150'000, kNsccReferencePs = 12e6;  // 100 Gb/s, 12 us
constexpr double kNsccGamma = 0.8, kNsccMostDecrease = 0.5, kNsccGain = 0.0125, kPsPerUs = 1e6;
constexpr double kAdaptShare = 1.0 / 8, kAdaptDelays = 4;
constexpr int kPacketsPerAdjustment = 8;

double in_ps(Time time) { return static_cast<double>(time.ps()); }

}  // namespace

NsccConstants::NsccConstants(std::uint32_t packet_bytes, std::uint64_t bits_per_second, Time round_trip)
    : packet(packet_bytes),
      bytes_per_ps(static_cast<double>(bits_per_second) / 8e12),
      network_ps(in_ps(round_trip)),
      target_ps(0.75 * network_ps) {
  require(round_trip > Time(), "router.hpcc_round_trip_ps",
          "hpcc_round_trip, the longest of an empty network, must be above 0");
  const double a = bytes_per_ps * network_ps / kNsccReferenceBytes, b = target_ps / kNsccReferencePs;
  alpha = 4 * packet * a * b / target_ps;
  fair = 5 * packet * a;
  constant = 0.15 * packet * a;
  fast = 0.25 * a;
}

NsccWindow::NsccWindow(const NsccConstants& constants, Time trip)
    : k_(constants),
      base_ps_(in_ps(trip)),
      most_(std::max(1.5 * base_ps_ * k_.bytes_per_ps, k_.packet)),
      window_(most_) {}

void NsccWindow::acknowledged(std::uint32_t bytes, bool marked, Time trip, Time now) {
  achieved_ += bytes;
  received_ += bytes;
  ignored_ += bytes;
  in_flight_ -= bytes;
  if (in_ps(trip) < base_ps_) {
    base_ps_ = in_ps(trip);
    most_ = std::max(1.5 * base_ps_ * k_.bytes_per_ps, k_.packet);
  }
  const double delay = in_ps(trip) - base_ps_;
  average(delay, marked);
  if (quick_adapt(false, marked, delay, now)) return;
  if (!marked)
    increase(bytes, delay);
  else if (delay >= k_.target_ps)
    decrease(now);
  bound();
  if (received_ > kPacketsPerAdjustment * k_.packet || in_ps(now - last_adjustment_) > k_.network_ps) adjust(now);
  bound();
}

void NsccWindow::lost(const Loss& loss, bool granted, Time now) {
  in_flight_ -= loss.bytes;
  if (loss.why == Loss::Why::kTimeout) {
    window_ = std::max(window_ - loss.bytes, k_.packet);
    return;
  }
  ignored_ += loss.bytes;
  average(k_.network_ps, true);
  loss_seen_ = true;
  if (quick_adapt(true, true, 0, now) || (granted && loss.why == Loss::Why::kTrimmedLast)) return;
  window_ -= loss.bytes;
  bound();
}

// True where it has set the window, or where what comes belongs to a window that it has cut already.
bool NsccWindow::quick_adapt(bool loss, bool skip, double delay_ps, Time now) {
  bool done = false;
  if (ignored_ < to_ignore_ && skip) {
    done = true;
  } else if (now > adapt_after_) {
    const bool congested = loss_seen_ || loss || delay_ps > kAdaptDelays * k_.target_ps;
    if (adapt_after_ > Time() && congested && achieved_ < most_ * kAdaptShare) {
      window_ = std::max(achieved_, k_.packet);
      to_ignore_ = in_flight_;
      ignored_ = 0;
      loss_seen_ = false;
      done = true;
    }
    achieved_ = 0;
    adapt_after_ = now + Time::ps(static_cast<std::int64_t>(base_ps_ + k_.target_ps));
  }
  if (done) increase_ = received_ = 0;
  return done;
}

void NsccWindow::increase(std::uint32_t bytes, double delay_ps) {
  if (delay_ps >= k_.target_ps) {
    increase_ += k_.fair * bytes;
    return;
  }
  if (delay_ps < kPsPerUs) {
    undelayed_ += bytes;
    if (undelayed_ > window_ || fast_) {
      window_ += bytes * k_.fast;
      fast_ = true;
      return;
    }
  } else {
    undelayed_ = 0;
  }
  fast_ = false;
  increase_ += k_.alpha * bytes * (k_.target_ps - delay_ps);
}

void NsccWindow::decrease(Time now) {
  fast_ = false;
  undelayed_ = 0;
  if (average_ps_ <= k_.target_ps || in_ps(now - last_decrease_) <= base_ps_) return;
  window_ *= std::max(1 - kNsccGamma * (average_ps_ - k_.target_ps) / average_ps_, kNsccMostDecrease);
  window_ = std::max(window_, k_.packet);
  last_decrease_ = now;
}

void NsccWindow::adjust(Time now) {
  window_ += increase_ / window_;
  if (in_ps(now - last_adjustment_) >= k_.network_ps) {
    window_ += k_.constant;
    last_adjustment_ = now;
  }
  increase_ = received_ = 0;
}

void NsccWindow::average(double delay_ps, bool marked) {
  const double sample = !marked && delay_ps > k_.target_ps ? base_ps_ / 4 : delay_ps;
  average_ps_ += kNsccGain * (sample - average_ps_);
}

namespace {

class Nscc final : public Pacing {
 public:
  Nscc(const PacingSetup& setup, NodeId node)
      : setup_(setup), node_(node), constants_(setup.packet_bytes, setup.payload_bits_per_second, setup.round_trip) {}

  Allowance allowance(NodeId peer, Time) override {
    return {.window_bytes = static_cast<std::uint64_t>(flow(peer).bytes())};
  }
  void sent(NodeId peer, std::uint32_t bytes, Time) override { flow(peer).sent(bytes); }
  void acknowledged(NodeId peer, const Feedback& feedback, Time now) override {
    flow(peer).acknowledged(feedback.bytes, (feedback.notes & Packet::kCongested) != 0, now - feedback.sent, now);
  }
  void lost(NodeId peer, const Loss& loss, Time now) override { flow(peer).lost(loss, false, now); }

 private:
  NsccWindow& flow(NodeId peer) {
    const auto found = flows_.find(peer);
    if (found != flows_.end()) return found->second;
    const Time trip = setup_.zero_load(node_, peer, setup_.packet_bytes) + setup_.zero_load(peer, node_, 0);
    return flows_.emplace(peer, NsccWindow(constants_, trip)).first->second;
  }

  PacingSetup setup_;
  NodeId node_;
  NsccConstants constants_;
  std::unordered_map<NodeId, NsccWindow> flows_;
};

PacingSetup nscc_sample(std::uint32_t packet) {
  PacingSetup setup{100'000'000'000, packet, packet, [](NodeId, NodeId, std::uint32_t) { return Time::us(6); }};
  setup.round_trip = Time::us(13);
  return setup;
}

}  // namespace

namespace pacings {

PacingKind nscc() {
  return {.name = "nscc",
          .help = "NSCC of Ultra Ethernet, a window by delays, marks and trimmed packets",
          .samples = {nscc_sample(256), nscc_sample(4096)},
          .make = [](const PacingSetup& setup, NodeId node) -> std::unique_ptr<Pacing> {
            return std::make_unique<Nscc>(setup, node);
          },
          .blocks = false,
          .packets = true};
}

}  // namespace pacings

}  // namespace exanet
