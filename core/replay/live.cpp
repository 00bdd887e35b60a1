// SPDX-License-Identifier: Apache-2.0
// Calls of live ranks, each as a rank of a replay makes it.
//
// Problem: a program that runs needs what a trace does without: contents, statuses, answers of tests. Model: a call
// begins activities (activities.hpp) and is over when those that it waits for are; contents move with the messages. A
// collective's messages have the sizes of its algorithm; what the members bring is kept aside, and each member takes
// from there what the algorithm has brought to it by its end. Limits: one call at a time, as a rank has one thread;
// collectives by MPICH's rules; a receive from any source that waits is not matched by a later message of the rank's
// own.
#include "core/replay/live.hpp"

#include <algorithm>

#include "core/replay/collective_codes.hpp"

namespace exanet {

namespace {

bool is_collective(std::uint32_t code) { return code >= EXANET_TRACE_Barrier && code <= EXANET_TRACE_Exscan; }
bool is_send(std::uint32_t code) { return code <= EXANET_TRACE_Irsend; }
bool is_synchronous(std::uint32_t code) { return code == EXANET_TRACE_Ssend || code == EXANET_TRACE_Issend; }
bool returns_at_once(std::uint32_t code) {
  return (code >= EXANET_TRACE_Isend && code <= EXANET_TRACE_Irsend) || code == EXANET_TRACE_Irecv;
}
bool tests(std::uint32_t code) { return code >= EXANET_TRACE_Test && code <= EXANET_TRACE_Request_get_status; }
bool takes_all(std::uint32_t code) {
  return code == EXANET_TRACE_Wait || code == EXANET_TRACE_Waitall || code == EXANET_TRACE_Testall;
}
bool takes_one(std::uint32_t code) { return code == EXANET_TRACE_Waitany || code == EXANET_TRACE_Testany; }

std::vector<std::uint64_t> listed(const std::uint64_t* list, std::uint32_t count) {
  return list == nullptr ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>(list, list + count);
}

// Bytes of the block that a member brings, or takes of each of the others, which must be equal for all; 0: sizes differ
// by rank, or there are none.
std::uint64_t block_bytes(const exanet_live_call& call) {
  const bool is_root = (call.flags & EXANET_TRACE_IS_ROOT) != 0;
  switch (call.code) {
    case EXANET_TRACE_Bcast:
    case EXANET_TRACE_Reduce:
    case EXANET_TRACE_Allreduce: return call.bytes;
    case EXANET_TRACE_Gather: return is_root ? call.receive_bytes : call.bytes;
    case EXANET_TRACE_Scatter: return is_root ? call.bytes : call.receive_bytes;
    case EXANET_TRACE_Allgather:
    case EXANET_TRACE_Alltoall: return call.receive_bytes;
    default: return 0;
  }
}

// What is wrong with the call beside that of the member that came first: "" where they go together.
std::string difference(const exanet_live_call& call, const LiveCollective& c) {
  const std::string first = "rank " + std::to_string(c.first);
  if (call.code != c.code)
    return first + " calls MPI_" + trace_call_name(static_cast<std::uint8_t>(c.code)) +
           " meanwhile on the same communicator: all its members must call the same collectives in the same order";
  if (call.root != c.root)
    return "it says root " + std::to_string(call.root) + ", and " + first + " root " + std::to_string(c.root) +
           ": all members must say the same root";
  if (block_bytes(call) != c.block_bytes)
    return "its count and datatype make " + std::to_string(block_bytes(call)) + " B, those of " + first + " " +
           std::to_string(c.block_bytes) + " B: all members must bring and take the same";
  return {};
}

// As a recorded call has it.
TraceRecord record_of(const exanet_live_call& call, std::uint32_t members) {
  TraceRecord r;
  r.code = static_cast<std::uint8_t>(call.code);
  r.comm = call.comm;
  r.root = call.root;
  r.flags = call.flags;
  r.element_bytes = call.element_bytes;
  r.send_bytes = call.bytes;
  r.receive_bytes = call.receive_bytes;
  r.first = listed(call.sent_by_rank, members);
  r.second = listed(call.received_by_rank, members);
  return r;
}

}  // namespace

LiveRank::LiveRank(RankId rank, const NiConfig& interface, Library& library, Communicators& communicators, Host& memory,
                   LiveCollectives& collectives)
    : rank_(rank),
      test_step_(Time::ps(std::max<std::int64_t>(interface.test_step.ps(), 1))),
      library_(library),
      communicators_(communicators),
      memory_(memory),
      collectives_(collectives),
      activities_(library, rank, 0) {}

std::string LiveRank::begin(exanet_live_call& call) {
  call_ = &call;
  drop_collective();
  until_ = Time::never();
  if (call.code == EXANET_TRACE_Sendrecv) {
    waited_.push_back(begin(call.received, false));
    waited_.push_back(begin(call.sent, true));
    return {};
  }
  if (is_collective(call.code)) return begin_collective();
  if (call.code >= EXANET_TRACE_Wait && call.code <= EXANET_TRACE_Cancel) return begin_requests();
  if (call.code == EXANET_TRACE_COMMUNICATOR) {
    TraceRecord made;
    made.made = call.comm;
    if (call.members != nullptr) made.first.assign(call.members, call.members + call.member_count);
    made.flags = call.members == nullptr ? EXANET_TRACE_OF_WORLD : 0;
    return communicators_.add(rank_, made) ? "" : "a communicator of which the rank is no member";
  }
  return begin_message();
}

std::uint32_t LiveRank::begin(const exanet_live_message& m, bool sends) {
  if (m.peer == EXANET_LIVE_NOBODY) return activities_.nothing();
  const std::uint64_t tag =
      std::uint64_t{communicators_.find(rank_, call_->comm)->context} << 32 | (m.tag == EXANET_LIVE_ANY ? 0 : m.tag);
  if (sends) return activities_.send(m.peer, tag, m.bytes, is_synchronous(call_->code), m.address);
  return activities_.receive(m.peer == EXANET_LIVE_ANY ? kAnyRank : m.peer, tag,
                             m.tag == EXANET_LIVE_ANY ? 0xffffffffu : 0, {m.address, m.bytes});
}

std::string LiveRank::begin_message() {
  if (communicators_.find(rank_, call_->comm) == nullptr) return "a communicator that has not been made";
  const bool sends = is_send(call_->code);
  const std::uint32_t activity = begin(sends ? call_->sent : call_->received, sends);
  if (!returns_at_once(call_->code)) {
    waited_.push_back(activity);
    return {};
  }
  if (requests_.size() <= call_->request) requests_.resize(call_->request + 1);
  requests_[call_->request] = {activity, true, !sends, false};
  return {};
}

std::string LiveRank::begin_requests() {
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    const std::uint32_t number = call_->requests[i];
    if (number >= requests_.size() || !requests_[number].in_use) return "a request that no call has begun";
    Request& r = requests_[number];
    if (call_->code == EXANET_TRACE_Request_free) {
      activities_.release(r.activity);
      r.in_use = false;
    } else if (call_->code == EXANET_TRACE_Cancel && r.receives) {
      activities_.cancel(r.activity);
    }
  }
  return {};
}

