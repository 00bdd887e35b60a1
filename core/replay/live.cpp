// SPDX-License-Identifier: Apache-2.0
// Calls of live ranks, each as a rank of a replay makes it.
//
// Problem: a program that runs needs what a trace does without: contents, statuses, answers of tests. Model: a call
// begins activities (activities.hpp) and is over when those that it waits for are; contents move with the messages. A
// collective's messages have the sizes of its algorithm (live_collectives.hpp has their contents). A probe that waits
// asks again and again. Limits: one call at a time, as a rank has one thread; a receive from any source that waits is
// not matched by a later message of the rank's own.
#include "core/replay/live.hpp"

#include <algorithm>
#include <utility>

#include "core/replay/live_codes.hpp"

namespace exanet {

namespace {

std::string name_of_unrecorded(std::uint32_t code) {
  switch (code) {
    case EXANET_LIVE_ISENDRECV: return "MPI_Isendrecv";
    case EXANET_LIVE_REVOKE: return "MPIX_Comm_revoke";
    case EXANET_LIVE_SHRINK: return "MPIX_Comm_shrink";
    case EXANET_LIVE_AGREE: return "MPIX_Comm_agree";
    default: return "";
  }
}

}  // namespace

LiveRank::LiveRank(RankId rank, const NiConfig& interface, Library& library, Communicators& communicators,
                   LiveCollectives& collectives, LiveAccesses& accesses, LiveNotices& notices)
    : rank_(rank),
      test_step_(Time::ps(std::max<std::int64_t>(interface.test_step.ps(), 1))),
      library_(library),
      communicators_(communicators),
      collectives_(collectives),
      activities_(library, rank, 0),
      windows_(activities_, communicators, accesses, rank),
      tolerance_(rank, library.ranks(), activities_, notices) {}

std::string LiveRank::begin(exanet_live_call& call) {
  call_ = &call;
  for (const JoinedCollective& joined : answered_) collectives_.leave(joined);
  answered_.clear();
  until_ = Time::never();
  empty_probes_ = 0;
  call.error = call.failure = 0;
  if (is_of_tolerance(call.code)) return begin_tolerance();
  refused_ = false;
  error_ = refusal_of_call();
  if (error_ || refused_) return {};
  if (call.code == EXANET_TRACE_Sendrecv || call.code == EXANET_TRACE_Sendrecv_replace) {
    waited_.push_back(begin(call.received, false));
    waited_.push_back(begin(call.sent, true));
    return {};
  }
  if (call.code == EXANET_LIVE_ISENDRECV) {
    const std::uint32_t receives = begin(call.received, false);
    keep(call.request, receives, true).sends = begin(call.sent, true);
    requests_[call.request].of_any = call.received.peer == EXANET_LIVE_ANY;
    return {};
  }
  if (is_live_collective(call.code)) return begin_collective();
  if (is_live_one_sided(call.code)) return windows_.begin(call, waited_);
  if (probes(call.code)) return begin_probe();
  if (call.code >= EXANET_TRACE_Wait && call.code <= EXANET_TRACE_Cancel) return begin_requests();
  if (call.code == EXANET_TRACE_COMMUNICATOR) {
    TraceRecord made;
    made.made = call.comm;
    if (call.members != nullptr) made.first.assign(call.members, call.members + call.member_count);
    if (call.remote_members != nullptr)
      made.second.assign(call.remote_members, call.remote_members + call.remote_member_count);
    made.flags = (call.members == nullptr ? EXANET_TRACE_OF_WORLD : 0) |
                 (call.remote_members != nullptr ? EXANET_TRACE_INTER : 0);
    return communicators_.add(rank_, made) ? "" : "a communicator of which the rank is no member";
  }
  return begin_message();
}

std::uint64_t LiveRank::tag_of(const exanet_live_message& m) {
  return std::uint64_t{communicators_.find(rank_, call_->comm)->context} << 32 | (m.tag == EXANET_LIVE_ANY ? 0 : m.tag);
}

std::uint32_t LiveRank::begin(const exanet_live_message& m, bool sends) {
  if (m.peer == EXANET_LIVE_NOBODY) return activities_.nothing();
  if (sends) return activities_.send(m.peer, tag_of(m), m.bytes, is_synchronous(call_->code), m.address);
  return activities_.receive(source_of(m), tag_of(m), ignored_of(m), {m.address, m.bytes});
}

LiveRank::Request& LiveRank::keep(std::uint32_t number, std::uint32_t activity, bool receives) {
  if (requests_.size() <= number) requests_.resize(number + 1);
  requests_[number] = Request{activity, true, receives, std::nullopt, std::nullopt, call_->comm, false, false, {}};
  return requests_[number];
}

std::string LiveRank::begin_message() {
  const bool claimed = takes_probed(call_->code), sends = is_send(call_->code);
  if (claimed && !is_known(call_->request)) return "a message that no call has found";
  if (!claimed && communicators_.find(rank_, call_->comm) == nullptr) return "a communicator that has not been made";
  const std::uint32_t activity =
      claimed ? requests_[call_->request].activity : begin(sends ? call_->sent : call_->received, sends);
  if (claimed) activities_.take(activity, {call_->received.address, call_->received.bytes});
  if (returns_at_once(call_->code)) {
    keep(call_->request, activity, !sends).of_any = !sends && !claimed && call_->received.peer == EXANET_LIVE_ANY;
    return {};
  }
  if (claimed) requests_[call_->request].in_use = false;
  waited_.push_back(activity);
  return {};
}

std::string LiveRank::begin_probe() {
  if (communicators_.find(rank_, call_->comm) == nullptr) return "a communicator that has not been made";
  ask();
  return {};
}

void LiveRank::ask() {
  const exanet_live_message& m = call_->received;
  if (claims(call_->code))
    claimed_ = activities_.claim(source_of(m), tag_of(m), ignored_of(m));
  else
    activities_.probe(source_of(m), tag_of(m), ignored_of(m));
}

// An empty one takes the step that the interface needs, and a step of the rank's where it alone could send.
bool LiveRank::probe_answered() {
  if (until_ < Time::never()) return library_.clock(rank_) >= until_;
  const Activities::Answer answer = activities_.take_answer();
  if (answer.kind == Arrival::Kind::sent) return false;
  if (answer.message.failed != 0) error_ = error_of_failure(answer.message.failed);
  if (!error_ && answer.kind == Arrival::Kind::missed) error_ = refusal_of_wait(call_->received.peer);
  const bool found = answer.kind == Arrival::Kind::probed, own = call_->received.peer == rank_;
  call_->completed = found;
  if (found) {
    *call_->statuses = {
        answer.message.from, static_cast<std::uint32_t>(answer.message.tag), answer.message.bytes, 0, 0, 0, 0};
    if (claims(call_->code)) keep(call_->request, claimed_, true);
    return true;
  }
  if (claims(call_->code)) activities_.release(claimed_);
  if (error_) return true;
  if (!finds(call_->code) && own) until_ = library_.clock(rank_) + test_step_;
  if (!finds(call_->code)) return !own;
  ++empty_probes_;
  if (!own) ask();
  return false;
}

std::string LiveRank::begin_requests() {
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    const std::uint32_t number = call_->requests[i];
    if (!is_known(number)) return "a request that no call has begun";
    Request& r = requests_[number];
    if (call_->code == EXANET_TRACE_Request_free) {
      drop(r);
    } else if (call_->code == EXANET_TRACE_Cancel && r.receives) {
      activities_.cancel(r.activity);
    }
  }
  return {};
}

