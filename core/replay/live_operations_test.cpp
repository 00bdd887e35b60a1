// SPDX-License-Identifier: Apache-2.0
// Do accumulates of live programs compute what MPI says, with the operand of MPICH's where there is a choice?
#include "core/replay/live_operations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "core/replay/live_call.h"

using namespace exanet;

namespace {

template <typename T>
T combined(std::uint32_t operation, std::uint32_t type, T target, T origin) {
  std::array<std::byte, 1 + sizeof(T)> place{}, from{};  // not aligned
  std::memcpy(place.data() + 1, &target, sizeof target);
  std::memcpy(from.data() + 1, &origin, sizeof origin);
  live_combine(operation, type, place.data() + 1, from.data() + 1, sizeof(T));
  std::memcpy(&target, place.data() + 1, sizeof target);
  return target;
}

struct Pair {
  std::int32_t value, index;
  bool operator==(const Pair&) const = default;
};

}  // namespace

TEST_CASE("integers wrap round, and bits and truths are combined") {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  CHECK(combined<std::int32_t>(EXANET_LIVE_SUM, EXANET_LIVE_I32, kMost, 1) == std::numeric_limits<std::int32_t>::min());
  CHECK(combined<std::int16_t>(EXANET_LIVE_PROD, EXANET_LIVE_I16, 300, 300) == static_cast<std::int16_t>(90000));
  CHECK(combined<std::uint8_t>(EXANET_LIVE_BXOR, EXANET_LIVE_U8, 0xf0, 0x3c) == 0xcc);
  CHECK(combined<std::int64_t>(EXANET_LIVE_LXOR, EXANET_LIVE_I64, 5, 7) == 0);
  CHECK(combined<std::int64_t>(EXANET_LIVE_LAND, EXANET_LIVE_I64, 5, 7) == 1);
  CHECK(combined<std::int8_t>(EXANET_LIVE_MIN, EXANET_LIVE_I8, -3, 2) == -3);
  CHECK(combined<std::uint64_t>(EXANET_LIVE_MAX, EXANET_LIVE_U64, ~std::uint64_t{0}, 2) == ~std::uint64_t{0});
}

TEST_CASE("of equal numbers and of none MPICH takes the origin's") {
  CHECK(std::signbit(combined(EXANET_LIVE_MAX, EXANET_LIVE_F64, 0.0, -0.0)));
  CHECK(combined(EXANET_LIVE_MAX, EXANET_LIVE_F32, NAN, 1.0f) == 1.0f);
  CHECK(std::isnan(combined(EXANET_LIVE_MIN, EXANET_LIVE_F32, 1.0f, NAN)));
  CHECK(combined(EXANET_LIVE_SUM, EXANET_LIVE_C64, std::complex(1.0, 2.0), std::complex(3.0, 4.0)) ==
        std::complex(4.0, 6.0));
}

TEST_CASE("of equal values of a pair the lower index stays") {
  const auto locate = [](std::uint32_t operation, Pair target, Pair origin) {
    return combined(operation, EXANET_LIVE_I32_I32, target, origin);
  };
  CHECK(locate(EXANET_LIVE_MAXLOC, {4, 9}, {4, 2}) == Pair{4, 2});
  CHECK(locate(EXANET_LIVE_MINLOC, {4, 1}, {4, 2}) == Pair{4, 1});
  CHECK(locate(EXANET_LIVE_MAXLOC, {4, 1}, {5, 2}) == Pair{5, 2});
  CHECK(locate(EXANET_LIVE_MINLOC, {4, 1}, {5, 2}) == Pair{4, 1});
}

TEST_CASE("to replace takes all, and no operation nothing") {
  CHECK(combined(EXANET_LIVE_REPLACE, EXANET_LIVE_BYTES, 1.5, 2.5) == 2.5);
  CHECK(combined(EXANET_LIVE_NO_OP, EXANET_LIVE_BYTES, 1.5, 2.5) == 1.5);
}
