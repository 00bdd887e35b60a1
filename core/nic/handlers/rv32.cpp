// SPDX-License-Identifier: Apache-2.0
#include "core/nic/handlers/rv32.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

namespace exanet {

using rv32::Instruction;
using rv32::Op;

struct HpuCore::State {
  std::array<std::uint32_t, 32> x{};
  std::uint32_t pc = 0;
  std::uint64_t cycle = 0;
  std::uint32_t reserved = 0;  // address of the last load-reserved, and 1; 0: none
  std::uint32_t hart = 0;
  const std::vector<HpuRegion>* regions = nullptr;
  std::string fault;

  const HpuRegion* find(std::uint32_t address, std::uint32_t bytes) const {
    for (const HpuRegion& region : *regions)
      if (address - region.base < region.bytes && bytes <= region.bytes - (address - region.base)) return &region;
    return nullptr;
  }
};

namespace {

constexpr std::uint32_t kReturn = 0xfffffffe;  // as return address: the handler has ended

std::string hexadecimal(std::uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

constexpr bool is_load(Op op) { return op >= Op::kLoadByte && op <= Op::kLoadHalfUnsigned; }
constexpr bool is_store(Op op) { return op >= Op::kStoreByte && op <= Op::kStoreWord; }
constexpr bool is_atomic(Op op) { return op >= Op::kLoadReserved && op <= Op::kAtomicMaxUnsigned; }
constexpr bool is_branch(Op op) { return op >= Op::kEqual && op <= Op::kNotBelowUnsigned; }

constexpr std::uint32_t size_of(Op op) {
  switch (op) {
    case Op::kLoadByte:
    case Op::kLoadByteUnsigned:
    case Op::kStoreByte: return 1;
    case Op::kLoadHalf:
    case Op::kLoadHalfUnsigned:
    case Op::kStoreHalf: return 2;
    default: return 4;
  }
}

std::uint32_t division_cycles(std::uint32_t divisor, bool has_sign) {
  const bool negative = has_sign && divisor >> 31 != 0;
  return 3 + static_cast<std::uint32_t>(std::countl_zero(negative ? ~divisor : divisor));
}

std::uint32_t divide(Op op, std::uint32_t a, std::uint32_t b) {
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  const bool overflow = a == 0x80000000 && b == 0xffffffff;
  switch (op) {
    case Op::kDiv: return b == 0 ? 0xffffffff : overflow ? a : static_cast<std::uint32_t>(sa / sb);
    case Op::kDivUnsigned: return b == 0 ? 0xffffffff : a / b;
    case Op::kRem: return b == 0 ? a : overflow ? 0 : static_cast<std::uint32_t>(sa % sb);
    default: return b == 0 ? a : a % b;
  }
}

std::uint32_t high(std::int64_t a, std::int64_t b) { return static_cast<std::uint32_t>((a * b) >> 32); }

// Of two registers, or a register and an immediate; adds to the cycles what it takes beyond one.
std::uint32_t compute(Op op, std::uint32_t a, std::uint32_t b, std::uint64_t& cycle) {
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  switch (op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kShiftLeft: return a << (b & 31);
    case Op::kLess: return sa < sb ? 1 : 0;
    case Op::kLessUnsigned: return a < b ? 1 : 0;
    case Op::kXor: return a ^ b;
    case Op::kShiftRight: return a >> (b & 31);
    case Op::kShiftRightSigned: return static_cast<std::uint32_t>(sa >> (b & 31));
    case Op::kOr: return a | b;
    case Op::kAnd: return a & b;
    case Op::kMul: return a * b;
    case Op::kMulHigh: cycle += 4; return high(sa, sb);
    case Op::kMulHighMixed: cycle += 4; return high(sa, b);
    case Op::kMulHighUnsigned: cycle += 4; return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
    default: cycle += division_cycles(b, op == Op::kDiv || op == Op::kRem) - 1; return divide(op, a, b);
  }
}

bool branches(Op op, std::uint32_t a, std::uint32_t b) {
  const auto sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  switch (op) {
    case Op::kEqual: return a == b;
    case Op::kNotEqual: return a != b;
    case Op::kBelow: return sa < sb;
    case Op::kNotBelow: return sa >= sb;
    case Op::kBelowUnsigned: return a < b;
    default: return a >= b;
  }
}

std::uint32_t combine(Op op, std::uint32_t old, std::uint32_t with) {
  const auto a = static_cast<std::int32_t>(old), b = static_cast<std::int32_t>(with);
  switch (op) {
    case Op::kAtomicAdd: return old + with;
    case Op::kAtomicXor: return old ^ with;
    case Op::kAtomicAnd: return old & with;
    case Op::kAtomicOr: return old | with;
    case Op::kAtomicMin: return a < b ? old : with;
    case Op::kAtomicMax: return a > b ? old : with;
    case Op::kAtomicMinUnsigned: return std::min(old, with);
    case Op::kAtomicMaxUnsigned: return std::max(old, with);
    default: return with;  // swap
  }
}

std::uint32_t as_loaded(Op op, std::uint32_t value) {
  switch (op) {
    case Op::kLoadByte: return static_cast<std::uint32_t>(static_cast<std::int8_t>(value));
    case Op::kLoadHalf: return static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
    default: return value;
  }
}

}  // namespace

HpuCore::HpuCore(std::uint32_t base, const std::vector<std::uint32_t>& text) : base_(base) {
  program_.resize(2 * text.size());
  for (std::size_t half = 0; half < program_.size(); ++half) {
    std::uint64_t word = text[half / 2];
    if (half / 2 + 1 < text.size()) word |= std::uint64_t{text[half / 2 + 1]} << 32;
    program_[half] = rv32::decode(static_cast<std::uint32_t>(word >> 16 * (half % 2)));
  }
}

bool HpuCore::jump(State& state, std::uint32_t target, std::uint32_t cycles) const {
  state.cycle += cycles;
  const Instruction* there = at(target);
  if (there != nullptr && there->bytes == 4 && target % 4 != 0) ++state.cycle;
  state.pc = target;
  return true;
}

bool HpuCore::load(State& state, const Instruction& i) const {
  const std::uint32_t address = state.x[i.from1] + static_cast<std::uint32_t>(i.immediate), bytes = size_of(i.op);
  const HpuRegion* region = state.find(address, bytes);
  if (region == nullptr || (region->device != nullptr && (bytes != 4 || address % 4 != 0))) {
    state.fault = "loads " + std::to_string(bytes) + " B from " + hexadecimal(address) + ", where it has no memory";
    return false;
  }
  state.cycle += region->load_cycles;
  if (address % bytes != 0) state.cycle += region->load_cycles;
  std::uint32_t value = 0;
  if (region->device != nullptr)
    value = region->device->load(address, state.cycle);
  else
    std::memcpy(&value, region->data + (address - region->base), bytes);
  state.x[i.to] = as_loaded(i.op, value);
  return true;
}

bool HpuCore::store(State& state, const Instruction& i) const {
  const std::uint32_t address = state.x[i.from1] + static_cast<std::uint32_t>(i.immediate), bytes = size_of(i.op);
  const HpuRegion* region = state.find(address, bytes);
  if (region == nullptr || (region->device != nullptr && (bytes != 4 || address % 4 != 0))) {
    state.fault = "stores " + std::to_string(bytes) + " B to " + hexadecimal(address) + ", where it has no memory";
    return false;
  }
  state.cycle += address % bytes != 0 ? 2 : 1;
  const std::uint32_t value = state.x[i.from2];
  if (region->device != nullptr)
    region->device->store(address, value, state.cycle);
  else
    std::memcpy(region->data + (address - region->base), &value, bytes);
  return true;
}

bool HpuCore::atomic(State& state, const Instruction& i) const {
  const std::uint32_t address = state.x[i.from1];
  const HpuRegion* region = state.find(address, 4);
  if (region == nullptr || region->data == nullptr || address % 4 != 0) {
    state.fault = "has an atomic operation on " + hexadecimal(address) + ", which is no word of its memory";
    return false;
  }
  std::byte* at = region->data + (address - region->base);
  const std::uint32_t with = state.x[i.from2];
  std::uint32_t old = 0;
  std::memcpy(&old, at, 4);
  state.cycle += region->load_cycles + 1;
  if (i.op == Op::kLoadReserved) {
    state.reserved = address | 1;
    state.x[i.to] = old;
    return true;
  }
  if (i.op == Op::kStoreConditional) {
    const bool holds = state.reserved == (address | 1);
    if (holds) std::memcpy(at, &with, 4);
    state.reserved = 0;
    state.x[i.to] = holds ? 0 : 1;
    return true;
  }
  const std::uint32_t sum = combine(i.op, old, with);
  std::memcpy(at, &sum, 4);
  state.x[i.to] = old;
  return true;
}

// False: the handler cannot go on.
bool HpuCore::step(State& state, const Instruction& i) const {
  const std::uint32_t pc = state.pc, next = pc + i.bytes, immediate = static_cast<std::uint32_t>(i.immediate);
  state.pc = next;
  if (is_load(i.op)) return load(state, i);
  if (is_store(i.op)) return store(state, i);
  if (is_atomic(i.op)) return atomic(state, i);
  if (is_branch(i.op)) {
    if (branches(i.op, state.x[i.from1], state.x[i.from2])) return jump(state, pc + immediate, 3);
    ++state.cycle;
    return true;
  }
  switch (i.op) {
    case Op::kIllegal: state.fault = "has no instruction of RV32IMAC at " + hexadecimal(pc); return false;
    case Op::kJump: state.x[i.to] = next; return jump(state, pc + immediate, 2);
    case Op::kJumpRegister: {
      const std::uint32_t target = (state.x[i.from1] + immediate) & ~1u;
      state.x[i.to] = next;
      return jump(state, target, 2);
    }
    case Op::kUpper: state.x[i.to] = immediate; break;
    case Op::kUpperPc: state.x[i.to] = pc + immediate; break;
    case Op::kFence: break;
    case Op::kReadCycle: state.x[i.to] = static_cast<std::uint32_t>(state.cycle); break;
    case Op::kReadHart: state.x[i.to] = state.hart; break;
    default: {
      const std::uint32_t b = i.from2 == rv32::kImmediate ? immediate : state.x[i.from2];
      state.x[i.to] = compute(i.op, state.x[i.from1], b, state.cycle);
    }
  }
  ++state.cycle;
  return true;
}

HpuCore::Outcome HpuCore::run(std::uint32_t entry, std::uint32_t argument, std::uint32_t stack_end, std::uint32_t hart,
                              const std::vector<HpuRegion>& regions) const {
  State state;
  state.pc = entry;
  state.hart = hart;
  state.regions = &regions;
  state.x[1] = kReturn;
  state.x[2] = stack_end;
  state.x[10] = argument;
  Outcome outcome;
  std::uint32_t loaded = 0;  // the register of a load just before; 0: none
  while (state.pc != kReturn) {
    const Instruction* i = at(state.pc);
    if (i == nullptr) {
      outcome.fault = "goes to " + hexadecimal(state.pc) + ", where it has no instructions";
      break;
    }
    if (++outcome.instructions > kMostInstructions) {
      outcome.fault = "does not end within " + std::to_string(kMostInstructions) + " instructions";
      break;
    }
    if (loaded != 0 && (i->from1 == loaded || i->from2 == loaded)) ++state.cycle;
    loaded = is_load(i->op) || is_atomic(i->op) ? i->to : 0;
    if (!step(state, *i)) {
      outcome.fault = state.fault;
      break;
    }
    state.x[0] = 0;
  }
  outcome.cycles = state.cycle;
  return outcome;
}

}  // namespace exanet
