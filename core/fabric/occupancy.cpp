// SPDX-License-Identifier: Apache-2.0
// How many packets stand in a router's buffers. Counted when asked, so that it costs the path of packets nothing.
#include "core/fabric/state.hpp"

namespace exanet {

using namespace fabric_state;

std::uint32_t Fabric::queued(NodeId node) const {
  const State& s = *state_;
  const Part& part = *s.parts_[s.part_of(node)];
  const Time now = part.events_.now();
  std::uint32_t packets = 0;
  for (std::uint32_t i = s.first_input_[node]; i < s.first_input_[node + 1]; ++i)
    for (std::uint32_t e = s.inputs_[i].front; e != kNone && part.entries_[e].time <= now; e = part.entries_[e].next) ++packets;
  return packets;
}

}  // namespace exanet
