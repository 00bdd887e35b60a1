// SPDX-License-Identifier: Apache-2.0
// Does every network interface keep the contract: each descriptor completes once, in order between two nodes, whole or
// with a status, and nothing is left?
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/lossy_harness.hpp"
#include "core/nic/nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

struct Seen final : NicListener {
  void message_completed(std::uint64_t user, Status status, Time) override {
    messages.push_back(user);
    ++statuses[status];
  }
  void transfer_completed(std::uint64_t user, Status status, Time) override {
    transfers.push_back(user);
    ++statuses[status];
    if (status != Status::kOk) failed.insert(user);
  }
  void transfer_acknowledged(std::uint64_t user, Status status, Time) override {
    acknowledged.push_back(user);
    if (failed.contains(user)) CHECK(status != Status::kOk);
  }
  void packet_delivered(const Packet& packet, Time injected, Time now) override {
    CHECK(injected < now);
    ++packets;
    bytes += packet.payload_bytes;
  }
  std::vector<std::uint64_t> messages, transfers, acknowledged;
  std::map<Status, std::uint64_t> statuses;  // at destinations
  std::set<std::uint64_t> failed;  // transfers, there
  std::uint64_t packets = 0, bytes = 0;
};

// By pair of nodes: what was posted, in order.
using Posted = std::map<std::pair<NodeId, NodeId>, std::vector<std::uint64_t>>;

// All of `posted`, and of each pair in its order.
void check_order(const std::vector<std::uint64_t>& seen, const Posted& posted) {
  std::map<std::uint64_t, std::pair<NodeId, NodeId>> pair_of;
  for (const auto& [pair, users] : posted)
    for (const std::uint64_t user : users) pair_of[user] = pair;
  Posted found;
  for (const std::uint64_t user : seen) found[pair_of.at(user)].push_back(user);
  CHECK(found == posted);
}

}  // namespace

TEST_CASE("network interfaces: what is posted completes once, in order and whole") {
  // On the later ones packets overtake each other.
  const TopologySpec networks[] = {
      {"torus", {3, 3}}, {"torus", {3, 3}, {}, {}, "adaptive"},       {"torus", {3, 3}, {}, {}, "valiant"},
      {"mesh", {3, 3}},  {"fat-tree", {3, 3}, {}, {}, "", {}, {}, 2}, {"fat-tree", {3, 3}, {}, {}, "spray", {}, {}, 3}};
  std::vector<NicKind> kinds = nic_kinds();
  kinds.push_back(flow_interface());
  for (const NicKind& kind : kinds) {
    CAPTURE(kind.name);
    const bool flows = kind.name == flow_interface().name;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      if (flows && networks[seed % std::size(networks)].routing == "adaptive") continue;
      if (kind.one_rail && networks[seed % std::size(networks)].rails > 1) continue;
      CAPTURE(seed);
      Random random(seed, 0);
      EventQueue queue;
      const std::unique_ptr<Topology> topology = make_topology(networks[seed % std::size(networks)]);
      NetworkConfig network = testing::published_fabric();
      network.router.virtual_channels = 3;
      if (seed % std::size(networks) == 3) network.router.vc_allocation = RouterConfig::VcAllocation::kOccupancy;
      NiConfig config;
      config.mailbox = Time::ns(50);
      config.memory_read = Time::ns(120);
      config.dma_block_bytes = 300;
      config.dma_window_blocks = 2;
      config.clock = seed % 8 < 4 ? Time::ps(6400) : Time();
      Seen seen;
      const std::unique_ptr<Nic> nic = kind.make({queue, *topology, network, config, seen});
      Posted messages, transfers, acknowledged;
      std::uint64_t bytes = 0;
      for (std::uint64_t user = 0; user < 300; ++user) {
        const NodeId src = random.below(9), dst = random.below(9);
        const std::uint32_t size = random.below(4) == 0 ? 0 : random.below(2000);
        if (random.below(2) == 0) {
          nic->post(PacketizerMessage{src, dst, size % 65, user});
          messages[{src, dst}].push_back(user);
          bytes += size % 65;
        } else {
          const bool acks = random.below(2) == 0;
          nic->post(RdmaTransfer{src, dst, size, acks, true, user});
          transfers[{src, dst}].push_back(user);
          if (acks) acknowledged[{src, dst}].push_back(user);
          bytes += size;
        }
        if (random.below(3) == 0) nic->doorbell(src);
        if (random.below(5) == 0) queue.run_until(queue.now() + Time::ns(random.below(2000)));
      }
      for (NodeId node = 0; node < 9; ++node) nic->doorbell(node);
      while (!queue.empty()) queue.run_one();
      CHECK(nic->active() == 0);
      CHECK(nic->network().in_flight() == 0);
      CHECK(nic->payload_bytes() == bytes);
      if (!flows) CHECK((seen.packets == nic->packets() && seen.bytes == bytes));
      if (!kind.ordered) std::sort(seen.transfers.begin(), seen.transfers.end());
      if (!kind.ordered || (!flows && !nic->network().keeps_order()))
        std::sort(seen.acknowledged.begin(), seen.acknowledged.end());
      check_order(seen.messages, messages);
      check_order(seen.transfers, transfers);
      check_order(seen.acknowledged, acknowledged);
      CHECK(seen.statuses[Status::kOk] == 300);
    }
  }
}