std::string LiveRank::plan(Planned& planned) {
  Communicator* comm = communicators_.find(rank_, call_->comm);
  if (comm == nullptr) return "a communicator that has not been made";
  if ((planned.error = refusal(*comm, true))) return {};
  if (std::string why = collectives_.join(rank_, *comm, *call_, planned.joined); !why.empty()) return why;
  planned.schedule = activities_.empty_schedule();
  collectives_.plan(*comm, planned.joined, *planned.schedule);
  return {};
}

std::string LiveRank::prepare(exanet_live_call& call) {
  call_ = &call;
  Planned planned;
  if (std::string why = plan(planned); !why.empty()) return why;
  if (!planned.error) library_.clock(rank_) += activities_.cost(*planned.schedule);
  planned_.push_back(std::move(planned));
  call_ = nullptr;
  return {};
}

std::string LiveRank::begin_collective() {
  Planned planned;
  if (call_->asks != 0) {
    planned = std::move(planned_.front());
    planned_.pop_front();
  } else if (std::string why = plan(planned); !why.empty()) {
    return why;
  }
  if (planned.error) {
    if (live_collective_waits(call_->code))
      error_ = planned.error;
    else
      keep(call_->request, activities_.nothing(), false).error = planned.error;
    return {};
  }
  const JoinedCollective& joined = planned.joined;
  const std::vector<std::uint64_t>* names =
      is_live_neighbours(call_->code) ? nullptr : communicators_.find(rank_, call_->comm)->members;
  const std::uint32_t activity =
      activities_.collective(std::move(planned.schedule), names, kCollectiveTag | joined.key, Time());
  if (live_collective_waits(call_->code)) {
    waited_.push_back(activity);
    joined_ = joined;
  } else {
    Request& kept = keep(call_->request, activity, false);
    kept.collective = joined;
    kept.is_collective = true;
  }
  return {};
}

