// SPDX-License-Identifier: Apache-2.0
// Counts the packets of an open loop where they are: at the nodes of one part. Whole numbers throughout, so that the
// sums over all parts do not depend on how many there are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/units/histogram.hpp"
#include "core/units/time.hpp"
#include "core/workload/statistics.hpp"

namespace exanet {

// Packets of one priority. Created: in the window. Delivered: in the window, whenever they were created. Measured:
// created in the window, and delivered at any time.
struct ClassTally {
  std::uint64_t created = 0, delivered = 0, measured = 0;
  std::uint64_t latency_ps = 0,
                network_ps = 0;  // of the measured ones: since their creation, since the network took them
  Histogram latency;

  void add(const ClassTally& o) {
    created += o.created, delivered += o.delivered, measured += o.measured;
    latency_ps += o.latency_ps, network_ps += o.network_ps;
    latency.add(o.latency);
  }
};

// Packets of one source, or from one endpoint to another; numbers as in ClassTally.
struct FlowTally {
  std::uint64_t created = 0, delivered = 0, measured = 0, latency_ps = 0;
  Time most;  // latency of the measured ones

  void add(const FlowTally& o) {
    created += o.created, delivered += o.delivered, measured += o.measured, latency_ps += o.latency_ps;
    most = max(most, o.most);
  }
};

// By source, or by source and destination where there are at most kMostPairs of these. A network of more has as many
// pairs as packets, and a table of them would take more memory than the network.
struct FlowTallies {
  static constexpr std::uint64_t kMostPairs = 1 << 16;

  void resize(std::uint32_t endpoints) {
    by_pair = std::uint64_t{endpoints} * endpoints <= kMostPairs;
    stride = by_pair ? endpoints : 1;
    flows.resize(std::size_t{endpoints} * stride);
  }
  FlowTally& of(std::uint32_t src, std::uint32_t dst) { return flows[src * stride + (by_pair ? dst : 0)]; }

  std::vector<FlowTally> flows;
  std::size_t stride = 1;
  bool by_pair = false;
};

struct Tally {
  std::uint64_t injected = 0, delivered = 0, fingerprints = 0;  // of the whole run
  std::uint64_t in_window_injected = 0, measured = 0;  // created in the window: taken by the network, delivered
  std::uint64_t lost = 0, in_window_lost = 0;  // by links that are down: of the whole run, created in the window
  std::uint64_t zero_load_ps = 0, samples = 0;
  std::array<ClassTally, 2> of_priority;
  Time least = Time::never(), most;
  std::array<std::uint64_t, kBatches> batch_ps{}, batch_packets{};
  std::uint64_t early_ps = 0, early = 0;  // of what was delivered before the window: latency, packets
  std::vector<std::uint32_t> accepted;  // by source: delivered here in the window
  // With faults: in intervals of the run (OpenLoopResult).
  std::vector<std::uint64_t> delivered_in, lost_in;
  FlowTallies flows;  // not added by add(), which is called often

  void add(const Tally& o) {
    injected += o.injected, delivered += o.delivered, fingerprints += o.fingerprints;
    in_window_injected += o.in_window_injected, measured += o.measured;
    lost += o.lost, in_window_lost += o.in_window_lost;
    zero_load_ps += o.zero_load_ps, samples += o.samples;
    for (std::size_t i = 0; i < of_priority.size(); ++i) of_priority[i].add(o.of_priority[i]);
    least = min(least, o.least), most = max(most, o.most);
    early_ps += o.early_ps, early += o.early;
    for (std::size_t i = 0; i < kBatches; ++i) batch_ps[i] += o.batch_ps[i], batch_packets[i] += o.batch_packets[i];
    accepted.resize(std::max(accepted.size(), o.accepted.size()));
    for (std::size_t i = 0; i < o.accepted.size(); ++i) accepted[i] += o.accepted[i];
  }

  // Of all packets that were created in the window from `begin` to `end`, one that took so long.
  void measure(ClassTally& its_class, Time created, Time latency, Time network, Time begin, Time end) {
    its_class.latency.add(latency.ps());
    its_class.latency_ps += static_cast<std::uint64_t>(latency.ps());
    its_class.network_ps += static_cast<std::uint64_t>(network.ps());
    ++its_class.measured;
    ++measured;
    least = min(least, latency);
    most = max(most, latency);
    const auto batch =
        static_cast<std::size_t>(static_cast<double>((created - begin).ps()) * static_cast<double>(kBatches) /
                                 static_cast<double>((end - begin).ps()));
    batch_ps[std::min(batch, kBatches - 1)] += static_cast<std::uint64_t>(latency.ps());
    batch_packets[std::min(batch, kBatches - 1)] += 1;
  }
};

}  // namespace exanet
