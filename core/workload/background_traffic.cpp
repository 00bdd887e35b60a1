// SPDX-License-Identifier: Apache-2.0
// Begins the transfers of background traffic, each at its time, and counts what becomes of them.
#include "core/workload/background_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/config/error.hpp"
#include "core/flow/flow_network.hpp"
#include "core/units/check.hpp"
#include "core/workload/flow_list.hpp"
#include "core/workload/flow_sizes.hpp"

namespace exanet {

namespace {

void check(const BackgroundConfig& config) {
  require(config.message_bytes >= 1 && config.message_bytes <= std::uint64_t{1} << 40, "message_bytes",
          "a message must have from 1 byte to 1 TiB");
  require(config.start >= Time() && config.end >= Time(), "start_ps", "background traffic begins at 0 or later");
  if (is_flow_list(config.traffic))
    require(config.load == 0 && config.outstanding == 0 && config.sizes.empty(), "pattern",
            "a list of flows says when each begins and how long it is: leave out load, outstanding and sizes");
  else if (config.outstanding > 0)
    require(config.load == 0 && config.outstanding <= 1024, "outstanding",
            "from 1 to 1024 transfers are outstanding, and each begins when another has arrived: leave out the load");
  else
    require(config.load > 0 && config.load <= 1000, "load", "a load must be above 0 and at most 1000; 1 fills a link");
}

double mean_bytes(const BackgroundConfig& config) {
  return config.sizes.empty() ? static_cast<double>(config.message_bytes) : flow_sizes(config.sizes).mean_bytes();
}

}  // namespace

BackgroundTraffic::BackgroundTraffic(EventQueue& events, MessageEngine& engine, const Topology& topology,
                                     const TopologySpec& spec, const NetworkConfig& network,
                                     const BackgroundConfig& config, std::function<bool()> wanted)
    : events_(events), engine_(engine), config_(config), wanted_(std::move(wanted)) {
  check(config_);
  if (is_flow_list(config_.traffic)) {
    plan_ = read_flow_list(config_.traffic, topology);
    flows_.resize(plan_.messages.size());
    for (const auto& [message, earlier, sent] : plan_.after) {
      ++flows_[message].waits;
      (sent ? flows_[earlier].awaiting_source : flows_[earlier].dependents).push_back(message);
    }
  } else {
    pattern_ = make_pattern(config_.traffic, topology, spec, config_.seed);
    const auto payload = static_cast<std::uint16_t>(network.router.max_payload_bytes);
    const double rate_bps = FlowNetwork(topology, network, payload).endpoint_rate_bps();
    mean_ps_ = 8e12 * mean_bytes(config_) / rate_bps / (config_.outstanding > 0 ? 1 : config_.load);
    packet_ps_ = 8e12 * payload / rate_bps;
    for (NodeId source = 0; source < topology.endpoint_count(); ++source)
      sources_.push_back({Random(config_.seed, source), 0});
  }
  engine_.set_listener(MessageEngine::Outside::kBackground, this);
  on_send_ = events_.add_handler([](void* self, Time now, std::uint32_t source,
                                    std::uint64_t) { static_cast<BackgroundTraffic*>(self)->send_next(source, now); },
                                 this);
  on_flow_ = events_.add_handler([](void* self, Time now, std::uint32_t flow,
                                    std::uint64_t) { static_cast<BackgroundTraffic*>(self)->begin_flow(flow, now); },
                                 this);
}

BackgroundTraffic::~BackgroundTraffic() { engine_.set_listener(MessageEngine::Outside::kBackground, nullptr); }

void BackgroundTraffic::start() {
  origin_ = events_.now();
  for (NodeId source = 0; source < sources_.size(); ++source) {
    // Those of a closed loop begin within the time of a packet, at moments of their own.
    for (std::uint32_t begun = 0; begun < std::max(config_.outstanding, 1u); ++begun) {
      Random& random = sources_[source].random;
      sources_[source].next_ps = static_cast<double>((origin_ + config_.start).ps()) +
                                 (config_.outstanding > 0 ? random.unit() * packet_ps_ : random.exponential(mean_ps_));
      schedule_source(source);
    }
  }
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow)
    if (flows_[flow].waits == 0) events_.schedule(origin_ + config_.start + plan_.messages[flow].start, on_flow_, flow);
}

