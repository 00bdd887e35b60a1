// SPDX-License-Identifier: Apache-2.0
// How long words take: packets in words of the router and of a link, and what one hop does to the head and the tail of
// a packet. docs/microarchitecture.md states these rules; the simulation and the zero-load formula both rest on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/config.hpp"

namespace exanet {

// A router, with everything that depends on the payload tabulated by payload words.
struct RouterTiming {
  explicit RouterTiming(const RouterConfig& config);  // throws ConfigError

  std::uint32_t payload_words(std::uint32_t payload_bytes) const {
    return (payload_bytes + (1u << word_shift) - 1) >> word_shift;
  }
  std::uint32_t packet_words(std::uint32_t payload) const { return payload + overhead_words; }
  // That of an endpoint behind a switch.
  RouterTiming at_endpoint() const {
    RouterTiming made = *this;
    made.to_request = endpoint_to_request;
    return made;
  }

  Time cycle;
  // a header's or a footer's cycle on the port's wire to the first one in which it can be granted or read
  Time to_request;
  Time endpoint_to_request;  // the same in an endpoint behind a switch
  // a grant to the header's cycle on the output's wire, and the footer's read to the end of its cycle there
  Time to_output;
  Time head;  // the header's words after the first, at a word a cycle
  Time to_credit;  // a packet's last word read to its credit known to the link that carries it
  Time to_sender;  // ... and to the sender at an intra-tile port
  Time slot_back;  // a slot given back by the network interface to the cycle in which the output can grant again
  Time input_gap;
  Time output_gap;
  std::uint32_t word_shift;  // log2 of a word in bytes
  std::uint32_t overhead_words;  // header and footer
  std::uint32_t most_payload_words;
};

// Header in to header out of an endpoint behind a switch. Throws ConfigError.
std::int64_t endpoint_cycles(const RouterConfig& config);

// One direction of a link of some class.
struct LinkTiming {
  LinkTiming(const LinkConfig& config, const RouterConfig& router, const RouterTiming& timing);  // throws ConfigError

  // Word times until the last of `words` words, at least one, is out, when `phase` words have passed without an idle
  // word time; moves the phase on. After `idle_every` of them the next word waits for a word time. Integers throughout:
  // a busy link pauses exactly once for as many words.
  std::uint32_t slots(std::uint32_t words, std::uint32_t& phase) const {
    const std::uint32_t total = phase + words;
    const auto idles = static_cast<std::uint32_t>((static_cast<unsigned __int128>(total - 1) * per_idle) >> 64);
    phase = total - idles * idle_every;
    return words + idles;
  }

  // From the first word of a packet or credit on the line, but for a pause before it, until the register takes its
  // control word.
  Time to_control(std::uint32_t phase) const {
    return control_words > 1 ? word_time * slots(control_words - 1, phase) - to_line : Time() - to_line;
  }

  Time word_time;
  Time sleep_after, wake_time;  // never() where it does not sleep
  Time to_line;  // a word taken by the link's register to the same word on the line, when the line is free
  Time to_wire;  // a grant to the first link word, when the link is free
  // the end of a header's or footer's last link word to the first cycle in which it can be granted or read at the
  // far end
  Time across;
  Time back;  // the end of a control word to the cycle in which the credit that it carries counts for a grant
  Time slot_back;  // Start taken by the link's register to the cycle in which the output can grant again
  Time tail_to_wire;  // a packet's last word read to the first of its own link words
  std::uint32_t idle_every;  // 0: never, and the phase means nothing
  std::uint64_t per_idle;  // 2^64 by that, rounded up: a multiplication takes a fifth of a division's time; 0: never
  std::uint32_t control_words;  // Magic and Start, or Magic and Credit
  std::uint32_t head_words;  // framing and header: after these the far router knows where the packet goes
  Time last_word;  // the packet's last router word on the link
  // by which a footer is read later when payload words that have not come one after the other hold it up
  Time behind_payload;
  std::vector<std::uint32_t> packet_words;  // framing and packet, by payload words
};

}  // namespace exanet
