// SPDX-License-Identifier: Apache-2.0
// Max-min fair sharing: which rate does each flow get when all use their resources (links, ports) together?
//
// Problem: no flow can get more without one that has as little, or less, getting less. Model: progressive filling
// (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2): all rates grow alike; the resource that is full first
// is the bottleneck of those that use it, which keep their rate, and the others grow on. The resource with the least
// `free / open flows` is the next one that is full, and this quotient never falls while others fill up, so a heap gives
// them in order and an entry that turns out too low is put back.
//
// After a change only a part is filled again: first the new flows and those whose bottleneck got capacity, then, as
// long as some flow outside that part has lost its bottleneck or holds more than a fair share of a full resource, those
// as well. An allocation is max-min fair exactly when every flow has a bottleneck (ibid.), so what comes out is the
// same as from scratch.
//
// Rates are integers, in millionths of a bit a second: sums are exact, so what has been given back is exactly what had
// been taken, and the order in which flows are added cannot be seen in the rates of a filling from scratch (ties go by
// the resource's number). A share is rounded down; a filling of a part agrees with one from scratch within kSlack of
// the capacity.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace exanet {

using Rate = std::int64_t;  // micro-bits a second; 9.2 Tb/s is the largest
using FlowId = std::uint32_t;
using ResourceId = std::uint32_t;

inline constexpr std::uint32_t kNothing = 0xffffffffu;

class MaxMin {
 public:
  static constexpr Rate kSlack = Rate{1} << 30;  // one part in so many of a capacity is no difference

  explicit MaxMin(std::size_t resources) : resources_(resources) {}

  // Contract: above 0. Rates of flows that use the resource follow with the next solve().
  void set_capacity(ResourceId resource, Rate capacity);

  // Contract: `flow` is not in use; `path` has one resource at least, and none twice. Rates follow with the next
  // solve().
  void add(FlowId flow, std::span<const ResourceId> path);
  void remove(FlowId flow);

  // Makes rates fair again after any number of add() and remove().
  void solve();

  struct Change {
    FlowId flow;
    Rate before;
  };
  const std::vector<Change>& changed() const {
    return changed_;
  }  // of the last solve(): new flows (from 0) and those with another rate

  Rate rate(FlowId flow) const { return flows_[flow].rate; }
  Rate capacity(ResourceId resource) const { return resources_[resource].capacity; }
  Rate free(ResourceId resource) const { return resources_[resource].free; }
  std::uint32_t active() const { return active_; }
  std::size_t resource_count() const { return resources_.size(); }
  template <typename Visit>
  void each_resource(FlowId flow, Visit visit) const {
    for (std::uint32_t e = flows_[flow].first; e < flows_[flow].first + flows_[flow].length; ++e)
      visit(entries_[e].resource);
  }
  std::uint64_t filled() const { return filled_; }  // flows that have been given a rate, over all solves
  std::uint64_t memory_bytes() const;

 private:
  struct Resource {
    Rate capacity = 0;
    Rate free = 0;  // capacity less the rates of its flows
    std::uint32_t first = kNothing;  // entry
    std::uint32_t flows = 0;
    std::uint32_t open = 0;  // flows of the part that have no rate yet
    std::uint32_t touched = 0;  // the last round that touched it
  };
  struct Flow {
    Rate rate = 0;
    std::uint32_t first = 0;  // its entries stand in a row
    std::uint32_t length = 0;  // 0: not in use
    ResourceId bottleneck = kNothing;
    std::uint32_t part = 0;  // the last solve that took it into the part
  };
  // That a flow uses a resource: in the resource's list.
  struct Entry {
    FlowId flow;
    ResourceId resource;
    std::uint32_t next, previous;
  };
  struct Full {
    Rate level;
    ResourceId resource;
    bool operator<(const Full& other) const {  // the standard heaps have the greatest on top
      return level != other.level ? level > other.level : resource > other.resource;
    }
  };

  std::uint32_t take_row(std::uint32_t length);
  bool in_part(FlowId flow) const { return flows_[flow].part == solve_; }
  void join(FlowId flow);
  void join_all();
  void join_those_with_space();
  void open_part();
  void fill();
  void settle(FlowId flow, Rate level, ResourceId bottleneck);
  bool join_the_unfair();
  template <typename Visit>
  void each_flow(const Resource& resource, Visit visit) const {
    for (std::uint32_t e = resource.first; e != kNothing; e = entries_[e].next) visit(entries_[e].flow);
  }

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<Entry> entries_;
  std::vector<std::vector<std::uint32_t>> free_rows_;  // by length
  std::vector<ResourceId> loosened_;  // by flows that have gone
  std::vector<ResourceId> changed_capacities_;  // of resources that flows use
  std::vector<ResourceId> part_resources_;  // that the part's flows use
  std::vector<Change> part_;
  std::vector<Change> changed_;
  std::vector<FlowId> fresh_;
  std::vector<Full> heap_;
  std::uint32_t solve_ = 0, round_ = 0, active_ = 0;
  std::uint64_t filled_ = 0;
};

}  // namespace exanet
