// SPDX-License-Identifier: Apache-2.0
// One recorded rank: it makes the calls of its stream, each after the computing before it.
//
// Problem: a call returns when what it waits for is complete on the simulated machine, not where it was recorded.
// Model: a call begins activities, and ends when those that it waits for are done; tests that found nothing take a step
// of time, and wait where they had found something. What the library computed inside a call is spread over its stages.
// Limits: one call at a time, as a rank has one thread; requests are found by the numbers that the recorder gave.
#include "core/replay/rank_replay.hpp"

#include <algorithm>

#include "core/replay/collective_codes.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kCallsAtOnce = 256;  // then the rank sleeps until the others have come to its clock

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
Creation creation_of(const TraceRecord& call) {
  switch (call.code) {
    case EXANET_TRACE_Comm_create_group: return Creation::by_group;
    case EXANET_TRACE_Comm_split_type: return Creation::by_type;
    case EXANET_TRACE_Comm_split:
    case EXANET_TRACE_Cart_sub: return Creation::by_colour;
    default: return (call.flags & EXANET_TRACE_REORDERED) != 0 ? Creation::by_colour : Creation::alike;
  }
}
bool asks(std::uint8_t code) { return code >= EXANET_TRACE_Test && code <= EXANET_TRACE_Request_get_status; }

}  // namespace

RankReplay::RankReplay(const ReplayProgram& program, const NiConfig& interface, RankId first, RankId rank,
                       Library& library, Communicators& communicators, ActiveMessages& words, RankPlaces& places)
    : program_(program),
      rules_(selection_rules(program.rules)),
      compute_factor_(program.compute_factor * (program.rank_factors.empty() ? 1 : program.rank_factors[rank])),
      test_step_(Time::ps(std::max<std::int64_t>(interface.test_step.ps(), 1))),
      rank_(rank),
      first_(first),
      id_(first + rank),
      library_(library),
      communicators_(communicators),
      places_(places),
      stream_(program.streams[rank]),
      activities_(library, id_, first),
      windows_(activities_, words, rank),
      graph_(activities_, library, id_) {
  statistics_.calls.resize(256);
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
    if (in_graph_) {
      if (const std::optional<Time> until = graph_.run()) return *until;
      in_graph_ = false;
    }
    if (finished_) return Time::never();
    if (++posted_ > kCallsAtOnce) {
      posted_ = 0;
      return library_.clock(id_);
    }
    next_call();
    if (call_.form == EXANET_TRACE_OPERATION)
      read_graph();
    else
      begin();
  }
}

void RankReplay::next_call() {
  if (std::exchange(read_ahead_, false)) return;
  if (!stream_.next(call_)) stream_.fail("the stream ends before the program does: its recording was cut short");
}

// All operations up to the next call.
void RankReplay::read_graph() {
  const std::uint32_t context = communicator(EXANET_TRACE_WORLD).context;
  for (; call_.form == EXANET_TRACE_OPERATION; next_call()) {
    const Time computes = scaled(call_.compute);
    statistics_.compute += computes;
    if (const std::string wrong = graph_.add(call_, computes, context); !wrong.empty())
      stream_.fail(wrong + ": the stream is damaged");
    ++statistics_.calls[call_.code].calls;
  }
  read_ahead_ = in_graph_ = true;
}

Time RankReplay::scaled(Time recorded) const {
  // Half of the times that there are: what a rank waits for others' computing has space beside its own.
  constexpr double kMostPs = 0x1p62;
  const double ps = static_cast<double>(recorded.ps()) * compute_factor_;
  if (ps + static_cast<double>(statistics_.compute.ps()) >= kMostPs)
    stream_.fail(
        "it has computed for more than 53 days by then, and virtual time ends: shorten it, or use a smaller --compute");
  if (compute_factor_ == 1) return recorded;
  return Time::ps(static_cast<std::int64_t>(ps));
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
  statistics_.compute += computed + inside_left_;
  library_.clock(id_) += computed;
  began_ = library_.clock(id_);
  const bool staged = call_.form == EXANET_TRACE_COLLECTIVE || call_.form == EXANET_TRACE_CREATE ||
                      call_.form == EXANET_TRACE_NEIGHBOURS || call_.form == EXANET_TRACE_WINDOW;
  if (!staged) charge_inside(2);
  in_call_ = true;
  switch (call_.form) {
    case EXANET_TRACE_MESSAGE: return begin_message();
    case EXANET_TRACE_EXCHANGE: return begin_exchange();
    case EXANET_TRACE_REQUESTS: return begin_requests();
    case EXANET_TRACE_PROBE: return begin_probe();
    case EXANET_TRACE_COLLECTIVE: return begin_collective();
    case EXANET_TRACE_CREATE: return begin_creation();
    case EXANET_TRACE_NEIGHBOURS: return begin_neighbours();
    case EXANET_TRACE_WINDOW: return begin_window();
    case EXANET_TRACE_ACCESS: return begin_access();
    case EXANET_TRACE_SYNCHRONISE: return begin_synchronisation();
    case EXANET_TRACE_NAME:
      if (names_file_call(call_)) return;
      stream_.fail("the program calls " + call_.name + ", which is not recorded and cannot be replayed");
    default: return;
  }
}

