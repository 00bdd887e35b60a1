// SPDX-License-Identifier: Apache-2.0
// Router registers for the places that the tests use: two inter-tile and three intra-tile ports.
#pragma once

#include "core/spec/packet.hpp"

namespace exanet::gateware {

// A node of two dimensions with side two, where both ways lead to the same neighbour: port 0 along x, port 1 along y.
inline spec::RouterConfig two_by_two(unsigned x, unsigned y) {
  spec::RouterConfig config;
  config.set_enabled(1);
  config.set_coordinate(0, x);
  config.set_coordinate(1, y);
  for (unsigned d = 0; d < 3; ++d) {
    config.set_side(d, d < 2 ? 2 : 1);
    config.set_order(d, 2 - d);
    config.set_plus_port(d, d < 2 ? d : 0);
    config.set_minus_port(d, d < 2 ? d : 0);
  }
  for (unsigned kind = 0; kind < 16; ++kind) config.set_type_port(kind, kind % 3);
  return config;
}

// A node of a ring: port 0 upwards, port 1 downwards.
inline spec::RouterConfig on_ring(unsigned x, unsigned side) {
  spec::RouterConfig config = two_by_two(x, 0);
  config.set_side(0, side);
  config.set_side(1, 1);
  config.set_wraps(1);
  config.set_plus_port(0, 0);
  config.set_minus_port(0, 1);
  return config;
}

inline std::uint32_t dcid(unsigned x, unsigned y) { return x | y << 8; }

}  // namespace exanet::gateware
