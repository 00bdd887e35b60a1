// SPDX-License-Identifier: Apache-2.0
// Has an endpoint of several rails an interface for each: as quick as one alone, as many at once, and none that waits
// for another?
#include "core/nic/exanet/rail_interfaces.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

enum class Costs { kTimes, kGateware };

NiConfig rail_costs(Costs costs) {
  NiConfig ni;
  ni.mailbox = Time::ns(50);
  ni.memory_read = Time::ns(120);
  ni.memory_write = Time::ns(60);
  if (costs == Costs::kGateware) {
    ni.messages = ni.transfers = NiConfig::Costs::kGateware;
  } else {
    ni.mailbox_word = Time::ps(6400);
    ni.dma_start = Time::ns(100);
  }
  return ni;
}

// Links take words of the router's width in its cycle: an interface's port is hardly quicker than a link.
NetworkConfig quick_links() {
  NetworkConfig fabric = testing::published_fabric(512);
  fabric.router.intra_ports = 3;
  for (LinkConfig& link : fabric.links) link.word_bits = fabric.router.word_bits, link.pause_every = 0;
  return fabric;
}

TopologySpec tree_of(std::uint32_t rails, const char* routing = "") {
  return {"fat-tree", {4, 4}, {}, {}, routing, {}, {}, rails};
}

struct RailBench final : NicListener {
  RailBench(const TopologySpec& spec, Costs costs)
      : topology(make_topology(spec)), nic({queue, *topology, quick_links(), rail_costs(costs), *this}) {}
  void message_completed(std::uint64_t user, Status, Time now) override { arrived[user] = now; }
  void transfer_completed(std::uint64_t user, Status, Time now) override { arrived[user] = now; }
  void transfer_acknowledged(std::uint64_t user, Status, Time now) override { acknowledged[user] = now; }
  void packet_delivered(const Packet& packet, Time, Time) override { ports |= 1u << packet.intra_port; }
  void message(NodeId src, NodeId dst, std::uint64_t user) { nic.post(PacketizerMessage{src, dst, 64, user}); }
  void transfer(NodeId src, NodeId dst, std::uint64_t bytes, std::uint64_t user) {
    nic.post(RdmaTransfer{src, dst, bytes, true, true, user, 1, RdmaTransfer::Part::kWrite, 0, true});
  }
  // When the last one has arrived.
  Time run() {
    while (!queue.empty()) queue.run_one();
    CHECK(nic.active() == 0);
    Time last;
    for (const auto& [user, at] : arrived) last = max(last, at);
    return last;
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  ExanetNic nic;
  std::map<std::uint64_t, Time> arrived, acknowledged;
  std::uint32_t ports = 0;  // by which packets have left the network
};

}  // namespace

TEST_CASE("interfaces of rails: alone, what goes by any of them takes what it takes on a machine of one") {
  for (const Costs costs : {Costs::kTimes, Costs::kGateware}) {
    std::uint32_t ports = 0;
    for (NodeId dst = 0; dst < 16; ++dst)
      for (const std::uint64_t bytes : {0, 8, 4097, 100'000}) {
        std::vector<Time> took[3];
        for (const std::uint32_t rails : {1u, 2u, 3u}) {
          RailBench b(tree_of(rails), costs);
          b.transfer(0, dst, bytes, 1);
          b.run();
          b.message(0, dst, 2);
          b.run();
          REQUIRE(b.arrived.size() == 2);
          took[rails - 1] = {b.arrived[1], b.acknowledged[1], b.arrived[2]};
          ports |= b.ports;
        }
        CHECK(took[1] == took[0]);
        CHECK(took[2] == took[0]);
      }
    // Of three to a rail those for messages and transfers, and for answers where these have their own.
    CHECK(ports == (costs == Costs::kTimes ? 0b011011011 : 0b111111111));
  }
}

TEST_CASE("interfaces of rails: who sends to several at once does so at the rate of all its links") {
  const std::vector<NodeId> others{4, 5, 6, 7};
  for (const NodeId dst : {4, 6}) REQUIRE(rail_of_pair(0, dst, 2) != rail_of_pair(0, dst + 1, 2));
  for (const Costs costs : {Costs::kTimes, Costs::kGateware}) {
    double messages[2], transfers[2];
    for (const std::uint32_t rails : {1u, 2u}) {
      RailBench short_ones(tree_of(rails), costs), long_ones(tree_of(rails), costs);
      for (std::uint64_t user = 0; user < 1200; ++user) short_ones.message(0, others[user % 4], user);
      for (const NodeId dst : others) long_ones.transfer(0, dst, 1 << 18, dst);
      messages[rails - 1] = static_cast<double>(short_ones.run().ps());
      transfers[rails - 1] = static_cast<double>(long_ones.run().ps());
    }
    CHECK(messages[1] < 0.55 * messages[0]);
    CHECK(transfers[1] < 0.55 * transfers[0]);
  }
}

TEST_CASE("interfaces of rails: nobody waits for what goes by another one, and who goes by the same one does") {
  const NodeId first = 4;
  NodeId same = 5, other = 5;
  while (rail_of_pair(0, same, 2) != rail_of_pair(0, first, 2)) ++same;
  while (rail_of_pair(0, other, 2) == rail_of_pair(0, first, 2)) ++other;
  for (const Costs costs : {Costs::kTimes, Costs::kGateware}) {
    // A message and a transfer behind a long transfer and many messages to somebody else, or alone.
    const auto behind = [&](std::uint32_t rails, bool busy, NodeId dst) {
      RailBench b(tree_of(rails), costs);
      for (std::uint64_t user = 10; busy && user < 100; ++user) b.message(0, first, user);
      if (busy) b.transfer(0, first, 1 << 18, 3);
      b.queue.run_until(Time::ps(6400 * 100));
      b.message(0, dst, 1);
      b.transfer(0, dst, 4096, 2);
      b.run();
      return std::pair{b.arrived[1], b.arrived[2]};
    };
    const auto alone = behind(1, false, same);
    CHECK(behind(2, true, other) == alone);
    for (const auto& [rails, dst] : {std::pair{1u, other}, std::pair{2u, same}}) {
      CHECK(behind(rails, true, dst).first > alone.first);
      CHECK(behind(rails, true, dst).second > alone.second);
    }
  }
}

TEST_CASE("interfaces of rails: where packets of a pair take any link, all arrives once") {
  for (const Costs costs : {Costs::kTimes, Costs::kGateware})
    for (const char* routing : {"spray", "adaptive", "random"}) {
      CAPTURE(routing);
      RailBench b(tree_of(2, routing), costs);
      std::uint64_t user = 0;
      for (NodeId src = 0; src < 16; ++src)
        for (NodeId dst = 0; dst < 16; ++dst) {
          b.transfer(src, dst, 700 * dst, user++);
          b.message(src, dst, user++);
        }
      b.run();
      CHECK(b.arrived.size() == user);
      CHECK(b.acknowledged.size() == user / 2);
    }
}
