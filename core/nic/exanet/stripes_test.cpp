// SPDX-License-Identifier: Apache-2.0
// Does what goes between two nodes of several rails use them all, whole transfers in turn and one that is cut, and
// complete once and in order?
#include "core/nic/exanet/stripes.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

struct Completion {
  std::uint64_t user;
  Status status;
  Time at;
};

// Between two nodes under different switches.
struct PairBench final : NicListener {
  PairBench(std::uint32_t rails, const std::string& policy, std::uint64_t stripe)
      : topology(make_topology({"fat-tree", {4, 4}, {}, {}, "", {}, {}, rails})),
        nic({queue, *topology, fabric(), costs(policy, stripe), *this}) {}
  static NetworkConfig fabric() {
    NetworkConfig network = testing::published_fabric(512);
    for (LinkConfig& link : network.links) link.word_bits = network.router.word_bits, link.pause_every = 0;
    return network;
  }
  static NiConfig costs(const std::string& policy, std::uint64_t stripe) {
    NiConfig ni;
    ni.dma_start = Time::ns(100);
    ni.memory_read = Time::ns(120);
    ni.memory_write = Time::ns(60);
    ni.rail_policy = policy;
    ni.rail_stripe_bytes = stripe;
    return ni;
  }
  void message_completed(std::uint64_t user, Status status, Time now) override {
    messages.push_back({user, status, now});
  }
  void transfer_completed(std::uint64_t user, Status status, Time now) override {
    transfers.push_back({user, status, now});
  }
  void transfer_acknowledged(std::uint64_t user, Status status, Time now) override {
    acknowledged.push_back({user, status, now});
  }
  void packet_delivered(const Packet& packet, Time, Time) override {
    if (packet.priority == 0) ports |= 1u << packet.intra_port, bytes += packet.payload_bytes;
  }
  void transfer(std::uint64_t size, std::uint64_t user, bool acknowledges = true) {
    nic.post(RdmaTransfer{kFrom, kTo, size, acknowledges, true, user});
  }
  Time run() {
    while (!queue.empty()) queue.run_one();
    CHECK(nic.active() == 0);
    CHECK(nic.network().in_flight() == 0);
    return transfers.empty() ? Time() : transfers.back().at;
  }
  static constexpr NodeId kFrom = 0, kTo = 9;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  ExanetNic nic;
  std::vector<Completion> messages, transfers, acknowledged;
  std::uint32_t ports = 0;  // by which data have left the network
  std::uint64_t bytes = 0;
};

std::vector<std::string> spreading() {
  std::vector<std::string> names;
  for (const RailPolicyKind& kind : rail_policy_kinds())
    if (kind.spreads) names.emplace_back(kind.name);
  return names;
}

}  // namespace

TEST_CASE("rails of a pair: transfers take all of them, and a window of transfers their rates together") {
  REQUIRE(!spreading().empty());
  for (const std::string& policy : spreading())
    for (const std::uint32_t rails : {2u, 4u}) {
      CAPTURE(policy);
      Time took[2];
      for (const bool all : {false, true}) {
        PairBench b(rails, all ? policy : "pair", 0);
        for (std::uint64_t user = 0; user < 32; ++user) b.transfer(1 << 18, user);
        took[all ? 1 : 0] = b.run();
        REQUIRE(b.transfers.size() == 32);
        for (std::uint64_t user = 0; user < 32; ++user) CHECK(b.transfers[user].user == user);
        CHECK(b.ports == (all ? 0xaaaau & ((1u << 2 * rails) - 1) : b.ports));
      }
      CHECK(static_cast<double>(took[1].ps()) * rails < 1.06 * static_cast<double>(took[0].ps()));
    }
}

TEST_CASE("rails of a pair: one long transfer that is cut takes all of them") {
  for (const std::uint32_t rails : {2u, 3u, 8u}) {
    CAPTURE(rails);
    PairBench whole(rails, "round-robin", 0), cut(rails, "round-robin", 8192);
    whole.transfer(1 << 20, 7);
    cut.transfer(1 << 20, 7);
    CHECK(static_cast<double>(cut.run().ps()) * rails < 1.06 * static_cast<double>(whole.run().ps()));
    for (const PairBench* b : {&whole, &cut}) {
      CHECK(b->bytes == 1 << 20);
      REQUIRE(b->transfers.size() == 1);
      REQUIRE(b->acknowledged.size() == 1);
      CHECK((b->transfers[0].user == 7 && b->acknowledged[0].user == 7));
      CHECK(b->acknowledged[0].at > b->transfers[0].at);
    }
  }
}

TEST_CASE("rails of a pair: up to the limit a transfer is not cut, and never into parts that are no whole blocks") {
  const auto ports = [](std::uint64_t bytes) {
    PairBench b(4, "least-loaded", 8192);
    b.transfer(bytes, 1);
    b.run();
    CHECK(b.bytes == bytes);
    return std::popcount(b.ports);
  };
  CHECK(ports(8192) == 1);
  CHECK(ports(8193) == 3);  // blocks of 4 KiB: 4096, 4096, 1
  CHECK(ports(4 * 4096) == 4);
  CHECK(ports(4 * 4096 + 1) == 3);  // two blocks each, and the rest
}

TEST_CASE("rails of a pair: what is cut and what is not completes once and in the order of posts") {
  for (const std::string& policy : spreading())
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      CAPTURE(policy);
      CAPTURE(seed);
      Random random(seed, 1);
      PairBench b(2 + random.below(4), policy, random.below(2) == 0 ? 0 : 5000);
      std::uint64_t bytes = 0, acknowledged = 0;
      constexpr std::uint64_t kPosts = 60;
      for (std::uint64_t user = 0; user < kPosts; ++user) {
        const std::uint64_t size = random.below(4) == 0 ? random.below(100) : random.below(100'000);
        const bool acknowledges = random.below(3) != 0;
        b.transfer(size, user, acknowledges);
        b.nic.post(PacketizerMessage{PairBench::kFrom, PairBench::kTo, 64, user});
        bytes += size + 64;
        acknowledged += acknowledges ? 1 : 0;
        if (random.below(3) == 0) b.queue.run_until(b.queue.now() + Time::ns(random.below(30'000)));
      }
      b.run();
      CHECK(b.bytes == bytes);
      REQUIRE(b.transfers.size() == kPosts);
      REQUIRE(b.messages.size() == kPosts);
      CHECK(b.acknowledged.size() == acknowledged);
      for (std::uint64_t user = 0; user < kPosts; ++user) {
        CHECK((b.transfers[user].user == user && b.transfers[user].status == Status::kOk));
        CHECK(b.messages[user].user == user);
      }
    }
}

TEST_CASE("rails of a pair: in a zero-cost phase a transfer that is cut completes at once") {
  PairBench b(4, "round-robin", 8192);
  b.nic.set_zero_cost(true);
  b.transfer(1 << 20, 3);
  CHECK(b.run() == Time());
  CHECK(b.transfers.size() == 1);
  CHECK(b.acknowledged.size() == 1);
  CHECK(b.bytes == 0);
}

TEST_CASE("rails of a pair: cutting needs a policy that takes several rails") {
  CHECK_THROWS_AS(PairBench(2, "pair", 8192), ConfigError);
  CHECK_THROWS_AS(PairBench(1, "pair", 8192), ConfigError);
  PairBench one(1, "round-robin", 8192);  // as with any other number of rails, but for its links
  one.transfer(1 << 20, 1);
  one.run();
  CHECK(one.transfers.size() == 1);
}
