// SPDX-License-Identifier: Apache-2.0
#include "core/nic/exanet/packetizer.hpp"

namespace exanet {

Packetizer::Packetizer(NicContext& context, std::size_t nodes)
    : context_(context),
      nodes_(nodes),
      port_(context, nodes, this, [](void* self, NodeId node, Time) { static_cast<Packetizer*>(self)->inject(node); }) {
}

void Packetizer::post(const Packet& packet) {
  context_.count(packet);
  nodes_[packet.src].waiting.push_back(packet);
  port_.request(packet.src, context_.events.now());
}

void Packetizer::ready(NodeId node, Time now) {
  nodes_[node].blocked = false;
  port_.request(node, now);
}

void Packetizer::inject(NodeId node_id) {
  Node& node = nodes_[node_id];
  while (!node.blocked && !node.waiting.empty()) {
    if (context_.network->inject(node.waiting.front()))
      node.waiting.pop_front();
    else
      node.blocked = true;
  }
}

}  // namespace exanet
