// SPDX-License-Identifier: Apache-2.0
// The faults that hold at a time, and what they make of links and interfaces together.
//
// Problem: faults of one link may overlap, and the end of one must not end the others. Model: for each kind and place,
// the faults that have begun and not ended. A link is down while any fault of it, or of a node at its ends, holds; a
// slow link has the least of the rates; a lossy link loses what any of its faults loses; a packet to an impaired node
// has the fate that the first of its faults draws, or else the next one's. Limits: losses and impairments that overlap
// are drawn from the seed of the first.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "core/faults/change.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class HeldFaults {
 public:
  explicit HeldFaults(const Topology& shape) : shape_(shape), links_(shape) {}  // which outlives this

  void change(const FaultChange& change);  // begins a fault, or ends one or several; the end of none changes nothing

  const LinkStates& links() const { return links_; }
  bool interface_works(NodeId endpoint) const {
    return !at({FaultKind::kInterface, endpoint}) && !at({FaultKind::kHost, endpoint});
  }
  double rate(PortRef link) const;  // share of the link's own
  LinkLoss loss(PortRef link) const;
  Impairment impairment(NodeId endpoint) const;

 private:
  struct Place {
    FaultKind kind;
    NodeId node;
    std::uint16_t port = LinkStates::kNode;
    auto operator<=>(const Place&) const = default;
  };

  const std::vector<FaultChange>* at(const Place& place) const {
    const auto found = held_.find(place);
    return found == held_.end() ? nullptr : &found->second;
  }
  PortRef one_end(PortRef link) const;  // the same for both ends
  template <typename Visit>
  void each(FaultKind kind, PortRef link, Visit visit) const;  // fault of the link and of the nodes at its ends

  const Topology& shape_;
  LinkStates links_;
  std::map<Place, std::vector<FaultChange>> held_;  // no list is empty
};

}  // namespace exanet
