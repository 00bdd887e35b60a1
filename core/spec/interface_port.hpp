// SPDX-License-Identifier: Apache-2.0
// The intra-tile port of the gateware's network interface (exanet_ni.sv, exanet_reduce.sv) for each type of packets.
#pragma once

#include "core/spec/packet.hpp"

namespace exanet::spec {

constexpr unsigned interface_port(unsigned kind) {
  switch (static_cast<PacketType>(kind)) {
    case PacketType::kMessage: return 0;
    case PacketType::kMessageAck:
    case PacketType::kMessageNack:
    case PacketType::kAck:
    case PacketType::kNack: return 1;
    case PacketType::kReductionPart:
    case PacketType::kReductionResult: return 3;
    default: return 2;
  }
}

}  // namespace exanet::spec
