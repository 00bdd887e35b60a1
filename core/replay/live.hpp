// SPDX-License-Identifier: Apache-2.0
// Carries out the MPI calls of ranks that are live programs: messages, requests and collectives as a replay has them,
// with contents and statuses.
//
// Contract: a rank is outside until enter() brings a call of it; once the call is over LiveHost::returned() gives the
// time, and the rank is outside again. The call's record stays valid until then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/collectives/selection.hpp"
#include "core/replay/activities.hpp"
#include "core/replay/communicators.hpp"
#include "core/replay/library.hpp"
#include "core/replay/live_call.h"

namespace exanet {

class LiveHost {
 public:
  virtual ~LiveHost() = default;
  virtual void returned(RankId rank, Time clock) = 0;
  virtual void refused(RankId rank, const std::string& why) = 0;  // the call cannot be carried out: the run ends
};

// What the members of a communicator bring to one of its collectives.
struct LiveCollective {
  struct Part {
    std::vector<std::byte> data;
    std::vector<std::uint64_t> by_rank;  // bytes for each member, one after the other; empty: all is for everyone
  };
  std::vector<Part> parts;  // by rank
  std::vector<std::byte> shared;
  exanet_live_result result{};  // in `shared`
  std::uint32_t left = 0;  // members that have not taken theirs
  RankId first = 0;  // of the world; who came first, with what all others must bring, too
  std::uint32_t code = 0, root = 0;
  std::uint64_t block_bytes = 0;
};
using LiveCollectives = std::unordered_map<std::uint64_t, LiveCollective>;  // under way, by context and number

class LiveRank {
 public:
  LiveRank(RankId rank, const NiConfig& interface, Library& library, Communicators& communicators, Host& memory,
           LiveCollectives& collectives);

  // Why the call cannot be: "" of one that has begun.
  std::string begin(exanet_live_call& call);
  // Goes on with it: false until it is over.
  bool go_on();
  // The same of one that the rank does not wait for.
  std::string post(exanet_live_call& call);
  Time until() const { return until_; }  // when to go on at the latest
  std::string where() const;  // "" outside

 private:
  struct Request {
    std::uint32_t activity = 0;
    bool in_use = false, receives = false, cancelled = false;
  };

  std::string begin_message();
  std::string begin_requests();
  std::string begin_collective();
  std::uint32_t begin(const exanet_live_message& message, bool sends);
  bool satisfied();
  bool failed(std::uint32_t request) const;
  void end();
  void answer(std::uint32_t activity, bool receives, exanet_live_status& status);
  void answer_requests();
  void answer_collective();
  void drop_collective();

  const RankId rank_;
  const Time test_step_;
  Library& library_;
  Communicators& communicators_;
  Host& memory_;
  LiveCollectives& collectives_;
  Activities activities_;
  std::vector<Request> requests_;  // by number
  exanet_live_call* call_ = nullptr;
  std::vector<std::uint32_t> waited_;  // activities of the call
  LiveCollective* collective_ = nullptr;  // of this call or the one before
  std::uint64_t key_ = 0;  // its
  const char* algorithm_ = "";
  Time until_ = Time::never();
};

class LiveRanks final : private LibraryUser {
 public:
  LiveRanks(const Library::Beside& setup, LiveHost& host);

  void enter(RankId rank, exanet_live_call& call);
  void post(RankId rank, exanet_live_call& first);  // and those behind it
  Time library_time(RankId rank) const { return library_.library_time(rank); }
  void deliver(RankId rank, const Completion& completion, Payload payload) {
    library_.deliver(rank, completion, payload);
  }
  const std::optional<Library::Failure>& failure() const { return library_.failure(); }
  std::string where(RankId rank) const { return ranks_[rank]->where(); }

  // The endpoint of each rank's that is used.
  static constexpr std::uint16_t kEndpoint = 127;

 private:
  Time resume(RankId rank) override;

  LiveHost& host_;
  Library library_;
  Communicators communicators_;
  LiveCollectives collectives_;
  std::vector<std::unique_ptr<LiveRank>> ranks_;
};

}  // namespace exanet
