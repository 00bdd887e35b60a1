// SPDX-License-Identifier: Apache-2.0
// Do the models call a queue action once for each packet and router, with the words that wait, and do packets come
// marked, stamped, trimmed, or not?
#include "core/network/queue_actions/queue_action.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

struct Outcome {
  std::uint64_t delivered = 0, marked = 0, trimmed = 0, lost = 0, deepest = 0, in_flight = 0, discarded = 0;
  Time end;
  bool operator==(const Outcome&) const = default;
};

NetworkConfig fabric_of(const std::string& model, const std::string& action, std::int64_t threshold) {
  NetworkConfig config = testing::published_fabric();
  config.router.queue_action = action;
  config.router.queue_threshold_words = threshold;
  if (model == "exanet") return config;
  SwitchConfig in_switch;
  in_switch.switching = model;
  config.input_queued = in_switch;
  return config;
}

// `senders` of a fat tree's first switch send `each` packets at once to the last endpoint there.
Outcome incast(const NetworkConfig& config, NodeId senders, int each, std::uint8_t notes = 0) {
  struct Bench {
    Outcome seen;
    EventQueue queue;
    std::unique_ptr<NetworkModel> network;
    std::vector<int> left;
    int each;
    std::uint8_t notes;
    void send(NodeId src) {
      for (; left[src] > 0; --left[src]) {
        Packet packet{src, 7, 256, 1, 0, 0};
        packet.notes = notes;
        packet.stamp = 3;
        if (!network->inject(packet)) return;
      }
    }
  } bench;
  const std::unique_ptr<Topology> topology = make_topology({"fat-tree", {8}});
  bench.each = each;
  bench.notes = notes;
  bench.left.assign(8, each);
  PacketSink sink{
      &bench,
      [](void* self, const Packet& packet, Time, Time now) {
        Outcome& seen = static_cast<Bench*>(self)->seen;
        ++seen.delivered;
        CHECK(packet.payload_bytes == 256);
        seen.marked += (packet.notes & Packet::kCongested) != 0;
        seen.trimmed += (packet.notes & Packet::kTrimmed) != 0;
        seen.deepest = std::max(seen.deepest, packet.stamp);
        seen.end = now;
      },
      [](void* self, NodeId node, std::uint8_t, std::uint8_t, Time) { static_cast<Bench*>(self)->send(node); }};
  sink.lost = [](void* self, const Packet&, Status why, Time) {
    CHECK(why == Status::kLost);
    ++static_cast<Bench*>(self)->seen.lost;
  };
  NetworkConfig checked = config;
  checked.notes = true;
  bench.network = make_network_model({{&bench.queue, sink}}, *topology, checked, {});
  for (NodeId src = 0; src < senders; ++src) bench.send(src);
  while (!bench.queue.empty()) bench.queue.run_one();
  bench.seen.in_flight = bench.network->in_flight();
  for (NodeId node = 0; node < topology->node_count(); ++node) bench.seen.discarded += bench.network->discarded(node);
  return bench.seen;
}

const std::vector<std::string> kModels{"exanet", "cut-through", "wormhole"};

}  // namespace

TEST_CASE(
    "queue actions: without contention nothing is marked; under an incast some packets are, the fewer the higher the "
    "threshold") {
  for (const std::string& model : kModels) {
    CAPTURE(model);
    CHECK(incast(fabric_of(model, "ecn", 8), 1, 1).marked == 0);
    const Outcome many = incast(fabric_of(model, "ecn", 8), 6, 20), few = incast(fabric_of(model, "ecn", 100), 6, 20);
    CHECK(many.delivered == 120);
    CHECK(many.marked > few.marked);
    CHECK(few.marked > 0);
    CHECK(incast(fabric_of(model, "ecn", 1 << 20), 6, 20).marked == 0);
  }
}

TEST_CASE("queue actions: a stamp is that of the deepest queue, and reports keep theirs") {
  for (const std::string& model : kModels) {
    CAPTURE(model);
    CHECK(incast(fabric_of(model, "depth", 0), 6, 20).deepest >= 80);
    CHECK(incast(fabric_of(model, "depth", 0), 1, 1).deepest <= 18);
    CHECK(incast(fabric_of(model, "depth", 0), 6, 20, Packet::kReport).deepest == 3);
    CHECK(incast(fabric_of(model, "ecn", 1), 6, 20, Packet::kReport).marked == 0);
    CHECK(incast(fabric_of(model, "none", 0), 6, 20).deepest == 3);
  }
}

TEST_CASE("queue actions: times are those of the same network without one, where nothing is cut") {
  for (const std::string& model : kModels) {
    CAPTURE(model);
    const Outcome without = incast(fabric_of(model, "none", 0), 6, 20),
                  with = incast(fabric_of(model, "ecn", 8), 6, 20);
    CHECK(with.end == without.end);
    CHECK(incast(fabric_of(model, "ecn", 8), 6, 20) == with);
  }
}

TEST_CASE("queue actions: switches of whole packets trim and drop, which leaves space; the others refuse that") {
  const Outcome whole = incast(fabric_of("cut-through", "none", 0), 6, 200);
  for (const char* flow_control : {"credits", "pause"}) {
    CAPTURE(flow_control);
    NetworkConfig trims = fabric_of("cut-through", "trim", 100), drops = fabric_of("cut-through", "drop", 100);
    for (NetworkConfig* config : {&trims, &drops})
      if (std::string(flow_control) == "pause") {
        config->input_queued->flow_control = SwitchConfig::FlowControl::kPause;
        config->input_queued->pause_words = 100;
        config->input_queued->resume_words = 40;
      }
    const Outcome trimmed = incast(trims, 6, 200), dropped = incast(drops, 6, 200);
    CHECK(trimmed.delivered == 1200);
    CHECK(trimmed.trimmed > 100);
    CHECK(trimmed.trimmed < 1200);
    CHECK(trimmed.end < whole.end);
    CHECK(dropped.delivered + dropped.lost == 1200);
    CHECK(dropped.lost > 100);
    CHECK(dropped.discarded == dropped.lost);
    CHECK(dropped.end < trimmed.end);
    for (const Outcome& outcome : {trimmed, dropped}) CHECK(outcome.in_flight == 0);
  }
  for (const char* model : {"exanet", "wormhole"})
    for (const char* action : {"trim", "drop"})
      CHECK_THROWS_AS(incast(fabric_of(model, action, 100), 1, 1), ConfigError);
}
