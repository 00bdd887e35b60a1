// SPDX-License-Identifier: Apache-2.0
// TIMELY: a rate for each destination, which grows while round trips become shorter and shrinks while they become
// longer.
//
// Source: Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015, algorithm 1 and section
// 4.3. The difference of successive round trips is smoothed, d = (1 - alpha) d + alpha (rtt - previous). Below T_low
// the rate grows by delta. Above T_high it becomes rate (1 - beta (1 - T_high/rtt)). Between both it grows by delta
// while d is not positive, by 5 delta after five such round trips (hyperactive increase), and becomes rate (1 - beta
// d/min_rtt) otherwise.
//
// Limits: a flow begins at the link's rate; the paper begins at the link's rate over the number of flows. Round trips
// are those of the last packet that an acknowledgement covers, so that no segment's own length has to be taken off.
// Nothing is lost, so nothing reacts to losses.
#include <algorithm>
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/nic/pacing/pacing.hpp"

namespace exanet {

namespace {

constexpr double kAlpha = 0.875;  // section 4.3
constexpr std::uint32_t kHyperAfter = 5, kHyperSteps = 5;  // N, algorithm 1 and section 4.3

class Timely final : public Pacing {
 public:
  explicit Timely(const PacingSetup& setup) : setup_(setup), its_(setup.parameters) {
    require(its_.timely_low > Time(), "ni.timely_low_ps", "timely_low must be more than 0");
    require(its_.timely_high >= its_.timely_low, "ni.timely_high_ps", "timely_high must not be below timely_low");
    require(its_.timely_least_trip > Time(), "ni.timely_least_trip_ps", "timely_least_trip must be more than 0");
    require(its_.timely_additive_rate_bit_per_s > 0, "ni.timely_additive_rate_bit_per_s",
            "timely_additive_rate must be more than 0");
    require(its_.timely_beta_percent <= 100, "ni.timely_beta_percent", "timely_beta must be at most 100 %");
  }

  Allowance allowance(NodeId peer, Time) override {
    return {.bits_per_second = static_cast<std::uint64_t>(flow(peer).rate)};
  }

  void acknowledged(NodeId peer, const Feedback& feedback, Time now) override {
    Flow& f = flow(peer);
    const auto trip = static_cast<double>((now - feedback.sent).ps());
    if (f.trip > 0) f.difference = (1 - kAlpha) * f.difference + kAlpha * (trip - f.trip);
    f.trip = trip;
    const auto step = static_cast<double>(its_.timely_additive_rate_bit_per_s);
    const auto high = static_cast<double>(its_.timely_high.ps());
    const double beta = its_.timely_beta_percent * 0.01;
    if (trip < static_cast<double>(its_.timely_low.ps())) {
      f.rate += step;
    } else if (trip > high) {
      f.rate *= 1 - beta * (1 - high / trip);
    } else if (f.difference <= 0) {
      f.shorter = std::min(f.shorter + 1, kHyperAfter);
      f.rate += f.shorter == kHyperAfter ? kHyperSteps * step : step;
    } else {
      f.shorter = 0;
      f.rate *= std::max(1 - beta * f.difference / static_cast<double>(its_.timely_least_trip.ps()), 0.0);
    }
    f.rate = std::clamp(f.rate, step, static_cast<double>(setup_.bits_per_second));
  }

 private:
  struct Flow {
    double rate;  // bit/s
    double trip = 0, difference = 0;  // ps; the last one, and that of the last two, smoothed
    std::uint32_t shorter = 0;  // round trips that have not become longer, in a row
  };

  Flow& flow(NodeId peer) {
    return flows_.try_emplace(peer, Flow{static_cast<double>(setup_.bits_per_second)}).first->second;
  }

  PacingSetup setup_;
  PacingParameters its_;
  std::unordered_map<NodeId, Flow> flows_;
};

}  // namespace

namespace pacings {

PacingKind timely() {
  const auto trip = [](NodeId, NodeId, std::uint32_t) { return Time::us(1); };
  return {"timely",
          "TIMELY, a rate by whether round trips become longer",
          {{.bits_per_second = 10'000'000'000, .packet_bytes = 256, .block_bytes = 4096, .zero_load = trip},
           {.bits_per_second = 100'000'000'000, .packet_bytes = 4096, .block_bytes = 4096, .zero_load = trip}},
          [](const PacingSetup& setup, NodeId) -> std::unique_ptr<Pacing> { return std::make_unique<Timely>(setup); }};
}

}  // namespace pacings

}  // namespace exanet
