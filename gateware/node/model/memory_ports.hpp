// SPDX-License-Identifier: Apache-2.0
// A node's memory as its interfaces meet it: every beat is taken as it is offered, answers and data come a fixed time
// later, in order. It holds nothing: what is read follows from its address, so what is written can be held against
// that.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>

namespace exanet::gateware {

using MemoryWord = std::array<std::uint32_t, 4>;

// No half of it equals Magic, whose lowest bits are the same in both words of a half.
inline MemoryWord word_at(std::uint64_t address) {
  const std::uint64_t mixed = (address / 16 + 1) * 0x9e3779b97f4a7c15u;
  const auto high = static_cast<std::uint32_t>(mixed >> 32), low = static_cast<std::uint32_t>(mixed);
  return {high, ~high, low, ~low};
}

// Bursts that are written to a port.
class WritePort {
 public:
  struct Burst {
    std::uint64_t address = 0;  // of its first byte that is written
    std::uint32_t bytes = 0;
    bool as_read = true;  // all of them are what a read of the address gives
    MemoryWord last{};  // beat
  };

  void address(std::uint64_t address) { addresses_.push_back(address); }
  void beat(const MemoryWord& word, std::uint32_t strobe, bool last) { beats_.push_back({word, strobe, last}); }
  // Takes what has come with its address, up to the end of a burst. False: no burst is whole; else burst() is the one.
  bool next() {
    while (!beats_.empty() && !addresses_.empty()) {
      const Beat beat = beats_.front();
      beats_.pop_front();
      const std::uint64_t line = addresses_.front() / 16 * 16 + 16 * taken_;
      if (taken_++ == 0) burst_ = {line + static_cast<unsigned>(std::countr_zero(beat.strobe)), 0, true, {}};
      add(beat, line);
      if (!beat.last) continue;
      taken_ = 0;
      addresses_.pop_front();
      return true;
    }
    return false;
  }
  const Burst& burst() const { return burst_; }

  void answer_at(std::uint64_t cycle) { answers_.push_back(cycle); }
  bool answers(std::uint64_t cycle) const { return !answers_.empty() && answers_.front() <= cycle; }
  void answered() { answers_.pop_front(); }
  bool idle() const { return addresses_.empty() && beats_.empty() && answers_.empty(); }

 private:
  struct Beat {
    MemoryWord word;
    std::uint32_t strobe;
    bool last;
  };
  void add(const Beat& beat, std::uint64_t line) {
    burst_.bytes += static_cast<std::uint32_t>(std::popcount(beat.strobe));
    const MemoryWord expected = word_at(line);
    for (unsigned i = 0; i < 16; ++i) {
      const std::uint32_t wrong = (beat.word[i / 4] ^ expected[i / 4]) >> 8 * (i % 4) & 0xff;
      burst_.as_read = burst_.as_read && ((beat.strobe >> i & 1) == 0 || wrong == 0);
    }
    burst_.last = beat.word;
  }

  std::deque<std::uint64_t> addresses_, answers_;
  std::deque<Beat> beats_;  // that have no address yet
  std::uint64_t taken_ = 0;  // beats of the first burst
  Burst burst_;
};

class ReadPort {
 public:
  void read(std::uint64_t address, unsigned beats, std::uint64_t cycle) {
    for (unsigned i = 0; i < beats; ++i) data_.push_back({cycle, address / 16 * 16 + 16 * i});
  }
  bool offers(std::uint64_t cycle) const { return !data_.empty() && data_.front().cycle <= cycle; }
  MemoryWord word() const { return word_at(data_.front().address); }
  void taken() { data_.pop_front(); }
  bool idle() const { return data_.empty(); }

 private:
  struct Beat {
    std::uint64_t cycle, address;
  };
  std::deque<Beat> data_;
};

}  // namespace exanet::gateware
