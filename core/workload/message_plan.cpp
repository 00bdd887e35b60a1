// SPDX-License-Identifier: Apache-2.0
// Plans messages from a traffic pattern: bursts, and Poisson processes at a load.
//
// Problem: both levels are to carry out the same messages, whatever the order in which they ask for them. Model: all of
// them are drawn beforehand, each sender's from a stream of its own (destination, size, time). Limits: a plan is kept
// whole in memory, so it has at most kMostMessages.
#include "core/workload/message_plan.hpp"

#include "core/config/error.hpp"
#include "core/workload/flow_list.hpp"
#include "core/workload/flow_sizes.hpp"
#include "core/workload/pattern.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kMostMessages = 1u << 26;  // some 20 GB

void check_number(double messages) {
  if (messages > static_cast<double>(kMostMessages))
    throw ConfigError("rounds", "these are more than " + std::to_string(kMostMessages) +
                                    " messages: ask for fewer rounds, a shorter window, "
                                    "larger messages or a smaller machine");
}

// Of the next message.
std::uint64_t draw_size(const MessageConfig& config, Random& random) {
  return config.sizes.empty() ? config.message_bytes : flow_sizes(config.sizes).at(random.unit() * 100);
}

MessagePlan burst(const MessageConfig& config, const Pattern& pattern, std::uint32_t endpoints) {
  check_number(static_cast<double>(config.rounds) * endpoints);
  MessagePlan plan;
  for (NodeId src = 0; src < endpoints; ++src) {
    Random random(config.seed, src);
    for (std::uint32_t round = 0; round < config.rounds; ++round) {
      const NodeId dst = pattern.destination(src, round, random);
      if (dst == kNoNode) break;
      const auto id = static_cast<std::uint32_t>(plan.messages.size());
      plan.messages.push_back({src, dst, draw_size(config, random), Time()});
      if (round > 0) plan.after.push_back({id, id - 1});
    }
  }
  return plan;
}

MessagePlan open_loop(const MessageConfig& config, const Pattern& pattern, std::uint32_t endpoints,
                      double endpoint_rate_bps) {
  const double mean_bytes =
      config.sizes.empty() ? static_cast<double>(config.message_bytes) : flow_sizes(config.sizes).mean_bytes();
  const double mean_ps = 8e12 * mean_bytes / endpoint_rate_bps / config.load;
  const Time stop = config.warm_up + config.measure + config.measure;
  check_number(static_cast<double>(stop.ps()) / mean_ps * endpoints);
  MessagePlan plan;
  for (NodeId src = 0; src < endpoints; ++src) {
    Random random(config.seed, src);
    std::uint64_t index = 0;
    for (double at = random.exponential(mean_ps); at < static_cast<double>(stop.ps());
         at += random.exponential(mean_ps)) {
      const NodeId dst = pattern.destination(src, index++, random);
      if (dst == kNoNode) break;
      plan.messages.push_back({src, dst, draw_size(config, random), Time::ps(static_cast<std::int64_t>(at))});
    }
  }
  return plan;
}

}  // namespace

MessagePlan make_message_plan(const MessageConfig& config, const Topology& topology, const TopologySpec& spec,
                              double endpoint_rate_bps) {
  const std::uint32_t endpoints = topology.endpoint_count();
  if (config.message_bytes < 1 || config.message_bytes > std::uint64_t{1} << 40)
    throw ConfigError("message_bytes", "a message must have from 1 byte to 1 TiB");
  if (config.rounds < 1) throw ConfigError("rounds", "a burst needs at least one round");
  if (config.paced && (config.rounds > 1 || config.load > 0))
    throw ConfigError(
        "paced",
        "senders can be paced by the flow level's rates only in a burst of one round, where these rates do not change");
  if (!config.sizes.empty() && config.fluid)
    throw ConfigError("fluid",
                      "with FIFO sharing a sender sends one message after the other, and short ones would wait "
                      "behind the longest: for "
                      "sizes of a distribution choose max-min, or the packet level");
  if (is_flow_list(config.traffic)) {
    if (config.load > 0 || config.rounds > 1 || !config.sizes.empty())
      throw ConfigError("pattern",
                        "a list of flows says when each begins and how long it is: leave out load, rounds and sizes");
    if (config.fluid)
      throw ConfigError("fluid", "FIFO sharing has senders that begin together: for a list of flows choose max-min");
    return read_flow_list(config.traffic, topology);
  }
  const auto pattern = make_pattern(config.traffic, topology, spec, config.seed);
  if (config.load == 0) {
    MessagePlan plan = burst(config, *pattern, endpoints);
    if (plan.messages.empty())
      throw ConfigError("pattern", "no endpoint sends anything in this pattern on this machine: choose another");
    return plan;
  }
  if (!(config.load > 0 && config.load <= 1000))
    throw ConfigError("load", "a load must be above 0 and at most 1000; 1 fills a link");
  if (config.measure < Time::ns(1) || config.warm_up < Time())
    throw ConfigError("measure_ps", "the measured window must be at least 1 ns long");
  MessagePlan plan = open_loop(config, *pattern, endpoints, endpoint_rate_bps);
  if (plan.messages.empty())
    throw ConfigError("measure_ps",
                      "no message begins within the window: make the window longer or the messages smaller");
  return plan;
}

}  // namespace exanet
