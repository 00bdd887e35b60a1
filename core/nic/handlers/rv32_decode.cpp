// SPDX-License-Identifier: Apache-2.0
#include "core/nic/handlers/rv32_decode.hpp"

namespace exanet::rv32 {

namespace {

constexpr std::uint32_t bits(std::uint32_t word, int high, int low) { return word >> low & ((2u << (high - low)) - 1); }
// Bits of an immediate: those of the word from `low` on, at `at`.
constexpr std::uint32_t place(std::uint32_t word, int high, int low, int at) { return bits(word, high, low) << at; }
constexpr std::int32_t extend(std::uint32_t value, int width) {
  return static_cast<std::int32_t>(value << (32 - width)) >> (32 - width);
}

constexpr Op kIntegers[8] = {Op::kAdd, Op::kShiftLeft,  Op::kLess, Op::kLessUnsigned,
                             Op::kXor, Op::kShiftRight, Op::kOr,   Op::kAnd};
constexpr Op kProducts[8] = {Op::kMul, Op::kMulHigh,     Op::kMulHighMixed, Op::kMulHighUnsigned,
                             Op::kDiv, Op::kDivUnsigned, Op::kRem,          Op::kRemUnsigned};
constexpr Op kBranches[8] = {Op::kEqual, Op::kNotEqual, Op::kIllegal,       Op::kIllegal,
                             Op::kBelow, Op::kNotBelow, Op::kBelowUnsigned, Op::kNotBelowUnsigned};
constexpr Op kLoads[8] = {Op::kLoadByte,         Op::kLoadHalf,         Op::kLoadWord, Op::kIllegal,
                          Op::kLoadByteUnsigned, Op::kLoadHalfUnsigned, Op::kIllegal,  Op::kIllegal};
constexpr Op kStores[8] = {Op::kStoreByte, Op::kStoreHalf, Op::kStoreWord, Op::kIllegal,
                           Op::kIllegal,   Op::kIllegal,   Op::kIllegal,   Op::kIllegal};

Op atomic(std::uint32_t word) {
  if (bits(word, 14, 12) != 2) return Op::kIllegal;
  switch (bits(word, 31, 27)) {
    case 0x02: return Op::kLoadReserved;
    case 0x03: return Op::kStoreConditional;
    case 0x01: return Op::kSwap;
    case 0x00: return Op::kAtomicAdd;
    case 0x04: return Op::kAtomicXor;
    case 0x0c: return Op::kAtomicAnd;
    case 0x08: return Op::kAtomicOr;
    case 0x10: return Op::kAtomicMin;
    case 0x14: return Op::kAtomicMax;
    case 0x18: return Op::kAtomicMinUnsigned;
    case 0x1c: return Op::kAtomicMaxUnsigned;
    default: return Op::kIllegal;
  }
}

Instruction of_registers(std::uint32_t word) {
  Instruction i{.from1 = static_cast<std::uint8_t>(bits(word, 19, 15)),
                .from2 = static_cast<std::uint8_t>(bits(word, 24, 20))};
  i.to = static_cast<std::uint8_t>(bits(word, 11, 7));
  const std::uint32_t kind = bits(word, 14, 12), more = bits(word, 31, 25);
  if (more == 0) i.op = kIntegers[kind];
  if (more == 1) i.op = kProducts[kind];
  if (more == 0x20 && kind == 0) i.op = Op::kSub;
  if (more == 0x20 && kind == 5) i.op = Op::kShiftRightSigned;
  return i;
}

Instruction of_immediate(std::uint32_t word) {
  Instruction i{.to = static_cast<std::uint8_t>(bits(word, 11, 7)),
                .from1 = static_cast<std::uint8_t>(bits(word, 19, 15)),
                .immediate = extend(bits(word, 31, 20), 12)};
  const std::uint32_t kind = bits(word, 14, 12), more = bits(word, 31, 25);
  i.op = kIntegers[kind];
  if (kind == 1 && more != 0) i.op = Op::kIllegal;
  if (kind == 5 && more == 0x20) i.op = Op::kShiftRightSigned;
  if (kind == 5 && more != 0x20 && more != 0) i.op = Op::kIllegal;
  if (kind == 1 || kind == 5) i.immediate &= 31;
  return i;
}

Op system(std::uint32_t word) {
  if (bits(word, 14, 12) != 2 || bits(word, 19, 15) != 0) return Op::kIllegal;  // csrr alone
  switch (bits(word, 31, 20)) {
    case 0xb00:
    case 0xc00: return Op::kReadCycle;
    case 0xf14: return Op::kReadHart;
    default: return Op::kIllegal;
  }
}

Instruction whole(std::uint32_t word) {
  const auto to = static_cast<std::uint8_t>(bits(word, 11, 7));
  const auto from1 = static_cast<std::uint8_t>(bits(word, 19, 15)),
             from2 = static_cast<std::uint8_t>(bits(word, 24, 20));
  const std::uint32_t kind = bits(word, 14, 12);
  const auto upper = static_cast<std::int32_t>(word & 0xfffff000);
  switch (bits(word, 6, 0)) {
    case 0x37: return {.op = Op::kUpper, .to = to, .immediate = upper};
    case 0x17: return {.op = Op::kUpperPc, .to = to, .immediate = upper};
    case 0x6f:
      return {.op = Op::kJump,
              .to = to,
              .immediate = extend(
                  place(word, 31, 31, 20) | place(word, 19, 12, 12) | place(word, 20, 20, 11) | place(word, 30, 21, 1),
                  21)};
    case 0x67:
      return {.op = kind == 0 ? Op::kJumpRegister : Op::kIllegal,
              .to = to,
              .from1 = from1,
              .immediate = extend(bits(word, 31, 20), 12)};
    case 0x63:
      return {
          .op = kBranches[kind],
          .from1 = from1,
          .from2 = from2,
          .immediate = extend(
              place(word, 31, 31, 12) | place(word, 7, 7, 11) | place(word, 30, 25, 5) | place(word, 11, 8, 1), 13)};
    case 0x03: return {.op = kLoads[kind], .to = to, .from1 = from1, .immediate = extend(bits(word, 31, 20), 12)};
    case 0x23:
      return {.op = kStores[kind],
              .from1 = from1,
              .from2 = from2,
              .immediate = extend(place(word, 31, 25, 5) | bits(word, 11, 7), 12)};
    case 0x13: return of_immediate(word);
    case 0x33: return of_registers(word);
    case 0x2f: return {.op = atomic(word), .to = to, .from1 = from1, .from2 = from2};
    case 0x0f: return {.op = Op::kFence};
    case 0x73: return {.op = system(word), .to = to};
    default: return {};
  }
}

constexpr std::uint8_t low_register(std::uint32_t half, int low) {
  return static_cast<std::uint8_t>(8 + bits(half, low + 2, low));
}

Instruction quadrant0(std::uint32_t half) {
  const std::uint8_t to = low_register(half, 2), base = low_register(half, 7);
  const auto offset = static_cast<std::int32_t>(place(half, 5, 5, 6) | place(half, 12, 10, 3) | place(half, 6, 6, 2));
  switch (bits(half, 15, 13)) {
    case 0: {
      const auto amount = static_cast<std::int32_t>(place(half, 10, 7, 6) | place(half, 12, 11, 4) |
                                                    place(half, 5, 5, 3) | place(half, 6, 6, 2));
      return {.op = amount == 0 ? Op::kIllegal : Op::kAdd, .to = to, .from1 = 2, .immediate = amount};
    }
    case 2: return {.op = Op::kLoadWord, .to = to, .from1 = base, .immediate = offset};
    case 6: return {.op = Op::kStoreWord, .from1 = base, .from2 = to, .immediate = offset};
    default: return {};
  }
}

Instruction arithmetic(std::uint32_t half) {
  const std::uint8_t to = low_register(half, 7);
  const std::int32_t immediate = extend(place(half, 12, 12, 5) | bits(half, 6, 2), 6);
  constexpr Op kKinds[4] = {Op::kSub, Op::kXor, Op::kOr, Op::kAnd};
  switch (bits(half, 11, 10)) {
    case 0: return {.op = Op::kShiftRight, .to = to, .from1 = to, .immediate = immediate & 31};
    case 1: return {.op = Op::kShiftRightSigned, .to = to, .from1 = to, .immediate = immediate & 31};
    case 2: return {.op = Op::kAnd, .to = to, .from1 = to, .immediate = immediate};
    default:
      if (bits(half, 12, 12) != 0) return {};
      return {.op = kKinds[bits(half, 6, 5)], .to = to, .from1 = to, .from2 = low_register(half, 2)};
  }
}

Instruction quadrant1(std::uint32_t half) {
  const auto to = static_cast<std::uint8_t>(bits(half, 11, 7));
  const std::uint8_t low = low_register(half, 7);
  const std::int32_t immediate = extend(place(half, 12, 12, 5) | bits(half, 6, 2), 6);
  const std::int32_t jump =
      extend(place(half, 12, 12, 11) | place(half, 8, 8, 10) | place(half, 10, 9, 8) | place(half, 6, 6, 7) |
                 place(half, 7, 7, 6) | place(half, 2, 2, 5) | place(half, 11, 11, 4) | place(half, 5, 3, 1),
             12);
  const std::int32_t branch = extend(place(half, 12, 12, 8) | place(half, 6, 5, 6) | place(half, 2, 2, 5) |
                                         place(half, 11, 10, 3) | place(half, 4, 3, 1),
                                     9);
  switch (bits(half, 15, 13)) {
    case 0: return {.op = Op::kAdd, .to = to, .from1 = to, .immediate = immediate};
    case 1: return {.op = Op::kJump, .to = 1, .immediate = jump};
    case 2: return {.op = Op::kUpper, .to = to, .immediate = immediate};
    case 3:
      if (to == 2)
        return {.op = Op::kAdd,
                .to = 2,
                .from1 = 2,
                .immediate = extend(place(half, 12, 12, 9) | place(half, 4, 3, 7) | place(half, 5, 5, 6) |
                                        place(half, 2, 2, 5) | place(half, 6, 6, 4),
                                    10)};
      return {.op = immediate == 0 ? Op::kIllegal : Op::kUpper, .to = to, .immediate = immediate * 4096};
    case 4: return arithmetic(half);
    case 5: return {.op = Op::kJump, .to = 0, .immediate = jump};
    case 6: return {.op = Op::kEqual, .from1 = low, .from2 = 0, .immediate = branch};
    default: return {.op = Op::kNotEqual, .from1 = low, .from2 = 0, .immediate = branch};
  }
}

Instruction quadrant2(std::uint32_t half) {
  const auto to = static_cast<std::uint8_t>(bits(half, 11, 7)), from = static_cast<std::uint8_t>(bits(half, 6, 2));
  switch (bits(half, 15, 13)) {
    case 0:
      return {.op = bits(half, 12, 12) != 0 ? Op::kIllegal : Op::kShiftLeft, .to = to, .from1 = to, .immediate = from};
    case 2:
      return {
          .op = to == 0 ? Op::kIllegal : Op::kLoadWord,
          .to = to,
          .from1 = 2,
          .immediate = static_cast<std::int32_t>(place(half, 3, 2, 6) | place(half, 12, 12, 5) | place(half, 6, 4, 2))};
    case 4:
      if (from == 0) {
        if (to == 0) return {};
        return {.op = Op::kJumpRegister, .to = static_cast<std::uint8_t>(bits(half, 12, 12)), .from1 = to};
      }
      return {.op = Op::kAdd, .to = to, .from1 = bits(half, 12, 12) != 0 ? to : std::uint8_t{0}, .from2 = from};
    case 6:
      return {.op = Op::kStoreWord,
              .from1 = 2,
              .from2 = from,
              .immediate = static_cast<std::int32_t>(place(half, 8, 7, 6) | place(half, 12, 9, 2))};
    default: return {};
  }
}

}  // namespace

Instruction decode(std::uint32_t word) {
  Instruction i;
  switch (word & 3) {
    case 0: i = quadrant0(word & 0xffff); break;
    case 1: i = quadrant1(word & 0xffff); break;
    case 2: i = quadrant2(word & 0xffff); break;
    default: return whole(word);
  }
  i.bytes = 2;
  return i;
}

}  // namespace exanet::rv32
