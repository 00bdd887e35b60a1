// SPDX-License-Identifier: Apache-2.0
// What packets carry of congestion, and what the machine's queue action makes of it (core/network/queue_actions). Notes
// lie beside the packets' records, which fill a cache line, so that a fabric without them touches nothing.
#include "core/network/exanet/state.hpp"

namespace exanet {

using namespace exanet_state;

void Part::keep_notes(std::uint32_t packet_index, const Notes& notes) {
  if (notes_.size() <= packet_index) notes_.resize(packets_.size());
  notes_[packet_index] = notes;
}

// The front of `input` is granted the output, and leaves the others that wait for it behind.
void Part::act(Time now, const Output& output, std::uint32_t output_index, const Input& input) {
  const PacketInFlight& c = packets_[input.front];
  Notes& notes = notes_[input.front];
  if ((notes.notes & Packet::kReport) != 0) return;
  Packet packet{c.src, c.dst, c.payload_bytes, c.intra_port, c.priority, c.user};
  packet.notes = notes.notes;
  packet.stamp = notes.stamp;
  action_->join({input.node, static_cast<std::uint16_t>(output_index - input.first_output),
                 words_behind(now, output, output_index, input), stats_[output_index], now},
                packet);
  notes = {packet.stamp, packet.notes};
}

// Payload words that wait for the output now, beside the front of `input`: fronts that ask, and those behind them that
// are known to.
std::uint32_t Part::words_behind(Time now, const Output& output, std::uint32_t output_index, const Input& input) const {
  std::uint32_t words = 0;
  const auto count = [&](const Input& other) {
    if (asks_from(now, other) > now) return;
    if (&other != &input) words += other.front_words;
    for (std::uint32_t p = packets_[other.front].next; p != kNone && packets_[p].time <= now; p = packets_[p].next)
      if (packets_[p].output == output_index) words += router_.payload_words(packets_[p].payload_bytes);
  };
  each_waiting(output, output_index, kBulk, [&](std::uint32_t i) { count(inputs_[output.first_input + i]); });
  if (priority_offset_ != 0)
    each_waiting(output, output_index, kPriority,
                 [&](std::uint32_t i) { count(inputs_[output.first_input + priority_offset_ + i]); });
  return words;
}

}  // namespace exanet
