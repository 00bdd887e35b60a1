// SPDX-License-Identifier: Apache-2.0
// A transceiver and its line, one direction: a word a cycle, a fixed latency, a pause after every `pause_every` words
// (the gearbox of 64b/66b), wrong bits at a given rate (link/tb/line_errors.hpp), and faults on purpose. A line of 128
// bits is four lanes of 32, which the receiving transceiver puts side by side again, so that their skew is part of the
// latency; one lane alone may be bad.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "gateware/link/tb/line_errors.hpp"

namespace exanet::gateware {

struct TransceiverConfig {
  unsigned latency_cycles = 45;
  unsigned pause_every = 0;  // 0: never
  double bit_error_rate = 0;
  std::uint64_t seed = 1;
  int bad_lane = -1;  // the one with wrong bits; -1: all of them
};

template <typename Word>
class LineTransceiver {
 public:
  explicit LineTransceiver(TransceiverConfig config)
      : config_(config), errors_(config.bit_error_rate, config.seed, config.bad_lane) {}

  // Called for each word that enters the line; nullopt drops it. For faults at a chosen place.
  std::function<std::optional<Word>(const Word&)> tamper;
  std::uint64_t words() const { return words_; }
  std::uint64_t wrong_bits() const { return errors_.count(); }

  // Whether it takes a word in this cycle.
  bool ready() const { return config_.pause_every == 0 || run_ < config_.pause_every; }

  // One cycle: the word offered while ready, if any, goes in; the word that comes out at the far end, if any.
  std::optional<Word> step(std::optional<Word> offered) {
    const bool taken = offered && ready();
    run_ = taken ? run_ + 1 : 0;
    std::optional<Word> word;
    if (taken) {
      ++words_;
      word = errors_(*offered);
      if (tamper) word = tamper(*word);
    }
    line_.push_back(word);
    if (line_.size() <= config_.latency_cycles) return std::nullopt;
    const auto out = line_.front();
    line_.pop_front();
    return out;
  }

 private:
  TransceiverConfig config_;
  LineErrors<Word> errors_;
  std::uint64_t words_ = 0;
  unsigned run_ = 0;
  std::deque<std::optional<Word>> line_;
};

using Transceiver = LineTransceiver<NarrowWord>;

}  // namespace exanet::gateware
