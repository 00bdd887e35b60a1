// SPDX-License-Identifier: Apache-2.0
#include "core/network/exanet/zero_load.hpp"

#include "core/topology/topology.hpp"

namespace exanet {

ExanetZeroLoad::ExanetZeroLoad(const NetworkConfig& config, const Topology& topology)
    : router_(config.router), endpoint_(topology.switched() ? router_.at_endpoint() : router_) {
  for (const LinkConfig& link : config.links) {
    links_.emplace_back(link, config.router, router_);
    last_links_.emplace_back(link, config.router, endpoint_);
  }
}

// The head passes every stage at once. The tail is right behind it at the stage's own rate, or held back by a slower
// stage before it.
Time ExanetZeroLoad::packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time) const {
  const Time words = router_.cycle * router_.packet_words(payload_words);
  Time request = router_.head + endpoint_.to_request, tail = words - router_.cycle + endpoint_.to_request;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const LinkTiming& link = (i + 1 < links.size() ? links_ : last_links_)[links[i]];
    const auto out = [&link](std::uint32_t n) {
      std::uint32_t phase = 0;
      return link.word_time * link.slots(n, phase);
    };
    const Time start = request + link.to_wire, left = max(request + words, tail);
    tail = max(start + out(link.packet_words[payload_words]), left + link.tail_to_wire + link.last_word) + link.across;
    request = start + out(link.head_words) + link.across;
  }
  return max(request + words, tail) + router_.to_output;
}

}  // namespace exanet
