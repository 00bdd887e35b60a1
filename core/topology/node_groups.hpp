// SPDX-License-Identifier: Apache-2.0
// The groups of nodes to which a topology multicasts (docs/adr/0018-multicast-groups.md), by the numbers that stand in
// packets' destinations: of each what the topology works out of it once, for its routers to look at.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/topology/multicast.hpp"

namespace exanet {

template <typename Members>
class NodeGroups {
 public:
  const Members& operator[](NodeId to) const { return members_[group_number(to)]; }

  // The destination of packets to a source and its members, each said by whether it is in; `make` works out what is
  // kept of a new group.
  template <typename Make>
  NodeId to(std::vector<bool> nodes, Make make) {
    const auto [known, is_new] = numbers_.try_emplace(std::move(nodes), static_cast<std::uint32_t>(members_.size()));
    if (is_new) members_.push_back(make(known->first));
    return multicast_group(known->second);
  }

 private:
  std::vector<Members> members_;  // by number
  std::map<std::vector<bool>, std::uint32_t> numbers_;
};

}  // namespace exanet
