// SPDX-License-Identifier: Apache-2.0
// The lattice below meshes, tori and the torus of QFDBs: coordinates of its points and who is next to whom. The first
// coordinate changes fastest. Each point has two ports a dimension, plus at 2d and minus at 2d+1, whether something is
// plugged in or not.
//
// A ring of two has two distinct links between its two points: plus of the one to minus of the other, and the other way
// round. A side of one has no link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/topology/dimension_order.hpp"

namespace exanet {

class Grid {
 public:
  // Throws std::invalid_argument when a side is 0 or above 65535, or when there are more than `most` points.
  Grid(std::vector<std::uint32_t> shape, bool wraps, std::uint32_t most);

  std::uint32_t size() const { return size_; }
  std::uint32_t dimensions() const { return static_cast<std::uint32_t>(shape_.size()); }
  std::uint32_t side(std::uint32_t dimension) const { return shape_[dimension]; }
  const std::vector<std::uint32_t>& shape() const { return shape_; }
  // One for each dimension, then zeros up to a multiple of four.
  const Coordinate* coordinates(std::uint32_t point) const { return coordinates_.data() + std::size_t{point} * each_; }

  // The point beyond port 2d (plus) or 2d+1 (minus), which it reaches at its opposite port; kNone at the rim of a mesh.
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t neighbour(std::uint32_t point, std::uint32_t port) const;

  std::string name(std::uint32_t point) const;  // "(1,0,2)"
  static std::string port_name(std::uint32_t port, std::uint32_t dimensions);  // "X+", or "D4-" above three dimensions
  void position(std::uint32_t point, float xyz[3]) const;
  // The points in an order of which the first half has the fewest links to the second: across the longest dimension,
  // where that is odd, its middle across the next longest, and so on (Aroca and Fernandez Anta 2014).
  std::uint32_t place(std::uint32_t point) const;

 private:
  std::vector<std::uint32_t> shape_;
  std::vector<std::uint32_t> stride_;
  std::vector<std::uint32_t> longest_;  // dimensions by their sides, the first of equals first
  std::size_t each_;  // coordinates of a point
  std::vector<Coordinate> coordinates_;
  std::uint32_t size_ = 1;
  bool wraps_;
};

}  // namespace exanet
