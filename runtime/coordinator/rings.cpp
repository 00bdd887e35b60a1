// SPDX-License-Identifier: Apache-2.0
// Between the rings that ranks share with the simulator and the protocols.
//
// Problem: a rank is a program that may be broken, and it writes to the same memory.
//
// Model: each descriptor is checked against its kind's size and the ring's before it is believed; one that is wrong
// ends the run with a message that names the rank. Completions are written with their payload, and their index last.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/protocol/atomic_table.h"
#include "core/protocol/failure.hpp"
#include "exanet/exanet.h"
#include "exanet/mpi_calls.h"
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {
namespace {

static_assert(sizeof(SendDescriptor) == sizeof(exn_send_descriptor) &&
              sizeof(ReceiveCompletion) == sizeof(exn_receive_completion));

// Names what libexanet would never write; nullptr when there is nothing of the kind.
template <typename Descriptor>
const char* malformed(const Descriptor& d, const NiConfig&) {
  return d.payload_bytes == 0 ? nullptr : "data where there are none";
}

const char* malformed(const SendDescriptor& d, const NiConfig& ni) {
  constexpr std::uint64_t kAddressSpace = 1ull << 47;
  if (d.length > kAddressSpace) return "more bytes than there can be";
  const bool whole = d.payload_bytes == d.length || (d.payload_bytes == 0 && d.length > ni.eager_max_bytes);
  return whole ? nullptr : "a message that is not as long as it says";
}

const char* malformed(const PutDescriptor& d, const NiConfig&) {
  return d.payload_bytes == d.length || d.payload_bytes == 0 ? nullptr : "a put that is not as long as it says";
}

const char* malformed(const PacketDescriptor& d, const NiConfig& ni) {
  return d.payload_bytes <= ni.packet_max_bytes ? nullptr : "a packet that is longer than the packetizer takes";
}

const char* malformed(const DatagramDescriptor& d, const NiConfig&) {
  if (d.fragment >= d.fragments) return "a fragment that its datagram does not have";
  if (d.echo != 0 && d.payload_bytes != d.length) return "a fragment of an echo";
  return d.payload_bytes <= d.length ? nullptr : "a fragment that is longer than its datagram";
}

const char* malformed(const AtomicDescriptor& d, const NiConfig&) {
  const int kind = static_cast<int>(d.atomic_kind);
  if (d.atomic_kind > AtomicKind::kCompare || !exanet_op_valid(kind, d.operation, d.datatype))
    return "an atomic that does not exist";
  const std::uint64_t bytes = d.count * exanet_type_bytes(d.datatype);
  if (d.count == 0 || bytes > kAtomicMax) return "an atomic of too many elements or none";
  const std::uint64_t operands = d.operation == exanet_op_read ? 0 : d.atomic_kind == AtomicKind::kCompare ? 2 : 1;
  return d.payload_bytes == operands * bytes ? nullptr : "an atomic that is not as long as it says";
}

const char* malformed(const ReductionDescriptor& d, const NiConfig&) {
  if (!exanet_reduces(d.operation, d.datatype)) return "a reduction that does not exist";
  const std::uint64_t bytes = d.count * exanet_type_bytes(d.datatype);
  if (bytes > kReductionMax) return "a reduction of too many elements";
  return d.payload_bytes == bytes ? nullptr : "a reduction that is not as long as it says";
}

}  // namespace

void Coordinator::refuse(RankId rank, const std::string& what) {
  stop("rank " + std::to_string(rank) + " wrote " + what);
}

// A descriptor of a known kind, whole.
void Coordinator::submit(RankId rank, const std::byte* at) {
  visit_descriptor(at, [&](const auto& d, const std::byte* payload) {
    const char* what = d.time < Time() || d.time > kLatest ? "a time beyond all" : malformed(d, ni_);
    if (what)
      refuse(rank, std::string("a malformed descriptor to its network interface: ") + what);
    else if (d.time < dies(rank) || region_->phase != EXN_VIRTUAL)
      engine_.submit(rank, d, Payload(payload, d.payload_bytes));
  });
}

bool Coordinator::drain(RankId rank) {
  exn_ring& ring = region_.rank(rank).work;
  const std::uint32_t tail = __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE);
  std::uint32_t head = ring.head;
  const bool any = head != tail;
  if (tail - head > EXN_RING_SLOTS) refuse(rank, "a malformed ring: its end is before its beginning");
  while (head != tail && !stopping()) {
    const std::byte* at = reinterpret_cast<const std::byte*>(ring.slots[head & EXN_RING_MASK]);
    DescriptorHeader header;
    std::memcpy(static_cast<void*>(&header), at, sizeof header);
    const std::uint32_t to_end = EXN_RING_SLOTS - (head & EXN_RING_MASK), available = std::min(tail - head, to_end);
    if (header.kind == DescriptorKind::kPad) {
      if (available < to_end) {
        refuse(rank, "a malformed ring: padding beyond its end");
        break;
      }
      head = (head | EXN_RING_MASK) + 1;
      continue;
    }
    const std::size_t fixed = descriptor_bytes(header.kind), bytes = std::size_t{header.slots} * kSlotBytes;
    if (fixed == 0) {
      refuse(rank, "a descriptor of unknown kind (" + std::to_string(static_cast<int>(header.kind)) +
                       ") to its network interface");
      break;
    }
    if (header.slots > available || fixed + header.payload_bytes > bytes) {
      refuse(rank, "a malformed descriptor to its network interface: it does not fit its slots");
      break;
    }
    submit(rank, at);
    head += header.slots;
  }
  __atomic_store_n(&ring.head, head, __ATOMIC_RELEASE);
  return any;
}

