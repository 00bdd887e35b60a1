// SPDX-License-Identifier: Apache-2.0
// Do messages take the time of their protocol's steps, match by the rules, and arrive whole, once, where they belong?
#include <doctest/doctest.h>

#include <cerrno>

#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::C;
using testing::kLine;
using testing::Ranks;

namespace {

CancelDescriptor cancel_of(std::uint64_t cookie, Time at) {
  CancelDescriptor d;
  d.cookie = cookie;
  d.time = at;
  return d;
}

PeekDescriptor peek_of(RankId from, std::uint64_t tag, std::uint64_t cookie, Time at) {
  PeekDescriptor d;
  d.peer.rank = from;
  d.flags = kTagged;
  d.tag = tag;
  d.cookie = cookie;
  d.time = at;
  return d;
}

PacketDescriptor packet_to(const Address& to) {
  PacketDescriptor d;
  d.peer = to;
  return d;
}

}  // namespace

TEST_CASE("an eager message: packetizer, network, mailbox") {
  for (const std::uint64_t len : {0u, 1u, 31u, 32u}) {
    Ranks ranks(kLine, {0, 2});
    ranks.fill(0, A, len, 3);
    ranks.receive(1, 0, B, 64, 5, 77);
    ranks.send(0, 1, A, len, 5);
    ranks.run();
    const auto done = ranks.only<ReceiveCompletion>(1, 77);
    CHECK(done.time == ranks.config.packetizer + ranks.control(0, 2, 32 + static_cast<std::uint32_t>(len)));
    const std::int64_t lines = (32 + static_cast<std::int64_t>(len) + 63) / 64;
    CHECK(Time::ps(done.cpu_ps) ==
          ranks.config.mailbox_read * lines + ranks.config.library_receive + ranks.config.mpi_receive);
    CHECK((done.status == 0 && done.length == len && done.tag == 5 && done.peer == Address{0, 0}));
    CHECK(ranks.same(0, A, 1, B, len));
    CHECK(ranks.done[0].empty());  // the sender's library completes it by itself
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("a rendezvous: request to send, read request, data, acknowledgement, each in its time") {
  for (const std::uint64_t len : {33u, 256u, 2048u}) {
    Ranks ranks(kLine, {0, 2});
    const NiConfig& ni = ranks.config;
    ranks.fill(0, A, len, 3);
    ranks.receive(1, 0, B, 4096, 5, 77);
    ranks.send(0, 1, A, len, 5, 88);
    ranks.run();
    const Time request = ni.packetizer + ranks.control(0, 2, 32);
    const Time read = request + ni.mailbox_read + ni.library_receive + ni.library_send + ni.store_word * 4 +
                      ni.dma_start + ranks.network(2, 0, 0) + ni.memory_write;
    const std::int64_t packets = (static_cast<std::int64_t>(len) + 255) / 256;
    const Time data = read + ni.dma_start + ni.translation + ni.memory_read +
                      ranks.network(0, 2, len < 256 ? static_cast<std::uint16_t>(len) : 256) +
                      Time::ps(38 * 6400) * (packets - 1) + ni.memory_write + ni.dma_completion;
    const Time acknowledge = data + ni.mailbox_read + ni.library_receive + ni.library_send + ni.store_word * 2;
    CHECK(ranks.only<ReceiveCompletion>(1, 77).time == acknowledge);
    CHECK(ranks.only<SendCompletion>(0, 88).time == acknowledge + ni.packetizer + ranks.control(2, 0, 32));
    CHECK(ranks.same(0, A, 1, B, len));
    CHECK(ranks.engine.operations() == 0);
    CHECK((ranks.records.size() == 1 && ranks.records[0].protocol == Protocol::rendezvous &&
           ranks.records[0].delivered == acknowledge));
  }
}

TEST_CASE("descriptors and envelopes are stored in words of the router's width") {
  for (const auto& [bits, descriptor, envelope] : {std::tuple{64, 8, 4}, {128, 4, 2}, {512, 1, 1}}) {
    NetworkConfig fabric = testing::steady_fabric();
    fabric.router.word_bits = bits;
    Ranks ranks(kLine, {0, 2}, fabric);
    const NiConfig& ni = ranks.config;
    CHECK(ranks.engine.costs(0).rdma_cpu() == ni.library_send + ni.store_word * descriptor);
    ranks.receive(1, 0, B, 4096, 5, 77);
    ranks.send(0, 1, A, 256, 5, 88);
    ranks.run();
    const Time request = ni.packetizer + ranks.network(0, 2, 32) + ni.mailbox + ni.mailbox_word * envelope;
    const Time read = request + ni.mailbox_read + ni.library_receive + ni.library_send + ni.store_word * descriptor +
                      ni.dma_start + ranks.network(2, 0, 0) + ni.memory_write;
    const Time data = read + ni.dma_start + ni.translation + ni.memory_read + ranks.network(0, 2, 256) +
                      ni.memory_write + ni.dma_completion;
    CHECK(ranks.only<ReceiveCompletion>(1, 77).time ==
          data + ni.mailbox_read + ni.library_receive + ni.library_send + ni.store_word * envelope);
  }
}

TEST_CASE("receives match in posted order, messages in sent order, in both protocols") {
  for (const bool posted_first : {true, false}) {
    Ranks ranks(kLine, {0, 1});
    const auto post = [&] {
      for (std::uint64_t i = 0; i < 6; ++i) ranks.receive(1, 0, B + 512 * i, 512, 9, 100 + i);
    };
    if (posted_first) post();
    for (std::uint64_t i = 0; i < 6; ++i) {
      ranks.fill(0, A + 512 * i, 512, static_cast<unsigned>(i));
      ranks.send(0, 1, A + 512 * i, i % 2 ? 300 + i : 8 + i, 9, 200 + i);  // small and large in turn
    }
    ranks.run();
    if (!posted_first) CHECK(ranks.engine.operations() == 6);
    CHECK(ranks.engine.idle());
    if (!posted_first) post();
    ranks.run();
    for (std::uint64_t i = 0; i < 6; ++i) {
      CHECK(ranks.only<ReceiveCompletion>(1, 100 + i).length == (i % 2 ? 300 + i : 8 + i));
      CHECK(ranks.same(0, A + 512 * i, 1, B + 512 * i, i % 2 ? 300 + i : 8 + i));
    }
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("tags, ignored bits, sources and kinds are kept apart") {
  Ranks ranks(kLine, {0, 1, 2, 3});
  auto untagged = ranks.message(3, A, 4, 0, 0);
  untagged.flags = 0;
  ranks.receive(3, kAnyRank, B, 64, 0x10, 1);       // tag 0x10 from anybody
  ranks.receive(3, 2, B + 64, 64, 0x20, 2);         // tag 0x20 from rank 2 only
  auto masked = ranks.receive_of(kAnyRank, B + 128, 64, 0x30, 3);
  masked.ignore = 0x0f;                             // tags 0x30 to 0x3f
  ranks.engine.submit(3, masked);
  auto bare = ranks.receive_of(kAnyRank, B + 192, 64, 0, 4);
  bare.flags = 0;
  ranks.engine.submit(3, bare);
  ranks.send(0, 3, A, 4, 0x20);                     // wrong source
  ranks.send(0, 3, A, 4, 0x40);                     // wrong tag
  ranks.run();
  CHECK(ranks.done[3].empty());
  ranks.send(2, 3, A, 4, 0x20);
  ranks.send(1, 3, A, 4, 0x3a);
  ranks.run();
  ranks.send(1, 3, A, 4, 0x10);
  ranks.send(0, untagged);
  ranks.run();
  CHECK((ranks.only<ReceiveCompletion>(3, 1).peer.rank == 1 && ranks.only<ReceiveCompletion>(3, 1).has(kTagged)));
  CHECK(ranks.only<ReceiveCompletion>(3, 2).peer.rank == 2);
  CHECK(ranks.only<ReceiveCompletion>(3, 3).tag == 0x3a);
  CHECK((ranks.only<ReceiveCompletion>(3, 4).peer.rank == 0 && !ranks.only<ReceiveCompletion>(3, 4).has(kTagged)));
  CHECK(ranks.engine.operations() == 2);
}

TEST_CASE("a receive directed at one endpoint of a rank does not take another's message") {
  Ranks ranks(kLine, {0, 1});
  ranks.open(0, 1);
  ranks.receive(1, 0, B, 64, 1, 7);
  auto c = ranks.message(1, A, 4, 1, 0);
  c.ep = 1;
  ranks.send(0, c);
  ranks.run();
  CHECK(ranks.done[1].empty());
  c.ep = 0;
  ranks.send(0, c);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(1, 7).peer == Address{0, 0});
}

TEST_CASE("a message longer than its receive is cut, and says so") {
  for (const std::uint64_t len : {24u, 3000u}) {
    Ranks ranks(kLine, {0, 1});
    ranks.fill(0, A, len, 3);
    ranks.receive(1, 0, B, 16, 5, 77);
    ranks.send(0, 1, A, len, 5, 88);
    ranks.run();
    const auto done = ranks.only<ReceiveCompletion>(1, 77);
    CHECK((done.status == -EMSGSIZE && done.length == len));
    CHECK(ranks.same(0, A, 1, B, 16));
    CHECK(ranks.memory[1][B - A + 16] == std::byte{});
    if (len > 32) CHECK(ranks.only<SendCompletion>(0, 88).status == 0);
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("a multi-receive buffer takes messages until too little is left, and is given back after the last of them") {
  Ranks ranks(kLine, {0, 1, 2});
  auto multi = ranks.receive_of(kAnyRank, B, 4096, 0, 50);
  multi.flags |= kMulti;
  multi.ignore = ~0ull;
  multi.min_left = 1024;
  ranks.engine.submit(2, multi);
  ranks.send(0, 2, A, 3000, 1, 60);  // rendezvous: in the buffer first, complete last
  ranks.run();
  ranks.send(1, 2, A, 20, 2);
  ranks.send(1, 2, A, 20, 3);
  ranks.run();
  CHECK(ranks.count<MultiDoneCompletion>(2) == 0);  // 1056 left
  ranks.send(0, 2, A, 2000, 4, 61);              // does not fit: cut, and below the limit
  ranks.run();
  CHECK(ranks.count<ReceiveCompletion>(2) == 4);
  CHECK(ranks.only<MultiDoneCompletion>(2, 50).time >= testing::header(ranks.done[2][3].c).time);
  CHECK(std::holds_alternative<MultiDoneCompletion>(ranks.done[2].back().c));
  const auto received = [&](std::size_t i) { return std::get<ReceiveCompletion>(ranks.done[2][i].c); };
  CHECK((received(1).buffer == B + 3000 && received(2).buffer == B + 3020 && received(3).buffer == B + 3040));
  CHECK(received(3).status == -EMSGSIZE);
  ranks.send(1, 2, A, 1, 5);
  ranks.run();
  CHECK(ranks.count<ReceiveCompletion>(2) == 4);  // nobody takes it any more
  CHECK(ranks.engine.operations() == 1);
}

TEST_CASE("a multi-receive buffer without a limit is given back when it is full") {
  Ranks ranks(kLine, {0, 1});
  auto multi = ranks.receive_of(0, B, 40, 1, 50);
  multi.flags |= kMulti;
  ranks.engine.submit(1, multi);
  ranks.send(0, 1, A, 20, 1);
  ranks.run();
  CHECK(ranks.count<MultiDoneCompletion>(1) == 0);
  ranks.send(0, 1, A, 20, 1);
  ranks.run();
  ranks.only<MultiDoneCompletion>(1, 50);
}

TEST_CASE("hundreds of messages on their way into one multi-receive buffer are all counted") {
  Ranks ranks(kLine, {0, 1});
  constexpr std::uint64_t kMessages = 300;
  auto multi = ranks.receive_of(0, B, 0x8000, 1, 50);
  multi.flags |= kMulti;
  multi.min_left = 0x8000 - kMessages * 40 + 1;  // the last one uses it up
  ranks.engine.submit(1, multi);
  ranks.engine.awake(1);  // matched, but not fetched before the rank polls
  for (std::uint64_t i = 0; i < kMessages; ++i) ranks.send(0, 1, A + 40 * i, 40, 1, i);
  ranks.run();
  CHECK(ranks.done[1].empty());
  ranks.engine.asleep(1, ranks.queue.now());
  ranks.run();
  CHECK(ranks.count<ReceiveCompletion>(1) == kMessages);
  CHECK(ranks.only<MultiDoneCompletion>(1, 50).time >= testing::header(ranks.done[1][kMessages - 1].c).time);
  CHECK(std::holds_alternative<MultiDoneCompletion>(ranks.done[1].back().c));
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("peek reports, claim reserves, discard drops") {
  for (const std::uint64_t len : {16u, 1000u}) {
    Ranks ranks(kLine, {0, 1});
    ranks.fill(0, A, len, 9);
    ranks.engine.submit(1, peek_of(0, 5, 1, Time()));
    ranks.run();
    CHECK((ranks.only<PeekCompletion>(1, 1).status == -ENOMSG &&
           ranks.only<PeekCompletion>(1, 1).time == ranks.config.test_step));
    for (std::uint64_t i = 0; i < 3; ++i) ranks.send(0, 1, A, len, 5, 90 + i);
    ranks.run();
    const Time now = ranks.queue.now();
    ranks.engine.submit(1, peek_of(0, 6, 2, now));  // another tag
    ranks.engine.submit(1, peek_of(0, 5, 3, now));
    auto claim = peek_of(kAnyRank, 5, 4, now);
    claim.flags |= kClaim;
    ranks.engine.submit(1, claim);
    claim.cookie = 5;
    ranks.engine.submit(1, claim);
    auto drop = peek_of(0, 5, 6, now);
    drop.flags |= kDiscard;
    ranks.engine.submit(1, drop);
    ranks.run();
    CHECK(ranks.only<PeekCompletion>(1, 2).status == -ENOMSG);
    for (std::uint64_t cookie = 3; cookie <= 6; ++cookie) {
      const auto found = ranks.only<PeekCompletion>(1, cookie);
      CHECK((found.status == 0 && found.length == len && found.tag == 5 && found.peer.rank == 0));
    }
    ranks.engine.submit(1, peek_of(0, 5, 7, ranks.queue.now()));
    ranks.run();
    CHECK(ranks.only<PeekCompletion>(1, 7).status == -ENOMSG);  // two claimed, one dropped
    auto take = ranks.receive_of(0, B, 4096, 5, 5);      // the second one claimed first
    take.flags |= kClaim;
    ranks.engine.submit(1, take);
    ranks.run();
    CHECK((ranks.only<ReceiveCompletion>(1, 5).status == 0 && ranks.only<ReceiveCompletion>(1, 5).length == len &&
           ranks.same(0, A, 1, B, len)));
    take.cookie = 4;
    take.flags |= kDiscard;
    ranks.engine.submit(1, take);
    ranks.run();
    CHECK((ranks.only<ReceiveCompletion>(1, 4).status == 0 && ranks.only<ReceiveCompletion>(1, 4).length == 0));
    take.cookie = 5;
    ranks.done[1].clear();
    ranks.engine.submit(1, take);  // already taken
    CHECK(ranks.only<ReceiveCompletion>(1, 5).status == -ENOMSG);
    if (len > 32)
      for (std::uint64_t i = 0; i < 3; ++i) CHECK(ranks.only<SendCompletion>(0, 90 + i).status == 0);
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("a cancelled receive: unmatched it ends cancelled, matched it ends with its message") {
  Ranks ranks(kLine, {0, 1});
  ranks.receive(1, 0, B, 2048, 5, 1);
  ranks.receive(1, 0, B, 2048, 5, 2);
  ranks.engine.submit(1, cancel_of(1, Time::ns(10)));
  ranks.send(0, 1, A, 1500, 5, 9);
  ranks.queue.run_until(Time::us(2));  // matched by now
  CHECK(ranks.count<ReceiveCompletion>(1) == 1);
  ranks.engine.submit(1, cancel_of(2, ranks.queue.now()));
  ranks.engine.submit(1, cancel_of(3, ranks.queue.now()));  // nobody's
  ranks.run();
  CHECK((ranks.only<ReceiveCompletion>(1, 1).status == -ECANCELED &&
         ranks.only<ReceiveCompletion>(1, 1).time == Time::ns(10)));
  CHECK(ranks.only<ReceiveCompletion>(1, 2).status == 0);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("a multi-receive cancelled with a message on its way into it is given back once, after that message") {
  Ranks ranks(kLine, {0, 1});
  auto multi = ranks.receive_of(0, B, 8192, 5, 1);
  multi.flags |= kMulti;
  multi.min_left = 16;
  ranks.engine.submit(1, multi);
  ranks.send(0, 1, A, 4000, 5, 9);
  ranks.queue.run_until(Time::us(2));
  ranks.engine.submit(1, cancel_of(1, ranks.queue.now()));
  ranks.run();
  REQUIRE(ranks.done[1].size() == 2);
  const auto received = [&](std::size_t i) { return std::get<ReceiveCompletion>(ranks.done[1][i].c); };
  CHECK((received(0).status == 0 && received(0).length == 4000));
  CHECK(received(1).status == -ECANCELED);
  ranks.send(0, 1, A, 4, 5);
  ranks.run();
  CHECK(ranks.done[1].size() == 2);
}

TEST_CASE("a delivered send completes when the target has it, not before") {
  for (const std::uint64_t len : {0u, 32u, 500u}) {
    Ranks ranks(kLine, {0, 3});
    auto c = ranks.message(1, A, len, 5, 88);
    c.flags |= kDelivered;
    ranks.send(0, c);
    ranks.receive(1, 0, B, 512, 5, 77);
    ranks.run();
    const Time arrived =
        ranks.config.packetizer + ranks.control(0, 3, 32 + (len <= 32 ? static_cast<std::uint32_t>(len) : 0));
    const Time done = ranks.only<SendCompletion>(0, 88).time;
    if (len <= 32)
      CHECK(done == arrived + ranks.control(3, 0, 0));
    else
      CHECK(done == ranks.only<ReceiveCompletion>(1, 77).time + ranks.config.packetizer + ranks.control(3, 0, 32));
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("what an endpoint that is not there cannot take comes back to its sender, after the way there and back") {
  Ranks ranks(kLine, {0, 3});
  auto eager = ranks.message(1, A, 8, 5, 1);
  eager.peer.ep = 4;
  ranks.send(0, eager);  // its sender has long gone on: nothing to report
  eager.flags |= kDelivered;
  eager.cookie = 2;
  ranks.send(0, eager);
  auto large = ranks.message(1, A, 800, 5, 3);
  large.peer.ep = 4;
  ranks.send(0, large);
  large.flags |= kSilent;  // errors come all the same
  large.cookie = 4;
  ranks.send(0, large);
  ranks.engine.submit(0, packet_to(Address{1, 0}),
                      Payload(ranks.memory[0]).first(8));  // to an endpoint that is no mailbox: lost
  ranks.run();
  CHECK(ranks.done[0].size() == 3);
  const Time there_and_back = ranks.config.packetizer + ranks.control(0, 3, 32) + ranks.control(3, 0, 0);
  for (const std::uint64_t cookie : {2, 3, 4}) {
    CHECK(ranks.only<SendCompletion>(0, cookie).status == -ECONNREFUSED);
    CHECK(ranks.only<SendCompletion>(0, cookie).time >= there_and_back);
  }
  CHECK(ranks.done[1].empty());
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("a rank that is not there") {
  Ranks ranks(kLine, {0, 1});
  ranks.send(0, 2, A, 800, 5, 1);
  ranks.put(0, kAnyRank, A, 8, B, 1, 2);
  ranks.get(0, 7, A, 8, B, 1, 3);
  ranks.run();
  CHECK(ranks.only<SendCompletion>(0, 1).status == -EHOSTUNREACH);
  CHECK(ranks.only<PutCompletion>(0, 2).status == -EHOSTUNREACH);
  CHECK(ranks.only<GetCompletion>(0, 3).status == -EHOSTUNREACH);
}

TEST_CASE("closing an endpoint: messages nobody took are refused, claimed ones too, receives vanish") {
  Ranks ranks(kLine, {0, 1});
  ranks.send(0, 1, A, 800, 5, 1);
  ranks.send(0, 1, A, 800, 6, 2);
  ranks.send(0, 1, A, 8, 6, 3);
  ranks.run();
  auto claim = peek_of(0, 6, 9, ranks.queue.now());
  claim.flags |= kClaim;
  ranks.engine.submit(1, claim);
  ranks.receive(1, 0, B, 64, 7, 10);
  ranks.run();
  ranks.close(1, 0, ranks.queue.now());
  ranks.run();
  CHECK(ranks.only<SendCompletion>(0, 1).status == -ECONNRESET);
  CHECK(ranks.only<SendCompletion>(0, 2).status == -ECONNRESET);
  CHECK(ranks.count<ReceiveCompletion>(1) == 0);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("closing an endpoint with messages on their way into its buffers leaves those buffers alone") {
  for (const bool multi : {false, true}) {
    Ranks ranks(kLine, {0, 1});
    auto c = ranks.receive_of(0, B, 8192, 5, 1);
    if (multi) c.flags |= kMulti;
    c.min_left = 16;
    ranks.engine.submit(1, c);
    ranks.fill(0, A, 4000, 3);
    ranks.send(0, 1, A, 4000, 5, 9);
    ranks.queue.run_until(Time::us(2));
    ranks.close(1, 0, ranks.queue.now());
    ranks.run();
    CHECK(ranks.done[1].empty());
    CHECK(ranks.only<SendCompletion>(0, 9).status == -ECONNRESET);
    for (std::size_t i = 0; i < 4000; ++i) REQUIRE(ranks.memory[1][B - A + i] == std::byte{});
    CHECK(ranks.engine.operations() == 0);
  }
}

TEST_CASE("a rendezvous waits for its receiver to poll, and its steps are one after another") {
  Ranks ranks(kLine, {0, 1, 2});
  const NiConfig& ni = ranks.config;
  ranks.engine.awake(2);
  ranks.receive(2, 0, B, 1024, 5, 1);
  ranks.receive(2, 1, C, 1024, 5, 2);
  ranks.receive(2, 1, C + 2048, 64, 6, 3);
  ranks.send(0, 2, A, 200, 5, 8);
  ranks.send(1, 2, A, 200, 5, 9);
  ranks.send(1, 2, A, 20, 6);
  ranks.run();
  ranks.only<ReceiveCompletion>(2, 3);  // an eager one needs no processor
  CHECK(ranks.done[2].size() == 1);
  CHECK(ranks.engine.has_pending(2));
  CHECK(ranks.engine.operations() == 2);
  ranks.engine.asleep(2, Time::us(50));
  CHECK(ranks.queue.now() < Time::us(50));
  ranks.run();
  const Time step = ni.mailbox_read + ni.library_receive + ni.library_send + ni.store_word * 4;
  // The second read request goes out a step after the first; nothing before the poll.
  const auto fetched = [&](NodeId from, Time asked) {
    return asked + ni.dma_start + ranks.network(2, from, 0) + ni.memory_write + ni.dma_start + ni.translation +
           ni.memory_read + ranks.network(from, 2, 200) + ni.memory_write + ni.dma_completion;
  };
  const Time ack = ni.mailbox_read + ni.library_receive + ni.library_send + ni.store_word * 2;
  // Rank 1 is nearer, so its request came first and is the first to be answered.
  const Time first = fetched(1, Time::us(50) + step), second = fetched(0, Time::us(50) + step * 2);
  REQUIRE(first < second);
  CHECK(ranks.only<ReceiveCompletion>(2, 2).time == first + ack);
  CHECK(ranks.only<ReceiveCompletion>(2, 1).time == max(second, first + ack) + ack);
  CHECK(ranks.engine.busy_until(2) == ranks.only<ReceiveCompletion>(2, 1).time);
  CHECK(!ranks.engine.has_pending(2));
}

TEST_CASE("a bare packet reaches a mailbox whole, and only a mailbox") {
  Ranks ranks(kLine, {0, 3});
  ranks.open(1, 1, EndpointKind::kRaw);
  ranks.fill(0, A, 64, 5);
  ranks.engine.submit(0, packet_to(Address{1, 1}), Payload(ranks.memory[0]).first(64));
  ranks.run();
  REQUIRE(ranks.done[1].size() == 1);
  const auto done = std::get<PacketCompletion>(ranks.done[1][0].c);
  const std::vector<std::byte>& payload = ranks.done[1][0].payload;
  CHECK((done.ep == 1 && done.peer == Address{0, 0} && payload.size() == 64));
  CHECK(std::memcmp(payload.data(), &ranks.memory[0][0], 64) == 0);
  CHECK(done.time == ranks.config.packetizer + ranks.control(0, 3, 64));
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("remote data travel with a message, and a zero-cost phase keeps the rules") {
  Ranks ranks(kLine, {0, 1});
  ranks.engine.set_zero_cost(true);
  ranks.queue.run_until(Time::us(3));
  auto c = ranks.message(1, A, 5000, 5, 1);
  c.flags |= kHasData;
  c.data = 0xfeed;
  ranks.fill(0, A, 5000, 1);
  ranks.send(0, c);
  ranks.run();
  CHECK(ranks.done[0].empty());
  ranks.engine.awake(1);  // in standing time nobody waits for a poll
  ranks.receive(1, 0, B, 5000, 5, 2);
  ranks.run();
  const auto done = ranks.only<ReceiveCompletion>(1, 2);
  CHECK((done.has(kHasData) && done.data == 0xfeed && done.time == Time::us(3)));
  CHECK(ranks.only<SendCompletion>(0, 1).time == Time::us(3));
  CHECK(ranks.same(0, A, 1, B, 5000));
  CHECK(ranks.queue.now() == Time::us(3));
  CHECK(ranks.engine.nic().packets() == 0);
}

TEST_CASE("the record of a message says when its receiver got to it, if it waited for that") {
  for (const std::uint64_t len : {8u, 1024u}) {
    for (const Time posted : {Time(), Time::us(500)}) {
      Ranks ranks(kLine, {0, 2});
      ranks.send(0, 1, A, len, 5);
      if (posted > Time()) ranks.run();
      ReceiveDescriptor d = ranks.receive_of(0, B, len, 5, 77);
      d.time = posted;
      ranks.engine.submit(1, d);
      ranks.run();
      REQUIRE(ranks.records.size() == 1);
      CHECK(ranks.records[0].taken == posted);
      CHECK((ranks.records[0].delivered == posted) == (posted > Time() && len == 8));
    }
  }
}
