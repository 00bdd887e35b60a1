// SPDX-License-Identifier: Apache-2.0
// NSCC, the network-signalled congestion control of Ultra Ethernet: the window of one flow.
//
// Source: Ultra Ethernet Specification 1.0 has it under that name. Its text was not at hand: equations and constants
// are those of the consortium's simulator (uet-htsim, uec), in our words. Model: queueing delay d is a round trip
// less that of an empty network, T its target, 0.75 of the network's round trip; a the ratio of the network's
// bandwidth-delay product to 150 kB, b that of T to 12 us. With each acknowledgement of n bytes:
// - no mark, d >= T: inc += fi n; d < T: inc += alpha n (T - d). When a window has come with d < 1 us, w += a n/4.
// - mark, d >= T: if the average delay D > T, once per round trip w *= max(1 - gamma (D - T)/D, 0.5).
// - mark, d < T: nothing, another path is taken.
// After 8 packets, or a round trip, w += inc/w; after each round trip w += eta. alpha = 4 MSS a b/T, fi = 5 MSS a,
// eta = 0.15 MSS a, gamma = 0.8; D follows d with a gain of 0.0125, and a quarter of the round trip where d > T without
// a mark. Quick adaptation: every round trip plus T, after a loss or with d > 4 T, if an eighth of the largest window
// has not come since, w becomes what has come, and losses and marks count no more until a window has passed. Else a
// trimmed packet takes its bytes from the window. From a packet to 1.5 bandwidth-delay products, which is the first
// window.
//
// Limits: bytes are payload, as rates are. No probes and no loss recovery by the order of packets (htsim's "sleek").
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/nic/pacing/pacing.hpp"
#include "core/units/time.hpp"

namespace exanet {

// What all flows of a network have in common.
struct NsccConstants {
  NsccConstants(std::uint32_t packet_bytes, std::uint64_t bits_per_second, Time round_trip);
  std::uint64_t bandwidth_delay(Time trip) const {
    return static_cast<std::uint64_t>(bytes_per_ps * static_cast<double>(trip.ps()));
  }

  double packet, bytes_per_ps, network_ps;
  double target_ps, alpha, fair, constant, fast;  // T; alpha, fi, eta; of the fast increase
};

class NsccWindow {
 public:
  // `trip`: of the flow's packets in an empty network.
  NsccWindow(const NsccConstants& constants, Time trip);

  double bytes() const { return window_; }
  void sent(std::uint32_t bytes) { in_flight_ += bytes; }
  void acknowledged(std::uint32_t bytes, bool marked, Time trip, Time now);
  // `granted`: the receiver limits its last link by credits, and a loss there says nothing of the network.
  void lost(const Loss& loss, bool granted, Time now);

 private:
  bool quick_adapt(bool loss, bool skip, double delay_ps, Time now);
  void increase(std::uint32_t bytes, double delay_ps);
  void decrease(Time now);
  void adjust(Time now);
  void average(double delay_ps, bool marked);
  void bound() { window_ = std::clamp(window_, k_.packet, most_); }

  const NsccConstants& k_;
  double base_ps_, most_, window_;
  double increase_ = 0, average_ps_ = 0;
  double in_flight_ = 0, received_ = 0, achieved_ = 0, undelayed_ = 0, ignored_ = 0, to_ignore_ = 0;
  bool fast_ = false, loss_seen_ = false;
  Time last_decrease_, last_adjustment_, adapt_after_;
};

}  // namespace exanet
