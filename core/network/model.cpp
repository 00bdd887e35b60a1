// SPDX-License-Identifier: Apache-2.0
#include "core/network/model.hpp"

#include "core/network/vc_allocation.hpp"
#include "core/routing/zero_load_route.hpp"

namespace exanet {

NetworkModel::NetworkModel(const Topology& topology, const NetworkConfig& config)
    : topology_(topology),
      zero_load_(make_zero_load_model(topology, config)),
      word_bytes_(static_cast<std::uint32_t>(config.router.word_bits / 8)),
      keeps_order_(packets_keep_order(topology, config.router)) {}

Time NetworkModel::zero_load_latency(NodeId src, NodeId dst, std::uint16_t payload_bytes, Time at) const {
  const std::uint32_t words = (payload_bytes + word_bytes_ - 1) / word_bytes_;
  std::vector<std::uint8_t> links;
  zero_load_route(topology_, src, dst, words, draw_of(src, dst, at, 0),
                  [&](NodeId node, Hop hop) { links.push_back(topology_.link_class(node, hop.port)); });
  return zero_load_->packet_time(links, words, at);
}

}  // namespace exanet
