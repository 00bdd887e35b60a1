// SPDX-License-Identifier: Apache-2.0
// A histogram of times over any range in constant memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace exanet {

// Log-linear: 16 buckets an octave, so a bucket is at most 6.25 % wide.
class Histogram {
 public:
  void add(std::int64_t ps) {
    const std::uint64_t v = ps < 0 ? 0 : static_cast<std::uint64_t>(ps);
    const std::uint32_t i = index(v);
    if (i >= counts_.size()) counts_.resize(i + 1);
    ++counts_[i];
    least_ = std::min(least_, v);
    most_ = std::max(most_, v);
  }
  void add(const Histogram& other) {
    counts_.resize(counts_.size() < other.counts_.size() ? other.counts_.size() : counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
  }
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  static std::uint64_t lower(std::uint32_t i) {
    if (i < 16) return i;
    const std::uint32_t shift = i / 16 - 1;
    return static_cast<std::uint64_t>(16 + i % 16) << shift;
  }

  // The middle of the bucket below or in which a share of `quantile` of all values lies, but no value that is above or
  // below all; 0 when there are none.
  std::uint64_t quantile(double quantile) const {
    std::uint64_t total = 0, seen = 0;
    for (const std::uint64_t count : counts_) total += count;
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= quantile * static_cast<double>(total))
        return std::clamp((lower(i) + lower(i + 1)) / 2, least_, most_);
    }
    return 0;
  }

  template <typename V>
  friend void visit(Histogram& h, V&& v) {
    v("counts", h.counts_);
    v("least", h.least_);
    v("most", h.most_);
  }

 private:
  static std::uint32_t index(std::uint64_t v) {
    if (v < 16) return static_cast<std::uint32_t>(v);
    const std::uint32_t shift = static_cast<std::uint32_t>(std::bit_width(v)) - 5;
    return (shift + 1) * 16 + static_cast<std::uint32_t>((v >> shift) & 15);
  }
  std::vector<std::uint64_t> counts_;
  std::uint64_t least_ = ~std::uint64_t{0}, most_ = 0;
};

}  // namespace exanet
