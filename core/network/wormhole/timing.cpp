// SPDX-License-Identifier: Apache-2.0
#include "core/network/wormhole/timing.hpp"

#include <algorithm>

#include "core/topology/topology.hpp"

namespace exanet {

namespace {

Wire wire_of(const LinkConfig& link, const RouterConfig& router, const RouterTiming& timing) {
  const LinkTiming made(link, router, timing);
  const auto flit_words = static_cast<std::uint32_t>(router.word_bits / link.word_bits);
  return {made, link.latency, link.word_time * made.control_words + link.latency, flit_words,
          static_cast<std::uint32_t>(link.framing_words)};
}

}  // namespace

WormholeTiming::WormholeTiming(const NetworkConfig& config, const Topology& topology)
    : router(config.router),
      pipeline(config.router.cycle * config.router.latency_cycles),
      endpoint_pipeline(topology.switched() ? config.router.cycle * endpoint_cycles(config.router) : pipeline),
      header_words(static_cast<std::uint32_t>(config.router.header_words)),
      output_fifo_words(static_cast<std::uint32_t>(std::max<std::int64_t>(config.input_queued->output_fifo_words, 1))),
      lane_words(static_cast<std::int32_t>(config.router.inter_fifo_words /
                                           (config.input_queued->classes * config.router.virtual_channels))) {
  Time fastest = Time::never();
  for (const LinkConfig& link : config.links) {
    const Wire& wire = wires.emplace_back(wire_of(link, config.router, router));
    fastest = min(fastest, wire.timing.word_time * wire.flit_words);
  }
  const std::int64_t percent = config.input_queued->speed_up_percent;
  crossbar_word = Time::ps((fastest.ps() * 100 + percent - 1) / percent);
}

// A packet's flits one by one through empty switches: each waits for the one before it on the line, for itself, the
// first one for the whole header, and where buffers hold less than a round trip's flits, for the credit of the one that
// left its place.
Time WormholeTiming::packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time) const {
  const std::uint32_t words = router.packet_words(payload_words);
  struct Stage {
    const Wire* wire;
    Time free, line_free;  // of the link, and of the output's line
    std::uint8_t phase = 0;
    std::vector<Time> in, granted;  // by flit
  };
  std::vector<Stage> stages;
  stages.reserve(links.size() + 1);
  for (const std::uint8_t link : links) stages.push_back({&wires[link], {}, {}, 0, {}, {}});
  stages.push_back({nullptr, {}, {}, 0, {}, {}});
  for (Stage& stage : stages) stage.in.resize(words), stage.granted.resize(words);
  for (std::uint32_t flit = 0; flit < words; ++flit) stages[0].in[flit] = crossbar_word * flit + endpoint_pipeline;
  const std::uint32_t behind =
      header_words - 1;  // flits by which the header's end is behind its beginning: so far apart are two stages' turns
  for (std::uint32_t turn = 0; turn < words + behind * stages.size(); ++turn)
    for (std::size_t h = 0; h < stages.size(); ++h) {
      if (turn < behind * h || turn - behind * h >= words) continue;
      const std::uint32_t flit = turn - behind * static_cast<std::uint32_t>(h);
      Stage& stage = stages[h];
      Time at = max(stage.line_free, stage.in[flit == 0 ? behind : flit]);
      const auto depth = static_cast<std::uint32_t>(lane_words);
      if (stage.wire != nullptr && flit >= depth)
        at = max(at, stages[h + 1].granted[flit - depth] + crossbar_word + stage.wire->credit);
      stage.granted[flit] = at;
      stage.line_free = at + crossbar_word;
      if (stage.wire == nullptr) continue;
      Time busy;
      stages[h + 1].in[flit] = stage.wire->pass(at, flit == 0, stage.free, stage.phase, busy) + stage.wire->latency +
                               (h + 2 < stages.size() ? pipeline : endpoint_pipeline);
      stage.line_free = max(stage.line_free, stage.free - stage.wire->timing.word_time * stage.wire->flit_words *
                                                              (output_fifo_words - 1));
    }
  return stages.back().line_free;
}

}  // namespace exanet
