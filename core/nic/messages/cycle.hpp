// SPDX-License-Identifier: Apache-2.0
// Clock cycles of the network interfaces: "in cycle c" is in the clock period that begins at c times the period, as
// docs/microarchitecture.md counts.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

using Cycle = std::int64_t;

inline constexpr Cycle kLongAgo = -(Cycle{1} << 40);
inline constexpr Cycle kUnknown = Cycle{1} << 60;  // beyond all that happens: nobody knows yet, or never

inline Time time_of(Cycle cycle, Time period) { return period * cycle; }
inline Cycle cycle_of(Time time, Time period) { return time.ps() / period.ps(); }

// Words of the router that a message fills.
inline std::uint32_t words_of(std::uint32_t bytes) { return (bytes + 15) / 16; }

}  // namespace exanet