std::string LiveRank::post(exanet_live_call& call) {
  std::string why = begin(call);
  for (const std::uint32_t activity : waited_) activities_.release(activity);
  waited_.clear();
  error_ = {};
  if (why.empty()) call_ = nullptr;
  return why;
}

void LiveRank::drop(Request& r) {
  activities_.release(r.activity);
  if (r.sends) activities_.release(*r.sends);
  r.in_use = false;
}

bool LiveRank::failed(std::uint32_t request) const {
  const Request& r = requests_[request];
  return is_over(r) && (r.error || (r.receives && activities_.received(r.activity).truncated));
}

// An empty test takes a step, and then looks once more.
bool LiveRank::stepped(bool over) {
  if (over || !tests(call_->code)) return over;
  if (until_ == Time::never()) until_ = library_.clock(rank_) + test_step_;
  return library_.clock(rank_) >= until_;
}

bool LiveRank::satisfied() {
  if (error_ && waited_.empty()) return true;
  if (probes(call_->code)) return probe_answered();
  if (is_live_one_sided(call_->code)) {
    for (const std::uint32_t a : waited_)
      if (const std::uint32_t failure = activities_.received(a).failed; failure != 0) library_.end_with(failure);
    const bool over = windows_.over(waited_);
    if (call_->code == EXANET_TRACE_Win_test) call_->completed = over;
    const bool waits = until_ == Time::never() && windows_.will_hear();
    return waits ? over : stepped(over);
  }
  if (is_of_tolerance(call_->code)) return tolerance_over();
  return asks_for_requests(call_->code) ? satisfied_requests() : wait_over();
}

bool LiveRank::satisfied_requests() {
  std::uint32_t done = 0;
  bool uncertain = false;
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    Request& r = requests_[call_->requests[i]];
    watch(r);
    uncertain = uncertain || may_fail(r);
  }
  for (std::uint32_t i = 0; i < call_->request_count; ++i) done += is_over(requests_[call_->requests[i]]);
  if (takes_all(call_->code) ? done == call_->request_count : done > 0 || call_->request_count == 0) return true;
  // One that fails ends the call: the program may have to do something for the others to be over.
  for (std::uint32_t i = 0; i < call_->request_count; ++i)
    if (failed(call_->requests[i])) return true;
  if (uncertain) return true;
  return stepped(false);
}

