// SPDX-License-Identifier: Apache-2.0
#include "core/replay/rank_replay.hpp"

#include <algorithm>

namespace exanet {

namespace {

constexpr std::uint32_t kCallsAtOnce = 256;  // then the rank sleeps until the others have come to its clock
constexpr std::uint64_t kProbe = 0xffffffffu;  // in the place of an activity

bool is_send(std::uint8_t code) { return code <= EXANET_TRACE_Rsend_init; }
bool is_init(std::uint8_t code) {
  return (code >= EXANET_TRACE_Send_init && code <= EXANET_TRACE_Rsend_init) || code == EXANET_TRACE_Recv_init;
}
bool is_synchronous(std::uint8_t code) {
  return code == EXANET_TRACE_Ssend || code == EXANET_TRACE_Issend || code == EXANET_TRACE_Ssend_init;
}
bool is_buffered(std::uint8_t code) {
  return code == EXANET_TRACE_Bsend || code == EXANET_TRACE_Ibsend || code == EXANET_TRACE_Bsend_init;
}
bool asks(std::uint8_t code) { return code >= EXANET_TRACE_Test && code <= EXANET_TRACE_Request_get_status; }

}  // namespace

RankReplay::RankReplay(const ReplayProgram& program, const CollectiveChoices& collectives, const NiConfig& interface,
                       RankId first, RankId rank, Library& library, Communicators& communicators, RankPlaces& places)
    : program_(program),
      collectives_(collectives),
      rules_(selection_rules(program.rules)),
      test_step_(Time::ps(std::max<std::int64_t>(interface.test_step.ps(), 1))),
      rank_(rank),
      first_(first),
      id_(first + rank),
      library_(library),
      communicators_(communicators),
      places_(places),
      stream_(program.streams[rank]),
      activities_(library, id_, first) {
  figures_.calls.resize(256);
}

Time RankReplay::resume() {
  posted_ = 0;
  for (;;) {
    if (in_call_) {
      while (!satisfied()) {
        if (!activities_.progress()) return until_;
      }
      end();
    }
    if (finished_) return Time::never();
    if (++posted_ > kCallsAtOnce) {
      posted_ = 0;
      return library_.clock(id_);
    }
    if (!stream_.next(call_)) stream_.fail("the stream ends before the program does: its recording was cut short");
    begin();
  }
}

Time RankReplay::scaled(Time recorded) const {
  if (program_.compute_factor == 1) return recorded;
  return Time::ps(static_cast<std::int64_t>(static_cast<double>(recorded.ps()) * program_.compute_factor));
}

// One of equal parts of what the library computes in the call: before it posts, between stages, and after the last.
void RankReplay::charge_inside(std::uint32_t parts) {
  const Time part = Time::ps(inside_left_.ps() / parts);
  library_.clock(id_) += part;
  inside_left_ = inside_left_ - part;
}

void RankReplay::begin() {
  const Time computed = scaled(call_.compute);
  inside_left_ = scaled(call_.inside);
  figures_.compute += computed + inside_left_;
  library_.clock(id_) += computed;
  began_ = library_.clock(id_);
  if (call_.form != EXANET_TRACE_COLLECTIVE && call_.form != EXANET_TRACE_CREATE) charge_inside(2);
  in_call_ = true;
  switch (call_.form) {
    case EXANET_TRACE_MESSAGE: return begin_message();
    case EXANET_TRACE_EXCHANGE: return begin_exchange();
    case EXANET_TRACE_REQUESTS: return begin_requests();
    case EXANET_TRACE_PROBE: return begin_probe();
    case EXANET_TRACE_COLLECTIVE: return begin_collective();
    case EXANET_TRACE_CREATE: return begin_creation();
    case EXANET_TRACE_NAME:
      stream_.fail("the program calls " + call_.name + ", which is not recorded and cannot be replayed");
    default: return;
  }
}

void RankReplay::end() {
  for (const std::uint32_t activity : waited_) activities_.release(activity);
  waited_.clear();
  charge_inside(1);
  until_ = Time::never();
  in_call_ = false;
  ReplayedCall& figures = figures_.calls[call_.code];
  ++figures.calls;
  figures.time += library_.clock(id_) - began_;
  if (call_.form != EXANET_TRACE_ENDING) return;
  finished_ = true;
  figures_.clock = library_.clock(id_);
  figures_.library = library_.library_time(id_);
  library_.end(id_);
}

bool RankReplay::satisfied() {
  if (probing_) return probe_answered();
  if (until_ < Time::never()) {
    if (library_.clock(id_) < until_) return false;
    activities_.progress();
    return true;
  }
  return std::all_of(waited_.begin(), waited_.end(),
                     [this](std::uint32_t activity) { return activities_.done(activity); });
}

// A call that asks in vain, or that takes so long.
void RankReplay::pass(Time step) { until_ = library_.clock(id_) + step; }

Communicator& RankReplay::communicator(std::uint32_t number) {
  Communicator* found = communicators_.find(rank_, number);
  if (found == nullptr)
    stream_.fail("communicator " + std::to_string(number) + " has not been made: the stream is damaged");
  return *found;
}

RankReplay::Request& RankReplay::request(std::uint64_t number) {
  if (number >= requests_.size() || !requests_[number].in_use)
    stream_.fail(std::string("MPI_") + trace_call_name(call_.code) + " of request " + std::to_string(number) +
                 ", which no call has begun: the stream is damaged");
  return requests_[number];
}

void RankReplay::keep(std::uint32_t number, std::uint32_t activity) {
  if (number == 0) return activities_.release(activity);  // over at once where it was recorded
  if (requests_.size() <= number) requests_.resize(number + 1);
  requests_[number] = Request{};
  requests_[number].in_use = true;
  requests_[number].activity = activity;
}

std::uint32_t RankReplay::activity_of(const TraceRecord& call, const TraceMessage& m, bool sends) {
  if (m.peer == kNoPeer) return activities_.nothing();
  const std::uint64_t tag = std::uint64_t{communicator(call.comm).context} << 32 | m.tag;
  if (!sends) return activities_.receive(m.peer == kAnyPeer ? kAnyRank : m.peer, tag, m.any_tag ? 0xffffffffu : 0);
  if (m.peer == kAnyPeer) stream_.fail("a message to any process: the stream is damaged");
  const std::uint32_t activity = activities_.send(m.peer, tag, m.bytes, is_synchronous(call.code));
  if (!is_buffered(call.code)) return activity;
  activities_.release(activity);
  return activities_.nothing();
}

void RankReplay::begin_message() {
  if (is_init(call_.code)) {
    if (call_.request == 0) stream_.fail("a persistent request without a number: the stream is damaged");
    keep(call_.request, kNone);
    requests_[call_.request].persistent = true;
    requests_[call_.request].start = std::make_unique<TraceRecord>(call_);
    return;
  }
  const bool waits =
      call_.code <= EXANET_TRACE_Rsend || call_.code == EXANET_TRACE_Recv || call_.code == EXANET_TRACE_Mrecv;
  const std::uint32_t activity = activity_of(call_, call_.message, is_send(call_.code));
  if (waits)
    wait_for(activity);
  else
    keep(call_.request, activity);
}

void RankReplay::begin_exchange() {
  wait_for(activity_of(call_, call_.received, false));
  wait_for(activity_of(call_, call_.message, true));
}

void RankReplay::begin_requests() {
  for (const std::uint64_t number : call_.first) {
    Request& r = request(number);
    switch (call_.code) {
      case EXANET_TRACE_Start:
      case EXANET_TRACE_Startall:
        if (!r.persistent || r.activity != kNone)
          stream_.fail("a request is started that is not persistent, or that is active");
        r.activity = activity_of(*r.start, r.start->message, is_send(r.start->code));
        break;
      case EXANET_TRACE_Request_free:
        if (r.activity != kNone) activities_.release(r.activity);
        r = Request{};
        break;
      case EXANET_TRACE_Cancel:
        if (r.activity != kNone) activities_.cancel(r.activity);
        break;
      case EXANET_TRACE_Request_get_status:
        if (r.activity != kNone && !activities_.done(r.activity)) pass(test_step_);
        break;
      default:
        if (r.activity != kNone) wait_for(r.activity);
        r.activity = kNone;
        r.in_use = r.persistent;
    }
  }
  if (asks(call_.code) && call_.first.empty()) pass(test_step_);
}

void RankReplay::begin_probe() {
  if (!call_.found) return pass(test_step_);
  const TraceMessage& m = call_.message;
  if (m.peer == rank_) return;  // one to itself has been sent before
  probing_ = true;
  library_.probe(id_, m.peer == kAnyPeer ? kAnyRank : first_ + m.peer,
                 std::uint64_t{communicator(call_.comm).context} << 32 | m.tag, m.any_tag ? 0xffffffffu : 0, kProbe);
}

// Asks again as long as there is no message.
bool RankReplay::probe_answered() {
  const Arrival::Kind answer = activities_.take_answer();
  if (answer == Arrival::Kind::missed) begin_probe();
  probing_ = answer != Arrival::Kind::probed;
  return !probing_;
}

std::uint32_t RankReplay::begin_schedule(Communicator& comm, std::unique_ptr<Schedule> schedule,
                                         const std::vector<std::uint64_t>* names) {
  const std::uint64_t number = comm.collectives++;
  const std::uint32_t stages = schedule->stages();
  const Time part = Time::ps(inside_left_.ps() / (stages + 1));
  inside_left_ = inside_left_ - part * static_cast<std::int64_t>(stages);
  return activities_.collective(std::move(schedule), names,
                                kCollectiveTag | std::uint64_t{comm.context} << 32 | (number & 0xffffffffu), part);
}

void RankReplay::begin_collective() {
  Communicator& comm = communicator(call_.comm);
  CollectiveCall c = collective_call(stream_, call_, comm);
  c.places = &places_;
  std::unique_ptr<Schedule> schedule = activities_.empty_schedule();
  plan_collective(call_.code, c, collectives_, rules_, *schedule);
  const std::uint32_t activity = begin_schedule(comm, std::move(schedule), comm.members);
  if (call_.code < EXANET_TRACE_Ibarrier)
    wait_for(activity);
  else
    keep(call_.request, activity);
}

// In ranks of MPI_COMM_WORLD, since two communicators have a part in it.
void RankReplay::begin_creation() {
  const bool known = communicators_.add(rank_, call_);
  if (!known) stream_.fail("a communicator of which this rank is no member: the stream is damaged");
  const bool intra = (call_.flags & EXANET_TRACE_INTER) == 0 && call_.code != EXANET_TRACE_Intercomm_merge;
  if (call_.code == EXANET_TRACE_COMMUNICATOR || !intra) return;
  Communicator* made = call_.made == 0 ? nullptr : &communicator(call_.made);
  const bool by_members = call_.code == EXANET_TRACE_Comm_create_group;
  if (by_members && made == nullptr) return;
  Communicator& parent = by_members ? *made : communicator(call_.comm);
  if (parent.inter) return;
  Schedule agreement, announcement;
  rules_.agree(call_.code, (call_.flags & EXANET_TRACE_REORDERED) != 0, call_on(parent), agreement);
  std::unique_ptr<Schedule> whole = activities_.empty_schedule();
  whole->append(agreement, [&parent](std::uint32_t rank) { return parent.world(rank); });
  if (made != nullptr) {
    rules_.announce(call_on(*made), announcement);
    whole->append(announcement, [made](std::uint32_t rank) { return made->world(rank); });
  }
  wait_for(begin_schedule(parent, std::move(whole), nullptr));
}

std::string RankReplay::where() const {
  std::string text = "rank " + std::to_string(rank_) + " in call " + std::to_string(stream_.records()) + ", MPI_" +
                     trace_call_name(call_.code);
  const TraceMessage& m = call_.form == EXANET_TRACE_EXCHANGE ? call_.received : call_.message;
  if (call_.form == EXANET_TRACE_MESSAGE || call_.form == EXANET_TRACE_EXCHANGE || call_.form == EXANET_TRACE_PROBE) {
    text += is_send(call_.code) ? " to " : " from ";
    text += m.peer == kAnyPeer ? "any rank" : "rank " + std::to_string(m.peer);
    if (!m.any_tag) text += " with tag " + std::to_string(m.tag);
  }
  return text;
}

}  // namespace exanet
