// SPDX-License-Identifier: Apache-2.0
// Minimal adaptive routing: of all ports on a shortest route, the one before which the least is queued; one virtual
// channel more than the topology's own routes need. On a fat tree that is the least loaded of the ports up.
//
// No deadlock: the topology's own routes remain as an escape in channels of their own (Duato 1993, 1996). A packet
// takes the adaptive channel only where it sees space for itself, else it asks for the escape; while it is blocked it
// looks again, so that it never waits for an adaptive channel for good. From the escape it may go back to adaptive
// channels. It gets there: after each hop of either kind the topology's own route is shorter than before
// (Topology::minimal_ports), also where routes lead round what has failed, which need not be shortest ones.

#include "core/config/error.hpp"
#include "core/routing/registry.hpp"

namespace exanet {

namespace {

class MinimalAdaptive final : public Routing {
 public:
  explicit MinimalAdaptive(const Topology& topology) : topology_(topology), adaptive_(topology.virtual_channels()) {
    if (adaptive_ >= 8)
      throw ConfigError("topology.routing",
                        "adaptive routing needs a ninth virtual channel on this topology: choose another");
  }

  std::uint8_t virtual_channels() const override { return static_cast<std::uint8_t>(adaptive_ + 1); }
  bool adaptive() const override { return true; }
  bool may_reroute() const override { return true; }
  bool spreads() const override { return true; }

  Hop choose(const RouteRequest& r, std::uint32_t&, const CongestionView& view) const override {
    PortList ports;
    topology_.minimal_ports(r.at, r.dst, ports);
    std::uint32_t least = UINT32_MAX;
    Hop best = topology_.next_hop(r.at, r.dst);
    if (ports.count == 1) {  // queues need not be looked at, which may be long
      const Hop only{ports.port[0], adaptive_};
      return view.has_credit(r.at, only) ? only : best;
    }
    for (std::uint32_t i = 0; i < ports.count; ++i) {  // from a port of the packet's own, so that equal ones share
      const Hop hop{ports.port[(i + r.draw) % ports.count], adaptive_};
      if (!view.has_credit(r.at, hop)) continue;
      const std::uint32_t queued = view.queued_words(r.at, hop.port);
      if (queued >= least) continue;
      least = queued;
      best = hop;
    }
    return best;
  }

  std::vector<Channel> find_cycle(const CheckProgress& progress) const override {
    return find_escape_cycle(topology_, progress);
  }

 private:
  const Topology& topology_;
  std::uint8_t adaptive_;
};

}  // namespace

namespace routings {

RoutingKind adaptive() {
  return {
      .name = "adaptive",
      .help =
          "the shortest one with the least queued before it, hop by hop; the topology's own where there is no space",
      .make = [](const Topology& t) -> std::unique_ptr<Routing> { return std::make_unique<MinimalAdaptive>(t); },
      .chooses = true};
}

}  // namespace routings

}  // namespace exanet
