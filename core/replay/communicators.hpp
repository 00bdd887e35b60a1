// SPDX-License-Identifier: Apache-2.0
// The communicators of a trace, one for all of their members.
//
// Each rank numbers its own in its stream. Two of them are the same where they have the same members in the same order
// and were made by them equally often before: all members make a communicator together, so they make those of one list
// of members in one order.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/collectives/schedule.hpp"
#include "core/replay/stream.hpp"

namespace exanet {

struct Communicator {
  std::uint32_t context = 0;  // its number among all
  std::uint32_t me = 0, ranks = 1;
  const std::vector<std::uint64_t>* members = nullptr;  // world ranks; nullptr: those of MPI_COMM_WORLD
  bool inter = false;
  std::uint32_t collectives = 0;  // begun by this rank
  std::uint32_t windows = 0;  // made by this rank
  std::uint32_t agreements = 0;  // begun by this rank
  std::uint32_t world(std::uint32_t rank) const {
    return members == nullptr ? rank : static_cast<std::uint32_t>((*members)[rank]);
  }
};

class Communicators {
 public:
  explicit Communicators(std::uint32_t ranks);
  // nullptr: the rank's stream has not made it.
  Communicator* find(std::uint32_t rank, std::uint32_t number) {
    return number < of_rank_[rank].size() && of_rank_[rank][number].ranks > 0 ? &of_rank_[rank][number] : nullptr;
  }
  // Takes a record that makes one. False where the rank is no member of what it says.
  bool add(std::uint32_t rank, const TraceRecord& record);

 private:
  using Members = std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>;
  struct Group {
    std::vector<std::uint32_t> contexts;  // of the communicators with these members, in order
    std::map<std::uint32_t, std::uint32_t> made;  // by rank
  };

  std::uint32_t context(const Members& members, std::uint32_t rank);

  const std::uint32_t ranks_;
  std::uint32_t contexts_ = 1;
  std::map<Members, Group> groups_;
  std::vector<std::vector<Communicator>> of_rank_;
};

// A collective as this member takes part in it, without sizes; and the one that a record says. Throws ConfigError on
// one that cannot be.
CollectiveCall call_on(const Communicator& comm);
CollectiveCall collective_call(const TraceStream& stream, const TraceRecord& call, const Communicator& comm);
// The same of a call whose sizes are known to be right.
CollectiveCall collective_call(const TraceRecord& call, const Communicator& comm);

}  // namespace exanet
