// SPDX-License-Identifier: Apache-2.0
// Do frames reach the devices that they are for, whole, in order and once, and do rings and interrupts bound them?
#include "core/ethernet/fabric.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::Ranks;

namespace {

constexpr MacAddress kAll = 0xffffffffffff, kMulticast = 0x333300000001;

MacAddress mac(std::uint32_t device) { return 0x020000000000 + device + 1; }

std::vector<std::byte> frame(MacAddress to, MacAddress from, std::size_t bytes, std::uint8_t fill = 0) {
  std::vector<std::byte> made(bytes, std::byte{fill});
  for (int i = 0; i < 6; ++i) {
    made[i] = std::byte(to >> (40 - 8 * i));
    made[6 + i] = std::byte(from >> (40 - 8 * i));
  }
  return made;
}

// Four devices on nodes of a torus, and two on none.
struct Bench : FrameReceiver {
  static constexpr std::uint32_t kDevices = 6;
  explicit Bench(std::uint32_t ring = 1024, Time interval = {}, bool given = true)
      : ranks({"torus", {2, 2, 2}}, {0}), ethernet(ranks.queue, ranks.engine, 8, config(ring, interval, given), *this) {
    on_send = ranks.queue.add_handler(
        [](void* self, Time now, std::uint32_t device, std::uint64_t number) {
          auto* bench = static_cast<Bench*>(self);
          bench->ethernet.send(device, bench->frames[number], now);
        },
        this);
  }
  static EthernetConfig config(std::uint32_t ring, Time interval, bool given) {
    EthernetConfig c{.nodes = {0, 1, 6, 7, kNoNode, kNoNode},
                     .addresses = {},
                     .transmit_ring = ring,
                     .receive_ring = ring,
                     .interrupt_interval = interval,
                     .completion = testing::odd_costs().dma_completion};
    for (std::uint32_t device = 0; device < kDevices; ++device) c.addresses.push_back(given ? mac(device) : 0);
    return c;
  }
  void send(std::uint32_t device, std::vector<std::byte> bytes, Time at = {}) {
    frames.push_back(std::move(bytes));
    ranks.queue.schedule(at, on_send, device, frames.size() - 1);
  }
  void run() { ranks.queue.run_until(Time::never()); }
  void received(const Frame& f, Time now) override {
    CHECK(f.arrived <= now);
    got.push_back({f, now});
  }
  std::vector<std::uint32_t> receivers() const {
    std::vector<std::uint32_t> found;
    for (const auto& [f, now] : got) found.push_back(f.to);
    std::sort(found.begin(), found.end());
    return found;
  }