// While a rank sleeps nobody else touches its rings. An empty one starts again at its beginning, so that the few lines
// in use stay in the caches, of which many ranks on one processor leave little.
void Coordinator::rewind(exn_ring& ring) {
  if (ring.head != ring.tail) return;
  ring.head = 0;
  __atomic_store_n(&ring.tail, 0, __ATOMIC_RELEASE);
}

void Coordinator::complete(RankId rank, const Completion& completion, Payload payload) {
  if (live_ && std::visit([](const auto& done) { return done.ep == LiveRanks::kEndpoint; }, completion))
    return live_->deliver(rank, completion, payload);
  Rank& r = ranks_[rank];
  if (r.dead) return;
  Stored& stored = r.completions.add();
  bool failed = false;
  std::visit(
      [&](const auto& done) {
        auto record = done;
        constexpr bool kFragment = std::is_same_v<decltype(record), DatagramCompletion>;
        const std::size_t carried = kFragment ? payload.size() : std::min(payload.size(), kPacketMax);
        const std::size_t bytes = sizeof record + carried;
        record.payload_bytes = static_cast<std::uint16_t>(carried);
        record.slots = static_cast<std::uint8_t>((bytes + kSlotBytes - 1) / kSlotBytes);
        std::memcpy(stored.record.data(), &record, sizeof record);
        if constexpr (kFragment)
          stored.rest.assign(payload.begin(), payload.end());
        else if (carried > 0)
          std::memcpy(stored.record.data() + sizeof record, payload.data(), carried);
        stored.time = record.time;
        failed = record.status != 0;
        stored.bytes = static_cast<std::uint32_t>(bytes);
      },
      completion);
  if (failed) note_failure(rank, completion, stored.time);
  if (r.asleep && !r.held && !r.in_call && !r.in_storage) set_wake(rank, stored.time);
}

// Whoever watches over the run can then say why it fails, whatever the rank makes of it.
void Coordinator::note_failure(RankId rank, const Completion& completion, Time time) {
  std::string what = failure_of(completion);
  if (what.empty()) return;
  if (hosts_) what += hosts_->about(completion, time);
  ++failed_;
  const std::uint32_t call = region_.rank(rank).mpi_call;
  const std::string in_call = call > 0 ? std::string(", in ") + exanet_mpi_call_name(call - 1) : "";
  control_.failed("rank " + std::to_string(rank) + " on node " + std::to_string(placement_[rank]) + in_call + " at " +
                  in_microseconds(time) + ": " + what);
}

bool Coordinator::push(RankId rank, const Stored& stored) {
  exn_ring& ring = region_.rank(rank).cq;
  const std::uint32_t tail = ring.tail, used = tail - __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE);
  const std::uint32_t to_end = EXN_RING_SLOTS - (tail & EXN_RING_MASK);
  const std::uint32_t slots = static_cast<std::uint32_t>((stored.bytes + kSlotBytes - 1) / kSlotBytes);
  const std::uint32_t skip = slots <= to_end ? 0 : to_end;
  if (EXN_RING_SLOTS - used < skip + slots) return false;
  if (skip) reinterpret_cast<exn_completion_header*>(ring.slots[tail & EXN_RING_MASK])->kind = EXANET_C_PAD;
  std::uint8_t* const slot = ring.slots[(tail + skip) & EXN_RING_MASK];
  const std::size_t fixed = stored.bytes - stored.rest.size();
  std::memcpy(slot, stored.record.data(), fixed);
  if (!stored.rest.empty()) std::memcpy(slot + fixed, stored.rest.data(), stored.rest.size());
  __atomic_store_n(&ring.tail, tail + skip + slots, __ATOMIC_RELEASE);
  return true;
}

// Hands over what is due by `horizon`, earliest first; returns how much of it did not fit.
std::size_t Coordinator::push_until(RankId rank, Time horizon) {
  return ranks_[rank].completions.take_until(horizon, [&](const Stored& stored) { return push(rank, stored); });
}

}  // namespace exanet
