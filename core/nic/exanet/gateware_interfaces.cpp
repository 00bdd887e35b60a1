// SPDX-License-Identifier: Apache-2.0
#include "core/nic/exanet/gateware_interfaces.hpp"

#include <bit>

namespace exanet {

// A word for each neighbour, and the tree's own.
std::uint32_t GatewareInterfaces::beats(const ReductionPlace& place) {
  return static_cast<std::uint32_t>(std::popcount(place.branches)) + (place.root ? 0 : 1) + 1;
}

}  // namespace exanet
