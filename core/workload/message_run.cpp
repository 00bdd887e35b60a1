// SPDX-License-Identifier: Apache-2.0
#include "core/workload/message_run.hpp"

#include <algorithm>
#include <map>

#include "core/workload/statistics.hpp"

namespace exanet {

namespace {

constexpr std::size_t kMostSamples = 4096;

// What a message takes in an empty network.
double alone_ps(const FlowNetwork& network, const MessagePlan::Message& message) {
  std::vector<ResourceId> way;
  network.way(message.src, message.dst, way);
  Rate least = network.capacity(way.front());
  for (const ResourceId r : way) least = std::min(least, network.capacity(r));
  return network.volume_bits(message.bytes) * 1e18 / static_cast<double>(least) + static_cast<double>(network.latency(way).ps());
}

// A sender's payload rate: in an open loop what was accepted of it in the window, in a burst what it sent over the time that it took.
std::vector<double> sender_rates(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times) {
  std::map<NodeId, std::pair<double, Time>> senders;
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    auto& [bytes, last] = senders[plan.messages[m].src];
    bytes += static_cast<double>(plan.messages[m].bytes);
    last = max(last, times.arrived[m]);
  }
  std::vector<double> rates;
  for (const auto& [node, sent] : senders)
    rates.push_back(config.load > 0 ? times.accepted_bytes[node] : sent.first / static_cast<double>(sent.second.ps()));
  return rates;
}

}  // namespace

void summarize(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times, const FlowNetwork& network,
               MessageResult& r) {
  const std::vector<double> rates = sender_rates(config, plan, times);
  const bool burst = config.load == 0;
  const double window_s = static_cast<double>((times.end - times.begin).ps()) * 1e-12;
  double offered = 0, accepted = 0, latency = 0, sampled = 0, alone = 0, ratio = 0;
  r.senders = static_cast<std::uint32_t>(rates.size());
  r.least = Time::never();
  // Samples are spread over all messages.
  const std::size_t every = std::max<std::size_t>(1, plan.messages.size() / kMostSamples);
  for (const double bytes : times.accepted_bytes) accepted += bytes;
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    const auto& message = plan.messages[m];
    if (!burst && (message.start < times.begin || message.start >= times.end)) continue;
    ++r.created;
    offered += static_cast<double>(message.bytes);
    if (times.arrived[m] == Time::never()) continue;
    ++r.measured;
    const Time took = times.arrived[m] - times.ready[m];
    r.latency.add(took.ps());
    r.least = min(r.least, took);
    r.most = max(r.most, took);
    latency += static_cast<double>(took.ps());
    if (m % every != 0) continue;
    const double empty = alone_ps(network, message);
    sampled += 1;
    alone += empty;
    ratio += static_cast<double>(took.ps()) / empty;
  }
  const double link_bytes = network.link_rate_bps() / 8 * window_s * r.senders;
  r.accepted_load = accepted / link_bytes;
  r.accepted_gbps = accepted * 8e-9 / window_s;
  r.offered_load = burst ? 1 : offered / link_bytes;
  r.offered_gbps = burst ? network.link_rate_bps() * r.senders * 1e-9 : offered * 8e-9 / window_s;
  if (r.measured > 0) r.latency_ns = latency / static_cast<double>(r.measured) * 1e-3;
  if (sampled > 0) r.zero_load_ns = alone / sampled * 1e-3, r.slowdown = ratio / sampled;
  r.fairness = jain(rates);
  r.saturated = !burst && (r.measured < r.created || r.accepted_load < 0.9 * r.offered_load);
}

}  // namespace exanet
