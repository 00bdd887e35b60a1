// SPDX-License-Identifier: Apache-2.0
// How fast is the fabric? Not part of the fast suite: core_tests --no-skip -tc='*packet-hops*'
#include <doctest/doctest.h>

#include <cstdio>
#include <ctime>
#include <random>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

// Poisson arrivals at every node, uniform destinations, 256-byte packets.
struct Uniform {
  Uniform(const TopologySpec& spec, const NetworkConfig& config, double load)
      : topology(make_topology(spec)), fabric(queue, *topology, config, PacketSink{}), gap(38 * 6400 / load) {
    handler = queue.add_handler(
        [](void* self, Time now, std::uint32_t a, std::uint64_t) { static_cast<Uniform*>(self)->arrive(now, a); },
        this);
    for (NodeId node = 0; node < topology->node_count(); ++node) queue.schedule(next(Time()), handler, node);
  }

  Time next(Time now) { return now + Time::ps(1 + static_cast<std::int64_t>(gap(random))); }

  void arrive(Time now, NodeId node) {
    refused += !fabric.inject({node, static_cast<NodeId>(random() % topology->node_count()), 256, 1, 0, 0});
    queue.schedule(next(now), handler, node);
  }

  struct Gap {
    explicit Gap(double mean) : distribution(1 / mean) {}
    double operator()(std::mt19937_64& random) { return distribution(random); }
    std::exponential_distribution<double> distribution;
  };

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  ExanetNetwork fabric;
  Gap gap;
  std::mt19937_64 random{1};
  std::uint32_t handler = 0;
  std::uint64_t refused = 0;
};

}  // namespace

TEST_CASE("packet-hops a second of processor time" * doctest::skip()) {
  for (const double load : {0.1, 0.4, 0.7, 1.2}) {
    Uniform traffic({"torus", {8, 8, 8}}, testing::published_fabric(), load);
    traffic.queue.run_until(Time::us(20));
    const std::uint64_t hops = traffic.fabric.packet_hops(), events = traffic.queue.processed();
    const auto begin = std::clock();
    traffic.queue.run_until(Time::us(load > 0.3 ? 600 : 1500));
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const auto done = static_cast<double>(traffic.fabric.packet_hops() - hops);
    const double rate = done / seconds;
    std::printf("8x8x8 torus, %3.0f %% load: %.2f M packet-hops/s, %.2f events a hop, %llu in flight, %llu refused\n",
                load * 100, rate * 1e-6, static_cast<double>(traffic.queue.processed() - events) / done,
                static_cast<unsigned long long>(traffic.fabric.in_flight()),
                static_cast<unsigned long long>(traffic.refused));
    CHECK(rate > 0.5e6);
  }
}
