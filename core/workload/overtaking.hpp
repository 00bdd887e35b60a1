// SPDX-License-Identifier: Apache-2.0
// Counts what networks in which packets overtake each other ask of a receiver that wants them in order.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/network/network.hpp"

namespace exanet {

class Overtaking {
 public:
  // A packet, created at `created`, has arrived. Contract: called in the order of arrival. Returns by how much it came after one that was created
  // later between the same two endpoints in the same class: that one, and all behind it, had to wait for so long at least. 0: after none.
  Time late(const Packet& packet, Time created, Time now) {
    Newest& newest = newest_[(std::uint64_t{packet.src} << 1 | packet.priority) << 32 | packet.dst];
    if (created >= newest.created) {
      newest = {created, now};
      return {};
    }
    return now - newest.arrived;
  }

 private:
  struct Newest {
    Time created, arrived;
  };
  std::unordered_map<std::uint64_t, Newest> newest_;  // by pair and class
};

}  // namespace exanet
