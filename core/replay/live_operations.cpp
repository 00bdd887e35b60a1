// SPDX-License-Identifier: Apache-2.0
// Computes accumulates on values of MPI's types, with the bits that MPICH's functions give.
//
// Problem: the simulator cannot call the library's functions, which are a rank's. Model: one template for each class of
// types; operands are MPICH's, so that a maximum of NaN, or of zeros of both signs, is the same one. Integers wrap
// round. Limits: the caller has asked the library whether an operation takes a type.
#include "core/replay/live_operations.hpp"

#include <complex>
#include <cstring>
#include <type_traits>

#include "core/replay/live_call.h"

namespace exanet {

namespace {

template <typename T>
T wrapped(std::uint32_t operation, T target, T origin) {
  using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
  const U a = static_cast<U>(target), b = static_cast<U>(origin);
  return static_cast<T>(operation == EXANET_LIVE_SUM ? a + b : a * b);
}

template <typename T>
T bitwise(std::uint32_t operation, T a, T b) {
  switch (operation) {
    case EXANET_LIVE_BAND: return static_cast<T>(a & b);
    case EXANET_LIVE_BOR: return static_cast<T>(a | b);
    default: return static_cast<T>(a ^ b);
  }
}

template <typename T>
T arithmetic(std::uint32_t operation, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return wrapped(operation, a, b);
  } else {
    return operation == EXANET_LIVE_SUM ? a + b : a * b;
  }
}

template <typename T>
T combined(std::uint32_t operation, T a, T b) {
  switch (operation) {
    case EXANET_LIVE_SUM:
    case EXANET_LIVE_PROD: return arithmetic(operation, a, b);
    case EXANET_LIVE_LAND: return T(a != T(0) && b != T(0));
    case EXANET_LIVE_LOR: return T(a != T(0) || b != T(0));
    case EXANET_LIVE_LXOR: return T((a != T(0)) != (b != T(0)));
    default: break;
  }
  if constexpr (std::is_arithmetic_v<T>) {
    if (operation == EXANET_LIVE_MAX) return a > b ? a : b;
    if (operation == EXANET_LIVE_MIN) return a < b ? a : b;
  }
  if constexpr (std::is_integral_v<T>) return bitwise(operation, a, b);
  return a;
}

template <typename T>
T at(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <typename T>
void values(std::uint32_t operation, std::byte* target, const std::byte* origin, std::size_t bytes) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    const T result = combined(operation, at<T>(target + i), at<T>(origin + i));
    std::memcpy(target + i, &result, sizeof result);
  }
}

// Of equal values the lower index stays.
template <typename T, typename Index>
void pairs(std::uint32_t operation, std::byte* target, const std::byte* origin, std::size_t bytes) {
  constexpr std::size_t kPair = sizeof(T) + sizeof(Index);
  for (std::size_t i = 0; i + kPair <= bytes; i += kPair) {
    const T a = at<T>(target + i), b = at<T>(origin + i);
    const Index mine = at<Index>(target + i + sizeof(T)), other = at<Index>(origin + i + sizeof(T));
    const bool wins = operation == EXANET_LIVE_MAXLOC ? a < b : b < a;
    if (wins) std::memcpy(target + i, origin + i, kPair);
    if (a == b && other < mine) std::memcpy(target + i + sizeof(T), &other, sizeof other);
  }
}

}  // namespace

void live_combine(std::uint32_t operation, std::uint32_t type, std::byte* target, const std::byte* origin,
                  std::size_t bytes) {
  if (operation == EXANET_LIVE_NO_OP) return;
  if (operation == EXANET_LIVE_REPLACE) {
    std::memcpy(target, origin, bytes);
    return;
  }
  switch (type) {
    case EXANET_LIVE_I8: return values<std::int8_t>(operation, target, origin, bytes);
    case EXANET_LIVE_U8: return values<std::uint8_t>(operation, target, origin, bytes);
    case EXANET_LIVE_I16: return values<std::int16_t>(operation, target, origin, bytes);
    case EXANET_LIVE_U16: return values<std::uint16_t>(operation, target, origin, bytes);
    case EXANET_LIVE_I32: return values<std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_U32: return values<std::uint32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_I64: return values<std::int64_t>(operation, target, origin, bytes);
    case EXANET_LIVE_U64: return values<std::uint64_t>(operation, target, origin, bytes);
    case EXANET_LIVE_F32: return values<float>(operation, target, origin, bytes);
    case EXANET_LIVE_F64: return values<double>(operation, target, origin, bytes);
    case EXANET_LIVE_F80: return values<long double>(operation, target, origin, bytes);
    case EXANET_LIVE_C32: return values<std::complex<float>>(operation, target, origin, bytes);
    case EXANET_LIVE_C64: return values<std::complex<double>>(operation, target, origin, bytes);
    case EXANET_LIVE_C80: return values<std::complex<long double>>(operation, target, origin, bytes);
    case EXANET_LIVE_I16_I32: return pairs<std::int16_t, std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_I32_I32: return pairs<std::int32_t, std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_I64_I32: return pairs<std::int64_t, std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_F32_I32: return pairs<float, std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_F64_I32: return pairs<double, std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_F80_I32: return pairs<long double, std::int32_t>(operation, target, origin, bytes);
    case EXANET_LIVE_F32_F32: return pairs<float, float>(operation, target, origin, bytes);
    case EXANET_LIVE_F64_F64: return pairs<double, double>(operation, target, origin, bytes);
    default: return;
  }
}

}  // namespace exanet
