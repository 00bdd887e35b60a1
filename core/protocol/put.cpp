// SPDX-License-Identifier: Apache-2.0
// Puts: the initiator's engine sends the data in acknowledged blocks.
//
//   sent ──▶ landed or refused ──▶ (last block acknowledged: over)
#include "core/protocol/one_sided.hpp"

namespace exanet {
namespace {

using PutOperation = Operation<PutDescriptor>;  // its state is its status: what is refused has one

class Put final : public OneSidedMachine<PutOperation> {
 public:
  using OneSidedMachine::OneSidedMachine;

  void data_completed(std::uint32_t id, Status status, Time now) override {
    PutOperation& op = (*this)[id];
    note(op, status);
    if (op.status == 0) op.status = land(op, now);
  }

  void data_acknowledged(std::uint32_t id, Status status, Time now) override {
    note((*this)[id], status);
    end<PutCompletion>(id, now, (*this)[id].d.length);
  }

 private:
  void execute(std::uint32_t id, Time now) override {
    PutOperation& op = (*this)[id];
    const PutDescriptor& d = op.d;
    if (unreachable(op)) {
      fail<PutCompletion>(id, -EHOSTUNREACH, now, d.length);
      return;
    }
    // A target refuses at the first packet, and the rest is never sent. An initiator that
    // knows the key has had it from the region's owner, so the region is there by now.
    std::uint64_t addr = 0;
    const MemoryMap::Region* found = region(op, d.length, kRemoteWrite, addr);
    const bool allowed = d.length == 0 || found != nullptr;
    if (!allowed) op.status = -EACCES;
    const bool notifies = d.has(kHasData) || (found != nullptr && reports(*found));
    context_.transfer(op.rank, target(op),
                      {.bytes = allowed ? d.length : 0,
                       .acknowledged = true,
                       .reads_memory = allowed && op.payload.empty(),
                       .notifies = notifies,
                       .own = op.payload.empty() ? d.buffer : 0,
                       .target = addr},
                      user(id));
  }

  // At the target: returns the put's status.
  std::int32_t land(const PutOperation& op, Time now) {
    const PutDescriptor& d = op.d;
    std::uint64_t addr = 0;
    const MemoryMap::Region* found = region(op, d.length, kRemoteWrite, addr);
    if (!found && d.length > 0) return -EACCES;  // a put of nothing reaches no memory: it needs no region
    const bool copied = op.payload.empty() ? context_.copy(op.rank, d.buffer, target(op), addr, d.length)
                                           : context_.host.write(target(op), addr, op.payload.data(), d.length);
    if (!copied) return -EFAULT;
    record(op, d.length, Protocol::put, now);
    if (found) remote_event(op, *found, d.length, kRemoteWrite, now);
    if (d.has(kHasData)) {
      auto done = context_.completion<RemotePutCompletion>(target(op), d, now);
      done.flags |= kHasData;
      done.ep = d.peer.ep;
      done.peer = Address{op.rank, d.ep};
      done.length = d.length;
      done.data = d.data;
      context_.host.complete(target(op), done, {});
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<StateMachine> make_put(Context& context) { return std::make_unique<Put>(context); }

}  // namespace exanet
