// SPDX-License-Identifier: Apache-2.0
// Records that come and go, named by 32-bit indices. A place that is given back is the next to be taken, so that few
// are touched. Those not in use are linked through the member `Next`, which means nothing to the pool while a record is
// in use.
#pragma once

#include <cstdint>
#include <vector>

namespace exanet {

template <typename T, std::uint32_t T::* Next>
class Pool {
 public:
  // References to records hold until the next add() or take().
  T& operator[](std::uint32_t index) { return records_[index]; }
  const T& operator[](std::uint32_t index) const { return records_[index]; }
  std::size_t size() const { return records_.size(); }  // in use or not
  std::size_t capacity() const { return records_.capacity(); }

  std::uint32_t add(const T& record) {
    const std::uint32_t index = take();
    records_[index] = record;
    return index;
  }

  // The same for a record that is written where it lies: until then it holds something old.
  std::uint32_t take() {
    if (unused_ == kNone) [[unlikely]]
      grow();
    const std::uint32_t index = unused_;
    unused_ = records_[index].*Next;
    return index;
  }

  void free(std::uint32_t index) {
    records_[index].*Next = unused_;
    unused_ = index;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  [[gnu::noinline]] void grow() {
    records_.emplace_back();
    free(static_cast<std::uint32_t>(records_.size() - 1));
  }

  std::vector<T> records_;
  std::uint32_t unused_ = kNone;
};

}  // namespace exanet
