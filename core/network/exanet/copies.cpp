// SPDX-License-Identifier: Apache-2.0
// Packets to several nodes (docs/adr/0013-multicast.md): the router's side. The front of an input asks all outputs of
// its copies at once, and each grants as it would any packet. Those that do in one instant get its words together; for
// the others it stays, is read again, and asks from when its last word has left. It gives its space back when the last
// copy has left. So a copy waits for nothing but its own output, as a packet to one node does.
#include <bit>

#include "core/network/exanet/state.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace exanet_state;

// Where copies of the packet go from the router that it comes to.
void Part::plan_copies(PacketInFlight& packet, const Input& input) const {
  const auto from = input.link_class == kIntraTile
                        ? kFromInterface
                        : static_cast<std::uint16_t>(input.credit_output - input.first_output);
  const Copies copies = topology_.copies(input.node, from, packet.src, packet.dst);
  const std::uint32_t own = input.first_intra_output - input.first_output + packet.intra_port;
  packet.output = kCopies;
  packet.route = 0;
  packet.copies = static_cast<std::uint16_t>(copies.ports | std::uint32_t{copies.here} << own);
  packet.copies_vc = copies.channels;
  packet.copies_due = 0;
  if (packet.copies == 0) packet.output = kDiscard;  // all outputs are disabled
}

void Part::ask_copies(Input& input) {
  input.output = kCopies;
  const std::uint32_t copies = packets_[input.front].copies;
  for (std::uint32_t rest = copies; rest != 0; rest &= rest - 1) {
    const std::uint32_t index = input.first_output + static_cast<std::uint32_t>(std::countr_zero(rest));
    await(outputs_[index], index, input);
    wake(outputs_[index], index, max(input.request, outputs_[index].free_at));
  }
}

void Part::set_due(std::uint32_t output_index, Input& input) {
  if (!input.multicast) {
    input.due = true;
    return;
  }
  PacketInFlight& packet = packets_[input.front];
  packet.copies_due = static_cast<std::uint16_t>(packet.copies_due | 1u << (output_index - input.first_output));
}

void Part::grant_copy(Time now, Output& output, std::uint32_t output_index, std::uint32_t input_index) {
  Input& input = inputs_[input_index];
  const std::uint32_t bit = 1u << (output_index - input.first_output), words = input.front_words;
  const bool link = output.link_class != kIntraTile;
  const std::uint8_t vc = link && channel_step_ < channels_ ? emptiest_channel(now, output, output_index, input)
                                                            : channel_to(output_index, input);
  forget(output, output_index, input);
  PacketInFlight& packet = packets_[input.front];
  packet.copies = static_cast<std::uint16_t>(packet.copies & ~bit);
  packet.copies_due = static_cast<std::uint16_t>(packet.copies_due & ~bit);
  const Time left = max(now + router_.cycle * router_.packet_words(words), packet.tail_in);
  packet.route = 1;
  packet.time = now;
  const bool last = packet.copies == 0;
  const std::uint32_t next = packet.next;
  const PacketInFlight copy = packet;  // records move when one is added
  const std::uint32_t index = last ? input.front : packets_.add(copy);
  if (carries_notes_) [[unlikely]]
    keep_notes(index, Notes(notes_[input.front]));
  in_flight_ += !last;
  input.idle_at = left + router_.input_gap;
  if (!link) {
    packets_[index].dst = input.node;
    send_out(output, index, left);
  } else {
    EXANET_CHECK(output.far_input != kNone, "a copy goes by a port without a link", now.ps(), input.node, output_index);
    if (!output.border) plan(packets_[index], inputs_[output.far_input + vc]);
    cross_link(now, output, output_index, input, index, left, vc);
  }
  if (!last) return;
  input.front = next;
  return_credit(input, words, left);
  if (next != kNone) register_front(input);
}

}  // namespace exanet
