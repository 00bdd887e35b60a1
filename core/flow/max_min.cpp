// SPDX-License-Identifier: Apache-2.0
// Fills a part of the flows progressively, and takes others into it until nobody is treated unfairly: problem, model
// and limits are in max_min.hpp.
#include "core/flow/max_min.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace exanet {

void MaxMin::set_capacity(ResourceId resource, Rate capacity) {
  EXANET_CHECK(capacity > 0, "a capacity cannot be set", 0, capacity, resource);
  Resource& changed = resources_[resource];
  changed.free += capacity - changed.capacity;
  changed.capacity = capacity;
  if (changed.flows > 0) changed_capacities_.push_back(resource);
}

// Entries of one flow stand in a row; rows of flows that have gone are used again by flows with as many resources.
std::uint32_t MaxMin::take_row(std::uint32_t length) {
  if (length < free_rows_.size() && !free_rows_[length].empty()) {
    const std::uint32_t row = free_rows_[length].back();
    free_rows_[length].pop_back();
    return row;
  }
  const std::size_t row = entries_.size();
  EXANET_CHECK(row + length < kNothing, "the routes of the flows are too many", 0, row, length);
  entries_.resize(row + length);
  return static_cast<std::uint32_t>(row);
}

void MaxMin::add(FlowId id, std::span<const ResourceId> path) {
  if (id >= flows_.size()) flows_.resize(id + 1);
  Flow& flow = flows_[id];
  EXANET_CHECK(flow.length == 0 && !path.empty(), "a flow was added twice, or without a route", 0, id, path.size());
  flow = {0, take_row(static_cast<std::uint32_t>(path.size())), static_cast<std::uint32_t>(path.size()), kNothing,
          flow.part};
  for (std::uint32_t i = 0; i < flow.length; ++i) {
    Resource& resource = resources_[path[i]];
    entries_[flow.first + i] = {id, path[i], resource.first, kNothing};
    if (resource.first != kNothing) entries_[resource.first].previous = flow.first + i;
    resource.first = flow.first + i;
    ++resource.flows;
  }
  fresh_.push_back(id);
  ++active_;
}

void MaxMin::remove(FlowId id) {
  Flow& flow = flows_[id];
  EXANET_CHECK(flow.length > 0, "a flow was removed twice", 0, id, 0);
  for (std::uint32_t e = flow.first; e < flow.first + flow.length; ++e) {
    const Entry& entry = entries_[e];
    Resource& resource = resources_[entry.resource];
    (entry.previous == kNothing ? resource.first : entries_[entry.previous].next) = entry.next;
    if (entry.next != kNothing) entries_[entry.next].previous = entry.previous;
    resource.free += flow.rate;
    --resource.flows;
    if (resource.open == 0) loosened_.push_back(entry.resource);  // between solves, `open` marks those that are listed
    resource.open = 1;
  }
  if (free_rows_.size() <= flow.length) free_rows_.resize(flow.length + 1);
  free_rows_[flow.length].push_back(flow.first);
  flow.length = 0;
  flow.rate = 0;
  --active_;
}

void MaxMin::join(FlowId id) {
  if (in_part(id)) return;
  flows_[id].part = solve_;
  part_.push_back({id, flows_[id].rate});
}

void MaxMin::join_all() {
  for (FlowId id = 0; id < flows_.size(); ++id)
    if (flows_[id].length > 0) join(id);
}

void MaxMin::join_those_with_space() {
  for (const ResourceId id : loosened_) {
    resources_[id].open = 0;
    each_flow(resources_[id], [&](FlowId flow) {
      if (flows_[flow].bottleneck == id) join(flow);
    });
  }
  loosened_.clear();
}

