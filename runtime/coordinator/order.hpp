// SPDX-License-Identifier: Apache-2.0
// What a simulator is to run, as it goes to the process that runs it.
#pragma once

#include <string>
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
}

}  // namespace exanet
