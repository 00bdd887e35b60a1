// SPDX-License-Identifier: Apache-2.0
#include "core/network/verilated/registers.hpp"

#include <stdexcept>
#include <string>

namespace exanet {
namespace {

constexpr unsigned kDimensionBits[3] = {8, 7,
                                        7};  // of a DCID, first dimension lowest (gateware/router/rtl/router_route.sv)

void require(bool condition, const std::string& what) {
  if (!condition) throw std::invalid_argument("this machine cannot be run on the gateware: " + what);
}

void check(const TopologySpec& spec, const NetworkConfig& config) {
  require(spec.kind == "mesh" || spec.kind == "torus", "its routers know meshes and tori, not a " + spec.kind);
  require((spec.routing.empty() || spec.routing == "minimal") && spec.failed.empty(),
          "its routers go by dimension order, and round nothing");
  require(spec.shape.size() <= spec::kMaxDimensions, "its routers know up to three dimensions");
  for (std::size_t d = 0; d < spec.shape.size(); ++d)
    require(spec.shape[d] <= 1u << kDimensionBits[d],
            "a side of " + std::to_string(spec.shape[d]) + " nodes is too long for its addresses");
  const RouterConfig& router = config.router;
  require(router.word_bits == spec::kWordBits && router.header_words == 1 && router.footer_words == 1,
          "its router words have 128 bits, its packets one word of header and one of footer");
  require(router.virtual_channels == spec::kVirtualChannels, "it has two virtual channels");
  require(router.input_gap_cycles == 0 && router.output_gap_cycles == 0, "it has no gaps between packets");
  require(router.max_payload_bytes <= 16 * spec::kMaxPayloadWords, "its packets carry up to 512 bytes");
  require(config.links.size() == 1, "its links are all alike");
  const LinkConfig& link = config.links[0];
  const bool narrow = link.word_bits == spec::kLinkBits && link.framing_words == 2;
  const bool wide = link.word_bits == 2 * spec::kLinkBits && link.framing_words == 1;
  require((narrow || wide) && link.word_time == router.cycle,
          "its links carry a word in each cycle of the router: of 64 bits, two of which frame a packet, or of 128, of "
          "which one does");
  require(!wide || link.pause_every == 0, "links of four lanes are coded 8b/10b, which pauses for nothing");
  require(link.latency.ps() % router.cycle.ps() == 0,
          "the latency of its links is a whole number of the router's cycles");
}

spec::RouterConfig router_registers(const TopologySpec& spec, const NetworkConfig& fabric, std::uint32_t node) {
  spec::RouterConfig config;
  config.set_enabled(1);
  const auto dimensions = static_cast<unsigned>(spec.shape.size());
  config.set_wraps(spec.kind == "torus");
  for (unsigned d = 0; d < spec::kMaxDimensions; ++d) {
    const std::uint32_t side = d < dimensions ? spec.shape[d] : 1;
    config.set_coordinate(d, node % side);
    config.set_side(d, side);
    // Unused dimensions come last: no packet has an offset in them.
    config.set_order(d, d >= dimensions ? d : spec.order.empty() ? dimensions - 1 - d : spec.order[d]);
    config.set_plus_port(d, d < dimensions ? 2 * d : 0);
    config.set_minus_port(d, d < dimensions ? 2 * d + 1 : 0);
    node /= side;
  }
  config.set_fixed_priority(fabric.router.arbitration == RouterConfig::Arbitration::kFixedPriority);
  config.set_links_first(fabric.router.arbitration == RouterConfig::Arbitration::kLinksFirst);
  for (unsigned kind = 0; kind < 16; ++kind)
    config.set_type_port(kind, kind == static_cast<unsigned>(spec::PacketType::kMessage) ? 0 : 1);
  return config;
}

}  // namespace

GatewareRegisters::GatewareRegisters(const TopologySpec& spec, const NetworkConfig& config) {
  check(spec, config);
  line_cycles_ = static_cast<std::uint32_t>(config.links[0].latency.ps() / config.router.cycle.ps());
  pause_every_ = static_cast<std::uint32_t>(config.links[0].pause_every);
  std::uint32_t nodes = 1;
  for (const std::uint32_t side : spec.shape) nodes *= side;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const spec::RouterConfig config_of = router_registers(spec, config, node);
    registers_.insert(registers_.end(), config_of.raw.begin(), config_of.raw.end());
    std::uint32_t dcid = 0, rest = node;
    for (unsigned d = 0, shift = 0; d < spec.shape.size(); shift += kDimensionBits[d++]) {
      dcid |= rest % spec.shape[d] << shift;
      rest /= spec.shape[d];
    }
    dcid_.push_back(dcid);
  }
}

}  // namespace exanet
