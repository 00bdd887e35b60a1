// SPDX-License-Identifier: Apache-2.0
// The rule by which an ideal interface hands packets to its network: one after another, at no cost, as long as the
// network has space.
//
// A template, so that it costs nothing over a loop written out. IdealNic feeds messages by it; an open loop feeds
// packets that its sources draw at that moment, of which nothing is stored: cutting and queues of descriptors would be
// work a packet that it has no use for.
#pragma once

#include "core/network/network.hpp"

namespace exanet {

// next(packet): writes the packet whose turn it is, false when there is none; taken(packet): the network has it.
// Returns false when the network has not taken the packet whose turn it is: it says when it has space
// (PacketSink::ready), and the feed goes on from there.
template <typename Model, typename Next, typename Taken>
inline bool feed(Model& network, Next next, Taken taken) {
  for (Packet packet; next(packet);) {
    if (!network.inject(packet)) return false;
    taken(packet);
  }
  return true;
}

}  // namespace exanet
