// SPDX-License-Identifier: Apache-2.0
#include "core/network/common/switch_checks.hpp"

#include "core/config/error.hpp"
#include "core/network/common/switch_state.hpp"
#include "core/network/timing.hpp"

namespace exanet {

std::int64_t most_packet_words(const RouterConfig& router) {
  const RouterTiming timing(router);
  return timing.packet_words(timing.most_payload_words);
}

void check_input_queued(const NetworkConfig& config, const Topology& topology) {
  require(config.input_queued.has_value(), "router.switch", "the machine's routers are not input-queued switches");
  const SwitchConfig& c = *config.input_queued;
  const RouterConfig& r = config.router;
  const auto count = [](std::int64_t n) { return std::to_string(n); };
  const std::int64_t packet = most_packet_words(r);
  require_in_range(c.iterations, 1, 64, "router.switch.iterations", "iterations");
  require_in_range(c.speed_up_percent, 100, 1000, "router.switch.speed_up_percent", "speed_up");
  require_in_range(c.slot_cycles, 0, 1'000'000, "router.switch.slot_cycles", "slot");
  require_in_range(c.classes, 1, kMostLanes, "router.switch.classes", "classes");
  require_in_range(c.pause_frame_words, 0, 1024, "router.switch.pause_frame_words", "pause_frame");
  require_in_range(r.latency_cycles, 1, 1'000'000, "router.latency_cycles", "latency");
  const std::int64_t lanes = c.classes * r.virtual_channels;
  require(lanes <= kMostLanes, "router.switch.classes",
          "classes are " + count(c.classes) + ", with " + count(r.virtual_channels) +
              " virtual channels each, more than " + count(kMostLanes) + " lanes: use fewer");
  require(c.weights.empty() || static_cast<std::int64_t>(c.weights.size()) == c.classes, "router.switch.weights",
          "weights are " + count(static_cast<std::int64_t>(c.weights.size())) + " for " + count(c.classes) +
              " classes: give one for each, or none");
  for (const std::int64_t weight : c.weights)
    require_in_range(weight, 1, 1000, "router.switch.weights", "weights: one");
  require(r.intra_fifo_words / c.classes >= packet, "router.intra_fifo_words",
          "intra_fifo has " + count(r.intra_fifo_words) + " words: it must hold a packet of " + count(packet) +
              " words in each of " + count(c.classes) + " classes");
  require_in_range(c.output_fifo_words, 0, kMostFifoWords, "router.switch.output_fifo_words", "output_fifo");
  require(!config.links.empty(), "links", "the machine describes no links");
  for (NodeId node = 0; node < topology.node_count(); ++node) {
    const std::int64_t ports =
        topology.port_count(node) + (node < topology.endpoint_count() ? r.intra_ports * topology.rails() : 0);
    require(ports * r.virtual_channels <= kMostSlots, "router.switch",
            "a switch at " + topology.node_name(node) + " would have more than " + count(kMostSlots) +
                " inputs: use fewer ports or virtual channels");
  }
}

void require_one_thread_if(bool looks, std::size_t threads, const char* who) {
  require(!looks || threads <= 1, "threads",
          std::string(who) +
              " that looks at queues runs on one thread with these switches, because its choices at one time depend on "
              "their "
              "order");
}

}  // namespace exanet
