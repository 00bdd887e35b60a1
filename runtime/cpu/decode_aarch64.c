/* SPDX-License-Identifier: Apache-2.0
 * AArch64 by the tables of encodings in the Arm Architecture Reference Manual (DDI 0487, chapter C4). */
#include <stdbool.h>

#include "runtime/cpu/decode.h"

#define NONE EXN_NO_REGISTER

static uint32_t bits(uint32_t word, int high, int low) { return word >> low & ((2u << (high - low)) - 1); }

/* Register 31 is the stack pointer or zero: nothing waits for it. */
static uint8_t x(uint32_t number) { return number == 31 ? NONE : (uint8_t)number; }
static uint8_t v(uint32_t number) { return (uint8_t)(32 + number); }

static struct exn_decoded of(enum exn_class kind, uint8_t to, uint8_t first, uint8_t second, uint8_t third) {
  return (struct exn_decoded){kind, {to, NONE}, {first, second, third, NONE}};
}

static bool is_load(uint32_t word, bool vectors) {
  const uint32_t group = bits(word, 29, 27);
  if (group == 3) return bits(word, 24, 24) == 0;                /* relative to the program counter */
  if (group != 7) return bits(word, 22, 22);                     /* pairs, exclusives, structures of vectors */
  const uint32_t kind = bits(word, 23, 22);
  return vectors ? kind & 1 : kind != 0;
}

static struct exn_decoded load_or_store(uint32_t word) {
  const uint32_t group = bits(word, 29, 27);
  const bool structures = group == 1 && bits(word, 26, 26), vectors = bits(word, 26, 26) || structures;
  const bool pair = group == 5, load = is_load(word, vectors), indexed = group == 7 && bits(word, 21, 21);
  const uint8_t first = vectors ? v(bits(word, 4, 0)) : x(bits(word, 4, 0));
  const uint8_t second = !pair ? NONE : vectors ? v(bits(word, 14, 10)) : x(bits(word, 14, 10));
  const uint8_t base = group == 3 ? NONE : x(bits(word, 9, 5));
  const uint8_t index = indexed ? x(bits(word, 20, 16)) : NONE;
  if (load) return (struct exn_decoded){EXN_LOAD, {first, second}, {base, index, NONE, NONE}};
  return (struct exn_decoded){EXN_STORE, {NONE, NONE}, {base, index, first, second}};
}

static struct exn_decoded branch_or_system(uint32_t word) {
  const bool compares = bits(word, 30, 25) == 0x1a || bits(word, 30, 25) == 0x1b; /* CBZ, CBNZ, TBZ, TBNZ */
  const bool to_register = bits(word, 31, 25) == 0x6b;
  const uint8_t from = compares ? x(bits(word, 4, 0)) : to_register ? x(bits(word, 9, 5)) : NONE;
  return of(EXN_BRANCH, NONE, from, NONE, NONE);
}

static struct exn_decoded integer(uint32_t word) {
  const uint8_t to = x(bits(word, 4, 0)), first = x(bits(word, 9, 5)), second = x(bits(word, 20, 16));
  if (bits(word, 28, 24) == 0x1b) return of(EXN_MULTIPLY, to, first, second, x(bits(word, 14, 10)));
  const bool divides = bits(word, 30, 21) == 0xd6 && bits(word, 15, 11) == 1;
  return of(divides ? EXN_DIVIDE : EXN_ALU, to, first, second, NONE);
}

static enum exn_class scalar_class(uint32_t word) {
  if (bits(word, 11, 10) == 2) { /* two sources */
    const uint32_t operation = bits(word, 15, 12);
    return operation == 0 || operation == 8 ? EXN_FP_MULTIPLY : operation == 1 ? EXN_FP_DIVIDE : EXN_FP_ADD;
  }
  return bits(word, 14, 10) == 16 && bits(word, 20, 15) == 3 ? EXN_FP_SQUARE_ROOT : EXN_FP_ADD;
}

static enum exn_class vector_class(uint32_t word) {
  const bool of_floats = bits(word, 21, 21) && bits(word, 11, 10) & 1, unsigned_form = bits(word, 29, 29);
  switch (of_floats ? bits(word, 15, 11) : 0) {
    case 0x19: return EXN_FP_MULTIPLY_ADD; /* FMLA, FMLS */
    case 0x1b: return EXN_FP_MULTIPLY;
    case 0x1f: return unsigned_form ? EXN_FP_DIVIDE : EXN_FP_ADD;
    default: return EXN_FP_ADD;
  }
}

/* Between floating-point and integer registers: conversions and moves. */
static struct exn_decoded between(uint32_t word) {
  const uint32_t operation = bits(word, 18, 16);
  const bool from_integer = operation == 2 || operation == 3 || operation == 7;
  const uint32_t to = bits(word, 4, 0), from = bits(word, 9, 5);
  return of(EXN_FP_ADD, from_integer ? v(to) : x(to), from_integer ? x(from) : v(from), NONE, NONE);
}

static struct exn_decoded vector(uint32_t word) {
  const uint8_t to = v(bits(word, 4, 0)), first = v(bits(word, 9, 5)), second = v(bits(word, 20, 16));
  if (bits(word, 28, 24) == 0x1f) return of(EXN_FP_MULTIPLY_ADD, to, first, second, v(bits(word, 14, 10)));
  const bool scalar = bits(word, 28, 24) == 0x1e && !bits(word, 30, 30) && bits(word, 21, 21);
  if (scalar && bits(word, 15, 10) == 0) return between(word);
  const enum exn_class kind = scalar ? scalar_class(word) : vector_class(word);
  return of(kind, to, first, second, kind == EXN_FP_MULTIPLY_ADD ? to : NONE);
}

struct exn_decoded exn_decode_aarch64(uint32_t word) {
  switch (bits(word, 28, 25)) {
    case 0x8:
    case 0x9: {
      const bool moves = bits(word, 25, 23) == 5 || bits(word, 28, 24) == 0x10; /* wide constants, addresses */
      return of(EXN_ALU, x(bits(word, 4, 0)), moves ? NONE : x(bits(word, 9, 5)), NONE, NONE);
    }
    case 0xa:
    case 0xb: return branch_or_system(word);
    case 0x4:
    case 0x6:
    case 0xc:
    case 0xe: return load_or_store(word);
    case 0x5:
    case 0xd: return integer(word);
    case 0x7:
    case 0xf: return vector(word);
    default: return of(EXN_ALU, NONE, NONE, NONE, NONE);
  }
}
