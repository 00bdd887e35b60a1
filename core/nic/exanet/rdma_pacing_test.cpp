// SPDX-License-Identifier: Apache-2.0
// Do transfers keep to the windows and rates of a rate control, do acknowledgements bring back what routers note, and
// do control packets come to the other end and back?
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/nic/exanet/rdma_engine.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

constexpr std::uint32_t kBlock = 1024;

// What the controls of a test were given, and what they say.
struct Script {
  Allowance allowed;
  std::vector<Feedback> feedback;
  std::uint64_t arrived = 0;  // bytes
  std::vector<std::uint64_t> probes, answers;  // stamps that came
  std::vector<ControlPacket> to_send;  // of node 0
};
Script script;

class Scripted final : public Pacing {
 public:
  explicit Scripted(NodeId node) : node_(node) {}
  Allowance allowance(NodeId, Time) override { return script.allowed; }
  void acknowledged(NodeId, const Feedback& feedback, Time now) override {
    CHECK(feedback.sent < now);
    script.feedback.push_back(feedback);
  }
  void arrived(NodeId, const Packet& packet, Time) override { script.arrived += packet.payload_bytes; }
  std::optional<ControlPacket> control(Time) override {
    std::vector<ControlPacket>& packets = node_ == 0 ? script.to_send : answers_;
    if (packets.empty()) return std::nullopt;
    const ControlPacket packet = packets.back();
    packets.pop_back();
    return packet;
  }
  void heard(const ControlPacket& packet, Time) override {
    (packet.report ? script.answers : script.probes).push_back(packet.stamp);
    if (!packet.report) answers_.push_back({packet.peer, true, packet.stamp + 1});
  }

 private:
  NodeId node_;
  std::vector<ControlPacket> answers_;
};

