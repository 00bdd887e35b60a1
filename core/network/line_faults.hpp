// SPDX-License-Identifier: Apache-2.0
// Wrong bits on the lines of links, drawn alike for the model and for the gateware: which word of which packet or
// credit is wrong is a function of the line and of how many went over it before.
#pragma once

#include <cstdint>

#include "core/engine/random.hpp"

namespace exanet {

// What a wrong bit is in. A packet without its control word or header is lost; with another wrong word it arrives
// marked; a credit is not heard.
enum class LineFault : std::uint8_t { kNone, kControl, kHeader, kPayload };

struct LineFaults {
  std::uint64_t seed = 0;
  std::uint32_t one_in = 0;  // packets, and credits, on each line; 0: none

  // The very first control word of a line, right behind the reset, is sound.
  LineFault of(std::uint32_t node, std::uint32_t port, std::uint64_t number, bool credit) const {
    if (one_in == 0 || (credit && number == 0)) return LineFault::kNone;
    Random random(seed, (std::uint64_t{node} << 32 | port << 1 | credit) * 0x10001 + (number << 40) + number);
    if (random.below(one_in) != 0) return LineFault::kNone;
    return credit ? LineFault::kControl : static_cast<LineFault>(1 + random.below(3));
  }
};

}  // namespace exanet
