// SPDX-License-Identifier: Apache-2.0
// Between the rings that ranks share with the simulator and the engine's own types. What a rank writes is checked before it is believed.
#include <algorithm>
#include <cstring>

#include "core/msg/atomic_table.h"
#include "exanet/exanet.h"
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {
namespace {

std::uint8_t wire_kind(CompletionKind kind) {
  switch (kind) {
    case CompletionKind::send: return EXANET_C_SEND;
    case CompletionKind::receive: return EXANET_C_RECV;
    case CompletionKind::peek: return EXANET_C_PEEK;
    case CompletionKind::put: return EXANET_C_PUT;
    case CompletionKind::get: return EXANET_C_GET;
    case CompletionKind::atomic: return EXANET_C_ATOMIC;
    case CompletionKind::remote_put: return EXANET_C_REMOTE_PUT;
    case CompletionKind::remote_event: return EXANET_C_REMOTE_EVENT;
    case CompletionKind::packet: return EXANET_C_PACKET;
    case CompletionKind::multi_done: return EXANET_C_MULTI_DONE;
    case CompletionKind::none: break;
  }
  return 0;
}

bool command_kind(std::uint8_t op, CommandKind& kind) {
  switch (op) {
    case EXN_OP_EP_OPEN: kind = CommandKind::ep_open; return true;
    case EXN_OP_EP_CLOSE: kind = CommandKind::ep_close; return true;
    case EXN_OP_MEM_REGISTER: kind = CommandKind::mem_register; return true;
    case EXN_OP_MEM_DEREGISTER: kind = CommandKind::mem_deregister; return true;
    case EXN_OP_SEND: kind = CommandKind::send; return true;
    case EXN_OP_RECV: kind = CommandKind::receive; return true;
    case EXN_OP_PEEK: kind = CommandKind::peek; return true;
    case EXN_OP_CANCEL: kind = CommandKind::cancel; return true;
    case EXN_OP_PUT: kind = CommandKind::put; return true;
    case EXN_OP_GET: kind = CommandKind::get; return true;
    case EXN_OP_ATOMIC: kind = CommandKind::atomic; return true;
    case EXN_OP_PACKET: kind = CommandKind::packet; return true;
    default: return false;
  }
}

Address address(std::uint64_t wire) {
  if (wire == EXANET_ANY) return Address{kAnyRank, 0};
  return Address{exanet_addr_rank(wire), exanet_addr_ep(wire)};
}

}  // namespace

// What libexanet would never write; nullptr when there is nothing of the kind.
const char* Coordinator::fault(const exn_cmd& in) const {
  constexpr std::uint64_t kAddressSpace = 1ull << 47;
  const std::uint64_t carried = in.inline_bytes;
  if (in.time_ps > kLatestPs) return "a time beyond all";
  if (in.len > kAddressSpace && in.op == EXN_OP_SEND) return "more bytes than there can be";
  switch (in.op) {
    case EXN_OP_SEND:
      return carried == in.len || (carried == 0 && in.len > ni_.eager_max_bytes) ? nullptr : "a message that is not as long as it says";
    case EXN_OP_PUT: return carried == in.len || carried == 0 ? nullptr : "a put that is not as long as it says";
    case EXN_OP_PACKET: return carried == in.len && in.len <= ni_.packet_max_bytes ? nullptr : "a packet that is not as long as it says";
    case EXN_OP_ATOMIC: {
      const int kind = static_cast<int>((in.data >> 16) & 3), op = static_cast<int>(in.data & 255), type = static_cast<int>((in.data >> 8) & 255);
      if (kind > EXANET_ATOMIC_COMPARE || !exanet_op_valid(kind, op, type)) return "an atomic that does not exist";
      const std::uint64_t bytes = in.count * exanet_type_bytes(type);
      if (in.count == 0 || bytes > EXN_ATOMIC_BYTES) return "an atomic of too many elements or none";
      const std::uint64_t operands = op == exanet_op_read ? 0 : kind == EXANET_ATOMIC_COMPARE ? 2 : 1;
      return carried == operands * bytes && in.len == bytes ? nullptr : "an atomic that is not as long as it says";
    }
    default: return carried == 0 ? nullptr : "data where there are none";
  }
}

void Coordinator::submit(RankId rank, const exn_cmd& in, const std::byte* payload) {
  Command c{};
  if (!command_kind(in.op, c.kind)) {
    stop("rank " + std::to_string(rank) + " wrote an unknown command (" + std::to_string(in.op) + ") to its network interface");
    return;
  }
  if (const char* what = fault(in)) {
    stop("rank " + std::to_string(rank) + " wrote a malformed command to its network interface: " + what);
    return;
  }
  c.ep = in.ep;
  c.peer = address(in.peer);
  c.time = Time::ps(static_cast<std::int64_t>(in.time_ps));
  c.cookie = in.cookie;
  c.tag = in.tag;
  c.ignore = in.ignore;
  c.addr = in.addr;
  c.len = in.len;
  c.data = c.kind == CommandKind::receive || c.kind == CommandKind::atomic ? 0 : in.data;
  c.min_left = c.kind == CommandKind::receive ? in.data : 0;
  c.result = in.addr2;
  c.count = in.count;
  c.access = in.flags;
  c.raw = c.kind == CommandKind::ep_open && in.data != 0;
  if (c.kind == CommandKind::atomic) {
    c.op = static_cast<std::uint8_t>(in.data);
    c.type = static_cast<std::uint8_t>(in.data >> 8);
    c.atomic = static_cast<AtomicKind>((in.data >> 16) & 3);
  }
  c.tagged = in.flags & EXANET_TAGGED;
  c.silent = in.flags & EXANET_SILENT;
  c.has_data = in.flags & EXANET_HAS_DATA;
  c.delivered = in.flags & EXANET_DELIVERED;
  c.multi = in.flags & EXANET_MULTI;
  c.claim = in.flags & EXANET_CLAIM;
  c.discard = in.flags & EXANET_DISCARD;
  c.payload = payload;
  c.payload_bytes = in.inline_bytes;
  engine_.submit(rank, c);
}

bool Coordinator::drain(RankId rank) {
  exn_ring& ring = region_.rank(rank).cmd;
  const std::uint32_t tail = __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE);
  std::uint32_t head = ring.head;
  const bool any = head != tail;
  const auto malformed = [&](const char* what) {
    stop("rank " + std::to_string(rank) + " wrote a malformed command to its network interface: " + what);
  };
  if (tail - head > EXN_RING_SLOTS) malformed("the ring's end is before its beginning");
  while (head != tail && !stopping()) {
    const std::byte* at = reinterpret_cast<const std::byte*>(ring.slots[head & EXN_RING_MASK]);
    exn_cmd command;
    std::memcpy(&command, at, sizeof command);
    const std::uint32_t room = std::min(tail - head, EXN_RING_SLOTS - (head & EXN_RING_MASK));
    if (command.op == EXN_OP_PAD) {
      if (room < EXN_RING_SLOTS - (head & EXN_RING_MASK)) {
        malformed("padding beyond the ring's end");
        break;
      }
      head = (head | EXN_RING_MASK) + 1;
      continue;
    }
    const std::size_t bytes = std::size_t{command.slots} * EXN_SLOT_BYTES;
    if (command.slots > room || bytes < sizeof command || command.inline_bytes > bytes - sizeof command) {
      malformed("it does not fit its slots");
      break;
    }
    submit(rank, command, at + sizeof command);
    head += command.slots;
  }
  __atomic_store_n(&ring.head, head, __ATOMIC_RELEASE);
  return any;
}

