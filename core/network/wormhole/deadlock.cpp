// SPDX-License-Identifier: Apache-2.0
// Finds packets that wait for each other, when no event is left.
#include <algorithm>
#include <utility>

#include "core/network/wormhole/state.hpp"

namespace exanet {

using namespace wormhole_state;

// Follows who waits for whom until a packet comes up again.
std::string WormholeNetwork::deadlock() const {
  const State& s = *state_;
  for (const auto& part : s.parts_)
    if (!part->events_.empty() || part->mail_.earliest() != Time::never()) return {};
  struct At {
    std::uint32_t node, worm;
    bool operator==(const At&) const = default;
  };
  const auto worm_at = [&](At a) -> const Worm& { return s.parts_[s.part_of(a.node)]->worms_[a.worm]; };
  // Where the packet's next flit stands.
  const auto with_flits = [&](At a) -> At {
    while (worm_at(a).sent == worm_at(a).known) {
      const std::uint32_t before = s.ports_[worm_at(a).input].far;
      a = {s.node_of_[before], s.lane_of_[before * s.lanes_ + worm_at(a).lane].worm};
    }
    return a;
  };
  // Who keeps an input's lane: the packet that it passes, else a front that waits for a channel.
  const auto front_in = [&](std::uint32_t port, std::uint32_t lane) -> At {
    const Node& node = s.nodes_[s.node_of_[port]];
    const std::uint32_t in_lane = (port - node.first_port) * s.lanes_ + lane, each = s.voq_ ? node.ports : 1;
    At found{0, kNone};
    for (std::uint32_t q = 0; q < each; ++q) {
      const At front{s.node_of_[port], s.queues_[node.first_queue + in_lane * each + q].front};
      if (front.worm == kNone) continue;
      if (worm_at(front).moving) return with_flits(front);
      if (found.worm == kNone) found = front;
    }
    return found;
  };
  const auto waits_for = [&](At a) -> At {
    const Worm& worm = worm_at(a);
    const Link& out = s.ports_[worm.output];
    for (std::uint32_t lanes = s.lanes_for(out, worm.want); lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      const std::uint32_t holder = s.lane_of_[worm.output * s.lanes_ + lane].worm;
      if (worm.moving ? holder != a.worm : holder == kNone) continue;
      return worm.moving ? front_in(out.far, lane) : with_flits({a.node, holder});
    }
    return {0, kNone};
  };
  At at{0, kNone};
  for (std::uint32_t port = 0; port < s.ports_.size() && at.worm == kNone; ++port)
    for (std::uint32_t lane = 0; lane < s.lanes_ && at.worm == kNone; ++lane) at = front_in(port, lane);
  std::vector<At> seen;
  while (at.worm != kNone && std::find(seen.begin(), seen.end(), at) == seen.end()) {
    seen.push_back(at);
    at = waits_for(at);
  }
  if (at.worm == kNone) return {};
  std::string said = "packets wait for each other in a cycle: ";
  bool first = true;
  for (auto next = std::find(seen.begin(), seen.end(), at); next != seen.end(); ++next) {
    const Worm& worm = worm_at(*next);
    const NodeId node = next->node;
    const auto port = static_cast<std::uint16_t>(worm.output - s.nodes_[node].first_port);
    said += (std::exchange(first, false) ? "" : ", ") + s.topology_.node_name(node) + " " +
            (port < s.topology_.port_count(node) ? s.topology_.port_name(node, port) : "network interface") + " for " +
            s.topology_.node_name(worm.dst);
  }
  return said;
}

}  // namespace exanet
