// SPDX-License-Identifier: Apache-2.0
// Rejects what no wormhole switch can be built from, and describes the model for the registry.
#include "core/config/error.hpp"
#include "core/network/common/switch_checks.hpp"
#include "core/network/common/switch_state.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/registry.hpp"
#include "core/network/wormhole/timing.hpp"
#include "core/network/wormhole/wormhole_network.hpp"
#include "core/routing/routing.hpp"

namespace exanet {

namespace {

void check(const NetworkConfig& config, const Topology& topology) {
  check_input_queued(config, topology);
  make_queue_action(config, topology);
  const SwitchConfig& c = *config.input_queued;
  const RouterConfig& r = config.router;
  const std::int64_t lanes = c.classes * r.virtual_channels;
  require(c.flow_control == SwitchConfig::FlowControl::kCredits, "router.switch.flow_control",
          "flow_control is pause: a wormhole switch has a credit for each word; use credits");
  require(c.slot_cycles == 0, "router.switch.slot_cycles",
          "slot is " + std::to_string(c.slot_cycles) +
              " cycles: a wormhole switch forwards a word in any cycle; remove 'slot'");
  require(c.buffer == SwitchConfig::Buffer::kPerLane, "router.switch.buffer",
          "buffer is shared: each lane of a wormhole switch has its own; use per-lane");
  require(r.inter_fifo_words / lanes >= r.header_words, "router.inter_fifo_words",
          "inter_fifo has " + std::to_string(r.inter_fifo_words) + " words: it must hold a header of " +
              std::to_string(r.header_words) + " words in each of " + std::to_string(lanes) + " lanes");
  require_in_range(r.inter_fifo_words, 1, kMostFifoWords, "router.inter_fifo_words", "inter_fifo");
  for (const LinkConfig& link : config.links)
    require(link.word_bits > 0 && r.word_bits % link.word_bits == 0, "router.switch.switching",
            "switching: a flit is a router word, of " + std::to_string(r.word_bits) +
                " bits, which a link with words of " + std::to_string(link.word_bits) +
                " bits does not carry in whole words: use one that divides it, or cut-through");
  require(topology.routing() == nullptr || !topology.routing()->may_reroute(), "router.switch.switching",
          "switching: packets that are blocked half-way cannot turn to an escape channel, as this routing has it: use "
          "another, or cut-through");
}

}  // namespace

namespace networks {

NetworkKind wormhole() {
  return describe_network<WormholeTiming, WormholeNetwork>(
      "wormhole", "word by word, with a credit for each; a buffer may hold less than a packet", check);
}

}  // namespace networks

}  // namespace exanet
