// SPDX-License-Identifier: Apache-2.0
// How many packets stand in a router's buffers. Counted when asked, so that it costs the path of packets nothing.
#include <bit>

#include "core/network/exanet/state.hpp"

namespace exanet {

using namespace exanet_state;

std::uint32_t ExanetNetwork::queued(NodeId node) const {
  const State& s = *state_;
  const Part& part = *s.parts_[s.part_of(node)];
  if (!part.was_reached(node)) return 0;
  const Time now = part.events_.now();
  std::uint32_t packets = 0;
  const std::uint32_t all = s.first_input_[node + 1] - s.first_input_[node];
  const auto count = [&](const Input* inputs) {
    for (std::uint32_t base = 0; base < all; base += 64) {
      // inputs of which packets need to be read; most are empty or have one on its way, and which ones is chance
      std::uint64_t some = 0;
      for (std::uint32_t i = base; i < all && i < base + 64; ++i) {
        const bool coming = (inputs[i].request > now) & (inputs[i].idle_at <= now);
        some |= static_cast<std::uint64_t>((inputs[i].front != kNone) & !coming) << (i - base);
      }
      for (; some != 0; some &= some - 1)
        for (std::uint32_t p = inputs[base + static_cast<std::uint32_t>(std::countr_zero(some))].front;
             p != kNone && part.packets_[p].time <= now; p = part.packets_[p].next)
          ++packets;
    }
  };
  count(s.inputs_.data() + s.first_input_[node]);
  if (s.priority_offset_ != 0) count(s.inputs_.data() + s.first_input_[node] + s.priority_offset_);
  return packets;
}

}  // namespace exanet
