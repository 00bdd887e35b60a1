// SPDX-License-Identifier: Apache-2.0
// What the nodes' interfaces in the gateware's cycles are to software: stores go in at a cycle, and what is in memory
// comes out. Behind it are the models (model_interfaces.hpp), or the Verilated gateware itself
// (verilated_interfaces.hpp).
//
// A store is at the interface in the cycle behind the one in which the bus took its last beat. A word of memory is
// there in a cycle when its last beat was taken in that one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/nic/exanet/engine.hpp"
#include "core/nic/messages/message_sender.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/reductions/reduction_sender.hpp"
#include "core/nic/transfers/transfer_sender.hpp"
#include "core/spec/node_library.h"

namespace exanet {

// Cycles may lie ahead: what happens is reported as soon as it is known.
class GatewareListener {
 public:
  virtual ~GatewareListener() = default;
  virtual void message_stored(NodeId src, std::uint32_t slot, NodeId node, Cycle at) = 0;  // in its mailbox
  virtual void message_answered(NodeId node, Cycle at) = 0;  // one of its slots is free behind it
  // The message of a slot has been NACKed, or given up: it is in no mailbox, or nobody knows.
  virtual void message_failed(NodeId node, std::uint32_t slot, Status status, Cycle at) = 0;
  // So many bytes of a transfer, or its fence, are in memory.
  virtual void transfer_written(std::uint64_t user, bool fence, std::uint32_t bytes, Cycle at) = 0;
  virtual void transfer_ended(NodeId node, std::uint64_t user, TransferEnding ending, Cycle at) = 0;
  virtual void transfer_served(std::uint64_t user) = 0;  // the request of a read has come, now
  virtual void reduction_ended(const ReductionEnd& end) = 0;
};

class GatewareInterfaces {
 public:
  virtual ~GatewareInterfaces() = default;

  // Whether the slot, which is the next one of its context, is free in the present cycle.
  virtual bool slot_is_free(NodeId node, std::uint32_t slot) const = 0;
  // Whether the interface may hold a store that begins in this cycle; if so, whether it takes a beat in the present
  // one.
  virtual bool may_hold(NodeId node) const = 0;
  virtual bool takes(NodeId node) const = 0;
  // A store's beats are offered from this cycle on. Contract: the slot, or a channel, is free, and the store before it
  // has been taken: taken() says so, and in which cycle it is at the interface.
  virtual void store(NodeId node, std::uint32_t slot, const MessageStore& message, Cycle from) = 0;
  virtual void store(NodeId node, const TransferStore& transfer, Cycle from) = 0;
  virtual void release(NodeId node, std::uint32_t place, Cycle from) = 0;  // its mailbox has been read up to this place
  virtual void taken(NodeId node, Cycle at) = 0;
  // A node's place in a tree of reductions; then its parts, of which the first word is at the unit in `at`, and the
  // call behind the last.
  virtual void open(NodeId node, std::uint8_t tree, const ReductionPlace& place, Cycle at) = 0;
  virtual void call(const ReductionCall& call, Cycle at) = 0;

  // Addresses of a piece of a transfer: of its bytes, the same at both nodes, of the word behind them, and of that
  // which reports its end.
  static constexpr unsigned kPieceBits = 30;
  static constexpr std::uint64_t kFences = EXANET_WORDS, kEnds = EXANET_ENDS;
  static std::uint64_t fence_word(std::uint64_t piece) { return kFences | 8 * piece; }
  static std::uint64_t end_word(std::uint64_t piece) { return kEnds | 8 * piece; }

  // Beats of each of them on the bus. A message's is the store that sends it: its words have been taken, as a processor
  // takes longer for each than the bus.
  static constexpr std::uint32_t kMessageBeats = 1;
  static std::uint32_t beats(const TransferStore& transfer) { return transfer.fence ? 3 : 2; }
  static std::uint32_t beats(const ReductionPlace& place);
  static std::uint32_t beats(const ReductionCall& call) { return words_of(call.shape.bytes) + 1; }
};

// What all of them have alike: a mailbox, a domain, contexts that take turns, channels.
struct GatewareShape {
  static constexpr std::uint32_t kContexts = 16, kSlots = 4 * kContexts, kMailbox = 0, kDomain = 0, kLogEntries = 13;
  static constexpr std::uint32_t kEntries = 1u << kLogEntries;
  // As many channels serve others' reads as stores have: whoever finds none asks again a round later, which is 105 us
  // at 156.25 MHz.
  static constexpr std::uint32_t kChannels = 256, kKept = kChannels / 2;
  // Rounds of blocks until one comes again. Without losses none has to, but a fence that has overtaken its transfer's
  // bytes: the longest where that cannot be, so that what waits in a congested network is not sent twice.
  static std::uint32_t block_timeout(const Network& network) { return network.keeps_order() ? 63 : 8; }
  static constexpr std::uint32_t kMessageTimeout = 16;
  static constexpr std::uint32_t kReadTimeout = 11;  // the longest, where anything is given up
};

inline Status status_of(MessageAnswer answer) {
  return answer == MessageAnswer::kStored   ? Status::kOk
         : answer == MessageAnswer::kSilent ? Status::kTimedOut
                                            : Status::kRemoteError;
}
inline Status status_of(TransferEnding ending) {
  return ending == TransferEnding::kWhole    ? Status::kOk
         : ending == TransferEnding::kSilent ? Status::kTimedOut
                                             : Status::kRemoteError;
}
inline Status status_of(ReductionEnding ending) {
  return ending == ReductionEnding::kWhole    ? Status::kOk
         : ending == ReductionEnding::kSilent ? Status::kTimedOut
                                              : Status::kMismatched;
}

// When software sees what memory has taken in a cycle: in the next one at the earliest.
inline Time visible_at(const NicContext& context, Cycle at, Time memory) {
  return time_of(at, context.router.cycle) + std::max(memory, context.router.cycle);
}

// What memory takes for an answer, or the first beat of a read.
inline Cycle memory_cycles(const NicContext& context, Time time) {
  const Time cycle = context.router.cycle;
  return std::max<Cycle>(1, cycle_of(next_edge(cycle, time), cycle));
}

}  // namespace exanet
