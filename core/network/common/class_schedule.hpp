// SPDX-License-Identifier: Apache-2.0
// Chooses the class of packets that an output serves: the highest, or each by its weight. A class has a share that
// begins where its last one ended, or where the output is by now if it has been idle, and the one that begins first is
// served (start-time fair queueing: Goyal and others 1996; with equal packets this is weighted round robin).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace exanet::switch_state {

inline constexpr std::uint64_t kTag = 1 << 20;  // a word's part of a share at weight 1

// Share of an output that one class has had.
struct Share {
  std::uint64_t finish = 0;  // of its share: words by weight
  std::uint8_t first = 0;  // whose turn it is in the class: a slot, or a virtual channel
};

// Share of a word by class; 0 where classes have no weights.
inline std::vector<std::int64_t> tags_of(const std::vector<std::int64_t>& weights, std::uint32_t classes) {
  std::vector<std::int64_t> tags;
  tags.reserve(classes);
  for (std::uint32_t c = 0; c < classes; ++c)
    tags.push_back(weights.empty() ? 0 : static_cast<std::int64_t>(kTag) / weights[c]);
  return tags;
}

// Takes the class to be served next out of the set `classes`, which is not empty. `shares`: by class; `virtual_time`:
// of the output.
inline std::uint32_t take_class(std::uint32_t& classes, bool weighted, const Share* shares,
                                std::uint64_t virtual_time) {
  std::uint32_t next = 31 - static_cast<std::uint32_t>(std::countl_zero(classes));
  if (weighted) {
    const auto starts = [&](std::uint32_t c) { return std::max(shares[c].finish, virtual_time); };
    for (std::uint32_t c = next; c-- > 0;)
      if ((classes >> c & 1) != 0 && starts(c) < starts(next)) next = c;
  }
  classes &= ~(1u << next);
  return next;
}

// Charges a class with the words that it is granted.
inline void charge_share(Share& share, std::uint64_t& virtual_time, std::int64_t tag, std::uint32_t words) {
  virtual_time = std::max(share.finish, virtual_time);
  share.finish = virtual_time + words * static_cast<std::uint64_t>(tag);
}

}  // namespace exanet::switch_state
