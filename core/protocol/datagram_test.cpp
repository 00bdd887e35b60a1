// SPDX-License-Identifier: Apache-2.0
// Do datagrams come whole or not at all, with what they cost, and does their sender hear where nobody takes them?
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/network/lossy_harness.hpp"
#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::kLine;
using testing::Ranks;

namespace {

constexpr std::uint16_t kAskedPort = 53, kAskersPort = 4000;
constexpr RankId kAnswers = 1, kAsks = 0;
constexpr std::uint32_t kFragment = 1480, kUdp = 8, kHeaders = 20;

NiConfig datagram_costs() {
  NiConfig ni = testing::odd_costs();
  ni.ip_receive = Time::ns(700);
  ni.ip_send = Time::ns(300);
  return ni;
}

struct Datagrams : Ranks {
  explicit Datagrams(const MakeNetwork& make = make_network)
      : Ranks(kLine, {0, 2}, testing::steady_fabric(), datagram_costs(), make) {}

  void take(bool takes) {
    ListenDescriptor d;
    d.port = kAskedPort;
    d.host_port = takes;
    d.datagrams = 1;
    d.time = queue.now();
    engine.submit(kAnswers, d);
    run();
  }
  void fragment(std::uint16_t length, std::uint8_t number, std::uint8_t count, std::uint32_t identification,
                bool echo = false) {
    DatagramDescriptor d;
    d.echo = echo;
    d.cookie = 9;
    d.peer.rank = kAnswers;
    d.port = kAskersPort;
    d.peer_port = kAskedPort;
    d.length = length;
    d.fragment = number;
    d.fragments = count;
    d.identification = identification;
    d.time = queue.now();
    const std::uint32_t begin = number == 0 ? 0 : number * kFragment - kUdp;
    const std::uint32_t end = std::min<std::uint32_t>(length, (number + 1) * kFragment - kUdp);
    engine.submit(kAsks, d, Payload(&memory[kAsks][begin], end - begin));
  }
  void send(std::uint16_t length, std::uint32_t identification) {
    const auto count = static_cast<std::uint8_t>((length + kUdp + kFragment - 1) / kFragment);
    for (std::uint8_t number = 0; number < count; ++number) fragment(length, number, count, identification);
  }
  std::vector<DatagramCompletion> came(RankId rank, DatagramKind kind) const {
    std::vector<DatagramCompletion> all;
    for (const testing::Done& d : done[rank])
      if (const auto* c = std::get_if<DatagramCompletion>(&d.c))
        if (c->datagram_kind == kind) all.push_back(*c);
    return all;
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all;
    for (const testing::Done& d : done[kAnswers])
      if (const auto* c = std::get_if<DatagramCompletion>(&d.c))
        if (c->datagram_kind == DatagramKind::kArrived) all.insert(all.end(), d.payload.begin(), d.payload.end());
    return all;
  }
  void fill() {
    for (std::size_t i = 0; i < kBytes; ++i) memory[kAsks][i] = static_cast<std::byte>(i * 7 + i / 251);
  }
};

// A transfer of so many bytes, by itself.
Time fragment_alone(std::uint64_t bytes) {
  Ranks puts(kLine, {0, 2}, testing::steady_fabric(), datagram_costs());
  puts.share(1, 1, Ranks::kBase, 4096, kRemoteWrite);
  auto put = puts.one_sided<PutDescriptor>(1, Ranks::kBase, bytes, Ranks::kBase, 1, 5);
  put.flags = kHasData;
  puts.engine.submit(0, put);
  puts.run();
  return puts.only<RemotePutCompletion>(1).time;
}

}  // namespace

