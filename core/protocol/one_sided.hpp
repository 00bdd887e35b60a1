// SPDX-License-Identifier: Apache-2.0
// Shares what puts, gets and atomics have in common. The target's interface checks each against the memory that its
// rank has registered and answers for itself: the target's processor takes no part. What is refused touches nothing and
// completes at the initiator with -EACCES.
#pragma once

#include <cerrno>

#include "core/protocol/state_machine.hpp"

namespace exanet {

template <typename Op>
class OneSidedMachine : public OperationMachine<Op> {
 public:
  using OperationMachine<Op>::OperationMachine;

 protected:
  using OperationMachine<Op>::context_;
  using OperationMachine<Op>::target;

  // The target's region if it allows `access` to `bytes` from the operation's remote address, which lie at `addr`;
  // nullptr otherwise.
  const MemoryMap::Region* region(const Op& op, std::uint64_t bytes, std::uint32_t access, std::uint64_t& addr) const {
    return context_.memory[target(op)].find(op.d.key, op.d.remote, bytes, access, addr);
  }

  static bool reports(const MemoryMap::Region& region) { return (region.access & kReportEvents) != 0; }

  // A region that reports events notifies its owner.
  void remote_event(const Op& op, const MemoryMap::Region& region, std::uint64_t bytes, std::uint32_t access,
                    Time now) {
    if (!reports(region)) return;
    RemoteEventCompletion event;
    event.ep = op.d.peer.ep;
    event.time = now;
    event.peer = Address{op.rank, op.d.ep};
    event.key = op.d.key;
    event.length = bytes;
    event.access = access;
    context_.host.complete(target(op), event, {});
  }

  void record(const Op& op, std::uint64_t bytes, Protocol protocol, Time now) {
    const bool fetched = protocol == Protocol::get;
    const RankId from = fetched ? target(op) : op.rank, to = fetched ? op.rank : target(op);
    context_.host.record(MessageRecord{from, to, bytes, 0, protocol, op.d.time, now});
  }

  // Completes at the initiator and ends there.
  template <typename C>
  void end(std::uint32_t id, Time now, std::uint64_t bytes) {
    this->template complete<C>(id, context_.after(now, context_.costs((*this)[id].rank).ni.dma_completion), bytes);
    this->finish(id);
  }

  // Fails at the initiator before anything has been sent.
  template <typename C>
  void fail(std::uint32_t id, std::int32_t status, Time now, std::uint64_t bytes) {
    (*this)[id].status = status;
    this->template complete<C>(id, now, bytes);
    this->finish(id);
  }
};

}  // namespace exanet
