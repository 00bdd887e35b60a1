// SPDX-License-Identifier: Apache-2.0
// Puts what comes from one node to another back into the order in which it was sent, as a receiver does by sequence
// numbers: for networks in which packets overtake each other (Network::keeps_order()) or are lost
// (Network::may_lose()). What is lost has its turn, too, with its status.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/engine/pool.hpp"
#include "core/faults/status.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

template <typename What>  // that can be compared
class InOrder {
 public:
  void sent(NodeId src, NodeId dst, const What& what) {
    const std::uint32_t place = sent_.add({what, Status::kOk, false, 0});
    const auto [pair, first] = pairs_.try_emplace(pair_of(src, dst), Pair{place, place});
    if (first) return;
    sent_[pair->second.last].behind = place;
    pair->second.last = place;
  }

  // Calls deliver(what, status) for all that is due now: this one, if all before it has come, and those that came
  // before and waited for it. Contract: it has been sent.
  template <typename Deliver>
  void arrived(NodeId src, NodeId dst, const What& what, Status status, const Deliver& deliver) {
    auto pair = pairs_.find(pair_of(src, dst));
    std::uint32_t place = pair->second.first;
    while (sent_[place].arrived || sent_[place].what != what) place = sent_[place].behind;
    sent_[place].arrived = true;
    sent_[place].status = status;
    // deliver() may send, and so move both tables.
    for (; pair != pairs_.end() && sent_[pair->second.first].arrived; pair = pairs_.find(pair_of(src, dst))) {
      const std::uint32_t first = pair->second.first;
      const What due = sent_[first].what;
      const Status its = sent_[first].status;
      if (first == pair->second.last)
        pairs_.erase(pair);
      else
        pair->second.first = sent_[first].behind;
      sent_.free(first);
      deliver(due, its);
    }
  }

 private:
  struct Sent {
    What what;
    Status status;
    bool arrived;
    std::uint32_t behind;  // the next one of its pair, if it is not the last
  };
  struct Pair {
    std::uint32_t first, last;
  };
  static std::uint64_t pair_of(NodeId src, NodeId dst) { return std::uint64_t{src} << 32 | dst; }

  std::unordered_map<std::uint64_t, Pair> pairs_;  // what is under way
  Pool<Sent, &Sent::behind> sent_;
};

}  // namespace exanet
