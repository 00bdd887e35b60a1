// SPDX-License-Identifier: Apache-2.0
// How long something waits for its answer, and how often it is sent again: the retransmission timeout doubles with each
// repetition up to a limit, and after a number of repetitions it is given up.
#pragma once

#include <algorithm>
#include <cstdint>

namespace exanet {

// The exponent of a retransmission timeout.
class Backoff {
 public:
  void reset() { exponent_ = 0; }
  void raise() { exponent_ = std::min<std::uint8_t>(exponent_ + 1, kMost); }
  std::int64_t timeout(std::int64_t first) const { return first << exponent_; }

 private:
  static constexpr std::uint8_t kMost = 5;
  std::uint8_t exponent_ = 0;
};

// Repetitions of one number, which a register of four bits counts.
class Tries {
 public:
  void reset() { count_ = 0; }
  void raise() { count_ = std::min<std::uint8_t>(count_ + 1, kMost); }
  bool any() const { return count_ != 0; }
  // Contract: `most` is at most 15; 0: it is repeated for ever.
  bool exhausted(std::uint32_t most) const { return most != 0 && count_ == most; }

 private:
  static constexpr std::uint8_t kMost = 15;
  std::uint8_t count_ = 0;
};

}  // namespace exanet
