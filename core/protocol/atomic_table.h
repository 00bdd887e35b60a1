/* SPDX-License-Identifier: Apache-2.0
 * Which one-sided atomics exist, for the simulator (C++) and the user library (C) alike. Numbers are libfabric's
 * enum fi_op and enum fi_datatype (as of 1.17, unchanged since), because every caller has them. */
#ifndef EXANET_CORE_PROTOCOL_ATOMIC_TABLE_H
#define EXANET_CORE_PROTOCOL_ATOMIC_TABLE_H

#include <stddef.h>

/* clang-format off */
#define EXANET_OPS(X) \
  X(min) X(max) X(sum) X(prod) X(lor) X(land) X(bor) X(band) X(lxor) X(bxor) X(read) X(write) X(cswap) X(cswap_ne) \
  X(cswap_le) X(cswap_lt) X(cswap_ge) X(cswap_gt) X(mswap)
#define EXANET_OP_NAME(n) exanet_op_##n,
/* clang-format on */
enum exanet_op_number { EXANET_OPS(EXANET_OP_NAME) exanet_op_count };

enum exanet_type_class { exanet_type_integer, exanet_type_real, exanet_type_complex };
enum exanet_type_number {
  exanet_type_i8,
  exanet_type_u8,
  exanet_type_i16,
  exanet_type_u16,
  exanet_type_i32,
  exanet_type_u32,
  exanet_type_i64,
  exanet_type_u64,
  exanet_type_f32,
  exanet_type_f64,
  exanet_type_c32,
  exanet_type_c64,
  exanet_type_f80,
  exanet_type_c80,
  exanet_type_count
};

static inline size_t exanet_type_bytes(int type) {
  static const size_t bytes[exanet_type_count] = {
      1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, sizeof(long double), 2 * sizeof(long double)};
  return type >= 0 && type < exanet_type_count ? bytes[type] : 0;
}

static inline enum exanet_type_class exanet_type_class_of(int type) {
  if (type < exanet_type_f32) return exanet_type_integer;
  return type == exanet_type_c32 || type == exanet_type_c64 || type == exanet_type_c80 ? exanet_type_complex
                                                                                       : exanet_type_real;
}

/* kind: 0 update, 1 fetch, 2 compare (enum exanet_atomic_kind). */
static inline int exanet_op_valid(int kind, int op, int type) {
  const enum exanet_type_class c = exanet_type_class_of(type);
  if (exanet_type_bytes(type) == 0 || op < 0 || op >= exanet_op_count) return 0;
  if ((kind == 2) != (op >= exanet_op_cswap)) return 0;
  if (op == exanet_op_read) return kind == 1;
  if (op == exanet_op_bor || op == exanet_op_band || op == exanet_op_bxor || op == exanet_op_mswap)
    return c == exanet_type_integer;
  if (op == exanet_op_min || op == exanet_op_max || op >= exanet_op_cswap_le) return c != exanet_type_complex;
  return 1;
}

/* Which reductions an interface has a unit for (gateware/ni). */
static inline int exanet_reduces(int op, int type) {
  const int is_wide = type >= exanet_type_i32 && type <= exanet_type_f64;
  if (!is_wide) return 0;
  if (op == exanet_op_sum || op == exanet_op_min || op == exanet_op_max) return 1;
  return (op == exanet_op_bor || op == exanet_op_band || op == exanet_op_bxor) &&
         exanet_type_class_of(type) == exanet_type_integer;
}

#endif
