// SPDX-License-Identifier: Apache-2.0
// One direction of a link outside the gateware: transceivers and cable as a delay of whole cycles, with the transmitter's pauses, and what
// went over it. Without faults; tests that want some use gateware/link/tb/transceiver.hpp.
//
// Its two ends may belong to two threads, the receiver's a cycle behind the transmitter's: put() of a cycle and take() of the one before it meet
// in no member.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/spec/node_library.h"
#include "gateware/node/model/framing.hpp"

namespace exanet::gateware {

template <typename Word>
class Line {
 public:
  explicit Line(const exanet_line& line) : ends(line), delay_(std::bit_ceil(line.latency_cycles + std::size_t{2})) {}

  const exanet_line ends;
  exanet_line_counts counts{};

  // Whether the transmitter takes a word in this cycle.
  bool ready() const { return ends.pause_every == 0 || run_ < ends.pause_every; }
  // Whether put() without a word would change nothing.
  bool at_rest() const { return run_ == 0 && !framing_.open() && !framing_.announced(); }
  // Contract: no put() or take() meanwhile.
  bool empty() const { return put_ == taken_; }
  // Whether a word of a packet may be on it, or in the registers at its ends.
  bool carries_packet(std::uint64_t cycle) const { return cycle < last_ + ends.latency_cycles + kRegisters; }

  // A cycle: the word that is offered while ready goes in ...
  void put(std::uint64_t cycle, bool valid, const Word& word) {
    const bool taken = valid && ready();
    run_ = taken ? run_ + 1 : 0;
    count(valid, taken, word);
    if (!taken) return;
    if (framing_.open()) last_ = cycle;
    delay_[(cycle + ends.latency_cycles) & (delay_.size() - 1)] = {word, true};
    ++put_;
  }

  // ... and the word that went in `latency_cycles` ago comes out. Contract: in every cycle.
  bool take(std::uint64_t cycle, Word& word) {
    Slot& slot = delay_[cycle & (delay_.size() - 1)];
    if (!slot.valid) return false;
    word = slot.word;
    slot.valid = false;
    ++taken_;
    return true;
  }

 private:
  struct Slot {
    Word word{};
    bool valid = false;
  };

  // A pause in front of a word that is offered is a part of what the word begins.
  void count(bool valid, bool taken, const Word& word) {
    const bool open = framing_.open();
    if (open)
      ++counts.packet_cycles;
    else if (valid || framing_.announced())
      ++opening_;
    if (!taken) return;
    const LineWordKind kind = framing_.next(word);
    if (open && !framing_.open()) counts.payload_bytes += framing_.header().length();
    if (kind == kStart) {
      ++counts.packets;
      counts.packet_cycles += opening_;
    }
    if (kind == kStart || kind == kCredit) opening_ = 0;
  }

  std::vector<Slot> delay_;
  static constexpr unsigned kRegisters = 16;

  std::uint64_t put_ = 0, taken_ = 0, last_ = 0;
  unsigned run_ = 0, opening_ = 0;
  Framing<Word> framing_;
};

}  // namespace exanet::gateware
