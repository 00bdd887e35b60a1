// SPDX-License-Identifier: Apache-2.0
// Statistics of an open loop, from what its parts have counted.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/workload/open_loop_state.hpp"
#include "core/workload/statistics.hpp"

namespace exanet {

namespace {

std::array<double, kBatches> as_doubles(const std::array<std::uint64_t, kBatches>& numbers) {
  std::array<double, kBatches> made;
  std::transform(numbers.begin(), numbers.end(), made.begin(), [](std::uint64_t n) { return static_cast<double>(n); });
  return made;
}

double mean_ns(std::uint64_t sum_ps, std::uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum_ps) / static_cast<double>(count) * 1e-3;
}

// Those that have created packets, or whose packets have arrived in the window.
std::vector<FlowResult> rows_of(const std::vector<FlowTally>& flows, std::size_t stride, bool by_pair) {
  std::vector<FlowResult> rows;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const FlowTally& f = flows[i];
    if (f.created + f.delivered == 0) continue;
    const auto src = static_cast<NodeId>(i / stride), dst = by_pair ? static_cast<NodeId>(i % stride) : kNoNode;
    rows.push_back({src, dst, f.created, f.delivered, f.measured, mean_ns(f.latency_ps, f.measured), f.most});
  }
  return rows;
}

void summarize_flows(const FlowTallies& tallies, OpenLoopResult& r) {
  if (!tallies.by_pair) {
    r.of_source = rows_of(tallies.flows, 1, false);
    return;
  }
  r.of_pair = rows_of(tallies.flows, tallies.stride, true);
  std::vector<FlowTally> sources(tallies.flows.size() / std::max<std::size_t>(tallies.stride, 1));
  for (std::size_t i = 0; i < tallies.flows.size(); ++i) sources[i / tallies.stride].add(tallies.flows[i]);
  r.of_source = rows_of(sources, 1, false);
}

// In overload latency grows by the time for which nobody serves what is offered. Near a limit it also rises and falls
// with queues that are as long as the window: so little growth says nothing.
constexpr double kLeastExcess = 0.02;  // of the window
// A window shorter than so many times what a packet takes alone says nothing of packets that have not arrived.
constexpr double kLeastWindow = 4;

// Packets come at random, as many as a sender's links carry, or more: its queue grows without a bound, whatever the
// network. A window does not show it where it is too short.
bool fills_sources(const OpenLoopConfig& config, double full_load) {
  return config.load > full_load || (config.load == full_load && !config.bernoulli && config.burst == 0);
}

}  // namespace

// With faults: what they did, and packets by intervals.
void OpenLoop::State::summarize_faults(const Tally& t, OpenLoopResult& r) const {
  r.faults = faults->record(t.lost, 0, {});
  r.interval = interval;
  r.delivered_in.resize(OpenLoopResult::kIntervals);
  r.lost_in.resize(OpenLoopResult::kIntervals);
  for (const Part& part : parts)
    for (std::size_t i = 0; i < OpenLoopResult::kIntervals; ++i) {
      r.delivered_in[i] += part.tally.delivered_in[i];
      r.lost_in[i] += part.tally.lost_in[i];
    }
}

// Where a few senders have more than is taken from them, all others hide it in the sum; the queues of those few show in
// the mean latency. In a window in which hardly a packet arrives nothing is shown, nor in one without any.
void OpenLoop::State::judge_saturation(const Tally& t, double window_ps, OpenLoopResult& r) const {
  const bool grows =
      config.settle && rises(as_doubles(t.batch_ps), as_doubles(t.batch_packets), kLeastExcess * window_ps);
  const bool fills = fills_sources(config, full_load);
  r.saturated = fills || (r.created > 0 && (r.measured < r.created || r.accepted_load < 0.9 * r.offered_load || grows));
  r.settled = !config.settle || !r.saturated;
  const double least_ps = kLeastWindow * (r.created > 0 ? r.zero_load_ns * 1e3 : to_one_packet_ps());
  if (fills || (r.created > 0 && (!r.saturated || window_ps >= least_ps))) return;
  r.saturated = false;
  r.wanted_window = Time::ps(static_cast<std::int64_t>(std::ceil(least_ps)));
}

