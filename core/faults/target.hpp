// SPDX-License-Identifier: Apache-2.0
// What a plan of faults acts on: a network of packets (core/network), or flows over links (core/flow).
//
// Contract: each kind of change is a call. Who cannot honour one throws ConfigError, saying what to do, and changes
// nothing. All queues stand at `now`.
#pragma once

#include "core/config/error.hpp"
#include "core/faults/impairment.hpp"
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
        "faults",
        "the flow level has no packets that a link could lose: remove 'lossy', or simulate packets (--level packet)");
  }

  // From `now` on packets leave by the link, in both directions, at one of the rates of NetworkConfig::slow_rates, 1
  // the first of them; 0: its own. What is on the line goes on as it was.
  virtual void set_rate(PortRef /*link*/, std::uint32_t /*rate*/, Time /*now*/) {
    throw ConfigError("faults", "no link of this network slows down in a run: take 'slow' out");
  }

  // From `now` on the endpoint's interface neither sends nor receives, while its router forwards; or it does again.
  virtual void set_interface(NodeId /*endpoint*/, bool /*up*/, Time /*now*/) {
    throw ConfigError("faults", "no interface of this network fails in a run: take 'interface' out");
  }

  // From `now` on packets that come to the endpoint are impaired; an impairment of nothing ends that.
  virtual void set_impairment(NodeId /*endpoint*/, const Impairment& /*impairment*/, Time /*now*/) {
    throw ConfigError("faults",
                      "packets are corrupted, duplicated and reordered between interfaces alone, at packet level: take "
                      "'impaired' out, or use exanet run, replay or sim jobs --nic exanet");
  }

  // Routes of the topology are going to change: whoever has chosen one by now has done so.
  virtual void before_routes_change() {}
};

}  // namespace exanet
