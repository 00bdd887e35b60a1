// SPDX-License-Identifier: Apache-2.0
// HPCC: a window for each destination, by the utilisation of the most loaded link on the way.
//
// Source: Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, algorithm 1. With each acknowledgement of
// utilisation U: from eta on, or after maxStage additive steps, W = Wc eta/U + Wai; else W = Wc + Wai, a stage more.
// Wc, the window of a round trip ago, becomes W once a round trip. The rate is W/T. A window begins at what the link
// carries in T, and Wai is that times (1 - eta)/N. Routers compute U (core/network/queue_actions/hpcc.cpp).
//
// Limits: U is that of the last packet that an acknowledgement covers. Windows of less than a block hold by their rate
// alone.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

class Hpcc final : public Pacing {
 public:
  explicit Hpcc(const PacingSetup& setup)
      : its_(setup.parameters),
        trip_ps_(static_cast<double>(setup.round_trip.ps())),
        first_(static_cast<double>(setup.bits_per_second) * trip_ps_ / 8e12),
        target_(its_.hpcc_target_percent * 0.01) {
    require(setup.round_trip > Time(), "router.hpcc_round_trip_ps", "hpcc_round_trip must be more than 0");
    require(its_.hpcc_target_percent > 0 && its_.hpcc_target_percent < 100, "ni.hpcc_target_percent",
            "hpcc_target must be from 1 % to 99 %");
    require(its_.hpcc_flows > 0, "ni.hpcc_flows", "hpcc_flows must be more than 0");
    step_ = first_ * (1 - target_) / its_.hpcc_flows;
  }

  Allowance allowance(NodeId peer, Time) override {
    const double window = flow(peer).window;
    return {.window_bytes = static_cast<std::uint64_t>(std::max(window, 1.0)),
            .bits_per_second = static_cast<std::uint64_t>(std::max(window * 8e12 / trip_ps_, 1.0))};
  }

  void acknowledged(NodeId peer, const Feedback& feedback, Time now) override {
    Flow& f = flow(peer);
    const double load = std::ldexp(static_cast<double>(feedback.stamp), -20);
    const bool new_trip = feedback.sent >= f.updated;
    const bool by_load = load >= target_ || f.stage >= its_.hpcc_stages;
    f.window = (by_load ? f.reference * target_ / std::max(load, 1e-6) : f.reference) + step_;
    f.window = std::clamp(f.window, step_, first_);
    if (!new_trip) return;
    f.stage = by_load ? 0 : f.stage + 1;
    f.reference = f.window;
    f.updated = now;
  }

 private:
  struct Flow {
    double window, reference;  // W, Wc: bytes
    std::uint32_t stage = 0;
    Time updated = Time();
  };
  Flow& flow(NodeId peer) { return flows_.try_emplace(peer, Flow{first_, first_}).first->second; }

  PacingParameters its_;
  double trip_ps_, first_, target_, step_ = 0;
  std::unordered_map<NodeId, Flow> flows_;
};

}  // namespace

namespace pacings {

PacingKind hpcc() {
  return {"hpcc",
          "HPCC, a window by the utilisation of links that routers stamp (with `queue_action: hpcc`)",
          {{.bits_per_second = 10'000'000'000, .packet_bytes = 256, .block_bytes = 4096, .zero_load = {}},
           {.bits_per_second = 100'000'000'000, .packet_bytes = 4096, .block_bytes = 4096, .zero_load = {}}},
          [](const PacingSetup& setup, NodeId) -> std::unique_ptr<Pacing> { return std::make_unique<Hpcc>(setup); },
          {"hpcc"}};
}

}  // namespace pacings

}  // namespace exanet
