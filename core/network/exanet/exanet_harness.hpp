// SPDX-License-Identifier: Apache-2.0
// Harness of the tests of the ExaNet network: the published router and link, and a fabric with senders that keep their
// intra-tile ports full.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/network/exanet/exanet_network.hpp"
#include "core/routing/make_topology.hpp"

namespace exanet::testing {

// 128-bit router and 64-bit link at 156.25 MHz, FIFOs of the published depths.
inline NetworkConfig published_fabric(std::int64_t max_payload_bytes = 256) {
  NetworkConfig config;
  config.router.cycle = Time::ps(6400);
  config.router.max_payload_bytes = max_payload_bytes;
  config.router.vc_allocation = RouterConfig::VcAllocation::kRouting;  // as the gateware
  LinkConfig inside, between;
  inside.word_time = between.word_time = Time::ps(6400);
  inside.latency = Time::ps(286900);
  between.latency = Time::ps(372800);
  between.pause_every = 32;
  config.links = {inside, between, between};
  return config;
}

// With as many virtual channels as the topology needs.
inline NetworkConfig fabric_for(const TopologySpec& spec) {
  NetworkConfig fabric = published_fabric();
  fabric.router.virtual_channels = std::max<std::int64_t>(2, make_topology(spec)->virtual_channels());
  return fabric;
}

// Within a share `error` of `value` (doctest's own epsilon is of 1 + value).
inline doctest::Approx near(double value, double error) { return doctest::Approx(value).epsilon(error).scale(0); }

constexpr std::uint64_t kMiB = 1 << 20;

struct Delivery {
  Packet packet;
  Time injected;
  Time tail;
};

// A fabric, its queue, and for every intra-tile port and class the packets that wait to be injected.
template <class Model>
class BenchOf {
 public:
  BenchOf(const TopologySpec& spec, const NetworkConfig& config)
      : topology(make_topology(spec)),
        intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)),
        fabric(queue, *topology, config, PacketSink{this, delivered, ready}) {
    waiting.resize(std::size_t{topology->node_count()} * intra_ports_ * 2);
  }

  // Offers the packet now; when there is no space, it and those of its class behind it on the same port are offered
  // again as soon as there is some.
  void send(const Packet& packet) {
    auto& queued = waiting[slot(packet.src, packet.intra_port, packet.priority)];
    ++offered;
    queued.push_back(packet);
    if (queued.size() == 1) pump(queued);
  }

  void send(NodeId src, NodeId dst, std::uint16_t bytes, std::uint64_t user = 0, std::uint8_t port = 0,
            std::uint8_t priority = 0) {
    send(Packet{src, dst, bytes, port, priority, user});
  }

  void run() {
    while (!queue.empty()) queue.run_one();
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::vector<std::deque<Packet>> waiting;
  std::vector<Delivery> deliveries;
  std::uint64_t offered = 0, refusals = 0, readies = 0;

 private:
  std::uint32_t intra_ports_;

 public:
  Model fabric;

 private:
  std::size_t slot(NodeId node, std::uint8_t port, std::uint8_t priority) const {
    return (std::size_t{node} * intra_ports_ + port) * 2 + priority;
  }

  void pump(std::deque<Packet>& queued) {
    while (!queued.empty()) {
      if (!fabric.inject(queued.front())) {
        ++refusals;
        return;
      }
      queued.pop_front();
    }
  }

  static void delivered(void* self, const Packet& packet, Time injected, Time tail) {
    static_cast<BenchOf*>(self)->deliveries.push_back({packet, injected, tail});
  }

  static void ready(void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time) {
    BenchOf& bench = *static_cast<BenchOf*>(self);
    ++bench.readies;
    bench.pump(bench.waiting[bench.slot(node, port, priority)]);
  }
};

using Bench = BenchOf<ExanetNetwork>;

}  // namespace exanet::testing
