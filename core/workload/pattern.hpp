// SPDX-License-Identifier: Apache-2.0
// Who sends to whom. The names and definitions are those of Dally and Towles, "Principles and Practices of
// Interconnection Networks" (2004), section 3.2, with endpoints numbered as the topology numbers them.
//
// Contract: destination() answers an endpoint other than `src`, or kNoNode if `src` sends nothing in this pattern. It
// is a pure function of its arguments and of what it draws from `random`; `index` counts what `src` has sent before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/random.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual NodeId destination(NodeId src, std::uint64_t index, Random& random) const = 0;
};

struct PatternKind {
  const char* name;  // as --traffic calls it
  const char* figure;  // what stands behind its colon, e.g. "SHARE"; "" where nothing does
  const char* help;  // to whom an endpoint sends, as a clause
  bool text = false;  // what stands there is a text and must be given, not a number
};

std::vector<PatternKind> pattern_kinds();
std::vector<std::string> pattern_names();

// `name` is one of pattern_names(), with a figure behind a colon where the pattern takes one ("hot-spot:0.1",
// "incast:16"). A matrix stands there itself, in brackets: for each source in turn its destinations, each with a
// weight, and a semicolon ("matrix:[1 0.5,2 0.5;0 1;;]" of three endpoints, the last one silent); files are for others
// to read. Throws ConfigError, saying what to do, on an unknown name, a bad figure, or a number of endpoints that the
// pattern is not made for. `topology` outlives the pattern.
std::unique_ptr<Pattern> make_pattern(const std::string& name, const Topology& topology, const TopologySpec& spec,
                                      std::uint64_t seed);

}  // namespace exanet
