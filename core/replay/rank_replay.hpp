// SPDX-License-Identifier: Apache-2.0
// One rank of a replay: its stream, its requests, and the call that it is in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/communicators.hpp"
#include "core/replay/rank_graph.hpp"
#include "core/replay/rank_program.hpp"
#include "core/replay/replay.hpp"
#include "core/replay/windows.hpp"

namespace exanet {

class RankReplay final : public RankProgram {
 public:
  // `rank` is the program's, whose rank 0 is `first` among those of all programs.
  RankReplay(const ReplayProgram& program, const NiConfig& interface, RankId first, RankId rank, Library& library,
             Communicators& communicators, ActiveMessages& words, RankPlaces& places);

  Time resume() override;
  bool finished() const override { return finished_; }
  bool waits() const override {
    if (in_graph_) return graph_.waits();
    return in_call_ && until_ == Time::never() &&
           (!probing_ || call_.found);  // the answer to a probe that found nothing comes
  }
  std::string where() const override;
  double share_done() const override { return in_graph_ ? graph_.share_done() : stream_.share_read(); }
  std::uint64_t calls() const override { return stream_.records(); }
  const ReplayedRank& statistics() const override { return statistics_; }
  const TraceStream& stream() const { return stream_; }
  void keep_times() { keeps_times_ = true; }  // of all calls, in statistics()

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Request {
    std::uint32_t activity = kNone;
    bool in_use = false, persistent = false;
    std::unique_ptr<TraceRecord> start;  // of a persistent one
  };

  // Each begins the present call.
  void begin();
  void begin_message();
  void begin_exchange();
  void begin_requests();
  void begin_probe();
  void begin_collective();
  void begin_creation();
  void begin_neighbours();
  void begin_window();
  void begin_access();
  void begin_synchronisation();
  void end();
  void next_call();
  void read_graph();

  bool satisfied();
  bool synchronised();
  void check_window();
  void plan(Collective collective, std::uint32_t comm, std::uint64_t bytes, Schedule& out);
  bool probe_answered();
  void wait_for(std::uint32_t activity) { waited_.push_back(activity); }
  void note_truncated(std::uint32_t activity);
  void pass(Time step);
  std::uint32_t activity_of(const TraceRecord& call, const TraceMessage& message, bool sends);
  Communicator& communicator(std::uint32_t number);
  Request& request(std::uint64_t number);
  void keep(std::uint32_t number, std::uint32_t activity);
  std::uint32_t begin_schedule(Communicator& comm, std::unique_ptr<Schedule> schedule,
                               const std::vector<std::uint64_t>* names);
  Time scaled(Time recorded) const;
  void charge_inside(std::uint32_t parts);

  const ReplayProgram& program_;
  const SelectionRules& rules_;
  const double compute_factor_;
  const Time test_step_;
  const RankId rank_, first_, id_;  // id_: among all programs
  Library& library_;
  Communicators& communicators_;
  RankPlaces& places_;
  TraceStream stream_;
  TraceRecord call_;
  bool read_ahead_ = false;  // call_ has been read, and not begun
  Activities activities_;
  std::vector<Request> requests_;  // by number
  std::vector<std::uint32_t> waited_;  // activities that the call waits for
  RankWindows windows_;
  RankGraph graph_;
  bool in_graph_ = false;
  bool synchronising_ = false;  // what was under way is not complete yet, and then it goes on
  bool in_call_ = false, finished_ = false, probing_ = false, keeps_times_ = false;
  Time inside_left_;  // what the MPI library computes in the present call, as far as it is not charged
  Time began_, until_ = Time::never();  // until_: of a call that takes so long
  std::uint32_t posted_ = 0;  // calls since the rank last slept
  ReplayedRank statistics_;
};

}  // namespace exanet
