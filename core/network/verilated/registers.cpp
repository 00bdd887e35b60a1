// SPDX-License-Identifier: Apache-2.0
// Works out the registers of Verilated routers and links, a section of the machine's description after the other, and
// refuses what the gateware cannot be set to. Limits: registers.hpp.
#include "core/network/verilated/registers.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "core/spec/interface_port.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {
namespace {

constexpr unsigned kDcidBits = 22, kXBits = 8, kYBits = 7;  // as exanet_router is built by default
constexpr unsigned kMeshPorts = spec::kQfdbNodes - 1;

// How the network's points are numbered and addressed: nodes of a grid, or QFDBs of four nodes. A DCID has the node of
// the QFDB lowest, then the coordinates, first dimension first (gateware/router/rtl/router_route.sv).
unsigned node_bits(bool qfdbs) { return qfdbs ? 2 : 0; }
unsigned dimension_bits(bool qfdbs, std::size_t dimension) {
  return dimension == 0 ? kXBits : dimension == 1 ? kYBits : kDcidBits - node_bits(qfdbs) - kXBits - kYBits;
}

struct Addressing {
  explicit Addressing(const TopologySpec& spec) : qfdbs(spec.kind == "qfdb-torus"), shape(spec.shape) {}

  unsigned nodes_each() const { return qfdbs ? spec::kQfdbNodes : 1; }
  unsigned bits(std::size_t dimension) const { return dimension_bits(qfdbs, dimension); }
  std::uint32_t nodes() const {
    std::uint32_t nodes = nodes_each();
    for (const std::uint32_t side : shape) nodes *= side;
    return nodes;
  }
  // Of a node, in a dimension that the machine has.
  std::uint32_t coordinate(std::uint32_t node, std::size_t dimension) const {
    node /= nodes_each();
    for (std::size_t d = 0; d < dimension; ++d) node /= shape[d];
    return node % shape[dimension];
  }
  std::uint32_t dcid(std::uint32_t node) const {
    std::uint32_t dcid = node % nodes_each();
    for (std::size_t d = 0, shift = node_bits(qfdbs); d < shape.size(); shift += bits(d++))
      dcid |= coordinate(node, d) << shift;
    return dcid;
  }

