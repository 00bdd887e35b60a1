// SPDX-License-Identifier: Apache-2.0
// What a simulator is to run, as it goes to the process that runs it, and the record that comes back, as bytes
// (core/config/archive.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

struct Order {
  MachineConfig machine;
  std::vector<NodeId> placement;
  Coordinator::Options options;
};

template <typename V>
void visit(Order& o, V&& v) {
  v("machine", o.machine);
  v("flow_level", o.machine.flow_level);
  v("placement", o.placement);
  v("compute_factor", o.options.compute_factor);
  v("offloaded", o.options.offloaded);
  v("bcast", o.options.bcast);
  v("simulates_mpi", o.options.simulates_mpi);
  v("collectives", o.options.collectives);
  v("rules", o.options.rules);
}

// Compiled once, for all who send and receive them: all of a machine's configuration takes long.
std::vector<std::byte> to_bytes(Order& order);
std::vector<std::byte> to_bytes(RunRecord& record);
// Throw std::length_error where the bytes end too early.
Order order_of(const std::byte* from, std::size_t bytes);
RunRecord record_of(const std::byte* from, std::size_t bytes);

}  // namespace exanet
