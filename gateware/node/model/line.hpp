// SPDX-License-Identifier: Apache-2.0
// One direction of a link outside the gateware: transceivers and cable as a delay of whole cycles, with the
// transmitter's pauses, and what went over it. Of faults those of core/network/line_faults.hpp; tests that want more
// use gateware/link/tb/transceiver.hpp.
//
// A line that is down loses the words of what begins meanwhile. What is amid its words when the line comes up arrives
// in part: words without a beginning, which the receiver drops.
//
// Its two ends may belong to two threads, the receiver's a cycle behind the transmitter's: put() of a cycle and take()
// of the one before it meet in no member.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/network/line_faults.hpp"
#include "core/spec/node_library.h"
#include "gateware/node/model/framing.hpp"

namespace exanet::gateware {

template <typename Word>
class Line {
 public:
  explicit Line(const exanet_line& line) : ends(line), delay_(std::bit_ceil(line.latency_cycles + std::size_t{2})) {}

  const exanet_line ends;
  exanet_line_counts counts{};
  LineFaults faults;
  std::vector<LineOutage> outages;  // of this line alone

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
    const bool begins = !framing_.open() && !framing_.announced();
    run_ = taken ? run_ + 1 : 0;
    count(valid, taken, word);
    if (!taken) return;
    if (framing_.open()) last_ = cycle;
    if (!outages.empty() && loses(cycle, begins)) return;
    delay_[(cycle + ends.latency_cycles) & (delay_.size() - 1)] = {faults.one_in == 0 ? word : disturbed(word), true};
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

  // Whether the line, which may go down, loses the word of this cycle.
  bool loses(std::uint64_t cycle, bool begins) {
    const bool down = std::any_of(outages.begin(), outages.end(),
                                  [&](const LineOutage& o) { return o.holds(static_cast<std::int64_t>(cycle)); });
    if (begins) loses_ = down;
    return loses_ && down;
  }

  // A pause in front of a word that is offered is a part of what the word begins.
  void count(bool valid, bool taken, const Word& word) {
    const bool open = framing_.open();
    if (open)
      ++counts.packet_cycles;
    else if (valid || framing_.announced())
      ++opening_;
    if (!taken) return;
    const bool announced = framing_.announced();
    const LineWordKind kind = kind_ = framing_.next(word);
    escaped_ = announced || framing_.announced();
    credits_ += kind == kCredit;
    if (open && !framing_.open()) counts.payload_bytes += framing_.header().length();
    if (kind == kStart) {
      ++counts.packets;
      counts.packet_cycles += opening_;
    }
    if (kind == kStart || kind == kCredit) opening_ = 0;
  }

  // The word that has just been counted, with one bit wrong where it is the one that a fault is in. Of payload that is
  // one which does not equal Magic: what a receiver makes of a wrong bit there is not a mark alone.
  Word disturbed(Word word) {
    if (kind_ == kStart) fault_ = faults.of(ends.from, ends.from_port, counts.packets - 1, false);
    const bool control = kind_ == kStart ? fault_ == LineFault::kControl
                         : kind_ == kCredit
                             ? faults.of(ends.from, ends.from_port, credits_ - 1, true) != LineFault::kNone
                             : false;
    const bool data = (kind_ == kHeader && fault_ == LineFault::kHeader) ||
                      ((kind_ == kPayload || kind_ == kFooter) && !escaped_ && fault_ == LineFault::kPayload);
    if (!control && !data) return word;
    if (data) fault_ = LineFault::kNone;  // one word is enough
    turn_bit(word, (control && kLineBits<Word> == 128 ? 64 : 0) + (counts.packets * 7 + credits_) % 64);
    return word;
  }

  std::vector<Slot> delay_;
  static constexpr unsigned kRegisters = 16;

  std::uint64_t put_ = 0, taken_ = 0, last_ = 0;
  unsigned run_ = 0, opening_ = 0;
  Framing<Word> framing_;
  LineWordKind kind_ = kMagic;
  bool escaped_ = false;  // one of two words that stand for Magic in the payload
  LineFault fault_ = LineFault::kNone;  // yet to come in the packet that is on the line
  std::uint64_t credits_ = 0;
  bool loses_ = false;  // packet or credit whose words go out
};

}  // namespace exanet::gateware
