// SPDX-License-Identifier: Apache-2.0
// Accurate Congestion Control (ACC) at sources: the explicit rate that flow-rate packets (FRPs) bring back is the rate
// of a flow.
//
// Source: RED-SEA's report, section 8.1. A flow begins at full speed with an FRP at once (FRP-init); as long as it has
// something to send, one follows with each period of the global clock, `acc_period`, once the contention points have
// worked out their shares. Contention points (core/network/queue_actions/acc.cpp) lower its explicit rate; the receiver
// returns it, and the limiter takes it (rate_limiter.hpp). The flows of an interface share its port to the router by a
// contention point of its own. Options: with `acc_start: feedback`, the report's Wait-for-feedback, a flow sends a
// packet a period until an answer comes to an FRP that a pulse has come before. `acc_messages: frp-only` is without the
// first FRP; with `frp-init-end` (ours) a flow that has nothing left to send takes its FRP of the period back.
// `acc_rise`, Wait-to-rise: a rate grows by increments that double with each answer.
//
// Limits: a flow is all that goes from one interface to another. One that has nothing left to send ends with the
// next period.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/network/queue_actions/contention_point.hpp"
#include "core/nic/pacing/pacing.hpp"
#include "core/nic/pacing/rate_limiter.hpp"

namespace exanet {

namespace {

class Acc final : public Pacing {
 public:
  explicit Acc(const PacingSetup& setup)
      : clock_(setup.acc_clock),
        messages_(setup.parameters.acc_messages),
        flow_setup_(flow_setup(setup)),
        port_(setup.payload_bits_per_second, setup.acc_margin_percent, setup.acc_clock) {}

  Allowance allowance(NodeId peer, Time now) override {
    const auto [found, first] = flows_.try_emplace(peer, Flow{AccRate(flow_setup_)});
    Flow& flow = found->second;
    if (pulse_ == Time::never()) pulse_ = next_pulse(now);
    if (first || flow.ended) {
      flow.ended = false;
      // Between a pulse and its share the FRP of the period is still to come.
      if (messages_ != PacingParameters::AccMessages::kPeriods && now >= start(now) + clock_.evaluation)
        ask(peer, flow, now);
    }
    return {.bits_per_second = flow.rate.paid_rate() * FlowRatePacket::kStep, .acts_at_once = true};
  }

  void ended(NodeId peer, Time now) override {
    const auto found = flows_.find(peer);
    if (found == flows_.end()) return;
    Flow& flow = found->second;
    flow.ended = true;
    if (messages_ != PacingParameters::AccMessages::kBeginsAndEnds) return;
    if (!flow.counted || flow.counted->first != start(now)) return;
    FlowRatePacket packet = flow.counted->second;
    packet.ends = true;
    send(peer, packet, now);
    flow.counted.reset();
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
    const FlowRatePacket its = FlowRatePacket::of(packet.stamp);
    if (its.ends) return;
    if (!packet.report) return to_send_.push_back({packet.peer, true, packet.stamp});
    const auto found = flows_.find(packet.peer);
    if (found != flows_.end()) found->second.rate.answered(its);
  }

  Time wake() const override { return pulse_; }

 private:
  struct Flow {
    AccRate rate;
    bool fresh = true, ended = false;  // no FRP has been; has nothing to send
    std::optional<std::pair<Time, FlowRatePacket>> counted = {};  // the last FRP, and its period's start
  };

  static AccRate::Setup flow_setup(const PacingSetup& setup) {
    const std::uint64_t full =
        std::clamp<std::uint64_t>(setup.payload_bits_per_second / FlowRatePacket::kStep, 1, FlowRatePacket::kMost);
    const std::uint64_t packet_a_period = std::uint64_t{setup.packet_bytes} * 8'000'000'000'000 /
                                          static_cast<std::uint64_t>(setup.acc_clock.period.ps()) /
                                          FlowRatePacket::kStep;
    return {full, std::clamp<std::uint64_t>(packet_a_period, 1, full),
            setup.parameters.acc_start == PacingParameters::AccStart::kFeedback,
            full * setup.parameters.acc_rise_percent / 100};
  }

  Time start(Time now) const { return clock_.period * (now.ps() / clock_.period.ps()); }
  Time next_pulse(Time now) const {
    const Time sends = start(now) + clock_.evaluation;
    return now < sends ? sends : sends + clock_.period;
  }

  void ask(NodeId peer, Flow& flow, Time now) {
    const bool odd = (now.ps() / clock_.period.ps()) % 2 != 0;
    const FlowRatePacket packet{flow.rate.rate(), FlowRatePacket::kMost, flow.fresh, false, odd};
    flow.fresh = false;
    flow.counted = {start(now), packet};
    send(peer, packet, now);
  }
  void send(NodeId peer, FlowRatePacket packet, Time now) {
    port_.pass(packet, now);
    to_send_.push_back({peer, false, packet.stamp()});
  }

  void pulse(Time now) {
    std::erase_if(flows_, [&](const auto& f) { return f.second.ended; });
    for (auto& [peer, flow] : flows_) ask(peer, flow, now);
    pulse_ = flows_.empty() ? Time::never() : next_pulse(now);
  }

  ContentionPoint::Clock clock_;
  PacingParameters::AccMessages messages_;
  AccRate::Setup flow_setup_;  // of new flows
  ContentionPoint port_;
  std::map<NodeId, Flow> flows_;  // by destination, in order
  std::deque<ControlPacket> to_send_;
  Time pulse_ = Time::never();  // when the next FRPs go, while there are flows
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
