// SPDX-License-Identifier: Apache-2.0
// How long words take: packets in words of the router and of a link, and what one hop does to the head and the tail of a packet.
// docs/microarchitecture.md states these rules; the simulation and the zero-load formula both rest on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/fabric/fabric.hpp"

namespace exanet {

// A router, with everything that depends on the payload tabulated by payload words.
struct RouterPace {
  explicit RouterPace(const RouterConfig& config);  // throws std::invalid_argument

  std::uint32_t payload_words(std::uint32_t payload_bytes) const { return (payload_bytes + (1u << word_shift) - 1) >> word_shift; }
  std::uint32_t packet_words(std::uint32_t payload) const { return payload + overhead_words; }

  Time cycle;
  Time latency;  // header in to header out
  Time head;     // the header's words at a word a cycle
  Time input_gap;
  Time output_gap;
  std::uint32_t word_shift;      // log2 of a word in bytes
  std::uint32_t overhead_words;  // header and footer
  std::uint32_t most_payload_words;
};

// One direction of a link of some class.
struct LinkPace {
  LinkPace(const LinkConfig& config, const RouterConfig& router, const RouterPace& pace);  // throws std::invalid_argument

  // Word times taken by `words` words when `phase` words have passed since the last pause; moves the phase on. Integers throughout, and
  // the remainder is carried in `phase`: over any time, exactly one pause for every `pause_every` words.
  std::uint32_t slots(std::uint32_t words, std::uint32_t& phase) const {
    if (pause_every == 0) return words;
    const std::uint32_t total = phase + words, pauses = total / pause_every;
    phase = total - pauses * pause_every;
    return words + pauses;
  }

  Time word_time;
  Time latency;
  std::uint32_t pause_every;
  std::uint32_t head_words;                 // framing and header: after these the far router knows where the packet goes
  Time last_word;                           // the packet's last router word on the link
  std::vector<std::uint32_t> packet_words;  // framing and packet, by payload words
};

// Inject to delivered in an empty network, along links of the given classes in this order.
Time zero_load_time(const RouterPace& router, const std::vector<const LinkPace*>& path, std::uint32_t payload_words);

}  // namespace exanet
