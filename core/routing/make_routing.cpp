// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "core/routing/routing.hpp"

namespace exanet {

// legs.cpp and adaptive.cpp
std::unique_ptr<Routing> make_valiant(const Topology&);
std::unique_ptr<Routing> make_ugal_local(const Topology&);
std::unique_ptr<Routing> make_ugal_global(const Topology&);
std::unique_ptr<Routing> make_progressive(const Topology&);
std::unique_ptr<Routing> make_adaptive(const Topology&);

namespace {

// A new routing is one line here, and one above.
constexpr struct {
  const char* name;
  std::unique_ptr<Routing> (*make)(const Topology&);
} kRoutings[] = {
    {"valiant", make_valiant}, {"ugal-l", make_ugal_local}, {"ugal-g", make_ugal_global}, {"par", make_progressive}, {"adaptive", make_adaptive},
};

}  // namespace

std::vector<std::string> routing_names() {
  std::vector<std::string> names;
  for (const auto& entry : kRoutings) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology) {
  std::string known = "minimal, up-down";
  for (const auto& entry : kRoutings) {
    if (name == entry.name) return entry.make(topology);
    known.append(", ").append(entry.name);
  }
  throw std::invalid_argument("there is no routing \"" + name + "\": use one of " + known);
}

}  // namespace exanet