TEST_CASE("network interfaces: a read request does not wait for the data to its node") {
  const TopologySpec networks[] = {{"torus", {3, 3}}, {"torus", {3, 3}, {}, {}, "valiant"}};
  constexpr std::uint64_t kData = 1, kRequest = 2;
  struct Times final : NicListener {
    void message_completed(std::uint64_t, Status, Time) override {}
    void transfer_completed(std::uint64_t user, Status, Time now) override { at[user] = now; }
    void transfer_acknowledged(std::uint64_t, Status, Time) override {}
    void packet_delivered(const Packet&, Time, Time) override {}
    std::map<std::uint64_t, Time> at;
  };
  std::vector<NicKind> kinds = nic_kinds();
  kinds.push_back(flow_interface());
  for (const NicKind& kind : kinds) {
    for (const TopologySpec& spec : networks) {
      CAPTURE(kind.name);
      CAPTURE(spec.routing);
      EventQueue queue;
      const std::unique_ptr<Topology> topology = make_topology(spec);
      NetworkConfig network = testing::published_fabric();
      network.router.virtual_channels = 3;
      Times seen;
      const std::unique_ptr<Nic> nic = kind.make({queue, *topology, network, NiConfig{}, seen});
      nic->post(RdmaTransfer{0, 1, 1 << 20, true, true, kData});
      nic->doorbell(0);
      queue.run_until(Time::us(1));
      nic->post(RdmaTransfer{0, 1, 0, false, false, kRequest, 1, RdmaTransfer::Part::kRequest, 4096});
      nic->doorbell(0);
      while (!queue.empty()) queue.run_one();
      CHECK(nic->active() == 0);
      // Where it has no priority it is behind what FIFOs on its way hold, 4096 words and 1024 a link: less than a tenth
      // of 4096 packets of 18.
      CHECK((seen.at.at(kRequest) - Time::us(1)) * 10 < seen.at.at(kData));
    }
  }
}

TEST_CASE(
    "network interfaces: of what the network loses each descriptor completes once, too, in order, with a status") {
  const TopologySpec networks[] = {{"torus", {3, 3}}, {"torus", {3, 3}, {}, {}, "adaptive"}};
  for (const NicKind& kind : nic_kinds()) {
    CAPTURE(kind.name);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      Random random(seed, 1), losses(seed, 2);
      EventQueue queue;
      const std::unique_ptr<Topology> topology = make_topology(networks[seed % 2]);
      NetworkConfig network = testing::published_fabric();
      network.router.virtual_channels = 3;
      NiConfig config;
      config.mailbox = Time::ns(50);
      config.memory_read = Time::ns(120);
      config.dma_block_bytes = 300;
      config.dma_window_blocks = 2;
      const std::uint32_t one_in = seed % 4 < 2 ? 10 : 1000;
      Seen seen;
      const std::unique_ptr<Nic> nic =
          kind.make({queue, *topology, network, config, seen,
                     testing::lossy([&](const Packet&) { return losses.below(one_in) == 0; })});
      Posted messages, transfers, acknowledged;
      for (std::uint64_t user = 0; user < 300; ++user) {
        const NodeId src = random.below(9), dst = random.below(9);
        const std::uint32_t size = random.below(4) == 0 ? 0 : random.below(2000);
        if (random.below(2) == 0) {
          nic->post(PacketizerMessage{src, dst, size % 65, user});
          messages[{src, dst}].push_back(user);
        } else {
          const bool acks = random.below(2) == 0;
          nic->post(RdmaTransfer{src, dst, size, acks, true, user});
          transfers[{src, dst}].push_back(user);
          if (acks) acknowledged[{src, dst}].push_back(user);
        }
        nic->doorbell(src);
        if (random.below(5) == 0) queue.run_until(queue.now() + Time::ns(random.below(2000)));
      }
      while (!queue.empty()) queue.run_one();
      CHECK(nic->active() == 0);
      CHECK(nic->network().in_flight() == 0);
      const std::uint64_t lost = nic->network().lost(), failed = seen.statuses[Status::kLost];
      CHECK((lost > 0 || one_in == 1000));
      CHECK((kind.retransmits ? failed == 0 : failed <= lost && (one_in == 1000 || failed > 20)));
      CHECK(seen.statuses[Status::kOk] + failed == 300);
      if (!kind.ordered) std::sort(seen.transfers.begin(), seen.transfers.end());
      std::sort(seen.acknowledged.begin(),
                seen.acknowledged.end());  // acknowledgements that are lost come later than others
      check_order(seen.messages, messages);
      check_order(seen.transfers, transfers);
      check_order(seen.acknowledged, acknowledged);
    }
  }
}

TEST_CASE("network interfaces: an unknown name is rejected with those that there are") {
  CHECK_THROWS_WITH_AS(nic_kind("none"),
                       "there is no network interface \"none\": use one of ideal, exanet, ultra-ethernet",
                       std::invalid_argument);
  for (const std::string& name : nic_names()) CHECK(nic_kind(name).name == name);
}
