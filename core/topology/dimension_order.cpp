// SPDX-License-Identifier: Apache-2.0
// Takes the next step of dimension order, quickly for up to four dimensions: why it cannot deadlock, and its limits,
// are in dimension_order.hpp.
#include "core/topology/dimension_order.hpp"

#include <algorithm>
#include <string>

#include "core/config/error.hpp"
#include "core/topology/multicast.hpp"

namespace exanet {

DimensionOrder::DimensionOrder(std::vector<std::uint32_t> shape, bool wraps, std::vector<std::uint32_t> order)
    : shape_(std::move(shape)), order_(std::move(order)), wraps_(wraps) {
  const auto dimensions = static_cast<std::uint32_t>(shape_.size());
  if (order_.empty())
    for (std::uint32_t d = dimensions; d-- > 0;) order_.push_back(d);
  std::vector<std::uint32_t> sorted = order_;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = sorted.size() == dimensions;
  for (std::uint32_t d = 0; permutation && d < dimensions; ++d) permutation = sorted[d] == d;
  if (!permutation)
    throw ConfigError("topology.order", "the order of dimensions must name each of the " + std::to_string(dimensions) +
                                            " dimensions once, counted from 0; leave it out for last dimension first");
  last_first_ = std::is_sorted(order_.rbegin(), order_.rend());
  if (dimensions > 4) return;
  for (std::uint32_t d = 0; d < dimensions; ++d) sides_ |= std::uint64_t{shape_[d]} << 16 * d;
  first_.assign(16, 0);
  for (std::uint32_t set = 1; set < 16; ++set)
    for (std::uint32_t i = dimensions; i-- > 0;)
      if ((set >> order_[i] & 1) != 0) first_[set] = static_cast<std::uint8_t>(order_[i]);
}

GridStep DimensionOrder::next_of_many(const Coordinate* at, const Coordinate* dst, std::uint32_t salt) const {
  const std::uint32_t* d = order_.data();
  while (at[*d] == dst[*d]) ++d;
  const std::uint32_t here = at[*d], there = dst[*d], side = shape_[*d];
  const bool above = there > here;
  bool plus = above;
  if (wraps_) {
    const std::uint32_t up = above ? there - here : there + side - here;
    plus = 2 * up < side || (2 * up == side && half_way_is_plus(here, *d, dst, salt));
  }
  return {static_cast<std::uint16_t>(*d), plus, static_cast<std::uint8_t>(above)};
}

bool DimensionOrder::half_way_is_plus(std::uint32_t here, std::uint32_t dimension, const Coordinate* dst,
                                      std::uint32_t salt) const {
  std::uint32_t bits = here ^ salt;
  for (std::uint32_t d = 0; d < shape_.size(); ++d)
    if (d != dimension) bits ^= dst[d];
  return (bits & 1u) == 0;
}

bool DimensionOrder::multicasts() const {
  return shape_.size() <= kBoxDimensions &&
         std::all_of(shape_.begin(), shape_.end(), [](std::uint32_t side) { return side <= kMostHops + 1; });
}

void DimensionOrder::add_copies(const Coordinate* at, const Coordinate* src, NodeId box, std::uint32_t from,
                                std::uint32_t first_port, Copies& out) const {
  bool starts = from < first_port || from >= first_port + 2 * shape_.size();
  for (const std::uint32_t d : order_) {
    const std::uint32_t here = at[d], source = src[d], side = shape_[d], hops = box_hops(box, d);
    const std::uint32_t most_up = std::min(hops, wraps_ ? side / 2 : side - 1 - source);
    const std::uint32_t most_down = std::min(hops, wraps_ ? (side - 1) / 2 : source);
    const bool rising = from == first_port + 2 * d + 1, falling = from == first_port + 2 * d;
    // The last nodes, and how far the packet is from its source.
    const std::uint32_t top = (source + most_up) % side, bottom = (source + side - most_down) % side;
    const std::uint32_t above = (here + side - source) % side, below = (source + side - here) % side;
    if (starts ? most_up > 0 : rising && above < most_up) out.add(first_port + 2 * d, top > here);
    if (starts ? most_down > 0 : falling && below < most_down) out.add(first_port + 2 * d + 1, bottom > here);
    starts = starts || rising || falling;
  }
}

void DimensionOrder::widen_box(const Coordinate* src, const Coordinate* at, std::uint32_t* hops) const {
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    const std::uint32_t offset = at[d] > src[d] ? at[d] - src[d] : src[d] - at[d];
    hops[d] = std::max(hops[d], wraps_ ? std::min(offset, shape_[d] - offset) : offset);
  }
}

std::uint32_t DimensionOrder::distance(const Coordinate* at, const Coordinate* dst) const {
  std::uint32_t total = 0;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    const std::uint32_t offset = at[d] > dst[d] ? at[d] - dst[d] : dst[d] - at[d];
    total += wraps_ ? std::min(offset, shape_[d] - offset) : offset;
  }
  return total;
}

}  // namespace exanet
