// SPDX-License-Identifier: Apache-2.0
#include "core/replay/rank_job.hpp"

#include <algorithm>

namespace exanet {

namespace {
constexpr int kStepsAtOnce = 256;  // then the rank sleeps until the others have come to its clock
}

RankJob::RankJob(std::uint64_t steps, RankId first, RankId rank, Library& library)
    : rank_(rank), activities_(library, first + rank, first), steps_(steps), id_(first + rank), library_(library) {
  statistics_.calls.resize(256);
}

void RankJob::compute(Time gap) {
  statistics_.compute += gap;
  library_.clock(id_) += gap;
}

Time RankJob::resume() {
  for (int begun = 0; !finished_;) {
    if (in_step_) {
      while (!std::all_of(waited_.begin(), waited_.end(), [this](std::uint32_t a) { return activities_.done(a); })) {
        if (!activities_.progress()) return Time::never();
      }
      for (const std::uint32_t activity : waited_) activities_.release(activity);
      waited_.clear();
      end_step();
      in_step_ = false;
      ++step_;
    }
    if (step_ == steps_) {
      finished_ = true;
      statistics_.clock = statistics_.last_call = library_.clock(id_);
      statistics_.library = library_.library_time(id_);
      library_.end(id_);
    } else if (++begun > kStepsAtOnce) {
      return library_.clock(id_);
    } else {
      begin_step();
      in_step_ = true;
    }
  }
  return Time::never();
}

std::string RankJob::where() const {
  return "rank " + std::to_string(rank_) + " in step " + std::to_string(step_ + 1) + " of " + std::to_string(steps_);
}

double RankJob::share_done() const { return static_cast<double>(step_) / static_cast<double>(steps_); }

// A step's number is the tag of its messages; whoever sends one, the receive takes it.
void RankPattern::begin_step() {
  const std::uint64_t round = step() / program_.steps();
  const auto of_round = static_cast<std::uint32_t>(step() % program_.steps());
  compute(program_.compute_gap(rank_, round, of_round));
  for (std::uint32_t i = program_.receives(rank_, round, of_round); i > 0; --i)
    waited_.push_back(activities_.receive(kAnyRank, step(), 0));
  sending_.clear();
  program_.sends(rank_, round, of_round, sending_);
  for (const Sending& s : sending_) waited_.push_back(activities_.send(s.to, step(), s.bytes, false));
}

}  // namespace exanet
