// SPDX-License-Identifier: Apache-2.0
// The interfaces of all nodes as the gateware itself, Verilated with their routers (core/network/verilated): stores as
// software makes them, and what is in memory read as software reads it.
//
// Bytes of transfers follow from their addresses: what comes is held against that. Words of messages are zeros:
// software stores them before the simulator learns of the message, which is known by its slot.
#pragma once

#include <array>
#include <vector>

#include "core/network/node_buses.hpp"
#include "core/nic/exanet/engine.hpp"
#include "core/nic/exanet/gateware_interfaces.hpp"

namespace exanet {

class VerilatedInterfaces final : public GatewareInterfaces {
 public:
  VerilatedInterfaces(NicContext& context, std::size_t nodes, NodeBuses& buses, GatewareListener& listener);

  bool slot_is_free(NodeId node, std::uint32_t slot) const override;
  bool may_hold(NodeId) const override { return true; }
  bool takes(NodeId node) const override { return buses_.takes(node, 0); }
  void store(NodeId node, std::uint32_t slot, const MessageStore& message, Cycle from) override;
  void store(NodeId node, const TransferStore& transfer, Cycle from) override;
  void release(NodeId node, std::uint32_t place, Cycle from) override;
  void taken(NodeId, Cycle) override {}  // it sees for itself
  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place, Cycle at) override;
  void call(const ReductionCall& call, Cycle at) override;

 private:
  using Line = std::array<std::uint32_t, 4>;
  using FreeFrom = std::array<Cycle, GatewareShape::kSlots>;  // by slot
  // Stores on a node's bus, one after the other.
  class Burst {
   public:
    explicit Burst(std::uint32_t bus) : bus_(bus) {}
    void line(std::uint32_t address, const Line& data, bool begins = false);
    template <typename Record>
    void word(std::uint32_t address, const Record& record, bool begins = false);
    const std::vector<exanet_store>& stores() const { return stores_; }

   private:
    std::uint32_t bus_;
    std::vector<exanet_store> stores_;
  };
  void go(NodeId node, const Burst& burst, Cycle from);

  void configure(NodeId node);
  void seen(const exanet_seen& seen, Cycle cycle);
  void entry_written(const exanet_seen& seen, Cycle cycle);
  void transfer_written(const exanet_seen& seen, Cycle cycle);
  void end_written(const exanet_seen& seen, Cycle cycle);

  NicContext& context_;
  NodeBuses& buses_;
  GatewareListener& listener_;
  std::vector<FreeFrom> slots_;  // by node
};

}  // namespace exanet
