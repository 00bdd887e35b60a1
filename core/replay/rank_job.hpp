// SPDX-License-Identifier: Apache-2.0
// One rank of a synthetic job beside recorded programs: it goes through the job's steps over the message library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/rank_program.hpp"
#include "core/workload/program.hpp"

namespace exanet {

class RankJob : public RankProgram {
 public:
  RankJob(std::uint64_t steps, RankId first, RankId rank, Library& library);

  Time resume() final;
  bool finished() const final { return finished_; }
  bool waits() const final { return in_step_; }
  std::string where() const final;
  double share_done() const final;
  std::uint64_t calls() const override { return 0; }
  const ReplayedRank& statistics() const final { return statistics_; }

 protected:
  // Begins step(): computes, and adds to waited_ what the step waits for.
  virtual void begin_step() = 0;
  virtual void end_step() {}

  std::uint64_t step() const { return step_; }
  Time clock() const { return library_.clock(id_); }
  void compute(Time gap);

  const RankId rank_;  // in the job
  Activities activities_;
  std::vector<std::uint32_t> waited_;  // activities
  ReplayedRank statistics_;

 private:
  const std::uint64_t steps_;  // of all rounds
  const RankId id_;  // among all programs
  Library& library_;
  std::uint64_t step_ = 0;
  bool in_step_ = false, finished_ = false;
};

// Of a program of core/workload, as library_transport.cpp carries it where jobs are alone.
class RankPattern final : public RankJob {
 public:
  RankPattern(const Program& program, std::uint64_t rounds, RankId first, RankId rank, Library& library)
      : RankJob(rounds * program.steps(), first, rank, library), program_(program) {}

 private:
  void begin_step() override;

  const Program& program_;
  std::vector<Sending> sending_;
};

}  // namespace exanet
