// SPDX-License-Identifier: Apache-2.0
// The interfaces of all nodes as the gateware itself, Verilated with their routers (core/network/verilated): stores as software makes them, and what is in
// memory read as software reads it.
//
// Messages carry a number where they have room for it, and bytes of transfers follow from their addresses: what comes is held against that.
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

  bool slot_is_free(NodeId node, std::uint32_t context) const override;
  void store(NodeId node, std::uint32_t context, const MessageStore& message, Cycle at) override;
  void store(NodeId node, const TransferStore& transfer, Cycle at) override;
  void release(NodeId node, std::uint32_t place, Cycle at) override;
  void open(NodeId node, std::uint8_t tree, const ReductionPlace& place, Cycle at) override;
  void call(const ReductionCall& call, Cycle at) override;

 private:
  static constexpr std::uint32_t kContexts = GatewareShape::kContexts;
  using Line = std::array<std::uint32_t, 4>;
  struct Node {
    std::array<Cycle, 4 * kContexts> free_from{};  // by slot
    std::array<std::uint64_t, 4 * kContexts> users{};
    std::array<std::uint8_t, kContexts> fill{};  // the slot of each context that is next
  };
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
  void go(NodeId node, const Burst& burst, Cycle at);  // one in each cycle; the first is at the interface in this one

  void configure(NodeId node);
  void seen(const exanet_seen& seen, Cycle cycle);
  void entry_written(const exanet_seen& seen, Cycle cycle);
  void transfer_written(const exanet_seen& seen, Cycle cycle);
  void end_written(const exanet_seen& seen, Cycle cycle);

  NicContext& context_;
  NodeBuses& buses_;
  GatewareListener& listener_;
  std::vector<Node> nodes_;
};

}  // namespace exanet
