// SPDX-License-Identifier: Apache-2.0
// HyperX (Ahn and others 2009), which is the flattened butterfly (Kim, Dally and Abts 2007) with sides of its own:
// switches on a lattice, in each dimension a full mesh of the switches that differ in that coordinate alone. The shape
// is [endpoints a switch, side, side, ...]: [8, 8, 8] is the flattened 8-ary 3-fly of 512 endpoints in two dimensions
// (also [8, 3] of the kind flattened-butterfly).
//
// Routing corrects one coordinate a hop, last dimension first. No packet goes back to a dimension, so one virtual
// channel is enough.
#include <algorithm>

#include "core/topology/hosted.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

std::uint64_t product_of_sides(const std::vector<std::uint32_t>& shape) {
  if (shape.size() < 2)
    throw std::invalid_argument(
        "a hyperx takes [endpoints a switch, switches in each dimension...], e.g. [8, 8, 8] for 8 x 8 switches");
  std::uint64_t product = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) {
    if (shape[d] < 1 || shape[d] > 1024)
      throw std::invalid_argument("each dimension of a hyperx must have from 1 to 1024 switches");
    product = std::min<std::uint64_t>(product * shape[d], kMostNodes + 1);
  }
  return product;
}

std::uint64_t links_of_switch(const std::vector<std::uint32_t>& shape) {
  std::uint64_t links = 0;
  for (std::size_t d = 1; d < shape.size(); ++d) links += shape[d] - 1;
  return links;
}

class HyperX final : public HostedTopology {
 public:
  explicit HyperX(const std::vector<std::uint32_t>& shape)
      : HostedTopology(shape[0], product_of_sides(shape), links_of_switch(shape)) {
    std::uint32_t stride = 1, port = 0;
    for (std::size_t d = 1; d < shape.size(); ++d) {
      dimensions_.push_back({shape[d], stride, port});
      stride *= shape[d];
      port += shape[d] - 1;
    }
    for (const Dimension& d : dimensions_) shortest_.push_back(d);
    std::ranges::stable_sort(shortest_, {}, &Dimension::side);
  }

  std::uint8_t virtual_channels() const override { return 1; }

 protected:
  PortRef beyond(std::uint32_t here, std::uint16_t port) const override {
    const Dimension& d = dimension_of(port);
    const std::uint32_t own = coordinate(here, d), step = port - d.first_port, other = step < own ? step : step + 1;
    return {here - own * d.stride + other * d.stride, port_to(d, other, own)};
  }

  Hop towards(std::uint32_t here, std::uint32_t there) const override {
    for (std::size_t d = dimensions_.size(); d-- > 0;) {
      const std::uint32_t own = coordinate(here, dimensions_[d]), other = coordinate(there, dimensions_[d]);
      if (own != other) return {port_to(dimensions_[d], own, other), 0};
    }
    return {0, 0};  // never: the switches differ
  }

  void minimal_towards(std::uint32_t here, std::uint32_t there, PortList& out) const override {
    for (const Dimension& d : dimensions_)
      if (coordinate(here, d) != coordinate(there, d)) out.add(port_to(d, coordinate(here, d), coordinate(there, d)));
  }

  std::string switch_name(std::uint32_t number) const override {
    std::string name = "switch";
    for (const Dimension& d : dimensions_)
      name.append(&d == &dimensions_[0] ? "(" : ",").append(std::to_string(coordinate(number, d)));
    return name.append(")");
  }

  std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const override {
    const Dimension& d = dimension_of(port);
    std::string name(1, 'D');
    return name.append(std::to_string(&d - dimensions_.data()))
        .append("=")
        .append(std::to_string(coordinate(beyond(number, port).node, d)));
  }

  void switch_position(std::uint32_t number, float xyz[3]) const override {
    float scale[3] = {1, 1, 1};
    xyz[0] = xyz[1] = xyz[2] = 0;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      xyz[d % 3] += static_cast<float>(coordinate(number, dimensions_[d])) * scale[d % 3];
      scale[d % 3] *= static_cast<float>(dimensions_[d].side + 1);
    }
  }

  // Across the shortest dimension, where that is odd, its middle across the next one, and so on: no other half of the
  // switches has fewer links to the rest (Lindsey 1964).
  bool switch_upper_half(std::uint32_t number) const override {
    std::uint32_t place = 0;
    for (const Dimension& d : shortest_) place = place * d.side + coordinate(number, d);
    return place >= switches_ / 2;
  }

 private:
  struct Dimension {
    std::uint32_t side, stride, first_port;
  };

  const Dimension& dimension_of(std::uint16_t port) const {
    std::size_t d = dimensions_.size() - 1;
    while (dimensions_[d].first_port > port) --d;
    return dimensions_[d];
  }
  static std::uint32_t coordinate(std::uint32_t number, const Dimension& d) { return number / d.stride % d.side; }
  static std::uint16_t port_to(const Dimension& d, std::uint32_t own, std::uint32_t other) {
    return static_cast<std::uint16_t>(d.first_port + (other < own ? other : other - 1));
  }

  std::vector<Dimension> dimensions_, shortest_;  // the second by their sides
};

std::unique_ptr<Topology> make_hyperx(const TopologySpec& spec) {
  product_of_sides(spec.shape);  // complains of a shape without sides
  return std::make_unique<HyperX>(spec.shape);
}

std::unique_ptr<Topology> make_flattened_butterfly(const TopologySpec& spec) {
  if (spec.shape.size() != 2 || spec.shape[1] < 2 || spec.shape[1] > 16)
    throw std::invalid_argument(
        "a flattened-butterfly takes [k, n], the k-ary n-fly that it flattens: k endpoints a switch, and n from 2 to "
        "16, "
        "which makes n - 1 dimensions of k switches, e.g. [8, 3] for 512 endpoints");
  TopologySpec lattice = spec;
  lattice.shape.assign(spec.shape[1], spec.shape[0]);
  return make_hyperx(lattice);
}

}  // namespace

namespace topologies {

TopologyKind hyperx() {
  return {.name = "hyperx",
          .help = "switches on a lattice, fully meshed in each dimension",
          .shape = "[endpoints a switch, side, side, ...]",
          .links = {"link"},
          .samples = {{{2, 3, 4}}, {{3, 4, 4}}, {{2, 5}}, {{1, 2, 5, 3}}},
          .make = make_hyperx};
}

TopologyKind flattened_butterfly() {
  return {.name = "flattened-butterfly",
          .help = "a hyperx of k endpoints a switch and n - 1 sides of k",
          .shape = "[k, n]",
          .links = {"link"},
          .samples = {{{2, 4}}},
          .make = make_flattened_butterfly};
}

}  // namespace topologies

}  // namespace exanet