std::string LiveRank::begin_collective() {
  Communicator* comm = communicators_.find(rank_, call_->comm);
  if (comm == nullptr) return "a communicator that has not been made";
  const std::uint64_t number = comm->collectives++;
  key_ = std::uint64_t{comm->context} << 32 | (number & 0xffffffffu);
  collective_ = &collectives_[key_];
  if (collective_->parts.empty()) {
    collective_->parts.resize(comm->ranks);
    collective_->left = comm->ranks;
    collective_->first = rank_;
    collective_->code = call_->code;
    collective_->root = call_->root;
    collective_->block_bytes = block_bytes(*call_);
  }
  if (std::string why = difference(*call_, *collective_); !why.empty()) return why;
  LiveCollective::Part& part = collective_->parts[comm->me];
  part.data.resize(call_->sent.bytes);
  if (call_->sent.bytes > 0 && !memory_.read(rank_, call_->sent.address, part.data.data(), part.data.size()))
    return "contents that are not all in its memory";
  const bool scatters = call_->code == EXANET_TRACE_Scatter || call_->code == EXANET_TRACE_Scatterv ||
                        call_->code == EXANET_TRACE_Alltoall || call_->code == EXANET_TRACE_Alltoallv ||
                        call_->code == EXANET_TRACE_Alltoallw;
  const TraceRecord record = record_of(*call_, comm->ranks);
  if (scatters && !record.first.empty()) part.by_rank = record.first;
  if (scatters && record.first.empty()) part.by_rank.assign(comm->ranks, call_->sent.bytes / comm->ranks);
  CollectiveCall c = collective_call(record, *comm);
  std::unique_ptr<Schedule> schedule = activities_.empty_schedule();
  const CollectiveOperation operation = collective_operation(record.code);
  const SelectionRules& rules = selection_rules("mpich");
  algorithm_ = c.ranks > 1 ? rules.select(operation.collective, c, operation.waits) : "";
  plan_collective(operation, c, {}, rules, *schedule);
  waited_.push_back(activities_.collective(std::move(schedule), comm->members, kCollectiveTag | key_, Time()));
  return {};
}

