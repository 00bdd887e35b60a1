// SPDX-License-Identifier: Apache-2.0
// Jellyfish (Singla, Hong, Popa and Godfrey 2012): switches in a random regular graph. The shape is [switches, links of
// a switch to others, endpoints a switch, seed]; the seed may be left out and is 1 then. The same shape is the same
// graph everywhere.
//
// Random pairs of switches with free ports are linked; where the rest cannot be linked among themselves, a link is
// taken out and its two ends are given to them, as in the paper. A graph that came out in several parts is thrown away.
//
// Routing is by shortest routes with distance classes (core/topology/route_tables.hpp): as many virtual channels are
// needed as the graph is wide.
#include <algorithm>

#include "core/engine/random.hpp"
#include "core/topology/hosted.hpp"
#include "core/topology/registry.hpp"
#include "core/topology/route_tables.hpp"

namespace exanet {

namespace {

using Graph = std::vector<std::vector<std::uint32_t>>;

bool linked(const Graph& graph, std::uint32_t a, std::uint32_t b) {
  return std::find(graph[a].begin(), graph[a].end(), b) != graph[a].end();
}

void link(Graph& graph, std::uint32_t a, std::uint32_t b) {
  graph[a].push_back(b);
  graph[b].push_back(a);
}

void unlink(Graph& graph, std::uint32_t a, std::uint32_t b) {
  std::erase(graph[a], b);
  std::erase(graph[b], a);
}

// Takes a random link (x, y) out and links a with x and b with y. False when the draw does not fit.
bool swap_in(Graph& graph, std::uint32_t a, std::uint32_t b, Random& random) {
  const std::uint32_t x = random.below(static_cast<std::uint32_t>(graph.size()));
  if (graph[x].empty()) return false;
  const std::uint32_t y = graph[x][random.below(static_cast<std::uint32_t>(graph[x].size()))];
  if (x == a || y == b || x == b || y == a || linked(graph, a, x) || linked(graph, b, y)) return false;
  unlink(graph, x, y);
  link(graph, a, x);
  link(graph, b, y);
  return true;
}

Graph random_graph(std::uint32_t switches, std::uint32_t degree, Random& random) {
  Graph graph(switches);
  std::vector<std::uint32_t> open;  // switches with free ports
  open.reserve(switches);
  for (std::uint32_t s = 0; s < switches; ++s) open.push_back(s);
  for (std::uint32_t failures = 0; !open.empty();) {
    const std::uint32_t a = open[random.below(static_cast<std::uint32_t>(open.size()))];
    const std::uint32_t b = open[random.below(static_cast<std::uint32_t>(open.size()))];
    if (a != b && !linked(graph, a, b)) {
      link(graph, a, b);
      failures = 0;
    } else if (++failures > 100 + 4 * open.size()) {
      // Two free ports, of one switch or of two that are linked already, go between the ends of another link.
      if (a == b && degree - graph[a].size() < 2) {
        if (open.size() > 1) continue;
        return {};  // one port is left over; the caller made sure that the sum is even
      }
      for (int tries = 0; !swap_in(graph, a, b, random); ++tries)
        if (tries > 10'000) return {};
      failures = 0;
    }
    std::erase_if(open, [&](std::uint32_t s) { return graph[s].size() >= degree; });
  }
  return graph;
}

class Jellyfish final : public HostedTopology {
 public:
  Jellyfish(std::uint32_t switches, std::uint32_t degree, std::uint32_t hosts, std::uint32_t seed)
      : HostedTopology(hosts, switches, degree) {
    for (std::uint64_t attempt = 0; attempt < 100; ++attempt) {
      Random random(seed, attempt);
      graph_ = random_graph(switches, degree, random);
      if (!graph_.empty() && build_tables()) return;
    }
    throw std::invalid_argument(
        "no connected random graph of this shape was found: give each switch more links, or use another seed");
  }

  std::uint8_t virtual_channels() const override { return tables_.virtual_channels(); }
  bool any_equal_port() const override { return true; }  // each hop lowers the distance class

 protected:
  PortRef beyond(std::uint32_t here, std::uint16_t port) const override { return links_[here][port]; }
  void minimal_towards(std::uint32_t here, std::uint32_t there, PortList& out) const override {
    tables_.minimal(links_, here, there, out);
  }
  Hop towards(std::uint32_t here, std::uint32_t there) const override { return tables_.towards(here, there); }
  std::string switch_name(std::uint32_t number) const override { return std::to_string(number).insert(0, "switch"); }
  std::string fabric_port_name(std::uint32_t number, std::uint16_t port) const override {
    return switch_name(graph_[number][port]);
  }
  void switch_position(std::uint32_t number, float xyz[3]) const override {
    std::uint32_t side = 1;
    while (side * side < switches_) ++side;
    xyz[0] = static_cast<float>(number % side);
    xyz[1] = static_cast<float>(number / side);
    xyz[2] = 0;
  }

 private:
  static constexpr std::uint32_t kWidest = 8;

  // False when the graph is not in one part, or wider than there are virtual channels.
  bool build_tables() {
    links_.assign(graph_.size(), {});
    for (std::uint32_t s = 0; s < graph_.size(); ++s)
      for (const std::uint32_t other : graph_[s]) {
        const auto back = std::find(graph_[other].begin(), graph_[other].end(), s) - graph_[other].begin();
        links_[s].push_back({other, static_cast<std::uint16_t>(back)});
      }
    return tables_.find_shortest(links_, kWidest);
  }

  Graph graph_;
  Adjacency links_;
  RouteTables tables_;
};

std::unique_ptr<Topology> make_jellyfish(const TopologySpec& spec) {
  const auto& s = spec.shape;
  if (s.size() != 3 && s.size() != 4)
    throw std::invalid_argument(
        "a jellyfish takes [switches, links of a switch to others, endpoints a switch, seed], e.g. [64, 6, 4, 1]");
  if (s[0] < 2 || s[0] > 8192) throw std::invalid_argument("a jellyfish must have from 2 to 8192 switches");
  if (s[1] < 1 || s[1] >= s[0] || s[1] > 254)
    throw std::invalid_argument(
        "a switch of a jellyfish must have from 1 to 254 links to others, and fewer links than there are switches");
  if (std::uint64_t{s[0]} * s[1] % 2 != 0)
    throw std::invalid_argument(
        "the number of switches times the links of a switch must be even, because each link has two ends: change one "
        "of them by 1");
  return std::make_unique<Jellyfish>(s[0], s[1], s[2], s.size() == 4 ? s[3] : 1);
}

}  // namespace

namespace topologies {

TopologyKind jellyfish() {
  return {.name = "jellyfish",
          .help = "switches in a random regular graph",
          .shape = "[switches, links of a switch to others, endpoints a switch, seed]",
          .links = {"link"},
          .samples = {{{12, 3, 2}}, {{20, 4, 3}}, {{35, 6, 2, 7}}, {{4, 3, 1}}},
          .make = make_jellyfish};
}

}  // namespace topologies

}  // namespace exanet
