// SPDX-License-Identifier: Apache-2.0
// Accurate Congestion Control (ACC) at sources: the explicit rate that flow-rate packets (FRPs) bring back is the rate of a flow.
//
// Source: RED-SEA's report, section 8.1. A flow begins at full speed with an FRP at once (FRP-init); as long as it has something to send, one
// follows with each pulse of the global clock, `acc_period`. Contention points (core/network/queue_actions/acc.cpp) lower its explicit rate; the receiver
// returns it, and the limiter takes it. The flows of an interface share its port to the router by a contention point of its own.
//
// Limits: none of the options Wait-for-feedback, Mind-the-gap and Wait-to-rise; a flow is all that goes from one interface to another. A flow
// that asks for nothing in a period has ended.
#include <algorithm>
#include <deque>
#include <map>

#include "core/network/queue_actions/contention_point.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

class Acc final : public Pacing {
 public:
  explicit Acc(const PacingSetup& setup)
      : period_(setup.acc_period),
        full_(std::min(setup.payload_bits_per_second / FlowRatePacket::kStep, FlowRatePacket::kMost)),
        port_(setup.payload_bits_per_second, setup.acc_margin_percent, setup.acc_period) {}

  Allowance allowance(NodeId peer, Time now) override {
    const auto [found, first] = flows_.try_emplace(peer, Flow{full_, now});
    found->second.asked = now;
    if (first) {
      ask(peer, found->second, now);
      if (pulse_ == Time::never()) pulse_ = next_pulse(now);
    }
    return {.bits_per_second = found->second.rate * FlowRatePacket::kStep};
  }

  std::optional<ControlPacket> control(Time now) override {
    if (now >= pulse_) pulse(now);
    if (to_send_.empty()) return std::nullopt;
    const ControlPacket packet = to_send_.front();
    to_send_.pop_front();
    return packet;
  }

  void heard(const ControlPacket& packet, Time) override {
    if (!FlowRatePacket::is(packet.stamp)) return;
    if (!packet.report) return to_send_.push_back({packet.peer, true, packet.stamp});
    const auto found = flows_.find(packet.peer);
    if (found == flows_.end()) return;
    found->second.rate = std::clamp<std::uint64_t>(FlowRatePacket::of(packet.stamp).explicit_rate, 1, full_);
  }

  Time wake() const override { return pulse_; }

 private:
  struct Flow {
    std::uint64_t rate;  // in steps of the grid
    Time asked;  // last
  };

  Time next_pulse(Time now) const { return period_ * (now.ps() / period_.ps() + 1); }

  void ask(NodeId peer, const Flow& flow, Time now) {
    FlowRatePacket packet{flow.rate, FlowRatePacket::kMost};
    port_.pass(packet, now);
    to_send_.push_back({peer, false, packet.stamp()});
  }

  void pulse(Time now) {
    std::erase_if(flows_, [&](const auto& flow) { return flow.second.asked + period_ < now; });
    for (const auto& [peer, flow] : flows_) ask(peer, flow, now);
    pulse_ = flows_.empty() ? Time::never() : next_pulse(now);
  }

  Time period_;
  std::uint64_t full_;
  ContentionPoint port_;
  std::map<NodeId, Flow> flows_;  // by destination, in order
  std::deque<ControlPacket> to_send_;
  Time pulse_ = Time::never();  // the next one, while there are flows
};

}  // namespace

namespace pacings {

PacingKind acc() {
  return {"acc",
          "ACC, the max-min fair rate that contention points in routers compute (with `queue_action: acc`)",
          {{.bits_per_second = 10'000'000'000, .packet_bytes = 256, .block_bytes = 4096, .zero_load = {}},
           {.bits_per_second = 100'000'000'000, .packet_bytes = 4096, .block_bytes = 4096, .zero_load = {}}},
          [](const PacingSetup& setup, NodeId) -> std::unique_ptr<Pacing> { return std::make_unique<Acc>(setup); },
          {"acc"}};
}

}  // namespace pacings

}  // namespace exanet
