// SPDX-License-Identifier: Apache-2.0
// Wormhole switching: latency and rate by formula, what a blocked packet holds, what channels are worth, and what is
// refused.
#include "core/network/wormhole/wormhole_network.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>

#include "core/network/cut_through/switch_harness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/open_loop.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

using WormBench = BenchOf<WormholeNetwork>;

constexpr Time kWord = Time::ps(6400);  // of cell_switch(), on lines and links; a packet has ten

NetworkConfig worms(std::int64_t channels, std::int64_t words_each, SwitchConfig config = {}) {
  config.switching = "wormhole";
  NetworkConfig fabric = cell_switch(config);
  fabric.router.virtual_channels = channels;
  fabric.router.inter_fifo_words = channels * config.classes * words_each;
  return fabric;
}

}  // namespace

TEST_CASE("wormhole: latency and rate of one hop, worked out by hand") {
  // With space enough the words follow each other as under cut-through: 12.8 (pipeline) + 6.4 (header on the link) + 10
  // (link) + 12.8, and ten words of 6.4 ns into the interface.
  WormBench bench({"full-mesh", {2}}, worms(1, 20));
  bench.send(0, 1, kCellBytes);
  bench.run();
  REQUIRE(bench.deliveries.size() == 1);
  CHECK(bench.deliveries[0].tail == Time::ps(106'000));

  // A buffer of two words: from a word's grant to the use of its credit it takes 6.4 (link word) + 10 + 12.8 (pipeline)
  // + 6.4 (crossbar) + 6.4 (credit) + 10 = 52 ns. The last two words go after four such rounds, and the tail is the
  // second of them: 12.8 + 208 + 6.4, and 29.2 + 6.4.
  WormBench tight({"full-mesh", {2}}, worms(1, 2));
  tight.send(0, 1, kCellBytes);
  tight.run();
  REQUIRE(tight.deliveries.size() == 1);
  CHECK(tight.deliveries[0].tail == Time::ps(262'800));
  CHECK(tight.fabric.zero_load_latency(0, 1, kCellBytes) == Time::ps(262'800));
  CHECK(tight.fabric.link_stats(0, 0).busy == kWord * 10);

  const Time began = tight.queue.now();
  for (int i = 0; i < 200; ++i) tight.send(0, 1, kCellBytes);
  tight.run();
  const double rounds = static_cast<double>((tight.queue.now() - began).ps()) / 52'000;
  CHECK(rounds == doctest::Approx(1000).epsilon(0.005));  // 2000 words
}

TEST_CASE(
    "wormhole: latency through empty switches equals the formula on all topologies, with buffers of less than a "
    "packet") {
  for (const std::int64_t words : {1, 3, 40})
    for (const std::int64_t header : {1, 2})
      for (const TopologySpec& spec :
           {TopologySpec{"torus", {4, 3}}, TopologySpec{"qfdb-torus", {2, 2, 1}}, TopologySpec{"fat-tree", {2, 3, 2}},
            TopologySpec{"dragonfly", {2, 2, 1}}, TopologySpec{"hyperx", {2, 3, 2}}}) {
        NetworkConfig fabric = published_fabric();
        fabric.router.header_words = header;
        fabric.router.inter_fifo_words = 8 * std::max(words, header);
        SwitchConfig config;
        config.switching = "wormhole";
        config.classes = 2;
        config.speed_up_percent = 150;
        config.output_fifo_words = 2;
        fabric.input_queued = config;
        fabric.router.virtual_channels = 4;
        WormBench bench(spec, fabric);
        const NodeId nodes = bench.topology->endpoint_count();
        for (NodeId src = 0; src < nodes; ++src)
          for (NodeId dst = 0; dst < nodes; ++dst)
            for (const std::uint16_t bytes : {0, 17, 256}) {
              bench.deliveries.clear();
              const Time began = Time::us(20) * static_cast<std::int64_t>(bench.queue.now().ps() / 20'000'000 + 1);
              bench.queue.run_until(began);
              bench.send(src, dst, bytes, 0, 0, 1);
              bench.run();
              REQUIRE(bench.deliveries.size() == 1);
              REQUIRE(bench.deliveries[0].tail - began == bench.fabric.zero_load_latency(src, dst, bytes));
            }
      }
}

TEST_CASE("wormhole: a blocked packet holds its channel back to where it came from; packets of another channel pass") {
  // Seven senders to receiver 0 of one switch, the last of which has a packet for receiver 1, too. Its first packet
  // waits for six others with all but two of its words still at the sender.
  const auto victim = [](std::int64_t channels_each, std::int64_t words) {
    NetworkConfig fabric = worms(channels_each * make_topology({"fat-tree", {8}})->virtual_channels(), words);
    WormBench bench({"fat-tree", {8}}, fabric);
    for (NodeId sender = 1; sender < 8; ++sender) bench.send(sender, 0, kCellBytes);
    bench.send(7, 1, kCellBytes, 1, 1);  // by the other intra-tile port, where the first is not before it
    bench.run();
    REQUIRE(bench.deliveries.size() == 8);
    const Time alone = bench.fabric.zero_load_latency(7, 1, kCellBytes);
    for (const Delivery& d : bench.deliveries)
      if (d.packet.user == 1) return d.tail - alone;
    return Time();
  };
  CHECK(victim(1, 2) > kCell * 6);
  CHECK(victim(2, 2) <= kWord * 2);  // for the first packet's two words
  CHECK(victim(1, 20) <=
        kCell);  // buffers for both, and a queue for each output: the victim waits until the link has carried the first
  CHECK(victim(1, 20) >= kWord * 5);
}

TEST_CASE(
    "wormhole: the same storage in twice the channels carries more, and so do more channels as deep (Dally 1992)") {
  const auto carried = [](std::int64_t channels, std::int64_t words, SwitchConfig::Queues queues) {
    SwitchConfig config;
    config.queues = queues;
    OpenLoopConfig loop;
    loop.packet_bytes = 256;  // 34 words, more than any buffer has
    loop.load = 1;
    loop.warm_up = Time::us(10);
    loop.measure = Time::us(10);
    NetworkConfig fabric = worms(channels, words, config);
    fabric.router.max_payload_bytes = 256;
    fabric.links[0].latency = Time();
    OpenLoop run({"mesh", {6, 6}}, fabric, loop);  // whose routes need one channel
    REQUIRE(run.run());
    return run.result().accepted_load;
  };
  for (const auto queues : {SwitchConfig::Queues::kFifo, SwitchConfig::Queues::kVirtualOutput})
    CHECK(carried(2, 16, queues) > carried(1, 32, queues) * 1.05);
  const double one = carried(1, 16, SwitchConfig::Queues::kFifo), two = carried(2, 16, SwitchConfig::Queues::kFifo);
  CHECK(two > one * 1.15);
  CHECK(carried(4, 16, SwitchConfig::Queues::kFifo) > two);
}

TEST_CASE(
    "wormhole: one switch carries what one queue an input allows (Karol and others 1987), and nearly all with more") {
  const auto carried = [](SwitchConfig::Queues queues, SwitchConfig::Arbitration arbitration) {
    SwitchConfig config;
    config.queues = queues;
    config.arbitration = arbitration;
    OpenLoopConfig loop;
    loop.packet_bytes = 256;
    loop.load = 1;
    loop.warm_up = Time::us(50);
    loop.measure = Time::us(100);
    NetworkConfig fabric = worms(1, 1008, config);
    fabric.router.intra_fifo_words = 2048;
    fabric.router.max_payload_bytes = 256;
    OpenLoop run({"fat-tree", {16}}, fabric, loop);
    REQUIRE(run.run());
    return run.result().accepted_load;
  };
  using Queues = SwitchConfig::Queues;
  using Arbitration = SwitchConfig::Arbitration;
  CHECK(carried(Queues::kFifo, Arbitration::kRoundRobin) == doctest::Approx(0.60).epsilon(0.03));
  CHECK(carried(Queues::kVirtualOutput, Arbitration::kRoundRobin) > 0.92);
  CHECK(carried(Queues::kVirtualOutput, Arbitration::kIslip) > 0.92);
}

TEST_CASE("wormhole: all that is sent arrives, whatever the buffers, on every kind of network and routing") {
  OpenLoopConfig loop;
  loop.warm_up = Time::us(3);
  loop.measure = Time::us(4);
  loop.load = 2;
  loop.priority_share = 0.2;
  for (const TopologySpec& spec :
       {TopologySpec{"torus", {4, 4}}, TopologySpec{"fat-tree", {4, 4}}, TopologySpec{"dragonfly", {2}},
        TopologySpec{"dragonfly", {2}, {}, {}, "ugal-l"}, TopologySpec{"dragonfly", {2}, {}, {}, "par"},
        TopologySpec{"hyperx", {2, 3, 3}, {}, {}, "valiant"}, TopologySpec{"jellyfish", {10, 4, 2}, {}, {}, "up-down"}})
    for (const std::int64_t words : {2, 64}) {
      INFO(spec.kind << " " << spec.routing << " " << words);
      NetworkConfig fabric = published_fabric();
      SwitchConfig config;
      if (words == 64) config.arbitration = SwitchConfig::Arbitration::kIslip;
      config.switching = "wormhole";
      const std::int64_t needed = make_topology(spec)->virtual_channels();
      config.classes = needed <= 4 ? 2 : 1;
      fabric.router.virtual_channels = needed;
      fabric.router.inter_fifo_words = words * needed * config.classes;
      fabric.input_queued = config;
      OpenLoop run(spec, fabric, loop);
      REQUIRE(run.run());  // nothing lost, doubled or altered
      CHECK(run.result().packets > 100);
    }
}

namespace {

// A ring whose packets use the lower virtual channel only.
class OneChannelRing final : public Topology {
 public:
  explicit OneChannelRing(std::uint32_t side) : ring_(make_topology({"torus", {side}})) {}
  std::uint32_t node_count() const override { return ring_->node_count(); }
  std::uint16_t port_count(NodeId n) const override { return ring_->port_count(n); }
  PortRef neighbour(NodeId n, std::uint16_t p) const override { return ring_->neighbour(n, p); }
  Hop next_hop(NodeId at, NodeId dst) const override { return {ring_->next_hop(at, dst).port, 0}; }
  std::uint8_t virtual_channels() const override { return 1; }
  std::uint8_t link_class(NodeId, std::uint16_t) const override { return 0; }
  std::string node_name(NodeId n) const override { return ring_->node_name(n); }
  std::string port_name(NodeId n, std::uint16_t p) const override { return ring_->port_name(n, p); }
  void position(NodeId n, float xyz[3]) const override { ring_->position(n, xyz); }
  bool upper_half(NodeId n) const override { return ring_->upper_half(n); }

 private:
  std::unique_ptr<Topology> ring_;
};

}  // namespace

TEST_CASE(
    "wormhole: a ring of one channel locks up, which is reported and ends; with the channels that routing asks for it "
    "does "
    "not") {
  const auto all_two_on = [](const Topology& ring, const NetworkConfig& fabric, std::string& cycle) {
    EventQueue queue;
    std::uint64_t arrived = 0;
    WormholeNetwork network(
        queue, ring, fabric,
        {&arrived, [](void* n, const Packet&, Time, Time) { ++*static_cast<std::uint64_t*>(n); }, nullptr});
    for (NodeId node = 0; node < 5; ++node) REQUIRE(network.inject({node, (node + 2) % 5, kCellBytes, 0, 0, 0}));
    while (!queue.empty()) queue.run_one();
    cycle = network.deadlock();
    CHECK(network.in_flight() == 5 - arrived);
    return arrived;
  };
  std::string cycle;
  const OneChannelRing ring(5);
  CHECK(all_two_on(ring, worms(1, 4), cycle) == 0);
  // Each of them: a header, and the packet that it waits for.
  CHECK(
      cycle ==
      "packets wait for each other in a cycle: (0) X+ for (1), (0) X+ for (2), (1) X+ for (2), (1) X+ for (3), (2) X+ "
      "for (3), "
      "(2) X+ for (4), (3) X+ for (4), (3) X+ for (0), (4) X+ for (0), (4) X+ for (1)");
  CHECK(all_two_on(ring, worms(2, 4), cycle) == 5);  // a channel for each of the two packets of a link
  CHECK(cycle.empty());
  CHECK(all_two_on(*make_topology({"torus", {5}}), worms(2, 4), cycle) == 5);
  CHECK(cycle.empty());
}

TEST_CASE("wormhole: a packet of a higher class waits for a word at each link; weights share an output's words") {
  SwitchConfig two;
  two.classes = 2;
  const auto latency = [&](bool busy) {
    WormBench bench({"fat-tree", {8}}, worms(2, 20, two));
    for (int i = 0; i < 200 * busy; ++i)
      for (NodeId sender = 1; sender < 8; ++sender) bench.send(sender, 0, kCellBytes);
    bench.queue.run_until(Time::us(10));
    bench.send(7, 0, kCellBytes, 1, 1, 1);  // by the other intra-tile port
    bench.run();
    for (const Delivery& d : bench.deliveries)
      if (d.packet.user == 1) return d.tail - d.injected;
    return Time();
  };
  CHECK(latency(true) <= latency(false) + kWord * 6);
  CHECK(latency(true) > latency(false));

  two.weights = {1, 3};
  two.switching = "wormhole";
  NetworkConfig fabric = cell_switch(two);
  for (const std::uint16_t bytes : {64, 16}) {  // by words, not by packets
    std::uint64_t words[2] = {};
    WormBench bench({"fat-tree", {8}}, fabric);
    for (int i = 0; i < 3000; ++i)
      for (NodeId sender = 1; sender < 5; ++sender)
        bench.send(sender, 0, sender < 3 ? kCellBytes : bytes, 0, 0, sender >= 3);
    bench.queue.run_until(Time::us(100));
    for (const Delivery& d : bench.deliveries) words[d.packet.priority] += d.packet.payload_bytes / 8 + 2;
    CHECK(static_cast<double>(words[1]) / static_cast<double>(words[0]) == doctest::Approx(3).epsilon(0.02));
  }
}

TEST_CASE("wormhole: what such switches have not is refused, saying what to do") {
  const auto refused = [](const std::function<void(NetworkConfig&)>& spoil,
                          const TopologySpec& spec = {"torus", {4, 4}}) {
    NetworkConfig config = worms(2, 3);
    spoil(config);
    std::string message;
    try {
      WormBench bench(spec, config);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    return message;
  };
  CHECK(refused([](NetworkConfig&) {}) == "");
  CHECK(refused([](NetworkConfig& c) { c.input_queued->flow_control = SwitchConfig::FlowControl::kPause; }) ==
        "flow_control is pause: a wormhole switch has a credit for each word; use credits");
  CHECK(refused([](NetworkConfig& c) { c.input_queued->slot_cycles = 4; }) ==
        "slot is 4 cycles: a wormhole switch forwards a word in any cycle; remove 'slot'");
  CHECK(refused([](NetworkConfig& c) { c.input_queued->buffer = SwitchConfig::Buffer::kShared; }) ==
        "buffer is shared: each lane of a wormhole switch has its own; use per-lane");
  CHECK(refused([](NetworkConfig& c) { c.router.inter_fifo_words = 1; }) ==
        "inter_fifo has 1 words: it must hold a header of 1 words in each of 2 lanes");
  CHECK(refused([](NetworkConfig& c) { c.links[0].word_bits = 128; }).find("use one that divides it, or cut-through") !=
        std::string::npos);
  CHECK(refused([](NetworkConfig& c) { c.router.virtual_channels = 1; }).find("needs 2 virtual channels") !=
        std::string::npos);
  CHECK(refused([](NetworkConfig& c) { c.router.virtual_channels = 3, c.router.inter_fifo_words = 9; },
                {"torus", {3, 3}, {}, {}, "adaptive"})
            .find("cannot turn to an escape channel") != std::string::npos);
}
