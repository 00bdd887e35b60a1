// SPDX-License-Identifier: Apache-2.0
// Do interfaces of two networks that gateways join keep the contract, and does what crosses take the times of both legs
// and of the gateway?
#include "core/nic/bridged/bridged_nic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

struct Seen final : NicListener {
  void message_completed(std::uint64_t user, Status status, Time now) override { note(user, status, now); }
  void transfer_completed(std::uint64_t user, Status status, Time now) override { note(user, status, now); }
  void transfer_acknowledged(std::uint64_t user, Status status, Time now) override {
    CHECK(status == Status::kOk);
    CHECK(completed.contains(user));
    acknowledged[user] = now;
  }
  void packet_delivered(const Packet& packet, Time, Time) override { last = packet; }
  void note(std::uint64_t user, Status status, Time now) {
    CHECK(status == Status::kOk);
    CHECK(completed.emplace(user, now).second);
    order.push_back(user);
  }
  std::map<std::uint64_t, Time> completed, acknowledged;
  std::vector<std::uint64_t> order;
  Packet last{};
};

const TopologySpec kTorus{"torus", {3, 3}}, kMesh{"mesh", {4, 2}};

struct Machine {
  TopologySpec spec{"bridged", {}};
  NetworkConfig fabric;
  NiConfig ni;

  explicit Machine(std::vector<std::pair<NodeId, NodeId>> gateways) {
    NetworkConfig one = testing::published_fabric();
    one.router.virtual_channels = 3;
    NetworkConfig nearer = one;
    for (LinkConfig& link : nearer.links) link.latency = Time::ns(50);
    fabric = one;
    fabric.networks = {one, nearer};
    NiConfig first, second;
    first.mailbox = Time::ns(50);
    first.memory_read = Time::ns(120);
    second.mailbox = Time::ns(70);
    second.dma_start = Time::ns(90);
    ni = first;
    ni.networks = {first, second};
    ni.gateway = GatewayConfig{GatewayConfig::Choice::kDestination, Time::ns(1000), 10'000'000'000, 4096, 0};
    spec.networks = {kTorus, kMesh};
    spec.network_names = {"a", "b"};
    spec.gateways = std::move(gateways);
  }
};

// From node to node of one network, by itself.
Time alone(const Machine& machine, std::uint32_t network, NodeId src, NodeId dst, std::uint32_t bytes, bool transfer) {
  EventQueue queue;
  const auto topology = make_topology(machine.spec.networks[network]);
  Seen seen;
  const auto nic =
      nic_kind("exanet").make({queue, *topology, machine.fabric.networks[network], machine.ni.networks[network], seen});
  if (transfer)
    nic->post(RdmaTransfer{src, dst, bytes, false, true, 1});
  else
    nic->post(PacketizerMessage{src, dst, bytes, 1});
  while (!queue.empty()) queue.run_one();
  return seen.completed.at(1);
}

Time crossing(const Machine& machine, NodeId src, NodeId dst, std::uint32_t bytes, bool transfer) {
  EventQueue queue;
  const auto topology = make_topology(machine.spec);
  Seen seen;
  const auto nic = make_interfaces(nic_kind("exanet"), {queue, *topology, machine.fabric, machine.ni, seen});
  if (transfer)
    nic->post(RdmaTransfer{src, dst, bytes, false, true, 1});
  else
    nic->post(PacketizerMessage{src, dst, bytes, 1});
  while (!queue.empty()) queue.run_one();
  CHECK(nic->active() == 0);
  CHECK(seen.last.dst == dst);
  return seen.completed.at(1);
}

}  // namespace

TEST_CASE("across a gateway: the time of one leg, of the gateway, of the other leg") {
  const Machine machine({{4, 2}});
  for (const bool transfer : {false, true}) {
    for (const std::uint32_t bytes : {0u, 8u, 64u, 256u, 4096u}) {
      if (!transfer && bytes > 64) continue;
      const Time gateway = Time::ns(1000) + Time::ps(bytes * 800);  // 10 Gb/s
      const Time there = alone(machine, 0, 0, 4, bytes, transfer) + gateway + alone(machine, 1, 2, 7, bytes, transfer);
      const Time back = alone(machine, 1, 7, 2, bytes, transfer) + gateway + alone(machine, 0, 4, 0, bytes, transfer);
      CHECK(crossing(machine, 0, 9 + 7, bytes, transfer) == there);
      CHECK(crossing(machine, 9 + 7, 0, bytes, transfer) == back);
    }
  }
}

