// SPDX-License-Identifier: Apache-2.0
// Whichever packet is lost: does each operation end, once, at all ranks that wait for it, with a status, and leave
// nothing behind?
#include <doctest/doctest.h>

#include <cerrno>
#include <functional>
#include <map>

#include "core/network/lossy_harness.hpp"
#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::C;
using testing::kKey;
using testing::kLine;
using testing::Ranks;

namespace {

struct Losses {
  std::uint64_t seen = 0, lost = ~std::uint64_t{0};  // packets that have come; the one that is lost
  bool happened = false;

  bool loses() {
    const bool now = seen++ == lost;
    happened |= now;
    return now;
  }
  void end() { lost = ~std::uint64_t{0}; }  // from now on nothing is
};

// Interfaces of constants: nothing is sent again.
struct Losing : Ranks {
  Losing(Losses& losses, std::vector<NodeId> placement, const NetworkConfig& fabric, const NiConfig& ni)
      : Ranks(kLine, std::move(placement), fabric, ni,
              testing::lossy([&losses](const Packet&) { return losses.loses(); })) {}
  explicit Losing(Losses& losses, std::vector<NodeId> placement = {0, 2}, const NiConfig& ni = testing::odd_costs())
      : Losing(losses, std::move(placement), testing::steady_fabric(), ni) {}
};

// Loses one packet after the other of what `work` does, until there are no more. Returns how many there were.
std::uint64_t lose_each(const std::function<void(Losses&)>& work) {
  for (std::uint64_t n = 0;; ++n) {
    Losses losses{0, n, false};
    CAPTURE(n);
    work(losses);
    if (!losses.happened) return n;
  }
}

// Statuses of what has failed; each other value is a defect.
bool is_loss(std::int32_t status) { return status == completion_status(Status::kLost); }
bool is_sound(std::int32_t status) { return status == 0 || is_loss(status); }

}  // namespace

TEST_CASE("statuses: each has an errno value of its own") {
  std::map<std::int32_t, int> seen;
#define COUNT(name, number, fi, text) ++seen[completion_status(Status::k##name)];
  EXANET_STATUSES(COUNT)
#undef COUNT
  for (const auto& [status, times] : seen) CHECK((status <= 0 && times == 1));
  CHECK(completion_status(Status::kOk) == 0);
  CHECK(completion_status(Status::kTimedOut) == -ETIMEDOUT);
}

TEST_CASE("an eager message that is lost fails at its receive; its sender, if it asks for delivery, too") {
  for (const bool delivered : {false, true}) {
    for (const bool posted_first : {true, false}) {
      const auto packets = lose_each([&](Losses& losses) {
        Losing ranks(losses);
        ranks.fill(0, A, 32, 3);
        if (posted_first) ranks.receive(1, 0, B, 64, 5, 77);
        auto d = ranks.message(1, A, 32, 5, 88);
        if (delivered) d.flags |= kDelivered;
        ranks.send(0, d);
        ranks.run();
        if (!posted_first) ranks.receive(1, 0, B, 64, 5, 77);
        ranks.run();
        const std::int32_t received = ranks.only<ReceiveCompletion>(1, 77).status;
        CHECK(received == (losses.lost == 0 ? -EIO : 0));
        CHECK(ranks.same(0, A, 1, B, 32) == (received == 0));
        if (delivered) CHECK(ranks.only<SendCompletion>(0, 88).status == (losses.happened ? -EIO : 0));
        if (!delivered) CHECK(ranks.done[0].empty());
        CHECK(ranks.records.size() == (received == 0 ? 1 : 0));
        CHECK(ranks.engine.operations() == 0);
      });
      CHECK(packets == (delivered ? 2 : 1));
    }
  }
}

