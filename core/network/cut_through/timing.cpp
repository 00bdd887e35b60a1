// SPDX-License-Identifier: Apache-2.0
#include "core/network/cut_through/timing.hpp"

#include "core/topology/topology.hpp"

namespace exanet {

SwitchTiming::SwitchTiming(const NetworkConfig& config, const Topology& topology)
    : router(config.router),
      pipeline(config.router.cycle * config.router.latency_cycles),
      endpoint_pipeline(topology.switched() ? config.router.cycle * endpoint_cycles(config.router) : pipeline),
      slot(config.router.cycle * config.input_queued->slot_cycles),
      speed_up_percent(config.input_queued->speed_up_percent) {
  for (const LinkConfig& link : config.links) {
    links.emplace_back(link, config.router, router);
    latency.push_back(link.latency);
    const std::int64_t its_word_ps_100 = link.word_time.ps() * 100 * config.router.word_bits / link.word_bits;
    if (word_ps_100 == 0 || its_word_ps_100 < word_ps_100) word_ps_100 = its_word_ps_100;
  }
}

// Each hop: the header crosses the link and the pipeline; the tail is right behind it, or held back by a slower line
// before.
Time SwitchTiming::packet_time(const std::vector<std::uint8_t>& path, std::uint32_t payload_words, Time at) const {
  const std::uint32_t words = router.packet_words(payload_words);
  Time request = at + endpoint_pipeline, tail = request + on_crossbar(words);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const LinkTiming& link = links[path[i]];
    const Time granted = in_slot(request), left = max(granted + on_crossbar(words), tail);
    std::uint32_t head_phase = 0, phase = 0;
    const Time on = latency[path[i]] + (i + 1 < path.size() ? pipeline : endpoint_pipeline);
    request = granted + link.word_time * link.slots(link.head_words, head_phase) + on;
    tail = max(granted + link.word_time * link.slots(link.packet_words[payload_words], phase), left) + on;
  }
  return max(in_slot(request) + on_crossbar(words), tail) - at;
}

}  // namespace exanet