bool LiveRank::go_on() {
  tolerance_.advance();
  // What has come with the news of a death goes before what follows from it.
  while (tolerance_.knows_any() && activities_.progress()) tolerance_.advance();
  while (!satisfied()) {
    if (!activities_.progress()) return false;
    tolerance_.advance();
  }
  if (until_ < Time::never()) activities_.progress();
  end();
  return true;
}

void LiveRank::end() {
  if (joined_ && error_)
    answered_.push_back(*joined_);
  else if (joined_)
    answer_collective(*joined_);
  else if (is_live_one_sided(call_->code))
    end_one_sided();
  else if (asks_for_requests(call_->code))
    answer_requests();
  else if (!waited_.empty() && !is_send(call_->code) && call_->statuses != nullptr)
    answer(waited_[0], true, *call_->statuses);
  windows_.take_results();
  joined_.reset();
  for (const std::uint32_t activity : waited_) activities_.release(activity);
  waited_.clear();
  if (error_) call_->error = error_.kind, call_->failure = error_.failure;
  error_ = {};
  call_->knows = tolerance_.knows_any();
  call_ = nullptr;
}

void LiveRank::end_one_sided() {
  if (call_->code == EXANET_TRACE_Win_test && call_->completed == 0) call_->completed = windows_.heard();
  if (is_live_access_with_request(call_->code))
    keep(call_->request, windows_.activity(), false);
  else if (call_->code >= EXANET_TRACE_Put && call_->code < EXANET_TRACE_Rput)
    activities_.release(windows_.activity());
}

void LiveRank::answer(std::uint32_t activity, bool receives, exanet_live_status& status) {
  status = {EXANET_LIVE_NOBODY, EXANET_LIVE_ANY, 0, 0, 0, 0, 0};
  const Activities::Received& taken = activities_.received(activity);
  if (taken.cancelled) status.cancelled = 1;
  if (!receives || taken.cancelled || taken.from == kAnyRank) return;
  status = {taken.from, static_cast<std::uint32_t>(taken.tag), taken.bytes, taken.truncated, taken.cancelled, 0, 0};
}

void LiveRank::answer_requests() {
  call_->completed = 0;
  std::uint32_t done = 0;
  bool any_failed = false, uncertain = false;
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    done += is_over(requests_[call_->requests[i]]);
    any_failed = any_failed || failed(call_->requests[i]);
    uncertain = uncertain || may_fail(requests_[call_->requests[i]]);
  }
  const bool all_over = done == call_->request_count;
  if (uncertain && (takes_all(call_->code) ? !all_over : done == 0))
    error_ = note(EXANET_LIVE_MAY_FAIL, kAnyRank, "a receive from any source may wait for a rank that has failed");
  if (takes_all(call_->code) && !all_over && !any_failed && !error_) return;
  for (std::uint32_t i = 0; i < call_->request_count; ++i) {
    Request& r = requests_[call_->requests[i]];
    if (!r.in_use || !is_over(r)) continue;
    exanet_live_status& status = call_->statuses[call_->completed];
    answer(r.activity, r.receives, status);
    if (r.error) status.error = r.error.kind, status.failure = r.error.failure;
    call_->places[call_->completed++] = i;
    if (r.collective && r.error)
      answered_.push_back(*r.collective);
    else if (r.collective)
      answer_collective(*r.collective);
    drop(r);
    if (takes_one(call_->code)) return;
  }
}

void LiveRank::answer_collective(const JoinedCollective& joined) {
  LiveCollectives::answer(*communicators_.find(rank_, joined.call->comm), joined);
  answered_.push_back(joined);
}

bool LiveRank::waits() const {
  return call_ != nullptr && until_ == Time::never() && (!probes(call_->code) || finds(call_->code));
}

std::string LiveRank::where() const {
  if (call_ == nullptr) return "";
  if (call_->code >= EXANET_LIVE_ISENDRECV) return name_of_unrecorded(call_->code);
  return std::string("MPI_") + trace_call_name(static_cast<std::uint8_t>(call_->code));
}

}  // namespace exanet
