// SPDX-License-Identifier: Apache-2.0
// Transfers of all nodes over a network: blocks that are sent and come, as gateware/ni/rtl/exanet_ni.sv joins them with the router's intra-tile ports for
// transfers and for answers. Limit: messages, whose answers share the latter, are not with them.
#pragma once

#include "core/nic/messages/config.hpp"
#include "core/nic/transfers/block_receiver.hpp"
#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

struct Transfers {
  // Ports whose slots are given back here (PacketSink::gives_back).
  static constexpr std::uint16_t kGivesBack = 1u << kTransferPort | 1u << kAnswerPort;

  void attach(Network& network) {
    sender.attach(network, receiver);
    receiver.attach(network, sender);
  }
  // `tail` is the present time.
  void delivered(const Packet& packet, Time tail) {
    const Cycle footer = cycle_of(tail, cycle) - 1;
    if (packet.intra_port == kTransferPort)
      receiver.arrived(packet, footer);
    else
      sender.answered(packet, footer);
  }
  void ready(NodeId node, std::uint8_t port) {
    if (port == kTransferPort)
      sender.ready(node);
    else
      receiver.ready(node);
  }

  Time cycle;
  TransferSender sender;
  BlockReceiver receiver;
};

}  // namespace exanet
