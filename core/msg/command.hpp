// SPDX-License-Identifier: Apache-2.0
// What a rank asks of its network interface and its message library, what comes back, and who carries both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/units/time.hpp"

namespace exanet {

using RankId = std::uint32_t;

// An endpoint of a rank; kAnyPeer matches every source.
struct Address {
  RankId rank = 0;
  std::uint16_t ep = 0;
  bool operator==(const Address&) const = default;
};
inline constexpr RankId kAnyRank = 0xffffffffu;

enum class CommandKind : std::uint8_t { send, receive, peek, cancel, put, get, atomic, packet, ep_open, ep_close, mem_register, mem_deregister };

enum class AtomicKind : std::uint8_t { update, fetch, compare };

struct Command {
  CommandKind kind;
  std::uint16_t ep = 0;
  Address peer;
  Time time;                    // when the rank's CPU has handed it over
  std::uint64_t cookie = 0;
  std::uint64_t tag = 0;        // RMA: remote address; registration: first address
  std::uint64_t ignore = 0;     // RMA and registration: key
  std::uint64_t addr = 0;       // local buffer
  std::uint64_t len = 0;
  std::uint64_t data = 0;       // travels with the message
  std::uint64_t result = 0;     // atomic: where the old values go
  std::uint64_t min_left = 0;   // multi-receive: give the buffer back when less than this is free
  std::uint32_t count = 0;      // atomic: elements
  std::uint32_t access = 0;     // registration
  std::uint8_t op = 0, type = 0;
  AtomicKind atomic = AtomicKind::update;
  bool tagged = false, silent = false, has_data = false, delivered = false, multi = false, claim = false, discard = false;
  bool raw = false;             // ep_open: a bare mailbox
  const std::byte* payload = nullptr;  // carried by value; valid during submit() only
  std::uint32_t payload_bytes = 0;
};

enum class CompletionKind : std::uint8_t { none, send, receive, peek, put, get, atomic, remote_put, remote_event, packet, multi_done };

struct Completion {
  CompletionKind kind = CompletionKind::none;
  std::uint16_t ep = 0;
  std::int32_t status = 0;      // 0 or a negative errno value
  Time time;                    // visible to a poll from then on
  Time cpu;                     // what consuming it costs the rank
  Address peer;
  std::uint64_t cookie = 0, tag = 0, len = 0, data = 0, addr = 0;
  bool has_data = false, tagged = false;
  const std::byte* payload = nullptr;  // goes to addr, or to a packet's receiver; valid during complete() only
  std::uint32_t payload_bytes = 0;
};

enum class Protocol : std::uint8_t { eager, rendezvous, put, get, atomic };

struct MessageRecord {
  RankId src, dst;
  std::uint64_t bytes, tag;
  Protocol protocol;
  Time posted, delivered;
};

// Contract: read() and write() move bytes of a rank's memory and return false, having changed nothing that matters, when the rank is gone
// or the address is not mapped.
class Host {
 public:
  virtual ~Host() = default;
  virtual void complete(RankId rank, const Completion& completion) = 0;
  virtual bool read(RankId rank, std::uint64_t addr, std::byte* to, std::size_t bytes) = 0;
  virtual bool write(RankId rank, std::uint64_t addr, const std::byte* from, std::size_t bytes) = 0;
  virtual void record(const MessageRecord& message) = 0;
};

// Access bits of registered memory; the same values as in exanet.h.
inline constexpr std::uint32_t kRemoteRead = 1, kRemoteWrite = 2, kOffsetAddressed = 4, kReportEvents = 8;

}  // namespace exanet
