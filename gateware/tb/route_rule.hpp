// SPDX-License-Identifier: Apache-2.0
// The router's rule in C++ (gateware/router/rtl/router_route.sv): where a packet goes on, given the port at which it
// has come. Unlike Topology::next_hop() it depends on that port, so that a packet which goes round a disabled port
// never turns back.
#pragma once

#include <optional>

#include "core/spec/packet.hpp"

namespace exanet::gateware {

struct Step {
  unsigned port, vc;
  bool operator==(const Step&) const = default;
};

inline constexpr unsigned kNoPort = ~0u;  // the packet comes from an intra-tile port
inline constexpr unsigned kMeshPorts = spec::kQfdbNodes - 1;

// Parameters that a router is built with.
struct RuleShape {
  unsigned inter_ports;
  bool qfdb = false;
};

// Bits of a destination for each dimension, above those for the node of a QFDB, as routers are built by default.
constexpr unsigned dimension_bits(bool qfdb, unsigned dimension) {
  return dimension == 0 ? 8 : dimension == 1 || !qfdb ? 7 : 5;
}

// A destination's DCID.
constexpr std::uint32_t address(bool qfdb, unsigned node, const unsigned (&coordinates)[3]) {
  std::uint32_t dcid = node;
  for (unsigned d = 0, shift = qfdb ? 2 : 0; d < 3; shift += dimension_bits(qfdb, d++)) dcid |= coordinates[d] << shift;
  return dcid;
}

// The link that the packet takes next, nullopt where it is discarded. Contract: `dcid` is another node's.
inline std::optional<Step> route_rule(const spec::RouterConfig& config, RuleShape shape, std::uint32_t dcid,
                                      unsigned from) {
  const unsigned node = shape.qfdb ? dcid & 3 : 0;
  unsigned there[3], parity = node & 1, position = shape.qfdb ? 2 : 0;
  for (unsigned d = 0; d < 3; position += dimension_bits(shape.qfdb, d++)) {
    there[d] = dcid >> position & ((1u << dimension_bits(shape.qfdb, d)) - 1);
    if (there[d] >= config.side(d)) return std::nullopt;
    parity ^= there[d] & 1;
  }
  if (!config.enabled()) return std::nullopt;
  const auto disabled = [&](unsigned port) { return (config.disabled() >> port & 1) != 0; };
  unsigned chosen = 3;
  bool differs = false;
  for (unsigned d = 0; d < 3; ++d) differs = differs || there[d] != config.coordinate(d);
  if (const auto self = static_cast<unsigned>(config.qfdb_node()); shape.qfdb && (differs ? self != 0 : self != node)) {
    const unsigned next = differs ? 0 : node, port = next < self ? next : next - 1;
    if (disabled(port) || from < kMeshPorts) return std::nullopt;
    return Step{port, next > self};
  }
  for (unsigned i = 3; i-- > 0;)
    if (const auto d = static_cast<unsigned>(config.order(i)); d < 3 && there[d] != config.coordinate(d)) chosen = d;
  if (chosen == 3) return std::nullopt;
  const auto here = static_cast<unsigned>(config.coordinate(chosen)), side = static_cast<unsigned>(config.side(chosen));
  const auto plus_port = static_cast<unsigned>(config.plus_port(chosen)),
             minus_port = static_cast<unsigned>(config.minus_port(chosen));
  const bool above = there[chosen] > here, rising = from == minus_port, falling = from == plus_port;
  bool plus = above;
  if (config.wraps()) {
    const unsigned up = above ? there[chosen] - here : there[chosen] + side - here;
    plus = 2 * up < side || (2 * up == side && ((parity ^ there[chosen] ^ here) & 1) == 0);
    if (rising || falling)
      plus = rising;
    else if (disabled(plus ? plus_port : minus_port))
      plus = !plus;
  }
  const unsigned port = plus ? plus_port : minus_port;
  const bool there_is = port < shape.inter_ports && port >= (shape.qfdb ? kMeshPorts : 0);
  if (!there_is || disabled(port) || port == from || ((rising || falling) && plus != rising)) return std::nullopt;
  return Step{port, above};
}

}  // namespace exanet::gateware
