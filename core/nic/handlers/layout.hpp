// SPDX-License-Identifier: Apache-2.0
// Addresses of a handler, and what it finds there. exanet/spin has the same: include/spin.h for handlers, build.py for
// the linker.
#pragma once

#include <array>
#include <cstdint>

namespace exanet::hpu {

inline constexpr std::uint32_t kProgramBase = 0x1d000000;
inline constexpr std::uint32_t kHandlerMemoryBase = 0x1c000000;
inline constexpr std::uint32_t kClusterBase = 0x10000000;  // of cluster 0 ...
inline constexpr std::uint32_t kClusterStep = 0x00400000;  // ... and from one to the next
inline constexpr std::uint32_t kCommandBase = 0x1b000000;

// In a cluster's memory: for each HPU its arguments, a packet and a stack; behind these the scratchpad.
inline constexpr std::uint32_t kOwnBytes = 0x4000;
inline constexpr std::uint32_t kPacketAt = 0x200;
inline constexpr std::uint32_t kMostPacket = 0x2400;  // 9 KiB

inline constexpr std::uint32_t kMostClusters = 16;

// handler_args_t and, behind it, task_t.
struct Arguments {
  std::uint32_t task, hpu, cluster, hpu_of_cluster;
  std::uint32_t packet, packet_bytes, packet_offset;
  std::uint32_t message, message_bytes, source, tag;
  std::uint32_t host_low, host_high, host_bytes;
  std::uint32_t handler_memory, handler_memory_bytes;
  std::uint32_t scratchpad_bytes, clusters;
  std::array<std::uint32_t, kMostClusters> scratchpads;
};
inline constexpr std::uint32_t kTaskAt = 16;  // in Arguments
static_assert(sizeof(Arguments) <= kPacketAt);

// Registers of commands, from kCommandBase on.
enum Register : std::uint32_t {
  kHostLow = 0x00,
  kHostHigh = 0x04,
  kLocal = 0x08,
  kBytes = 0x0c,
  kStart = 0x10,  // a store begins a command of that kind; a load returns its number
  kWait = 0x14,  // a load waits for the command that a store has named
  kTest = 0x18,  // a load returns whether it has ended
  kValueLow = 0x1c,
  kValueHigh = 0x20,
};
inline constexpr std::uint32_t kCommandBytes = 0x24;
enum Command : std::uint32_t { kToHost = 0, kFromHost = 1, kValueToHost = 2 };

}  // namespace exanet::hpu
