// SPDX-License-Identifier: Apache-2.0
// Messages of all nodes over a network: slots and mailboxes, as gateware/ni/rtl/exanet_ni.sv joins them with two
// intra-tile ports of the router.
#pragma once

#include "core/nic/messages/message_receiver.hpp"
#include "core/nic/messages/message_sender.hpp"

namespace exanet {

struct Messages {
  // Ports whose slots are given back here (PacketSink::gives_back).
  static constexpr std::uint16_t kGivesBack = 1u << kMessagePort | 1u << kAnswerPort;

  // The router as such an interface meets it.
  static RouterConfig router(RouterConfig config) {
    config.interface_slots = 8;
    config.interface_credit_cycles = 2;  // the interface's count of credits, and its register towards the router
    return config;
  }

  void attach(Network& network) {
    answers.attach(network);
    sender.attach(network, answers);
    receiver.attach(network, answers);
  }
  // `tail` is the present time.
  void delivered(const Packet& packet, Time tail) {
    const Cycle footer = cycle_of(tail, cycle) - 1;
    if (packet.intra_port == kMessagePort)
      receiver.arrived(packet, footer);
    else
      answers.arrived(packet, footer);
  }
  void ready(NodeId node, std::uint8_t port) {
    if (port == kMessagePort)
      sender.ready(node);
    else
      answers.ready(node);
  }

  Time cycle;
  AnswerPorts answers;
  MessageSender sender;
  MessageReceiver receiver;
};

}  // namespace exanet
