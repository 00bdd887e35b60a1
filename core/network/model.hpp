// SPDX-License-Identifier: Apache-2.0
// A network as a model: it runs in virtual time alone, so that it can be divided among threads, and be asked about
// itself. Which model a machine has is said by its routers: core/network/exanet has the ExaNet router's,
// core/network/cut_through and wormhole the input-queued switch's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/windows.hpp"
#include "core/network/network.hpp"
#include "core/network/zero_load.hpp"

namespace exanet {

class NetworkModel : public Network, public Crossing {
 public:
  bool keeps_order() const final { return keeps_order_; }
  // Injection at `at` to delivery in an empty network, by formula, on the route that the packet would take then.
  Time zero_load_latency(NodeId src, NodeId dst, std::uint16_t payload_bytes, Time at = Time()) const;
  // Packets whose heads stand in the node's input buffers, those of its interface included.
  virtual std::uint32_t queued(NodeId node) const = 0;
  // Who waits for whom in a cycle, when packets are in flight and no event is left; empty where that cannot be, or is
  // not known.
  virtual std::string deadlock() const { return {}; }
  virtual std::uint64_t memory_bytes() const = 0;  // of routers, links and packets, events not counted

 protected:
  // Throws ConfigError when a figure of `config` cannot be built. `topology` outlives the model.
  NetworkModel(const Topology& topology, const NetworkConfig& config);

 private:
  const Topology& topology_;
  std::unique_ptr<ZeroLoadModel> zero_load_;
  std::uint32_t word_bytes_;
  bool keeps_order_;
};

// One of the parts that a network is divided into to run on several threads.
struct Partition {
  EventQueue* events;
  PacketSink sink;  // called in the thread that runs `events`
};

// In parts, run together by Windows: node n belongs to parts[part_of[n]]; empty when there is one part. What the
// network does is the same, however it is divided. Throws ConfigError, saying what to do, when a figure of `config`
// cannot be built.
std::unique_ptr<NetworkModel> make_network_model(const std::vector<Partition>& parts, const Topology& topology,
                                                 const NetworkConfig& config, const std::vector<std::uint8_t>& part_of);

}  // namespace exanet
