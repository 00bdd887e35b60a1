// SPDX-License-Identifier: Apache-2.0
// Common ground of a machine's protocols: network interfaces, ranks' registered memory and processors, matching, and
// what steps cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/targets/device_range.h"
#include "core/protocol/host.hpp"
#include "core/protocol/matching.hpp"
#include "core/protocol/memory_map.hpp"
#include "core/protocol/processor_costs.hpp"
#include "core/protocol/processors.hpp"
#include "core/protocol/reduction.hpp"

namespace exanet {

// Ranks that one message reaches. Contract: no two of them on a node, and none where the sender is.
struct RankGroup {
  RankId from = 0;  // whose messages these are
  NodeId to = 0;  // the destination of packets (core/topology/multicast.hpp)
  std::uint32_t copies = 0;  // nodes that these reach
  std::vector<RankId> members;
};

class Context {
 public:
  // Throws ConfigError when the interface or the network cannot be built as configured.
  Context(EventQueue& events, const Topology& topology, const NetworkConfig& fabric, const NiConfig& config,
          std::vector<NodeId> placement, Host& host, NicListener& listener, const NicKind& kind,
          const MakeNetwork& make);

  EventQueue& events;
  const Topology& topology;
  const NiConfig config;
  const RouterConfig router;
  Host& host;
  bool zero_cost = true;  // a zero-cost phase: steps take no time
  std::uint64_t live = 0;  // operations under way anywhere, posted receives not counted
  const std::vector<NodeId> placement;
  std::vector<MemoryMap> memory;  // of each rank
  std::vector<RankGroup> groups;  // by number
  std::vector<std::unique_ptr<Reduction>> reductions;  // by number of the tree; null: closed
  std::vector<std::uint32_t> open_reductions;  // by node
  std::vector<std::uint32_t> tree_numbers;  // by node, of units with trees of their own: those in use, a bit each
  std::uint8_t epoch = 0;  // of the tree that was opened last
  std::map<std::pair<std::uint16_t, RankId>, std::uint16_t> listeners;  // to streams, by port: the host's
  std::set<RankId> servers;  // ranks that have listened
  std::function<void(Time)> on_listen = [](Time) {};  // whoever waits for one
  std::set<std::pair<std::uint16_t, RankId>> datagram_ports;  // at which ranks take datagrams
  std::set<RankId> takers;  // ranks that have taken datagrams
  std::function<void(RankId, Time)> on_takes_datagrams = [](RankId, Time) {};
  std::uint64_t reduced = 0;  // reductions that have got to their roots
  const std::unique_ptr<Nic> nic;
  KnownDeaths known_deaths;
  Processors processors;
  Matching matching;

  std::size_t ranks() const { return placement.size(); }
  NodeId node(RankId rank) const { return placement[rank]; }

  // `user` comes back in the listener's call.
  void send_control(RankId from, RankId to, std::uint32_t bytes, std::uint64_t user) {
    nic->post(PacketizerMessage{node(from), node(to), bytes, user});
  }
  struct Transfer {
    std::uint64_t bytes = 0;
    bool acknowledged = false, reads_memory = false;
    RdmaTransfer::Part part = RdmaTransfer::Part::kWrite;
    std::uint64_t asks_for = 0;
    bool notifies = false;
    std::uint64_t own = 0, target = 0;  // where its bytes are at each; 0: in the library's memory
  };
  // The address if it is in a GPU's memory, otherwise 0.
  std::uint64_t device(std::uint64_t address) const {
    return config.gpu.has_value() && exanet_is_device(address) != 0 ? address : 0;
  }
  void transfer(RankId from, RankId to, Transfer t, std::uint64_t user) {
    nic->post(RdmaTransfer{node(from),
                           node(to),
                           t.bytes,
                           t.acknowledged,
                           t.reads_memory,
                           user,
                           1,
                           t.part,
                           t.asks_for,
                           t.notifies,
                           {from, t.own, memory_of(t, t.own)},
                           {to, t.target, memory_of(t, t.target)}});
  }

  // The number of a new tree of reductions, or why there is none: a negative errno value.
  std::int64_t open_reduction(std::vector<RankId> members);
  void close_reduction(std::uint32_t tree);
  void open_trees(Reduction& reduction);
  // nullptr: no such tree is open.
  Reduction* reduction(std::uint32_t tree) const { return tree < reductions.size() ? reductions[tree].get() : nullptr; }
  // Bytes of the longest vector: it goes in one packet.
  std::uint32_t reduction_max() const {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(kReductionMax, router.max_payload_bytes));
  }

  // On a rank's processor: of its network, where there are two.
  const ProcessorCosts& costs(RankId rank) const { return *costs_of_[rank]; }
  const std::vector<ProcessorCosts>& costs() const { return costs_; }  // of each network
  Time after(Time now, Time cost) const { return zero_cost ? now : now + cost; }

  // Moves bytes from one rank's memory to another's; false as Host::read() and write().
  bool copy(RankId from, std::uint64_t from_addr, RankId to, std::uint64_t to_addr, std::uint64_t bytes);

  // A completion for a rank that belongs to a descriptor, with nothing but its header filled in.
  template <typename C>
  C completion(RankId rank, const DescriptorHeader& d, Time at, std::int32_t status = 0) const {
    C done;
    done.ep = d.ep;
    done.status = status;
    done.time = at;
    done.cpu_ps = static_cast<std::uint32_t>(costs(rank).receive_cpu().ps());
    done.flags = d.flags & kTagged;
    return done;
  }

 private:
  // Kind of the memory of a transfer's buffer. A request moves no data.
  std::uint8_t memory_of(const Transfer& t, std::uint64_t address) const {
    if (device(address) == 0 || t.part == RdmaTransfer::Part::kRequest) return 0;
    return config.gpu->stages(t.bytes) ? staged_memory_ : peer_memory_;
  }

  const std::uint8_t peer_memory_, staged_memory_;
  std::vector<ProcessorCosts> costs_;
  std::vector<const ProcessorCosts*> costs_of_;  // by rank
  std::vector<std::byte> bounce_;
};

}  // namespace exanet
