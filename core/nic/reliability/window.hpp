// SPDX-License-Identifier: Apache-2.0
// Sequence numbers of one node to another, as both ends keep them: numbers wrap round, and no more than a window of
// them are outstanding, so that the receiver distinguishes a packet that comes again from a new one by what it
// remembers of the last window.
//
// Contract: a sender takes a number when it sends something for the first time, and returns it when that has been
// answered or is given up. It takes none while the number a window before is outstanding.
#pragma once

#include <bitset>
#include <cstdint>

namespace exanet {

inline constexpr std::uint32_t kNumbers = 1u << 24;
inline constexpr std::uint32_t kWindow = 32;  // outstanding at most, and remembered by the receiver

// At the sender. Size: outstanding at most, a power of two.
template <std::uint32_t Size>
class SendWindowOf {
 public:
  bool is_full() const { return outstanding_[next_ % Size]; }
  // Contract: it is not full.
  std::uint32_t take() {
    const std::uint32_t number = next_;
    outstanding_[number % Size] = true;
    next_ = (next_ + 1) % kNumbers;
    return number;
  }
  void put_back(std::uint32_t number) { outstanding_[number % Size] = false; }

 private:
  std::uint32_t next_ = 0;
  std::bitset<Size> outstanding_;  // by number modulo the window
};
using SendWindow = SendWindowOf<kWindow>;

// At the receiver: the highest number that has come.
class ReceiveWindow {
 public:
  // Numbers from the one behind the highest on to this one, exclusive. Of one that is no later than the highest it
  // means nothing.
  std::uint32_t ahead(std::uint32_t number) const { return (number - next_) % kNumbers; }
  // How far it is behind the highest.
  std::uint32_t behind(std::uint32_t number) const { return (next_ - number - 1) % kNumbers; }
  bool is_later(std::uint32_t number) const { return !known_ || ahead(number) < kNumbers / 2; }
  // Too old for the receiver to know whether it has come before.
  bool is_too_old(std::uint32_t number) const { return !is_later(number) && behind(number) >= kWindow; }
  // Numbers that come into the window with a later one before it, and whose places are those of older ones.
  std::uint32_t skipped(std::uint32_t number) const {
    return known_ && ahead(number) < kWindow ? ahead(number) : kWindow;
  }
  std::uint32_t next() const { return next_; }
  void advance(std::uint32_t number) {
    known_ = true;
    next_ = (number + 1) % kNumbers;
  }

 private:
  bool known_ = false;  // one has come
  std::uint32_t next_ = 0;  // behind the highest
};

}  // namespace exanet
