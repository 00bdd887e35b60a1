// SPDX-License-Identifier: Apache-2.0
// What a gateway between two networks has done in a run (core/nic/bridged).
#pragma once

#include <cstdint>

#include "core/network/network.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct GatewayUse {
  NodeId first = 0, second = 0;  // its endpoints, in the whole machine
  // What it passed on of what came from each network: messages and fragments, bytes, time of that, time waited.
  LinkStats from_first, from_second;
  std::uint64_t most_queue = 0, most_queue_bytes = 0;  // at once, with what the processor has in hand
  Time longest_wait;
};

template <typename V>
void visit(GatewayUse& u, V&& v) {
  v("first", u.first);
  v("second", u.second);
  v("from_first", u.from_first);
  v("from_second", u.from_second);
  v("most_queue", u.most_queue);
  v("most_queue_bytes", u.most_queue_bytes);
  v("longest_wait_ps", u.longest_wait);
}

}  // namespace exanet
