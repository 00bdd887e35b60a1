// SPDX-License-Identifier: Apache-2.0
// Windows of one rank of a replay: accesses that are under way, and the locks and exposures that others ask for.
//
// Model: what MPICH sends over our provider, as `exanet run` shows it. Puts and gets of one piece of memory are the
// interface's. All else is active messages, which the target's processor answers when it is in MPI: accumulates,
// atomics, and what is in several pieces; locks and unlocks; and a word from each end of an exposure, which is not
// answered.
//
// What is too long for an active message is fetched from the sender. Of memory in several pieces at the target its
// description goes first.
//
// Limit: each description is as long as that of a vector (MPI_Type_vector of a type of MPI's own).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/stream.hpp"

namespace exanet {

// What active messages say, for all ranks of a program: a message carries the number of its words.
class ActiveMessages {
 public:
  enum class Kind : std::uint8_t { access, description, ready, lock, exclusive_lock, unlock, answer, post, complete };
  struct Words {
    Kind kind = Kind::answer;
    std::uint64_t window = 0;  // as all its members call it
    std::uint32_t activity = 0;  // of who asks
    std::uint64_t answer_bytes = 0;  // that come back, behind a header
    std::uint64_t data_bytes = 0;  // that follow when the target is ready
    std::uint64_t fetch_bytes = 0;  // that the receiver fetches
    std::uint32_t fetched = 0;  // who sends waits for that: its activity
    bool was_fetched = false;
    std::uint32_t contents = 0;  // that move with it
  };
  std::uint64_t put(const Words& words);
  Words take(std::uint64_t number);
  // Ends of exposures that are said, and that their target has taken: how many it has not.
  std::uint32_t& completes(std::uint64_t window, RankId from, RankId to) { return completes_[{window, from, to}]; }

 private:
  std::vector<Words> all_;
  std::vector<std::uint64_t> free_;
  std::map<std::tuple<std::uint64_t, RankId, RankId>, std::uint32_t> completes_;
};

// What moves with the accesses of live programs, by numbers from 1 on; a replay's have no contents.
class AccessContents {
 public:
  virtual ~AccessContents() = default;
  virtual void reached(std::uint32_t contents) = 0;  // the target, where the access is carried out
  virtual void returned(std::uint32_t contents) = 0;  // to its origin, with what comes back
};

class RankWindows {
 public:
  RankWindows(Activities& activities, ActiveMessages& words, RankId rank, AccessContents* contents = nullptr)
      : activities_(activities), words_(words), contents_(contents), rank_(rank) {}

  // `number`: of the rank's own, from 1 on; `window`: as all members call it; `members`: world ranks.
  void add(std::uint32_t number, std::uint64_t window, std::uint32_t comm, std::vector<RankId> members);
  bool has(std::uint32_t number) const { return windows_.contains(number); }
  std::uint32_t communicator_of(std::uint32_t number) const { return windows_.at(number).comm; }
  void remove(std::uint32_t number);

  // What an access waits for before it begins: active messages come behind all transfers. For the caller to release.
  void before_access(const TraceRecord& call, std::vector<std::uint32_t>& waited);
  // Begins an access. The activity is the window's; the caller may share it. Contents of a transfer by the interface
  // lie at addresses of both ranks; those of any other access have a number.
  struct Contents {
    std::uint32_t number = 0;
    std::uint64_t origin = 0, target = 0;
  };
  static bool is_transfer(const TraceRecord& call);
  std::uint32_t access(const TraceRecord& call, const Contents& contents);
  std::uint32_t access(const TraceRecord& call) { return access(call, Contents{}); }
  // What a call waits for at first: accesses under way, for the caller to release.
  void finish(const TraceRecord& call, std::vector<std::uint32_t>& waited);
  // What it asks of others then.
  void ask(const TraceRecord& call, std::vector<std::uint32_t>& waited);
  // Whether it has heard of the others what it waits for.
  bool heard(const TraceRecord& call);
  // Whether it will, of the end of an exposure, without any call more.
  bool will_hear(const TraceRecord& call) const;

 private:
  struct Access {
    RankId peer;
    std::uint32_t activity;
    bool is_transfer;  // by the interface
  };
  struct Window {
    std::uint64_t window = 0;
    std::uint32_t comm = 0;
    std::vector<RankId> members;
    std::vector<Access> accesses;
    std::size_t look_at = 64;  // so many accesses: those that are over are taken out
    std::vector<std::uint64_t> started, exposed;  // to whom, from whom
  };
  // What others ask of this rank, which may come before it has a window's number.
  struct Target {
    std::uint32_t holders = 0;
    bool is_exclusive = false;
    std::deque<std::pair<RankId, ActiveMessages::Words>> waiting;
    std::map<RankId, std::uint32_t> posts, completes;  // that have come and are not taken
  };

  std::uint32_t ask(ActiveMessages::Kind kind, const Window& window, RankId to);
  std::uint32_t ask_own(ActiveMessages::Kind kind, const Window& window);
  void send(RankId to, std::uint64_t header, std::uint64_t data, const ActiveMessages::Words& words);
  void post(std::uint32_t activity, RankId to, std::uint64_t header, std::uint64_t data, ActiveMessages::Words words,
            std::uint32_t answers);
  void arrived(RankId from, std::uint64_t number);
  void grant(Target& target);
  bool take_all(std::map<RankId, std::uint32_t>& come, const std::vector<std::uint64_t>& wanted);

  Activities& activities_;
  ActiveMessages& words_;
  AccessContents* const contents_;
  const RankId rank_;
  bool listening_ = false;
  std::map<std::uint32_t, Window> windows_;  // by the rank's own numbers
  std::map<std::uint64_t, Target> targets_;
};

}  // namespace exanet