  Ranks ranks;
  EthernetFabric ethernet;
  std::vector<std::vector<std::byte>> frames;
  std::vector<std::pair<Frame, Time>> got;
  std::uint32_t on_send = 0;
};

using Devices = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a frame's head") {
  CHECK(frame_head(frame(mac(1), mac(0), 14)));
  CHECK(!frame_head(std::vector<std::byte>(13)));
  CHECK(!frame_head(std::vector<std::byte>(70'000)));
  CHECK(!frame_head(frame(mac(1), kMulticast, 60)));
  CHECK(!frame_head(frame(mac(1), 0, 60)));
  const auto head = frame_head(frame(kMulticast, mac(3), 1514));
  REQUIRE(head);
  CHECK(head->destination == kMulticast);
  CHECK(head->source == mac(3));
  CHECK(is_group(kAll));
  CHECK(is_group(kMulticast));
  CHECK(!is_group(mac(0)));
  CHECK(carried_bytes(14) == 64);
  CHECK(carried_bytes(60) == 64);
  CHECK(carried_bytes(61) == 65);
  CHECK(carried_bytes(1514) == 1518);
}

TEST_CASE("addresses are learned, move, and are bounded") {
  MacTable table;
  table.fix(mac(0), 0);
  table.learn(mac(0), 5);
  CHECK(table.find(mac(0)) == 0u);
  CHECK(!table.find(mac(1)));
  table.learn(mac(1), 1);
  CHECK(table.find(mac(1)) == 1u);
  table.learn(mac(1), 2);
  CHECK(table.find(mac(1)) == 2u);
  for (std::uint32_t i = 0; i < 2 * MacTable::kEntries; ++i) table.learn(mac(100 + i), 3);
  CHECK(table.size() == MacTable::kEntries);
  CHECK(!table.find(mac(100 + 2 * MacTable::kEntries - 1)));
  CHECK(table.find(mac(1)) == 2u);
}

TEST_CASE("a frame goes to whom it is for, whole") {
  for (const std::size_t bytes : {14, 60, 61, 300, 1514, 1518, 9014, 65'535}) {
    Bench bench;
    bench.send(0, frame(mac(2), mac(0), bytes, 7));
    bench.run();
    REQUIRE(bench.receivers() == Devices{2});
    CHECK(*bench.got[0].first.bytes == bench.frames[0]);
    CHECK(bench.ethernet.counts(2).received_bytes == bytes);
    CHECK(bench.ethernet.pair(0, 2).frames == 1);
  }
}

TEST_CASE("groups and unknown addresses go to all others of a kind") {
  for (const MacAddress to : {kAll, kMulticast, MacAddress{0x0200000000ff}}) {
    Bench bench;
    bench.send(1, frame(to, mac(1), 100));
    bench.send(4, frame(to, mac(4), 100));
    bench.run();
    CHECK(bench.receivers() == Devices{0, 2, 3, 5});
  }
}

TEST_CASE("what is learned is flooded no more") {
  Bench bench(1024, {}, false);
  bench.send(0, frame(mac(3), mac(0), 100));
  bench.send(3, frame(mac(0), mac(3), 100), Time::us(100));
  bench.send(0, frame(mac(3), mac(0), 100), Time::us(200));
  bench.run();
  CHECK(bench.receivers() == Devices{0, 1, 2, 3, 3});
}

TEST_CASE("nobody gets what is no frame, and what is for its sender or for the other kind") {
  Bench bench;
  bench.send(0, std::vector<std::byte>(10));
  bench.send(0, frame(mac(0), mac(0), 100));
  bench.send(0, frame(mac(4), mac(0), 100));
  bench.run();
  CHECK(bench.got.empty());
  CHECK(bench.ethernet.counts(0).sent == 3);
  CHECK(bench.ethernet.counts(0).malformed == 1);
  CHECK(bench.ethernet.counts(0).unaddressed == 2);
}

TEST_CASE("devices on no node take no time, those on nodes the interface's and the network's") {
  Bench bench;
  bench.send(4, frame(mac(5), mac(4), 1514), Time::us(3));
  bench.send(0, frame(mac(1), mac(0), 1514), Time::us(3));
  bench.send(0, frame(mac(3), mac(0), 1514), Time::us(300));
  bench.run();
  REQUIRE(bench.got.size() == 3);
  CHECK(bench.got[0].second == Time::us(3));
  const auto took = [&](std::uint32_t to) { return static_cast<double>(bench.ethernet.pair(0, to).latency_ps); };
  // The steps of odd_costs(); two routers, a link's buffer, register and receiver; 5 packets of 256 bytes and one of
  // 238, each with header, footer and two words of framing on a link of half the router's width (docs/calibration.md).
  const double steps = 97'000 + 17'000 + 121'000 + 61'000 + 41'000, words = 5 * (2 * (2 + 16) + 2) + 2 * (2 + 15) + 2;
  const double hop = steps + (11 + words) * 6'400 + 286'900;
  CHECK(took(1) == doctest::Approx(hop).epsilon(1e-6));
  CHECK(took(3) == doctest::Approx(hop + 2 * (11 * 6'400 + 286'900)).epsilon(1e-6));
}

TEST_CASE("frames between two devices stay in order, also from several senders") {
  Bench bench;
  for (std::uint8_t i = 0; i < 100; ++i)
    for (const std::uint32_t from : {0u, 1u, 2u})
      bench.send(from, frame(mac(3), mac(from), i % 3 == 0 ? 1514 : 60, i), Time::ns(100 * i));
  bench.run();
  CHECK(bench.got.size() == 300);
  std::vector<int> next(3);
  for (const auto& [f, now] : bench.got) CHECK(static_cast<int>((*f.bytes)[20]) == next[f.from]++);
}

TEST_CASE("a full ring drops frames, and the counts say so") {
  Bench bench(16);
  for (int i = 0; i < 100; ++i) bench.send(0, frame(mac(1), mac(0), 1514));
  bench.run();
  CHECK(bench.got.size() == 16);
  CHECK(bench.ethernet.counts(0).transmit_drops == 84);
  bench.send(0, frame(mac(1), mac(0), 1514), bench.ranks.queue.now());
  bench.run();
  CHECK(bench.got.size() == 17);

  Bench slow(16, Time::us(1000));
  for (int i = 0; i < 100; ++i) slow.send(0, frame(mac(1), mac(0), 60), Time::us(5 * i));
  slow.run();
  // The first one has an interrupt of its own.
  CHECK(slow.got.size() == 17);
  CHECK(slow.ethernet.counts(1).receive_drops == 83);
  CHECK(slow.ethernet.counts(1).interrupts == 2);
}

TEST_CASE("moderation takes frames together, at most so often") {
  const Time interval = Time::us(50);
  Bench bench(1024, interval);
  for (int i = 0; i < 100; ++i) bench.send(0, frame(mac(1), mac(0), 60), Time::us(5 * i));
  bench.run();
  CHECK(bench.got.size() == 100);
  std::set<std::int64_t> times;
  for (const auto& [f, now] : bench.got) {
    times.insert(now.ps());
    CHECK(now - f.arrived <= interval);
  }
  CHECK(times.size() == bench.ethernet.counts(1).interrupts);
  CHECK(times.size() <= 11);
  for (auto t = std::next(times.begin()); t != times.end(); ++t) CHECK(*t - *std::prev(t) >= interval.ps());
}

TEST_CASE("devices that cannot be are refused") {
  const auto made = [](std::vector<NodeId> nodes, std::uint32_t ring) {
    Ranks ranks({"torus", {2, 2, 2}}, {0});
    Bench hosts;
    const std::vector<MacAddress> none(nodes.size());
    EthernetFabric(ranks.queue, ranks.engine, 8, {nodes, none, ring, ring, Time(), Time()}, hosts);
  };
  CHECK_NOTHROW(made({0, 7, kNoNode, kNoNode}, 1));
  CHECK_THROWS_AS(made({0, 8}, 1), ConfigError);
  CHECK_THROWS_AS(made({3, 3}, 1), ConfigError);
  CHECK_THROWS_AS(made({0, 1}, 0), ConfigError);
}