// The program that was recorded has gone on, with an error of its call.
void RankReplay::note_truncated(std::uint32_t activity) {
  const Activities::Received& received = activities_.received(activity);
  if (!received.truncated || statistics_.truncated++ > 0) return;
  statistics_.first_truncated = where() + ": a message of " + std::to_string(received.bytes) + " B of rank " +
                                std::to_string(received.from - first_) + " comes to a receive of " +
                                std::to_string(received.space) + " B";
}

void RankReplay::end() {
  for (const std::uint32_t activity : waited_) {
    note_truncated(activity);
    activities_.release(activity);
  }
  waited_.clear();
  charge_inside(1);
  until_ = Time::never();
  in_call_ = false;
  ReplayedCall& call = statistics_.calls[call_.code];
  ++call.calls;
  call.time += library_.clock(id_) - began_;
  if (keeps_times_) statistics_.times.push_back({call_.code, began_, library_.clock(id_)});
  if (call_.form != EXANET_TRACE_ENDING) {
    statistics_.last_call = library_.clock(id_);
    return;
  }
  finished_ = true;
  statistics_.clock = library_.clock(id_);
  statistics_.library = library_.library_time(id_);
  library_.end(id_);
}

bool RankReplay::satisfied() {
  if (probing_) return probe_answered();
  if (until_ < Time::never()) {
    if (library_.clock(id_) < until_) return false;
    activities_.progress();
    return true;
  }
  const bool all = std::all_of(waited_.begin(), waited_.end(),
                               [this](std::uint32_t activity) { return activities_.done(activity); });
  return all && (!synchronising_ && call_.form != EXANET_TRACE_SYNCHRONISE ? true : synchronised());
}

// A test of what has not completed, or that takes so long.
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
  if (!sends) {
    Library::Space space;
    if (m.bytes > 0) space.bytes = m.bytes;  // else it is not known
    return activities_.receive(m.peer == kAnyPeer ? kAnyRank : m.peer, tag, m.any_tag ? 0xffffffffu : 0, space);
  }
  if (m.peer == kAnyPeer) stream_.fail("a message is sent to MPI_ANY_SOURCE: the stream is damaged");
  const std::uint32_t activity = activities_.send(m.peer, tag, m.bytes, is_synchronous(call.code));
  if (!is_buffered(call.code)) return activity;
  activities_.release(activity);
  return activities_.nothing();
}

