// SPDX-License-Identifier: Apache-2.0
// Accurate Congestion Control (ACC) at sources: the explicit rate that flow-rate packets (FRPs) bring back is the rate
// of a flow.
//
// Source: RED-SEA's report, section 8.1. A flow begins at full speed with an FRP at once (FRP-init); as long as it has
// something to send, one follows with each pulse of the global clock, `acc_period`. Contention points
// (core/network/queue_actions/acc.cpp) lower its explicit rate; the receiver returns it, and the limiter takes it. The
// flows of an interface share its port to the router by a contention point of its own. With `acc_start: feedback`, the
// report's Wait-for-feedback, a flow sends a packet a period until an answer comes to an FRP that a pulse has come
// before.
//
// Limits: the options Mind-the-gap and Wait-to-rise are not built; a flow is all that goes from one interface to
// another. A flow that asks for nothing in a period has ended.
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
        waits_(setup.parameters.acc_start == PacingParameters::AccStart::kFeedback),
        first_(std::max<std::uint64_t>(std::uint64_t{setup.packet_bytes} * 8'000'000'000'000 /
                                           static_cast<std::uint64_t>(setup.acc_period.ps()) / FlowRatePacket::kStep,
                                       1)),
        full_(std::min(setup.payload_bits_per_second / FlowRatePacket::kStep, FlowRatePacket::kMost)),
        port_(setup.payload_bits_per_second, setup.acc_margin_percent, setup.acc_period) {}

  Allowance allowance(NodeId peer, Time now) override {
    const auto [found, first] = flows_.try_emplace(peer, Flow{full_, now, waits_});
    found->second.asked = now;
    if (first) {
      ask(peer, found->second, now, true);
      if (pulse_ == Time::never()) pulse_ = next_pulse(now);
    }
    const Flow& flow = found->second;
    return {.bits_per_second = (flow.waits ? std::min(first_, flow.rate) : flow.rate) * FlowRatePacket::kStep};
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
    const FlowRatePacket answer = FlowRatePacket::of(packet.stamp);
    if (found->second.waits && answer.init) return;
    found->second.waits = false;
    found->second.rate = std::clamp<std::uint64_t>(answer.explicit_rate, 1, full_);
  }

  Time wake() const override { return pulse_; }

 private:
  struct Flow {
    std::uint64_t rate;  // in steps of the grid
    Time asked;  // last
    bool waits;  // for the first valid answer; it asks for full speed meanwhile
  };

  Time next_pulse(Time now) const { return period_ * (now.ps() / period_.ps() + 1); }

  void ask(NodeId peer, const Flow& flow, Time now, bool init) {
    FlowRatePacket packet{flow.rate, FlowRatePacket::kMost, init};
    port_.pass(packet, now);
    to_send_.push_back({peer, false, packet.stamp()});
  }

  void pulse(Time now) {
    std::erase_if(flows_, [&](const auto& flow) { return flow.second.asked + period_ < now; });
    for (const auto& [peer, flow] : flows_) ask(peer, flow, now, false);
    pulse_ = flows_.empty() ? Time::never() : next_pulse(now);
  }

  Time period_;
  bool waits_;
  std::uint64_t first_, full_;  // rates of new flows
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
