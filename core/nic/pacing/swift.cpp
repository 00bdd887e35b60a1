// SPDX-License-Identifier: Apache-2.0
// Swift: a window for each destination, which grows while the round trip is below a target and shrinks, once a round
// trip, by how far it is above.
//
// Source: Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020,
// section 3. Below the target w += ai acked/w, or ai acked where w is less than a packet; else, if the last cut is a
// round trip ago, w *= max(1 - beta (delay - target)/delay, 1 - max_mdf). The target is a base, the path's own delay,
// and what few packets in flight add, clamp(a/sqrt(w) - a/sqrt(100), 0, fs_range) with a = fs_range/(1/sqrt(0.1) -
// 1/sqrt(100)). A window of less than a block also limits the rate, to a window in a round trip.
//
// Limits: in place of hops times a time a hop, the path's own delay is the round trip in an empty network. A receiving
// interface takes data as fast as they come, so there is no endpoint delay and the endpoint's window is left out.
// Nothing is lost, so nothing reacts to losses. Delays are those of the last packet that an acknowledgement covers.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

constexpr double kLeastWindow = 0.001, kScaledFrom = 0.1, kScaledTo = 100;  // packets: uet-htsim, swift.cpp

class Swift final : public Pacing {
 public:
  Swift(const PacingSetup& setup, NodeId node) : setup_(setup), its_(setup.parameters), node_(node) {
    require(its_.swift_base_target > Time(), "ni.swift_base_target_ps", "swift_base_target must be more than 0");
    require(its_.swift_scaling_range >= Time(), "ni.swift_scaling_range_ps",
            "swift_scaling_range must not be negative");
    require(its_.swift_additive_packets > 0, "ni.swift_additive_packets", "swift_additive_packets must be more than 0");
    require(its_.swift_beta_percent <= 100, "ni.swift_beta_percent", "swift_beta must be at most 100 %");
    require(its_.swift_most_decrease_percent < 100, "ni.swift_most_decrease_percent",
            "swift_most_decrease must be less than 100 %");
  }

  Allowance allowance(NodeId peer, Time) override {
    const Flow& f = flow(peer);
    const double bytes = f.window * setup_.packet_bytes;
    Allowance allowed{.window_bytes = static_cast<std::uint64_t>(std::max(bytes, 1.0))};
    if (bytes < setup_.block_bytes && f.trip > Time())
      allowed.bits_per_second =
          static_cast<std::uint64_t>(std::max(bytes * 8e12 / static_cast<double>(f.trip.ps()), 1.0));
    return allowed;
  }

  void acknowledged(NodeId peer, const Feedback& feedback, Time now) override {
    Flow& f = flow(peer);
    f.trip = now - feedback.sent;
    const double delay = static_cast<double>(f.trip.ps()), target = this->target(f);
    const double packets = static_cast<double>(feedback.bytes) / setup_.packet_bytes;
    if (delay < target) {
      f.window += its_.swift_additive_packets * packets / std::max(f.window, 1.0);
    } else if (f.cut == Time() || now - f.cut >= f.trip) {
      const double keeps = 1 - its_.swift_beta_percent * 0.01 * (delay - target) / delay;
      f.window *= std::max(keeps, 1 - its_.swift_most_decrease_percent * 0.01);
      f.cut = now;
    }
    f.window = std::clamp(f.window, kLeastWindow, f.most);
  }

 private:
  struct Flow {
    double window, most;  // packets
    double empty_ps;  // the round trip in an empty network
    Time trip, cut;  // the last one; when the window was cut
  };

  double target(const Flow& f) const {
    const double range = static_cast<double>(its_.swift_scaling_range.ps());
    const double a = range / (1 / std::sqrt(kScaledFrom) - 1 / std::sqrt(kScaledTo));
    return static_cast<double>(its_.swift_base_target.ps()) + f.empty_ps +
           std::clamp(a / std::sqrt(f.window) - a / std::sqrt(kScaledTo), 0.0, range);
  }

  // A window begins, and ends, at what the link carries in a round trip of the target.
  Flow& flow(NodeId peer) {
    const auto found = flows_.find(peer);
    if (found != flows_.end()) return found->second;
    const Time empty = setup_.zero_load(node_, peer, setup_.packet_bytes) + setup_.zero_load(peer, node_, 0);
    const double most = static_cast<double>((its_.swift_base_target + empty).ps()) * 1e-12 *
                            static_cast<double>(setup_.bits_per_second) / 8 / setup_.packet_bytes +
                        static_cast<double>(setup_.block_bytes) / setup_.packet_bytes;
    return flows_.emplace(peer, Flow{most, most, static_cast<double>(empty.ps()), Time(), Time()}).first->second;
  }

  PacingSetup setup_;
  PacingParameters its_;
  NodeId node_;
  std::unordered_map<NodeId, Flow> flows_;
};

}  // namespace

namespace pacings {

PacingKind swift() {
  const auto trip = [](NodeId, NodeId, std::uint32_t) { return Time::us(1); };
  return {"swift",
          "Swift, a window by the delay of round trips against a target",
          {{.bits_per_second = 10'000'000'000, .packet_bytes = 256, .block_bytes = 4096, .zero_load = trip},
           {.bits_per_second = 100'000'000'000, .packet_bytes = 4096, .block_bytes = 4096, .zero_load = trip}},
          [](const PacingSetup& setup, NodeId node) -> std::unique_ptr<Pacing> {
            return std::make_unique<Swift>(setup, node);
          }};
}

}  // namespace pacings

}  // namespace exanet
