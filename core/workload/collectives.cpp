// SPDX-License-Identifier: Apache-2.0
// Collective operations as jobs: the rounds of an algorithm of core/collectives, whose messages are those of a step.
//
// Limits: vectors are cut into parts of one size. An algorithm that is no sequence of rounds is not a job of its own:
// jobs beside recorded programs call every collective by every algorithm (core/replay/rank_collectives.hpp).
#include "core/collectives/registry.hpp"
#include "core/workload/program.hpp"

namespace exanet {

namespace {

class CollectiveJob final : public Program {
 public:
  CollectiveJob(const ProgramSpec& spec, const Rounds& rounds)
      : Program(spec), rounds_(rounds), steps_(rounds.count(call_of(0))) {}

  std::uint32_t steps() const override { return steps_; }
  std::uint32_t receives(std::uint32_t rank, std::uint64_t, std::uint32_t step) const override {
    std::uint32_t count = 0;
    for (const ScheduledMessage& message : round_of(rank, step)) count += !message.sends;
    return count;
  }
  void sends(std::uint32_t rank, std::uint64_t, std::uint32_t step, std::vector<Sending>& out) const override {
    for (const ScheduledMessage& message : round_of(rank, step))
      if (message.sends) out.push_back({message.peer, message.bytes});
  }

 private:
  CollectiveCall call_of(std::uint32_t rank) const {
    CollectiveCall call;
    call.ranks = spec_.ranks;
    call.me = rank;
    call.bytes = spec_.bytes;
    call.equal_parts = true;
    return call;
  }
  // Valid until the next call of this thread.
  const std::vector<ScheduledMessage>& round_of(std::uint32_t rank, std::uint32_t step) const {
    thread_local Schedule messages;
    messages.clear();
    rounds_.add(call_of(rank), step, messages);
    return messages.messages();
  }

  const Rounds rounds_;
  const std::uint32_t steps_;
};

std::unique_ptr<Program> make_collective(const ProgramSpec& spec) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (algorithm.job != nullptr && spec.name == algorithm.job)
      return std::make_unique<CollectiveJob>(spec, algorithm.rounds);
  return nullptr;
}

}  // namespace

namespace programs {

std::vector<ProgramKind> collectives() {
  std::vector<ProgramKind> kinds;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms())
    if (algorithm.job != nullptr) kinds.push_back({algorithm.job, algorithm.help, make_collective});
  return kinds;
}

}  // namespace programs

}  // namespace exanet
