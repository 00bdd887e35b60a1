// SPDX-License-Identifier: Apache-2.0
// Do flows over time end when theory says, and does what they leave go to those that can use it?
#include "core/flow/flow_simulator.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;
using testing::kMiB;
using testing::near;

namespace {

// A row of nodes: node i's link to i + 1 is the only way to the right.
struct Row {
  explicit Row(std::uint32_t nodes, Time grain = Time::ns(1))
      : topology(make_topology({"mesh", {nodes}})),
        network(*topology, testing::published_fabric(), 256),
        flows(network, grain) {}

  void run() {
    while (flows.step(Time::never())) continue;
    REQUIRE(flows.done());
    flows.check_conserved();
  }
  double link_us(std::uint64_t bytes) const { return network.volume_bits(bytes) / network.endpoint_rate_bps() * 1e6; }
  double latency_us(NodeId src, NodeId dst) const {
    std::vector<ResourceId> route;
    network.route(src, dst, route);
    return network.latency(route, 256).us_double();  // of any number of whole packets: the links have no pauses
  }
  double end_us(FlowId flow, NodeId src, NodeId dst) const {
    return flows.finished(flow).us_double() - latency_us(src, dst);
  }

  std::unique_ptr<Topology> topology;
  FlowNetwork network;
  FlowSimulator flows;
};

}  // namespace

TEST_CASE("a link carries what framing and headers leave of it") {
  Row row(2);  // 256 bytes of payload in 2 + 2 * 18 words of 64 bit, 6.4 ns each
  CHECK(row.network.endpoint_rate_bps() == near(256 * 8 / (38 * 6.4e-9), 1e-9));
  CHECK(row.network.volume_bits(512) == 2 * 256 * 8);
  CHECK(row.network.volume_bits(16) == near(256 * 8 * (2 + 2 * 3) / 38.0, 1e-12));
}

TEST_CASE("alone, a message of one packet takes the time of the packet level's formula") {
  Row row(5);
  row.flows.add(0, 4, 256, Time());
  row.run();
  EventQueue queue;
  const ExanetNetwork fabric(queue, *row.topology, testing::published_fabric(), PacketSink{});
  const Time expected = fabric.zero_load_latency(0, 4, 256);
  CHECK((row.flows.finished(0) - expected).ps() <= 1);
  CHECK((row.flows.finished(0) - expected).ps() >= -1);
}

TEST_CASE("two flows of unequal length on one link: half each, then the longer one alone") {
  Row row(4);
  row.flows.add(0, 1, kMiB, Time());
  row.flows.add(0, 1, 3 * kMiB, Time());
  row.run();
  const double one = row.link_us(kMiB);
  CHECK(row.end_us(0, 0, 1) == near(2 * one, 1e-5));
  CHECK(row.end_us(1, 0, 1) == near(4 * one, 1e-5));
}

TEST_CASE("parking lot over time: when a short flow ends, the long one cannot grow while another link holds it") {
  Row row(3);
  row.flows.add(0, 2, 2 * kMiB, Time());  // both links
  row.flows.add(0, 1, kMiB, Time());      // the first
  row.flows.add(1, 2, 2 * kMiB, Time());  // the second
  row.run();
  const double one = row.link_us(kMiB);
  CHECK(row.end_us(1, 0, 1) == near(2 * one, 1e-5));
  CHECK(row.end_us(0, 0, 2) == near(4 * one, 1e-5));
  CHECK(row.end_us(2, 1, 2) == near(4 * one, 1e-5));
}

TEST_CASE("a flow that arrives later takes its share from then on") {
  Row row(3);
  const double one = row.link_us(kMiB);
  row.flows.add(0, 2, 2 * kMiB, Time());
  row.flows.add(1, 2, kMiB, Time::ps(static_cast<std::int64_t>(one * 1e6)));
  row.run();
  CHECK(row.end_us(0, 0, 2) == near(3 * one, 1e-5));
  CHECK(row.end_us(1, 1, 2) == near(3 * one, 1e-5));
}

