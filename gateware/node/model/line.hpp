// SPDX-License-Identifier: Apache-2.0
// One direction of a link outside the gateware: transceivers and cable as a delay of whole cycles, with the transmitter's pauses, and what
// went over it. Without faults; tests that want some use gateware/link/tb/transceiver.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/spec/node_library.h"
#include "core/spec/packet.hpp"

namespace exanet::gateware {

class Line {
 public:
  explicit Line(const exanet_line& line) : ends(line), delay_(line.latency_cycles + std::size_t{1}) {}

  const exanet_line ends;
  exanet_line_counts counts{};

  // Whether the transmitter takes a word in this cycle.
  bool ready() const { return ends.pause_every == 0 || run_ < ends.pause_every; }
  bool empty() const { return under_way_ == 0; }

  // A cycle: the word that is offered while ready goes in ...
  void put(std::uint64_t cycle, bool valid, std::uint64_t word) {
    const bool taken = valid && ready();
    run_ = taken ? run_ + 1 : 0;
    if (state_ == State::kMagic) ++opening_;
    if (state_ == State::kData) ++counts.packet_cycles;
    if (!taken) return;
    follow(word);
    delay_[(cycle + ends.latency_cycles) % delay_.size()] = {word, true};
    ++under_way_;
  }

  // ... and the word that went in `latency_cycles` ago comes out. Contract: in every cycle while the line is not empty.
  bool take(std::uint64_t cycle, std::uint64_t& word) {
    Slot& slot = delay_[cycle % delay_.size()];
    if (!slot.valid) return false;
    word = slot.word;
    slot.valid = false;
    --under_way_;
    return true;
  }

 private:
  enum class State { kBetween, kMagic, kData };
  struct Slot {
    std::uint64_t word = 0;
    bool valid = false;
  };

  // Follows the framing: Magic, control word; after Start the header's two words, then as many as its length says. A data word equal to Magic
  // comes twice.
  void follow(std::uint64_t word) {
    const bool magic = word == spec::kMagicWord;
    const std::uint32_t low = static_cast<std::uint32_t>(word), high = static_cast<std::uint32_t>(word >> 32);
    switch (state_) {
      case State::kBetween:
        if (magic) state_ = State::kMagic;
        opening_ = 1;
        return;
      case State::kMagic: {
        spec::Control control;
        control.raw = {low, high};
        const bool start = control.kind() == static_cast<unsigned>(spec::ControlKind::kStart);
        state_ = start ? State::kData : State::kBetween;
        if (!start) return;
        ++counts.packets;
        counts.packet_cycles += opening_;
        words_ = 0;
        return;
      }
      case State::kData:
        doubled_ = magic && !doubled_;
        if (doubled_) return;
        if (words_ < 2) {
          header_.raw[2 * words_] = low;
          header_.raw[2 * words_ + 1] = high;
        }
        if (++words_ == 2) {
          counts.payload_bytes += header_.length();
          end_ = 4 + 2 * ((static_cast<unsigned>(header_.length()) + 15) / 16);
        }
        if (words_ >= 2 && words_ == end_) state_ = State::kBetween;
        return;
    }
  }

  std::vector<Slot> delay_;
  std::uint64_t under_way_ = 0;
  unsigned run_ = 0, opening_ = 0, words_ = 0, end_ = 0;
  State state_ = State::kBetween;
  bool doubled_ = false;
  spec::Header header_;
};

}  // namespace exanet::gateware
