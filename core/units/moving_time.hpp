// SPDX-License-Identifier: Apache-2.0
// The time that bytes take at a rate, to the nearest picosecond.
#pragma once

#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

// Up to 2^60 bytes at 1 Mb/s or more: in two parts, so that nothing overflows.
inline Time moving_time(std::uint64_t bytes, std::uint64_t rate_bit_per_s) {
  constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;
  const std::uint64_t bits = bytes * 8, seconds = bits / rate_bit_per_s, rest = bits % rate_bit_per_s;
  const double part = static_cast<double>(rest) / static_cast<double>(rate_bit_per_s) * 1e12;
  return Time::ps(static_cast<std::int64_t>(seconds * kPsPerSecond + static_cast<std::uint64_t>(part + 0.5)));
}

}  // namespace exanet
