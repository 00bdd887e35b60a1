// SPDX-License-Identifier: Apache-2.0
// What members bring to the collectives of live programs, and take from there.
//
// Contract: a member joins with its call, which may be refused; once the messages of the collective's algorithm have
// come to their end at the member, answer() says where what is for it lies. leave() ends that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/collectives/selection.hpp"
#include "core/protocol/engine.hpp"
#include "core/replay/communicators.hpp"
#include "core/replay/live_call.h"

namespace exanet {

// What the members of a communicator bring to one of its collectives.
struct LiveCollective {
  struct Part {
    bool here = false;
    std::vector<std::byte> data;
    std::vector<std::uint64_t> by_rank;  // bytes for each member, one after the other; empty: all is for everyone
    std::vector<std::uint64_t> expected;  // bytes of each member, where it says
    std::vector<std::uint32_t> destinations;  // of neighbours: members, in the place of all
  };
  std::vector<Part> parts;  // by rank
  std::vector<std::byte> shared;
  exanet_live_result result{};  // in `shared`
  std::uint32_t left = 0;  // members that have not taken theirs
  // Of the member that came first, with what all others must bring, too; ranks of the world.
  RankId first = 0;
  std::uint32_t code = 0, root = 0;
  std::uint64_t block_bytes = 0;
  std::string operation;
};

// A member's.
struct JoinedCollective {
  exanet_live_call* call = nullptr;  // where the answer goes
  LiveCollective* members = nullptr;
  std::uint64_t key = 0;
  const char* algorithm = "";
};

bool is_live_collective(std::uint32_t code);
bool is_live_neighbours(std::uint32_t code);
bool live_collective_waits(std::uint32_t code);  // its call does

// Which algorithms' messages collectives are. Results are in the order of MPICH's own, whatever these are.
struct LiveAlgorithms {
  CollectiveChoices chosen;
  std::string rules = "mpich";  // of the others
};

class LiveCollectives {
 public:
  // Throws ConfigError on algorithms that there are not, or that know the network.
  LiveCollectives(Host& memory, const LiveAlgorithms& algorithms);
  // Why the member cannot: "" where it has joined.
  std::string join(RankId rank, Communicator& comm, exanet_live_call& call, JoinedCollective& joined);
  // The messages of one that it has joined; of neighbours between ranks of the world, others between members.
  void plan(const Communicator& comm, JoinedCollective& joined, Schedule& out) const;
  static void answer(const Communicator& comm, const JoinedCollective& joined);
  void leave(const JoinedCollective& joined) {
    if (--joined.members->left == 0) under_way_.erase(joined.key);
  }

 private:
  Host& memory_;
  const CollectiveChoices chosen_;
  const SelectionRules& rules_;
  std::unordered_map<std::uint64_t, LiveCollective> under_way_;  // by context and number
};

}  // namespace exanet
