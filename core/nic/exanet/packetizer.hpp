// SPDX-License-Identifier: Apache-2.0
// The packetizers, and the units that reduce: packets of a kind go to the router in the order in which they were
// posted.
#pragma once

#include <deque>
#include <vector>

#include "core/nic/exanet/engine.hpp"

namespace exanet {

class Packetizer {
 public:
  Packetizer(NicContext& context, std::size_t nodes);

  void post(const Packet& packet);  // all those of one class, at one port
  void ready(NodeId node, Time now);  // the network has space again

 private:
  struct Node {
    std::deque<Packet> waiting;
    bool blocked = false;
  };
  void inject(NodeId node);

  NicContext& context_;
  std::vector<Node> nodes_;
  PortClock port_;
};

}  // namespace exanet
