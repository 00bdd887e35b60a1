// SPDX-License-Identifier: Apache-2.0
// Dimension order on tori, with the virtual channel by the sign of the offset, cannot deadlock: looked at for every
// torus of up to 8x8x8 and every order of dimensions. And the search is no rubber stamp: it finds the cycle when the
// rule is broken on purpose.
#include "core/routing/channel_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "core/routing/make_topology.hpp"
#include "core/topology/grid_topology.hpp"
#include "core/topology/multicast.hpp"
#include "core/topology/qfdb_torus.hpp"
#include "core/topology/wrapped.hpp"

using namespace exanet;

namespace {

using Shape = std::vector<std::uint32_t>;
using Route = std::function<Hop(NodeId, NodeId)>;

// Each channel of the cycle leads to the node of the next, and for each pair some destination makes a packet want the
// one after the other.
bool is_cycle(const GridTopology& torus, const Route& route, const std::vector<Channel>& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Channel& held = cycle[i];
    const Channel& wanted = cycle[(i + 1) % cycle.size()];
    if (torus.neighbour(held.node, held.port).node != wanted.node) return false;
    bool some = false;
    for (NodeId dst = 0; dst < torus.endpoint_count() && !some; ++dst) {
      if (dst == held.node || dst == wanted.node) continue;
      const Hop first = route(held.node, dst), second = route(wanted.node, dst);
      some = first.port == held.port && first.vc == held.vc && second.port == wanted.port && second.vc == wanted.vc;
    }
    if (!some) return false;
  }
  return !cycle.empty();
}

}  // namespace

