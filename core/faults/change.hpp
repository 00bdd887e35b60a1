// SPDX-License-Identifier: Apache-2.0
// A change of a plan of faults: one fault begins at a link or a node, or ends.
#pragma once

#include <cstdint>

#include "core/config/visit.hpp"
#include "core/faults/impairment.hpp"
#include "core/faults/link_loss.hpp"
#include "core/faults/link_state.hpp"
#include "core/units/time.hpp"

namespace exanet {

// What a change is about, and its name in tables of results.
enum class FaultKind : std::uint8_t {
  kState,  // a link or a node goes down, or comes up
  kLoss,  // a link loses single packets, as `loss` says
  kRate,  // a link carries data at a share of its rate
  kInterface,  // a node's interface stops; its router goes on
  kImpairment,  // packets that arrive at a node are corrupted, duplicated or reordered
  kHost,  // a node's host dies, and its interface stops; its router goes on
};
template <>
inline constexpr auto kChoices<FaultKind> = choices<FaultKind>({{"state", FaultKind::kState},
                                                                {"lossy", FaultKind::kLoss},
                                                                {"slow", FaultKind::kRate},
                                                                {"interface", FaultKind::kInterface},
                                                                {"impaired", FaultKind::kImpairment},
                                                                {"host", FaultKind::kHost}});

struct FaultChange {
  Time at;
  NodeId node = kNoNode;
  std::uint16_t port = LinkStates::kNode;  // of a link; or the node itself
  bool up = false;  // ends a fault, or begins one
  FaultKind kind = FaultKind::kState;
  LinkLoss loss = {};
  double rate = 1;  // share of the link's rate
  Impairment impairment = {};
  std::uint32_t fault = 0;  // which one begins or ends; an end of 0 is that of all faults of the kind there
};

}  // namespace exanet
