// SPDX-License-Identifier: Apache-2.0
// Do interfaces in the gateware's cycles hide what the network loses, and report what they give up, once, at both ends?
#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/lossy_harness.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

NiConfig that_repeats(std::uint32_t tries) {
  NiConfig ni;
  ni.mailbox = Time::ns(50);
  ni.memory_read = Time::ns(120);
  ni.memory_write = Time::ns(60);
  ni.messages = ni.transfers = NiConfig::Costs::kGateware;
  ni.tries = tries;
  return ni;
}

NetworkConfig fabric_of_three_ports() {
  NetworkConfig fabric = testing::published_fabric();
  fabric.router.intra_ports = 3;
  fabric.router.max_payload_bytes = 512;
  return fabric;
}

struct LossyBench final : NicListener {
  LossyBench(std::uint32_t tries, testing::Loses loses)
      : topology(make_topology({"mesh", {4}})),
        nic({queue, *topology, fabric_of_three_ports(), that_repeats(tries), *this, testing::lossy(std::move(loses))}) {
  }

  void message_completed(std::uint64_t user, Status status, Time) override { messages[user].push_back(status); }
  void transfer_completed(std::uint64_t user, Status status, Time) override {
    transfers[user].push_back(status);
    if (user < kReads || status != Status::kOk || transfers[user].size() > 1) return;
    nic.post(RdmaTransfer{3 - from, from, 5000, true, true, user, 1, RdmaTransfer::Part::kReply});
  }
  void transfer_acknowledged(std::uint64_t user, Status status, Time) override { acknowledged[user].push_back(status); }
  void packet_delivered(const Packet&, Time, Time) override {}

  static constexpr std::uint64_t kReads = 1000;
  void message(NodeId src, NodeId dst, std::uint64_t user) { nic.post(PacketizerMessage{src, dst, 32, user}); }
  void write(NodeId src, NodeId dst, std::uint64_t bytes, std::uint64_t user, bool notifies = false) {
    nic.post(RdmaTransfer{src, dst, bytes, true, true, user, 1, RdmaTransfer::Part::kWrite, 0, notifies});
  }
  void read(std::uint64_t user) {
    nic.post(RdmaTransfer{from, 3 - from, 0, false, false, user, 1, RdmaTransfer::Part::kRequest, 5000});
  }
  void run() {
    while (!queue.empty()) queue.run_one();
    CHECK(nic.active() == 0);
  }

  const NodeId from = 0;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::map<std::uint64_t, std::vector<Status>> messages, transfers, acknowledged;
  ExanetNic nic;
};

using Statuses = std::vector<Status>;
const Statuses kWhole{Status::kOk}, kGivenUp{Status::kTimedOut};

}  // namespace

TEST_CASE("interfaces in the gateware's cycles hide losses") {
  std::uint64_t seen = 0;
  LossyBench b(0, [&](const Packet&) { return seen++ % 7 == 3; });
  for (std::uint64_t user = 0; user < 100; ++user) b.message(0, 3, user);
  for (std::uint64_t user = 0; user < 60; ++user) b.write(0, 3, user * 97, user, user % 2 == 0);
  for (std::uint64_t user = LossyBench::kReads; user < LossyBench::kReads + 20; ++user) b.read(user);
  b.run();
  CHECK(b.nic.network().lost() > 100);
  for (std::uint64_t user = 0; user < 100; ++user) CHECK(b.messages[user] == kWhole);
  for (std::uint64_t user = 0; user < 60; ++user)
    CHECK((b.transfers[user] == kWhole && b.acknowledged[user] == kWhole));
  for (std::uint64_t user = LossyBench::kReads; user < LossyBench::kReads + 20; ++user)
    CHECK((b.transfers[user] == Statuses{Status::kOk, Status::kOk} && b.acknowledged[user] == kWhole));
}

TEST_CASE("what interfaces give up fails once, at both ends, and what goes elsewhere does not") {
  LossyBench b(3, [](const Packet& packet) { return packet.dst == 3; });
  for (std::uint64_t user = 0; user < 80; ++user) b.message(0, user % 2 == 0 ? 3 : 2, user);
  for (std::uint64_t user = 0; user < 40; ++user) b.write(0, user % 2 == 0 ? 3 : 2, user * 300, user, user % 4 == 0);
  b.read(LossyBench::kReads);
  b.run();
  for (std::uint64_t user = 0; user < 80; ++user) CHECK(b.messages[user] == (user % 2 == 0 ? kGivenUp : kWhole));
  for (std::uint64_t user = 0; user < 40; ++user) {
    CHECK(b.transfers[user] == (user % 2 == 0 ? kGivenUp : kWhole));
    CHECK(b.acknowledged[user] == b.transfers[user]);
  }
  CHECK((b.transfers[LossyBench::kReads] == kGivenUp && b.acknowledged[LossyBench::kReads].empty()));
}

TEST_CASE("where answers alone are lost, only the source fails") {
  LossyBench b(3, [](const Packet& packet) { return packet.src == 3; });
  for (std::uint64_t user = 0; user < 40; ++user) b.message(0, 3, user);
  for (std::uint64_t user = 0; user < 20; ++user) b.write(0, 3, 1 + user * 300, user);
  b.read(LossyBench::kReads);
  b.run();
  for (std::uint64_t user = 0; user < 40; ++user) CHECK(b.messages[user] == kWhole);
  for (std::uint64_t user = 0; user < 20; ++user)
    CHECK((b.transfers[user] == kWhole && b.acknowledged[user] == kGivenUp));
  // Its request has come, and its data have not.
  CHECK((b.transfers[LossyBench::kReads] == Statuses{Status::kOk, Status::kTimedOut} &&
         b.acknowledged[LossyBench::kReads] == kGivenUp));
}
