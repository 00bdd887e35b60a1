// SPDX-License-Identifier: Apache-2.0
// Where transfers of programs have pages: does a buffer's first use take the walks to its pages longer, to the cycle,
// and no other one?
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/exanet/exanet_nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

constexpr Time kCycle = Time::ps(6400);
constexpr std::int64_t kMemoryRead = 19;  // cycles
constexpr std::uint32_t kSmall = 1 << 12, kWide = 1 << 16, kLarge = 1 << 21;

struct PagesBench final : NicListener {
  explicit PagesBench(std::uint32_t pages)
      : topology(make_topology({"mesh", {2}})), nic({queue, *topology, fabric(), costs(pages), *this}) {}
  static NetworkConfig fabric() {
    NetworkConfig fabric = testing::published_fabric(512);
    fabric.router.intra_ports = 3;
    for (LinkConfig& link : fabric.links) link.pause_every = 0;
    return fabric;
  }
  static NiConfig costs(std::uint32_t pages) {
    NiConfig ni;
    ni.messages = ni.transfers = NiConfig::Costs::kGateware;
    ni.memory_read = kCycle * kMemoryRead;
    ni.memory_write = Time::ns(60);
    ni.pages_bytes = pages;
    return ni;
  }
  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t, Status, Time now) override { arrived = now; }
  void transfer_acknowledged(std::uint64_t, Status, Time now) override { acknowledged = now; }
  void packet_delivered(const Packet&, Time, Time) override {}

  // Of a write alone from node 0 to node 1, in cycles.
  std::int64_t took(ProcessBuffer own, ProcessBuffer target, std::uint64_t bytes = 64, bool notifies = false) {
    // So that retransmission scans, one in 16 cycles, lie alike for all.
    const std::int64_t period = 16 * kCycle.ps();
    const Time begins = Time::ps((queue.now().ps() / period + 1) * period);
    queue.run_until(begins);
    nic.post(RdmaTransfer{0, 1, bytes, true, true, 7, 1, RdmaTransfer::Part::kWrite, 0, notifies, own, target});
    while (!queue.empty()) queue.run_one();
    CHECK(nic.active() == 0);
    return (arrived - begins).ps() / kCycle.ps();
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  ExanetNic nic;
  Time arrived, acknowledged;
};

const ProcessBuffer kOne{0, 0x7f001230}, kOther{0, 0x7f005000}, kTarget{1, 0x55550010};

// Of a walk to a page, cycles: docs/gateware.md has them of Verilated interfaces. At the target one of them is hidden
// behind the look.
std::int64_t walk(std::uint32_t pages) { return pages == kLarge ? 3 * kMemoryRead + 6 : 4 * kMemoryRead + 7; }

}  // namespace

TEST_CASE("pages under programs: a first use takes a walk at each end, a second one none") {
  const std::int64_t physical = PagesBench(0).took(kOne, kTarget);
  for (const std::uint32_t pages : {kSmall, kWide, kLarge}) {
    PagesBench b(pages);
    const std::int64_t first = b.took(kOne, kTarget), again = b.took(kOne, kTarget);
    CHECK(again - physical == 1);
    CHECK(first - again == walk(pages) + walk(pages) - 1);
    CHECK(b.nic.pages().walks == 3);  // and to the page with the word of the end
    CHECK(b.nic.pages().lookups == 6);
    // Other buffers at one end and at the other.
    CHECK(b.took(kOther, kTarget) - again == walk(pages));
    CHECK(b.took(kOther, {1, 0x55550018}) - again == walk(pages) - 1);
    CHECK(b.took(kOne, kTarget) == again);
    CHECK(b.nic.pages().walks == 5);
  }
}

TEST_CASE("pages under programs: processes share none, whatever their addresses") {
  PagesBench b(kSmall);
  const std::int64_t first = b.took(kOne, kTarget), again = b.took(kOne, kTarget);
  CHECK(b.took({2, kOne.address}, {3, kTarget.address}) == first);
  CHECK(b.took({2, kOne.address}, {3, kTarget.address}) == again);
  CHECK(b.took(kOne, kTarget) == again);
}

