// SPDX-License-Identifier: Apache-2.0
// Contract of an algorithm of a collective: what generates its schedule, for whoever carries it out.
//
// Replays post a rank's whole schedule stage by stage (core/replay/activities.cpp), jobs take it a round at a time
// (core/workload/collectives.cpp), and real programs get it from the simulator and carry it out by calls of their MPI
// library (runtime/coordinator/trees.cpp, runtime/collectives/bcast.c).
//
// Contract: each message is received, by the rank that it is sent to; no rank waits for ever, even if each message
// waits for its receive; whoever is to have data of another rank has heard from it at the end.
// collectives_contract_test.cpp checks it for every algorithm of the registry.
#pragma once

#include <cstdint>

#include "core/collectives/schedule.hpp"

namespace exanet {

// An algorithm whose ranks go through rounds together: each message is sent and received in the same one. A round is a
// stage of those ranks that take part in it. Rounds are computed one by one, so that jobs of many ranks store none.
struct Rounds {
  std::uint32_t (*count)(const CollectiveCall& call) = nullptr;
  void (*add)(const CollectiveCall& call, std::uint32_t round, Schedule& out) = nullptr;
};

// What an algorithm takes beside messages between ranks.
enum class CarriedOutBy : std::uint8_t {
  messages,
  copies,
  units
};  // copies by routers; units of interfaces that reduce

struct CollectiveAlgorithm {
  const char* collective;  // as --collective calls it
  const char* name;
  const char* help;  // as a clause
  void (*plan)(const CollectiveCall& call, Schedule& out) = nullptr;  // the schedule of a rank; or:
  Rounds rounds{};
  const char* job = nullptr;  // by rounds: as --job calls it; `help` says what its bytes are
  CarriedOutBy by = CarriedOutBy::messages;
  bool knows_network = false;  // its messages depend on where ranks are
  // A broadcast of the whole, whose messages depend on nothing but root, places, and whether it is longer than an eager
  // message; at most as many of a rank's own as there are ranks. Programs can take it in the place of their library's.
  bool for_programs = false;
  bool one_at_a_time = false;  // of calls that wait alone: another one of the communicator may not begin before its end

  // Contract: call.ranks > 1.
  void generate(const CollectiveCall& call, Schedule& out) const {
    if (plan != nullptr) return plan(call, out);
    const std::uint32_t count = rounds.count(call);
    for (std::uint32_t round = 0; round < count; ++round) {
      rounds.add(call, round, out);
      out.stage();
    }
  }
};

}  // namespace exanet
