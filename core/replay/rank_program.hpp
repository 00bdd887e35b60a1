// SPDX-License-Identifier: Apache-2.0
// Contract of one rank of a replay: of a recorded program (rank_replay.hpp), or of a synthetic job (rank_job.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "core/replay/replay.hpp"

namespace exanet {

class RankProgram {
 public:
  virtual ~RankProgram() = default;
  virtual Time resume() = 0;  // as LibraryUser::resume()
  virtual bool finished() const = 0;
  // It goes on when something comes, and not by itself: a rank that probes again and again does not.
  virtual bool waits() const = 0;
  // Where the rank stands, for whoever asks why it does not go on.
  virtual std::string where() const = 0;
  virtual double share_done() const = 0;
  virtual std::uint64_t calls() const = 0;  // of MPI, replayed so far
  virtual const ReplayedRank& statistics() const = 0;
};

}  // namespace exanet
