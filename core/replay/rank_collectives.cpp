// SPDX-License-Identifier: Apache-2.0
#include "core/replay/rank_collectives.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/config/error.hpp"
#include "core/replay/collective_codes.hpp"

namespace exanet {

namespace {

std::uint8_t code_of(const std::string& collective) {
  const auto* found =
      std::find_if(std::begin(kCollectiveCodes), std::end(kCollectiveCodes),
                   [&collective](const CollectiveCode& c) { return collective == collective_name(c.collective); });
  if (found == std::end(kCollectiveCodes))
    throw ConfigError("jobs", "there is no collective \"" + collective + "\" that a job could call");
  return found->code;
}

CollectiveCall call_of(const ReplayProgram& program, std::uint8_t code, RankId rank, RankPlaces& places) {
  CollectiveCall c;
  c.ranks = static_cast<std::uint32_t>(program.placement.size());
  c.me = rank;
  c.places = &places;
  const std::uint64_t bytes = code == EXANET_TRACE_Barrier ? 0 : program.job.program.bytes;
  c.element_bytes = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
  c.bytes = bytes;
  if (code == EXANET_TRACE_Alltoallv || code == EXANET_TRACE_Scatterv) c.sent.assign(c.ranks, bytes);
  if (code == EXANET_TRACE_Alltoallv || code == EXANET_TRACE_Gatherv || code == EXANET_TRACE_Allgatherv ||
      code == EXANET_TRACE_Reduce_scatter)
    c.received.assign(c.ranks, bytes);
  return c;
}

}  // namespace

RankCollectives::RankCollectives(const ReplayProgram& program, RankId first, RankId rank, Library& library,
                                 RankPlaces& places)
    : RankJob(program.job.rounds, first, rank, library),
      program_(program),
      code_(code_of(program.job.program.name)),
      call_(call_of(program, code_, rank, places)) {}

// A call's number is the tag of its messages.
void RankCollectives::begin_step() {
  compute(program_.job.program.compute_gap);
  began_ = clock();
  std::unique_ptr<Schedule> schedule = activities_.empty_schedule();
  plan_collective(collective_operation(code_), call_, program_.collectives, selection_rules(program_.rules), *schedule);
  waited_.push_back(activities_.collective(std::move(schedule), nullptr, step(), Time()));
}

void RankCollectives::end_step() {
  ReplayedCall& call = statistics_.calls[code_];
  ++call.calls;
  call.time += clock() - began_;
}

}  // namespace exanet
