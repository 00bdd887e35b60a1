// SPDX-License-Identifier: Apache-2.0
// Contract of a machine's shape. A node is a router with inter-tile ports (links to other nodes). An endpoint, e.g. one
// MPSoC, has intra-tile ports besides (towards its network interface); a node without them is a switch.
//
// Contract: nodes are 0..node_count()-1, endpoints the first endpoint_count() of them; inter-tile ports of a node
// 0..port_count(node)-1; links are bidirectional: neighbour(neighbour(n,p)) == (n,p). next_hop() is a pure function and
// reaches the endpoint `dst` from any node, by a shortest route if shortest() says so, without a cycle in the channel
// dependency graph (topology_contract_test checks all of this for every topology).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/config/visit.hpp"

namespace exanet {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffffu;
inline constexpr std::uint16_t kNoRoute = 0xffff;  // in place of an output port: there is no route
inline constexpr std::uint32_t kMostNodes = 1u << 22;  // node identifiers have 22 bits

struct PortRef {
  NodeId node = kNoNode;  // kNoNode: nothing is plugged into this port
  std::uint16_t port = 0;
};

struct Hop {
  std::uint16_t port;  // inter-tile output port
  std::uint8_t vc;  // virtual channel on that link
};

inline constexpr std::uint32_t kMostCopyPorts = 16;  // of a router that copies

// Where a router sends copies of a packet.
struct Copies {
  std::uint16_t ports = 0;  // inter-tile ports, a bit each
  std::uint16_t channels = 0;  // virtual channel behind each
  bool here = false;  // and to its own network interface
  void add(std::uint32_t port, std::uint8_t vc) {
    ports = static_cast<std::uint16_t>(ports | 1u << port);
    channels = static_cast<std::uint16_t>(channels | std::uint32_t{vc} << port);
  }
};

// Output ports of one router.
struct PortList {
  std::uint32_t count = 0;
  std::uint16_t port[128];
  void add(std::uint16_t p) {
    if (count < 128) port[count++] = p;
  }
};

class Routing;  // core/routing/routing.hpp; a topology hands it on and knows nothing of it
class LinkStates;  // core/faults/link_state.hpp
class BridgedTopology;  // core/topology/bridged.hpp

class Topology {
 public:
  virtual ~Topology() = default;
  virtual std::uint32_t node_count() const = 0;
  virtual std::uint32_t endpoint_count() const { return node_count(); }
  bool switched() const {
    return node_count() > endpoint_count();
  }  // every endpoint hangs on a switch by its only port, or on one by each of its rails
  // Links by which each endpoint hangs on the network, all alike; it has ports to its interface for each
  // (core/topology/rails.hpp). One where endpoints are routers themselves.
  virtual std::uint16_t rails() const { return 1; }
  virtual std::uint16_t port_count(NodeId node) const = 0;
  virtual PortRef neighbour(NodeId node, std::uint16_t port) const = 0;
  virtual Hop next_hop(NodeId at, NodeId dst) const = 0;  // at != dst; pure function of its arguments
  // Where routers go by the port `from` by which a packet has come as well (kFromInterface: by none), packets follow
  // this in place of next_hop().
  virtual bool routes_by_port() const { return false; }
  virtual Hop route(NodeId at, std::uint16_t /*from*/, NodeId dst) const { return next_hop(at, dst); }
  virtual void minimal_ports(NodeId at, NodeId dst, PortList& out) const {
    out.add(next_hop(at, dst).port);
  }  // behind each of which next_hop()'s routes are shorter than from here
  // Any of equal_ports() may be taken at each router, in next_hop()'s channel: all such routes together close no cycle.
  virtual bool any_equal_port() const { return false; }
  virtual void equal_ports(NodeId at, NodeId dst, PortList& out) const { minimal_ports(at, dst, out); }
  virtual bool shortest() const { return true; }  // no way of fewer links than next_hop()'s
  virtual std::uint8_t virtual_channels() const { return 2; }  // next_hop() answers channels below this
  // Small machines that have a cycle of dependencies if this one has; none: not known.
  virtual std::vector<std::unique_ptr<Topology>> miniatures() const { return {}; }
  virtual const Routing* routing() const { return nullptr; }  // what packets follow instead of next_hop(), if anything
  virtual const BridgedTopology* bridged() const { return nullptr; }  // itself, where it is two networks
  // Where a router sends copies of a packet from `src` to several nodes, a box or a group (multicast.hpp), that comes
  // to it by port `from`. Contract: none of the three without multicasts(), which is so where copies close no cycle,
  // with each other and with next_hop()'s routes.
  virtual bool multicasts() const { return false; }
  virtual Copies copies(NodeId, std::uint16_t /*from*/, NodeId /*src*/, NodeId /*to*/) const { return {}; }
  // The destination of multicast packets from `src` that reach each of `members` once, but for `src`; where only boxes
  // are known, others too. Called before packets have it as their destination, by one thread.
  virtual NodeId multicast_to(NodeId /*src*/, const std::vector<NodeId>& /*members*/) { return kNoNode; }
  virtual bool alive(NodeId) const { return true; }  // has not failed
  // Where routes follow states of links: from now on they are those of `states`. Called while nobody asks for routes.
  // Until the first call everything works.
  virtual bool follows() const { return false; }
  virtual void follow(const LinkStates& /*states*/) {}
  virtual bool routes_by_switch() const { return false; }  // all endpoints of a switch are reached by the same routes
  virtual std::uint8_t link_class(NodeId node, std::uint16_t port) const = 0;  // index into NetworkConfig::links
  virtual std::string node_name(NodeId node) const = 0;  // as a person would say it, e.g. "qfdb(1,0,2).F3"
  virtual std::string port_name(NodeId node, std::uint16_t port) const = 0;  // e.g. "X+", "F2"
  virtual void position(NodeId node, float xyz[3]) const = 0;  // where to draw it; neighbours near each other
  // In the upper of two halves with few links between them: the lower one is never larger.
  virtual bool upper_half(NodeId node) const = 0;
};

// A graph of one's own, as a file says it.
struct GraphSpec {
  std::vector<std::string> names;  // of the routers
  std::vector<std::uint32_t> hosts;  // endpoints of each
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      links;  // between routers, each once; several between two are several links
  // Of each link, one more than the place of its kind in TopologySpec::link_kinds, 0 for the usual one; empty: all 0.
  std::vector<std::uint32_t> kinds = {};
};

// Shape as the machine description says it.
struct TopologySpec {
  std::string kind;  // the name of one in registry.hpp
  std::vector<std::uint32_t>
      shape;  // sides; QFDBs in x, y, z for qfdb-torus; others: the first lines of each topology's file
  std::vector<std::uint32_t> order =
      {};  // dimensions in the order of routing, counted from 0; empty: last dimension first
  GraphSpec graph = {};  // of the kind "graph"
  std::string routing = {};  // "": the topology's own; else a name in core/routing/registry.hpp
  std::vector<std::string> failed =
      {};  // nodes, links ("NODE PORT"), or how many at random ("links:NUMBER:SEED", "nodes:NUMBER:SEED")
  std::vector<std::string> link_kinds = {};  // beyond those of the kind of topology: link_kinds.hpp
  std::uint32_t rails = 1;  // planes of switches, with a link of each endpoint into each: rails.hpp
  bool both_channels =
      false;  // packets take the channel of their sign in short rings and meshes, too: as the gateware's
  // Routes follow states of links, where the routing is one of tables or of the topology's own. Not a key of machine
  // files.
  bool follows = false;
  // Node and port; packets that would take them take another way, or are discarded: disabled_ports.hpp. Not a key of
  // machine files.
  std::vector<std::pair<NodeId, std::uint32_t>> disabled = {};
  std::string arrangement = {};  // of a dragonfly's links between groups; "": absolute (dragonfly.cpp)
  // Two networks that gateways join (bridged.hpp), in place of all the above but for the kind; their names; and an
  // endpoint of each for each gateway.
  std::vector<TopologySpec> networks = {};
  std::vector<std::string> network_names = {};
  std::vector<std::pair<NodeId, NodeId>> gateways = {};
};

template <typename V>
void visit(GraphSpec& c, V&& v) {
  v("names", c.names);
  v("hosts", c.hosts);
  v("links", c.links);
  v("kinds", c.kinds, kOptional);
}

template <typename V>
void visit(TopologySpec& c, V&& v) {
  v("kind", c.kind);
  v("shape", c.shape);
  v("order", c.order, kOptional);
  v("routing", c.routing, kOptional);
  v("failed", c.failed, kOptional);
  v("graph", c.graph, kOptional);
  v("link_kinds", c.link_kinds, kOptional);
  v("rails", c.rails, kOptional);
  v("arrangement", c.arrangement, kOptional);
  v("networks", c.networks, kOptional);
  v("network_names", c.network_names, kOptional);
  v("gateways", c.gateways, kOptional);
}

}  // namespace exanet
