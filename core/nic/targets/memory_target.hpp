// SPDX-License-Identifier: Apache-2.0
// The memories that an engine reads from and writes to: host DRAM, and whatever else a transfer's buffers lie in.
//
// Problem: a transfer ends when its data are in memory, and begins when its first data are out of it; how long that
// takes depends on the memory (DRAM, storage, a GPU behind PCIe, a handler). Model: an engine asks the memory for a
// time, and the memory keeps what it needs to answer: queues, devices, rates. Every buffer names the kind of its memory
// (ProcessBuffer::memory), a number in memory_kinds().
//
// Contract:
// - read() returns when the data of a read that the engine begins at `at` are there, write() when data whose last word
//   has come at `at` are durable. Neither is before `at`.
// - A memory that streams() delivers and takes data at the rate of the interface's port: an engine asks once for a
//   transfer, when it begins or ends, and the read's time is that of its first word. Otherwise an engine asks for each
//   packet, in order, all reads of a transfer being begun at once.
// - The order of calls is that of the engine's events; times need not rise from one call to the next.
// - The same calls return the same times: a memory that draws is seeded by its configuration.
//
// Limits: an engine's acknowledgement of a block, other than the last one of a transfer, does not wait for its data to
// be durable. Interfaces in the gateware's cycles have host DRAM alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/nic/config.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct MemoryAccess {
  NodeId node;  // whose memory: the number of the interface that accesses it
  std::uint64_t address;  // 0 where it is not known
  std::uint64_t bytes;
  // of a transfer, where it is one: which one, as its source knows it, what has gone before, and all of its bytes
  std::uint64_t transfer = 0, offset = 0, total = 0;
};

class MemoryTarget {
 public:
  virtual ~MemoryTarget() = default;
  virtual Time read(const MemoryAccess& access, Time at) = 0;
  virtual Time write(const MemoryAccess& access, Time at) = 0;
  virtual bool streams() const { return true; }
};

struct MemoryKind {
  const char* name;
  const char* help;  // what it is, as a clause
  std::vector<NiConfig> samples;  // for the contract test, at least one
  // The memories of this kind of all nodes.
  std::unique_ptr<MemoryTarget> (*make)(const NiConfig& config, std::size_t nodes);
};

const std::vector<MemoryKind>& memory_kinds();  // host DRAM first
// The number of a kind, for ProcessBuffer::memory. Throws ConfigError, naming those that there are.
std::uint8_t memory_kind(const std::string& name);

// The memories of all kinds, as an engine has them.
class MemoryTargets {
 public:
  MemoryTargets(const NiConfig& config, std::size_t nodes);
  // Contract: `kind` is a number in memory_kinds().
  MemoryTarget& of(std::uint8_t kind) const { return *targets_[kind]; }
  bool streams(std::uint8_t kind) const { return streams_[kind] != 0; }

 private:
  std::vector<std::unique_ptr<MemoryTarget>> targets_;
  std::vector<std::uint8_t> streams_;  // by kind: whether it does
};

}  // namespace exanet
