// SPDX-License-Identifier: Apache-2.0
// Faults on the lines of links, alike for the model and for the gateware: which word of which packet or credit is wrong
// is a function of the line and of how many went over it before, and when a line is down is a list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/engine/random.hpp"

namespace exanet {

// What a wrong bit is in. A packet without its control word or header is lost; with another wrong word it arrives
// marked; a credit is not heard.
enum class LineFault : std::uint8_t { kNone, kControl, kHeader, kPayload };

// A line that goes down and comes up: packets and credits of which the first word goes out in these cycles are lost.
// What is on the line before it goes down arrives. Neither end learns of it.
struct LineOutage {
  std::uint32_t node = 0, port = 0;  // where the line begins
  std::int64_t from = 0, until = 0;  // cycles of the router's clock, `until` not among them

  bool holds(std::int64_t cycle) const { return cycle >= from && cycle < until; }
};

struct LineFaults {
  std::uint64_t seed = 0;
  std::uint32_t one_in = 0;  // packets, and credits, on each line; 0: none
  std::vector<LineOutage> outages = {};

  bool any() const { return one_in != 0 || !outages.empty(); }

  // The very first control word of a line, right behind the reset, is sound.
  LineFault of(std::uint32_t node, std::uint32_t port, std::uint64_t number, bool credit) const {
    if (one_in == 0 || (credit && number == 0)) return LineFault::kNone;
    Random random(seed, (std::uint64_t{node} << 32 | port << 1 | credit) * 0x10001 + (number << 40) + number);
    if (random.below(one_in) != 0) return LineFault::kNone;
    return credit ? LineFault::kControl : static_cast<LineFault>(1 + random.below(3));
  }

  bool is_down(std::uint32_t node, std::uint32_t port, std::int64_t cycle) const {
    return std::any_of(outages.begin(), outages.end(), [&](const LineOutage& outage) {
      return outage.node == node && outage.port == port && outage.holds(cycle);
    });
  }
};

}  // namespace exanet