// Nothing more is to begin.
bool BackgroundTraffic::over(Time now) {
  if (config_.end > Time() && now >= origin_ + config_.end) stopped_ = true;
  if (!stopped_ && record_.messages % kAskEvery == 0 && !wanted_()) stopped_ = true;
  return stopped_;
}

void BackgroundTraffic::schedule_source(NodeId source) {
  constexpr double kLatestPs = 4e18;  // 46 days
  if (sources_[source].next_ps < kLatestPs)
    events_.schedule(Time::ps(static_cast<std::int64_t>(sources_[source].next_ps)), on_send_, source);
}

void BackgroundTraffic::send_next(NodeId source, Time now) {
  if (over(now)) return;
  Source& s = sources_[source];
  const NodeId dst = pattern_->destination(source, s.sent++, s.random);
  if (dst == kNoNode) return;
  const std::uint64_t bytes =
      config_.sizes.empty() ? config_.message_bytes : flow_sizes(config_.sizes).at(s.random.unit() * 100);
  post(source, dst, bytes, source, false, now);
  if (config_.outstanding > 0) return;  // the next one begins when it has arrived
  s.next_ps += s.random.exponential(mean_ps_);
  schedule_source(source);
}

void BackgroundTraffic::begin_flow(std::uint32_t flow, Time now) {
  if (over(now)) return;
  const MessagePlan::Message& m = plan_.messages[flow];
  post(m.src, m.dst, m.bytes, flow, !flows_[flow].awaiting_source.empty(), now);
}

void BackgroundTraffic::post(NodeId src, NodeId dst, std::uint64_t bytes, std::uint32_t flow, bool acknowledged,
                             Time now) {
  std::uint32_t number = static_cast<std::uint32_t>(transfers_.size());
  if (free_.empty())
    transfers_.emplace_back();
  else
    number = free_.back(), free_.pop_back();
  transfers_[number] = {now, bytes, flow};
  ++record_.messages;
  record_.bytes += bytes;
  engine_.post_outside(MessageEngine::Outside::kBackground, src, dst, bytes, number, acknowledged);
}

void BackgroundTraffic::follow(const std::vector<std::uint32_t>& flows, Time now) {
  for (const std::uint32_t flow : flows)
    if (--flows_[flow].waits == 0)
      events_.schedule(max(now, origin_ + config_.start + plan_.messages[flow].start), on_flow_, flow);
}

void BackgroundTraffic::arrived(std::uint32_t number, Status status, Time now) {
  const Transfer transfer = transfers_[number];
  if (status == Status::kOk) {
    ++record_.arrived;
    record_.arrived_bytes += transfer.bytes;
    const std::int64_t took = (now - transfer.began).ps();
    record_.latency.add(took);
    record_.latency_ps += static_cast<std::uint64_t>(took);
    if (config_.outstanding > 0) events_.schedule(now, on_send_, transfer.flow);
  } else {
    ++record_.failed;
    // Where nothing gets through, the next one may fail at once.
    if (config_.outstanding > 0)
      events_.schedule(now + Time::ps(static_cast<std::int64_t>(std::ceil(mean_ps_))), on_send_, transfer.flow);
  }
  const bool acknowledged = !flows_.empty() && !flows_[transfer.flow].awaiting_source.empty();
  if (!acknowledged) free_.push_back(number);
  if (!flows_.empty()) follow(flows_[transfer.flow].dependents, now);
}

void BackgroundTraffic::acknowledged(std::uint32_t number, Status, Time now) {
  const std::uint32_t flow = transfers_[number].flow;
  free_.push_back(number);
  follow(flows_[flow].awaiting_source, now);
}

}  // namespace exanet
