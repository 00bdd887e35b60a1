// SPDX-License-Identifier: Apache-2.0
// When words leave a buffer: packets leave it one after the other, each a word a cycle from when it begins on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "core/nic/messages/cycle.hpp"

namespace exanet {

class WordTimes {
 public:
  // The next packet's first word leaves in this cycle. Words that came `depth` and more before the last one are not
  // asked for any more.
  void add(std::uint32_t words, Cycle first, std::uint64_t depth) {
    if (words != 0) packets_.push_back({words_, words_ + words, first});
    words_ += words;
    while (!packets_.empty() && packets_.front().end + depth <= words_) packets_.pop_front();
  }
  // When the word leaves that is number `word` of all; kUnknown of a packet that has not begun.
  Cycle of(std::uint64_t word) const {
    for (const Packet& packet : packets_)
      if (word < packet.end)
        return word < packet.begin ? kLongAgo : packet.first + static_cast<Cycle>(word - packet.begin);
    return word < words_ ? kLongAgo : kUnknown;
  }
  // How many of so many words, from this number on, leave no later than in the cycles in which they are asked for, one
  // behind the other from `cycle` on.
  std::uint32_t in_turn(std::uint64_t word, Cycle cycle, std::uint32_t most) const {
    const std::uint64_t end = word + most;
    std::uint64_t next = word;
    for (const Packet& packet : packets_) {
      if (next >= packet.end) continue;
      next = std::max(next, packet.begin);  // those before have left long ago
      // Where the first word of a packet is not late, none is.
      const bool late =
          packet.first + static_cast<Cycle>(next - packet.begin) > cycle + static_cast<Cycle>(next - word);
      if (next >= end || late) break;
      next = packet.end;
    }
    if (packets_.empty()) next = std::max(next, words_);
    return static_cast<std::uint32_t>(std::min(next, end) - word);
  }

 private:
  struct Packet {
    std::uint64_t begin, end;
    Cycle first;
  };
  std::deque<Packet> packets_;
  std::uint64_t words_ = 0;
};

}  // namespace exanet
