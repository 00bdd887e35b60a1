// SPDX-License-Identifier: Apache-2.0
// What the Verilated network interfaces and their model are compared by: what happened, in which cycle, at which node.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/network/exanet/exanet_network.hpp"
#include "core/nic/messages/fabric.hpp"
#include "gateware/ni/tb/axi_memory.hpp"
#include "gateware/tb/long.hpp"
#include "gateware/tb/packet.hpp"

namespace exanet::gateware {

inline constexpr Time kCycle = Time::ps(6400);

struct Happening {
  std::uint64_t cycle;
  // 'h' header at the router, 'd' last word out of it, 's' last beat of a mailbox's entry, 'a' answer to a message, 'w'
  // last beat of a transfer's burst
  char what;
  std::size_t node;
  std::uint64_t a, b;  // port; place, sender and number; slot and answer; line, and what an end says
  auto operator<=>(const Happening&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Happening& h) {
  return out << h.cycle << ' ' << h.what << " node " << h.node << ' ' << std::hex << h.a << std::dec << ' ' << h.b;
}

// Once what sets the nodes up has been stored: nobody's stores have been taken, and all begin somewhere in the next
// cycles.
template <typename Network, typename Processor>
void begin_processors(Network& network, std::vector<Processor>& processors, std::mt19937_64& random) {
  network.run_until_stored();
  for (std::size_t n = 0; n < processors.size(); ++n) {
    network.node(n).taken.clear();
    processors[n].next = network.cycle() + random() % 50;
  }
}
// Cycles between two stores of a processor, so many on average.
inline std::uint64_t drawn_gap(std::mt19937_64& random, double mean) {
  return static_cast<std::uint64_t>(2 * mean * (static_cast<double>(random() >> 11) * 0x1p-53));
}

// Packets of a Verilated node, at their headers into the router and at their last words out of it.
template <typename Node>
void add_packets(std::vector<Happening>& happenings, const Node& node, std::size_t n) {
  for (unsigned port = 0; port < std::size(node.in); ++port) {
    for (const Arrival& a : node.in[port].arrivals) happenings.push_back({a.head_cycle, 'h', n, port, 0});
    for (const Arrival& a : node.out[port].arrivals) happenings.push_back({a.tail_cycle, 'd', n, port, 0});
  }
}
// The same of the model's, when one is delivered.
// Whether a packet is damaged, so many-th to come out at a node's port: one in so many is.
inline bool is_damaged(unsigned one_in, std::uint64_t seed, std::size_t node, unsigned port, std::size_t packet) {
  if (one_in == 0) return false;
  std::uint64_t h = (seed * 64 + node * 4 + port) * 0x9e3779b97f4a7c15 + packet * 0xbf58476d1ce4e5b9;
  h = (h ^ h >> 31) * 0x94d049bb133111eb;
  return (h >> 32) % one_in == 0;
}

inline void add_packet(std::vector<Happening>& happenings, const exanet::Packet& packet, Time injected, Time tail) {
  const auto cycle = [](Time time) { return static_cast<std::uint64_t>(time.ps() / kCycle.ps()); };
  happenings.push_back({cycle(injected), 'h', packet.src, packet.intra_port, 0});
  happenings.push_back({cycle(tail) - 1, 'd', packet.dst, packet.intra_port, 0});
}
inline spec::MailboxEntry entry_of(const WrittenBeat& beat) {
  spec::MailboxEntry entry;
  for (unsigned i = 0; i < 16; ++i) entry.raw[i / 4] |= std::uint32_t{beat.data[i]} << 8 * (i % 4);
  return entry;
}

// Fails with both beside each other where they part.
inline void check_same(const std::string& text, const std::vector<Happening>& gateware,
                       const std::vector<Happening>& model) {
  if (gateware == model) return;
  std::ostringstream s;
  const auto i = std::mismatch(gateware.begin(), gateware.end(), model.begin(), model.end()).first;
  s << text << ": " << gateware.size() << " happenings in the gateware, " << model.size()
    << " in the model; the first that differ:\n";
  for (std::ptrdiff_t k = -12; k < 12; ++k) {
    const auto at = (i - gateware.begin()) + k;
    if (at < 0) continue;
    s << (k == 0 ? " ! " : "   ");
    if (at < std::ssize(gateware)) s << gateware[static_cast<std::size_t>(at)];
    s << "   |   ";
    if (at < std::ssize(model)) s << model[static_cast<std::size_t>(at)];
    s << '\n';
  }
  FAIL_CHECK(s.str());
}

}  // namespace exanet::gateware
