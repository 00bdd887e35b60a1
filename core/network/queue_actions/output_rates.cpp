// SPDX-License-Identifier: Apache-2.0
#include "core/network/queue_actions/output_rates.hpp"

#include "core/network/registry.hpp"
#include "core/network/timing.hpp"

namespace exanet {

OutputRates::OutputRates(const NetworkConfig& config, const Topology& topology) : topology_(topology) {
  const RouterTiming router(config.router);
  bytes_ = static_cast<std::uint32_t>(config.router.max_payload_bytes);
  words_ = router.payload_words(bytes_);
  to_interface_ = network_kind(config).make_zero_load(config, topology)->output_time(words_);
  for (const LinkConfig& link : config.links) {
    const LinkTiming timing(link, config.router, router);
    const std::int64_t parts = timing.idle_every == 0 ? 1 : timing.idle_every,
                       each = timing.idle_every == 0 ? 1 : parts + 1;
    of_link_.push_back(
        max(Time::ps(timing.packet_words[words_] * timing.word_time.ps() * each / parts), to_interface_));
  }
}

Time OutputRates::packet_time(NodeId node, std::uint16_t port) const {
  if (port >= topology_.port_count(node) || topology_.neighbour(node, port).node == kNoNode) return to_interface_;
  return of_link_[topology_.link_class(node, port)];
}

std::uint64_t OutputRates::payload_bits_per_second(NodeId node, std::uint16_t port) const {
  return std::uint64_t{bytes_} * 8'000'000'000'000 / static_cast<std::uint64_t>(packet_time(node, port).ps());
}

}  // namespace exanet
