// SPDX-License-Identifier: Apache-2.0
#include "core/workload/message_plan.hpp"

#include <bit>
#include <stdexcept>

#include "core/workload/pattern.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kMostMessages = 1u << 28;

void room_for(double messages) {
  if (messages > static_cast<double>(kMostMessages))
    throw std::invalid_argument("that is more than " + std::to_string(kMostMessages) + " messages: ask for fewer rounds, a shorter window, "
                                "larger messages or a smaller machine");
}

MessagePlan burst(const MessageConfig& config, const Pattern& pattern, std::uint32_t endpoints) {
  room_for(static_cast<double>(config.rounds) * endpoints);
  MessagePlan plan;
  for (NodeId src = 0; src < endpoints; ++src) {
    Random random(config.seed, src);
    for (std::uint32_t round = 0; round < config.rounds; ++round) {
      const NodeId dst = pattern.destination(src, round, random);
      if (dst == kNoNode) break;
      const auto id = static_cast<std::uint32_t>(plan.messages.size());
      plan.messages.push_back({src, dst, config.message_bytes, Time()});
      if (round > 0) plan.after.emplace_back(id, id - 1);
    }
  }
  return plan;
}

MessagePlan open_loop(const MessageConfig& config, const Pattern& pattern, std::uint32_t endpoints, double link_rate_bps) {
  const double mean_ps = 8e12 * static_cast<double>(config.message_bytes) / link_rate_bps / config.load;
  const Time stop = config.warm_up + config.measure + config.measure;
  room_for(static_cast<double>(stop.ps()) / mean_ps * endpoints);
  MessagePlan plan;
  for (NodeId src = 0; src < endpoints; ++src) {
    Random random(config.seed, src);
    std::uint64_t index = 0;
    for (double at = random.exponential(mean_ps); at < static_cast<double>(stop.ps()); at += random.exponential(mean_ps)) {
      const NodeId dst = pattern.destination(src, index++, random);
      if (dst == kNoNode) break;
      plan.messages.push_back({src, dst, config.message_bytes, Time::ps(static_cast<std::int64_t>(at))});
    }
  }
  return plan;
}

std::uint64_t share_of(std::uint64_t bytes, std::uint32_t parts) { return (bytes + parts - 1) / parts; }

// Step k of endpoint i is message k * n + i.
MessagePlan allreduce_ring(std::uint32_t n, std::uint64_t bytes) {
  room_for(2.0 * n * (n - 1));
  MessagePlan plan;
  for (std::uint32_t step = 0; step < 2 * (n - 1); ++step)
    for (NodeId i = 0; i < n; ++i) {
      if (step > 0) plan.after.emplace_back(step * n + i, (step - 1) * n + (i + n - 1) % n);
      plan.messages.push_back({i, (i + 1) % n, share_of(bytes, n), Time()});
    }
  return plan;
}

MessagePlan allreduce_doubling(std::uint32_t n, std::uint64_t bytes) {
  if (!std::has_single_bit(n))
    throw std::invalid_argument("allreduce-doubling needs a power of two endpoints; this machine has " + std::to_string(n) +
                                ": choose another, e.g. allreduce-ring");
  MessagePlan plan;
  for (std::uint32_t step = 0; 1u << step < n; ++step)
    for (NodeId i = 0; i < n; ++i) {
      // What it got, and what it sent, in the step before.
      if (step > 0) plan.after.emplace_back(step * n + i, (step - 1) * n + (i ^ (1u << (step - 1))));
      if (step > 0) plan.after.emplace_back(step * n + i, (step - 1) * n + i);
      plan.messages.push_back({i, i ^ (1u << step), bytes, Time()});
    }
  return plan;
}

MessagePlan all_to_all_rounds(std::uint32_t n, std::uint64_t bytes) {
  room_for(1.0 * n * (n - 1));
  MessagePlan plan;
  for (std::uint32_t round = 0; round < n - 1; ++round)
    for (NodeId i = 0; i < n; ++i) {
      if (round > 0) plan.after.emplace_back(round * n + i, (round - 1) * n + i);
      if (round > 0) plan.after.emplace_back(round * n + i, (round - 1) * n + (i + n - round) % n);
      plan.messages.push_back({i, (i + round + 1) % n, bytes, Time()});
    }
  return plan;
}

MessagePlan broadcast_binomial(std::uint32_t n, std::uint64_t bytes) {
  MessagePlan plan;
  std::vector<std::uint32_t> brought_by(n, 0);  // the message that brings it, and the last one that it sends
  for (std::uint32_t reach = std::bit_ceil(n) / 2; reach > 0; reach /= 2)
    for (NodeId i = 0; i + reach < n; i += 2 * reach) {
      const auto id = static_cast<std::uint32_t>(plan.messages.size());
      if (brought_by[i] > 0) plan.after.emplace_back(id, brought_by[i] - 1);
      plan.messages.push_back({i, i + reach, bytes, Time()});
      brought_by[i] = brought_by[i + reach] = id + 1;
    }
  return plan;
}

// A new collective is one line here.
constexpr struct {
  const char* name;
  MessagePlan (*make)(std::uint32_t endpoints, std::uint64_t bytes);
} kCollectives[] = {
    {"allreduce-ring", allreduce_ring},
    {"allreduce-doubling", allreduce_doubling},
    {"all-to-all-rounds", all_to_all_rounds},
    {"broadcast-binomial", broadcast_binomial},
};

}  // namespace

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const auto& entry : kCollectives) names.emplace_back(entry.name);
  return names;
}

MessagePlan make_message_plan(const MessageConfig& config, const Topology& topology, const TopologySpec& spec, double link_rate_bps) {
  const std::uint32_t endpoints = topology.endpoint_count();
  if (config.message_bytes < 1 || config.message_bytes > std::uint64_t{1} << 40)
    throw std::invalid_argument("a message has from 1 byte to 1 TiB");
  if (config.rounds < 1) throw std::invalid_argument("a burst has at least one round");
  for (const auto& entry : kCollectives)
    if (config.traffic == entry.name) {
      if (endpoints < 2) throw std::invalid_argument("traffic needs at least two endpoints; this machine has one");
      if (config.load > 0 || config.rounds > 1)
        throw std::invalid_argument(config.traffic + " is done once: it takes neither a load nor rounds");
      return entry.make(endpoints, config.message_bytes);
    }
  const auto pattern = make_pattern(config.traffic, topology, spec, config.seed);
  if (config.load == 0) {
    MessagePlan plan = burst(config, *pattern, endpoints);
    if (plan.messages.empty()) throw std::invalid_argument("nobody sends anything in this pattern on this machine: choose another");
    return plan;
  }
  if (!(config.load > 0 && config.load <= 1000)) throw std::invalid_argument("a load is above 0 and at most 1000; 1 fills a link");
  if (config.measure < Time::ns(1) || config.warm_up < Time()) throw std::invalid_argument("the measured window is at least 1 ns long");
  MessagePlan plan = open_loop(config, *pattern, endpoints, link_rate_bps);
  if (plan.messages.empty())
    throw std::invalid_argument("no message begins within the window: make the window longer or the messages smaller");
  return plan;
}

}  // namespace exanet
