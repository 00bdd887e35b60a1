// SPDX-License-Identifier: Apache-2.0
#include "core/faults/held.hpp"

#include <algorithm>

namespace exanet {

void HeldFaults::change(const FaultChange& change) {
  const bool whole = change.port == LinkStates::kNode;
  const PortRef where = whole ? PortRef{change.node, change.port} : one_end({change.node, change.port});
  const Place place{change.kind, where.node, where.port};
  if (!change.up) {
    held_[place].push_back(change);
  } else if (const auto found = held_.find(place); found != held_.end()) {
    std::erase_if(found->second,
                  [&](const FaultChange& begun) { return change.fault == 0 || begun.fault == change.fault; });
    if (found->second.empty()) held_.erase(found);
  }
  if (change.kind == FaultKind::kState) links_.change(shape_, change.node, change.port, !at(place));
}

PortRef HeldFaults::one_end(PortRef link) const {
  const PortRef far = shape_.neighbour(link.node, link.port);
  return far.node < link.node || (far.node == link.node && far.port < link.port) ? far : link;
}

template <typename Visit>
void HeldFaults::each(FaultKind kind, PortRef link, Visit visit) const {
  const PortRef near = one_end(link), far = shape_.neighbour(near.node, near.port);
  for (const Place& place : {Place{kind, near.node, near.port}, Place{kind, near.node}, Place{kind, far.node}})
    if (const std::vector<FaultChange>* faults = at(place)) std::ranges::for_each(*faults, visit);
}

double HeldFaults::rate(PortRef link) const {
  double rate = 1;
  each(FaultKind::kRate, link, [&](const FaultChange& fault) { rate = std::min(rate, fault.rate); });
  return rate;
}

LinkLoss HeldFaults::loss(PortRef link) const {
  LinkLoss loss;
  each(FaultKind::kLoss, link, [&](const FaultChange& fault) { loss = either(loss, fault.loss); });
  return loss;
}

Impairment HeldFaults::impairment(NodeId endpoint) const {
  Impairment impairment;
  if (const std::vector<FaultChange>* faults = at({FaultKind::kImpairment, endpoint}))
    for (const FaultChange& fault : *faults) impairment = either(impairment, fault.impairment);
  return impairment;
}

}  // namespace exanet
