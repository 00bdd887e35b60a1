// SPDX-License-Identifier: Apache-2.0
// Contents of collectives of live programs, and whether the members' calls go together.
//
// Model: what a member brings is kept aside under the communicator's context and the collective's number there, and
// each member takes from it what the algorithm's messages have brought to it. Members' calls are compared as they come.
// A block that is too long for its receiver is found by that one, as an error of its call. Limit: collectives by
// MPICH's rules.
#include "core/replay/live_collectives.hpp"

#include <algorithm>

#include "core/replay/collective_codes.hpp"

namespace exanet {

namespace {

std::uint32_t blocking(std::uint32_t code) {
  if (code >= EXANET_TRACE_Ineighbor_allgather)
    return code - EXANET_TRACE_Ineighbor_allgather + EXANET_TRACE_Neighbor_allgather;
  return code >= EXANET_TRACE_Ibarrier && code <= EXANET_TRACE_Iexscan ? code - EXANET_TRACE_NONBLOCKING : code;
}

bool scatters(std::uint32_t code) {
  return code == EXANET_TRACE_Scatter || code == EXANET_TRACE_Scatterv || code == EXANET_TRACE_Alltoall ||
         code == EXANET_TRACE_Alltoallv || code == EXANET_TRACE_Alltoallw;
}

bool reduces(std::uint32_t code) { return code >= EXANET_TRACE_Reduce && code <= EXANET_TRACE_Exscan; }

// Each member names the sizes of all blocks, alike.
bool lists_all(std::uint32_t code) { return code == EXANET_TRACE_Allgatherv || code == EXANET_TRACE_Reduce_scatter; }

std::vector<std::uint64_t> listed(const std::uint64_t* list, std::uint32_t count) {
  return list == nullptr ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>(list, list + count);
}

// Bytes of the block that a member brings, or takes of each of the others, which must be equal for all; 0: sizes differ
// by rank, or there are none.
std::uint64_t block_bytes(const exanet_live_call& call) {
  const bool is_root = (call.flags & EXANET_TRACE_IS_ROOT) != 0;
  switch (blocking(call.code)) {
    case EXANET_TRACE_Bcast:
    case EXANET_TRACE_Reduce:
    case EXANET_TRACE_Allreduce:
    case EXANET_TRACE_Scan:
    case EXANET_TRACE_Exscan: return call.bytes;
    case EXANET_TRACE_Gather: return is_root ? call.receive_bytes : call.bytes;
    case EXANET_TRACE_Scatter: return is_root ? call.bytes : call.receive_bytes;
    case EXANET_TRACE_Reduce_scatter_block:
    case EXANET_TRACE_Allgather:
    case EXANET_TRACE_Alltoall: return call.receive_bytes;
    default: return 0;
  }
}

std::string called(std::uint32_t code) {
  return std::string("MPI_") + trace_call_name(static_cast<std::uint8_t>(code));
}

// What is wrong with the call beside that of the member that came first: "" where they go together.
std::string difference(const exanet_live_call& call, const LiveCollective& c) {
  const std::string first = "rank " + std::to_string(c.first);
  if (call.code != c.code)
    return first + " calls " + called(c.code) +
           " meanwhile on the same communicator: all its members must call the same collectives in the same order";
  if (call.root != c.root)
    return "it says root " + std::to_string(call.root) + ", and " + first + " root " + std::to_string(c.root) +
           ": all members must say the same root";
  if (call.operation != nullptr && c.operation != call.operation)
    return std::string("it reduces by ") + call.operation + ", and " + first + " by " + c.operation +
           ": all members must give the same operation";
  if (block_bytes(call) != c.block_bytes)
    return "its count and datatype make " + std::to_string(block_bytes(call)) + " B, those of " + first + " " +
           std::to_string(c.block_bytes) + " B: all members must bring and take the same";
  return {};
}

// Bytes that a member brings for another one, or expects of it; nothing where it says none.
std::optional<std::uint64_t> brought(const LiveCollective& c, std::uint32_t from, std::uint32_t to) {
  const LiveCollective::Part& part = c.parts[from];
  const std::uint32_t code = blocking(c.code);
  if (!part.here || (code == EXANET_TRACE_Gatherv && to != c.root)) return {};
  if (!scatters(code)) return part.data.size();
  return to < part.by_rank.size() ? std::optional(part.by_rank[to]) : std::nullopt;
}
std::optional<std::uint64_t> expected(const LiveCollective& c, std::uint32_t to, std::uint32_t from) {
  const LiveCollective::Part& part = c.parts[to];
  if (!part.here || (blocking(c.code) == EXANET_TRACE_Scatterv && from != c.root)) return {};
  if (part.expected.size() == 1) return part.expected[0];
  return from < part.expected.size() ? std::optional(part.expected[from]) : std::nullopt;
}

std::string too_short(const LiveCollective& c, const Communicator& comm, std::uint32_t from, std::uint32_t to) {
  const auto brings = brought(c, from, to), expects = expected(c, to, from);
  if (!brings || !expects || *brings >= *expects) return {};
  const std::uint32_t other = comm.world(from == comm.me ? to : from);
  const bool sends = from == comm.me;
  return "it " + std::string(sends ? "sends " : "expects ") + std::to_string(sends ? *brings : *expects) + " B " +
         (sends ? "to" : "of") + " rank " + std::to_string(other) + ", which " + (sends ? "expects " : "sends ") +
         std::to_string(sends ? *expects : *brings) + " B: the sizes must be equal";
}

// The same where each block has a size of its own, between this member and those that are here.
std::string difference_of_blocks(const LiveCollective& c, const Communicator& comm, RankId first) {
  const std::uint32_t code = blocking(c.code);
  const LiveCollective::Part& mine = c.parts[comm.me];
  if (lists_all(code))
    for (std::uint32_t member = 0; member < comm.ranks; ++member)
      if (c.parts[member].here && c.parts[member].expected != mine.expected)
        return "its list of counts is another than that of rank " + std::to_string(comm.world(member)) +
               ": all members must give the same";
  const bool by_blocks = code == EXANET_TRACE_Gatherv || code == EXANET_TRACE_Scatterv ||
                         code == EXANET_TRACE_Allgatherv || code == EXANET_TRACE_Alltoallv ||
                         code == EXANET_TRACE_Alltoallw;
  for (std::uint32_t member = 0; by_blocks && first != comm.world(comm.me) && member < comm.ranks; ++member) {
    if (member == comm.me) continue;
    if (std::string why = too_short(c, comm, comm.me, member); !why.empty()) return why;
    if (std::string why = too_short(c, comm, member, comm.me); !why.empty()) return why;
  }
  return {};
}

// As a recorded call has it.
TraceRecord record_of(const exanet_live_call& call, std::uint32_t members) {
  TraceRecord r;
  r.code = static_cast<std::uint8_t>(call.code);
  r.comm = call.comm;
  r.root = call.root;
  r.flags = call.flags;
  r.element_bytes = static_cast<std::uint32_t>(call.element_bytes);
  r.send_bytes = call.bytes;
  r.receive_bytes = call.receive_bytes;
  r.first = listed(call.sent_by_rank, members);
  r.second = listed(call.received_by_rank, members);
  return r;
}

void begin(LiveCollective& c, const exanet_live_call& call, const Communicator& comm, RankId rank) {
  c.parts.resize(comm.ranks);
  c.left = comm.ranks;
  c.first = rank;
  c.code = call.code;
  c.root = call.root;
  c.block_bytes = block_bytes(call);
  if (call.operation != nullptr) c.operation = call.operation;
}

void fill(LiveCollective::Part& part, const exanet_live_call& call, std::uint32_t members) {
  const std::uint32_t code = blocking(call.code);
  part.here = true;
  part.expected = listed(call.received_by_rank, members);
  if (code == EXANET_TRACE_Scatterv) part.expected.assign(1, call.receive_bytes);
  if (is_live_neighbours(call.code)) {
    part.by_rank = listed(call.sent_by_rank, call.destination_count);
    part.destinations.assign(call.destinations, call.destinations + call.destination_count);
  } else if (scatters(code)) {
    part.by_rank = listed(call.sent_by_rank, members);
    if (part.by_rank.empty()) part.by_rank.assign(members, call.sent.bytes / members);
  }
}

void plan_neighbours(const Communicator& comm, const exanet_live_call& call, Schedule& out) {
  for (std::uint32_t i = 0; i < call.source_count; ++i)
    if (call.sources[i] != EXANET_LIVE_NOBODY && call.sources[i] != comm.me) out.receive(comm.world(call.sources[i]));
  for (std::uint32_t i = 0; i < call.destination_count; ++i)
    if (call.destinations[i] != EXANET_LIVE_NOBODY && call.destinations[i] != comm.me)
      out.send(comm.world(call.destinations[i]), call.sent_by_rank[i]);
  out.stage();
}

exanet_live_part of_neighbour(const Communicator& comm, const exanet_live_call& call, const LiveCollective& c,
                              std::uint32_t place) {
  const std::uint32_t source = call.sources[place];
  if (source == EXANET_LIVE_NOBODY) return {nullptr, 0};
  const LiveCollective::Part& part = c.parts[source];
  if (blocking(call.code) <= EXANET_TRACE_Neighbor_allgatherv) return {part.data.data(), part.data.size()};
  const std::uint32_t* here = call.sources + place;
  auto before = call.crossed != 0 ? std::count(here + 1, call.sources + call.source_count, source)
                                  : std::count(call.sources, here, source);
  const std::byte* data = part.data.data();
  for (std::size_t i = 0; i < part.destinations.size(); data += part.by_rank[i++])
    if (part.destinations[i] == comm.me && before-- == 0) return {data, part.by_rank[i]};
  return {nullptr, 0};
}

exanet_live_part of_member(const LiveCollective::Part& part, std::uint32_t me) {
  if (part.by_rank.empty()) return {part.data.data(), part.data.size()};
  const std::byte* data = part.data.data();
  for (std::uint32_t before = 0; before < me; ++before) data += part.by_rank[before];
  return {data, part.by_rank[me]};
}

}  // namespace

bool is_live_neighbours(std::uint32_t code) {
  return code >= EXANET_TRACE_Neighbor_allgather && code <= EXANET_TRACE_Ineighbor_alltoallw;
}
bool is_live_collective(std::uint32_t code) {
  return (code >= EXANET_TRACE_Barrier && code <= EXANET_TRACE_Iexscan) || is_live_neighbours(code);
}
bool live_collective_waits(std::uint32_t code) { return code == blocking(code); }

LiveCollectives::LiveCollectives(Host& memory, const LiveAlgorithms& algorithms)
    : memory_(memory), chosen_(algorithms.chosen), rules_(selection_rules(algorithms.rules)) {
  check_choices_without_network(chosen_);
}

std::string LiveCollectives::join(RankId rank, Communicator& comm, exanet_live_call& call, JoinedCollective& joined) {
  const std::uint64_t number = comm.collectives++;
  joined.call = &call;
  joined.key = std::uint64_t{comm.context} << 32 | (number & 0xffffffffu);
  LiveCollective& c = under_way_[joined.key];
  joined.members = &c;
  if (c.parts.empty()) begin(c, call, comm, rank);
  if (std::string why = difference(call, c); !why.empty()) return why;
  LiveCollective::Part& part = c.parts[comm.me];
  fill(part, call, comm.ranks);
  part.data.resize(call.sent.bytes);
  if (call.sent.bytes > 0 && !memory_.read(rank, call.sent.address, part.data.data(), part.data.size()))
    return "contents that are not all in its memory";
  return difference_of_blocks(c, comm, c.first);
}

void LiveCollectives::plan(const Communicator& comm, JoinedCollective& joined, Schedule& out) const {
  const exanet_live_call& call = *joined.call;
  if (is_live_neighbours(call.code)) return plan_neighbours(comm, call, out);
  const TraceRecord record = record_of(call, comm.ranks);
  const CollectiveCall c = collective_call(record, comm);
  const CollectiveOperation operation = collective_operation(record.code);
  joined.algorithm = c.ranks > 1 ? selection_rules("mpich").select(operation.collective, c, operation.waits) : "";
  plan_collective(operation, c, chosen_, rules_, out);
}

void LiveCollectives::answer(const Communicator& comm, const JoinedCollective& joined) {
  exanet_live_call& call = *joined.call;
  LiveCollective& c = *joined.members;
  call.algorithm = joined.algorithm;
  if (call.parts != nullptr && is_live_neighbours(call.code))
    for (std::uint32_t i = 0; i < call.source_count; ++i) call.parts[i] = of_neighbour(comm, call, c, i);
  else
    for (std::uint32_t i = 0; i < comm.ranks && call.parts != nullptr; ++i)
      call.parts[i] = of_member(c.parts[i], comm.me);
  const bool shares = reduces(blocking(call.code));
  if (shares && c.shared.empty()) {
    c.shared.resize(std::max<std::size_t>(c.parts[comm.me].data.size(), 1));
    c.result = {EXANET_LIVE_EMPTY, c.shared.size(), c.shared.data()};
  }
  call.result = shares ? &c.result : nullptr;
}

}  // namespace exanet
