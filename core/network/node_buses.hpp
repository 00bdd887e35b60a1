// SPDX-License-Identifier: Apache-2.0
// The processors' buses of nodes whose network interfaces are part of the network: stores go in, and what is seen at an
// interface comes out.
#pragma once

#include <cstdint>
#include <span>

#include "core/spec/node_library.h"
#include "core/topology/topology.hpp"

namespace exanet {

class NodeBuses {
 public:
  // What was seen in a cycle; called in it, behind all that happens at its beginning.
  using See = void (*)(void* self, const exanet_seen& seen, std::int64_t cycle);

  virtual ~NodeBuses() = default;
  // It is offered from `cycle` on, behind those before it. Contract: that is the present one or later.
  virtual void store(NodeId node, std::int64_t cycle, const exanet_store& store) = 0;
  // Whether the bus takes a store in the present cycle. Contract: behind all that has happened before it.
  virtual bool takes(NodeId node, std::uint32_t bus) const = 0;
  // What a kernel does outside the program's time: the stores have their effect at once. False: not, as the node's
  // interfaces are not at rest.
  virtual bool configure(NodeId node, std::span<const exanet_store> stores) = 0;
  virtual void start(const exanet_memory& memory, void* self, See see) = 0;

  // A node's address in packets, and the bits of the places at which an interface puts coordinates behind each other
  // (ni_config).
  virtual std::uint32_t address(NodeId node) const = 0;
  virtual NodeId node_at(std::uint32_t address) const = 0;
  virtual std::uint32_t shift(unsigned dimension) const = 0;
};

}  // namespace exanet
