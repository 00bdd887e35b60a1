// SPDX-License-Identifier: Apache-2.0
// The router's rule in C++ (gateware/router/rtl/router_route.sv): where a packet goes on, given the port at which it has come. Unlike
// Topology::next_hop() it depends on that port, so that a packet which goes round a disabled port never turns back.
#pragma once

#include <optional>

#include "core/spec/packet.hpp"

namespace exanet::gateware {

struct Step {
  unsigned port, vc;
  bool operator==(const Step&) const = default;
};

inline constexpr unsigned kNoPort = ~0u;  // the packet comes from an intra-tile port
inline constexpr unsigned kDimensionBits[3] = {8, 7, 7};

// The link that the packet takes next, nullopt where it is discarded. Contract: `dcid` is another node's.
inline std::optional<Step> route_rule(const spec::RouterConfig& config, unsigned inter_ports, std::uint32_t dcid,
                                      unsigned from) {
  unsigned there[3], parity = 0, shift = 0;
  for (unsigned d = 0; d < 3; ++d) {
    there[d] = dcid >> shift & ((1u << kDimensionBits[d]) - 1);
    shift += kDimensionBits[d];
    if (there[d] >= config.side(d)) return std::nullopt;
    parity ^= there[d] & 1;
  }
  if (!config.enabled()) return std::nullopt;
  unsigned chosen = 3;
  for (unsigned i = 3; i-- > 0;)
    if (const auto d = static_cast<unsigned>(config.order(i)); d < 3 && there[d] != config.coordinate(d)) chosen = d;
  if (chosen == 3) return std::nullopt;
  const auto here = static_cast<unsigned>(config.coordinate(chosen)), side = static_cast<unsigned>(config.side(chosen));
  const auto plus_port = static_cast<unsigned>(config.plus_port(chosen)),
             minus_port = static_cast<unsigned>(config.minus_port(chosen));
  const bool above = there[chosen] > here, rising = from == minus_port, falling = from == plus_port;
  const auto disabled = [&](unsigned port) { return port >= inter_ports || (config.disabled() >> port & 1) != 0; };
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
  if (disabled(port) || port == from || ((rising || falling) && plus != rising)) return std::nullopt;
  return Step{port, above};
}

}  // namespace exanet::gateware
