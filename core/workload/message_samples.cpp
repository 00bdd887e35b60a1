// SPDX-License-Identifier: Apache-2.0
#include "core/workload/message_samples.hpp"

#include <algorithm>
#include <tuple>

#include "core/flow/max_min.hpp"
#include "core/workload/flow_table.hpp"
#include "core/workload/queue_samples.hpp"

namespace exanet {

namespace {

using FlowSample = MessageSamples::FlowSample;

// Rows in order, those of one flow in one interval together.
void merge(std::vector<FlowSample>& rows) {
  const auto key = [](const FlowSample& row) { return std::tuple(row.interval, row.src, row.dst); };
  std::sort(rows.begin(), rows.end(), [&](const FlowSample& a, const FlowSample& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (const FlowSample& row : rows) {
    if (kept == 0 || key(rows[kept - 1]) != key(row)) {
      rows[kept++] = row;
      continue;
    }
    FlowSample& same = rows[kept - 1];
    same.bytes += row.bytes;
    same.packets += row.packets;
    same.marks += row.marks;
    same.share_bytes += row.share_bytes;
  }
  rows.resize(kept);
}

// Flows that begin and end, as messages do: one is active while any of its messages is under way.
struct Shares {
  Shares(const MessagePlan& plan, const MessageTimes& times, Time end) {
    for (std::size_t m = 0; m < plan.messages.size(); ++m) {
      const std::pair ends{plan.messages[m].src, plan.messages[m].dst};
      const auto flow = static_cast<FlowId>(numbers.try_emplace(ends, numbers.size()).first->second);
      if (flow == flows.size()) flows.push_back({ends, 0, Time(), 0});
      const Time until = min(times.arrived[m], end);
      if (times.ready[m] >= until) continue;
      changes.push_back({times.ready[m], flow, 1});
      changes.push_back({until, flow, -1});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  }

  struct Flow {
    std::pair<NodeId, NodeId> ends;
    std::uint32_t active = 0;
    Time since;
    double bytes_per_ps = 0;
  };
  struct Change {
    Time at;
    FlowId flow;
    std::int32_t by;
  };
  std::map<std::pair<NodeId, NodeId>, std::size_t> numbers;
  std::vector<Flow> flows;
  std::vector<Change> changes;
};

// Adds what the flow's rate until now comes to, interval by interval.
void settle(Shares::Flow& flow, Time now, Time interval, std::vector<FlowSample>& rows) {
  for (Time at = flow.since; flow.bytes_per_ps > 0 && at < now;) {
    const std::int64_t place = at.ps() / interval.ps();
    const Time until = min(now, interval * (place + 1));
    rows.push_back({static_cast<std::uint32_t>(place), flow.ends.first, flow.ends.second, 0, 0, 0,
                    flow.bytes_per_ps * static_cast<double>((until - at).ps())});
    at = until;
  }
  flow.since = now;
}

// False where there would be too many rows.
bool add_shares(MessageSamples& samples, const MessageConfig& config, Shares& shares, const FlowNetwork& network,
                Time end) {
  MaxMin sharing = sharing_of(network);
  const double bytes_per_rate = 1e-18 * config.packet_bytes / network.volume_bits(config.packet_bytes);  // of a Rate
  std::vector<FlowSample> rows;
  std::vector<ResourceId> path;
  const auto settle_flow = [&](FlowId id, Time now) { settle(shares.flows[id], now, samples.interval, rows); };
  for (std::size_t c = 0; c < shares.changes.size();) {
    const Time now = shares.changes[c].at;
    std::map<FlowId, bool> touched;  // whether they were active
    for (; c < shares.changes.size() && shares.changes[c].at == now; ++c) {
      Shares::Flow& flow = shares.flows[shares.changes[c].flow];
      touched.try_emplace(shares.changes[c].flow, flow.active > 0);
      flow.active = static_cast<std::uint32_t>(static_cast<std::int32_t>(flow.active) + shares.changes[c].by);
    }
    for (const auto& [id, was] : touched) {
      Shares::Flow& flow = shares.flows[id];
      if (was == (flow.active > 0)) continue;
      settle_flow(id, now);
      flow.bytes_per_ps = 0;
      if (was) {
        sharing.remove(id);
      } else {
        network.route(flow.ends.first, flow.ends.second, path);
        sharing.add(id, path);
      }
    }
    sharing.solve();
    for (const MaxMin::Change& change : sharing.changed()) {
      settle_flow(change.flow, now);
      shares.flows[change.flow].bytes_per_ps = static_cast<double>(sharing.rate(change.flow)) * bytes_per_rate;
    }
    if (rows.size() > MessageSampler::kMostValues) return false;
  }
  for (FlowId id = 0; id < shares.flows.size(); ++id) settle_flow(id, end);
  samples.flows.insert(samples.flows.end(), rows.begin(), rows.end());
  return true;
}

}  // namespace

MessageSampler::MessageSampler(EventQueue& queue, const Topology& topology, const NetworkModel& model, Time interval)
    : queue_(queue), model_(model), meter_(topology, model, queue.now()) {
  samples_.interval = interval;
  watch(topology, samples_.first_watched, samples_.watched);
  each_link(topology, [&](NodeId, std::uint16_t, NodeId) { ++samples_.links; });
  event_ = queue.add_handler(
      [](void* self, Time, std::uint32_t, std::uint64_t) { static_cast<MessageSampler*>(self)->sample(); }, this);
  queue.schedule(interval, event_, 0);
}

void MessageSampler::delivered(const Packet& packet, Time now) {
  const auto interval = static_cast<std::uint32_t>(now.ps() / samples_.interval.ps());
  const std::pair ends{packet.src, packet.dst};
  Open& open = open_[ends];
  if (open.interval != interval) {
    close(ends, open);
    open.interval = interval;
  }
  ++open.packets;
  open.marks += (packet.notes & Packet::kCongested) != 0 ? 1 : 0;
  open.bytes += packet.payload_bytes;
}

void MessageSampler::close(std::pair<NodeId, NodeId> ends, Open& open) {
  if (open.packets > 0)
    samples_.flows.push_back({open.interval, ends.first, ends.second, open.bytes, open.packets, open.marks, 0});
  open = {};
}

void MessageSampler::sample() {
  ++looks_;
  ++count_;
  for (NodeId node = samples_.first_watched; node < samples_.first_watched + samples_.watched; ++node)
    samples_.queued.push_back(model_.queued(node));
  meter_.sample(queue_.now(), samples_.link_use);
  if (queue_.empty()) return;
  const std::size_t values = std::max({samples_.queued.size(), samples_.link_use.size(), samples_.flows.size()});
  if (count_ % 2 == 0 && (count_ >= kMostSamples || values > kMostValues)) make_coarser();
  queue_.schedule(samples_.interval * static_cast<std::int64_t>(count_ + 1), event_, 0);
}

// Of an even number of intervals: two become one. Of two looks at queues the later one stays.
void MessageSampler::make_coarser() {
  count_ /= 2;
  samples_.interval = samples_.interval * 2;
  const std::size_t row = samples_.watched, links = samples_.links;
  for (std::size_t i = 0; i < count_; ++i) {
    std::copy_n(samples_.queued.begin() + static_cast<std::ptrdiff_t>((2 * i + 1) * row), row,
                samples_.queued.begin() + static_cast<std::ptrdiff_t>(i * row));
    for (std::size_t l = 0; l < links; ++l)
      samples_.link_use[i * links + l] =
          (samples_.link_use[2 * i * links + l] + samples_.link_use[(2 * i + 1) * links + l]) / 2;
  }
  samples_.queued.resize(count_ * row);
  samples_.link_use.resize(count_ * links);
  for (auto& [ends, open] : open_) open.interval /= 2;
  for (FlowSample& flow : samples_.flows) flow.interval /= 2;
  merge(samples_.flows);
}

MessageSamples MessageSampler::take(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
                                    const FlowNetwork& network) {
  for (auto& [ends, open] : open_) close(ends, open);
  samples_.end = queue_.now();
  if (FlowTable::has_shares(config, network)) {
    Shares shares(plan, times, samples_.end);
    samples_.shares = add_shares(samples_, config, shares, network, samples_.end);
  }
  merge(samples_.flows);
  return std::move(samples_);
}

}  // namespace exanet
