// SPDX-License-Identifier: Apache-2.0
// Do the atomics compute what libfabric's manual (fi_atomic) says, for all operations and types, whatever the
// alignment?
#include "core/protocol/atomics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/protocol/atomic_table.h"

using namespace exanet;

namespace {

// The reference: one line an operation, by its name, in 128-bit integers cut to size or in the type's own arithmetic.
template <typename T>
T expected(const std::string& op, T target, T operand, T compare) {
  const bool t = target != T(0), o = operand != T(0);
  if (op == "lor") return T(t || o);
  if (op == "land") return T(t && o);
  if (op == "lxor") return T(t != o);
  if (op == "read") return target;
  if (op == "write") return operand;
  if (op == "cswap") return compare == target ? operand : target;
  if (op == "cswap_ne") return compare != target ? operand : target;
  if constexpr (std::is_integral_v<T>) {
    using Wide = __int128;
    if (op == "sum") return static_cast<T>(static_cast<Wide>(target) + static_cast<Wide>(operand));
    if (op == "prod") {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(
          static_cast<U>(static_cast<unsigned __int128>(static_cast<U>(target)) * static_cast<U>(operand)));
    }
    if (op == "bor") return static_cast<T>(target | operand);
    if (op == "band") return static_cast<T>(target & operand);
    if (op == "bxor") return static_cast<T>(target ^ operand);
    if (op == "mswap") return static_cast<T>((operand & compare) | (target & ~compare));
  } else {
    if (op == "sum") return target + operand;
    if (op == "prod") return target * operand;
  }
  if constexpr (std::is_arithmetic_v<T>) {
    if (op == "min") return operand < target ? operand : target;
    if (op == "max") return operand > target ? operand : target;
    if (op == "cswap_le") return compare <= target ? operand : target;
    if (op == "cswap_lt") return compare < target ? operand : target;
    if (op == "cswap_ge") return compare >= target ? operand : target;
    if (op == "cswap_gt") return compare > target ? operand : target;
  }
  FAIL("no such operation: ", op);
  return T();
}

#define NAME(n) #n,
const std::array<std::string, exanet_op_count> kOps = {EXANET_OPS(NAME)};

template <typename T>
T some(std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    // Zeros, ones, extremes and equal values often: that is where operations differ.
    switch (random() % 6) {
      case 0: return T(0);
      case 1: return T(1);
      case 2: return std::numeric_limits<T>::max();
      case 3: return std::numeric_limits<T>::min();
      default: return static_cast<T>(random());
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<int>(random() % 7) - 3) * static_cast<T>(0.37);
  } else {
    using Part = typename T::value_type;
    return T(some<Part>(random), random() % 2 ? some<Part>(random) : Part(0));
  }
}

template <typename T>
int check_type(int type, std::mt19937_64& random) {
  CHECK(exanet_type_bytes(type) == sizeof(T));
  constexpr std::size_t kCount = 17, kShift = 3;  // nothing is aligned
  int operations = 0;
  for (int op = 0; op < exanet_op_count; ++op) {
    const bool compares = kOps[op].starts_with("cswap") || kOps[op] == "mswap";
    if (!exanet_op_valid(compares ? 2 : 1, op, type)) continue;
    ++operations;
    for (int round = 0; round < 50; ++round) {
      std::vector<T> target(kCount), operand(kCount), compare(kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        target[i] = some<T>(random), operand[i] = some<T>(random),
        compare[i] = random() % 2 ? target[i] : some<T>(random);
      std::vector<std::byte> t(kShift + kCount * sizeof(T)), o(t), c(t), old(t);
      std::memcpy(t.data() + kShift, target.data(), kCount * sizeof(T));
      std::memcpy(o.data() + kShift, operand.data(), kCount * sizeof(T));
      std::memcpy(c.data() + kShift, compare.data(), kCount * sizeof(T));
      atomic_apply(op, type, kCount, t.data() + kShift, kOps[op] == "read" ? nullptr : o.data() + kShift,
                   compares ? c.data() + kShift : nullptr, old.data() + kShift);
      for (std::size_t i = 0; i < kCount; ++i) {
        T now, before;
        std::memcpy(&now, t.data() + kShift + i * sizeof(T), sizeof(T));
        std::memcpy(&before, old.data() + kShift + i * sizeof(T), sizeof(T));
        const T wanted = expected(kOps[op], target[i], operand[i], compare[i]);
        INFO("operation ", kOps[op], " type ", type);
        REQUIRE(now == wanted);
        REQUIRE(before == target[i]);
      }
    }
  }
  return operations;
}

}  // namespace

TEST_CASE("every operation on every type") {
  std::mt19937_64 random(20170907);
  CHECK(check_type<std::int8_t>(exanet_type_i8, random) == exanet_op_count);
  CHECK(check_type<std::uint8_t>(exanet_type_u8, random) == exanet_op_count);
  CHECK(check_type<std::int16_t>(exanet_type_i16, random) == exanet_op_count);
  CHECK(check_type<std::uint16_t>(exanet_type_u16, random) == exanet_op_count);
  CHECK(check_type<std::int32_t>(exanet_type_i32, random) == exanet_op_count);
  CHECK(check_type<std::uint32_t>(exanet_type_u32, random) == exanet_op_count);
  CHECK(check_type<std::int64_t>(exanet_type_i64, random) == exanet_op_count);
  CHECK(check_type<std::uint64_t>(exanet_type_u64, random) == exanet_op_count);
  // No bits (bor, band, bxor, mswap) for real numbers; no order (min, max and four relations) for complex ones either.
  CHECK(check_type<float>(exanet_type_f32, random) == exanet_op_count - 4);
  CHECK(check_type<double>(exanet_type_f64, random) == exanet_op_count - 4);
  CHECK(check_type<long double>(exanet_type_f80, random) == exanet_op_count - 4);
  CHECK(check_type<std::complex<float>>(exanet_type_c32, random) == exanet_op_count - 10);
  CHECK(check_type<std::complex<double>>(exanet_type_c64, random) == exanet_op_count - 10);
  CHECK(check_type<std::complex<long double>>(exanet_type_c80, random) == exanet_op_count - 10);
}

TEST_CASE("what is no atomic") {
  CHECK(!exanet_op_valid(0, exanet_op_read, exanet_type_i32));  // an update that reads
  CHECK(exanet_op_valid(1, exanet_op_read, exanet_type_i32));
  CHECK(!exanet_op_valid(2, exanet_op_sum, exanet_type_i32));  // a comparison without one
  CHECK(!exanet_op_valid(0, exanet_op_cswap, exanet_type_i32));
  CHECK(!exanet_op_valid(0, -1, exanet_type_i32));
  CHECK(!exanet_op_valid(0, exanet_op_count, exanet_type_i32));
  CHECK(!exanet_op_valid(0, exanet_op_sum, -1));
  CHECK(!exanet_op_valid(0, exanet_op_sum, exanet_type_count));
  CHECK(exanet_type_bytes(-1) == 0);
  CHECK(exanet_type_bytes(exanet_type_count) == 0);
}
