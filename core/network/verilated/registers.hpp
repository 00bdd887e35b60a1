// SPDX-License-Identifier: Apache-2.0
// Values of the routers' registers and of the lines between them for a machine: from the simulator's description to the
// gateware's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/network/network.hpp"
#include "core/spec/packet.hpp"

namespace exanet {

class GatewareRegisters {
 public:
  struct Line {
    std::uint32_t cycles, pause_every;
  };

  // `interfaces`: packets go to the ports of the gateware's network interface, by their types. Throws
  // std::invalid_argument, saying what to do, when the gateware cannot be that machine's.
  GatewareRegisters(const TopologySpec& spec, const NetworkConfig& config, bool interfaces = false);

  const std::uint32_t* data() const { return registers_.data(); }  // four words a node
  std::uint32_t credit() const { return credit_; }  // of all links: threshold and interval, 16 bits each
  std::uint32_t dcid(NodeId node) const { return dcid_[node]; }
  NodeId node_at(std::uint32_t dcid) const;
  // The bit at which an interface puts a coordinate into a node's place among its peers (ni_config).
  std::uint32_t shift(unsigned dimension) const { return shifts_[dimension]; }
  // What stands in place of a destination's address in a packet to several nodes (core/topology/multicast.hpp).
  std::uint32_t box(NodeId box) const;
  // Of a link class of the machine.
  const Line& line(std::size_t link_class) const { return lines_[link_class]; }
  // The packet type that leaves by an intra-tile port: messages by the first, blocks by the second, and so on in the
  // order of types.
  std::uint8_t kind(std::uint8_t intra_port) const { return intra_port; }

 private:
  bool qfdbs_;
  std::uint32_t credit_;
  std::vector<std::uint32_t> registers_, dcid_;
  std::array<std::uint32_t, 3> shifts_{};
  std::vector<Line> lines_;
};

}  // namespace exanet