// Takes all rates of the part back, and lists the resources that it uses.
void MaxMin::open_part() {
  ++round_;
  part_resources_.clear();
  for (const Change& member : part_) {
    Flow& flow = flows_[member.flow];
    for (std::uint32_t e = flow.first; e < flow.first + flow.length; ++e) {
      Resource& resource = resources_[entries_[e].resource];
      if (resource.touched != round_) {
        resource.touched = round_;
        resource.open = 0;
        part_resources_.push_back(entries_[e].resource);
      }
      resource.free += flow.rate;
      ++resource.open;
    }
    flow.rate = 0;
    flow.bottleneck = kNothing;
  }
}

void MaxMin::settle(FlowId id, Rate level, ResourceId bottleneck) {
  Flow& flow = flows_[id];
  flow.rate = level;
  flow.bottleneck = bottleneck;
  ++filled_;
  for (std::uint32_t e = flow.first; e < flow.first + flow.length; ++e) {
    Resource& resource = resources_[entries_[e].resource];
    resource.free -= level;
    --resource.open;
  }
}

// Progressive filling of the part; what others hold stays theirs.
void MaxMin::fill() {
  heap_.clear();
  for (const ResourceId id : part_resources_) heap_.push_back({resources_[id].free / resources_[id].open, id});
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    Full& least = heap_.back();
    const Resource& resource = resources_[least.resource];
    if (resource.open == 0) {
      heap_.pop_back();
      continue;
    }
    const Rate level = resource.free / resource.open;
    if (level > least.level) {
      least.level = level;
      std::push_heap(heap_.begin(), heap_.end());
      continue;
    }
    const ResourceId bottleneck = least.resource;
    heap_.pop_back();
    each_flow(resource, [&](FlowId flow) {
      if (in_part(flow) && flows_[flow].bottleneck == kNothing) settle(flow, level, bottleneck);
    });
  }
}

// Takes those into the part which the new rates have deprived of their bottleneck, or who hold more than a fair share
// of someone else's.
bool MaxMin::join_the_unfair() {
  const std::size_t before = part_.size();
  for (const ResourceId id : part_resources_) {
    const Resource& resource = resources_[id];
    const Rate slack = resource.capacity / kSlack + resource.flows;
    Rate most = 0, level = -1;  // the highest rate; that of the part's flows with their bottleneck here
    each_flow(resource, [&](FlowId flow) {
      most = std::max(most, flows_[flow].rate);
      if (in_part(flow) && flows_[flow].bottleneck == id) level = flows_[flow].rate;
    });
    each_flow(resource, [&](FlowId flow) {
      const Flow& f = flows_[flow];
      if (in_part(flow)) return;
      const bool deprived = f.bottleneck == id && (resource.free > slack || most > f.rate + slack);
      if (deprived || (level >= 0 && f.rate > level + slack)) join(flow);
    });
  }
  return part_.size() > before;
}

void MaxMin::solve() {
  ++solve_;
  part_.clear();
  changed_.clear();
  for (const FlowId flow : fresh_)
    if (flows_[flow].length > 0) join(flow);
  fresh_.clear();
  join_those_with_space();
  for (const ResourceId id : changed_capacities_) each_flow(resources_[id], [&](FlowId flow) { join(flow); });
  changed_capacities_.clear();
  while (!part_.empty()) {
    if (part_.size() > active_ / 2) join_all();
    open_part();
    fill();
    if (part_.size() == active_ || !join_the_unfair()) break;
  }
  for (const Change& member : part_)
    if (flows_[member.flow].rate != member.before) changed_.push_back(member);
}

std::uint64_t MaxMin::memory_bytes() const {
  std::uint64_t bytes = resources_.capacity() * sizeof(Resource) + flows_.capacity() * sizeof(Flow) +
                        entries_.capacity() * sizeof(Entry) + heap_.capacity() * sizeof(Full) +
                        (part_.capacity() + changed_.capacity()) * sizeof(Change) +
                        (part_resources_.capacity() + loosened_.capacity() + fresh_.capacity()) * sizeof(std::uint32_t);
  for (const auto& rows : free_rows_) bytes += rows.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace exanet
