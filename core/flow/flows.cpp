// SPDX-License-Identifier: Apache-2.0
#include "core/flow/flows.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace exanet {

FlowId Flows::add(NodeId src, NodeId dst, std::uint64_t bytes, Time start) {
  EXANET_CHECK(start >= now_, "a flow cannot start", now_.ps(), src, dst);
  ++added_;
  auto id = static_cast<FlowId>(flows_.size());
  if (forgotten_.empty()) {
    flows_.push_back({src, dst, bytes, start});
  } else {
    id = forgotten_.back();
    forgotten_.pop_back();
    flows_[id] = {src, dst, bytes, start};
  }
  wait_for_start(id);
  return id;
}

void Flows::after(FlowId flow, FlowId earlier) {
  edges_.push_back({flow, flows_[earlier].dependents});
  flows_[earlier].dependents = static_cast<std::uint32_t>(edges_.size() - 1);
  ++flows_[flow].waits;
}

void Flows::wait_for_start(FlowId flow) {
  starts_.push_back({flows_[flow].begin, flow});
  std::push_heap(starts_.begin(), starts_.end());
}

void Flows::start_due() {
  while (!starts_.empty() && starts_.front().at <= now_) {
    std::pop_heap(starts_.begin(), starts_.end());
    const FlowId id = starts_.back().flow;
    starts_.pop_back();
    Flow& flow = flows_[id];
    // One that waits for others is brought back when the last of them has arrived.
    if (flow.waits > 0 || flow.started || flow.begin > now_) continue;
    flow.started = true;
    ++started_;
    begin(id);
  }
}

void Flows::arrive(FlowId id, Time at, Status status) {
  Flow& flow = flows_[id];
  flow.finished = at;
  flow.status = status;
  ++finished_count_;
  lost_count_ += status != Status::kOk;
  arrivals_.push_back(id);
  for (std::uint32_t e = flow.dependents; e != kNothing; e = edges_[e].next) {
    Flow& waiting = flows_[edges_[e].flow];
    waiting.begin = max(waiting.begin, at);
    if (--waiting.waits == 0) wait_for_start(edges_[e].flow);
  }
}

std::uint64_t Flows::base_memory_bytes() const {
  return flows_.capacity() * sizeof(Flow) + edges_.capacity() * sizeof(Edge) + starts_.capacity() * sizeof(Start) +
         (arrivals_.capacity() + forgotten_.capacity()) * sizeof(FlowId);
}

}  // namespace exanet
