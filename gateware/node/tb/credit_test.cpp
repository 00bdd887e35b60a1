// SPDX-License-Identifier: Apache-2.0
// Credits of a link under every value of its registers: nothing stops for good, and their repetition changes no time.
#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "gateware/node/tb/node_network.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

template <typename Network>
struct Registers {
  Registers(unsigned threshold, unsigned interval)
      : network({two_by_two(0, 0), two_by_two(1, 0)}, threshold, interval) {
    network.connect(0, 0, 1, 0, {.latency_cycles = 20});
  }
  void send(unsigned from, unsigned packets, unsigned bytes, bool high_priority = false) {
    for (unsigned i = 0; i < packets; ++i)
      network.node(from).senders[0].push(
          make_packet(dcid(from, 0), dcid(1 - from, 0), 0, bytes, i, random, high_priority));
  }
  std::size_t arrived(unsigned at) const { return const_cast<Network&>(network).node(at).receivers[0].arrivals.size(); }

  Network network;
  std::mt19937_64 random{5};
};

template <typename Network>
void check_every_threshold() {
  for (const unsigned threshold : {0u, 1u, 32u, 448u, 449u, 4095u})
    for (const unsigned interval : {0u, 1u, 65535u})
      for (const unsigned bytes : {0u, 16u, 512u}) {
        Registers<Network> link(threshold, interval);
        const unsigned packets = bytes == 512 ? 40 : 100;  // more than a pool of 512 words or 32 headers holds
        link.send(0, packets, bytes);
        link.network.run(6000);
        CAPTURE(threshold);
        CAPTURE(interval);
        CAPTURE(bytes);
        CHECK(link.arrived(1) == packets);
      }
}

// When each packet arrives, both ways, random lengths and gaps.
template <typename Network>
std::vector<std::uint64_t> times(unsigned interval) {
  Registers<Network> link(0, interval);
  for (unsigned burst = 0; burst < 60; ++burst) {
    for (const unsigned from : {0u, 1u})
      link.send(from, static_cast<unsigned>(link.random() % 4), static_cast<unsigned>(link.random() % 513),
                link.random() % 4 == 0);
    link.network.run(link.random() % 400);
  }
  link.network.run(4000);
  std::vector<std::uint64_t> times;
  for (unsigned n = 0; n < 2; ++n)
    for (const Arrival& arrival : link.network.node(n).receivers[0].arrivals)
      times.insert(times.end(), {arrival.head_cycle, arrival.tail_cycle});
  return times;
}

}  // namespace

TEST_CASE_TEMPLATE("credits: no threshold and no interval stops a link", Network, EXANET_NODE_NETWORKS) {
  check_every_threshold<Network>();
}

TEST_CASE("credits: a line that comes up late gets what it missed, even where repetition is slowest") {
  for (const unsigned interval : {0u, 256u}) {
    Registers<VerilatedNetwork> link(0, interval);
    link.network.node(1).tx[0]->tamper = [&](std::uint64_t word) -> std::optional<std::uint64_t> {
      if (link.network.cycle() < 6000) return std::nullopt;
      return word;
    };
    link.send(0, 100, 512);
    link.network.run(6000);
    CHECK(link.arrived(1) < 100);
    link.network.run(interval == 0 ? 2 * 65'536 + 12'000 : 12'000);
    CHECK(link.arrived(1) == 100);
  }
}

TEST_CASE_TEMPLATE("credits: their repetition changes no time", Network, EXANET_NODE_NETWORKS) {
  const std::vector<std::uint64_t> without = times<Network>(0);
  CHECK(without.size() > 200);
  for (const unsigned interval : {1u, 2u, 3u, 7u, 16u, 64u, 256u}) {
    CAPTURE(interval);
    CHECK(times<Network>(interval) == without);
  }
}
