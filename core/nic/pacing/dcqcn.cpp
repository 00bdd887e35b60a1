// SPDX-License-Identifier: Apache-2.0
// DCQCN: a rate for each destination, cut by congestion notification packets (CNPs) and raised by a timer and a byte
// counter.
//
// Source: Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 3.1. The receiver
// sends a source whose packets are marked one CNP an interval at most. With each CNP the source keeps its rate as the
// target, cuts the rate by half of alpha, its estimate of congestion, and raises that: Rt = Rc, Rc = Rc (1 - alpha/2),
// alpha = (1 - g) alpha + g. Without CNPs alpha decays by (1 - g) each time of its timer, and each expiry of the rate
// timer or byte counter raises the rate: fast recovery, Rc = (Rt + Rc)/2, until one of the two has expired F times;
// then Rt += Rai first; and Rt += i Rhai, once both are past F by i - 1 expiries. A flow begins at the link's rate with
// alpha = 1.
//
// Limits: a flow is all that goes from one interface to another. Packets of the class priority are not marked for
// anybody. A packet that waits for its time keeps it when a timer raises the rate. The limiter of a flow is given back
// when it is at the link's rate again and alpha is below 2^-20.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

class Dcqcn final : public Pacing {
 public:
  explicit Dcqcn(const PacingSetup& setup) : line_(setup.bits_per_second), its_(setup.parameters) {
    const auto positive = [](bool is, const char* key, const std::string& name) {
      require(is, key, name + " must be more than 0");
    };
    positive(its_.dcqcn_cnp_interval > Time(), "ni.dcqcn_cnp_interval_ps", "dcqcn_cnp_interval");
    positive(its_.dcqcn_alpha_timer > Time(), "ni.dcqcn_alpha_timer_ps", "dcqcn_alpha_timer");
    positive(its_.dcqcn_rate_timer > Time(), "ni.dcqcn_rate_timer_ps", "dcqcn_rate_timer");
    positive(its_.dcqcn_byte_counter_bytes > 0, "ni.dcqcn_byte_counter_bytes", "dcqcn_byte_counter");
    positive(its_.dcqcn_gain_divisor > 0, "ni.dcqcn_gain_divisor", "dcqcn_gain_divisor");
    positive(its_.dcqcn_additive_rate_bit_per_s > 0, "ni.dcqcn_additive_rate_bit_per_s", "dcqcn_additive_rate");
  }

  Allowance allowance(NodeId peer, Time now) override {
    const auto found = flows_.find(peer);
    if (found == flows_.end()) return {};
    Flow& f = found->second;
    advance(f, now);
    if (f.rate >= line_ && f.alpha < 0x1p-20) {
      flows_.erase(found);
      return {};
    }
    return {.bits_per_second = f.rate};
  }

  void sent(NodeId peer, std::uint32_t bytes, Time now) override {
    const auto found = flows_.find(peer);
    if (found == flows_.end()) return;
    Flow& f = found->second;
    advance(f, now);
    f.bytes += bytes;
    for (; f.bytes >= its_.dcqcn_byte_counter_bytes; f.bytes -= its_.dcqcn_byte_counter_bytes) {
      ++f.byte_expiries;
      raise(f);
    }
  }

  void arrived(NodeId peer, const Packet& packet, Time now) override {
    if ((packet.notes & Packet::kCongested) == 0) return;
    const auto [last, first] = notified_.try_emplace(peer, now);
    if (!first && now - last->second < its_.dcqcn_cnp_interval) return;
    last->second = now;
    to_send_.push_back({peer, true, 0});
  }

  std::optional<ControlPacket> control(Time) override {
    if (to_send_.empty()) return std::nullopt;
    const ControlPacket packet = to_send_.front();
    to_send_.pop_front();
    return packet;
  }

  void heard(const ControlPacket& packet, Time now) override {
    if (!packet.report) return;
    Flow& f = flows_.try_emplace(packet.peer, Flow{line_, line_}).first->second;
    advance(f, now);
    f.target = f.rate;
    f.rate = std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(f.rate) * (1 - f.alpha / 2)), 1);
    f.alpha += (1 - f.alpha) / its_.dcqcn_gain_divisor;
    f.time_expiries = f.byte_expiries = 0;
    f.bytes = 0;
    f.alpha_expires = now + its_.dcqcn_alpha_timer;
    f.rate_expires = now + its_.dcqcn_rate_timer;
  }

 private:
  struct Flow {
    std::uint64_t rate, target;  // bit/s
    double alpha = 1;
    std::uint64_t bytes = 0;  // since the byte counter has expired
    std::uint32_t time_expiries = 0, byte_expiries = 0;
    Time alpha_expires = Time::never(), rate_expires = Time::never();
  };

  void advance(Flow& f, Time now) {
    for (; f.alpha_expires <= now && f.alpha >= 0x1p-20; f.alpha_expires += its_.dcqcn_alpha_timer)
      f.alpha -= f.alpha / its_.dcqcn_gain_divisor;
    for (; f.rate_expires <= now && f.rate < line_; f.rate_expires += its_.dcqcn_rate_timer) {
      ++f.time_expiries;
      raise(f);
    }
  }

  void raise(Flow& f) const {
    const std::uint32_t steps = its_.dcqcn_recovery_steps;
    const auto [least, most] = std::minmax(f.time_expiries, f.byte_expiries);
    if (least > steps)
      f.target += (least - steps + 1) * its_.dcqcn_hyper_rate_bit_per_s;
    else if (most >= steps)
      f.target += its_.dcqcn_additive_rate_bit_per_s;
    f.target = std::min(f.target, line_);
    f.rate = (f.target + f.rate + 1) / 2;  // rounded up, so that it comes to the target
  }

  std::uint64_t line_;
  PacingParameters its_;
  std::unordered_map<NodeId, Flow> flows_;  // by destination, those that are limited
  std::unordered_map<NodeId, Time> notified_;  // by source: the last CNP to it
  std::deque<ControlPacket> to_send_;
};

}  // namespace

namespace pacings {

PacingKind dcqcn() {
  return {"dcqcn",
          "DCQCN, a rate cut by a receiver's notifications of marks (with `queue_action: ecn-ramp` or `ecn`) and "
          "raised by timers",
          {{.bits_per_second = 10'000'000'000, .packet_bytes = 256, .block_bytes = 4096, .zero_load = {}},
           {.bits_per_second = 100'000'000'000, .packet_bytes = 4096, .block_bytes = 4096, .zero_load = {}}},
          [](const PacingSetup& setup, NodeId) -> std::unique_ptr<Pacing> { return std::make_unique<Dcqcn>(setup); },
          {"ecn-ramp", "ecn"}};
}

}  // namespace pacings

}  // namespace exanet
