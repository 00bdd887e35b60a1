// SPDX-License-Identifier: Apache-2.0
// Communicators of a trace, matched between ranks.
//
// Problem: each rank numbers its communicators itself, and messages match only within the same one. Model: a
// communicator is known by its members and by how many of these were made before; a collective's record becomes the
// call that algorithms plan. Limits: what a damaged stream says is refused; collectives on intercommunicators are not
// replayed.
#include "core/replay/communicators.hpp"

#include <algorithm>

namespace exanet {

Communicators::Communicators(std::uint32_t ranks) : ranks_(ranks), of_rank_(ranks) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto& own = of_rank_[rank];
    own.resize(3);
    own[0].ranks = 0;
    own[EXANET_TRACE_WORLD] = {0, rank, ranks, nullptr, false, 0};
    const Members alone{{rank}, {}};
    own[EXANET_TRACE_SELF] = {context(alone, rank), 0, 1, &groups_.find(alone)->first.first, false, 0};
  }
}

std::uint32_t Communicators::context(const Members& members, std::uint32_t rank) {
  Group& group = groups_[members];
  const std::uint32_t before = group.made[rank]++;
  if (group.contexts.size() <= before) group.contexts.push_back(contexts_++);
  return group.contexts[before];
}

bool Communicators::add(std::uint32_t rank, const TraceRecord& record) {
  if (record.made < 3) return record.made == 0;
  Members members{record.first, record.second};
  const bool inter = (record.flags & EXANET_TRACE_INTER) != 0;
  const auto place = std::find(record.first.begin(), record.first.end(), rank);
  const bool of_world = (record.flags & EXANET_TRACE_OF_WORLD) != 0 && record.first.empty();
  if (!of_world && place == record.first.end()) return false;
  Communicator made;
  made.inter = inter;
  made.ranks = of_world ? ranks_ : static_cast<std::uint32_t>(record.first.size());
  made.me = of_world ? rank : static_cast<std::uint32_t>(place - record.first.begin());
  // Both sides of an intercommunicator name the same two groups.
  if (inter && record.second < record.first) std::swap(members.first, members.second);
  made.context = context(members, rank);
  if (!of_world) {
    const auto& known = groups_.find(members)->first;
    made.members = inter && record.second < record.first ? &known.second : &known.first;
  }
  auto& own = of_rank_[rank];
  if (own.size() <= record.made) own.resize(record.made + 1, Communicator{0, 0, 0, nullptr, false, 0});
  own[record.made] = made;
  return true;
}

CollectiveCall call_on(const Communicator& comm) {
  CollectiveCall c;
  c.ranks = comm.ranks;
  c.me = comm.me;
  return c;
}

namespace {

std::uint8_t blocking_code(const TraceRecord& call) {
  return call.code >= EXANET_TRACE_Ibarrier ? call.code - EXANET_TRACE_NONBLOCKING : call.code;
}

}  // namespace

CollectiveCall collective_call(const TraceRecord& call, const Communicator& comm) {
  CollectiveCall c = call_on(comm);
  c.root = call.root;
  c.members = comm.members;
  c.built_in = (call.flags & EXANET_TRACE_BUILT_IN) != 0;
  c.commutative = (call.flags & EXANET_TRACE_COMMUTATIVE) != 0;
  c.in_place = (call.flags & EXANET_TRACE_IN_PLACE) != 0;
  c.element_bytes = call.element_bytes;
  c.sent = call.first;
  c.received = call.second;
  const std::uint8_t code = blocking_code(call);
  switch (code) {
    case EXANET_TRACE_Gather: c.bytes = c.me == c.root ? call.receive_bytes : call.send_bytes; break;
    case EXANET_TRACE_Scatter: c.bytes = c.me == c.root ? call.send_bytes : call.receive_bytes; break;
    case EXANET_TRACE_Scatterv:
    case EXANET_TRACE_Allgather:
    case EXANET_TRACE_Alltoall: c.bytes = call.receive_bytes; break;
    case EXANET_TRACE_Reduce_scatter_block: c.received.assign(c.ranks, call.receive_bytes); break;
    default: c.bytes = call.send_bytes;
  }
  if ((code == EXANET_TRACE_Alltoallv || code == EXANET_TRACE_Alltoallw) && c.in_place) c.sent = c.received;
  return c;
}

CollectiveCall collective_call(const TraceStream& stream, const TraceRecord& call, const Communicator& comm) {
  if (comm.inter) stream.fail("a collective on an intercommunicator cannot be replayed");
  CollectiveCall c = collective_call(call, comm);
  const std::uint8_t code = blocking_code(call);
  for (const auto* list : {&c.sent, &c.received})
    if (!list->empty() && list->size() != comm.ranks)
      stream.fail("a collective has not one size for each rank: the stream is damaged");
  const bool of_all = code == EXANET_TRACE_Alltoallv || code == EXANET_TRACE_Alltoallw;
  const bool missing = (of_all && c.sent.empty() != c.received.empty()) ||
                       (code == EXANET_TRACE_Reduce_scatter && c.received.empty()) ||
                       (c.me == c.root && code == EXANET_TRACE_Gatherv && c.received.empty()) ||
                       (c.me == c.root && code == EXANET_TRACE_Scatterv && c.sent.empty());
  if (missing && c.ranks > 1 && (c.bytes > 0 || !c.sent.empty() || !c.received.empty()))
    stream.fail("a collective lacks its sizes by rank: the stream is damaged");
  if (c.root >= comm.ranks) stream.fail("a collective's root is not in the communicator: the stream is damaged");
  return c;
}

}  // namespace exanet
