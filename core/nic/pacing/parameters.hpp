// SPDX-License-Identifier: Apache-2.0
// The constants of the rate controls, with the values of their papers as defaults. A machine file may give others:
// exanet/machine/schema.py names the source of each.
#pragma once

#include <cstdint>

#include "core/config/visit.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct PacingParameters {
  // Of a flow of ACC until the first valid answer: the link's rate, or a packet a period (Wait-for-feedback).
  enum class AccStart : std::uint8_t { kFullSpeed, kFeedback };
  // ACC's flow-rate packets: with each period alone; also when a flow begins; also when it ends.
  enum class AccMessages : std::uint8_t { kPeriods, kBegins, kBeginsAndEnds };

  // Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015: section 3.1 and table 14.
  Time dcqcn_cnp_interval = Time::us(50);
  Time dcqcn_alpha_timer = Time::us(55);
  Time dcqcn_rate_timer = Time::us(55);
  std::uint64_t dcqcn_byte_counter_bytes = 10'000'000;
  std::uint32_t dcqcn_gain_divisor = 256;  // 1/g
  std::uint32_t dcqcn_recovery_steps = 5;  // F
  std::uint64_t dcqcn_additive_rate_bit_per_s = 40'000'000;
  std::uint64_t dcqcn_hyper_rate_bit_per_s = 200'000'000;  // not in the paper: config of its authors' simulator
  // Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015: sections 4.3 and 6.
  Time timely_low = Time::us(50);
  Time timely_high = Time::us(500);
  Time timely_least_trip = Time::us(20);  // by which differences of round trips are divided
  std::uint64_t timely_additive_rate_bit_per_s = 10'000'000;  // delta
  std::uint32_t timely_beta_percent = 80;
  // Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020: section
  // 3. The paper names no values; those of uet-htsim (swift.cpp), which calls them guesses.
  Time swift_base_target = Time::us(20);  // beside the round trip of an empty network
  Time swift_scaling_range = Time::us(100);  // most that few packets in flight add to the target
  std::uint32_t swift_additive_packets = 1;  // per round trip
  std::uint32_t swift_beta_percent = 80;
  std::uint32_t swift_most_decrease_percent = 50;
  // Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019: sections 3.3 and 5.1.
  std::uint32_t hpcc_target_percent = 95;  // eta
  std::uint32_t hpcc_stages = 5;  // maxStage
  std::uint32_t hpcc_flows = 100;  // N: flows of a link for which the additive step leaves it below eta
  AccStart acc_start = AccStart::kFullSpeed;  // RED-SEA report, section 8.1
  AccMessages acc_messages = AccMessages::kBegins;  // FRP-init of the same report
  std::uint32_t acc_rise_percent = 0;  // Wait-to-rise: the first increment, of the port's rate; 0: none
};

template <>
inline constexpr auto kChoices<PacingParameters::AccStart> = choices<PacingParameters::AccStart>(
    {{"full-speed", PacingParameters::AccStart::kFullSpeed}, {"feedback", PacingParameters::AccStart::kFeedback}});

template <>
inline constexpr auto kChoices<PacingParameters::AccMessages> =
    choices<PacingParameters::AccMessages>({{"frp-only", PacingParameters::AccMessages::kPeriods},
                                            {"frp-init", PacingParameters::AccMessages::kBegins},
                                            {"frp-init-end", PacingParameters::AccMessages::kBeginsAndEnds}});

template <typename V>
void each_parameter(PacingParameters& c, V& v) {
  v("dcqcn_cnp_interval_ps", c.dcqcn_cnp_interval, kOptional);
  v("dcqcn_alpha_timer_ps", c.dcqcn_alpha_timer, kOptional);
  v("dcqcn_rate_timer_ps", c.dcqcn_rate_timer, kOptional);
  v("dcqcn_byte_counter_bytes", c.dcqcn_byte_counter_bytes, kOptional);
  v("dcqcn_gain_divisor", c.dcqcn_gain_divisor, kOptional);
  v("dcqcn_recovery_steps", c.dcqcn_recovery_steps, kOptional);
  v("dcqcn_additive_rate_bit_per_s", c.dcqcn_additive_rate_bit_per_s, kOptional);
  v("dcqcn_hyper_rate_bit_per_s", c.dcqcn_hyper_rate_bit_per_s, kOptional);
  v("timely_low_ps", c.timely_low, kOptional);
  v("timely_high_ps", c.timely_high, kOptional);
  v("timely_least_trip_ps", c.timely_least_trip, kOptional);
  v("timely_additive_rate_bit_per_s", c.timely_additive_rate_bit_per_s, kOptional);
  v("timely_beta_percent", c.timely_beta_percent, kOptional);
  v("swift_base_target_ps", c.swift_base_target, kOptional);
  v("swift_scaling_range_ps", c.swift_scaling_range, kOptional);
  v("swift_additive_packets", c.swift_additive_packets, kOptional);
  v("swift_beta_percent", c.swift_beta_percent, kOptional);
  v("swift_most_decrease_percent", c.swift_most_decrease_percent, kOptional);
  v("hpcc_target_percent", c.hpcc_target_percent, kOptional);
  v("hpcc_stages", c.hpcc_stages, kOptional);
  v("hpcc_flows", c.hpcc_flows, kOptional);
  v("acc_start", c.acc_start, kOptional);
  v("acc_messages", c.acc_messages, kOptional);
  v("acc_rise_percent", c.acc_rise_percent, kOptional);
}

}  // namespace exanet
