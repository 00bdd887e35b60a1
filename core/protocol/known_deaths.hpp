// SPDX-License-Identifier: Apache-2.0
// Which ranks know of which dead ones.
#pragma once

#include <cstddef>
#include <vector>

#include "core/protocol/host.hpp"

namespace exanet {

class KnownDeaths {
 public:
  explicit KnownDeaths(std::size_t ranks) : by_(ranks) {}

  void learn(RankId dead, RankId by) {
    if (by_[dead].empty()) by_[dead].resize(by_.size());
    by_[dead][by] = true;
  }
  bool knows(RankId by, RankId dead) const { return dead < by_.size() && !by_[dead].empty() && by_[dead][by]; }

 private:
  std::vector<std::vector<bool>> by_;  // [dead][rank]; empty: nobody knows
};

}  // namespace exanet
