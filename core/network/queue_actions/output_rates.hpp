// SPDX-License-Identifier: Apache-2.0
// How fast each output of a router can send payload, in packets of the largest payload: what actions compare queues and
// flows with.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/config.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

class OutputRates {
 public:
  OutputRates(const NetworkConfig& config, const Topology& topology);

  // From one such packet to the next: of a link with its framing and gearbox idle times, or of a port to the network
  // interface.
  Time packet_time(NodeId node, std::uint16_t port) const;
  std::uint32_t payload_words() const { return words_; }  // of such a packet
  std::uint64_t payload_bits_per_second(NodeId node, std::uint16_t port) const;

 private:
  const Topology& topology_;
  std::uint32_t bytes_, words_;
  Time to_interface_;
  std::vector<Time> of_link_;  // by class
};

}  // namespace exanet
