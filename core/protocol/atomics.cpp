// SPDX-License-Identifier: Apache-2.0
// Computes atomics on values of every type that libfabric names.
//
// Problem: 19 operations on 14 types, of which not all exist. Model: a template per kind of operation, instantiated for
// each type; what does not exist for a type does not compile into a branch for it. Integers wrap round, complex numbers
// multiply as C's do. Limits: the caller has checked the pair (atomic_table.h).
#include "core/protocol/atomics.hpp"

#include <complex>
#include <cstring>
#include <type_traits>

#include "core/protocol/atomic_table.h"

namespace exanet {
namespace {

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

// Integer sums and products wrap round, as the network's arithmetic does; computed unsigned because signed overflow is
// undefined.
template <typename T>
T wrap(T a, T b, bool product) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(product ? static_cast<U>(a) * static_cast<U>(b) : static_cast<U>(a) + static_cast<U>(b));
  } else {
    return product ? a * b : a + b;
  }
}

template <typename T>
T logical(int op, T a, T b) {
  const bool x = a != T(0), y = b != T(0);
  const bool r = op == exanet_op_lor ? x || y : op == exanet_op_land ? x && y : x != y;
  return r ? T(1) : T(0);
}

template <typename T>
T ordered(int op, T a, T b, T c) {
  // Compare-and-swap with a relation: swap when `compare <relation> target` holds.
  switch (op) {
    case exanet_op_min: return b < a ? b : a;
    case exanet_op_max: return a < b ? b : a;
    case exanet_op_cswap_le: return c <= a ? b : a;
    case exanet_op_cswap_lt: return c < a ? b : a;
    case exanet_op_cswap_ge: return c >= a ? b : a;
    default: return c > a ? b : a;
  }
}

template <typename T>
T bitwise(int op, T a, T b, T c) {
  switch (op) {
    case exanet_op_bor: return static_cast<T>(a | b);
    case exanet_op_band: return static_cast<T>(a & b);
    case exanet_op_bxor: return static_cast<T>(a ^ b);
    default: return static_cast<T>((b & c) | (a & ~c));  // masked swap: compare is the mask
  }
}

template <typename T>
T apply_one(int op, T a, T b, T c) {
  switch (op) {
    case exanet_op_sum: return wrap(a, b, false);
    case exanet_op_prod: return wrap(a, b, true);
    case exanet_op_lor:
    case exanet_op_land:
    case exanet_op_lxor: return logical(op, a, b);
    case exanet_op_read: return a;
    case exanet_op_write: return b;
    case exanet_op_cswap: return c == a ? b : a;
    case exanet_op_cswap_ne: return c != a ? b : a;
    default: break;
  }
  if constexpr (!IsComplex<T>::value) {
    if constexpr (std::is_integral_v<T>) {
      if (op == exanet_op_bor || op == exanet_op_band || op == exanet_op_bxor || op == exanet_op_mswap)
        return bitwise(op, a, b, c);
    }
    return ordered(op, a, b, c);
  }
  return a;
}

template <typename T>
void apply(int op, std::size_t count, std::byte* target, const std::byte* operand, const std::byte* compare,
           std::byte* old) {
  for (std::size_t i = 0; i < count; ++i) {
    T a{}, b{}, c{};
    std::memcpy(&a, target + i * sizeof(T), sizeof(T));
    if (operand) std::memcpy(&b, operand + i * sizeof(T), sizeof(T));
    if (compare) std::memcpy(&c, compare + i * sizeof(T), sizeof(T));
    if (old) std::memcpy(old + i * sizeof(T), &a, sizeof(T));
    const T result = apply_one(op, a, b, c);
    std::memcpy(target + i * sizeof(T), &result, sizeof(T));
  }
}

}  // namespace

void atomic_apply(int op, int type, std::size_t count, std::byte* target, const std::byte* operand,
                  const std::byte* compare, std::byte* old) {
  switch (type) {
    case exanet_type_i8: return apply<std::int8_t>(op, count, target, operand, compare, old);
    case exanet_type_u8: return apply<std::uint8_t>(op, count, target, operand, compare, old);
    case exanet_type_i16: return apply<std::int16_t>(op, count, target, operand, compare, old);
    case exanet_type_u16: return apply<std::uint16_t>(op, count, target, operand, compare, old);
    case exanet_type_i32: return apply<std::int32_t>(op, count, target, operand, compare, old);
    case exanet_type_u32: return apply<std::uint32_t>(op, count, target, operand, compare, old);
    case exanet_type_i64: return apply<std::int64_t>(op, count, target, operand, compare, old);
    case exanet_type_u64: return apply<std::uint64_t>(op, count, target, operand, compare, old);
    case exanet_type_f32: return apply<float>(op, count, target, operand, compare, old);
    case exanet_type_f64: return apply<double>(op, count, target, operand, compare, old);
    case exanet_type_c32: return apply<std::complex<float>>(op, count, target, operand, compare, old);
    case exanet_type_c64: return apply<std::complex<double>>(op, count, target, operand, compare, old);
    case exanet_type_f80: return apply<long double>(op, count, target, operand, compare, old);
    case exanet_type_c80: return apply<std::complex<long double>>(op, count, target, operand, compare, old);
    default: return;
  }
}

}  // namespace exanet
