// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "core/routing/routing.hpp"
#include "core/topology/grid_topology.hpp"
#include "core/topology/qfdb_torus.hpp"
#include "core/topology/topology.hpp"
#include "core/topology/wrapped.hpp"

namespace exanet {

// Each in the file of its name; hypercube and full mesh in direct.cpp, k-ary-n-tree and xgft in fat_tree.cpp, flattened
// butterfly in hyperx.cpp.
std::unique_ptr<Topology> make_qfdb_dragonfly(const TopologySpec&);
std::unique_ptr<Topology> make_fat_tree(const TopologySpec&);
std::unique_ptr<Topology> make_k_ary_n_tree(const TopologySpec&);
std::unique_ptr<Topology> make_xgft(const TopologySpec&);
std::unique_ptr<Topology> make_megafly(const TopologySpec&);
std::unique_ptr<Topology> make_slim_fly(const TopologySpec&);
std::unique_ptr<Topology> make_graph(const TopologySpec&);
// rerouted.cpp
std::unique_ptr<Topology> make_rerouted(std::unique_ptr<Topology> inner, const std::vector<std::string>& failed, bool own_ways);
std::unique_ptr<Topology> make_dragonfly(const TopologySpec&);
std::unique_ptr<Topology> make_hyperx(const TopologySpec&);
std::unique_ptr<Topology> make_flattened_butterfly(const TopologySpec&);
std::unique_ptr<Topology> make_jellyfish(const TopologySpec&);
std::unique_ptr<Topology> make_hypercube(const TopologySpec&);
std::unique_ptr<Topology> make_full_mesh(const TopologySpec&);

namespace {

using Maker = std::unique_ptr<Topology> (*)(const TopologySpec&);

// A new topology is one line here, and one above.
constexpr struct {
  const char* kind;
  Maker make;
} kKinds[] = {
    {"qfdb-torus", [](const TopologySpec& s) -> std::unique_ptr<Topology> { return std::make_unique<QfdbTorus>(s.shape, s.order); }},
    {"mesh", [](const TopologySpec& s) -> std::unique_ptr<Topology> { return std::make_unique<GridTopology>(s.shape, false, s.order); }},
    {"torus", [](const TopologySpec& s) -> std::unique_ptr<Topology> { return std::make_unique<GridTopology>(s.shape, true, s.order); }},
    {"fat-tree", make_fat_tree},
    {"k-ary-n-tree", make_k_ary_n_tree},
    {"xgft", make_xgft},
    {"dragonfly", make_dragonfly},
    {"qfdb-dragonfly", make_qfdb_dragonfly},
    {"megafly", make_megafly},
    {"slim-fly", make_slim_fly},
    {"hyperx", make_hyperx},
    {"flattened-butterfly", make_flattened_butterfly},
    {"jellyfish", make_jellyfish},
    {"hypercube", make_hypercube},
    {"full-mesh", make_full_mesh},
    {"graph", make_graph},
};

}  // namespace

std::vector<std::string> topology_kinds() {
  std::vector<std::string> names;
  for (const auto& entry : kKinds) names.emplace_back(entry.kind);
  return names;
}

namespace {

std::unique_ptr<Topology> make_kind(const TopologySpec& spec) {
  std::string known;
  for (const auto& entry : kKinds) {
    if (spec.kind == entry.kind) return entry.make(spec);
    known.append(known.empty() ? "" : ", ").append(entry.kind);
  }
  throw std::invalid_argument("there is no topology \"" + spec.kind + "\": use one of " + known);
}

// A topology whose packets follow a routing of their own.
class Routed final : public WrappedTopology {
 public:
  Routed(std::unique_ptr<Topology> inner, const std::string& name)
      : WrappedTopology(std::move(inner)), routing_(make_routing(name, *inner_)) {}
  const Routing* routing() const override { return routing_.get(); }
  std::uint8_t virtual_channels() const override { return routing_->virtual_channels(); }

 private:
  std::unique_ptr<Routing> routing_;
};

}  // namespace

std::unique_ptr<Topology> make_topology(const TopologySpec& spec) {
  std::unique_ptr<Topology> topology = make_kind(spec);
  const std::string& routing = spec.routing;
  if (routing == "up-down" || !spec.failed.empty()) topology = make_rerouted(std::move(topology), spec.failed, routing != "up-down");
  const bool own = routing.empty() || routing == "minimal" || routing == "up-down" || (routing == "shortest" && spec.kind == "graph");
  return own ? std::move(topology) : std::make_unique<Routed>(std::move(topology), routing);
}

}  // namespace exanet
