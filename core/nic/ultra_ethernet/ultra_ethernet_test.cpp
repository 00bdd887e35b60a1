// SPDX-License-Identifier: Apache-2.0
// Ultra-ethernet interfaces over switches that trim, drop and reorder: does all arrive, at the rate of the bottleneck,
// under each rate control, and is what does not go together rejected?
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/nic.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

constexpr std::uint64_t kUeBytes = 2'000'000;
// 4080 bytes of payload in 4144, at 100 Gb/s: 331.52 ns a packet.
constexpr double kUePacketNs = 331.52;

// Links of 100 Gb/s and 1 us; a queue's limit and marks of 43 packets, a bandwidth-delay product of three levels.
NetworkConfig ue_fabric(const std::string& action) {
  NetworkConfig config = testing::published_fabric();
  RouterConfig& r = config.router;
  r.cycle = Time::ns(1);
  r.latency_cycles = 2;
  r.endpoint_latency_cycles = 2;
  r.header_words = 3;
  r.footer_words = 1;
  r.max_payload_bytes = 4080;
  r.intra_fifo_words = 1100;
  r.inter_fifo_words = 1 << 18;
  r.virtual_channels = 1;
  r.queue_action = action;
  r.queue_threshold_words = 9 * 255;
  r.queue_threshold_max_words = 35 * 255;
  r.marking_probability_percent = 100;
  r.queue_limit_words = 43 * 255;
  LinkConfig link;
  link.word_bits = 128;
  link.word_time = Time::ps(1280);
  link.framing_words = 0;
  link.latency = Time::us(1);
  config.links = {link};
  SwitchConfig its;
  its.classes = 2;
  its.buffer = SwitchConfig::Buffer::kShared;
  its.speed_up_percent = 1000;
  its.output_fifo_words = 520;
  config.input_queued = its;
  return config;
}

struct UeBench final : NicListener {
  explicit UeBench(const std::string& control, const std::string& action = "ecn-trim",
                   const std::string& balancing = "mixed")
      : topology(make_topology({"fat-tree", {4, 4, 8}, {}, {}, balancing == "none" ? "random" : "spray"})) {
    NiConfig ni;
    ni.congestion_control = control;
    ni.load_balancing = balancing;
    nic = nic_kind("ultra-ethernet").make({queue, *topology, ue_fabric(action), ni, *this});
  }
  void send(NodeId src, NodeId dst, std::uint64_t bytes = kUeBytes) {
    nic->post(RdmaTransfer{src, dst, bytes, true, true, posted++});
    nic->doorbell(src);
  }
  // When the last one had arrived, in ns.
  double run() {
    while (!queue.empty()) queue.run_one();
    CHECK(nic->active() == 0);
    CHECK(nic->network().in_flight() == 0);
    CHECK(arrived == posted);
    CHECK(known == posted);
    return static_cast<double>(last.ps()) * 1e-3;
  }
  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t, Status status, Time now) override {
    CHECK(status == Status::kOk);
    ++arrived;
    last = now;
  }
  void transfer_acknowledged(std::uint64_t, Status status, Time) override {
    CHECK(status == Status::kOk);
    ++known;
  }
  void packet_delivered(const Packet& packet, Time, Time) override {
    marked += (packet.notes & Packet::kCongested) != 0;
  }

  std::unique_ptr<Topology> topology;
  EventQueue queue;
  std::unique_ptr<Nic> nic;
  std::uint64_t posted = 0, arrived = 0, known = 0, marked = 0;
  Time last;
};

// Of flows that share a link: 490 packets each, and one of 800 bytes.
double ue_bottleneck_ns(std::uint64_t flows) { return (490 * kUePacketNs + 864 * 0.08) * static_cast<double>(flows); }

}  // namespace

TEST_CASE("ultra-ethernet: a flow alone runs at its link's rate, and nothing is repeated") {
  for (const char* control : {"none", "nscc", "rccc", "nscc-rccc", "ndp"}) {
    CAPTURE(std::string(control));
    UeBench bench(control);
    bench.send(0, 101);
    const double took = bench.run();
    // Six links of 1 us and as many packet times at most.
    CHECK(took > ue_bottleneck_ns(1) + 6000);
    CHECK(took < ue_bottleneck_ns(1) * 1.02 + 6000 + 6 * kUePacketNs);
    CHECK(bench.nic->reliability().retransmissions == 0);
    CHECK(bench.nic->packets() > 491);
  }
}