TEST_CASE("of messages that match alike, the receive of the lost one fails, and no other gets its place") {
  Losses losses{0, 1, false};
  Losing ranks(losses);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ranks.fill(0, A + 64 * i, 16, static_cast<unsigned>(i));
    ranks.receive(1, 0, B + 64 * i, 64, 5, 10 + i);
    ranks.send(0, 1, A + 64 * i, 16, 5);
  }
  ranks.run();
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(ranks.only<ReceiveCompletion>(1, 10 + i).status == (i == 1 ? -EIO : 0));
    CHECK(ranks.same(0, A + 64 * i, 1, B + 64 * i, 16) == (i != 1));
  }
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("a rendezvous ends at both ranks, whichever of its packets is lost, and the next one is whole") {
  for (const bool posted_first : {true, false}) {
    std::uint64_t both = 0, sender_alone = 0, none = 0;
    const auto packets = lose_each([&](Losses& losses) {
      Losing ranks(losses);
      ranks.fill(0, A, 9000, 3);
      if (posted_first) ranks.receive(1, 0, B, 10'000, 5, 77);
      ranks.send(0, 1, A, 9000, 5, 88);
      ranks.run();
      if (!posted_first) ranks.receive(1, 0, B, 10'000, 5, 77);
      ranks.run();
      const std::int32_t received = ranks.only<ReceiveCompletion>(1, 77).status,
                         sent = ranks.only<SendCompletion>(0, 88).status;
      CHECK((is_sound(received) && is_sound(sent)));
      CHECK(!(is_loss(received) && sent == 0));
      CHECK(ranks.same(0, A, 1, B, 9000) == (received == 0));
      CHECK(ranks.engine.operations() == 0);
      CHECK(ranks.engine.nic().active() == 0);
      ++(is_loss(received) ? both : is_loss(sent) ? sender_alone : none);
      losses.end();
      ranks.receive(1, 0, C, 10'000, 6, 79);
      ranks.send(0, 1, A, 9000, 6, 89);
      ranks.run();
      CHECK(ranks.only<ReceiveCompletion>(1, 79).status == 0);
      CHECK(ranks.same(0, A, 1, C, 9000));
    });
    CHECK(packets > 40);  // envelope, request, 36 of data, three acknowledgements, the last word
    CHECK((both > 36 && sender_alone == 1 && none > 0));
  }
}

TEST_CASE("one-sided operations end at their initiator, whichever packet is lost") {
  for (const std::uint64_t length : {0u, 64u, 9000u}) {
    CAPTURE(length);
    const auto packets = lose_each([&](Losses& losses) {
      Losing ranks(losses);
      ranks.share(1, kKey, B, 10'000, kRemoteRead | kRemoteWrite);
      ranks.fill(0, A, length, 3);
      ranks.put(0, 1, A, length, B, kKey, 7);
      ranks.run();
      const std::int32_t put = ranks.only<PutCompletion>(0, 7).status;
      CHECK(put == (losses.happened ? -EIO : 0));
      if (put == 0) CHECK(ranks.same(0, A, 1, B, length));
      CHECK(ranks.engine.operations() == 0);
      CHECK(ranks.engine.nic().active() == 0);
      ranks.fill(1, B, length, 4);
      ranks.get(0, 1, C, length, B, kKey, 8);
      ranks.run();
      const std::int32_t got = ranks.only<GetCompletion>(0, 8).status;
      CHECK(is_sound(got));
      if (got == 0) CHECK(ranks.same(0, C, 1, B, length));
      if (put != 0) CHECK(got == 0);
      CHECK(ranks.engine.operations() == 0);
      CHECK(ranks.engine.nic().active() == 0);
    });
    CHECK(packets >= 4);
  }
}

TEST_CASE("an atomic ends at its initiator; one whose reply is lost has happened") {
  const auto packets = lose_each([](Losses& losses) {
    Losing ranks(losses);
    ranks.share(1, kKey, B, 8, kRemoteRead | kRemoteWrite);
    AtomicDescriptor d = ranks.sum(1, B, kKey, 7);
    d.atomic_kind = AtomicKind::kFetch;
    d.result = C;
    ranks.atomic(0, d, 5);
    ranks.run();
    CHECK(ranks.only<AtomicCompletion>(0, 7).status == (losses.happened ? -EIO : 0));
    CHECK(static_cast<int>(ranks.memory[1][B - A]) == (losses.lost == 0 ? 0 : 5));
    CHECK(ranks.engine.operations() == 0);
  });
  CHECK(packets == 2);
}

TEST_CASE("a message to a group fails at each member that a copy does not reach, and at no other") {
  for (const std::uint64_t length : {32u, 2000u}) {
    std::uint64_t failed = 0;
    const auto packets = lose_each([&](Losses& losses) {
      Losing ranks(losses, {0, 1, 2, 3});
      const NodeId to = ranks.topology->multicast_to(0, {2, 3});
      const RankId group = kGroup | ranks.engine.add_group({0, to, 3, {2, 3}});
      for (const RankId rank : {2u, 3u}) ranks.receive(rank, 0, B, 4096, 5, 75 + rank);
      ranks.fill(0, A, length, 3);
      ranks.send(0, group, A, length, 5, 88);
      ranks.run();
      std::uint64_t lost = 0;
      for (const RankId rank : {2u, 3u}) {
        const std::int32_t status = ranks.only<ReceiveCompletion>(rank, 75 + rank).status;
        CHECK(is_sound(status));
        CHECK(ranks.same(0, A, rank, B, length) == (status == 0));
        lost += is_loss(status);
      }
      CHECK(lost <= 1);  // each packet is lost at one node
      failed += lost;
      CHECK(ranks.engine.operations() == 0);
      CHECK(ranks.engine.nic().active() == 0);
    });
    CHECK(failed == packets / 3 * 2);  // the third copy is for a node that has no member
  }
}

namespace {

// Four ranks reduce together. Returns at how many of them that has failed.
std::size_t reduce(Ranks& ranks, std::int64_t tree, std::uint64_t cookie) {
  std::size_t failed = 0;
  for (RankId rank = 0; rank < 4; ++rank) {
    auto d = ReductionDescriptor();
    d.time = ranks.queue.now();
    d.cookie = cookie;
    d.tree = static_cast<std::uint32_t>(tree);
    d.count = 1;
    d.operation = exanet_op_sum;
    d.datatype = exanet_type_u64;
    const std::uint64_t part = rank + 1;
    ranks.engine.submit(rank, d, Payload(reinterpret_cast<const std::byte*>(&part), 8));
  }
  ranks.run();
  for (RankId rank = 0; rank < 4; ++rank) {
    const std::int32_t status = ranks.only<ReductionCompletion>(rank, cookie).status;
    CHECK(is_sound(status));
    failed += is_loss(status);
  }
  CHECK(ranks.engine.operations() == 0);
  return failed;
}

}  // namespace

TEST_CASE("reductions in the gateware's cycles hide losses") {
  NiConfig ni = testing::odd_costs();
  ni.messages = ni.transfers = ni.reductions = NiConfig::Costs::kGateware;
  ni.packetizer = ni.mailbox_word = ni.dma_start = ni.dma_completion = ni.translation = Time();
  ni.reduction_trees = 4;
  NetworkConfig fabric = testing::steady_fabric();
  fabric.router.intra_ports = 4;
  fabric.router.max_payload_bytes = 512;
  const auto packets = lose_each([&](Losses& losses) {
    Losing ranks(losses, {0, 1, 2, 3}, fabric, ni);
    const std::int64_t tree = ranks.engine.open_reduction({0, 1, 2, 3});
    REQUIRE(tree >= 0);
    CHECK(reduce(ranks, tree, 7) == 0);
  });
  CHECK(packets >= 6);
}

TEST_CASE("a reduction fails at all ranks when a part is lost, and below when a result is") {
  NiConfig ni = testing::odd_costs();
  ni.reduction_trees = 4;
  ni.reduction = Time::ps(71'000);
  ni.reduction_word = Time::ps(6'400);
  std::map<std::size_t, int> failures;
  const auto packets = lose_each([&](Losses& losses) {
    Losing ranks(losses, {0, 1, 2, 3}, ni);
    const std::int64_t tree = ranks.engine.open_reduction({0, 1, 2, 3});
    REQUIRE(tree >= 0);
    const std::size_t failed = reduce(ranks, tree, 7);
    CHECK((failed > 0) == losses.happened);
    ++failures[failed];
    losses.end();
    CHECK((failed == 0 || reduce(ranks, tree, 8) == 0));
  });
  CHECK(packets > 0);
  CHECK(failures[4] > 0);
}
