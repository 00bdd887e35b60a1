// SPDX-License-Identifier: Apache-2.0
// Do packets wait as queueing theory says that they do at low load, on every topology?
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "core/engine/random.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

TEST_CASE("queueing: a sender alone waits as in the M/D/1 queue, on every topology") {
  // Deterministic servers in a row delay as much as the slowest of them alone, here a link with 38 words of 6.4 ns a
  // packet; one that pauses a word time in 33 is slower by as much.
  for (const TopologySpec& spec : every_topology()) {
    CAPTURE(spec.kind);
    const auto topology = make_topology(spec);
    bool pauses = false;
    for (NodeId at = 1; at != 0;) {
      const std::uint16_t port = topology->next_hop(at, 0).port;
      pauses |= topology->link_class(at, port) > 0;
      at = topology->neighbour(at, port).node;
    }
    const OpenLoopResult r = measure(spec, "incast:1", 0.5, 7, Time::us(8'000));
    const double slower = pauses ? 33.0 / 32 : 1, use = r.offered_load * slower;
    CHECK(r.offered_load == near(0.5, 0.02));
    CHECK(r.latency_ns - r.zero_load_ns == near(use / (2 * (1 - use)) * kPacketNs * slower, 0.1));
  }
  for (const double load : {0.2, 0.8}) {
    CAPTURE(load);
    const OpenLoopResult r = measure({"mesh", {2}}, "incast:1", load, 7, Time::us(40'000));
    CHECK(r.latency_ns - r.zero_load_ns == near(r.offered_load / (2 * (1 - r.offered_load)) * kPacketNs, 0.05));
  }
}

namespace {

constexpr double kRouterNs = 18 * 6.4;  // words of a packet in a router
constexpr double kPausing = 33.0 / 32;  // a link that pauses for a word time after every 32

// Mean waiting under uniform traffic at `load`, to the first order in it: each output is a queue with deterministic
// service to which the inputs of its router bring independent Poisson streams, in which packets that came by one input
// no longer get in each other's way. Those of one sender meet at its interface, which hands them over at a router's
// rate. Where packets leave, one that waits is in the router's buffers meanwhile, and leaves at its rate.
double waiting_ns(const Topology& topology, double load) {
  constexpr int kOwn = -1;  // the interface's port
  std::map<std::tuple<NodeId, int, int>, double> streams;  // by node, input, output: packets in a link's packet time
  const std::uint32_t endpoints = topology.endpoint_count();
  const double each = load / (endpoints - 1);
  for (NodeId src = 0; src < endpoints; ++src)
    for (NodeId dst = 0; dst < endpoints; ++dst) {
      int in = kOwn;
      for (NodeId at = src; src != dst;) {
        if (at == dst) {
          streams[{at, in, kOwn}] += each;
          break;
        }
        const std::uint16_t port = topology.next_hop(at, dst).port;
        streams[{at, in, port}] += each;
        const PortRef far = topology.neighbour(at, port);
        in = far.port, at = far.node;
      }
    }
  std::map<std::pair<NodeId, int>, std::pair<double, double>>
      outputs;  // sum of streams, sum of squares of those that wait elsewhere
  double waiting = 0;  // packet times in a packet time
  const double router = kRouterNs / kPacketNs;
  for (const auto& [where, rate] : streams) {
    const auto& [node, in, out] = where;
    outputs[{node, out}].first += rate;
    if (in != kOwn)
      outputs[{node, out}].second += rate * rate;
    else
      waiting += rate * (load - rate) * router * router / 2;  // behind others of its sender that take another link
  }
  for (const auto& [output, sums] : outputs) {
    const bool pauses =
        output.second != kOwn && topology.link_class(output.first, static_cast<std::uint16_t>(output.second)) > 0;
    const double service = output.second == kOwn ? router : pauses ? kPausing : 1;
    waiting += (sums.first * sums.first - sums.second) * service * service / 2 / (1 - sums.first * service);
  }
  return waiting / (load * endpoints) * kPacketNs;
}

double busiest(const OpenLoopResult& r) {
  double most = 0;
  for (const LinkUse& link : r.links) most = std::max(most, link.use);
  return most;
}

}  // namespace

TEST_CASE("queueing: uniform traffic at low load waits as independent M/D/1 queues do, on every topology") {
  for (const TopologySpec& spec : every_topology()) {
    CAPTURE(spec.kind);
    const double load = 0.15 * 0.2 / std::max(0.2, busiest(measure(spec, "uniform", 0.2, 1, Time::us(40))));
    Bench bench(spec, fabric_for(spec));
    struct Sending {
      Bench& bench;
      Random random;
      double mean_ps;
      std::uint32_t event, left;
      void next(NodeId src, Time now) {
        const std::uint32_t endpoints = bench.topology->endpoint_count();
        const auto dst = static_cast<NodeId>((src + 1 + random.below(endpoints - 1)) % endpoints);
        bench.send(src, dst, 256, static_cast<std::uint64_t>(now.ps()));
        if (left > 0) --left, schedule(src, now);
      }
      void schedule(NodeId src, Time now) {
        bench.queue.schedule(now + Time::ps(static_cast<std::int64_t>(random.exponential(mean_ps)) + 1), event, src);
      }
    } sending{bench, Random(3, 0), kPacketNs * 1e3 / load, 0, 40'000};
    sending.event = bench.queue.add_handler(
        [](void* self, Time now, std::uint32_t src, std::uint64_t) { static_cast<Sending*>(self)->next(src, now); },
        &sending);
    for (NodeId src = 0; src < bench.topology->endpoint_count(); ++src) sending.schedule(src, Time());
    bench.run();
    double waited_ns = 0;
    for (const Delivery& d : bench.deliveries) {
      const Time took = d.tail - Time::ps(static_cast<std::int64_t>(d.packet.user));
      waited_ns +=
          static_cast<double>((took - bench.fabric.zero_load_latency(d.packet.src, d.packet.dst, 256)).ps()) * 1e-3;
    }
    const double mean = waited_ns / static_cast<double>(bench.deliveries.size()),
                 expected = waiting_ns(*bench.topology, load);
    CAPTURE(load);
    CHECK(mean == near(expected, 0.1));
  }
}
