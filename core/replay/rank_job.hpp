// SPDX-License-Identifier: Apache-2.0
// One rank of a synthetic job beside recorded programs: it goes through the job's steps over the message library, as core/workload's library_carrier.cpp
// does where jobs are alone.
#pragma once

#include <memory>
#include <vector>

#include "core/replay/activities.hpp"
#include "core/replay/rank_program.hpp"
#include "core/workload/program.hpp"

namespace exanet {

class RankJob final : public RankProgram {
 public:
  RankJob(const Program& program, std::uint64_t rounds, RankId first, RankId rank, Library& library);

  Time resume() override;
  bool finished() const override { return finished_; }
  bool waits() const override { return in_step_; }
  std::string where() const override;
  double share_done() const override;
  std::uint64_t calls() const override { return 0; }
  const ReplayedRank& figures() const override { return figures_; }

 private:
  void begin_step();

  const Program& program_;
  const std::uint64_t steps_;  // of all rounds
  const RankId rank_, id_;  // in the job, and among all programs
  Library& library_;
  Activities activities_;
  std::uint64_t step_ = 0;
  bool in_step_ = false, finished_ = false;
  std::vector<std::uint32_t> waited_;
  std::vector<Sending> sending_;
  ReplayedRank figures_;
};

}  // namespace exanet