TEST_CASE("channel graph: no torus up to 8x8x8 has a cycle, whatever the order of dimensions") {
  // Naming the dimensions anew turns a shape and an order into another shape and the order 0, 1, 2: the rules, the
  // parity for packets half way round among them, treat all other dimensions alike. So all shapes in one order are all
  // shapes in every order.
  unsigned tori = 0, cyclic = 0;
  for (std::uint32_t x = 1; x <= 8; ++x)
    for (std::uint32_t y = 1; y <= 8; ++y)
      for (std::uint32_t z = 1; z <= 8; ++z) {
        if (x * y * z == 1) continue;
        cyclic += !find_dependency_cycle(GridTopology(Shape{x, y, z}, true, {0, 1, 2})).empty();
        ++tori;
      }
  // That argument is looked at as well, as far as it is cheap.
  Shape order{0, 1, 2};
  do {
    for (std::uint32_t shape = 1; shape < 64; ++shape) {
      cyclic +=
          !find_dependency_cycle(GridTopology(Shape{1 + shape % 4, 1 + shape / 4 % 4, 1 + shape / 16}, true, order))
               .empty();
      ++tori;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  MESSAGE(tori << " tori, " << cyclic << " with a cycle");
  CHECK(tori == 511 + 6 * 63);
  CHECK(cyclic == 0);
}

TEST_CASE(
    "channel graph: a torus' miniatures have a cycle exactly when it has one, with the rule of virtual channels kept "
    "or broken") {
  unsigned cyclic = 0;
  for (const Shape& order : {Shape{0, 1, 2}, Shape{2, 0, 1}})
    for (std::uint32_t x = 1; x <= 6; ++x)
      for (std::uint32_t y = 1; y <= 6; ++y)
        for (std::uint32_t z = 2; z <= 6; ++z)
          for (const bool broken : {false, true}) {
            const auto has_cycle = [&](const Topology& t) {
              return !find_dependency_cycle(t, [&](NodeId at, NodeId dst) {
                        const Hop hop = t.next_hop(at, dst);
                        return Hop{hop.port, broken ? std::uint8_t{0} : hop.vc};
                      }).empty();
            };
            const GridTopology torus(Shape{x, y, z}, true, order);
            bool some = false;
            for (const auto& miniature : torus.miniatures()) some = some || has_cycle(*miniature);
            cyclic += some;
            CHECK(some == has_cycle(torus));
          }
  CHECK(cyclic > 100);
}

TEST_CASE("channel graph: with the rule of virtual channels broken, a cycle is found and is one") {
  for (const Shape& shape : {Shape{5}, Shape{8}, Shape{4, 4}, Shape{3, 5}, Shape{8, 8, 8}}) {
    const GridTopology torus(shape, true, {});
    const Route broken = [&](NodeId at, NodeId dst) { return Hop{torus.next_hop(at, dst).port, 0}; };
    const auto cycle = find_dependency_cycle(torus, broken);
    CAPTURE(shape.size());
    CHECK(is_cycle(torus, broken, cycle));
  }
  // Nobody goes more than one link in a ring of three, so nothing can close.
  const GridTopology three(Shape{3}, true, {});
  CHECK(find_dependency_cycle(three, [&](NodeId at, NodeId dst) {
          return Hop{three.next_hop(at, dst).port, 0};
        }).empty());
}

TEST_CASE("channel graph: two orders of dimensions at once close a cycle even in a mesh") {
  const GridTopology one(Shape{3, 3}, false, {0, 1}), other(Shape{3, 3}, false, {1, 0});
  const Route mixed = [&](NodeId at, NodeId dst) { return Hop{(dst % 2 ? one : other).next_hop(at, dst).port, 0}; };
  CHECK(find_dependency_cycle(one, [&](NodeId at, NodeId dst) { return Hop{one.next_hop(at, dst).port, 0}; }).empty());
  const auto cycle = find_dependency_cycle(one, mixed);
  CHECK(is_cycle(one, mixed, cycle));
}

// Packets to one node and to several together. Dimensions are named anew as above.
TEST_CASE("channel graph: multicast closes no cycle in tori of up to 8x8 and 6x6x6, meshes and tori of QFDBs") {
  unsigned machines = 0, cyclic = 0;
  const auto look = [&](const Topology& topology) {
    CHECK(topology.multicasts());
    cyclic += !find_multicast_cycle(topology, topology).empty();
    ++machines;
  };
  for (std::uint32_t x = 1; x <= 8; ++x)
    for (std::uint32_t y = 1; y <= 8; ++y)
      for (std::uint32_t z = 1; z <= (x <= 6 && y <= 6 ? 6 : 1); ++z)
        if (x * y * z > 1) look(GridTopology(Shape{x, y, z}, true, {0, 1, 2}));
  Shape order{0, 1, 2};
  do {
    look(GridTopology(Shape{4, 5, 3}, true, order));
    look(GridTopology(Shape{3, 4, 3}, false, order));
    look(QfdbTorus(Shape{3, 4, 2}, order));
  } while (std::next_permutation(order.begin(), order.end()));
  look(QfdbTorus(Shape{4, 1, 1}, {}));
  look(QfdbTorus(Shape{1, 1, 1}, {}));
  look(QfdbTorus(Shape{7, 1, 2}, {}));
  MESSAGE(machines << " machines, " << cyclic << " with a cycle");
  CHECK(cyclic == 0);
}

TEST_CASE("channel graph: trees in another order of dimensions than routes close a cycle with them") {
  const GridTopology one(Shape{3, 3}, false, {0, 1}), other(Shape{3, 3}, false, {1, 0});
  CHECK(find_multicast_cycle(one, one).empty());
  CHECK(find_multicast_cycle(other, other).empty());
  CHECK(!find_multicast_cycle(one, other).empty());
}

// Groups of all endpoints, and of some, from every source; `ruin` lays the trees by one channel.
std::vector<Channel> group_cycle(const TopologySpec& spec, bool ruin) {
  class OneChannel final : public WrappedTopology {
   public:
    using WrappedTopology::WrappedTopology;
    Copies copies(NodeId at, std::uint16_t from, NodeId src, NodeId to) const override {
      Copies all = inner_->copies(at, from, src, to);
      all.channels = 0;
      return all;
    }
    NodeId multicast_to(NodeId src, const std::vector<NodeId>& members) override {
      return inner_->multicast_to(src, members);
    }
  };
  std::unique_ptr<Topology> made = make_topology(spec);
  REQUIRE(made->multicasts());
  if (ruin) made = std::make_unique<OneChannel>(std::move(made));
  std::vector<std::pair<NodeId, NodeId>> packets;
  for (NodeId src = 0; src < made->endpoint_count(); ++src)
    for (std::uint32_t every = 1; every <= 3; ++every) {
      std::vector<NodeId> members, reached;
      for (NodeId node = 0; node < made->endpoint_count(); ++node)
        if ((node + src) % every == 0 && node != src) members.push_back(node);
      if (members.empty()) continue;
      const NodeId to = made->multicast_to(src, members);
      packets.emplace_back(src, to);
      reached = multicast_destinations(*made, src, to);
      std::sort(reached.begin(), reached.end());
      CHECK(reached == members);
    }
  return find_multicast_cycle(*made, *made, packets);
}

TEST_CASE("channel graph: multicast to groups reaches each member once, and closes no cycle") {
  for (const Shape& shape : {Shape{1}, Shape{2}, Shape{3}, Shape{2, 3, 1}, Shape{1, 1, 4}, Shape{1, 5, 2}}) {
    const TopologySpec dragonfly{"dragonfly", shape};
    CHECK(group_cycle(dragonfly, false).empty());
    // Where a group is one switch there are no local links, whose channels the trees could mix up.
    CHECK(group_cycle(dragonfly, true).empty() == (shape == Shape{1, 1, 4}));
  }
  for (const TopologySpec& tree :
       {TopologySpec{"fat-tree", {4}}, TopologySpec{"fat-tree", {3, 2, 4, 2}}, TopologySpec{"k-ary-n-tree", {4, 3}},
        TopologySpec{"xgft", {4, 4, 4, 1, 2, 2}}, TopologySpec{"xgft", {4, 4, 1, 1}}})
    CHECK(group_cycle(tree, false).empty());
}

TEST_CASE("multicast: networks whose routers have more ports than can copy, or endpoints more links, do not") {
  CHECK(!make_topology({"dragonfly", {5}})->multicasts());
  CHECK(!make_topology({"fat-tree", {16, 16}})->multicasts());
  CHECK(make_topology({"fat-tree", {8, 8, 16}})->multicasts());
  CHECK(!make_topology({"xgft", {3, 2, 4, 2, 3, 1}})->multicasts());
}

TEST_CASE("multicast: the smallest box with its members is taken where there are no groups") {
  GridTopology torus(Shape{6, 4}, true, {}), mesh(Shape{6, 4}, false, {});
  CHECK(torus.multicast_to(1, {0, 2, 7}) == multicast_box(1, 1));
  CHECK(torus.multicast_to(1, {5, 19}) == multicast_box(2, 1));
  CHECK(mesh.multicast_to(1, {5, 19}) == multicast_box(4, 3));
}

TEST_CASE("multicast: each node of a box gets one copy, the source and others none") {
  for (const bool wraps : {false, true})
    for (const Shape& shape : {Shape{5}, Shape{6, 3}, Shape{2, 4, 3}}) {
      const GridTopology grid(shape, wraps, {});
      for (NodeId src = 0; src < grid.node_count(); ++src)
        for (std::uint32_t hops = 0; hops < 27; ++hops) {
          const std::uint32_t each[3] = {hops % 3, hops / 3 % 3, hops / 9 == 2 ? kMostHops : hops / 9};
          std::vector<NodeId> expected,
              nodes = multicast_destinations(grid, src, multicast_box(each[0], each[1], each[2]));
          for (NodeId node = 0; node < grid.node_count(); ++node) {
            bool inside = node != src;
            for (std::uint32_t d = 0, a = src, b = node; d < shape.size(); a /= shape[d], b /= shape[d], ++d) {
              const std::uint32_t up = (b + shape[d] - a % shape[d]) % shape[d], down = (shape[d] - up) % shape[d];
              inside = inside && (wraps ? std::min(up, down) : b % shape[d] > a % shape[d] ? up : down) <= each[d];
            }
            if (inside) expected.push_back(node);
          }
          std::sort(nodes.begin(), nodes.end());
          CHECK(nodes == expected);
        }
    }
}