std::string LiveRank::post(exanet_live_call& call) {
  std::string why = begin(call);
  for (const std::uint32_t activity : waited_) activities_.release(activity);
  waited_.clear();
  if (why.empty()) call_ = nullptr;
  return why;
}

bool LiveRank::failed(std::uint32_t request) const {
  const Request& r = requests_[request];
  return r.receives && activities_.done(r.activity) && activities_.received(r.activity).truncated;
}

bool LiveRank::satisfied() {
  if (!(call_->code >= EXANET_TRACE_Wait && call_->code <= EXANET_TRACE_Request_get_status))
    return std::all_of(waited_.begin(), waited_.end(), [this](std::uint32_t a) { return activities_.done(a); });
  std::uint32_t done = 0;
  for (std::uint32_t i = 0; i < call_->request_count; ++i)
    done += activities_.done(requests_[call_->requests[i]].activity);
  if (takes_all(call_->code) ? done == call_->request_count : done > 0 || call_->request_count == 0) return true;
  // One that fails ends the call: the program may have to do something for the others to be over.
  for (std::uint32_t i = 0; i < call_->request_count; ++i)
    if (failed(call_->requests[i])) return true;
  if (!tests(call_->code)) return false;
  // An empty test takes a step, and then looks once more.
  if (until_ == Time::never()) until_ = library_.clock(rank_) + test_step_;
  return library_.clock(rank_) >= until_;
}

bool LiveRank::go_on() {
  while (!satisfied())
    if (!activities_.progress()) return false;
  if (until_ < Time::never()) activities_.progress();
  end();
  return true;
}

void LiveRank::end() {
  if (is_collective(call_->code))
    answer_collective();
  else if (call_->code >= EXANET_TRACE_Wait && call_->code <= EXANET_TRACE_Request_get_status)
    answer_requests();
  else if (!waited_.empty() && !is_send(call_->code) && call_->statuses != nullptr)
    answer(waited_[0], true, *call_->statuses);
  for (const std::uint32_t activity : waited_) activities_.release(activity);
  waited_.clear();
  call_ = nullptr;
}

void LiveRank::answer(std::uint32_t activity, bool receives, exanet_live_status& status) {
  status = {EXANET_LIVE_NOBODY, EXANET_LIVE_ANY, 0, 0, 0};
  const Activities::Received& taken = activities_.received(activity);
  if (taken.cancelled) status.cancelled = 1;
  if (!receives || taken.cancelled || taken.from == kAnyRank) return;
  status = {taken.from, static_cast<std::uint32_t>(taken.tag), taken.bytes, taken.truncated, taken.cancelled};
}

