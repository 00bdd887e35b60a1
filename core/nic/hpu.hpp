// SPDX-License-Identifier: Apache-2.0
// Handler processing units (HPUs) of an interface, as the machine file describes them, and the handlers that a run
// gives them.
//
// Problem: with sPIN (Hoefler et al., SC 2017) an interface runs small programs, handlers, on the packets of messages
// as they arrive. Model: clusters of in-order RISC-V cores with a scratchpad each, after PsPIN (Di Girolamo et al.,
// ISCA 2021, doi:10.1109/ISCA52012.2021.00079). core/nic/handlers has the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/visit.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct HpuConfig {
  std::uint32_t clusters = 4, per_cluster = 8;
  Time cycle;  // of their clock
  Time dispatch;  // last word of a packet to its handler's begin, beside the copy below
  std::uint64_t copy_rate_bit_per_s = 0;  // of a packet from the interface's memory into a cluster's
  std::uint32_t start_cycles = 0;  // on the HPU, before each handler
  std::uint32_t cold_cycles = 0;  // more when a cluster begins with a handler that it has not run before
  std::uint32_t far_cycles = 1;  // of a load from handler memory, or from another cluster's memory
  std::uint32_t program_bytes = 0;  // memory for the handlers' instructions ...
  std::uint32_t handler_memory_bytes = 0;  // ... for their variables, which all clusters see ...
  std::uint32_t scratchpad_bytes = 0;  // ... of each cluster, beside packets and stacks ...
  std::uint64_t packet_memory_bytes = 0;  // ... and for packets until their handlers have ended
  Time dma_latency;  // of a command that moves bytes to or from host memory: fixed part ...
  std::uint64_t dma_rate_bit_per_s = 0;  // ... and rate, of all commands of a node together

  std::uint32_t count() const { return clusters * per_cluster; }
};

template <typename V>
void visit(HpuConfig& c, V&& v) {
  v("clusters", c.clusters);
  v("per_cluster", c.per_cluster);
  v("cycle_ps", c.cycle);
  v("dispatch_ps", c.dispatch);
  v("copy_rate_bit_per_s", c.copy_rate_bit_per_s);
  v("start_cycles", c.start_cycles);
  v("cold_cycles", c.cold_cycles);
  v("far_cycles", c.far_cycles);
  v("program_bytes", c.program_bytes);
  v("handler_memory_bytes", c.handler_memory_bytes);
  v("scratchpad_bytes", c.scratchpad_bytes);
  v("packet_memory_bytes", c.packet_memory_bytes);
  v("dma_latency_ps", c.dma_latency);
  v("dma_rate_bit_per_s", c.dma_rate_bit_per_s);
}

// The handlers of a run: what a compiler and a linker have made of them (exanet/spin), and the messages that they take.
struct HandlerProgram {
  static constexpr std::uint32_t kAny = 0xffffffff;

  std::vector<std::uint32_t> text, data;  // words from kProgramBase and kHandlerMemoryBase on (handlers/memory.hpp)
  std::uint32_t memory_bytes = 0;  // of variables: those of `data` first, then zeros
  std::uint32_t header = 0, payload = 0, completion = 0;  // addresses; 0: there is none
  std::uint32_t tag = kAny, source = kAny, destination = kAny;  // of MPI, and ranks
  std::uint64_t least_bytes = 1;  // shorter messages pass by
};

template <typename V>
void visit(HandlerProgram& c, V&& v) {
  v("text", c.text);
  v("data", c.data);
  v("memory_bytes", c.memory_bytes);
  v("header", c.header);
  v("payload", c.payload);
  v("completion", c.completion);
  v("tag", c.tag);
  v("source", c.source);
  v("destination", c.destination);
  v("least_bytes", c.least_bytes);
}

}  // namespace exanet
