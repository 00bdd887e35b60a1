// SPDX-License-Identifier: Apache-2.0
// Decodes instructions of RV32IMAC, as GCC emits them for `-march=rv32imac`.
// Source: The RISC-V Instruction Set Manual, volume I (20191213), chapters 2, 7, 8, 16 and 24.
#pragma once

#include <cstdint>

namespace exanet::rv32 {

enum class Op : std::uint8_t {
  kIllegal,
  // to = from1 op from2, or the immediate where from2 is 32
  kAdd,
  kSub,
  kShiftLeft,
  kLess,
  kLessUnsigned,
  kXor,
  kShiftRight,
  kShiftRightSigned,
  kOr,
  kAnd,
  kMul,
  kMulHigh,
  kMulHighMixed,
  kMulHighUnsigned,
  kDiv,
  kDivUnsigned,
  kRem,
  kRemUnsigned,
  kUpper,  // to = immediate
  kUpperPc,  // to = pc + immediate
  kJump,
  kJumpRegister,
  kEqual,  // branches
  kNotEqual,
  kBelow,
  kNotBelow,
  kBelowUnsigned,
  kNotBelowUnsigned,
  kLoadByte,
  kLoadHalf,
  kLoadWord,
  kLoadByteUnsigned,
  kLoadHalfUnsigned,
  kStoreByte,
  kStoreHalf,
  kStoreWord,
  kLoadReserved,
  kStoreConditional,
  kSwap,  // atomics on a word: to = memory, memory = memory op from2
  kAtomicAdd,
  kAtomicXor,
  kAtomicAnd,
  kAtomicOr,
  kAtomicMin,
  kAtomicMax,
  kAtomicMinUnsigned,
  kAtomicMaxUnsigned,
  kFence,
  kReadCycle,
  kReadHart,
};

inline constexpr std::uint8_t kImmediate = 32;  // as from2

struct Instruction {
  Op op = Op::kIllegal;
  std::uint8_t to = 0, from1 = 0, from2 = kImmediate;
  std::uint8_t bytes = 4;
  std::int32_t immediate = 0;
};

// `word`: the four bytes there; the upper two count where the instruction has 32 bits.
Instruction decode(std::uint32_t word);

}  // namespace exanet::rv32
