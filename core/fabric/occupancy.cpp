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
  for (std::uint32_t i = s.first_input_[node]; i < s.first_input_[node + 1]; ++i) {
    const Input& input = s.inputs_[i];
    if (input.front == kNone || (input.request > now && input.idle_at <= now)) continue;  // nothing there, or on its way: packets need not be read
    for (std::uint32_t p = input.front; p != kNone && part.packets_[p].time <= now; p = part.packets_[p].next) ++packets;
  }
  return packets;
}

}  // namespace exanet