// From the one packet of a sender to the arrival of its next, in the mean.
double OpenLoop::State::to_one_packet_ps() const {
  const auto sender = std::ranges::find_if(sources, [](const Source& source) { return source.dst != kNoNode; });
  const Time takes = fabric.zero_load_latency(sender->node, sender->dst, config.packet_bytes, Time());
  return packet_ps / config.load + static_cast<double>(takes.ps());
}

// Turns what has been counted into statistics.
OpenLoopResult OpenLoop::State::summarize() {
  State& s = *this;
  const Tally t = total();
  OpenLoopResult r;
  if (faults) summarize_faults(t, r);
  const double window_ps = static_cast<double>((s.end - s.begin).ps()), per_load = s.packet_ps / window_ps / s.senders;
  const double gbps = 8.0 * s.config.packet_bytes / window_ps * 1e3;
  ClassTally all;
  for (std::size_t i = 0; i < (s.config.priority_share > 0 ? t.of_priority.size() : 1); ++i) {
    const ClassTally& c = t.of_priority[i];
    all.add(c);
    r.of_priority.push_back({c.created, c.measured, static_cast<double>(c.created) * per_load,
                             static_cast<double>(c.delivered) * per_load, mean_ns(c.latency_ps, c.measured),
                             mean_ns(c.network_ps, c.measured), c.latency});
  }
  r.warm_up = s.begin;
  r.senders = s.senders;
  r.created = all.created;
  r.measured = all.measured;
  r.accepted = all.delivered;
  r.offered_load = static_cast<double>(all.created) * per_load;
  r.accepted_load = static_cast<double>(all.delivered) * per_load;
  r.offered_gbps = static_cast<double>(all.created) * gbps;
  r.accepted_gbps = static_cast<double>(all.delivered) * gbps;
  r.latency_ns = mean_ns(all.latency_ps, all.measured);
  r.network_latency_ns = mean_ns(all.network_ps, all.measured);
  r.zero_load_ns = mean_ns(t.zero_load_ps, t.samples);
  if (all.measured > 0) {
    if (const auto half_ps = half_interval(as_doubles(t.batch_ps), as_doubles(t.batch_packets)))
      r.latency_error_ns = *half_ps * 1e-3;
    r.least = t.least;
    r.most = t.most;
  }
  r.latency = all.latency;
  std::uint64_t overtaken = 0;
  for (Part& part : s.parts) {
    const Overtaking::Counted counted = part.overtaking.counted();
    overtaken += counted.packets;
    r.latest = max(r.latest, counted.latest);
  }
  if (r.measured > 0) r.overtaken = static_cast<double>(overtaken) / static_cast<double>(r.measured);
  r.packets = t.delivered;
  r.packet_hops = s.fabric.packet_hops();
  if (r.packets > 0) r.mean_hops = static_cast<double>(r.packet_hops) / static_cast<double>(r.packets);
  FlowTallies flows = s.parts.front().tally.flows;
  for (std::size_t part = 1; part < s.parts.size(); ++part)
    for (std::size_t i = 0; i < flows.flows.size(); ++i) flows.flows[i].add(s.parts[part].tally.flows.flows[i]);
  summarize_flows(flows, r);
  std::vector<double> shares;
  for (const Source& source : s.sources)
    if (source.is_first() && source.dst != kNoNode) shares.push_back(static_cast<double>(t.accepted[source.node]));
  r.fairness = jain(shares);
  judge_saturation(t, window_ps, r);
  for (const Part& part : s.parts) r.events += part.queue.processed();
  r.memory_bytes = s.fabric.memory_bytes();
  r.first_watched = s.first_watched();
  r.samples = s.samples;
  r.watched = s.queued.empty() ? 0 : s.topology->node_count() - r.first_watched;
  r.queued = std::move(s.queued);
  r.link_use = std::move(s.link_use);
  r.links = exanet::link_use(*s.topology, s.before, s.after, s.end - s.begin);
  return r;
}

}  // namespace exanet
