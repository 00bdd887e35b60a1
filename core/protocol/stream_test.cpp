// SPDX-License-Identifier: Apache-2.0
// Do streams open where somebody listens, and do their segments come in order, also when the network loses some?
#include <doctest/doctest.h>

#include <cerrno>

#include "core/network/lossy_harness.hpp"
#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::kLine;
using testing::Ranks;

namespace {

constexpr std::uint16_t kPort = 80, kOwnPort = 4000, kHostPort = 5000;
constexpr RankId kServer = 1, kClient = 0;

NiConfig costs() {
  NiConfig ni = testing::odd_costs();
  ni.ip_receive = Time::ns(700);
  ni.ip_send = Time::ns(300);
  return ni;
}

struct Streams : Ranks {
  explicit Streams(const MakeNetwork& make = make_network)
      : Ranks(kLine, {0, 2}, testing::steady_fabric(), costs(), make) {}

  void listen(std::uint16_t host_port) {
    ListenDescriptor d;
    d.port = kPort;
    d.host_port = host_port;
    d.time = queue.now();
    engine.submit(kServer, d);
  }
  void ask(RankId to) {
    ConnectDescriptor d;
    d.peer.rank = to;
    d.port = kOwnPort;
    d.peer_port = kPort;
    d.time = queue.now();
    engine.submit(kClient, d);
  }
  ConnectCompletion connect(RankId to) {
    ask(to);
    run();
    return only<ConnectCompletion>(kClient);
  }
  void send(SegmentKind kind, std::uint64_t length, std::uint32_t sequence) {
    SegmentDescriptor d;
    d.peer.rank = kServer;
    d.segment_kind = kind;
    d.length = length;
    d.port = kOwnPort;
    d.peer_port = kPort;
    d.sequence = sequence;
    d.time = queue.now();
    engine.submit(kClient, d);
  }
  std::vector<SegmentCompletion> came(RankId rank) const {
    std::vector<SegmentCompletion> all;
    for (const testing::Done& d : done[rank])
      if (const auto* c = std::get_if<SegmentCompletion>(&d.c)) all.push_back(*c);
    return all;
  }
};

// A transfer of so many bytes, by itself.
Time alone(std::uint64_t bytes) {
  Streams ranks;
  ranks.send(SegmentKind::kData, bytes, 0);
  ranks.run();
  REQUIRE(ranks.came(kServer).size() == 1);
  return ranks.came(kServer)[0].time;
}

}  // namespace

TEST_CASE("streams: a connection takes a round trip of two segments and both hosts' costs at the far end") {
  Streams ranks;
  ranks.listen(kHostPort);
  ranks.run();
  const ConnectCompletion done = ranks.connect(kServer);
  CHECK(done.status == 0);
  CHECK(done.host_port == kHostPort);
  CHECK(done.time == alone(0) * 2 + Time::ns(1000));
  CHECK(done.cpu_ps == 700'000);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("streams: nobody listens, or no more") {
  Streams ranks;
  ranks.listen(kHostPort);
  ranks.listen(0);
  ranks.run();
  for (const RankId to : {kServer, kAnyRank}) {
    ranks.done[kClient].clear();
    CHECK(ranks.connect(to).status == -ECONNREFUSED);
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("streams: a connection waits for a rank that has never listened") {
  for (const RankId to : {kServer, kAnyRank}) {
    Streams ranks;
    ranks.ask(to);
    ranks.run();
    CHECK(ranks.count<ConnectCompletion>(kClient) == 0);
    ranks.listen(kHostPort);
    ranks.run();
    CHECK(ranks.only<ConnectCompletion>(kClient).status == 0);
    CHECK(ranks.only<ConnectCompletion>(kClient).peer.rank == kServer);
  }
}

TEST_CASE("streams: any rank is whoever listens") {
  Streams ranks;
  ranks.listen(kHostPort);
  ranks.run();
  CHECK(ranks.connect(kAnyRank).peer.rank == kServer);
}

TEST_CASE("streams: a segment is a transfer of its bytes and headers") {
  Streams ranks;
  ranks.send(SegmentKind::kData, 1000, 0);
  ranks.send(SegmentKind::kFinish, 0, 1);
  ranks.run();
  const auto came = ranks.came(kServer);
  REQUIRE(came.size() == 2);
  CHECK(came[0].length == 1000);
  CHECK(came[0].port == kPort);
  CHECK(came[0].peer_port == kOwnPort);
  CHECK(came[0].peer.rank == kClient);
  CHECK(came[1].segment_kind == SegmentKind::kFinish);
  Ranks puts(kLine, {0, 2}, testing::steady_fabric(), costs());
  puts.share(1, 1, Ranks::kBase, 4096, kRemoteWrite);
  auto put = puts.one_sided<PutDescriptor>(1, Ranks::kBase, 1070, Ranks::kBase, 1, 5);
  put.flags = kHasData;
  puts.engine.submit(0, put);
  puts.run();
  CHECK(puts.only<RemotePutCompletion>(1).time == came[0].time);
}

TEST_CASE("streams: segments come in the order of their stream, whichever way they take") {
  Streams ranks;
  ranks.send(SegmentKind::kFinish, 0, 1);  // as if it had overtaken
  ranks.send(SegmentKind::kData, 5000, 0);
  ranks.run();
  const auto came = ranks.came(kServer);
  REQUIRE(came.size() == 2);
  CHECK(came[0].segment_kind == SegmentKind::kData);
  CHECK(came[0].time == came[1].time);
}

TEST_CASE("streams: what is lost goes once more, and is given up in the end") {
  std::uint64_t losses = 1;
  Streams ranks(testing::lossy([&losses](const Packet&) { return losses > 0 && losses-- > 0; }));
  ranks.send(SegmentKind::kData, 100, 0);
  ranks.send(SegmentKind::kData, 200, 1);
  ranks.run();
  auto came = ranks.came(kServer);
  REQUIRE(came.size() == 2);
  CHECK(came[0].length == 100);
  CHECK(came[0].time > Time::us(200'000));
  CHECK(came[0].time < Time::us(200'100));
  losses = ~std::uint64_t{0};
  ranks.send(SegmentKind::kData, 300, 2);
  ranks.run();
  CHECK(ranks.came(kServer).size() == 2);
  came = ranks.came(kClient);
  REQUIRE(came.size() == 1);
  CHECK(came[0].status == -ETIMEDOUT);
  CHECK(ranks.engine.operations() == 0);
}
