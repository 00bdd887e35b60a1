// SPDX-License-Identifier: Apache-2.0
// Harness of the tests of routing: topologies with a routing, and what traffic makes of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/open_loop.hpp"

namespace exanet::testing {

inline std::string describe(const TopologySpec& spec) {
  std::string text = spec.kind + " " + spec.routing;
  for (const std::uint32_t side : spec.shape) text.append(" ").append(std::to_string(side));
  if (spec.rails > 1) text.append(", rails: ").append(std::to_string(spec.rails));
  return text;
}

inline OpenLoopResult measure(const TopologySpec& spec, const std::string& pattern, double load,
                              Time window = Time::us(60)) {
  OpenLoopConfig config;
  config.pattern = pattern;
  config.load = load;
  config.warm_up = Time::us(30);
  config.measure = window;
  NetworkConfig fabric = published_fabric();
  fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  OpenLoop loop(spec, fabric, config);
  REQUIRE(loop.run());  // checks that every packet arrives once
  return loop.result();
}

inline TopologySpec with(TopologySpec spec, const std::string& routing, std::vector<std::string> failed = {}) {
  spec.routing = routing;
  spec.failed = std::move(failed);
  return spec;
}

// Those of `specs` whose endpoints hang on switches by one link, with so many.
inline std::vector<TopologySpec> on_rails(const std::vector<TopologySpec>& specs, std::uint32_t rails) {
  std::vector<TopologySpec> found;
  for (const TopologySpec& spec : specs) {
    const auto topology = make_topology(spec);
    if (!topology->switched() || topology->rails() > 1) continue;
    found.push_back(spec);
    found.back().rails = rails;
  }
  return found;
}

// Needs more channels than routers have, or is not made for the topology.
inline bool cannot_be(const TopologySpec& spec) {
  try {
    make_topology(spec);
  } catch (const std::invalid_argument& e) {
    REQUIRE(std::string(e.what()).find("choose another") != std::string::npos);
    return true;
  }
  return false;
}

inline std::string complaint(const TopologySpec& spec) {
  try {
    make_topology(spec);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

}  // namespace exanet::testing
