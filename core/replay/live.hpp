// SPDX-License-Identifier: Apache-2.0
// Carries out the MPI calls of ranks that are live programs: messages, requests and collectives as a replay has them,
// with contents and statuses.
//
// Contract: a rank is outside until enter() brings a call of it; once the call is over LiveHost::returned() gives the
// time, and the rank is outside again. The call's record stays valid until then, that of a collective with a request
// until the request has completed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/communicators.hpp"
#include "core/replay/library.hpp"
#include "core/replay/live_call.h"
#include "core/replay/live_collectives.hpp"
#include "core/replay/live_tolerance.hpp"
#include "core/replay/live_windows.hpp"

namespace exanet {

class LiveHost {
 public:
  virtual ~LiveHost() = default;
  virtual void returned(RankId rank, Time clock) = 0;
  virtual void refused(RankId rank, const std::string& why) = 0;  // the call cannot be carried out: the run ends
  // As of LiveNotices::making; and the rank has its communicator.
  virtual bool making(const std::vector<RankId>& left) = 0;
  virtual void made(RankId rank) = 0;
  virtual void found_nothing() = 0;  // a rank waits in a probe, and has asked many times
};

class LiveRank {
 public:
  LiveRank(RankId rank, const NiConfig& interface, Library& library, Communicators& communicators,
           LiveCollectives& collectives, LiveAccesses& accesses, LiveNotices& notices);

  // Why the call cannot be: "" of one that has begun.
  std::string begin(exanet_live_call& call);
  // Goes on with it: false until it is over.
  bool go_on();
  // The same of one that the rank does not wait for.
  std::string post(exanet_live_call& call);
  // Joins a collective that is posted, and adds to the rank's clock what its start costs.
  std::string prepare(exanet_live_call& call);
  Time until() const { return until_; }  // when to go on at the latest
  std::string where() const;  // "" outside
  bool waits() const;  // for messages alone
  std::uint32_t empty_probes() const { return empty_probes_; }  // of this call
  bool is_outside() const { return call_ == nullptr; }
  bool attends() const { return windows_.any() || tolerance_.listens(); }
  void attend() {  // outside: takes what others ask for
    tolerance_.advance();
    while (activities_.progress()) tolerance_.advance();
  }
  void listen() { tolerance_.listen(); }
  void learn(RankId dead) { tolerance_.learn(dead); }

 private:
  struct Error {
    std::uint32_t kind = EXANET_LIVE_NO_ERROR, failure = 0;  // as of exanet_live_status
    explicit operator bool() const { return kind != EXANET_LIVE_NO_ERROR; }
  };
  struct Request {
    std::uint32_t activity = 0;
    bool in_use = false, receives = false;
    std::optional<JoinedCollective> collective;
    std::optional<std::uint32_t> sends;  // beside the receive that `activity` is
    std::uint32_t comm = 0;
    bool of_any = false, is_collective = false;
    Error error;  // of one that fails; a receive is over once it has been taken back
  };

  struct Planned {
    JoinedCollective joined;
    std::unique_ptr<Schedule> schedule;
    Error error;  // it has not been joined
  };

  std::string plan(Planned& planned);
  std::string begin_message();
  std::string begin_requests();
  std::string begin_collective();
  std::string begin_probe();
  void end_one_sided();
  void ask();
  std::uint32_t begin(const exanet_live_message& message, bool sends);
  std::uint64_t tag_of(const exanet_live_message& message);
  bool is_known(std::uint32_t request) const { return request < requests_.size() && requests_[request].in_use; }
  Request& keep(std::uint32_t number, std::uint32_t activity, bool receives);
  bool satisfied();
  bool stepped(bool over);
  bool probe_answered();
  bool failed(std::uint32_t request) const;
  bool satisfied_requests();
  // live_failures.cpp
  Error note(std::uint32_t kind, RankId peer, const std::string& what);
  Error error_of_failure(std::uint32_t failure);
  Error refusal_of_wait(std::uint32_t peer);
  Error refusal(const Communicator& comm, bool collective);
  Error refusal_of_call();
  void watch(Request& r);
  bool may_fail(const Request& r);
  bool wait_over();
  std::string begin_tolerance();
  bool tolerance_over();
  bool is_over(const Request& r) const {
    if (r.error) return !r.receives || activities_.done(r.activity);
    return activities_.done(r.activity) && (!r.sends || activities_.done(*r.sends));
  }
  void drop(Request& r);
  void end();
  void answer(std::uint32_t activity, bool receives, exanet_live_status& status);
  void answer_requests();
  void answer_collective(const JoinedCollective& joined);

  const RankId rank_;
  const Time test_step_;
  Library& library_;
  Communicators& communicators_;
  LiveCollectives& collectives_;
  Activities activities_;
  LiveWindows windows_;
  LiveTolerance tolerance_;
  std::vector<Request> requests_;  // by number
  exanet_live_call* call_ = nullptr;
  std::vector<std::uint32_t> waited_;  // activities of the call
  std::optional<JoinedCollective> joined_;  // by the call, which waits for it
  Error error_;  // of the call
  bool refused_ = false;  // the call has a request that has failed at once
  std::uint64_t agreement_ = 0;  // of the call
  std::vector<bool> failed_before_;  // of a shrink: as its last round has it
  std::vector<JoinedCollective> answered_;  // in the call before
  std::deque<Planned> planned_;  // collectives that are posted
  std::uint32_t claimed_ = 0;  // activity of a matched probe
  std::uint32_t empty_probes_ = 0;
  Time until_ = Time::never();
};

class LiveRanks final : private LibraryUser {
 public:
  // Throws ConfigError as LiveCollectives.
  LiveRanks(const Library::Beside& setup, LiveHost& host, const LiveAlgorithms& algorithms = {});

  void enter(RankId rank, exanet_live_call& call);
  void die(RankId rank) { library_.die(rank); }  // with its host
  void learn(RankId rank, RankId dead) {
    ranks_[rank]->learn(dead);
    library_.look_again(rank);
  }
  // It sleeps in a call that its own library carries out, from this time on; and goes on there.
  void attend(RankId rank, Time clock) {
    if (ranks_[rank]->attends()) library_.attend(rank, clock);
  }
  void leave(RankId rank) { library_.leave(rank); }
  void post(RankId rank, exanet_live_call& first);  // and those behind it
  Time prepare(RankId rank, exanet_live_call& call);  // what the start of a collective costs, which is posted
  Time clock(RankId rank) const { return library_.clock(rank); }  // in its call
  Time library_time(RankId rank) const { return library_.library_time(rank); }
  void deliver(RankId rank, const Completion& completion, Payload payload) {
    library_.deliver(rank, completion, payload);
  }
  const std::optional<Library::Failure>& failure() const { return library_.failure(); }
  std::string where(RankId rank) const { return ranks_[rank]->where(); }
  // In a call that waits for messages, of which none is under way.
  bool waits_forever(RankId rank) const { return ranks_[rank]->waits() && library_.waits_forever(rank); }

  // The endpoint of each rank's that is used.
  static constexpr std::uint16_t kEndpoint = 127;

 private:
  Time resume(RankId rank) override;
  void listen();

  LiveHost& host_;
  Library library_;
  Communicators communicators_;
  LiveCollectives collectives_;
  LiveAccesses accesses_;
  LiveNotices notices_;
  bool listens_ = false;
  std::vector<std::unique_ptr<LiveRank>> ranks_;
};

}  // namespace exanet
