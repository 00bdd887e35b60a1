// SPDX-License-Identifier: Apache-2.0
// Packets standing in each router's buffers, looked at in equal intervals of a run whose length nobody knows
// beforehand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/network/model.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

// Of switches where there are any, else of all nodes; empty on networks of more than kMostWatched routers.
struct QueueTable {
  static constexpr std::uint32_t kMostWatched = 4096, kMostSamples = 400;
  NodeId first_watched = 0;
  std::uint32_t watched = 0;
  Time sample = Time::ns(100);  // between two samples, so long that there are kMostSamples at most
  std::vector<std::uint32_t> queued;  // [sample][router]
};

// Gives the table its routers.
inline void watch(const Topology& topology, NodeId& first, std::uint32_t& count) {
  first = topology.switched() ? topology.endpoint_count() : 0;
  const std::uint32_t routers = topology.node_count() - first;
  count = routers <= QueueTable::kMostWatched ? routers : 0;
}

class QueueSamples {
 public:
  // From now on, as long as other events are left. References outlive it.
  QueueSamples(EventQueue& queue, const Topology& topology, const NetworkModel& model) : queue_(queue), model_(model) {
    watch(topology, table_.first_watched, table_.watched);
    event_ = queue.add_handler(
        [](void* self, Time, std::uint32_t, std::uint64_t) { static_cast<QueueSamples*>(self)->sample(); }, this);
    if (table_.watched > 0) queue.schedule(table_.sample, event_, 0);
  }

  QueueTable take() { return std::move(table_); }
  std::uint64_t looks() const { return spin_; }  // each was an event

 private:
  // Samples become twice as long whenever there are too many of them; of the finer ones every second is one of the
  // coarser.
  void sample() {
    ++spin_;
    std::vector<std::uint32_t>& queued = table_.queued;
    const std::size_t row = table_.watched;
    for (NodeId node = table_.first_watched; node < table_.first_watched + row; ++node)
      queued.push_back(model_.queued(node));
    if (queue_.empty()) return;
    if (queued.size() == QueueTable::kMostSamples * row) {
      for (std::size_t kept = 0; kept < QueueTable::kMostSamples / 2; ++kept)
        std::copy_n(queued.begin() + static_cast<std::ptrdiff_t>((2 * kept + 1) * row), row,
                    queued.begin() + static_cast<std::ptrdiff_t>(kept * row));
      queued.resize(queued.size() / 2);
      table_.sample = table_.sample * 2;
    }
    queue_.schedule(table_.sample * static_cast<std::int64_t>(queued.size() / row + 1), event_, 0);
  }

  EventQueue& queue_;
  const NetworkModel& model_;
  QueueTable table_;
  std::uint32_t event_ = 0;
  std::uint64_t spin_ = 0;
};

}  // namespace exanet
