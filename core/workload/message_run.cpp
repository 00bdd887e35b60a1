// SPDX-License-Identifier: Apache-2.0
// The figures of a message plan that has been carried out, at either level.
//
// Problem: latency says little of messages of unequal length. Model: each is compared with what its packets take alone
// in an empty network; the ratio is its slowdown. Sizes that are drawn are counted by decades, too. Limits: of a plan
// of one size only some messages, spread over it, are compared; an open loop's messages count by when they start, and
// those that have not arrived by the end have no latency.
#include "core/workload/message_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/workload/statistics.hpp"

namespace exanet {

namespace {

constexpr std::size_t kMostCompared = 4096;  // messages, with what each would take alone
// A window that is at least so many times what a message takes on a link that is shared at this load is long enough for
// a verdict. That time is what the message takes alone, over 1 - load (Kleinrock, Time-shared systems, JACM 14, 1967).
// The factor was found on fat-tree-64 at loads that are not saturated: in shorter windows the verdict was wrong there.
constexpr double kLeastMessages = 6;
// In place of 1 - load from load 1 on, which is no share of a link where senders have several.
constexpr double kLeastFree = 0.1;

// A sender's payload rate: in an open loop what was accepted of it in the window, in a burst what it sent over the time
// that it took.
std::vector<double> sender_rates(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times) {
  std::map<NodeId, std::pair<double, Time>> senders;
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    auto& [bytes, last] = senders[plan.messages[m].src];
    bytes += static_cast<double>(plan.messages[m].bytes);
    last = max(last, times.arrived[m]);
  }
  std::vector<double> rates;
  rates.reserve(senders.size());
  for (const auto& [node, sent] : senders)
    rates.push_back(config.load > 0 ? times.accepted_bytes[node] : sent.first / static_cast<double>(sent.second.ps()));
  return rates;
}

// Classes of a decade each, about the limits that are usual for data centres: mice below 100 kB, elephants above 1 MB.
std::vector<SizeClass> size_classes() {
  std::vector<SizeClass> classes;
  for (const std::uint64_t most :
       {std::uint64_t{10'000}, std::uint64_t{100'000}, std::uint64_t{1'000'000}, ~std::uint64_t{0}})
    classes.emplace_back().most_bytes = most;
  return classes;
}

SizeClass& class_of(std::vector<SizeClass>& classes, std::uint64_t bytes) {
  return *std::find_if(classes.begin(), classes.end(), [&](const SizeClass& c) { return bytes <= c.most_bytes; });
}

std::int64_t thousandths(double ratio) { return static_cast<std::int64_t>(std::llround(ratio * 1000)); }

// Compares what messages took with what they would have taken alone.
void summarize_times(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
                     const FlowNetwork& network, MessageResult& r) {
  double latency = 0, sampled = 0, alone = 0, ratios = 0;
  // Samples are spread over all messages.
  const std::size_t every = config.sizes.empty() ? std::max<std::size_t>(1, plan.messages.size() / kMostCompared) : 1;
  if (!config.sizes.empty()) r.of_size = size_classes();
  r.least = Time::never();
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    const auto& message = plan.messages[m];
    if (config.load > 0 && (message.start < times.begin || message.start >= times.end)) continue;
    ++r.created;
    if (!r.of_size.empty()) ++class_of(r.of_size, message.bytes).created;
    if (times.arrived[m] == Time::never()) continue;
    ++r.measured;
    const Time took = times.arrived[m] - times.ready[m];
    r.latency.add(took.ps());
    r.least = min(r.least, took);
    r.most = max(r.most, took);
    latency += static_cast<double>(took.ps());
    if (m % every != 0) continue;
    const double empty = alone_ps(network, message), ratio = static_cast<double>(took.ps()) / empty;
    sampled += 1;
    alone += empty;
    ratios += ratio;
    r.slowdowns.add(thousandths(ratio));
    if (r.of_size.empty()) continue;
    SizeClass& its_class = class_of(r.of_size, message.bytes);
    ++its_class.measured;
    its_class.latency_ns += static_cast<double>(took.ps()) * 1e-3;
    its_class.slowdown += ratio;
    its_class.latency.add(took.ps());
    its_class.slowdowns.add(thousandths(ratio));
  }
  for (SizeClass& c : r.of_size)
    if (c.measured > 0) c.latency_ns /= static_cast<double>(c.measured), c.slowdown /= static_cast<double>(c.measured);
  if (r.measured > 0) r.latency_ns = latency / static_cast<double>(r.measured) * 1e-3;
  if (sampled > 0) r.zero_load_ns = alone / sampled * 1e-3, r.slowdown = ratios / sampled;
}

