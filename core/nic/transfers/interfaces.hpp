// SPDX-License-Identifier: Apache-2.0
// Network interfaces of all nodes: messages and transfers, as gateware/ni/rtl/exanet_ni.sv joins them with three
// intra-tile ports of the router.
#pragma once

#include "core/nic/messages/messages.hpp"
#include "core/nic/transfers/block_receiver.hpp"
#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

struct Interfaces {
  // Ports whose slots are given back here (PacketSink::gives_back).
  static constexpr std::uint16_t kGivesBack = Messages::kGivesBack | 1u << kTransferPort;

  void attach(Network& network) {
    messages.attach(network);
    transfers.attach(network, messages.answers, blocks);
    blocks.attach(network, messages.answers, transfers);
    transfers.launch_by({&messages.sender,
                         [](void* its, NodeId node, const TransferStore& store, TransferEnding failure, Cycle from) {
                           static_cast<MessageSender*>(its)->claim(node, store.message_slot, store.domain,
                                                                   static_cast<MessageAnswer>(failure), from);
                         },
                         [](void* its, NodeId node, std::uint32_t slot, Cycle from) {
                           static_cast<MessageSender*>(its)->launch(node, slot, from);
                         }});
    messages.sender.attach(
        &transfers,
        [](void* its, NodeId node, bool found, Cycle at) {
          static_cast<TransferSender*>(its)->claimed(node, found, at);
        },
        [](void* its, NodeId node, Cycle at) { static_cast<TransferSender*>(its)->launched(node, at); });
  }
  // `tail` is the present time.
  void delivered(const Packet& packet, Time tail) {
    if (packet.intra_port == kTransferPort)
      blocks.arrived(packet, cycle_of(tail, messages.cycle) - 1);
    else
      messages.delivered(packet, tail);
  }
  void ready(NodeId node, std::uint8_t port) {
    if (port == kTransferPort)
      transfers.ready(node);
    else
      messages.ready(node, port);
  }

  Messages messages;
  TransferSender transfers;
  BlockReceiver blocks;
};

}  // namespace exanet
