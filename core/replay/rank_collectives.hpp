// SPDX-License-Identifier: Apache-2.0
// One rank of a synthetic job that calls a collective of MPI again and again, by an algorithm of its choice
// (core/collectives).
//
// Limits: the collective is of MPI_COMM_WORLD, its root rank 0; a reduction's elements have eight bytes where its
// vector is made of such, else four or one.
#pragma once

#include <cstdint>

#include "core/collectives/network_trees.hpp"
#include "core/replay/rank_job.hpp"

namespace exanet {

class RankCollectives final : public RankJob {
 public:
  // The job's program is the name of a collective. Throws ConfigError where there is none of that name.
  RankCollectives(const ReplayProgram& program, RankId first, RankId rank, Library& library, RankPlaces& places);

  std::uint64_t calls() const override { return step(); }

 private:
  void begin_step() override;
  void end_step() override;

  const ReplayProgram& program_;
  const std::uint8_t code_;  // of the call
  CollectiveCall call_;
  Time began_;
};

}  // namespace exanet
