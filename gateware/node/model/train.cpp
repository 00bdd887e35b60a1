// SPDX-License-Identifier: Apache-2.0
// Runs a library of Verilated nodes for the compiler, which then knows what they do often (exanet/gateware/build.py): a
// grid of side two in each dimension that the ports allow, from silence to links that are full. Exit status 1 when a
// packet is lost: then it was no traffic to learn from.
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "core/spec/node_library.h"
#include "core/spec/packet.hpp"

extern "C" const exanet_node_library_calls* exanet_node_library();

namespace {

using namespace exanet;

constexpr unsigned kLatency = 40, kCycles = 12000;

unsigned neighbour(unsigned node, unsigned dimension) { return node ^ 1u << dimension; }

}  // namespace

int main() {
  const exanet_node_library_calls& calls = *exanet_node_library();
  // Of QFDBs the network FPGAs alone: ports to the others stay unplugged.
  constexpr unsigned kFirst = EXANET_QFDB ? spec::kQfdbNodes - 1 : 0, kNodeBits = EXANET_QFDB ? 2 : 0;
  const unsigned dimensions = (calls.inter_ports - kFirst) / 2, nodes = 1u << dimensions;

  std::vector<std::uint32_t> registers, dcid;
  std::vector<exanet_line> lines;
  for (unsigned node = 0; node < nodes; ++node) {
    spec::RouterConfig config;
    config.set_enabled(1);
    config.set_wraps(7);
    unsigned address = 0, shift = kNodeBits;
    for (unsigned d = 0; d < 3; ++d) {
      const bool there = d < dimensions;
      config.set_coordinate(d, there ? node >> d & 1u : 0);
      config.set_side(d, there ? 2 : 1);
      config.set_order(d, 2 - d);
      config.set_plus_port(d, there ? kFirst + 2 * d : 0);
      config.set_minus_port(d, there ? kFirst + 2 * d + 1 : 0);
      address |= (there ? node >> d & 1u : 0) << shift;
      shift += d == 0 ? 8 : 7;
      if (!there) continue;
      const unsigned port = kFirst + 2 * d;
      lines.push_back({node, port, neighbour(node, d), port + 1, kLatency, 0});
      lines.push_back({node, port + 1, neighbour(node, d), port, kLatency, 0});
    }
    for (unsigned kind = 0; kind < 16; ++kind) config.set_type_port(kind, kind % calls.intra_ports);
    registers.insert(registers.end(), config.raw.begin(), config.raw.end());
    dcid.push_back(address);
  }

  exanet_nodes* network =
      calls.open(nodes, registers.data(), 0, static_cast<std::uint32_t>(lines.size()), lines.data(), 1);
  std::mt19937_64 random(1);
  std::vector<unsigned> under_way(nodes);  // two packets fit any pool
  std::uint64_t sent = 0, arrived = 0;
  bool sound = true;
  for (unsigned cycle = 0; cycle < kCycles || (arrived < sent && cycle < 2 * kCycles); ++cycle) {
    // Bursts of a thousand cycles and as long a silence; in a burst the more packets the later.
    const bool sends = cycle < kCycles && cycle / 1000 % 2 == 0;
    for (unsigned node = 0; sends && node < nodes; ++node) {
      if (under_way[node] == 2 || random() % (2 * kCycles) > cycle / 8) continue;
      const unsigned far = node ^ (1 + static_cast<unsigned>(random()) % (nodes - 1));
      const exanet_node_packet packet{++sent,
                                      dcid[node],
                                      dcid[far],
                                      EXANET_PACKET_BYTES,
                                      static_cast<std::uint8_t>(random() % 16),
                                      random() % 8 == 0,
                                      0};
      calls.send(network, node, 0, &packet);
      ++under_way[node];
    }
    calls.step(network);
    const exanet_arrival* arrival = nullptr;
    for (std::uint32_t count = calls.arrivals(network, &arrival); count > 0; --count, ++arrival, ++arrived)
      sound = sound && arrival->sound != 0;
    const exanet_space* space = nullptr;
    for (std::uint32_t count = calls.space(network, &space); count > 0; --count, ++space)
      under_way[space->node] -= space->headers;
  }
  calls.close(network);
  if (arrived == sent && sound) return 0;
  std::fprintf(stderr, "of %llu packets %llu arrived\n", static_cast<unsigned long long>(sent),
               static_cast<unsigned long long>(arrived));
  return 1;
}
