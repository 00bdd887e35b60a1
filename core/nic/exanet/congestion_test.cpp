// SPDX-License-Identifier: Apache-2.0
// An incast of 5:1 with a victim, under the congestion controls: does ACC give each flow its max-min share soon after
// any flow begins or ends, and do the others slow their sources down and let the victim's packets pass?
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "core/flow/flow_network.hpp"
#include "core/flow/max_min.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/pacing/pacing.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

struct FlowPlan {
  NodeId src, dst;
  Time begins;
  std::uint64_t bytes;
};

NetworkConfig fabric() {
  NetworkConfig config = testing::published_fabric();
  config.router.queue_threshold_words = 64;
  config.router.queue_threshold_max_words = 512;
  config.router.marking_probability_percent = 10;
  config.router.hpcc_round_trip = Time::us(13);
  return config;
}

// Flows in a row of seven nodes, under the congestion control.
struct Row final : NicListener {
  Row(const std::string& control, const std::vector<FlowPlan>& flows, NetworkConfig config = fabric(),
      PacingParameters::AccStart start = PacingParameters::AccStart::kFullSpeed)
      : topology(make_topology({"mesh", {7}})) {
    NiConfig ni;
    ni.congestion_control = control;
    ni.pacing.acc_start = start;
    const std::vector<std::string>& actions = pacing_kind(control).actions;
    config.router.queue_action = actions.empty() ? "none" : actions[0];
    nic = nic_kind("exanet").make({queue, *topology, config, ni, *this});
    starts = flows;
    ends.resize(flows.size());
    const std::uint32_t on_start = queue.add_handler(
        [](void* self, Time, std::uint32_t flow, std::uint64_t) {
          Row& row = *static_cast<Row*>(self);
          const FlowPlan& f = row.starts[flow];
          row.nic->post(RdmaTransfer{f.src, f.dst, f.bytes, true, true, flow});
        },
        this);
    for (std::uint32_t flow = 0; flow < flows.size(); ++flow) queue.schedule(flows[flow].begins, on_start, flow);
    while (!queue.empty()) queue.run_one();
    CHECK(nic->active() == 0);
  }
  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t flow, Status, Time now) override { ends[flow] = now; }
  void transfer_acknowledged(std::uint64_t, Status, Time) override {}
  void packet_delivered(const Packet& packet, Time injected, Time now) override {
    if (packet.payload_bytes == 0) return;
    sent[{packet.src, packet.dst}].emplace_back(injected, packet.payload_bytes);
    longest[{packet.src, packet.dst}].push_back(now - injected);
    marked += (packet.notes & Packet::kCongested) != 0;
  }
  // Bit/s of what was injected in the window.
  double rate(NodeId src, NodeId dst, Time from, Time to) const {
    double bytes = 0;
    for (const auto& [at, of] : sent.at({src, dst})) bytes += at >= from && at < to ? of : 0;
    return bytes * 8e12 / static_cast<double>((to - from).ps());
  }
  Time mean_in_fabric(NodeId src, NodeId dst) const {
    std::int64_t sum = 0;
    for (const Time t : longest.at({src, dst})) sum += t.ps();
    return Time::ps(sum / static_cast<std::int64_t>(longest.at({src, dst}).size()));
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<Nic> nic;
  std::vector<FlowPlan> starts;
  std::vector<Time> ends;
  std::map<std::pair<NodeId, NodeId>, std::vector<std::pair<Time, std::uint32_t>>> sent;
  std::map<std::pair<NodeId, NodeId>, std::vector<Time>> longest;
  std::uint64_t marked = 0;
};

// The exact max-min shares of these flows, in bit/s of payload.
std::vector<double> shares(const Row& row, const std::vector<std::size_t>& active) {
  const NetworkConfig config = fabric();
  const auto bytes = static_cast<std::uint16_t>(config.router.max_payload_bytes);
  const FlowNetwork network(*row.topology, config, bytes);
  MaxMin sharing(network.resource_count());
  for (ResourceId r = 0; r < network.resource_count(); ++r) sharing.set_capacity(r, network.capacity(r));
  std::vector<ResourceId> path;
  for (FlowId f = 0; f < active.size(); ++f) {
    network.route(row.starts[active[f]].src, row.starts[active[f]].dst, path);
    sharing.add(f, path);
  }
  sharing.solve();
  std::vector<double> rates;
  for (FlowId f = 0; f < active.size(); ++f)
    rates.push_back(static_cast<double>(sharing.rate(f)) * 1e-6 * 8 * bytes / network.volume_bits(bytes));
  return rates;
}

constexpr std::uint64_t kLong = 8 << 20;

