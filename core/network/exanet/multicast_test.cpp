// SPDX-License-Identifier: Apache-2.0
// Do packets to several nodes reach each of them once, under load and with little space too, and how long does a
// broadcast take?
#include "core/topology/multicast.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <tuple>

#include "core/engine/windows.hpp"
#include "core/network/exanet/exanet_harness.hpp"

using namespace exanet;
using testing::Bench;
using testing::Delivery;
using testing::published_fabric;

namespace {

constexpr NodeId kEverywhere = multicast_box(kMostHops, kMostHops, kMostHops);

// Space for two of the largest packets in each virtual channel, one of them a priority packet's.
NetworkConfig smallest_queues() {
  NetworkConfig config = published_fabric();
  config.router.intra_fifo_words = 2 * 16;
  config.router.inter_fifo_words = 2 * 2 * 16;
  config.router.header_fifo_words = 2 * 2 * 2;
  config.priority = true;
  return config;
}

// The same in four channels, of which a packet takes the emptiest that it may.
NetworkConfig twice_the_channels() {
  NetworkConfig config = smallest_queues();
  config.router.virtual_channels = 4;
  config.router.vc_allocation = RouterConfig::VcAllocation::kOccupancy;
  config.router.inter_fifo_words *= 2;
  config.router.header_fifo_words *= 2;
  return config;
}

// `packets` of the largest size from `src` to all others, as copies.
Time by_multicast(const TopologySpec& spec, NodeId src, unsigned packets) {
  Bench bench(spec, published_fabric());
  for (unsigned i = 0; i < packets; ++i) bench.send(src, kEverywhere, 256, i);
  bench.run();
  CHECK(bench.deliveries.size() == packets * (bench.topology->node_count() - 1));
  Time last;
  for (const Delivery& d : bench.deliveries) last = max(last, d.tail);
  return last;
}

// The same by a binomial tree: a node that has all packets sends them to its children, the largest subtree first, in no
// time of its own. So it is a bound from below on what a library does.
Time by_tree(const TopologySpec& spec, NodeId src, unsigned packets) {
  Bench bench(spec, published_fabric());
  const NodeId nodes = bench.topology->node_count();
  std::vector<unsigned> has(nodes);
  const auto forward = [&](NodeId node) {
    const NodeId rank = (node + nodes - src) % nodes;
    NodeId below = 1;
    while (below < nodes && (rank & below) == 0) below *= 2;
    for (below /= 2; below > 0; below /= 2)
      if (rank + below < nodes)
        for (unsigned i = 0; i < packets; ++i) bench.send(node, (rank + below + src) % nodes, 256, i);
  };
  forward(src);
  Time last;
  std::size_t seen = 0;
  while (!bench.queue.empty()) {
    bench.queue.run_one();
    for (; seen < bench.deliveries.size(); ++seen) {
      const Delivery arrived = bench.deliveries[seen];
      last = max(last, arrived.tail);
      if (++has[arrived.packet.dst] == packets) forward(arrived.packet.dst);
    }
  }
  CHECK(seen == packets * (nodes - 1));
  return last;
}

using Arrival = std::tuple<std::uint64_t, NodeId, std::int64_t>;  // packet, node, picosecond

// What is sent at its time, in the part of its source.
struct Sender {
  EventQueue events;
  ExanetNetwork* fabric = nullptr;
  std::vector<Packet> packets;
  std::vector<Arrival> arrivals;
};

// Two packets a node and microsecond, one in three of them to a box; where and when each arrives, with the nodes
// divided among so many parts.
std::vector<Arrival> in_parts(const TopologySpec& spec, std::uint8_t parts) {
  const auto topology = make_topology(spec);
  const NodeId nodes = topology->node_count();
  std::vector<Sender> senders(parts);
  std::vector<Partition> partitions;
  std::vector<EventQueue*> queues;
  std::vector<std::uint8_t> part_of;
  for (NodeId node = 0; node < nodes; ++node) part_of.push_back(static_cast<std::uint8_t>(node * parts / nodes));
  for (Sender& sender : senders) {
    queues.push_back(&sender.events);
    partitions.push_back({&sender.events, {&sender, [](void* self, const Packet& packet, Time, Time tail) {
                                             static_cast<Sender*>(self)->arrivals.emplace_back(packet.user, packet.dst,
                                                                                               tail.ps());
                                           }}});
  }
  ExanetNetwork fabric(partitions, *topology, smallest_queues(), part_of);
  std::mt19937_64 random(11);
  for (unsigned i = 0; i < 40 * nodes; ++i) {
    const NodeId src = i % nodes;
    const NodeId dst = random() % 3 == 0 ? multicast_box(random() % 3 + 1, random() % 3, random() % 3)
                                         : static_cast<NodeId>(random() % nodes);
    Sender& sender = senders[part_of[src]];
    sender.fabric = &fabric;
    sender.packets.push_back(
        {src, dst, static_cast<std::uint16_t>(random() % 257), 0, static_cast<std::uint8_t>(random() % 4 == 0), i});
  }
  for (Sender& sender : senders) {
    const std::uint32_t send = sender.events.add_handler(
        [](void* self, Time, std::uint32_t packet, std::uint64_t) {
          Sender& by = *static_cast<Sender*>(self);
          static_cast<void>(by.fabric->inject(by.packets[packet]));  // what finds no space is not sent
        },
        &sender);
    for (std::uint32_t i = 0; i < sender.packets.size(); ++i)
      sender.events.schedule(Time::ps(static_cast<std::int64_t>(sender.packets[i].user / nodes) * 500'000), send, i);
  }
  Windows(queues, fabric).run_until(Time::ps(1'000'000'000));
  CHECK(fabric.in_flight() == 0);
  std::vector<Arrival> all;
  for (const Sender& sender : senders) all.insert(all.end(), sender.arrivals.begin(), sender.arrivals.end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("multicast: the same in any number of parts") {
  for (const TopologySpec& spec : {TopologySpec{"torus", {4, 4, 2}}, TopologySpec{"qfdb-torus", {4, 2, 1}}}) {
    const std::vector<Arrival> one = in_parts(spec, 1);
    CHECK(one.size() > 100);
    CHECK(in_parts(spec, 2) == one);
    CHECK(in_parts(spec, 3) == one);
  }
}

TEST_CASE("multicast: each packet reaches each node of its box once, with little space and all nodes sending at once") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {5}}, TopologySpec{"torus", {4, 4}, {0, 1}}, TopologySpec{"mesh", {4, 3}},
        TopologySpec{"torus", {4, 3, 5}}, TopologySpec{"qfdb-torus", {4, 2, 1}}}) {
    Bench bench(spec, smallest_queues());
    std::mt19937_64 random(7);
    std::vector<std::vector<NodeId>> expected, reached;
    const NodeId nodes = bench.topology->node_count();
    for (unsigned round = 0; round < 20; ++round)
      for (NodeId src = 0; src < nodes; ++src) {
        const auto hops = [&] { return static_cast<std::uint32_t>(random() % 4 == 0 ? kMostHops : random() % 3); };
        const NodeId box = multicast_box(hops(), hops(), hops());
        std::vector<NodeId> to = multicast_destinations(*bench.topology, src, box);
        NodeId dst = box;
        if (random() % 4 == 0 || to.empty()) dst = static_cast<NodeId>(random() % nodes), to = {dst};
        std::sort(to.begin(), to.end());
        bench.send(src, dst, static_cast<std::uint16_t>(random() % 257), expected.size(),
                   static_cast<std::uint8_t>(random() % 2), static_cast<std::uint8_t>(random() % 3 == 0));
        expected.push_back(to);
      }
    bench.run();
    reached.resize(expected.size());
    for (const Delivery& d : bench.deliveries) reached[d.packet.user].push_back(d.packet.dst);
    for (auto& to : reached) std::sort(to.begin(), to.end());
    CHECK(reached == expected);
    CHECK(bench.fabric.in_flight() == 0);
  }
}

TEST_CASE(
    "multicast: each packet reaches each node of its group once, with little space and all nodes sending at once") {
  for (const TopologySpec& spec : {TopologySpec{"dragonfly", {2}}, TopologySpec{"dragonfly", {2, 3, 1}},
                                   TopologySpec{"fat-tree", {4, 4}}, TopologySpec{"xgft", {3, 2, 4, 1, 2, 1}}})
    for (const bool any_channel : {false, true}) {
      Bench bench(spec, any_channel ? twice_the_channels() : smallest_queues());
      std::mt19937_64 random(5);
      std::vector<std::vector<NodeId>> expected;
      const NodeId nodes = bench.topology->endpoint_count();
      for (unsigned round = 0; round < 6; ++round)
        for (NodeId src = 0; src < nodes; ++src) {
          std::vector<NodeId> to{static_cast<NodeId>(random() % nodes)};
          NodeId dst = to[0];
          if (random() % 2 == 0) {
            to.clear();
            for (NodeId node = 0; node < nodes; ++node)
              if (node != src && (round == 0 || random() % 3 == 0)) to.push_back(node);
            dst = bench.topology->multicast_to(src, to);
          }
          bench.send(src, dst, static_cast<std::uint16_t>(random() % 257), expected.size(),
                     static_cast<std::uint8_t>(random() % 2), static_cast<std::uint8_t>(random() % 3 == 0));
          expected.push_back(to);
        }
      bench.run();
      std::vector<std::vector<NodeId>> reached(expected.size());
      for (const Delivery& d : bench.deliveries) reached[d.packet.user].push_back(d.packet.dst);
      for (auto& to : reached) std::sort(to.begin(), to.end());
      CHECK(reached == expected);
      CHECK(bench.fabric.in_flight() == 0);
    }
}

TEST_CASE("multicast: a broadcast takes the time of its farthest packet where nothing else is sent") {
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {8}}, TopologySpec{"torus", {4, 4, 4}}, TopologySpec{"qfdb-torus", {4, 1, 1}}}) {
    Time farthest;
    const NodeId nodes = make_topology(spec)->node_count();
    for (NodeId dst = 1; dst < nodes; ++dst) {
      Bench bench(spec, published_fabric());
      bench.send(0, dst, 256);
      bench.run();
      farthest = max(farthest, bench.deliveries.at(0).tail);
    }
    CHECK(by_multicast(spec, 0, 1) == farthest);
  }
  for (const TopologySpec& spec : {TopologySpec{"dragonfly", {2}}, TopologySpec{"fat-tree", {4, 2, 2}}}) {
    Bench all(spec, published_fabric());
    Time farthest;
    std::vector<NodeId> others;
    for (NodeId dst = 1; dst < all.topology->endpoint_count(); ++dst) {
      Bench bench(spec, published_fabric());
      bench.send(0, dst, 256);
      bench.run();
      farthest = max(farthest, bench.deliveries.at(0).tail);
      others.push_back(dst);
    }
    all.send(0, all.topology->multicast_to(0, others), 256);
    all.run();
    CHECK(all.deliveries.size() == others.size());
    CHECK(all.deliveries.back().tail == farthest);
  }
}

TEST_CASE("multicast: a broadcast against a tree of packets to one node") {
  std::ostringstream table;
  for (const TopologySpec& spec : {TopologySpec{"qfdb-torus", {4, 1, 1}}, TopologySpec{"torus", {4, 4, 4}},
                                   TopologySpec{"qfdb-torus", {4, 4, 2}}, TopologySpec{"torus", {8, 8, 8}}})
    for (const unsigned packets : {1u, 64u}) {
      const Time multicast = by_multicast(spec, 1, packets), tree = by_tree(spec, 1, packets);
      table << '\n' << spec.kind;
      for (const std::uint32_t side : spec.shape) table << ' ' << side;
      table << ", " << packets * 256 << " B: " << multicast.ps() / 1000 << " ns by multicast, " << tree.ps() / 1000
            << " ns by a tree, " << static_cast<double>(tree.ps()) / static_cast<double>(multicast.ps());
      CHECK(multicast < tree);
    }
  MESSAGE(table.str());
}
