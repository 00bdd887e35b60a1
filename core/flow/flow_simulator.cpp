// SPDX-License-Identifier: Apache-2.0
#include "core/flow/flow_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/units/check.hpp"

namespace exanet {

FlowSimulator::FlowSimulator(const FlowNetwork& network, Time grain)
    : network_(network), grain_(grain), sharing_(network.resource_count()), used_bits_(network.resource_count()) {
  if (grain < Time::ps(1)) throw std::invalid_argument("the grain in which events are taken together is at least 1 ps");
  for (ResourceId r = 0; r < network.resource_count(); ++r) sharing_.set_capacity(r, network.capacity(r));
}

FlowId FlowSimulator::add(NodeId src, NodeId dst, std::uint64_t bytes, Time start) {
  const auto id = static_cast<FlowId>(flows_.size());
  EXANET_CHECK(src != dst && start >= now_, "a flow cannot start", now_.ps(), src, dst);
  flows_.push_back({src, dst, bytes, network_.volume_bits(bytes), now_, start});
  end_place_.push_back(kNothing);
  starts_.push_back({start, id});
  std::push_heap(starts_.begin(), starts_.end());
  return id;
}

void FlowSimulator::after(FlowId flow, FlowId earlier) {
  edges_.push_back({flow, flows_[earlier].dependents});
  flows_[earlier].dependents = static_cast<std::uint32_t>(edges_.size() - 1);
  ++flows_[flow].waits;
}

bool FlowSimulator::step(Time limit) {
  Time next = Time::never();
  if (!starts_.empty()) next = starts_.front().at;
  if (!ends_.empty()) next = min(next, ends_.front().at);
  if (next == Time::never() || next > limit) {
    if (limit != Time::never()) now_ = max(now_, limit);
    return false;
  }
  const std::int64_t grain = grain_.ps();
  now_ = max(now_, min(limit, Time::ps((next.ps() + grain - 1) / grain * grain)));
  while (!ends_.empty() && ends_.front().at <= now_) {
    const Due due = ends_.front();
    drop_first_end();
    finish(due.flow, due.at);
  }
  while (!starts_.empty() && starts_.front().at <= now_) {
    std::pop_heap(starts_.begin(), starts_.end());
    const FlowId flow = starts_.back().flow;
    starts_.pop_back();
    // One that waits for others is brought back when the last of them has arrived.
    if (flows_[flow].waits == 0 && !flows_[flow].started && flows_[flow].begin <= now_) begin(flow);
  }
  sharing_.solve();
  reschedule();
  ++events_;
  return true;
}

void FlowSimulator::begin(FlowId id) {
  Flow& flow = flows_[id];
  network_.way(flow.src, flow.dst, way_);
  sharing_.add(id, way_);
  hops_ += way_.size() - 2;
  ++started_;
  flow.since = now_;
  flow.started = true;
}

void FlowSimulator::finish(FlowId id, Time drained) {
  Flow& flow = flows_[id];
  way_.clear();
  const double bits = network_.volume_bits(flow.bytes);
  sharing_.each_resource(id, [&](ResourceId r) {
    way_.push_back(r);
    used_bits_[r] += bits;
  });
  sharing_.remove(id);
  flow.left_bits = 0;
  flow.finished = drained + network_.latency(way_);
  ++finished_count_;
  for (std::uint32_t e = flow.dependents; e != kNothing; e = edges_[e].next) {
    Flow& waiting = flows_[edges_[e].flow];
    waiting.begin = max(waiting.begin, flow.finished);
    if (--waiting.waits > 0) continue;
    starts_.push_back({waiting.begin, edges_[e].flow});
    std::push_heap(starts_.begin(), starts_.end());
  }
}

double FlowSimulator::left_now(const Flow& flow, Rate rate) const {
  const double moved = static_cast<double>(rate) * 1e-18 * static_cast<double>((now_ - flow.since).ps());  // micro-bits a second, ps
  return std::max(0.0, flow.left_bits - moved);
}

// Flows whose rate has changed have another end.
void FlowSimulator::reschedule() {
  for (const MaxMin::Change& change : sharing_.changed()) {
    Flow& flow = flows_[change.flow];
    flow.left_bits = left_now(flow, change.before);
    flow.since = now_;
    const Rate rate = sharing_.rate(change.flow);
    EXANET_CHECK(rate > 0, "a flow has come to a stand", now_.ps(), change.flow, rate);
    set_end(change.flow, now_ + Time::ps(static_cast<std::int64_t>(std::ceil(flow.left_bits * 1e18 / static_cast<double>(rate)))));
  }
}

double FlowSimulator::moved_bits(FlowId id) const {
  const Flow& flow = flows_[id];
  const double volume = network_.volume_bits(flow.bytes);
  if (volume == 0 || end_place_[id] == kNothing) return flow.finished == Time::never() ? 0 : 8.0 * static_cast<double>(flow.bytes);
  return 8.0 * static_cast<double>(flow.bytes) * (1 - left_now(flow, sharing_.rate(id)) / volume);
}

std::vector<double> FlowSimulator::use_bits() const {
  std::vector<double> use = used_bits_;
  for (const Due& active : ends_) {
    const Flow& flow = flows_[active.flow];
    const double moved = network_.volume_bits(flow.bytes) - left_now(flow, sharing_.rate(active.flow));
    sharing_.each_resource(active.flow, [&](ResourceId r) { use[r] += moved; });
  }
  return use;
}

void FlowSimulator::set_end(FlowId flow, Time at) {
  std::uint32_t place = end_place_[flow];
  if (place == kNothing) {
    place = static_cast<std::uint32_t>(ends_.size());
    ends_.push_back({at, flow});
    end_place_[flow] = place;
    sift_up(place);
    return;
  }
  const bool earlier = at < ends_[place].at;
  ends_[place].at = at;
  earlier ? sift_up(place) : sift_down(place);
}

void FlowSimulator::drop_first_end() {
  end_place_[ends_.front().flow] = kNothing;
  const Due last = ends_.back();
  ends_.pop_back();
  if (ends_.empty()) return;
  ends_.front() = last;
  end_place_[last.flow] = 0;
  sift_down(0);
}

void FlowSimulator::sift_up(std::uint32_t at) {
  const Due moving = ends_[at];
  for (; at > 0 && ends_[(at - 1) / 2] < moving; at = (at - 1) / 2) {
    ends_[at] = ends_[(at - 1) / 2];
    end_place_[ends_[at].flow] = at;
  }
  ends_[at] = moving;
  end_place_[moving.flow] = at;
}

void FlowSimulator::sift_down(std::uint32_t at) {
  const Due moving = ends_[at];
  for (std::size_t child; (child = 2 * std::size_t{at} + 1) < ends_.size();) {
    if (child + 1 < ends_.size() && ends_[child] < ends_[child + 1]) ++child;
    if (!(moving < ends_[child])) break;
    ends_[at] = ends_[child];
    end_place_[ends_[at].flow] = at;
    at = static_cast<std::uint32_t>(child);
  }
  ends_[at] = moving;
  end_place_[moving.flow] = at;
}

std::uint64_t FlowSimulator::memory_bytes() const {
  return sharing_.memory_bytes() + flows_.capacity() * sizeof(Flow) + edges_.capacity() * sizeof(Edge) +
         (starts_.capacity() + ends_.capacity()) * sizeof(Due) + end_place_.capacity() * sizeof(std::uint32_t) +
         used_bits_.capacity() * sizeof(double);
}

}  // namespace exanet
