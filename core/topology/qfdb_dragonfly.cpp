// SPDX-License-Identifier: Apache-2.0
// ExaNeSt's other topology: a dragonfly of QFDBs. A mezzanine is a group of QFDBs in a full mesh, and each QFDB has
// links to other mezzanines besides; one link joins each two mezzanines. The shape is [QFDBs a mezzanine, links of a
// QFDB to other mezzanines]: [4, 2] is nine mezzanines of four QFDBs, 144 MPSoCs, with five of the ten links of a
// network FPGA.
//
// Inside a QFDB all is as in qfdb_torus.hpp: four MPSoCs in a full mesh, F1 holds the links to the outside. Between
// QFDBs routes are those of dragonfly.cpp: minimal, virtual channel 0 up to the destination's mezzanine and 1 inside
// it. A link into F1 may be followed by links between QFDBs, those by a link out of F1, and that by nothing, so QFDBs
// close no cycle.
//
// Link class 0 is inside a QFDB, 1 inside a mezzanine, 2 between mezzanines. Source: MICPRO'18, section 7, names the
// dragonfly without its parameters; those are a machine's own.
#include <stdexcept>

#include "core/topology/halves.hpp"
#include "core/topology/registry.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kPerQfdb = 4;
constexpr std::uint32_t kMeshPorts = kPerQfdb - 1;

class QfdbDragonfly final : public Topology {
 public:
  QfdbDragonfly(std::uint32_t group, std::uint32_t global)
      : group_(group), global_(global), groups_(group * global + 1) {}

  std::uint32_t node_count() const override { return groups_ * group_ * kPerQfdb; }
  std::uint16_t port_count(NodeId node) const override {
    return static_cast<std::uint16_t>(node % kPerQfdb == 0 ? kMeshPorts + group_ - 1 + global_ : kMeshPorts);
  }

  PortRef neighbour(NodeId node, std::uint16_t port) const override {
    const std::uint32_t qfdb = node / kPerQfdb, f = node % kPerQfdb;
    if (port < kMeshPorts) {
      const std::uint32_t other = other_than(f, port);
      return {qfdb * kPerQfdb + other, step_to(other, f)};
    }
    const std::uint32_t group = qfdb / group_, member = qfdb % group_, outer = port - kMeshPorts;
    if (outer < group_ - 1) {
      const std::uint32_t other = other_than(member, outer);
      return {(group * group_ + other) * kPerQfdb, static_cast<std::uint16_t>(kMeshPorts + step_to(other, member))};
    }
    const std::uint32_t far_group = other_than(group, member * global_ + (outer - (group_ - 1))),
                        back = step_to(far_group, group);
    return {(far_group * group_ + back / global_) * kPerQfdb,
            static_cast<std::uint16_t>(kMeshPorts + group_ - 1 + back % global_)};
  }

  Hop next_hop(NodeId at, NodeId dst) const override {
    const std::uint32_t here = at / kPerQfdb, there = dst / kPerQfdb, f = at % kPerQfdb;
    if (here == there || f != 0) {
      const std::uint32_t target = here == there ? dst % kPerQfdb : 0;
      return {step_to(f, target), static_cast<std::uint8_t>(target > f)};
    }
    const std::uint32_t group = here / group_, far_group = there / group_, member = here % group_;
    if (group == far_group) return {outer_port(step_to(member, there % group_)), 1};
    const std::uint32_t link = step_to(group, far_group), exit = link / global_;
    if (exit == member) return {outer_port(group_ - 1 + link % global_), 0};
    return {outer_port(step_to(member, exit)), 0};
  }

  bool shortest() const override {
    return false;
  }  // as on every dragonfly, two links between mezzanines can be fewer in all
  std::uint8_t link_class(NodeId, std::uint16_t port) const override {
    return port < kMeshPorts ? 0 : port < kMeshPorts + group_ - 1 ? 1 : 2;
  }

  std::string node_name(NodeId node) const override {
    const std::uint32_t qfdb = node / kPerQfdb;
    std::string name = "mezzanine" + std::to_string(qfdb / group_);
    return name.append(".qfdb")
        .append(std::to_string(qfdb % group_))
        .append(".F")
        .append(std::to_string(node % kPerQfdb + 1));
  }

  std::string port_name(NodeId node, std::uint16_t port) const override {
    if (port < kMeshPorts) return std::to_string(other_than(node % kPerQfdb, port) + 1).insert(0, "F");
    const std::uint32_t far = neighbour(node, port).node / kPerQfdb;
    return link_class(node, port) == 1 ? std::to_string(far % group_).insert(0, "qfdb")
                                       : std::to_string(far / group_).insert(0, "mezzanine");
  }

  void position(NodeId node, float xyz[3]) const override {
    const std::uint32_t qfdb = node / kPerQfdb;
    xyz[0] = static_cast<float>(qfdb % group_) * 3 + static_cast<float>(node % 2);
    xyz[1] = static_cast<float>(qfdb / group_) * 4 + static_cast<float>(node % kPerQfdb / 2);
    xyz[2] = 0;
  }

  bool upper_half(NodeId node) const override { return halves_.upper(*this, node); }

 private:
  // The others of a full mesh in ascending order, from the point of view of `own`.
  static std::uint32_t other_than(std::uint32_t own, std::uint32_t step) { return step < own ? step : step + 1; }
  static std::uint16_t step_to(std::uint32_t own, std::uint32_t other) {
    return static_cast<std::uint16_t>(other < own ? other : other - 1);
  }
  static std::uint16_t outer_port(std::uint32_t port) { return static_cast<std::uint16_t>(kMeshPorts + port); }

  std::uint32_t group_, global_, groups_;
  SearchedHalves halves_;
};

std::unique_ptr<Topology> make_qfdb_dragonfly(const TopologySpec& spec) {
  const auto& s = spec.shape;
  if (s.size() != 2 || s[0] < 1 || s[1] < 1 || s[0] > 512 || s[1] > 512)
    throw std::invalid_argument(
        "a qfdb-dragonfly takes [QFDBs a mezzanine, links of a QFDB to other mezzanines], from 1 to 512, e.g. [4, 2]");
  if ((std::uint64_t{s[0]} * s[1] + 1) * s[0] * kPerQfdb > kMostNodes)
    throw std::invalid_argument("more than " + std::to_string(kMostNodes) + " nodes: make it smaller");
  return std::make_unique<QfdbDragonfly>(s[0], s[1]);
}

}  // namespace

namespace topologies {

TopologyKind qfdb_dragonfly() {
  return {.name = "qfdb-dragonfly",
          .help = "a dragonfly whose groups are mezzanines of QFDBs",
          .shape = "[QFDBs a mezzanine, links of a QFDB to other mezzanines]",
          .links = {"intra-qfdb", "inter-qfdb", "inter-mezzanine"},
          .samples = {{{2, 1}}, {{4, 2}}, {{1, 3}}, {{3, 1}}},
          .make = make_qfdb_dragonfly};
}

}  // namespace topologies

}  // namespace exanet
