// SPDX-License-Identifier: Apache-2.0
// What a routing decision saw of its router's ports, so that a blocked packet decides again only when that has changed.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

// By the ports of a router, a bit each, modulo 64.
struct Seen {
  std::uint64_t credits = 0;  // there was space beyond
  std::uint64_t none = 0;  // there was none
  std::uint64_t queues = 0;  // how much is queued
  Time until = Time::never();  // when it may change by itself: a credit, or a packet, is on its way

  static constexpr std::uint64_t bit(std::uint32_t port) { return std::uint64_t{1} << (port % 64); }
};

}  // namespace exanet
