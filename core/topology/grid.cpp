// SPDX-License-Identifier: Apache-2.0
#include "core/topology/grid.hpp"

#include <algorithm>
#include <stdexcept>

namespace exanet {

Grid::Grid(std::vector<std::uint32_t> shape, bool wraps, std::uint32_t most) : shape_(std::move(shape)), wraps_(wraps) {
  if (shape_.empty())
    throw std::invalid_argument(
        "the topology has no shape: give the number of nodes in each dimension, e.g. [4, 4, 2]");
  if (shape_.size() > 16) throw std::invalid_argument("the topology's shape has more than 16 dimensions: use fewer");
  std::uint64_t size = 1;
  for (const std::uint32_t side : shape_) {
    if (side == 0 || side > 65535)
      throw std::invalid_argument("a dimension of the topology's shape is " + std::to_string(side) +
                                  ": give a whole number from 1 to 65535");
    stride_.push_back(static_cast<std::uint32_t>(size));
    size *= side;
    if (size > most)
      throw std::invalid_argument("the topology's shape has more than " + std::to_string(most) +
                                  " points: make it smaller");
  }
  for (std::uint32_t d = 0; d < dimensions(); ++d) longest_.push_back(d);
  std::ranges::stable_sort(longest_, [&](std::uint32_t a, std::uint32_t b) { return shape_[a] > shape_[b]; });
  size_ = static_cast<std::uint32_t>(size);
  each_ = (shape_.size() + 3) / 4 * 4;
  coordinates_.resize(size_ * each_);
  for (std::uint32_t point = 0; point < size_; ++point)
    for (std::size_t d = 0; d < shape_.size(); ++d)
      coordinates_[point * each_ + d] = static_cast<Coordinate>(point / stride_[d] % shape_[d]);
}

std::uint32_t Grid::neighbour(std::uint32_t point, std::uint32_t port) const {
  const std::uint32_t d = port / 2, here = coordinates(point)[d], side = shape_[d];
  if (side == 1) return kNone;
  const bool plus = port % 2 == 0, at_rim = plus ? here == side - 1 : here == 0;
  if (!at_rim) return plus ? point + stride_[d] : point - stride_[d];
  if (!wraps_) return kNone;
  return plus ? point - here * stride_[d] : point + (side - 1) * stride_[d];
}

std::string Grid::name(std::uint32_t point) const {
  std::string text;
  for (std::uint32_t d = 0; d < dimensions(); ++d) {
    text += d == 0 ? '(' : ',';
    text += std::to_string(coordinates(point)[d]);
  }
  text += ')';
  return text;
}

std::string Grid::port_name(std::uint32_t port, std::uint32_t dimensions) {
  const std::uint32_t d = port / 2;
  std::string name = dimensions <= 3 ? std::string(1, static_cast<char>('X' + d)) : std::to_string(d).insert(0, 1, 'D');
  name += port % 2 == 0 ? '+' : '-';
  return name;
}

std::uint32_t Grid::place(std::uint32_t point) const {
  std::uint32_t place = 0;
  for (const std::uint32_t d : longest_) place = place * shape_[d] + coordinates(point)[d];
  return place;
}

void Grid::position(std::uint32_t point, float xyz[3]) const {
  // A fourth dimension repeats the picture of the first three along x, a fifth along y, and so on, with a gap of one.
  float scale[3] = {1, 1, 1};
  xyz[0] = xyz[1] = xyz[2] = 0;
  for (std::uint32_t d = 0; d < dimensions(); ++d) {
    xyz[d % 3] += static_cast<float>(coordinates(point)[d]) * scale[d % 3];
    scale[d % 3] *= static_cast<float>(shape_[d] + 1);
  }
}

}  // namespace exanet
