// SPDX-License-Identifier: Apache-2.0
// Dimension-order routing on meshes and tori, with the virtual channel taken from the sign of the remaining offset.
//
// A packet reduces its offset in one dimension to zero before it looks at the next; the order of the dimensions is
// configurable and is last dimension first (Z, Y, X) unless configured otherwise. On a ring it goes the short way
// round. The virtual channel of a link is the upper one (1) if destination coordinate minus present coordinate is
// greater than zero and the lower one (0) otherwise. (APErouter, "ExaNet" paper at ParCo 2017, section 3.3.)
//
// Why that is free of deadlock on a ring: of the packets that travel in the plus direction, those that have yet to
// cross the wrap-around link have a destination below them (lower channel), and once across it a destination above them
// (upper channel). No packet goes from the upper channel back to the lower one, the upper channel never crosses the
// wrap-around link, and the lower one never leaves node 0 in the plus direction (nothing is below 0). So neither
// channel closes the ring: it is a dateline at the wrap-around link. The minus direction is the mirror image.
// Dimensions are taken in one order, so rings of different dimensions do not close a cycle either.
//
// The papers do not say which way a packet goes that is exactly half way round. Taking one direction always would load
// it with three quarters of a ring of four, so here the parity of the present coordinate and of the destination's other
// coordinates decides: an XOR of low bits in hardware, and balanced for every even side.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

using Coordinate = std::uint16_t;

// One step of a packet: along `dimension`, towards higher coordinates or lower ones (modulo the side on a torus).
struct GridStep {
  std::uint16_t dimension;
  bool plus;
  std::uint8_t vc;
};

class DimensionOrder {
 public:
  // `order` lists the dimensions in the order in which offsets are consumed and is a permutation of 0..shape.size()-1;
  // empty means last dimension first. Throws ConfigError on anything else.
  DimensionOrder(std::vector<std::uint32_t> shape, bool wraps, std::vector<std::uint32_t> order);

  // Contract: `at` and `dst` hold one coordinate a dimension, then zeros up to a multiple of four, and differ. `salt`
  // is further destination bits for the parity rule.
  GridStep next(const Coordinate* at, const Coordinate* dst, std::uint32_t salt = 0) const {
    if (first_.empty()) return next_of_many(at, dst, salt);
    // Up to four dimensions in one word, and no branch: which way a packet goes is hard to predict.
    std::uint64_t from, to;
    std::memcpy(&from, at, 8);
    std::memcpy(&to, dst, 8);
    const std::uint64_t apart = from ^ to;
    const std::uint32_t d =
        last_first_ ? (static_cast<std::uint32_t>(std::bit_width(apart)) - 1) / 16 : first_of(apart);
    const auto here = static_cast<std::uint32_t>(from >> 16 * d & 0xffff),
               there = static_cast<std::uint32_t>(to >> 16 * d & 0xffff);
    const auto side = static_cast<std::uint32_t>(sides_ >> 16 * d & 0xffff);
    const bool above = there > here;
    std::uint64_t bits = to ^ to >> 32;
    bits ^= bits >> 16 ^ there ^ here ^ salt;
    const std::uint32_t up = there - here + (above ? 0 : side);
    const bool shorter = 2 * up < side + (~bits & 1);  // or, half way round, preferred
    return {static_cast<std::uint16_t>(d), wraps_ ? shorter : above, static_cast<std::uint8_t>(above)};
  }

  // Ports on all shortest routes, plus at first_port + 2d and minus behind it; both where a destination is half way
  // round.
  void minimal(const Coordinate* at, const Coordinate* dst, std::uint32_t first_port, PortList& out) const {
    for (std::uint32_t d = 0; d < shape_.size(); ++d) {
      if (at[d] == dst[d]) continue;
      const bool above = dst[d] > at[d];
      const std::uint32_t up = above ? dst[d] - at[d] : dst[d] + shape_[d] - at[d];
      if (wraps_ ? 2 * up <= shape_[d] : above) out.add(static_cast<std::uint16_t>(first_port + 2 * d));
      if (wraps_ ? 2 * up >= shape_[d] : !above) out.add(static_cast<std::uint16_t>(first_port + 2 * d + 1));
    }
  }

  std::uint32_t distance(const Coordinate* at, const Coordinate* dst) const;

  // Adds the ports, plus at first_port + 2d and minus behind it, by which copies of a packet from `src` to `box` go on
  // that comes to `at` by port `from`: straight on along its dimension, and both ways in those that come later; both
  // ways in all where it comes by none of these ports. So copies take dimensions in order, and have the channel of a
  // packet to the last node that they go to in each.
  void add_copies(const Coordinate* at, const Coordinate* src, NodeId box, std::uint32_t from, std::uint32_t first_port,
                  Copies& out) const;
  // Widens a box around `src`, by its hops in each dimension, so that it holds `at`.
  void widen_box(const Coordinate* src, const Coordinate* at, std::uint32_t* hops) const;
  // Boxes reach all of it, and its routers' outputs fit into a mask of 16.
  bool multicasts() const;

 private:
  // The dimension to go first in, by the bits in which two points differ.
  std::uint32_t first_of(std::uint64_t apart) const {
    const std::uint64_t differ =
        (((apart & ~kHighBits) + ~kHighBits) | apart) & kHighBits;  // the high bit of each dimension that does
    return first_[((differ >> 15) * kGather) >> 48 & 15];
  }

  GridStep next_of_many(const Coordinate* at, const Coordinate* dst, std::uint32_t salt) const;
  bool half_way_is_plus(std::uint32_t here, std::uint32_t dimension, const Coordinate* dst, std::uint32_t salt) const;

  static constexpr std::uint64_t kHighBits = 0x8000'8000'8000'8000;
  static constexpr std::uint64_t kGather =
      0x0001'0002'0004'0008;  // multiplies bits 0, 16, 32 and 48 into bits 48 to 51

  std::vector<std::uint32_t> shape_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t>
      first_;  // by the set of dimensions in which two points differ: the one to go first; empty above four dimensions
  std::uint64_t sides_ = 0;  // 16 bits for each dimension
  bool wraps_;
  bool last_first_;  // the order of dimensions, which the highest bit that differs then gives
};

}  // namespace exanet
