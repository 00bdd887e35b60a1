// SPDX-License-Identifier: Apache-2.0
// How much tests do: whether they take their full size (`make test-long`), else one that finds what broke, at a third
// of the time or less; and what a campaign gives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "core/units/size_harness.hpp"

namespace exanet::gateware {

using testing::in_full;

// How many of `all` a test takes that compares so many.
template <typename Count>
Count taken(Count all) {
  return in_full() ? all : std::max(Count{1}, all / 6);
}

// The values that a test goes through: `all` of them, or those that find what broke.
template <typename Value>
std::vector<Value> tried(std::initializer_list<Value> all, std::initializer_list<Value> few) {
  return in_full() ? all : few;
}

// A figure of the environment, for a campaign.
inline std::uint64_t given(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace exanet::gateware