// Five flows into node 6, and a victim that shares a link with one of them.
std::vector<FlowPlan> incast(std::uint64_t bytes) {
  std::vector<FlowPlan> flows{{0, 2, Time(), bytes}};
  for (NodeId src = 1; src <= 5; ++src) flows.push_back({src, 6, Time(), bytes});
  return flows;
}

}  // namespace

TEST_CASE("ACC: rates are within 2 % of the max-min shares 60 us after any flow begins or ends") {
  // The victim and one flow; then four more, one after the other; one of them is short and ends.
  std::vector<FlowPlan> flows{{0, 2, Time(), kLong}, {1, 6, Time(), kLong}};
  for (NodeId src = 2; src <= 5; ++src) flows.push_back({src, 6, Time::us(500) * (src - 1), kLong});
  flows.push_back({3, 5, Time::us(2507), 100'000});
  const Row row("acc", flows, fabric(), PacingParameters::AccStart::kFeedback);
  struct Event {
    Time at;
    std::vector<std::size_t> active;
  };
  std::vector<Event> events{{Time(), {0, 1}},
                            {Time::us(500), {0, 1, 2}},
                            {Time::us(1000), {0, 1, 2, 3}},
                            {Time::us(1500), {0, 1, 2, 3, 4}},
                            {Time::us(2000), {0, 1, 2, 3, 4, 5}}};
  REQUIRE(row.ends[6] > Time::us(2800));
  events.push_back({Time::us(2507), {0, 1, 2, 3, 4, 5, 6}});
  events.push_back({row.ends[6], {0, 1, 2, 3, 4, 5}});
  for (const Event& event : events) {
    const std::vector<double> exact = shares(row, event.active);
    for (std::size_t f = 0; f < event.active.size(); ++f) {
      const FlowPlan& flow = flows[event.active[f]];
      CAPTURE(event.at.ps());
      CAPTURE(flow.src);
      const double rate = row.rate(flow.src, flow.dst, event.at + Time::us(60), event.at + Time::us(380));
      // A packet more or less in the window, beside the 2 %.
      CHECK(std::abs(rate - exact[f]) < 0.02 * exact[f] + 256 * 8 / 320e-6);
    }
  }
}

TEST_CASE("congestion controls: the incast's sources slow down, its link stays full, and the victim's packets pass") {
  const Row free("none", incast(1 << 20));
  Time free_end;
  for (std::size_t f = 1; f <= 5; ++f) free_end = max(free_end, free.ends[f]);
  CHECK(free.marked == 0);
  // A new flow of ACC at full speed fills queues that then drain by the margin alone; it waits for feedback here.
  for (const std::string control : {"dcqcn", "hpcc", "acc"}) {
    CAPTURE(control);
    const Row row(control, incast(1 << 20), fabric(), PacingParameters::AccStart::kFeedback);
    Time end;
    for (std::size_t f = 1; f <= 5; ++f) end = max(end, row.ends[f]);
    CHECK((row.marked > 0) == (control == "dcqcn"));
    CHECK(row.mean_in_fabric(0, 2) < Time::ps(free.mean_in_fabric(0, 2).ps() / 2));
    CHECK(end < Time::ps(free_end.ps() * 3 / 2));
  }
}

TEST_CASE("congestion controls: marks by a ramp are drawn from the seed alone") {
  NetworkConfig other = fabric();
  other.seed = 2;
  const Row one("dcqcn", incast(1 << 18)), same("dcqcn", incast(1 << 18)), drawn("dcqcn", incast(1 << 18), other);
  CHECK(one.marked > 0);
  CHECK((one.sent == same.sent && one.marked == same.marked));
  CHECK(one.sent != drawn.sent);
}

TEST_CASE("congestion controls: who is alone loses no more than what they aim to leave free") {
  const auto alone = [](const std::string& control, NetworkConfig config) {
    return static_cast<double>(Row(control, {{0, 6, Time(), 1 << 20}}, config).ends[0].ps());
  };
  const double free = alone("none", fabric());
  CHECK(alone("swift", fabric()) < free * 1.02);
  CHECK(alone("acc", fabric()) < free * 1.02);  // the margin of 1 %
  CHECK(alone("hpcc", fabric()) < free / 0.9);  // eta is 95 %
  // A router's queues include the node's own injection FIFO: marks that begin above it mark nobody who is alone.
  NetworkConfig high = fabric();
  high.router.queue_threshold_words = high.router.intra_fifo_words + 1;
  high.router.queue_threshold_max_words = 2 * high.router.intra_fifo_words;
  CHECK(alone("dcqcn", high) == free);
}