TEST_CASE("of one sender: what stands in the router's FIFO goes first, then messages share") {
  Row row(2);
  const double one = row.link_us(kMiB), fifo = row.network.sender_bits() / row.network.endpoint_rate_bps() * 1e6;
  CHECK(row.network.sender_bits() == (128 / 2 - 1) * 256 * 8);  // so many headers of bulk, and one left to priority
  row.flows.add(0, 1, 2 * kMiB, Time());
  row.flows.add(0, 1, kMiB, Time::ps(static_cast<std::int64_t>(one * 1e6)));
  row.run();
  CHECK(row.end_us(0, 0, 1) ==
        near(3 * one - fifo, 1e-5));  // alone until the FIFO is empty of it, then half of the link
  CHECK(row.end_us(1, 0, 1) == near(3 * one, 1e-5));
}

TEST_CASE("of one sender: messages that the FIFO holds go one after the other, those of one moment together") {
  Row row(2);
  constexpr std::uint64_t kShort = 4096;
  const double one = row.link_us(kShort);
  for (const Time at : {Time(), Time::ns(1), Time::ns(2), Time::ns(2)}) row.flows.add(0, 1, kShort, at);
  while (row.flows.step(Time::ns(3000))) continue;
  CHECK(row.flows.moved_bits(1) == 0);
  CHECK(row.flows.moved_bits(0) > 0);
  row.flows.check_conserved();
  row.run();
  const double expected[] = {1, 2, 4, 4};
  for (FlowId f = 0; f < 4; ++f) CHECK(row.end_us(f, 0, 1) == near(expected[f] * one, 1e-3));
}

TEST_CASE("of one sender: a message's latency is that of its own route, whatever leaves the sender behind it") {
  Row alone(5), followed(5);
  for (Row* row : {&alone, &followed}) row->flows.add(0, 4, 256, Time());
  followed.flows.add(0, 1, 256, Time::ns(1));
  alone.run();
  followed.run();
  CHECK(followed.flows.finished(0) == alone.flows.finished(0));
  CHECK(followed.flows.finished(1) < followed.flows.finished(0));  // a packet later, and three hops nearer
}

