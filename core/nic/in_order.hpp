// SPDX-License-Identifier: Apache-2.0
// Puts what comes from one node to another back into the order in which it was sent, as a receiver does by sequence numbers: for networks in which
// packets overtake each other (Network::keeps_order()).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

template <typename What>  // that can be compared
class InOrder {
 public:
  void sent(NodeId src, NodeId dst, const What& what) { pairs_[pair_of(src, dst)].push_back({what, false}); }

  // Calls deliver(what) for all that is due now: this one, if all before it has come, and those that came before and waited for it. Contract: it
  // has been sent.
  template <typename Deliver>
  void arrived(NodeId src, NodeId dst, const What& what, const Deliver& deliver) {
    const auto found = pairs_.find(pair_of(src, dst));
    std::deque<Sent>& queue = found->second;
    std::find_if(queue.begin(), queue.end(), [&](const Sent& s) { return s.what == what && !s.arrived; })->arrived =
        true;
    std::vector<What> due;  // deliver() may send
    for (; !queue.empty() && queue.front().arrived; queue.pop_front()) due.push_back(queue.front().what);
    if (queue.empty()) pairs_.erase(found);
    for (const What& each : due) deliver(each);
  }

 private:
  struct Sent {
    What what;
    bool arrived;
  };
  static std::uint64_t pair_of(NodeId src, NodeId dst) { return std::uint64_t{src} << 32 | dst; }

  std::unordered_map<std::uint64_t, std::deque<Sent>> pairs_;  // what is under way
};

}  // namespace exanet
