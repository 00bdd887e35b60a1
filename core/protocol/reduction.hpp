// SPDX-License-Identifier: Apache-2.0
// Trees of reductions that are open, and how far each is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/protocol/reduction_tree.hpp"
#include "core/spec/descriptors.hpp"

namespace exanet {

struct Reduction {
  explicit Reduction(ReductionTree planned);

  struct Part {
    std::int32_t status = 0;
    std::vector<std::byte> bytes;
  };
  struct Unit {
    std::vector<Part> parts;  // by branch: ranks of the node, then nodes below
    std::size_t missing;
    ReductionDescriptor shape;  // of the parts that are there
  };
  struct Place {
    std::uint32_t node, branch;  // of the tree, of that node's unit
    ReductionDescriptor asked;  // what the rank waits for, if it waits
    bool waits = false, closed = false;
    bool live = false;  // its end comes by itself (Context::live)
  };

  ReductionTree tree;
  std::vector<Unit> units;  // by node of the tree
  std::map<RankId, Place> places;
  std::size_t open;  // ranks that have not closed it

  // Where units have trees of their own: the tree's number at each of its nodes, and how far the present reduction is.
  std::vector<std::uint8_t> numbers;
  std::size_t handed_over = 0;  // parts
  bool broken = false;  // parts did not agree, or the interfaces have given it up
  Part result{};

  // Whether the rank may hand over a part, or close the tree.
  bool takes(RankId rank) const {
    const auto place = places.find(rank);
    return place != places.end() && !place->second.closed && !place->second.waits;
  }
};

}  // namespace exanet