void LiveRank::answer_requests() {
  call_->completed = 0;
  std::uint32_t done = 0;
  bool any_failed = false;
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    done += activities_.done(requests_[call_->requests[i]].activity);
    any_failed = any_failed || failed(call_->requests[i]);
  }
  if (takes_all(call_->code) && done < call_->request_count && !any_failed) return;
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    Request& r = requests_[call_->requests[i]];
    if (!r.in_use || !activities_.done(r.activity)) continue;
    answer(r.activity, r.receives, call_->statuses[call_->completed]);
    call_->places[call_->completed++] = i;
    if (call_->code != EXANET_TRACE_Request_get_status) {
      activities_.release(r.activity);
      r.in_use = false;
    }
    if (takes_one(call_->code)) return;
  }
}

void LiveRank::answer_collective() {
  const Communicator& comm = *communicators_.find(rank_, call_->comm);
  for (std::uint32_t i = 0; i < comm.ranks && call_->parts != nullptr; ++i) {
    const LiveCollective::Part& part = collective_->parts[i];
    const std::byte* data = part.data.data();
    std::uint64_t bytes = part.data.size();
    if (!part.by_rank.empty()) {
      for (std::uint32_t before = 0; before < comm.me; ++before) data += part.by_rank[before];
      bytes = part.by_rank[comm.me];
    }
    call_->parts[i] = {data, bytes};
  }
  call_->algorithm = algorithm_;
  LiveCollective& c = *collective_;
  const bool reduces = call_->code >= EXANET_TRACE_Reduce;
  if (reduces && c.shared.empty()) {
    c.shared.resize(std::max<std::size_t>(c.parts[comm.me].data.size(), 1));
    c.result = {EXANET_LIVE_EMPTY, c.shared.size(), c.shared.data()};
  }
  call_->result = reduces ? &c.result : nullptr;
}

void LiveRank::drop_collective() {
  if (collective_ != nullptr && --collective_->left == 0) collectives_.erase(key_);
  collective_ = nullptr;
}

std::string LiveRank::where() const {
  return call_ == nullptr ? "" : std::string("MPI_") + trace_call_name(static_cast<std::uint8_t>(call_->code));
}

LiveRanks::LiveRanks(const Library::Beside& setup, LiveHost& host)
    : host_(host),
      library_(
          [&] {
            Library::Beside own = setup;
            own.endpoint = kEndpoint;
            return own;
          }(),
          *this),
      communicators_(static_cast<std::uint32_t>(setup.ranks)) {
  for (RankId rank = 0; rank < setup.ranks; ++rank)
    ranks_.push_back(
        std::make_unique<LiveRank>(rank, setup.interface, library_, communicators_, setup.memory, collectives_));
}

void LiveRanks::enter(RankId rank, exanet_live_call& call) {
  library_.clock(rank) = Time::ps(static_cast<std::int64_t>(call.time_ps));
  if (const std::string why = ranks_[rank]->begin(call); !why.empty()) return host_.refused(rank, why);
  library_.enter(rank, library_.clock(rank));
}

void LiveRanks::post(RankId rank, exanet_live_call& first) {
  for (exanet_live_call* call = &first; call != nullptr; call = call->next) {
    library_.clock(rank) = Time::ps(static_cast<std::int64_t>(call->time_ps));
    if (const std::string why = ranks_[rank]->post(*call); !why.empty()) return host_.refused(rank, why);
  }
}

Time LiveRanks::resume(RankId rank) {
  LiveRank& live = *ranks_[rank];
  if (!live.go_on()) return live.until();
  library_.leave(rank);
  host_.returned(rank, library_.clock(rank));
  return Time::never();
}

}  // namespace exanet