// Engines alone over a fabric.
struct PacedBench final : NicListener {
  PacedBench(const TopologySpec& spec, NetworkConfig fabric, Allowance allowed)
      : topology(make_topology(spec)), context{queue, *this, config(), fabric.router}, engine(context, 16) {
    script = {};
    script.allowed = allowed;
    fabric.priority = fabric.notes = true;
    network = make_network(queue, *topology, fabric,
                           {this,
                            [](void* self, const Packet& packet, Time injected, Time now) {
                              auto& b = *static_cast<PacedBench*>(self);
                              const bool ack = (packet.user & kPacketKind) == kAckPacket;
                              if (!ack) b.sent[packet.src].push_back({injected, packet.payload_bytes});
                              ack ? b.engine.ack_arrives(packet, now) : b.engine.data_arrives(packet, injected, now);
                            },
                            [](void* self, NodeId node, std::uint8_t, std::uint8_t priority, Time now) {
                              static_cast<PacedBench*>(self)->engine.ready(node, priority, now);
                            }});
    context.network = network.get();
    context.keeps_order = network->keeps_order();
    const PacingKind kind{"scripted", "", {}, [](const PacingSetup&, NodeId node) -> std::unique_ptr<Pacing> {
                            return std::make_unique<Scripted>(node);
                          }};
    engine.set_pacing(kind,
                      {.bits_per_second = 10'000'000'000, .packet_bytes = 256, .block_bytes = kBlock, .zero_load = {}});
  }
  static NiConfig config() {
    NiConfig ni;
    ni.dma_block_bytes = kBlock;
    return ni;
  }
  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t user, Status, Time now) override { arrived[user] = now; }
  void transfer_acknowledged(std::uint64_t user, Status, Time now) override { acknowledged[user] = now; }
  void packet_delivered(const Packet&, Time, Time) override {}
  void transfer(NodeId src, NodeId dst, std::uint64_t bytes, bool acks, std::uint64_t user) {
    ++context.active;
    engine.post(RdmaTransfer{src, dst, bytes, acks, true, user});
  }
  void run() {
    while (!queue.empty()) queue.run_one();
    CHECK(context.active == 0);
    CHECK(network->in_flight() == 0);
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  NicContext context;
  RdmaEngine engine;
  std::unique_ptr<Network> network;
  std::map<std::uint64_t, Time> arrived, acknowledged;
  std::map<NodeId, std::vector<std::pair<Time, std::uint32_t>>> sent;  // by source: when, and bytes
};

}  // namespace

TEST_CASE("paced transfers: a window of a block has one in flight, whether the transfer is acknowledged or not") {
  for (const bool acks : {true, false})
    for (const char* routing : {"", "adaptive"}) {
      CAPTURE(acks);
      CAPTURE(routing);
      std::vector<Time> took;
      for (const std::uint64_t window : {std::uint64_t{1}, std::uint64_t{3 * kBlock / 2}, Allowance::kUnlimited}) {
        NetworkConfig fabric = testing::published_fabric();
        fabric.router.virtual_channels = 3;
        PacedBench b({"torus", {4, 4}, {}, {}, routing}, fabric, {window});
        b.transfer(0, 5, 20 * kBlock + 100, acks, 1);
        b.run();
        REQUIRE(b.arrived.count(1) == 1);
        CHECK(b.acknowledged.count(1) == acks);
        took.push_back(b.arrived[1]);
        std::uint64_t reported = 0;
        for (const Feedback& f : script.feedback) reported += f.bytes;
        CHECK(reported == 20 * kBlock + 100);
        CHECK(script.arrived == reported);
        CHECK(script.feedback.size() == 21);
      }
      CHECK(took[0] > took[1]);
      CHECK(took[1] > took[2]);
    }
}

TEST_CASE("paced transfers: packets are as far apart as the rate says, and no further") {
  PacedBench b({"mesh", {2}}, testing::published_fabric(), {Allowance::kUnlimited, 1'000'000'000});
  b.transfer(0, 1, 10 * 256, true, 1);
  b.run();
  REQUIRE(b.sent[0].size() == 10);
  for (std::size_t i = 1; i < 10; ++i) CHECK(b.sent[0][i].first - b.sent[0][i - 1].first == Time::ns(2048));
}

TEST_CASE("paced transfers: a rate of nothing stops a source until it is asked again") {
  PacedBench b({"mesh", {2}}, testing::published_fabric(), {Allowance::kUnlimited, 0});
  b.transfer(0, 1, 256, true, 1);
  while (!b.queue.empty()) b.queue.run_one();
  CHECK(b.sent[0].empty());
  script.allowed = {};
  b.engine.ready(0, 0, b.queue.now());
  b.run();
  CHECK(b.acknowledged.size() == 1);
}

TEST_CASE("paced transfers: marks of any packet of a block come back with its acknowledgement") {
  const auto marked = [](std::int64_t threshold, const char* action) {
    NetworkConfig fabric = testing::published_fabric();
    fabric.router.queue_action = action;
    fabric.router.queue_threshold_words = threshold;
    PacedBench b({"mesh", {5}}, fabric, {});
    for (const NodeId src : {NodeId{0}, NodeId{1}, NodeId{3}, NodeId{4}}) b.transfer(src, 2, 16 * kBlock, true, src);
    b.run();
    return std::count_if(script.feedback.begin(), script.feedback.end(),
                         [](const Feedback& f) { return (f.notes & Packet::kCongested) != 0; });
  };
  CHECK(marked(0, "none") == 0);
  const auto few = marked(200, "ecn"), many = marked(8, "ecn");
  CHECK(many > 20);
  CHECK(few < many);
}

TEST_CASE("paced transfers: control packets come to the other end, and its answers back") {
  PacedBench b({"mesh", {3}}, testing::published_fabric(), {});
  script.to_send = {{2, false, 1ull << 63}, {1, false, 40}};
  b.transfer(0, 2, 256, false, 1);
  b.run();
  CHECK(script.probes == std::vector<std::uint64_t>{40, 1ull << 63});
  CHECK(script.answers == std::vector<std::uint64_t>{41, (1ull << 63) + 1});
}