TEST_CASE("ultra-ethernet: an incast keeps the last link busy, whatever is trimmed") {
  for (const char* control : {"nscc", "rccc", "nscc-rccc", "ndp"}) {
    CAPTURE(std::string(control));
    UeBench bench(control);
    for (NodeId src = 0; src < 15; ++src) bench.send(src * 8 + 1, 0);
    const double took = bench.run();
    CHECK(took > ue_bottleneck_ns(15));
    CHECK(took < ue_bottleneck_ns(15) * 1.05 + 12'000);
    CHECK(bench.nic->reliability().retransmissions > 100);  // first windows are 15 x 1.5 products for a queue of one
    CHECK(bench.nic->reliability().given_up == 0);
    CHECK(bench.marked > 0);
  }
}

TEST_CASE("ultra-ethernet: what switches drop in place of trimming is repeated after its timeout") {
  UeBench trims("nscc", "ecn-trim"), drops("nscc", "ecn-drop");
  for (UeBench* bench : {&trims, &drops})
    for (NodeId src = 0; src < 7; ++src) bench->send(src * 8 + 1, 0, 400'000);
  const double trimmed = trims.run(), dropped = drops.run();
  CHECK(drops.nic->reliability().retransmissions > 0);
  CHECK(drops.nic->network().lost() == 0);  // a queue action's drops are none of the links'
  CHECK(dropped > trimmed);
}

TEST_CASE(
    "ultra-ethernet: a permutation over sprayed routes is done before one over a route each, and repeats itself") {
  const auto permutation = [](UeBench& bench) {
    for (NodeId src = 0; src < 32; ++src) bench.send(src, (src + 37) % 128, 800'000);
    return bench.run();
  };
  UeBench single("nscc", "ecn-trim", "none");
  const double alone = permutation(single), least = kUePacketNs * 196 + 6000;
  CHECK(alone > 1.5 * least);  // two of four flows of a switch share an uplink, for some switch
  for (const char* balancing : {"oblivious", "bitmap", "reps", "mixed"}) {
    CAPTURE(std::string(balancing));
    UeBench bench("nscc", "ecn-trim", balancing), again("nscc", "ecn-trim", balancing);
    const double took = permutation(bench);
    CHECK(took >= least);
    CHECK(took < alone);
    if (std::string(balancing) == "mixed") CHECK(took < 1.25 * least);
    CHECK(permutation(again) == took);
  }
}

TEST_CASE("ultra-ethernet: what does not go together is rejected") {
  struct Nobody final : NicListener {
    void message_completed(std::uint64_t, Status, Time) override {}
    void transfer_completed(std::uint64_t, Status, Time) override {}
    void transfer_acknowledged(std::uint64_t, Status, Time) override {}
    void packet_delivered(const Packet&, Time, Time) override {}
  } nobody;
  EventQueue queue;
  const auto topology = make_topology({"fat-tree", {4, 4}});
  const auto make = [&](const char* nic, const NiConfig& ni) {
    return nic_kind(nic).make({queue, *topology, ue_fabric("ecn-trim"), ni, nobody});
  };
  NiConfig ni;
  CHECK(make("ultra-ethernet", ni) != nullptr);
  ni.load_balancing = "reps";  // routes are not drawn
  CHECK_THROWS_AS(make("ultra-ethernet", ni), ConfigError);
  CHECK_THROWS_AS(make("exanet", ni), ConfigError);
  ni.load_balancing = "none";
  ni.entropies = 48;
  CHECK_THROWS_AS(make("ultra-ethernet", ni), ConfigError);
  ni.entropies = 64;
  ni.congestion_control = "swift";
  CHECK_THROWS_AS(make("ultra-ethernet", ni), ConfigError);
  ni.congestion_control = "nscc";
  CHECK_THROWS_AS(make("exanet", ni), ConfigError);
  CHECK(make("ultra-ethernet", ni) != nullptr);
}
