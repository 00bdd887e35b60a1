// SPDX-License-Identifier: Apache-2.0
// The packetizers: messages of one packet each, in the order in which they were posted.
#pragma once

#include <deque>
#include <vector>

#include "core/nic/exanet/engine.hpp"

namespace exanet {

class Packetizer {
 public:
  Packetizer(NicContext& context, std::size_t nodes);

  void post(const PacketizerMessage& message);
  void ready(NodeId node, Time now);  // the network has room again

 private:
  struct Node {
    std::deque<Packet> waiting;
    bool refused = false;
  };
  void inject(NodeId node);

  NicContext& context_;
  std::vector<Node> nodes_;
  PortClock port_;
};

}  // namespace exanet
