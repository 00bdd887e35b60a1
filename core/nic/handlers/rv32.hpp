// SPDX-License-Identifier: Apache-2.0
// An HPU's core: executes a handler's instructions and counts its cycles.
//
// Model: RV32IMAC in order, one instruction at a time, with the cycles of CV32E40P, the successor of the RI5CY cores of
// PULP clusters: 1 for most instructions, 2 for a jump, 3 for a branch that is taken, 1 more where the target is an
// instruction of 32 bits that is not aligned to them, 5 for the upper half of a product, 3 to 35 for a division by the
// leading bits of the divisor, 1 more for an instruction that needs what the load just before it brings, 1 more for
// loads and stores that are not aligned.
// Source: CORE-V CV32E40P User Manual, chapter "Pipeline Details"; divisions as their latency is described there. An
// atomic operation takes a load's and a store's cycle: the manual has none, as the core has none.
//
// Limits: no interrupts, no caches: instructions are at hand, but for what HpuConfig::cold_cycles charges; the
// extensions of PULP (Xpulp: hardware loops, post-increments) are not executed, and the compiler does not use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/nic/handlers/rv32_decode.hpp"

namespace exanet {

// What a core reaches with loads and stores beside plain memory: registers of devices.
class HpuDevice {
 public:
  virtual ~HpuDevice() = default;
  // `cycle`: of the handler, when the access begins. A load may return later: it adds the cycles that it waits.
  virtual std::uint32_t load(std::uint32_t address, std::uint64_t& cycle) = 0;
  virtual void store(std::uint32_t address, std::uint32_t value, std::uint64_t cycle) = 0;
};

struct HpuRegion {
  std::uint32_t base = 0, bytes = 0;
  std::byte* data = nullptr;
  std::uint32_t load_cycles = 1;
  HpuDevice* device = nullptr;  // in place of `data`: words alone
};

class HpuCore {
 public:
  struct Outcome {
    std::uint64_t cycles = 0, instructions = 0;
    std::string fault;  // why it has stopped; empty: it has returned
  };
  static constexpr std::uint64_t kMostInstructions = 10'000'000;  // a handler that runs longer never ends

  // Instructions from `base` on.
  HpuCore(std::uint32_t base, const std::vector<std::uint32_t>& text);

  // Calls the function at `entry` with one argument. Contract: `regions` do not overlap; the nearest come first.
  Outcome run(std::uint32_t entry, std::uint32_t argument, std::uint32_t stack_end, std::uint32_t hart,
              const std::vector<HpuRegion>& regions) const;

 private:
  struct State;
  const rv32::Instruction* at(std::uint32_t pc) const {
    const std::uint32_t index = (pc - base_) / 2;
    return (pc & 1) != 0 || index >= program_.size() ? nullptr : &program_[index];
  }
  bool step(State& state, const rv32::Instruction& i) const;
  bool load(State& state, const rv32::Instruction& i) const;
  bool store(State& state, const rv32::Instruction& i) const;
  bool atomic(State& state, const rv32::Instruction& i) const;
  bool jump(State& state, std::uint32_t target, std::uint32_t cycles) const;

  std::uint32_t base_;
  std::vector<rv32::Instruction> program_;  // decoded at each half word
};

}  // namespace exanet
