// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and with every library: xoshiro256** (Blackman and Vigna 2021),
// seeded through SplitMix64 as its authors advise. The standard library fixes its generators but not its distributions,
// so those are here too.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace exanet {

class Random {
 public:
  // Streams of one seed are independent of each other for every practical purpose: each begins at a hash of both
  // numbers.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) {
    std::uint64_t x = seed;
    x = split_mix(x) ^ (stream * 0x9e3779b97f4a7c15u);
    for (std::uint64_t& word : state_) word = split_mix(x);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9, t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Below `bound`, which is above 0. The bias of the multiplication is below bound / 2^32.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32); }

  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // from 0 to below 1

  double exponential(double mean) { return -mean * std::log1p(-unit()); }

 private:
  static std::uint64_t split_mix(std::uint64_t& x) {
    std::uint64_t z = (x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_[4];
};

}  // namespace exanet