TEST_CASE("across a gateway: a long transfer goes at the rate of the slowest part") {
  Machine machine({{4, 2}});
  const std::uint32_t bytes = 4 << 20;
  const auto rate = [&](std::uint64_t gateway_bit_per_s) {
    machine.ni.gateway->rate_bit_per_s = gateway_bit_per_s;
    return 8e12 * bytes / static_cast<double>(crossing(machine, 0, 9 + 7, bytes, true).ps());
  };
  // 4096 B in 1 us and the copy
  CHECK(rate(4'000'000'000) == doctest::Approx(8 * 4096 / (1e-6 + 8 * 4096 / 4e9)).epsilon(0.02));
  const double link = 8e12 * bytes / static_cast<double>(alone(machine, 0, 0, 4, bytes, true).ps());
  machine.ni.gateway->message = Time::ns(100);
  CHECK(rate(400'000'000'000) == doctest::Approx(link).epsilon(0.05));
}

TEST_CASE("across gateways: all completes once, in order, and is acknowledged") {
  std::vector<NicKind> kinds = nic_kinds();
  kinds.push_back(flow_interface());
  for (const NicKind& kind : kinds) {
    CAPTURE(kind.name);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      Machine machine({{4, 2}, {0, 0}, {8, 5}});
      if (seed % 2 == 1) machine.ni.gateway->choice = GatewayConfig::Choice::kLeastBusy;
      machine.ni.gateway->fragment_bytes = 700;
      machine.ni.gateway->window = seed % 3;
      Random random(seed, 0);
      EventQueue queue;
      const auto topology = make_topology(machine.spec);
      Seen seen;
      const auto nic = make_interfaces(kind, {queue, *topology, machine.fabric, machine.ni, seen});
      std::map<std::pair<NodeId, NodeId>, std::vector<std::uint64_t>> messages, transfers, found_messages,
          found_transfers;
      std::map<std::uint64_t, std::pair<NodeId, NodeId>> pair_of;
      std::uint64_t acknowledged = 0;
      for (std::uint64_t user = 0; user < 200; ++user) {
        const NodeId src = random.below(17), dst = random.below(17);
        const std::uint32_t size = random.below(4) == 0 ? 0 : random.below(3000);
        pair_of[user] = {src, dst};
        if (random.below(2) == 0) {
          nic->post(PacketizerMessage{src, dst, size % 65, user});
          messages[{src, dst}].push_back(user);
        } else {
          const bool acks = random.below(2) == 0;
          nic->post(RdmaTransfer{src, dst, size, acks, true, user});
          transfers[{src, dst}].push_back(user);
          acknowledged += acks;
        }
        nic->doorbell(src);
        if (random.below(5) == 0) queue.run_until(queue.now() + Time::ns(random.below(2000)));
      }
      while (!queue.empty()) queue.run_one();
      CHECK(nic->active() == 0);
      CHECK(seen.acknowledged.size() == acknowledged);
      REQUIRE(seen.order.size() == 200);
      for (const std::uint64_t user : seen.order) {
        const auto& pair = pair_of[user];
        const auto& sent = messages[pair];
        const bool message = std::find(sent.begin(), sent.end(), user) != sent.end();
        (message ? found_messages : found_transfers)[pair].push_back(user);
      }
      for (const auto& [pair, users] : messages)
        if (!users.empty()) CHECK(found_messages[pair] == users);
      if (kind.ordered)
        for (const auto& [pair, users] : transfers) CHECK(found_transfers[pair] == users);
      std::uint64_t passed = 0;
      for (const GatewayUse& use : nic->gateways()) {
        CHECK(use.most_queue > 0);
        passed += use.from_first.packets + use.from_second.packets;
        const std::uint32_t number = topology->bridged()->gateway_at(use.first);
        const std::uint16_t port = topology->port_count(use.first) - 1;
        CHECK(nic->network().link_stats(use.first, port).packets == use.from_first.packets);
        CHECK(topology->bridged()->gateway_at(use.second) == number);
      }
      CHECK(passed > 100);
    }
  }
}

TEST_CASE("across a gateway: a window holds sources back, and costs no time where the gateway is what limits") {
  Machine machine({{4, 2}});
  machine.ni.gateway->rate_bit_per_s = 4'000'000'000;
  const auto run = [&machine](std::uint32_t window) {
    machine.ni.gateway->window = window;
    EventQueue queue;
    const auto topology = make_topology(machine.spec);
    Seen seen;
    const auto nic = make_interfaces(nic_kind("exanet"), {queue, *topology, machine.fabric, machine.ni, seen});
    for (NodeId src = 0; src < 4; ++src)
      for (std::uint64_t turn = 0; turn < 4; ++turn)
        nic->post(RdmaTransfer{src, 9 + 7, 100'000, true, true, src * 4 + turn});
    while (!queue.empty()) queue.run_one();
    CHECK(seen.acknowledged.size() == 16);
    return std::pair{seen.completed.at(seen.order.back()), nic->gateways().front().most_queue_bytes};
  };
  const auto [without, all] = run(0);
  const auto [with, few] = run(2);
  CHECK(all > 200'000);
  CHECK(few <= 4 * 2 * 4096 + 16 * 16);  // fragments, and answers
  CHECK(static_cast<double>(with.ps()) == doctest::Approx(static_cast<double>(without.ps())).epsilon(0.01));
}

TEST_CASE("across gateways: a zero-cost phase takes no time") {
  const Machine machine({{4, 2}});
  EventQueue queue;
  const auto topology = make_topology(machine.spec);
  Seen seen;
  const auto nic = make_interfaces(nic_kind("exanet"), {queue, *topology, machine.fabric, machine.ni, seen});
  nic->set_zero_cost(true);
  nic->post(RdmaTransfer{0, 9, 10'000, true, true, 1});
  nic->post(PacketizerMessage{9, 0, 8, 2});
  while (!queue.empty()) queue.run_one();
  CHECK(queue.now() == Time());
  CHECK(seen.acknowledged.contains(1));
  CHECK(seen.completed.contains(2));
}
