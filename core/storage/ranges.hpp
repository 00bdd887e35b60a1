// SPDX-License-Identifier: Apache-2.0
// Sets of bytes of a file, as ranges that neither meet nor overlap.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace exanet {

struct ByteRange {
  std::uint64_t begin, end;
  bool operator==(const ByteRange&) const = default;
};

class ByteRanges {
 public:
  void add(ByteRange range);
  void remove(ByteRange range);
  void clear() { ranges_.clear(); }
  std::vector<ByteRange> list() const;
  // What of `range` is not in the set.
  std::vector<ByteRange> missing(ByteRange range) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin: end
};

}  // namespace exanet