// The load from which on a sender has more than its links, or its port into its router, carry.
double full_load(const MessagePlan& plan, const FlowNetwork& network) {
  std::vector<bool> seen(network.topology().endpoint_count());
  double least = network.most_load(plan.messages.front().src);
  for (const MessagePlan::Message& message : plan.messages)
    if (!seen[message.src]) seen[message.src] = true, least = std::min(least, network.most_load(message.src));
  return std::max(least, 1.0);
}

// Whether the queues of senders grow without a bound. From that load on they do, which a short window does not show.
// Below, what has not arrived, or has not been taken, says so only where the window is long against a message: one that
// has had no time to end says nothing. Of drawn sizes a few messages may hold a large share of the bytes, which the
// window's end cuts.
void judge(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times, const FlowNetwork& network,
           MessageResult& r) {
  r.saturated = config.load >= 1 && config.load >= full_load(plan, network);
  if (config.load == 0 || r.saturated) return;
  const auto window_ps = static_cast<double>((times.end - times.begin).ps());
  const double least = kLeastMessages / (config.load < 1 ? 1 - config.load : kLeastFree);
  const auto is_long = [&](double alone) { return least * alone <= window_ps; };
  double longest = 0;  // that the window is too short for
  for (std::size_t m = 0; m < plan.messages.size() && r.measured < r.created; ++m) {
    const auto& message = plan.messages[m];
    if (message.start < times.begin || message.start >= times.end || times.arrived[m] != Time::never()) continue;
    const double alone = alone_ps(network, message);
    r.saturated = is_long(alone);
    if (r.saturated) return;
    longest = std::max(longest, alone);
  }
  if (config.sizes.empty() && r.accepted_load < 0.9 * r.offered_load) {
    const double mean = r.zero_load_ns * 1e3;
    r.saturated = r.measured > 0 && is_long(mean);
    if (r.saturated) return;
    longest = std::max(longest, mean);
  }
  if (r.created == 0) longest = alone_ps(network, plan.messages.front()) / config.load;  // from one to the next
  r.wanted_window = Time::ps(static_cast<std::int64_t>(std::ceil(least * longest)));
}

}  // namespace

double alone_ps(const FlowNetwork& network, const MessagePlan::Message& message) {
  std::vector<ResourceId> route;
  network.route(message.src, message.dst, route);
  return static_cast<double>(network.message_time(route, message.bytes).ps());
}

void summarize(const MessageConfig& config, const MessagePlan& plan, const MessageTimes& times,
               const FlowNetwork& network, MessageResult& r) {
  summarize_times(config, plan, times, network, r);
  const std::vector<double> rates = sender_rates(config, plan, times);
  const bool burst = config.load == 0;
  const double window_s = static_cast<double>((times.end - times.begin).ps()) * 1e-12;
  double offered = 0, accepted = 0;
  r.senders = static_cast<std::uint32_t>(rates.size());
  for (const double bytes : times.accepted_bytes) accepted += bytes;
  for (const auto& message : plan.messages) {
    r.mean_bytes += static_cast<double>(message.bytes) / static_cast<double>(plan.messages.size());
    r.mean_packets +=
        std::ceil(static_cast<double>(message.bytes) / config.packet_bytes) / static_cast<double>(plan.messages.size());
    if (!burst && message.start >= times.begin && message.start < times.end)
      offered += static_cast<double>(message.bytes);
  }
  const double link_bytes = network.endpoint_rate_bps() / 8 * window_s * r.senders;
  r.accepted_load = accepted / link_bytes;
  r.accepted_gbps = accepted * 8e-9 / window_s;
  r.offered_load = burst ? 1 : offered / link_bytes;
  r.offered_gbps = burst ? network.endpoint_rate_bps() * r.senders * 1e-9 : offered * 8e-9 / window_s;
  r.fairness = jain(rates);
  judge(config, plan, times, network, r);
}

}  // namespace exanet
