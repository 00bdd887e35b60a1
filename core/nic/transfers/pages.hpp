// SPDX-License-Identifier: Apache-2.0
// Models gateware/ni/rtl/ni_translate.sv and ni_walk.sv, to the cycle: pages of protection domains that are known at
// each way to memory, and the walker of the tables in memory, which serves one way at a time, in turn. And what an
// invalidation waits for, as exanet_ni.sv has it.
//
// Limits: memory answers the walker after the time of other reads, and rejects none; faults are not kept for a kernel.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/nic/transfers/config.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

class Pages {
 public:
  // As page_access of spec/packet.yaml: ways to memory, each with pages of its own.
  enum Access : std::uint8_t { kRead, kWrite, kEnd };

  // 8 bytes of a node's memory as they are in the present cycle: ni_page of spec/packet.yaml.
  struct Memory {
    void* self = nullptr;
    std::uint64_t (*entry)(void* self, NodeId node, std::uint64_t address) = nullptr;
  };
  // `known` is called with the cycle from which on a page is that was walked to, before it; `resume` in the first one
  // behind an invalidation. `drained` says from when on nothing that was looked up before is under way, as far as that
  // is known.
  struct User {
    void* self = nullptr;
    void (*known)(void* self, NodeId node, Cycle cycle) = nullptr;
    void (*resume)(void* self, NodeId node) = nullptr;
    Cycle (*drained)(void* self, NodeId node) = nullptr;
  };

  Pages(EventQueue& events, const TransfersConfig& config, std::size_t nodes);

  void join(Access access, User user) { users_[access] = user; }
  void read_tables(Memory memory) { memory_ = memory; }
  // A domain has its first table at this address; 0: none.
  void set_root(NodeId node, std::uint16_t domain, std::uint64_t root);

  // --- For a way, one page at a time. Looked up in a cycle from now on; true: it is known in the cycle behind.
  // One that is not needed is not counted.
  bool look(NodeId node, Access access, std::uint16_t domain, std::uint64_t page, bool needed = true);
  // It is not: it is walked to, asked for in this cycle, which is to come.
  void walk(NodeId node, Access access, Cycle from);
  // Why the page that was looked up is not to be used, and where it is otherwise.
  TransferEnding fault(NodeId node, Access access) const { return nodes_[node].ways[access].fault; }
  std::uint64_t frame(NodeId node, Access access) const { return nodes_[node].ways[access].frame; }

  // --- Invalidation: the store is at the interface in the present cycle.
  void invalidate(NodeId node);
  // Nothing is looked up in the present cycle, nor before the one behind the last invalidation.
  bool held(NodeId node, Access access) const {
    const Way& way = nodes_[node].ways[access];
    return way.invalidates && now() >= way.held_from;
  }
  Cycle open_from(NodeId node, Access access) const { return nodes_[node].ways[access].open_from; }
  // A way may have drained.
  void settle(NodeId node, Access access);

  std::uint64_t lookups() const { return lookups_; }
  std::uint64_t walks() const { return walks_; }
  std::uint64_t faults() const { return faults_; }
  std::uint64_t invalidations() const { return invalidations_; }

 private:
  static constexpr std::size_t kWays = 3, kSizes = 3, kPlaces = 16;
  static constexpr unsigned kLastLevel = 3;
  static constexpr std::array<unsigned, kSizes> kShift{0, 4, 9}, kPlaceBits{4, 3, 3};

  struct Known {
    bool valid = false;
    std::uint16_t domain = 0;
    std::uint64_t page = 0, frame = 0;
  };
  struct Way {
    std::array<std::array<std::array<Known, 2>, kPlaces>, kSizes> known{};
    std::array<std::array<bool, kPlaces>, kSizes> turn{};
    std::uint16_t domain = 0;
    std::uint64_t page = 0, frame = 0;
    TransferEnding fault = TransferEnding::kWhole;
    Cycle wants = kUnknown;  // a walk, from this cycle on
    bool invalidates = false;
    Cycle held_from = 0, over = kUnknown, open_from = kLongAgo;
  };
  struct Node {
    std::array<Way, kWays> ways;
    std::vector<std::uint64_t> roots;
    bool walking = false;
    std::uint8_t way = 0;  // that walks, or did last
    unsigned level = 0;
    std::uint64_t entry = 0;  // address of what is read
    Cycle idle_from = kLongAgo, event = kUnknown;
    std::uint64_t to_end = 0;  // invalidations that are not over
    Cycle asked = kLongAgo;
  };

  Cycle now() const { return cycle_of(events_.now(), cycle_); }
  static std::size_t place(std::uint16_t domain, std::uint64_t page, std::size_t size);
  void schedule_start(NodeId node, Node& n);
  void start(NodeId node);
  void read(NodeId node);
  void end(NodeId node, Cycle done, bool mapped, bool writable, std::size_t size, std::uint64_t frame);
  void clear(NodeId node, Access access);

  EventQueue& events_;
  Time cycle_;
  Cycle memory_read_;
  Memory memory_;
  std::array<User, kWays> users_;
  std::vector<Node> nodes_;
  std::uint32_t on_start_, on_read_, on_clear_, on_resume_;
  std::uint64_t lookups_ = 0, walks_ = 0, faults_ = 0, invalidations_ = 0;
};

}  // namespace exanet
