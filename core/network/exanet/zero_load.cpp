// SPDX-License-Identifier: Apache-2.0
#include "core/network/exanet/zero_load.hpp"

namespace exanet {

ExanetZeroLoad::ExanetZeroLoad(const NetworkConfig& config) : router_(config.router) {
  for (const LinkConfig& link : config.links) links_.emplace_back(link, config.router, router_);
}

Time ExanetZeroLoad::packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time) const {
  std::vector<const LinkTiming*> path;
  path.reserve(links.size());
  for (const std::uint8_t link : links) path.push_back(&links_[link]);
  return zero_load_time(router_, path, payload_words);
}

Time zero_load_time(const RouterTiming& router, const std::vector<const LinkTiming*>& path,
                    std::uint32_t payload_words) {
  // The head passes every stage at once. The tail is right behind it at the stage's own rate, or held back by a slower stage before it.
  const Time words = router.cycle * router.packet_words(payload_words);
  Time request = router.head + router.to_request, tail = words - router.cycle + router.to_request;
  for (const LinkTiming* link : path) {
    const auto out = [link](std::uint32_t n) {
      std::uint32_t phase = 0;
      return link->word_time * link->slots(n, phase);
    };
    const Time start = request + link->to_wire, left = max(request + words, tail);
    tail =
        max(start + out(link->packet_words[payload_words]), left + link->tail_to_wire + link->last_word) + link->across;
    request = start + out(link->head_words) + link->across;
  }
  return max(request + words, tail) + router.to_output;
}

}  // namespace exanet
