/* SPDX-License-Identifier: Apache-2.0
 * RV64GC by the tables of opcodes in the RISC-V Instruction Set Manual, volume I (20191213), chapters 16 and 24. */
#include <stdbool.h>

#include "runtime/cpu/decode.h"

#define NONE EXN_NO_REGISTER

static uint32_t bits(uint32_t word, int high, int low) { return word >> low & ((2u << (high - low)) - 1); }
static uint8_t x(uint32_t number) { return number == 0 ? NONE : (uint8_t)number; }
static uint8_t f(uint32_t number) { return (uint8_t)(32 + number); }

static struct exn_decoded of(enum exn_class kind, uint8_t to, uint8_t first, uint8_t second, uint8_t third) {
  return (struct exn_decoded){kind, {to, NONE}, {first, second, third, NONE}};
}

static struct exn_decoded floating_point(uint32_t word) {
  const uint32_t operation = bits(word, 31, 27);
  const bool to_integer = operation == 0x14 || operation == 0x18 || operation == 0x1c; /* compare, convert, move */
  const bool from_integer = operation == 0x1a || operation == 0x1e;
  const enum exn_class kind = operation == 2    ? EXN_FP_MULTIPLY
                              : operation == 3  ? EXN_FP_DIVIDE
                              : operation == 11 ? EXN_FP_SQUARE_ROOT
                                                : EXN_FP_ADD;
  return of(kind, to_integer ? x(bits(word, 11, 7)) : f(bits(word, 11, 7)),
            from_integer ? x(bits(word, 19, 15)) : f(bits(word, 19, 15)), f(bits(word, 24, 20)), NONE);
}

static struct exn_decoded whole(uint32_t word) {
  const uint8_t to = x(bits(word, 11, 7)), first = x(bits(word, 19, 15)), second = x(bits(word, 24, 20));
  switch (bits(word, 6, 2)) {
    case 0x00: return of(EXN_LOAD, to, first, NONE, NONE);
    case 0x01: return of(EXN_LOAD, f(bits(word, 11, 7)), first, NONE, NONE);
    case 0x0b: return of(bits(word, 31, 27) == 2 ? EXN_LOAD : EXN_STORE, to, first, second, NONE); /* atomics */
    case 0x08: return of(EXN_STORE, NONE, first, second, NONE);
    case 0x09: return of(EXN_STORE, NONE, first, f(bits(word, 24, 20)), NONE);
    case 0x0c:
    case 0x0e: {
      const bool of_m = bits(word, 31, 25) == 1;
      return of(!of_m ? EXN_ALU : bits(word, 14, 14) ? EXN_DIVIDE : EXN_MULTIPLY, to, first, second, NONE);
    }
    case 0x10:
    case 0x11:
    case 0x12:
    case 0x13:
      return of(EXN_FP_MULTIPLY_ADD, f(bits(word, 11, 7)), f(bits(word, 19, 15)), f(bits(word, 24, 20)),
                f(bits(word, 31, 27)));
    case 0x14: return floating_point(word);
    case 0x18: return of(EXN_BRANCH, NONE, first, second, NONE);
    case 0x19: return of(EXN_BRANCH, to, first, NONE, NONE);
    case 0x1b: return of(EXN_BRANCH, to, NONE, NONE, NONE);
    case 0x05:
    case 0x0d: return of(EXN_ALU, to, NONE, NONE, NONE);
    default: return of(EXN_ALU, to, first, NONE, NONE);
  }
}

static uint8_t c(uint32_t number) { return (uint8_t)(8 + number); } /* registers 8 to 15, in three bits */

static struct exn_decoded compressed(uint32_t half) {
  const uint32_t quadrant = bits(half, 1, 0), kind = bits(half, 15, 13);
  const uint8_t to = x(bits(half, 11, 7)), other = x(bits(half, 6, 2));
  if (quadrant == 0) {
    const uint8_t low = c(bits(half, 4, 2)), base = c(bits(half, 9, 7));
    const bool floats = kind == 1 || kind == 5;
    if (kind == 0) return of(EXN_ALU, low, NONE, NONE, NONE);
    if (kind < 4) return of(EXN_LOAD, floats ? 32 + low : low, base, NONE, NONE);
    return of(EXN_STORE, NONE, base, floats ? 32 + low : low, NONE);
  }
  if (quadrant == 1) {
    if (kind >= 5) return of(EXN_BRANCH, NONE, kind == 5 ? NONE : c(bits(half, 9, 7)), NONE, NONE);
    if (kind == 4) {
      const bool of_two = bits(half, 11, 10) == 3;
      return of(EXN_ALU, c(bits(half, 9, 7)), c(bits(half, 9, 7)), of_two ? c(bits(half, 4, 2)) : NONE, NONE);
    }
    return of(EXN_ALU, to, kind == 2 || kind == 3 ? NONE : to, NONE, NONE);
  }
  if (kind == 0) return of(EXN_ALU, to, to, NONE, NONE);
  if (kind < 4) return of(EXN_LOAD, kind == 1 ? f(bits(half, 11, 7)) : to, 2, NONE, NONE);
  if (kind > 4) return of(EXN_STORE, NONE, 2, kind == 5 ? f(bits(half, 6, 2)) : other, NONE);
  if (bits(half, 6, 2) == 0) return of(EXN_BRANCH, NONE, to, NONE, NONE);
  return of(EXN_ALU, to, bits(half, 12, 12) ? to : NONE, other, NONE);
}

struct exn_decoded exn_decode_riscv64(uint32_t word, unsigned bytes) {
  return bytes == 2 ? compressed(word & 0xffff) : whole(word);
}
