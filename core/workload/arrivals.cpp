// SPDX-License-Identifier: Apache-2.0
#include "core/workload/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/config/error.hpp"

namespace exanet {

Arrivals::Arrivals(const OpenLoopConfig& config, double packet_ps, std::unique_ptr<Pattern> pattern,
                   const InjectionPorts& ports)
    : config_(config), packet_ps_(packet_ps), pattern_(std::move(pattern)), ports_(ports) {
  if (!(config.load > 0 && config.load <= 1000))
    throw ConfigError("load", "a load must be above 0 and at most 1000; 1 fills a link");
  if (config.burst != 0 && !(config.burst >= 1 && config.burst <= 1e6 && config.load <= 1 && !config.bernoulli))
    throw ConfigError("burst", "the mean length of bursts must be from 1 to 10^6 packets, and their load at most 1");
  if (config.bernoulli && config.load > 1)
    throw ConfigError("load", "with bernoulli arrivals a load must be at most 1, one packet in each packet time");
  if (!(config.priority_share >= 0 && config.priority_share <= 1))
    throw ConfigError("priority_share", "the share of priority packets must be from 0 to 1");
}

Source Arrivals::source(NodeId node, std::uint8_t its_class, std::uint8_t its_queue, Time end) const {
  Source made(config_.seed, node, its_class, its_queue);
  made.dst = pattern_->destination(node, 0, made.random);
  if (made.dst == kNoNode) return made;
  made.next = Time::ps(gap_ps(made));
  made.priority = draw_priority(made);
  if (!is_own(made)) advance(made, end);
  return made;
}

void Arrivals::advance(Source& source, Time end) const {
  do {
    ++source.created;
    source.next += Time::ps(gap_ps(source));
    source.priority = draw_priority(source);
    if (!source.in_burst) source.dst = pattern_->destination(source.node, source.created, source.random);
  } while (!is_own(source) && source.next < end);
}

std::int64_t Arrivals::gap_ps(Source& source) const {
  double gap;
  if (config_.burst > 0) {
    const bool last = source.random.unit() * config_.burst < 1;  // of its burst
    source.in_burst = !last;
    gap = packet_ps_ + (last ? source.random.exponential(packet_ps_ * config_.burst * (1 / config_.load - 1)) : 0);
  } else if (!config_.bernoulli)
    gap = source.random.exponential(packet_ps_ / config_.load);
  else
    gap = packet_ps_ *
          (config_.load >= 1 ? 1 : 1 + std::floor(std::log1p(-source.random.unit()) / std::log1p(-config_.load)));
  return static_cast<std::int64_t>(std::min(gap, 1e15)) + 1;
}

// Without priorities nothing is drawn, so that such a run is what it is without this option.
std::uint8_t Arrivals::draw_priority(Source& source) const {
  return config_.priority_share > 0 && source.random.unit() < config_.priority_share;
}

}  // namespace exanet
