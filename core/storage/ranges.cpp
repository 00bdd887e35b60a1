// SPDX-License-Identifier: Apache-2.0
// Adds and removes ranges of bytes.
#include "core/storage/ranges.hpp"

#include <algorithm>
#include <iterator>

namespace exanet {

void ByteRanges::add(ByteRange range) {
  if (range.begin >= range.end) return;
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ranges_.end() && at->first <= range.end) {
    range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
    at = ranges_.erase(at);
  }
  ranges_[range.begin] = range.end;
}

void ByteRanges::remove(ByteRange range) {
  if (range.begin >= range.end) return;
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < range.end) {
    const ByteRange old{at->first, at->second};
    at = ranges_.erase(at);
    if (old.begin < range.begin) ranges_[old.begin] = std::min(old.end, range.begin);
    if (old.end > range.end) ranges_[std::max(old.begin, range.end)] = old.end;
  }
}

std::vector<ByteRange> ByteRanges::list() const {
  std::vector<ByteRange> all;
  all.reserve(ranges_.size());
  for (const auto& [begin, end] : ranges_) all.push_back({begin, end});
  return all;
}

std::vector<ByteRange> ByteRanges::missing(ByteRange range) const {
  std::vector<ByteRange> gaps;
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin()) --at;
  std::uint64_t from = range.begin;
  for (; at != ranges_.end() && at->first < range.end; ++at) {
    if (at->first > from) gaps.push_back({from, at->first});
    from = std::max(from, at->second);
  }
  if (from < range.end) gaps.push_back({from, range.end});
  return gaps;
}

}  // namespace exanet
