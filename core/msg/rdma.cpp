// SPDX-License-Identifier: Apache-2.0
// Puts, gets and atomics. The target's interface checks each against the memory that its rank has registered and answers for itself: the
// target's processor takes no part. What is refused touches nothing and completes at the initiator with -EACCES.
#include <algorithm>
#include <cerrno>

#include "core/msg/atomic_table.h"
#include "core/msg/atomics.hpp"
#include "core/msg/engine.hpp"

namespace exanet {

void MessageEngine::start_put(std::uint32_t id) {
  Op& op = *ops_[id];
  op.stage = Stage::put_data;
  // What the target is going to refuse it refuses at the first packet, and the rest is never sent. Whoever may put has been told of the
  // region, so it is there by now.
  std::uint64_t addr = 0;
  const bool allowed = op.c.len == 0 || ranks_[op.c.peer.rank].memory.find(op.c.ignore, op.c.tag, op.c.len, kRemoteWrite, addr);
  if (!allowed) op.status = -EACCES;
  interfaces_.start_transfer(node(op.rank), node(op.c.peer.rank), allowed ? op.c.len : 0, true, allowed && op.payload.empty(), id);
}

void MessageEngine::start_request(std::uint32_t id, Stage stage, std::uint64_t bytes) {
  Op& op = *ops_[id];
  op.stage = stage;
  interfaces_.start_transfer(node(op.rank), node(op.c.peer.rank), bytes, false, false, id);
}

void MessageEngine::remote_event(const Op& op, const MemoryMap::Region& region, std::uint32_t access, Time now) {
  if (!(region.access & kReportEvents)) return;
  Completion event;
  event.kind = CompletionKind::remote_event;
  event.ep = op.c.peer.ep;
  event.time = now;
  event.peer = Address{op.rank, op.c.ep};
  event.tag = op.c.ignore;
  event.len = op.c.len;
  event.data = access;
  host_.complete(op.c.peer.rank, event);
}

void MessageEngine::put_arrived(std::uint32_t id, Time now) {
  Op& op = *ops_[id];
  const Command& c = op.c;
  if (op.status != 0) return;
  std::uint64_t addr = 0;
  const MemoryMap::Region* region = ranks_[c.peer.rank].memory.find(c.ignore, c.tag, c.len, kRemoteWrite, addr);
  // A put of nothing reaches no memory: it needs no region.
  if (!region && c.len > 0) {
    op.status = -EACCES;
    return;
  }
  const bool copied = op.payload.empty() ? copy(op.rank, c.addr, c.peer.rank, addr, c.len)
                                         : host_.write(c.peer.rank, addr, op.payload.data(), c.len);
  if (!copied) {
    op.status = -EFAULT;
    return;
  }
  host_.record(MessageRecord{op.rank, c.peer.rank, c.len, 0, Protocol::put, c.time, now});
  if (region) remote_event(op, *region, kRemoteWrite, now);
  if (c.has_data) {
    Completion done = completion(op, CompletionKind::remote_put, now);
    done.ep = c.peer.ep;
    done.peer = Address{op.rank, c.ep};
    done.cookie = 0;
    done.data = c.data;
    done.has_data = true;
    host_.complete(c.peer.rank, done);
  }
}

void MessageEngine::get_requested(std::uint32_t id, Time now) {
  Op& op = *ops_[id];
  const Command& c = op.c;
  std::uint64_t addr = 0;
  const MemoryMap::Region* region = ranks_[c.peer.rank].memory.find(c.ignore, c.tag, c.len, kRemoteRead, addr);
  if (region || c.len == 0) op.payload.resize(c.len);
  else op.status = -EACCES;
  // The memory is read when the request is served, so that a later put cannot change what this get returns.
  if (op.status == 0 && c.len > 0 && !host_.read(c.peer.rank, addr, op.payload.data(), c.len)) op.status = -EFAULT;
  const bool served = op.status == 0;
  op.stage = served ? Stage::get_data : Stage::get_refused;
  if (served) ++op.holds;
  if (served && region) remote_event(op, *region, kRemoteRead, now);
  interfaces_.start_transfer(node(c.peer.rank), node(op.rank), served ? c.len : 0, served, served, id);
}

void MessageEngine::get_arrived(std::uint32_t id, Time now) {
  Op& op = *ops_[id];
  if (op.status == 0 && op.c.len > 0 && !host_.write(op.rank, op.c.addr, op.payload.data(), op.c.len)) op.status = -EFAULT;
  if (op.status == 0) host_.record(MessageRecord{op.rank, op.c.peer.rank, op.c.len, 0, Protocol::get, op.c.time, now});
  std::vector<std::byte>().swap(op.payload);  // may have been large
  complete_initiator(id, CompletionKind::get, instant_ ? now : now + config_.dma_completion);
  finish(id);
}

void MessageEngine::atomic_requested(std::uint32_t id, Time now) {
  Op& op = *ops_[id];
  const Command& c = op.c;
  const std::size_t bytes = c.count * exanet_type_bytes(c.type);
  const std::uint32_t access = c.op == exanet_op_read ? kRemoteRead : c.atomic == AtomicKind::update ? kRemoteWrite : kRemoteRead | kRemoteWrite;
  std::uint64_t addr = 0;
  const MemoryMap::Region* region = ranks_[c.peer.rank].memory.find(c.ignore, c.tag, bytes, access, addr);
  std::vector<std::byte> target(bytes), old(bytes);
  if (!region) {
    op.status = -EACCES;
  } else if (!host_.read(c.peer.rank, addr, target.data(), bytes)) {
    op.status = -EFAULT;
  } else {
    const std::byte* operand = op.payload.size() >= bytes ? op.payload.data() : nullptr;
    const std::byte* compare = op.payload.size() >= 2 * bytes ? op.payload.data() + bytes : nullptr;
    atomic_apply(c.op, c.type, c.count, target.data(), operand, compare, old.data());
    if (c.op != exanet_op_read && !host_.write(c.peer.rank, addr, target.data(), bytes)) op.status = -EFAULT;
    host_.record(MessageRecord{op.rank, c.peer.rank, bytes, 0, Protocol::atomic, c.time, now});
    remote_event(op, *region, c.op == exanet_op_read ? kRemoteRead : kRemoteWrite, now);
  }
  op.payload = std::move(old);
  op.result_bytes = op.status == 0 && c.atomic != AtomicKind::update ? bytes : 0;
  op.stage = Stage::atomic_reply;
  Time& unit = atomic_unit_[node(c.peer.rank)];
  unit = max(unit, now) + (instant_ ? Time() : config_.atomic);
  events_.schedule(instant_ ? now : unit, on_step_, id);
}

void MessageEngine::atomic_replied(std::uint32_t id, Time now) {
  Op& op = *ops_[id];
  if (op.result_bytes > 0 && !host_.write(op.rank, op.c.result, op.payload.data(), op.result_bytes)) op.status = -EFAULT;
  complete_initiator(id, CompletionKind::atomic, instant_ ? now : now + config_.dma_completion);
  finish(id);
}

}  // namespace exanet
