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
  const auto count = [&](const Input& input) {
    if (input.front == kNone || (input.request > now && input.idle_at <= now)) return;  // nothing there, or on its way: packets need not be read
    for (std::uint32_t p = input.front; p != kNone && part.packets_[p].time <= now; p = part.packets_[p].next) ++packets;
  };
  for (std::uint32_t i = s.first_input_[node]; i < s.first_input_[node + 1]; ++i) {
    count(s.inputs_[i]);
    if (s.twin_ != 0) count(s.inputs_[i + s.twin_]);
  }
  return packets;
}

}  // namespace exanet