TEST_CASE("nothing is lost or doubled at any time, and resources are used by what moves") {
  const auto topology = make_topology({"torus", {4, 4}});
  const FlowNetwork network(*topology, testing::published_fabric(), 256);
  FlowSimulator flows(network, Time::ns(1));
  Random random(11);
  for (FlowId f = 0; f < 300; ++f) {
    const NodeId src = random.below(16);
    flows.add(src, (src + 1 + random.below(15)) % 16, 1 + random.below(f % 2 == 0 ? 2000 : 500'000),
              Time::ns(random.below(3'000'000)));
  }
  for (int look = 1; look <= 60; ++look) {
    while (flows.step(Time::us(look * 100))) continue;
    flows.check_conserved();
    double out = 0, in = 0;
    const std::vector<double> use = flows.use_bits();
    for (NodeId e = 0; e < 16; ++e) out += use[network.link_count() + e], in += use[network.link_count() + 16 + e];
    CHECK(out == near(in, 1e-9));
  }
  CHECK(flows.done());
}

TEST_CASE("a flow begins when the last one that it waits for has arrived") {
  Row row(4);
  row.flows.add(0, 1, kMiB, Time());
  row.flows.add(2, 3, 2 * kMiB, Time());
  row.flows.add(1, 2, kMiB, Time());
  row.flows.add(0, 3, kMiB, Time::us(100'000));  // its own time is later than what it waits for
  row.flows.after(2, 0);
  row.flows.after(2, 1);
  row.flows.after(3, 0);
  row.run();
  CHECK(row.flows.begun(2) == row.flows.finished(1));
  CHECK(row.flows.begun(3) == Time::us(100'000));
  CHECK(row.end_us(2, 1, 2) == near(row.flows.finished(1).us_double() + row.link_us(kMiB), 1e-5));
}

TEST_CASE("messages of equal size that begin together never need another rate when others end") {
  // The flow that ends first had the highest rate; those that are left have their bottlenecks elsewhere.
  const auto topology = make_topology({"torus", {8, 8}});
  const FlowNetwork network(*topology, testing::published_fabric(), 256);
  FlowSimulator flows(network, Time::ns(1));
  Random random(3);
  for (NodeId src = 0; src < 64; ++src) flows.add(src, (src + 1 + random.below(63)) % 64, kMiB, Time());
  while (flows.step(Time::never())) continue;
  CHECK(flows.done());
  CHECK(flows.events() > 2);
  CHECK(flows.sharing().filled() == 64);
}

TEST_CASE("a coarser grain moves ends by no more than a few grains, and the same input gives the same ends") {
  const auto run = [](Time grain) {
    const auto topology = make_topology({"torus", {4, 4}});
    const FlowNetwork network(*topology, testing::published_fabric(), 256);
    FlowSimulator flows(network, grain);
    Random random(5);
    for (FlowId f = 0; f < 200; ++f) {
      const NodeId src = random.below(16);
      flows.add(src, (src + 1 + random.below(15)) % 16, 1000 + random.below(1'000'000),
                Time::ns(random.below(500'000)));
    }
    while (flows.step(Time::never())) continue;
    std::vector<double> ends;
    for (FlowId f = 0; f < 200; ++f) ends.push_back(flows.finished(f).us_double());
    return ends;
  };
  const std::vector<double> exact = run(Time::ps(1)), fine = run(Time::ns(1)), coarse = run(Time::us(1));
  CHECK(exact == run(Time::ps(1)));
  double most_fine = 0, most_coarse = 0;
  for (std::size_t f = 0; f < exact.size(); ++f) {
    most_fine = std::max(most_fine, std::abs(fine[f] - exact[f]));
    most_coarse = std::max(most_coarse, std::abs(coarse[f] - exact[f]));
  }
  CHECK(most_fine < 0.05);
  CHECK(most_coarse > most_fine);
  CHECK(most_coarse < 50);
}

TEST_CASE(
    "routes are links that hang together, with routing that draws lots as well; routing that looks at queues is "
    "refused") {
  for (const char* routing : {"", "valiant", "up-down"}) {
    CAPTURE(std::string(routing));
    TopologySpec spec{"torus", {4, 4}};
    spec.routing = routing;
    const auto topology = make_topology(spec);
    const FlowNetwork network(*topology, testing::published_fabric(), 256);
    std::vector<ResourceId> route, again;
    for (NodeId src = 0; src < 16; ++src)
      for (NodeId dst = 0; dst < 16; ++dst) {
        if (src == dst) continue;
        network.route(src, dst, route);
        network.route(src, dst, again);
        REQUIRE(route == again);
        NodeId at = src;
        for (std::size_t i = 1; i + 1 < route.size(); ++i) {
          const auto port = static_cast<std::uint16_t>(route[i] - network.link(at, 0));
          REQUIRE(port < topology->port_count(at));
          at = topology->neighbour(at, port).node;
        }
        REQUIRE(at == dst);
      }
  }
  TopologySpec spec{"torus", {4, 4}};
  spec.routing = "adaptive";
  const auto topology = make_topology(spec);
  const FlowNetwork network(*topology, testing::published_fabric(), 256);
  CHECK_THROWS_WITH_AS(FlowSimulator(network, Time::us(1)), doctest::Contains("looks at queues"),
                       std::invalid_argument);
}

TEST_CASE("what a run cannot use is refused") {
  const auto topology = make_topology({"mesh", {2}});
  CHECK_THROWS_WITH_AS(FlowNetwork(*topology, testing::published_fabric(), 0), doctest::Contains("from 1 to 256"),
                       std::invalid_argument);
  const FlowNetwork network(*topology, testing::published_fabric(), 256);
  CHECK_THROWS_WITH_AS(FlowSimulator(network, Time()), doctest::Contains("at least 1 ps"), std::invalid_argument);
}
