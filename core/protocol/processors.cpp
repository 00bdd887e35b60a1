// SPDX-License-Identifier: Apache-2.0
#include "core/protocol/processors.hpp"

#include <algorithm>
#include <utility>

namespace exanet {

Processors::Processors(EventQueue& events, std::size_t ranks, const bool& zero_cost, const KnownDeaths& known)
    : events_(events), zero_cost_(zero_cost), known_(known), processors_(ranks) {
  on_progress_ = events_.add_handler([](void* self, Time now, std::uint32_t rank,
                                        std::uint64_t) { static_cast<Processors*>(self)->progress(rank, now); },
                                     this);
}

void Processors::enqueue(RankId rank, ProcessorStep& step, std::uint32_t operation, Time at) {
  Processor& p = processors_[rank];
  if (p.dead && known_.knows(step.waiter(operation), rank)) return step.abandoned(operation);
  p.pending.push_back(Work{&step, operation, at});
  if (zero_cost_)
    events_.schedule(events_.now(), on_progress_, rank);
  else if (p.polling)
    events_.schedule(max(max(events_.now(), at), p.clock), on_progress_, rank);
}

void Processors::asleep(RankId rank, Time clock) {
  Processor& p = processors_[rank];
  p.polling = true;
  p.clock = clock;
  for (const Work& work : p.pending) events_.schedule(max(max(events_.now(), work.time), clock), on_progress_, rank);
}

void Processors::progress(RankId rank, Time now) {
  Processor& p = processors_[rank];
  if (p.dead || (!p.polling && !zero_cost_)) return;
  const Time until = max(now, p.clock);
  const auto later = std::stable_partition(p.pending.begin(), p.pending.end(),
                                           [&](const Work& w) { return zero_cost_ || w.time <= until; });
  const std::vector<Work> due(p.pending.begin(), later);
  p.pending.erase(p.pending.begin(), later);
  for (const Work& work : due) run(p, work);
}

void Processors::abandon(RankId rank) {
  Processor& p = processors_[rank];
  p.dead = true;
  const auto known = std::stable_partition(p.pending.begin(), p.pending.end(), [&](const Work& w) {
    return !known_.knows(w.step->waiter(w.operation), rank);
  });
  const std::vector<Work> over(known, p.pending.end());
  p.pending.erase(known, p.pending.end());
  for (const Work& work : over) work.step->abandoned(work.operation);
}

void Processors::run(Processor& p, const Work& work) {
  if (zero_cost_) {
    work.step->step(work.operation, events_.now());
    return;
  }
  const Time start = max(max(work.time, p.clock), p.busy_until);
  p.busy_until = start + work.step->cost(work.operation);
  work.step->step(work.operation, p.busy_until);
}

}  // namespace exanet