// While a rank sleeps nobody else touches its rings. An empty one starts again at its beginning, so that the few lines in use stay in the
// caches, of which many ranks on one processor leave little.
void Coordinator::rewind(exn_ring& ring) {
  if (ring.head != ring.tail) return;
  ring.head = 0;
  __atomic_store_n(&ring.tail, 0, __ATOMIC_RELEASE);
}

void Coordinator::complete(RankId rank, const Completion& c) {
  Rank& r = ranks_[rank];
  Stored& stored = r.completions.emplace_back();
  exn_cqe& out = stored.cqe;
  out = exn_cqe{};
  out.kind = wire_kind(c.kind);
  out.ep = c.ep;
  out.status = c.status;
  out.time_ps = static_cast<std::uint64_t>(c.time.ps());
  out.peer = exanet_address(c.peer.rank, c.peer.ep);
  out.cookie = c.cookie;
  out.tag = c.tag;
  out.len = c.len;
  out.data = c.data;
  out.addr = c.addr;
  out.cpu_ps = static_cast<std::uint32_t>(c.cpu.ps());
  out.has_data = c.has_data;
  out.tagged = c.tagged;
  out.inline_bytes = std::min<std::uint32_t>(c.payload_bytes, stored.payload.size());
  out.slots = static_cast<std::uint8_t>((sizeof out + out.inline_bytes + EXN_SLOT_BYTES - 1) / EXN_SLOT_BYTES);
  if (out.inline_bytes) std::memcpy(stored.payload.data(), c.payload, out.inline_bytes);
  if (r.asleep && !r.held) set_wake(rank, c.time);
}

bool Coordinator::push(RankId rank, const Stored& stored) {
  exn_ring& ring = region_.rank(rank).cq;
  const std::uint32_t tail = ring.tail, used = tail - __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE);
  const std::uint32_t to_end = EXN_RING_SLOTS - (tail & EXN_RING_MASK), slots = stored.cqe.slots;
  const std::uint32_t skip = slots <= to_end ? 0 : to_end;
  if (EXN_RING_SLOTS - used < skip + slots) return false;
  if (skip) reinterpret_cast<exn_cqe*>(ring.slots[tail & EXN_RING_MASK])->kind = 0;
  std::uint8_t* at = ring.slots[(tail + skip) & EXN_RING_MASK];
  std::memcpy(at, &stored.cqe, sizeof stored.cqe);
  std::memcpy(at + sizeof stored.cqe, stored.payload.data(), stored.cqe.inline_bytes);
  __atomic_store_n(&ring.tail, tail + skip + slots, __ATOMIC_RELEASE);
  return true;
}

// Hands over what is due by `horizon`, earliest first; returns how much of it did not fit.
std::size_t Coordinator::push_until(RankId rank, Time horizon) {
  auto& waiting = ranks_[rank].completions;
  if (waiting.size() > 1)
    std::stable_sort(waiting.begin(), waiting.end(), [](const Stored& a, const Stored& b) { return a.cqe.time_ps < b.cqe.time_ps; });
  std::size_t n = 0;
  while (n < waiting.size() && waiting[n].cqe.time_ps <= static_cast<std::uint64_t>(horizon.ps()) && push(rank, waiting[n])) ++n;
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(n));
  return static_cast<std::size_t>(std::count_if(waiting.begin(), waiting.end(), [horizon](const Stored& s) {
    return s.cqe.time_ps <= static_cast<std::uint64_t>(horizon.ps());
  }));
}

}  // namespace exanet
