// SPDX-License-Identifier: Apache-2.0
// What nodes on a ring do with messages and transfers that their processors hand over in given cycles: what is at the
// ports of each interface, and when.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/nic/messages/config.hpp"
#include "core/nic/messages/message_sender.hpp"
#include "core/nic/transfers/config.hpp"
#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

// The bus takes the last store of it in `cycle`.
struct HandedOver {
  Cycle cycle;
  NodeId node;
  bool is_message;
  std::uint32_t context;  // of a message
  MessageStore message;
  TransferStore transfer;
};

struct PortEvent {
  enum class What : std::uint8_t { kHeaderIn, kFooterOut, kEntry, kWrite, kSlot };
  Cycle cycle;
  What what;
  NodeId node;
  std::uint32_t place;  // port of the router; slot
};

struct InterfaceRunConfig {
  std::size_t nodes = 2;
  unsigned line_cycles = 0;
  MessagesConfig messages;
  TransfersConfig transfers;
  std::uint32_t mailbox = 0, domain = 0, entries = 256;  // the only mailbox of each node
  std::map<std::pair<NodeId, std::uint64_t>, std::uint64_t> tables;  // of pages, by node and address
  std::uint64_t root = 0;  // of the domain's, at each node
};

// In the order of cycles, before `end`; of a packet, both its header and its footer, or none where it is under way
// then.
std::vector<PortEvent> run_interfaces(const InterfaceRunConfig& config, const std::vector<HandedOver>& operations,
                                      Cycle end);

}  // namespace exanet
