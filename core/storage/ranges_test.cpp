// SPDX-License-Identifier: Apache-2.0
// Are sets of ranges what a set of single bytes is?
#include "core/storage/ranges.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "core/engine/random.hpp"

namespace exanet {

TEST_CASE("ranges of bytes are a set of bytes, whatever is added and removed") {
  constexpr std::uint64_t kBytes = 40;
  Random random(1, 0);
  for (int campaign = 0; campaign < 50; ++campaign) {
    ByteRanges ranges;
    std::vector<bool> bytes(kBytes);
    for (int step = 0; step < 40; ++step) {
      const auto begin = static_cast<std::uint64_t>(random.unit() * kBytes);
      const auto end = begin + static_cast<std::uint64_t>(random.unit() * static_cast<double>(kBytes - begin + 1));
      const bool adds = random.unit() < 0.6;
      adds ? ranges.add({begin, end}) : ranges.remove({begin, end});
      for (std::uint64_t i = begin; i < end; ++i) bytes[i] = adds;
      std::vector<bool> listed(kBytes), missed(kBytes);
      std::uint64_t last = 0;
      for (const ByteRange& range : ranges.list()) {
        CHECK((range.begin > last || (range.begin == 0 && last == 0)));  // they do not even meet
        CHECK(range.end > range.begin);
        last = range.end;
        for (std::uint64_t i = range.begin; i < range.end; ++i) listed[i] = true;
      }
      REQUIRE(listed == bytes);
      for (const ByteRange& range : ranges.missing({begin, end}))
        for (std::uint64_t i = range.begin; i < range.end; ++i) missed[i] = true;
      for (std::uint64_t i = 0; i < kBytes; ++i) REQUIRE(missed[i] == (i >= begin && i < end && !bytes[i]));
    }
  }
}

}  // namespace exanet
