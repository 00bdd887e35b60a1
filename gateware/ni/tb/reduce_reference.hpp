// SPDX-License-Identifier: Apache-2.0
// What a reduction unit is compared with: vectors combined element by element in the host's arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/spec/packet.hpp"

namespace exanet::gateware {

using Bytes = std::vector<std::uint8_t>;
using spec::ReduceOperation;
using spec::ReduceType;

inline constexpr ReduceOperation kOperations[] = {ReduceOperation::kSum, ReduceOperation::kMin, ReduceOperation::kMax,
                                                  ReduceOperation::kAnd, ReduceOperation::kOr,  ReduceOperation::kXor};
inline constexpr ReduceType kTypes[] = {ReduceType::kInt32,  ReduceType::kInt64,   ReduceType::kUint32,
                                        ReduceType::kUint64, ReduceType::kFloat32, ReduceType::kFloat64};

inline bool is_float(ReduceType type) { return type == ReduceType::kFloat32 || type == ReduceType::kFloat64; }
inline unsigned bytes_of(ReduceType type) {
  return type == ReduceType::kInt32 || type == ReduceType::kUint32 || type == ReduceType::kFloat32 ? 4 : 8;
}
inline bool is_legal(ReduceType type, ReduceOperation operation) {
  return !is_float(type) || operation <= ReduceOperation::kMax;
}

template <typename T>
T combine_elements(ReduceOperation operation, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    // The one NaN of the unit; and minimum and maximum as IEEE 754-2019 has them.
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    const bool less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
    if (operation == ReduceOperation::kMin) return less ? a : b;
    if (operation == ReduceOperation::kMax) return less ? b : a;
    const T sum = a + b;
    return std::isnan(sum) ? std::numeric_limits<T>::quiet_NaN() : sum;
  } else {
    using U = std::make_unsigned_t<T>;
    switch (operation) {
      case ReduceOperation::kSum: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case ReduceOperation::kMin: return a < b ? a : b;
      case ReduceOperation::kMax: return a < b ? b : a;
      case ReduceOperation::kAnd: return a & b;
      case ReduceOperation::kOr: return a | b;
      default: return a ^ b;
    }
  }
}

template <typename T>
void combine_as(ReduceOperation operation, Bytes& a, const Bytes& b) {
  for (std::size_t i = 0; i + sizeof(T) <= a.size(); i += sizeof(T)) {
    T x, y;
    std::memcpy(&x, &a[i], sizeof(T));
    std::memcpy(&y, &b[i], sizeof(T));
    const T z = combine_elements(operation, x, y);
    std::memcpy(&a[i], &z, sizeof(T));
  }
}

// a becomes a with b behind it.
inline void combine(ReduceType type, ReduceOperation operation, Bytes& a, const Bytes& b) {
  switch (type) {
    case ReduceType::kInt32: return combine_as<std::int32_t>(operation, a, b);
    case ReduceType::kInt64: return combine_as<std::int64_t>(operation, a, b);
    case ReduceType::kUint32: return combine_as<std::uint32_t>(operation, a, b);
    case ReduceType::kUint64: return combine_as<std::uint64_t>(operation, a, b);
    case ReduceType::kFloat32: return combine_as<float>(operation, a, b);
    default: return combine_as<double>(operation, a, b);
  }
}

// The bits of a float that is likely to be at an edge: a denormal, an infinity, a NaN, one whose fraction is all zeros
// or ones, near one of a few exponents.
inline std::uint64_t odd_float(unsigned exponent_bits, unsigned fraction_bits, std::mt19937_64& random) {
  const std::uint64_t most = (std::uint64_t{1} << exponent_bits) - 1, ones = (std::uint64_t{1} << fraction_bits) - 1;
  const std::uint64_t near = most / 2 + random() % (2 * fraction_bits) - fraction_bits;
  const std::uint64_t exponents[] = {0, 1, 2 + random() % 4, most / 2, near, near, random() & most, most - 1, most};
  const std::uint64_t fractions[] = {0,
                                     1,
                                     ones,
                                     ones - 1,
                                     std::uint64_t{1} << random() % fraction_bits,
                                     ones >> random() % fraction_bits,
                                     random() & ones,
                                     random() & ones,
                                     random() & ones & ~(ones >> random() % fraction_bits)};
  return (random() & 1) << (exponent_bits + fraction_bits) |
         exponents[random() % std::size(exponents)] << fraction_bits | fractions[random() % std::size(fractions)];
}

// A vector of that many bytes with an element drawn for each place: of integers any, small or at an end of their range.
inline Bytes random_vector(ReduceType type, std::size_t bytes, std::mt19937_64& random) {
  Bytes vector(bytes);
  const unsigned width = bytes_of(type);
  for (std::size_t i = 0; i + width <= bytes; i += width) {
    std::uint64_t value = random();
    if (is_float(type)) {
      value = width == 4 ? odd_float(8, 23, random) : odd_float(11, 52, random);
    } else if (const auto choice = random() % 4; choice == 0) {
      value = random() % 3 - 1;
    } else if (choice == 1) {
      value = (std::uint64_t{1} << (8 * width - 1)) + random() % 3 - 1;
    }
    for (unsigned k = 0; k < width; ++k) vector[i + k] = static_cast<std::uint8_t>(value >> 8 * k);
  }
  return vector;
}

}  // namespace exanet::gateware