TEST_CASE("datagrams: one is a transfer of its bytes and headers") {
  Datagrams ranks;
  ranks.fill();
  ranks.take(true);
  ranks.send(1000, 0);
  ranks.run();
  const auto came = ranks.came(kAnswers, DatagramKind::kArrived);
  REQUIRE(came.size() == 1);
  CHECK(came[0].time == fragment_alone(18 + kHeaders + kUdp + 1000));
  CHECK(came[0].cpu_ps == 700'000);
  CHECK(came[0].peer.rank == kAsks);
  CHECK(came[0].port == kAskedPort);
  CHECK(came[0].peer_port == kAskersPort);
  CHECK(came[0].length == 1000);
  const auto sent = ranks.came(kAsks, DatagramKind::kSent);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].time == came[0].time);
  CHECK(sent[0].cookie == 9);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("datagrams: a long one comes with its last fragment, and each has cost its receiver") {
  Datagrams ranks;
  ranks.fill();
  ranks.take(true);
  ranks.fragment(4000, 2, 3, 0);  // as if it had overtaken
  ranks.fragment(4000, 0, 3, 0);
  ranks.fragment(4000, 1, 3, 0);
  ranks.run();
  CHECK(ranks.came(kAnswers, DatagramKind::kPart).size() == 2);
  CHECK(ranks.came(kAnswers, DatagramKind::kArrived).size() == 3);
  CHECK(ranks.bytes() == std::vector<std::byte>(ranks.memory[kAsks].begin(), ranks.memory[kAsks].begin() + 4000));
  std::uint64_t cost = 0;
  for (const DatagramKind kind : {DatagramKind::kPart, DatagramKind::kArrived})
    for (const DatagramCompletion& c : ranks.came(kAnswers, kind)) cost += c.cpu_ps;
  CHECK(cost == 3 * 700'000);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("datagrams: a lost fragment takes its datagram with it, and no other") {
  std::uint64_t losses = 1;
  Datagrams ranks(testing::lossy([&losses](const Packet&) { return losses > 0 && losses-- > 0; }));
  ranks.take(true);
  ranks.send(4000, 0);
  ranks.run();
  CHECK(ranks.came(kAnswers, DatagramKind::kArrived).empty());
  CHECK(ranks.came(kAnswers, DatagramKind::kPart).size() == 2);
  CHECK(ranks.came(kAsks, DatagramKind::kSent).size() == 3);
  ranks.send(4000, 1);
  ranks.run();
  CHECK(ranks.came(kAnswers, DatagramKind::kArrived).size() == 3);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("datagrams: nobody takes them any more") {
  Datagrams ranks;
  ranks.take(true);
  ranks.take(false);
  const Time start = ranks.queue.now();
  ranks.send(1000, 0);
  ranks.run();
  const auto refused = ranks.came(kAsks, DatagramKind::kRefused);
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].time - start == fragment_alone(18 + 28 + 1000) + Time::ns(1000) + fragment_alone(18 + 576));
  CHECK(refused[0].cookie == 9);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("datagrams: an echo is sent back by the host, whatever its rank does") {
  Datagrams ranks;
  ranks.fill();
  ranks.fragment(64, 0, 1, 0, true);
  ranks.run();
  const auto echoed = ranks.came(kAsks, DatagramKind::kEchoed);
  REQUIRE(echoed.size() == 1);
  CHECK(echoed[0].time == fragment_alone(18 + kHeaders + 64) * 2 + Time::ns(1000));
  CHECK(echoed[0].cpu_ps == 700'000);
  CHECK(ranks.done[kAsks].back().payload ==
        std::vector<std::byte>(ranks.memory[kAsks].begin(), ranks.memory[kAsks].begin() + 64));
  CHECK(ranks.count<DatagramCompletion>(kAnswers) == 0);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("datagrams: what comes before its rank has taken any is kept, as far as there is space") {
  Datagrams ranks;
  for (std::uint32_t i = 0; i < 220; ++i) ranks.send(1000, i);
  ranks.run();
  CHECK(ranks.came(kAnswers, DatagramKind::kArrived).empty());
  CHECK(ranks.engine.operations() == 0);
  ranks.take(true);
  CHECK(ranks.came(kAnswers, DatagramKind::kArrived).size() == 212);
}