TEST_CASE("pages under programs: a long buffer has many pages, and none is known of more than fit") {
  PagesBench small(kSmall), large(kLarge);
  const std::uint64_t known = 32, beyond = 64;
  small.took(kOne, kTarget, known * kSmall);
  const std::uint64_t walks = small.nic.pages().walks;
  CHECK(walks == 2 * known + 1);
  small.took(kOne, kTarget, known * kSmall);
  CHECK(small.nic.pages().walks == walks);
  small.took(kOther, kTarget, beyond * kSmall);
  small.took(kOther, kTarget, beyond * kSmall);
  CHECK(small.nic.pages().walks == walks + 4 * beyond);
  large.took(kOne, kTarget, beyond * kSmall);
  CHECK(large.nic.pages().walks == 3);
}

TEST_CASE("pages under programs: who is notified reads a word, on a page of its process") {
  PagesBench b(kSmall);
  b.took(kOne, kTarget, 64, true);
  CHECK(b.nic.pages().walks == 4);
  b.took(kOther, {1, 0x1000}, 64, true);
  CHECK(b.nic.pages().walks == 6);
}

TEST_CASE("pages under programs: a read's buffers are those of its request") {
  struct Server final : NicListener {
    void message_completed(std::uint64_t, Status, Time) override {}
    void transfer_completed(std::uint64_t user, Status, Time) override {
      if (!served) nic->post(RdmaTransfer{1, 0, 64, true, true, user, 1, RdmaTransfer::Part::kReply});
      served = !served;
    }
    void transfer_acknowledged(std::uint64_t, Status, Time) override {}
    void packet_delivered(const Packet&, Time, Time) override {}
    Nic* nic = nullptr;
    bool served = false;
  } server;
  EventQueue queue;
  const std::unique_ptr<Topology> topology = make_topology({"mesh", {2}});
  ExanetNic nic({queue, *topology, PagesBench::fabric(), PagesBench::costs(kSmall), server});
  server.nic = &nic;
  const auto walks = [&](ProcessBuffer own, ProcessBuffer target) {
    const std::uint64_t before = nic.pages().walks;
    nic.post(RdmaTransfer{0, 1, 0, false, false, 7, 1, RdmaTransfer::Part::kRequest, 64, false, own, target});
    while (!queue.empty()) queue.run_one();
    return nic.pages().walks - before;
  };
  CHECK(walks(kOne, kTarget) == 3);
  CHECK(walks(kOne, kTarget) == 0);
  CHECK(walks(kOther, kTarget) == 1);
  CHECK(walks(kOne, {1, 0x1000}) == 1);
}

TEST_CASE("pages under programs: ranges of drawn buffers are apart, and each is found again") {
  std::mt19937 random(2027);
  const auto draw = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  for (const std::uint32_t pages : {kSmall, kLarge}) {
    BufferAddresses addresses(pages, 2);
    struct Use {
      NodeId node;
      std::uint32_t process;
      std::uint64_t address, bytes, first;
    };
    std::map<std::uint64_t, Use> used[2];  // by the first byte that is not theirs
    std::map<std::tuple<NodeId, std::uint32_t, std::uint64_t>, Use> last;
    for (int i = 0; i < 3000; ++i) {
      const NodeId node = draw(2);
      Use use{node, draw(3), std::uint64_t{draw(40)} * 100, draw(3 * kLarge), 0};
      use.first = addresses.of(node, {use.process, use.address}, use.bytes);
      REQUIRE(use.first % pages == 0);
      const auto [found, fresh] = last.insert({{node, use.process, use.address}, use});
      if (!fresh && use.bytes <= found->second.bytes) {
        REQUIRE(use.first == found->second.first);
        continue;
      }
      const auto after = used[node].upper_bound(use.first);
      const bool same = after != used[node].end() && after->second.first == use.first &&
                        after->second.process == use.process && after->second.address == use.address;
      if (!same && after != used[node].end()) REQUIRE(after->second.first >= use.first + use.bytes);
      used[node][use.first + std::max<std::uint64_t>(use.bytes, 1)] = use;
      found->second = use;
    }
    const std::uint64_t word = addresses.word(0, 1, 7);
    CHECK(addresses.word(0, 1, 7 + 512) == word);
    CHECK(addresses.word(0, 1, 8) == word + 8);
    CHECK(addresses.word(0, 2, 7) / pages != word / pages);
  }
}
