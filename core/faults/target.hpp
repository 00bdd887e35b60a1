// SPDX-License-Identifier: Apache-2.0
// What a plan of faults acts on: a network of packets (core/network), or flows over links (core/flow).
//
// Contract: each kind of change is a call. Who cannot honour one throws ConfigError, saying what to do, and changes
// nothing. All queues stand at `now`.
#pragma once

#include "core/config/error.hpp"
#include "core/faults/link_loss.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

class FaultTarget {
 public:
  virtual ~FaultTarget() = default;

  // From `now` on the link at this port, in both directions, carries nothing, or carries data again.
  virtual void set_link(PortRef link, bool up, Time now) = 0;

  // From `now` on the link loses packets one by one, in both directions; a loss of nothing ends that.
  virtual void set_loss(PortRef /*link*/, const LinkLoss& /*loss*/, Time /*now*/) {
    throw ConfigError(
        "faults", "no link loses single packets at flow level: take 'lossy' out, or simulate packets (--level packet)");
  }

  // Routes of the topology are going to change: whoever has chosen one by now has done so.
  virtual void before_routes_change() {}
};

}  // namespace exanet