void RankReplay::begin_message() {
  if (is_init(call_.code)) {
    if (call_.request == 0) stream_.fail("a persistent request has no number: the stream is damaged");
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

// Also one that found nothing asks the interface, since what the rank takes from it meanwhile has its cost.
void RankReplay::begin_probe() {
  const TraceMessage& m = call_.message;
  if (m.peer == rank_ || m.peer == kNoPeer) {  // one to itself has been sent before
    if (!call_.found) pass(test_step_);
    return;
  }
  probing_ = true;
  library_.probe(id_, m.peer == kAnyPeer ? kAnyRank : first_ + m.peer,
                 std::uint64_t{communicator(call_.comm).context} << 32 | m.tag, m.any_tag ? 0xffffffffu : 0, kProbe);
}

// Asks again as long as there is no message where there was one.
bool RankReplay::probe_answered() {
  const Arrival::Kind answer = activities_.take_answer().kind;
  if (answer == Arrival::Kind::missed && call_.found) begin_probe();
  probing_ = answer != Arrival::Kind::probed && (call_.found || answer != Arrival::Kind::missed);
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
  plan_collective(collective_operation(call_.code), c, program_.collectives, rules_, *schedule);
  const std::uint32_t activity = begin_schedule(comm, std::move(schedule), comm.members);
  if (call_.code < EXANET_TRACE_Ibarrier)
    wait_for(activity);
  else
    keep(call_.request, activity);
}

// In ranks of MPI_COMM_WORLD, since two communicators have a part in it.
void RankReplay::begin_creation() {
  const bool known = communicators_.add(rank_, call_);
  if (!known) stream_.fail("this rank is not in the communicator: the stream is damaged");
  const bool intra = (call_.flags & EXANET_TRACE_INTER) == 0 && call_.code != EXANET_TRACE_Intercomm_merge;
  if (call_.code == EXANET_TRACE_COMMUNICATOR || !intra) return;
  Communicator* made = call_.made == 0 ? nullptr : &communicator(call_.made);
  const bool by_members = call_.code == EXANET_TRACE_Comm_create_group;
  if (by_members && made == nullptr) return;
  Communicator& parent = by_members ? *made : communicator(call_.comm);
  if (parent.inter) return;
  Schedule agreement, announcement;
  rules_.agree(creation_of(call_), call_on(parent), agreement);
  std::unique_ptr<Schedule> whole = activities_.empty_schedule();
  whole->append(agreement, [&parent](std::uint32_t rank) { return parent.world(rank); });
  if (made != nullptr) {
    rules_.announce(call_on(*made), announcement);
    whole->append(announcement, [made](std::uint32_t rank) { return made->world(rank); });
  }
  wait_for(begin_schedule(parent, std::move(whole), nullptr));
}

// All at once, and nothing is passed on.
void RankReplay::begin_neighbours() {
  Communicator& comm = communicator(call_.comm);
  if (comm.inter) stream_.fail("a collective among neighbours on an intercommunicator: the stream is damaged");
  std::unique_ptr<Schedule> schedule = activities_.empty_schedule();
  const auto at = [this](std::uint32_t peer) {
    if (peer == kAnyPeer) stream_.fail("a neighbour is MPI_ANY_SOURCE: the stream is damaged");
    return peer != kNoPeer && peer != rank_;
  };
  for (const std::uint32_t source : call_.sources)
    if (at(source)) schedule->receive(source);
  for (std::size_t i = 0; i < call_.destinations.size(); ++i)
    if (at(call_.destinations[i])) schedule->send(call_.destinations[i], call_.second[i]);
  schedule->stage();
  const std::uint32_t activity = begin_schedule(comm, std::move(schedule), nullptr);
  if (waits_for_neighbours(call_.code))
    wait_for(activity);
  else
    keep(call_.request, activity);
}

void RankReplay::plan(Collective collective, std::uint32_t comm, std::uint64_t bytes, Schedule& out) {
  CollectiveCall c = call_on(communicator(comm));
  c.bytes = bytes;
  plan_collective({collective}, c, {}, rules_, out);
}

// Seen in runs of MPICH: a communicator of the window's own, whether all have memory, and where it is.
void RankReplay::begin_window() {
  Communicator& comm = communicator(call_.comm);
  if (call_.window == 0) stream_.fail("a window has no number: the stream is damaged");
  if (comm.inter) stream_.fail("a window on an intercommunicator: the stream is damaged");
  if (!rules_.has_windows)
    stream_.fail(std::string("MPI_") + trace_call_name(call_.code) +
                 ": one-sided calls are replayed as MPICH makes them, by --rules mpich");
  std::vector<RankId> members;
  members.reserve(comm.ranks);
  for (std::uint32_t member = 0; member < comm.ranks; ++member) members.push_back(comm.world(member));
  windows_.add(call_.window, std::uint64_t{comm.context} << 32 | comm.windows++, call_.comm, std::move(members));
  Schedule stages;
  if (comm.ranks > 1 && call_.code != EXANET_TRACE_WINDOW_MADE) {
    rules_.agree(Creation::alike, call_on(comm), stages);
    rules_.announce(call_on(comm), stages);
    plan(Collective::allreduce, call_.comm, 1, stages);
    plan(Collective::allreduce, call_.comm, 4, stages);
    plan(Collective::allgather, call_.comm, 24, stages);
    plan(Collective::barrier, call_.comm, 0, stages);
  }
  std::unique_ptr<Schedule> whole = activities_.empty_schedule();
  whole->append(stages, [](std::uint32_t rank) { return rank; });
  wait_for(begin_schedule(comm, std::move(whole), comm.members));
}

void RankReplay::check_window() {
  if (!windows_.has(call_.window))
    stream_.fail("window " + std::to_string(call_.window) + " has not been made: the stream is damaged");
}

void RankReplay::begin_access() {
  check_window();
  if (call_.message.peer == kNoPeer || call_.message.peer == kAnyPeer)
    stream_.fail("a one-sided access names no rank: the stream is damaged");
  windows_.before_access(call_, waited_);
  synchronising_ = true;
}

void RankReplay::begin_synchronisation() {
  check_window();
  if (call_.message.peer == kAnyPeer) stream_.fail("a lock or flush names MPI_ANY_SOURCE: the stream is damaged");
  if ((call_.flags & EXANET_TRACE_EMPTY) != 0) return pass(test_step_);
  windows_.finish(call_, waited_);
  synchronising_ = true;
}

// What was under way is complete: it goes on, or it is over.
bool RankReplay::synchronised() {
  if (!synchronising_) return windows_.heard(call_);
  synchronising_ = false;
  if (call_.form == EXANET_TRACE_ACCESS) {
    const std::uint32_t activity = windows_.access(call_);
    if (call_.code >= EXANET_TRACE_Rput)
      keep(call_.request, activity);
    else
      activities_.release(activity);
    return true;
  }
  windows_.ask(call_, waited_);
  if (call_.code == EXANET_TRACE_Win_fence || call_.code == EXANET_TRACE_Win_free) {
    const std::uint32_t comm = windows_.communicator_of(call_.window);
    std::unique_ptr<Schedule> barrier = activities_.empty_schedule();
    if (communicator(comm).ranks > 1) plan(Collective::barrier, comm, 0, *barrier);
    wait_for(begin_schedule(communicator(comm), std::move(barrier), communicator(comm).members));
    if (call_.code == EXANET_TRACE_Win_free) windows_.remove(call_.window);
  }
  return satisfied();
}

std::string RankReplay::where() const {
  if (in_graph_) return "rank " + std::to_string(rank_) + " in " + graph_.where();
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
