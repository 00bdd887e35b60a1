// SPDX-License-Identifier: Apache-2.0
// Do transfers as flows take what their packets take where nothing is in their way, share where something is, and count
// the same?
#include "core/nic/flow/flow_nic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/nic.hpp"
#include "core/routing/make_topology.hpp"
#include "core/topology/rails.hpp"

using namespace exanet;

namespace {

NiConfig costs() {
  NiConfig ni;
  ni.mailbox = Time::ns(50);
  ni.mailbox_word = Time::ps(6400);
  ni.dma_start = Time::ns(100);
  ni.memory_read = Time::ns(120);
  ni.memory_write = Time::ns(60);
  ni.translation = Time::ns(20);
  return ni;
}

const Time kPacketOnLink =
    Time::ps(38 * 6400);  // a full one: framing, header, 16 words and footer at two link words each

struct Bench final : NicListener {
  Bench(const TopologySpec& spec, const NicKind& kind, const NiConfig& ni = costs())
      : topology(make_topology(spec)),
        network(testing::fabric_for(spec)),
        nic(kind.make({queue, *topology, network, ni, *this})) {}
  void message_completed(std::uint64_t user, Status, Time now) override { arrived[user] = now; }
  void transfer_completed(std::uint64_t user, Status, Time now) override { arrived[user] = now; }
  void transfer_acknowledged(std::uint64_t user, Status, Time now) override { acknowledged[user] = now; }
  void packet_delivered(const Packet&, Time, Time) override {}
  void run() {
    while (!queue.empty()) queue.run_one();
  }
  Time last() const {
    Time at;
    for (const auto& [user, when] : arrived) at = max(at, when);
    return at;
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  NetworkConfig network;
  std::unique_ptr<Nic> nic;
  std::map<std::uint64_t, Time> arrived, acknowledged;
};

// Posts the same at both levels, and runs both to their ends.
template <typename Post, typename Check>
void compare(const TopologySpec& spec, const Post& post, const Check& check) {
  Bench packets(spec, nic_kind("exanet")), flows(spec, flow_interface());
  for (Bench* b : {&packets, &flows}) {
    post(*b->nic);
    b->run();
    CHECK(b->nic->active() == 0);
  }
  check(packets, flows);
}

double share(Time part, Time whole) { return static_cast<double>(part.ps()) / static_cast<double>(whole.ps()); }

const TopologySpec kNetworks[] = {{"torus", {3, 3}},
                                  {"mesh", {5}},
                                  {"fat-tree", {3, 3}},
                                  {"dragonfly", {2}},
                                  {"fat-tree", {3, 3}, {}, {}, "", {}, {}, 2}};

}  // namespace

TEST_CASE("interfaces over flows: alone, what fits a packet takes what it takes at packet level") {
  for (const TopologySpec& spec : kNetworks) {
    CAPTURE(spec.kind);
    for (const std::uint32_t bytes : {0u, 1u, 64u, 256u}) {
      for (const NodeId dst : {0u, 1u, 4u}) {
        compare(
            spec,
            [&](Nic& nic) {
              nic.post(PacketizerMessage{0, dst, std::min(bytes, 64u), 1});
              nic.post(RdmaTransfer{dst, 0, bytes, true, true, 2});
            },
            [](const Bench& packets, const Bench& flows) {
              CHECK(flows.arrived == packets.arrived);
              CHECK(flows.acknowledged == packets.acknowledged);
            });
      }
    }
  }
}

TEST_CASE(
    "interfaces over flows: alone, a transfer takes what it takes at packet level, within a packet's time; on its node "
    "within 1 %") {
  for (const TopologySpec& spec : kNetworks) {
    CAPTURE(spec.kind);
    for (const std::uint64_t bytes : {257u, 512u, 4095u, 4097u, 65536u, 1000001u}) {
      for (const NodeId dst : {0u, 1u, 4u}) {
        CAPTURE(bytes);
        CAPTURE(dst);
        const std::int64_t own = dst == 0 ? 1 : 0;
        compare(
            spec, [&](Nic& nic) { nic.post(RdmaTransfer{0, dst, bytes, true, true, 1}); },
            [&](const Bench& packets, const Bench& flows) {
              const std::int64_t off = (flows.arrived.at(1) - packets.arrived.at(1)).ps();
              CHECK(std::abs(off) <= std::max(kPacketOnLink.ps(), own * packets.arrived.at(1).ps() / 100));
            });
      }
    }
  }
}

TEST_CASE("interfaces over flows: packets, bytes and the use of links are those of the packet level") {
  for (const TopologySpec& spec : kNetworks) {
    CAPTURE(spec.kind);
    compare(
        spec,
        [](Nic& nic) {
          Random random(7, 0);
          for (std::uint64_t user = 0; user < 200; ++user) {
            const NodeId src = random.below(5), dst = random.below(5);
            if (random.below(2) == 0)
              nic.post(PacketizerMessage{src, dst, random.below(65), user});
            else
              nic.post(RdmaTransfer{src, dst, random.below(20000), random.below(2) == 0, true, user});
          }
        },
        [](const Bench& packets, const Bench& flows) {
          CHECK(flows.nic->packets() == packets.nic->packets());
          CHECK(flows.nic->payload_bytes() == packets.nic->payload_bytes());
          CHECK(flows.nic->network().packet_hops() == packets.nic->network().packet_hops());
          for (NodeId node = 0; node < packets.topology->node_count(); ++node) {
            for (std::uint16_t port = 0; port < packets.topology->port_count(node); ++port) {
              if (packets.topology->neighbour(node, port).node == kNoNode) continue;
              const LinkStats &p = packets.nic->network().link_stats(node, port),
                              &f = flows.nic->network().link_stats(node, port);
              CHECK(f.packets == p.packets);
              CHECK(f.payload_bytes == p.payload_bytes);
              CHECK(std::abs((f.busy - p.busy).ps()) <= p.busy.ps() * 3 / 100);
            }
          }
        });
  }
}

TEST_CASE(
    "interfaces over flows: those that share a link share its rate, and one after the other goes to one destination") {
  const std::uint64_t bytes = 1 << 20;
  const auto end = [&](std::initializer_list<RdmaTransfer> transfers) {
    Bench b({"mesh", {5}}, flow_interface());
    for (const RdmaTransfer& t : transfers) b.nic->post(t);
    b.run();
    return b.last();
  };
  const Time alone = end({{0, 4, bytes, false, true, 1}});
  CHECK(share(end({{0, 4, bytes, false, true, 1}, {1, 3, bytes, false, true, 2}}), alone) == testing::near(2, 0.01));
  CHECK(share(end({{0, 4, bytes, false, true, 1}, {4, 0, bytes, false, true, 2}}), alone) == testing::near(1, 0.01));
  CHECK(share(end({{0, 4, bytes, false, true, 1}, {0, 4, bytes, false, true, 2}}), alone) == testing::near(2, 0.01));
  CHECK(share(end({{0, 1, bytes, false, true, 1}, {3, 4, bytes, false, true, 2}}), alone) == testing::near(1, 0.01));
}

TEST_CASE("interfaces over flows: short messages that are sent at once go one behind the other") {
  for (const TopologySpec& spec : kNetworks) {
    CAPTURE(spec.kind);
    compare(
        spec,
        [](Nic& nic) {
          for (std::uint64_t user = 0; user < 200; ++user) nic.post(RdmaTransfer{0, 4, 256, false, false, user});
        },
        [](const Bench& packets, const Bench& flows) {
          CHECK(share(flows.last(), packets.last()) == testing::near(1, 0.02));
        });
  }
}

TEST_CASE("interfaces over flows: what begins while time stands still is there at once") {
  Bench b({"mesh", {3}}, flow_interface());
  b.nic->set_zero_cost(true);
  b.nic->post(PacketizerMessage{0, 2, 64, 1});
  b.nic->post(RdmaTransfer{0, 2, 1 << 20, true, true, 2});
  b.run();
  CHECK(b.queue.now() == Time());
  CHECK((b.arrived.size() == 2 && b.acknowledged.size() == 1));
  CHECK((b.nic->packets() == 0 && b.nic->active() == 0));
}

TEST_CASE("interfaces over flows: routing that looks at queues is rejected") {
  const std::unique_ptr<Topology> topology = make_topology({"torus", {3, 3}, {}, {}, "adaptive"});
  EventQueue queue;
  struct Nobody final : NicListener {
    void message_completed(std::uint64_t, Status, Time) override {}
    void transfer_completed(std::uint64_t, Status, Time) override {}
    void transfer_acknowledged(std::uint64_t, Status, Time) override {}
    void packet_delivered(const Packet&, Time, Time) override {}
  } nobody;
  const NetworkConfig network = testing::published_fabric();
  const NiConfig ni = costs();
  CHECK_THROWS_AS(flow_interface().make({queue, *topology, network, ni, nobody}), std::invalid_argument);
}

TEST_CASE("interfaces over flows: messages in the gateware's cycles are rejected") {
  NiConfig ni = costs();
  ni.packetizer = ni.mailbox_word = Time();
  ni.messages = NiConfig::Costs::kGateware;
  CHECK_THROWS_WITH_AS(Bench({"mesh", {3}}, flow_interface(), ni), doctest::Contains("not by cycles"), ConfigError);
}

TEST_CASE("interfaces over flows: messages by another rail do not wait for the mailbox") {
  TopologySpec spec{"fat-tree", {4, 2}, {}, {}, "", {}, {}, 2};
  // To node 0, from nodes of its switch, at once: by rails of their own, or by one.
  NodeId other = 2;
  while (rail_of_pair(other, 0, 2) == rail_of_pair(1, 0, 2)) ++other;
  REQUIRE(other < 4);
  NiConfig slow = costs();
  slow.mailbox_word = Time::us(1);
  for (const NicKind& kind : {nic_kind("exanet"), flow_interface()}) {
    Time apart[2];
    for (const std::uint32_t rails : {1u, 2u}) {
      spec.rails = rails;
      Bench b(spec, kind, slow);
      b.nic->post(PacketizerMessage{1, 0, 16, 1});
      b.nic->post(PacketizerMessage{other, 0, 16, 2});
      b.run();
      apart[rails - 1] = max(b.arrived[1], b.arrived[2]) - min(b.arrived[1], b.arrived[2]);
    }
    CHECK(apart[0] >= Time::ns(900));
    CHECK(apart[1] < Time::ns(100));
  }
}

TEST_CASE("over flows: what a link that is down loses completes with a status, and the rest as without it") {
  struct Statuses final : NicListener {
    void message_completed(std::uint64_t user, Status status, Time) override { seen[user] = status; }
    void transfer_completed(std::uint64_t user, Status status, Time) override { seen[user] = status; }
    void transfer_acknowledged(std::uint64_t user, Status status, Time) override { acknowledged[user] = status; }
    void packet_delivered(const Packet&, Time, Time) override {}
    std::map<std::uint64_t, Status> seen, acknowledged;
  } listener;
  EventQueue queue;
  const TopologySpec spec{"mesh", {3}};
  const std::unique_ptr<Topology> topology = make_topology(spec);
  const NetworkConfig fabric = testing::fabric_for(spec);
  FlowNic nic({queue, *topology, fabric, costs(), listener});
  const auto run = [&](Time until) {
    while (!queue.empty() && queue.next_time() <= until) queue.run_one();
  };
  const auto transfer = [&](NodeId src, NodeId dst, std::uint64_t bytes, std::uint64_t user) {
    RdmaTransfer t{};
    t.src = src, t.dst = dst, t.bytes = bytes, t.acknowledged = true, t.user = user;
    nic.post(t);
  };
  const auto message = [&](NodeId src, NodeId dst, std::uint64_t user) {
    PacketizerMessage m{};
    m.src = src, m.dst = dst, m.bytes = 16, m.user = user;
    nic.post(m);
  };
  std::uint16_t port = 0;
  while (topology->neighbour(1, port).node != 2) ++port;
  transfer(0, 2, 1 << 20, 1);  // moves when the link goes down
  transfer(0, 1, 1 << 20, 2);
  transfer(0, 2, 64, 3);  // behind it: a packet
  run(Time::us(50));
  nic.network().set_link({1, port}, false, Time::us(50));
  message(0, 2, 4);
  message(0, 1, 5);
  run(Time::us(2000));
  CHECK(nic.active() == 0);
  nic.network().set_link({1, port}, true, Time::us(2000));
  message(0, 2, 6);
  transfer(0, 2, 1 << 20, 7);
  run(Time::never());
  CHECK(nic.active() == 0);
  CHECK(nic.network().lost() == 2);  // the packets of 3 and 4
  for (const std::uint64_t user : {1, 3, 4}) CHECK(listener.seen.at(user) == Status::kLinkDown);
  for (const std::uint64_t user : {2, 5, 6, 7}) CHECK(listener.seen.at(user) == Status::kOk);
  for (const std::uint64_t user : {1, 3}) CHECK(listener.acknowledged.at(user) == Status::kLinkDown);
  for (const std::uint64_t user : {2, 7}) CHECK(listener.acknowledged.at(user) == Status::kOk);
}
