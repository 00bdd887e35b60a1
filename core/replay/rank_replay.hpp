// SPDX-License-Identifier: Apache-2.0
// One rank of a replay: its stream, its requests, and the call that it is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/communicators.hpp"
#include "core/replay/replay.hpp"

namespace exanet {

class RankReplay {
 public:
  RankReplay(const ReplayConfig& config, const NiConfig& interface, RankId rank, Library& library,
             Communicators& communicators);

  // As LibraryUser::resume().
  Time resume();
  bool finished() const { return finished_; }
  // Where the rank stands, for whoever asks why it does not go on.
  std::string where() const;
  const TraceStream& stream() const { return stream_; }
  const ReplayedRank& figures() const { return figures_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Request {
    std::uint32_t activity = kNone;
    bool in_use = false, persistent = false;
    TraceRecord start;  // of a persistent one
  };

  // Each begins the present call.
  void begin();
  void begin_message();
  void begin_exchange();
  void begin_requests();
  void begin_probe();
  void begin_collective();
  void begin_creation();
  void end();

  bool satisfied();
  bool probe_answered();
  void wait_for(std::uint32_t activity) { waited_.push_back(activity); }
  void pass(Time step);
  std::uint32_t activity_of(const TraceRecord& call, const TraceMessage& message, bool sends);
  Communicator& communicator(std::uint32_t number);
  Request& request(std::uint64_t number);
  void keep(std::uint32_t number, std::uint32_t activity);
  std::uint32_t begin_schedule(Communicator& comm, std::unique_ptr<Schedule> schedule,
                               const std::vector<std::uint64_t>* names);
  CollectiveCall collective_of(const Communicator& comm) const;
  Time scaled(Time recorded) const;
  void charge_inside(std::uint32_t parts);

  const ReplayConfig& config_;
  const Time test_step_;
  const RankId rank_;
  Library& library_;
  Communicators& communicators_;
  TraceStream stream_;
  TraceRecord call_;
  Activities activities_;
  std::vector<Request> requests_;  // by number
  std::vector<std::uint32_t> waited_;  // activities that the call waits for
  bool in_call_ = false, finished_ = false, probing_ = false;
  Time inside_left_;  // what the MPI library computes in the present call, as far as it is not charged
  Time began_, until_ = Time::never();  // until_: of a call that takes so long
  std::uint32_t posted_ = 0;  // calls since the rank last slept
  ReplayedRank figures_;
};

}  // namespace exanet
