// SPDX-License-Identifier: Apache-2.0
// Do interfaces of times that retransmit end to end hide what the network loses, deliver everything once and in order,
// and give up in bounded time?
#include "core/nic/exanet/end_to_end.hpp"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/lossy_harness.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/size_harness.hpp"

using namespace exanet;

namespace {

constexpr Time kTimeout = Time::ns(20'000);
constexpr std::uint32_t kTries = 3;

NiConfig that_retransmits(Time clock = Time(), std::uint32_t tries = kTries) {
  NiConfig ni;
  ni.packetizer = Time::ns(30);
  ni.mailbox = Time::ns(50);
  ni.dma_start = Time::ns(100);
  ni.memory_read = Time::ns(120);
  ni.memory_write = Time::ns(60);
  ni.clock = clock;
  ni.reduction_trees = 1;
  ni.reliability = NiConfig::Reliability::kEndToEnd;
  ni.retransmission_timeout = kTimeout;
  ni.retransmission_tries = tries;
  return ni;
}

struct EndToEndBench final : NicListener {
  explicit EndToEndBench(testing::Loses loses, const NiConfig& ni = that_retransmits())
      : topology(make_topology({"mesh", {4}})),
        nic({queue, *topology, testing::published_fabric(), ni, *this, testing::lossy(std::move(loses))}) {}

  // The same, and packets to each node are impaired.
  EndToEndBench(testing::Loses loses, const Impairment& impairment, const NiConfig& ni)
      : topology(make_topology({"mesh", {4}})),
        nic({queue, *topology, impairing(), ni, *this, testing::lossy(std::move(loses))}) {
    for (NodeId node = 0; node < topology->endpoint_count(); ++node)
      nic.links().set_impairment(node, impairment, Time());
  }
  static NetworkConfig impairing() {
    NetworkConfig fabric = testing::published_fabric();
    fabric.impairs = true;
    return fabric;
  }

  void message_completed(std::uint64_t user, Status status, Time now) override {
    messages[user].push_back(status);
    order.push_back(user);
    last = now;
  }
  void transfer_completed(std::uint64_t user, Status status, Time) override {
    transfers[user].push_back(status);
    if (user < kReads || status != Status::kOk || transfers[user].size() > 1) return;
    nic.post(RdmaTransfer{3, 0, 5000, true, true, user, 1, RdmaTransfer::Part::kReply});
  }
  void transfer_acknowledged(std::uint64_t user, Status status, Time now) override {
    acknowledged[user].push_back(status);
    last = now;
  }
  void reduction_packet_completed(std::uint64_t user, Status status, Time) override {
    reductions.push_back({user, status});
  }
  void packet_delivered(const Packet&, Time, Time) override {}

  static constexpr std::uint64_t kReads = 1'000'000;
  void message(NodeId dst, std::uint64_t user) { nic.post(PacketizerMessage{0, dst, 32, user}); }
  void write(NodeId dst, std::uint64_t bytes, std::uint64_t user, bool acknowledged = true) {
    nic.post(RdmaTransfer{0, dst, bytes, acknowledged, true, user});
  }
  void read(std::uint64_t user) {
    nic.post(RdmaTransfer{0, 3, 0, false, false, user, 1, RdmaTransfer::Part::kRequest, 5000});
  }
  void run() {
    while (!queue.empty()) queue.run_one();
    CHECK(nic.active() == 0);
    CHECK(nic.network().in_flight() == 0);
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::map<std::uint64_t, std::vector<Status>> messages, transfers, acknowledged;
  std::vector<std::uint64_t> order;
  std::vector<std::pair<std::uint64_t, Status>> reductions;
  Time last;
  ExanetNic nic;
};

using Statuses = std::vector<Status>;
const Statuses kAllWhole{Status::kOk}, kAllGivenUp{Status::kTimedOut};

}  // namespace

TEST_CASE("end to end: losses of any packet are hidden, and all comes once and in order, with a clock and without") {
  for (const Time clock : {Time(), Time::ps(6400)}) {
    std::uint64_t seen = 0;
    EndToEndBench b([&](const Packet&) { return seen++ % 7 == 3; }, that_retransmits(clock, 15));
    for (std::uint64_t user = 0; user < 600; ++user) b.message(3, user);
    for (std::uint64_t user = 0; user < 60; ++user) b.write(3, user * 97, user, user % 3 != 0);
    for (std::uint64_t user = EndToEndBench::kReads; user < EndToEndBench::kReads + 20; ++user) b.read(user);
    for (std::uint64_t user = 0; user < 50; ++user) b.nic.post(ReductionPacket{0, 3, 64, user});
    b.run();
    CHECK(b.nic.network().lost() > 100);
    REQUIRE(b.nic.reliability().retransmits);
    CHECK(b.nic.reliability().given_up == 0);
    CHECK(b.nic.reliability().retransmissions >= b.nic.reliability().duplicates);
    CHECK(b.nic.reliability().duplicates > 0);  // answers were lost, too
    REQUIRE(b.order.size() == 600);
    for (std::uint64_t user = 0; user < 600; ++user) {
      CHECK(b.messages[user] == kAllWhole);
      CHECK(b.order[user] == user);
    }
    for (std::uint64_t user = 0; user < 60; ++user) {
      CHECK(b.transfers[user] == kAllWhole);
      CHECK(b.acknowledged[user] == (user % 3 != 0 ? kAllWhole : Statuses{}));
    }
    for (std::uint64_t user = EndToEndBench::kReads; user < EndToEndBench::kReads + 20; ++user)
      CHECK((b.transfers[user] == Statuses{Status::kOk, Status::kOk} && b.acknowledged[user] == kAllWhole));
    REQUIRE(b.reductions.size() == 50);
    for (std::uint64_t user = 0; user < 50; ++user) CHECK(b.reductions[user] == std::pair{user, Status::kOk});
  }
}

TEST_CASE("end to end: 1 % each lost, corrupted, doubled and overtaken are hidden, and all comes once and in order") {
  const std::uint64_t messages = testing::in_full() ? 100'000 : 2000, transfers = testing::in_full() ? 100'000 : 500;
  Random losses(3, 1);
  EndToEndBench b([&](const Packet&) { return losses.below(100) == 0; }, {0.01, 0.01, 0.01, Time::us(2), 7},
                  that_retransmits(Time(), 15));
  for (std::uint64_t user = 0; user < messages; ++user) b.message(3, user);
  for (std::uint64_t user = 0; user < transfers; ++user) b.write(1 + user % 3, user % 3000, user);
  b.run();
  const ReliabilityStatistics counted = b.nic.reliability();
  CHECK(counted.given_up == 0);
  CHECK(counted.corrupted > messages / 200);
  CHECK(counted.duplicates > messages / 200);
  CHECK(counted.retransmissions >= counted.corrupted);
  REQUIRE(b.order.size() == messages);
  std::uint64_t wrong = 0;
  for (std::uint64_t user = 0; user < messages; ++user) wrong += b.order[user] != user || b.messages[user] != kAllWhole;
  for (std::uint64_t user = 0; user < transfers; ++user)
    wrong += b.transfers[user] != kAllWhole || b.acknowledged[user] != kAllWhole;
  CHECK(wrong == 0);
}

TEST_CASE("impairments: what interfaces that do not check are not to get is rejected, and corrupted packets are lost") {
  NiConfig ni = that_retransmits();
  ni.reliability = NiConfig::Reliability::kNone;
  const testing::Loses never = [](const Packet&) { return false; };
  CHECK_THROWS_AS(EndToEndBench(never, {0, 0.1, 0, Time(), 1}, ni), ConfigError);
  CHECK_THROWS_AS(EndToEndBench(never, {0, 0, 0.1, Time::us(1), 1}, ni), ConfigError);
  EndToEndBench b(never, {1, 0, 0, Time(), 1}, ni);
  b.message(3, 1);
  b.run();
  CHECK(b.messages[1] == Statuses{Status::kCorrupted});
  CHECK(b.nic.network().lost() == 1);
}

TEST_CASE("end to end: nothing is sent twice where nothing is lost") {
  EndToEndBench b([](const Packet&) { return false; });
  for (std::uint64_t user = 0; user < 100; ++user) b.message(3, user);
  b.write(3, 10'000, 1);
  b.run();
  CHECK(b.nic.reliability().retransmissions == 0);
  CHECK(b.nic.reliability().duplicates == 0);
  CHECK(b.messages.size() == 100);
}

TEST_CASE("end to end: one lost packet costs one timeout, and the second loss twice that") {
  const auto takes = [](unsigned losses) {
    unsigned lost = 0;
    EndToEndBench b([&](const Packet&) { return lost < losses && ++lost != 0; });
    b.message(3, 1);
    b.run();
    CHECK(b.messages[1] == kAllWhole);
    CHECK(b.nic.reliability().retransmissions == losses);
    return b.last;
  };
  CHECK(takes(1) - takes(0) == kTimeout);
  CHECK(takes(2) - takes(1) == kTimeout * 2);
  CHECK(takes(3) - takes(2) == kTimeout * 4);
}

TEST_CASE(
    "end to end: what cannot come fails once, at both ends, within the time of its tries; what goes elsewhere comes") {
  EndToEndBench b([](const Packet& packet) { return packet.dst == 3; });
  for (std::uint64_t user = 0; user < 80; ++user) b.message(user % 2 == 0 ? 3 : 2, user);
  for (std::uint64_t user = 0; user < 40; ++user) b.write(user % 2 == 0 ? 3 : 2, user * 100, user);
  b.read(EndToEndBench::kReads);
  b.run();
  for (std::uint64_t user = 0; user < 80; ++user) CHECK(b.messages[user] == (user % 2 == 0 ? kAllGivenUp : kAllWhole));
  for (std::uint64_t user = 0; user < 40; ++user) {
    CHECK(b.transfers[user] == (user % 2 == 0 ? kAllGivenUp : kAllWhole));
    CHECK(b.acknowledged[user] == b.transfers[user]);
  }
  CHECK((b.transfers[EndToEndBench::kReads] == kAllGivenUp && b.acknowledged[EndToEndBench::kReads].empty()));
  // The window holds all of it, so that all waits at the same time: 1 + 2 + 4 + 8 timeouts.
  CHECK(b.last >= kTimeout * 15);
  CHECK(b.last < kTimeout * 24);
}

TEST_CASE("end to end: where answers alone are lost, what has come stays, and sources fail") {
  EndToEndBench b([](const Packet& packet) { return packet.src == 3; });
  for (std::uint64_t user = 0; user < 300; ++user) b.message(3, user);  // more than a window
  for (std::uint64_t user = 0; user < 20; ++user) b.write(3, 1 + user * 300, user);
  b.run();
  for (std::uint64_t user = 0; user < 300; ++user) CHECK(b.messages[user] == kAllWhole);
  for (std::uint64_t user = 0; user < 20; ++user) {
    CHECK(b.transfers[user] == kAllWhole);
    CHECK(b.acknowledged[user] == kAllGivenUp);
  }
}

TEST_CASE("end to end: what it cannot be built with is rejected") {
  const auto rejected = [](auto change) {
    NiConfig ni = that_retransmits();
    change(ni);
    RouterConfig router = testing::published_fabric().router;
    router.intra_ports = 4;
    CHECK_THROWS_AS(checked(ni, router), ConfigError);
  };
  rejected([](NiConfig& ni) { ni.messages = NiConfig::Costs::kGateware; });
  rejected([](NiConfig& ni) { ni.retransmission_tries = 0; });
  rejected([](NiConfig& ni) { ni.retransmission_tries = 16; });
  rejected([](NiConfig& ni) { ni.retransmission_timeout = Time(); });
}
