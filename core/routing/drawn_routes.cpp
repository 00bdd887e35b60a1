// SPDX-License-Identifier: Apache-2.0
// Spreads packets over a topology's shortest routes without looking at queues: a way of its own for each pair of
// endpoints, drawn once (as a switch does that hashes addresses), or for each packet (spraying). For topologies whose
// equal ports may be taken in any combination, as up a fat tree.
//
// No deadlock: the dependencies of all these routes together have no cycle on these topologies, which find_cycle()
// shows.
#include "core/config/error.hpp"
#include "core/routing/registry.hpp"

namespace exanet {

namespace {

class DrawnRoutes final : public Routing {
 public:
  DrawnRoutes(const Topology& topology, bool each_packet) : topology_(topology), each_packet_(each_packet) {
    if (!topology.any_equal_port())
      throw ConfigError("topology.routing",
                        "this routing needs a topology with several equal routes, such as a fat tree or a graph; here "
                        "packets that choose freely could wait for each other in a cycle: choose another routing, e.g. "
                        "adaptive, or valiant");
  }

  std::uint8_t virtual_channels() const override { return topology_.virtual_channels(); }
  bool adaptive() const override { return false; }
  bool spreads() const override { return each_packet_; }

  // The state is the pair's number, drawn at the source, where `at` is that.
  Hop choose(const RouteRequest& r, std::uint32_t& state, const CongestionView&) const override {
    if (state == 0) state = static_cast<std::uint32_t>(Random(r.at, r.dst).next()) | 1u;
    const Hop own = topology_.next_hop(r.at, r.dst);
    PortList ports;
    topology_.equal_ports(r.at, r.dst, ports);
    if (ports.count == 1) return own;
    return {ports.port[Random(each_packet_ ? r.draw : state, r.at).below(ports.count)], own.vc};
  }

  std::vector<Channel> find_cycle(const CheckProgress& progress) const override {
    return find_equal_cycle(topology_, progress);
  }

 private:
  const Topology& topology_;
  bool each_packet_;
};

}  // namespace

namespace routings {

RoutingKind random_route() {
  return {.name = "random",
          .help = "one of the shortest, drawn once for each pair of endpoints; on fat trees and graphs",
          .make = [](const Topology& t) -> std::unique_ptr<Routing> { return std::make_unique<DrawnRoutes>(t, false); },
          .chooses = true};
}

RoutingKind spray() {
  return {
      .name = "spray",
      .help =
          "one of the shortest, drawn for each packet, so that packets overtake each other; on fat trees and graphs",
      .make = [](const Topology& t) -> std::unique_ptr<Routing> { return std::make_unique<DrawnRoutes>(t, true); },
      .chooses = true};
}

}  // namespace routings

}  // namespace exanet