  bool qfdbs;
  const std::vector<std::uint32_t>& shape;
};

bool is_torus(const TopologySpec& spec) { return spec.kind != "mesh"; }

void require(bool condition, const std::string& what) {
  if (!condition) throw std::invalid_argument("this machine cannot be run on the gateware: " + what);
}

void check(const TopologySpec& spec, const NetworkConfig& config) {
  exanet::require(!config.links_fail, "fabric",
                  "links of Verilated nodes cannot fail during a run: use the model of their routers");
  require(spec.kind == "mesh" || spec.kind == "torus" || spec.kind == "qfdb-torus",
          "its routers support meshes, tori and tori of QFDBs, not a " + spec.kind);
  require((spec.routing.empty() || spec.routing == "minimal") && spec.failed.empty(),
          "its routers use dimension order and cannot route around failures");
  require(spec.shape.size() <= spec::kMaxDimensions, "its routers support up to three dimensions");
  for (std::size_t d = 0; d < spec.shape.size(); ++d)
    require(spec.shape[d] <= 1u << Addressing(spec).bits(d),
            "a side of " + std::to_string(spec.shape[d]) + " is too long for its addresses");
  const RouterConfig& router = config.router;
  require(router.word_bits == spec::kWordBits && router.header_words == 1 && router.footer_words == 1,
          "its router words have 128 bits, its packets one word of header and one of footer");
  require(router.virtual_channels == spec::kVirtualChannels, "it has two virtual channels");
  require(router.input_gap_cycles == 0 && router.output_gap_cycles == 0, "it has no gaps between packets");
  require(router.interface_slots == 0 || router.interface_slots == 8, "its intra-tile outputs have eight slots");
  require(router.max_payload_bytes <= 16 * spec::kMaxPayloadWords, "its packets carry up to 512 bytes");
  for (const LinkConfig& link : config.links) {
    const bool narrow = link.word_bits == spec::kLinkBits && link.framing_words == 2;
    const bool wide = link.word_bits == 2 * spec::kLinkBits && link.framing_words == 1;
    require((narrow || wide) && link.word_time == router.cycle,
            "its links carry a word in each cycle of the router: of 64 bits, two of which frame a packet, or of 128, "
            "of which one does");
    require(link.word_bits == config.links[0].word_bits, "its links are all of the same width");
    require(!wide || link.pause_every == 0,
            "links of four lanes use 8b/10b coding, which needs no pauses: set pause_every to 0");
    require(link.latency.ps() % router.cycle.ps() == 0,
            "the latency of its links is a whole number of the router's cycles");
  }
}

spec::RouterConfig router_registers(const TopologySpec& spec, const NetworkConfig& fabric, bool interfaces,
                                    std::uint32_t node) {
  spec::RouterConfig config;
  config.set_enabled(1);
  const Addressing addressing(spec);
  const auto dimensions = static_cast<unsigned>(spec.shape.size());
  const unsigned first_port = addressing.qfdbs ? kMeshPorts : 0;
  const unsigned place = node % addressing.nodes_each();
  config.set_qfdb_node(place);
  config.set_wraps(is_torus(spec));
  std::uint32_t disabled = 0;  // where nothing is plugged in: ports of a torus at all nodes of a QFDB but the first
  for (unsigned d = 0; d < spec::kMaxDimensions; ++d) {
    const std::uint32_t side = d < dimensions ? spec.shape[d] : 1;
    config.set_coordinate(d, d < dimensions ? addressing.coordinate(node, d) : 0);
    config.set_side(d, side);
    // Unused dimensions come last: no packet has an offset in them.
    config.set_order(d, d >= dimensions ? d : spec.order.empty() ? dimensions - 1 - d : spec.order[d]);
    config.set_plus_port(d, d < dimensions ? first_port + 2 * d : 0);
    config.set_minus_port(d, d < dimensions ? first_port + 2 * d + 1 : 0);
    if (addressing.qfdbs && (place != 0 || side == 1)) disabled |= 3u << (first_port + 2 * d);
  }
  for (const auto& [at, port] : spec.disabled)
    if (at == node) disabled |= 1u << port;
  config.set_disabled(disabled);
  config.set_fixed_priority(fabric.router.arbitration == RouterConfig::Arbitration::kFixedPriority);
  config.set_links_first(fabric.router.arbitration == RouterConfig::Arbitration::kLinksFirst);
  const auto last_port = static_cast<unsigned>(fabric.router.intra_ports) - 1;
  for (unsigned kind = 0; kind < 16; ++kind)
    config.set_type_port(kind, interfaces ? spec::interface_port(kind) : std::min(kind, last_port));
  return config;
}

}  // namespace

GatewareRegisters::GatewareRegisters(const TopologySpec& spec, const NetworkConfig& config, bool interfaces) {
  check(spec, config);
  credit_ =
      static_cast<std::uint32_t>(config.router.credit_threshold_words | config.router.credit_interval_cycles << 16);
  for (const LinkConfig& link : config.links)
    lines_.push_back({static_cast<std::uint32_t>(link.latency.ps() / config.router.cycle.ps()),
                      static_cast<std::uint32_t>(link.pause_every)});
  const Addressing addressing(spec);
  qfdbs_ = addressing.qfdbs;
  for (std::uint32_t node = 0; node < addressing.nodes(); ++node) {
    const spec::RouterConfig config_of = router_registers(spec, config, interfaces, node);
    registers_.insert(registers_.end(), config_of.raw.begin(), config_of.raw.end());
    dcid_.push_back(addressing.dcid(node));
  }
  std::uint32_t shift = node_bits(qfdbs_);
  for (std::size_t d = 0; d < shifts_.size(); ++d) {
    shifts_[d] = shift;
    if (d < spec.shape.size()) shift += static_cast<std::uint32_t>(std::bit_width(spec.shape[d] - 1));
  }
}

NodeId GatewareRegisters::node_at(std::uint32_t dcid) const {
  const auto found = std::find(dcid_.begin(), dcid_.end(), dcid);
  EXANET_CHECK(found != dcid_.end(), "an address of no node", 0, dcid, 0);
  return static_cast<NodeId>(found - dcid_.begin());
}

// No more hops than the field of a dimension holds: they go round any ring that its coordinates can name.
std::uint32_t GatewareRegisters::box(NodeId box) const {
  std::uint32_t dcid = 0;
  for (unsigned d = 0, shift = node_bits(qfdbs_); d < kBoxDimensions; shift += dimension_bits(qfdbs_, d++))
    dcid |= std::min(box_hops(box, d), (1u << dimension_bits(qfdbs_, d)) - 1) << shift;
  return dcid;
}

}  // namespace exanet
