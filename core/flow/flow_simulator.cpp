// SPDX-License-Identifier: Apache-2.0
#include "core/flow/flow_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/units/check.hpp"

namespace exanet {

FlowSimulator::FlowSimulator(const FlowNetwork& network, Time grain)
    : Flows(network), grain_(grain), sharing_(network.resource_count()), used_bits_(network.resource_count()) {
  if (grain < Time::ps(1)) throw std::invalid_argument("the grain in which events are taken together is at least 1 ps");
  for (ResourceId r = 0; r < network.resource_count(); ++r) sharing_.set_capacity(r, network.capacity(r));
}

bool FlowSimulator::step(Time limit) {
  const Time next = min(next_start(), ends_.empty() ? Time::never() : ends_.front().at);
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
  start_due();
  sharing_.solve();
  reschedule();
  ++events_;
  return true;
}

void FlowSimulator::begin(FlowId id) {
  if (moving_.size() < flows_.size()) {
    moving_.resize(flows_.size());
    end_place_.resize(flows_.size(), kNothing);
  }
  network_.way(flows_[id].src, flows_[id].dst, way_);
  sharing_.add(id, way_);
  hops_ += way_.size() - 2;
  moving_[id] = {network_.volume_bits(flows_[id].bytes), now_};
}

void FlowSimulator::finish(FlowId id, Time drained) {
  way_.clear();
  const double bits = network_.volume_bits(flows_[id].bytes);
  sharing_.each_resource(id, [&](ResourceId r) {
    way_.push_back(r);
    used_bits_[r] += bits;
  });
  sharing_.remove(id);
  moving_[id].left_bits = 0;
  arrive(id, drained + network_.latency(way_));
}

double FlowSimulator::left_now(FlowId id, Rate rate) const {
  const Moving& flow = moving_[id];
  const double moved = static_cast<double>(rate) * 1e-18 * static_cast<double>((now_ - flow.since).ps());  // micro-bits a second, ps
  return std::max(0.0, flow.left_bits - moved);
}

// Flows whose rate has changed have another end.
void FlowSimulator::reschedule() {
  for (const MaxMin::Change& change : sharing_.changed()) {
    Moving& flow = moving_[change.flow];
    flow.left_bits = left_now(change.flow, change.before);
    flow.since = now_;
    const Rate rate = sharing_.rate(change.flow);
    EXANET_CHECK(rate > 0, "a flow has come to a stand", now_.ps(), change.flow, rate);
    set_end(change.flow, now_ + Time::ps(static_cast<std::int64_t>(std::ceil(flow.left_bits * 1e18 / static_cast<double>(rate)))));
  }
}

double FlowSimulator::moved_bits(FlowId id) const {
  const Flow& flow = flows_[id];
  const double volume = network_.volume_bits(flow.bytes);
  if (volume == 0 || id >= end_place_.size() || end_place_[id] == kNothing) return flow.finished == Time::never() ? 0 : 8.0 * static_cast<double>(flow.bytes);
  return 8.0 * static_cast<double>(flow.bytes) * (1 - left_now(id, sharing_.rate(id)) / volume);
}

std::vector<double> FlowSimulator::use_bits() const {
  std::vector<double> use = used_bits_;
  for (const Due& active : ends_) {
    const double moved = network_.volume_bits(flows_[active.flow].bytes) - left_now(active.flow, sharing_.rate(active.flow));
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
  return base_memory_bytes() + sharing_.memory_bytes() + moving_.capacity() * sizeof(Moving) + ends_.capacity() * sizeof(Due) +
         end_place_.capacity() * sizeof(std::uint32_t) + used_bits_.capacity() * sizeof(double);
}

void FlowSimulator::check_all_given_back() const {
  for (ResourceId r = 0; r < network_.resource_count(); ++r)
    EXANET_CHECK(sharing_.free(r) == network_.capacity(r), "a resource has lost some of its capacity", now_.ps(), r, sharing_.free(r));
}

}  // namespace exanet
