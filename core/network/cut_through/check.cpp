// SPDX-License-Identifier: Apache-2.0
// Rejects what no switch of whole packets can be built from, and describes the model for the registry.
#include <algorithm>

#include "core/config/error.hpp"
#include "core/network/common/switch_checks.hpp"
#include "core/network/common/switch_state.hpp"
#include "core/network/cut_through/cut_through_network.hpp"
#include "core/network/cut_through/timing.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/registry.hpp"

namespace exanet {

namespace {

// Router words in what the link carries in `time`, rounded up.
std::int64_t words_in(Time time, const LinkConfig& link, const RouterConfig& router) {
  const std::int64_t per_word = link.word_time.ps() * router.word_bits;
  return (time.ps() * link.word_bits + per_word - 1) / per_word;
}

void check(const NetworkConfig& config, const Topology& topology) {
  check_input_queued(config, topology);
  make_queue_action(config, topology, true);
  const SwitchConfig& c = *config.input_queued;
  const RouterConfig& r = config.router;
  const auto count = [](std::int64_t n) { return std::to_string(n); };
  const std::int64_t packet = most_packet_words(r), lanes = c.classes * r.virtual_channels;
  require(r.inter_fifo_words / lanes >= packet, "router.inter_fifo_words",
          "inter_fifo has " + count(r.inter_fifo_words) + " words: it must hold a packet of " + count(packet) +
              " words in each of " + count(lanes) + " lanes");
  require(
      c.output_fifo_words == 0 || c.output_fifo_words >= packet, "router.switch.output_fifo_words",
      "output_fifo has " + count(c.output_fifo_words) + " words: it must hold a packet of " + count(packet) + " words");
  if (c.flow_control != SwitchConfig::FlowControl::kPause) return;
  require(c.buffer == SwitchConfig::Buffer::kPerLane, "router.switch.buffer",
          "buffer: a shared buffer needs credits; with pause frames each lane has its own");
  require(c.pause_words >= packet && c.resume_words >= 0 && c.resume_words < c.pause_words, "router.switch.pause_words",
          "pause is at " + count(c.pause_words) + " words and resume at " + count(c.resume_words) +
              ": pause at a packet (" + count(packet) + " words) or more, and resume below that");
  for (const LinkConfig& link : config.links) {
    const std::int64_t headroom = pause_headroom_words(r, c, link);
    require(c.pause_words + headroom <= r.inter_fifo_words / lanes, "router.switch.pause_words",
            "pause is at " + count(c.pause_words) + " words of a lane of " + count(r.inter_fifo_words / lanes) +
                ", but " + count(headroom) +
                " more may arrive before the pause takes effect: pause earlier, or make inter_fifo at least " +
                count((c.pause_words + headroom) * lanes) + " words");
  }
}

}  // namespace

Time pause_delay(const RouterConfig& router, const SwitchConfig& config, const LinkConfig& link) {
  const LinkTiming timing(link, router, RouterTiming(router));
  std::uint32_t phase = 0;
  const auto words = static_cast<std::uint32_t>(config.pause_frame_words) + timing.packet_words.back();
  return link.word_time * timing.slots(words, phase) + link.latency;
}

std::int64_t pause_headroom_words(const RouterConfig& router, const SwitchConfig& config, const LinkConfig& link) {
  const LinkTiming timing(link, router, RouterTiming(router));
  const std::int64_t packet = most_packet_words(router);
  const Time there = link.word_time * timing.head_words + link.latency +
                     router.cycle * std::max(router.latency_cycles, endpoint_cycles(router));
  return words_in(pause_delay(router, config, link) + there, link, router) +
         std::max(config.output_fifo_words, packet) + packet;
}

namespace networks {

NetworkKind cut_through() {
  return describe_network<SwitchTiming, CutThroughNetwork>("cut-through",
                                                           "when there is space for all of it beyond the link", check);
}

}  // namespace networks

}  // namespace exanet
