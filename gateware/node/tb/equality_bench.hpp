// SPDX-License-Identifier: Apache-2.0
// Gives the Verilated nodes and the model of core/network/exanet the same packets at the same times behind the same
// calls (core/network/network.hpp), and compares: for each packet the time at which its port takes it and the time at
// which its last word is delivered must be the same in both. The first difference is printed with what went on around
// it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/network/exanet/exanet_network.hpp"
#include "core/network/verilated/verilated_network.hpp"
#include "core/routing/make_topology.hpp"
#include "core/spec/packet.hpp"
#include "core/topology/multicast.hpp"
#include "gateware/tb/long.hpp"

namespace exanet::equality {

inline constexpr Time kCycle = Time::ps(6400);
inline constexpr std::uint64_t kRestCycles = 40'000;  // more than it takes from the last arrival until nothing moves

enum class Pattern { kUniform, kTornado, kHotspot, kNeighbour };
inline constexpr const char* kPatternNames[] = {"uniform", "tornado", "hotspot", "neighbour"};

using Arbitration = RouterConfig::Arbitration;

struct Case {
  TopologySpec topology;
  Pattern pattern = Pattern::kUniform;
  double load = 0.5;  // of a link's rate, offered at each node
  unsigned packets = 1000;
  std::uint64_t seed = 1;
  unsigned least_bytes = 0, most_bytes = 512;
  Arbitration arbitration = Arbitration::kRoundRobin;
  unsigned line_cycles = 20;
  std::int64_t pause_every = 0;
  std::int64_t inter_fifo_words = 1024;
  bool wide = false;  // links of four lanes
  unsigned priority_one_in = 8;
  unsigned line_cycles_between_qfdbs = 33;
  bool multicast = false;  // nodes that are built for it; as the others for packets to one node
  unsigned multicast_one_in = 0;  // 0: none
  std::int64_t credit_threshold = 0, credit_interval = 0;  // words, cycles
  unsigned magic_one_in = 0;  // packets with words that equal Magic
  unsigned stalls = 0;  // of network interfaces, some hundred cycles each
  unsigned fault_one_in = 0;  // packets and credits on each line
  unsigned threads = 1;  // that step the Verilated nodes
  std::vector<LineOutage> outages = {};

  bool of_qfdbs() const { return topology.kind == "qfdb-torus"; }
  unsigned ports() const { return of_qfdbs() ? 3 : 2; }  // intra-tile, as each library is built
  NodeId nodes_each() const { return of_qfdbs() ? spec::kQfdbNodes : 1; }  // at a point of the shape
  std::string text() const {
    std::ostringstream s;
    s << topology.kind;
    for (const auto side : topology.shape) s << ' ' << side;
    s << (topology.order.empty() ? "" : " order");
    for (const auto d : topology.order) s << ' ' << d;
    s << ", " << kPatternNames[static_cast<int>(pattern)] << ", load " << load << ", " << least_bytes << " to "
      << most_bytes << " B, " << name_of(arbitration) << ", priority one in " << priority_one_in
      << (multicast ? ", nodes with multicast, one in " + std::to_string(multicast_one_in) : "") << ", line of "
      << (wide ? "four lanes and " : "") << line_cycles << " cycles, pause every " << pause_every << ", " << packets
      << " packets, seed " << seed << ", " << threads << " threads";
    if (credit_threshold + credit_interval != 0)
      s << ", credits of " << credit_threshold << " words or after " << credit_interval << " cycles";
    if (magic_one_in != 0) s << ", Magic in one packet in " << magic_one_in;
    if (stalls != 0) s << ", " << stalls << " stalls";
    if (fault_one_in != 0) s << ", a wrong bit in one packet and credit in " << fault_one_in;
    for (const LineOutage& o : outages)
      s << ", line " << o.port << " of node " << o.node << " down from cycle " << o.from << " to " << o.until;
    for (const auto& [node, port] : topology.disabled) s << ", without port " << port << " of node " << node;
    return s.str();
  }
  NetworkConfig fabric() const {
    NetworkConfig config;
    config.router.vc_allocation = RouterConfig::VcAllocation::kRouting;
    config.router.cycle = kCycle;
    config.router.max_payload_bytes = 512;
    config.router.arbitration = arbitration;
    config.router.intra_ports = ports();
    config.router.inter_fifo_words = inter_fifo_words;
    config.router.credit_threshold_words = credit_threshold;
    config.router.credit_interval_cycles = credit_interval;
    config.router.interface_slots = 8;
    config.faults = {seed, fault_one_in, outages};
    config.priority = true;
    LinkConfig link;
    link.word_time = kCycle;
    if (wide) link.word_bits = 128, link.framing_words = 1;
    link.latency = kCycle * line_cycles;
    link.pause_every = pause_every;
    config.links = {link};
    if (of_qfdbs()) {
      link.latency = kCycle * line_cycles_between_qfdbs;
      config.links.push_back(link);
    }
    return config;
  }
};

inline Arbitration in_turn(std::uint64_t seed) { return static_cast<Arbitration>(seed % 3); }

struct Offer {
  Time at;
  Packet packet;
};

inline NodeId destination(const Case& c, NodeId src, NodeId nodes, std::mt19937_64& random) {
  const auto shape = c.topology.shape;
  const NodeId each = c.nodes_each();
  std::vector<std::uint32_t> x;
  for (NodeId rest = src / each; x.size() < shape.size(); rest /= shape[x.size() - 1])
    x.push_back(rest % shape[x.size()]);
  switch (c.pattern) {
    case Pattern::kUniform: return static_cast<NodeId>(random() % nodes);
    case Pattern::kHotspot: return random() % 4 == 0 ? 0 : static_cast<NodeId>(random() % nodes);
    case Pattern::kTornado:
      for (std::size_t d = 0; d < shape.size(); ++d) x[d] = (x[d] + (shape[d] + 1) / 2 - 1 + random() % 2) % shape[d];
      break;
    case Pattern::kNeighbour: {
      const std::size_t d = random() % shape.size();
      x[d] = (x[d] + (random() % 2 != 0 ? 1 : shape[d] - 1)) % shape[d];
    }
  }
  NodeId dst = 0;
  for (std::size_t d = shape.size(); d-- > 0;) dst = dst * shape[d] + x[d];
  return each == 1 ? dst : dst * each + static_cast<NodeId>(random() % each);
}

// A box that is drawn: none of a dimension, all of it, or some hops.
inline NodeId drawn_box(const Case& c, std::mt19937_64& random) {
  std::uint32_t hops[kBoxDimensions] = {};
  for (std::size_t d = 0; d < c.topology.shape.size(); ++d)
    hops[d] = random() % 3 == 0 ? kMostHops : static_cast<std::uint32_t>(random() % (c.topology.shape[d] / 2 + 2));
  return multicast_box(hops[0], hops[1], hops[2]);
}

// The nodes of a box but its source, counted from their coordinates, in ascending order.
inline std::vector<NodeId> nodes_of_box(const Case& c, NodeId src, NodeId box) {
  const auto& shape = c.topology.shape;
  NodeId points = 1;
  for (const auto side : shape) points *= side;
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < points * c.nodes_each(); ++node) {
    bool inside = node != src;
    NodeId from = src / c.nodes_each(), to = node / c.nodes_each();
    for (std::size_t d = 0; d < shape.size(); from /= shape[d], to /= shape[d], ++d) {
      const int side = static_cast<int>(shape[d]), a = static_cast<int>(from % shape[d]),
                b = static_cast<int>(to % shape[d]);
      const int apart = std::abs(a - b);
      const int hops = c.topology.kind == "mesh" ? apart : std::min(apart, side - apart);
      // Of two ways half round a ring copies take the one upwards: either has as many hops.
      inside = inside && hops <= static_cast<int>(box_hops(box, static_cast<std::uint32_t>(d)));
    }
    if (inside) nodes.push_back(node);
  }
  return nodes;
}

// At each intra-tile port packets of random length at random times; one in `priority_one_in` has priority, one in
// `multicast_one_in` goes to a box.
inline std::vector<Offer> traffic(const Case& c) {
  std::mt19937_64 random(c.seed);
  NodeId nodes = c.nodes_each();
  for (const auto side : c.topology.shape) nodes *= side;
  const unsigned ports = c.ports();
  const double words = 6 + (c.least_bytes + c.most_bytes) / 16.0, gap = words * ports / c.load;
  std::vector<Offer> offers;
  std::vector<std::uint64_t> next(nodes * ports, 0);
  while (offers.size() < c.packets)
    for (std::uint32_t port = 0; port < nodes * ports; ++port) {
      const auto bits = static_cast<double>(random() >> 11) * 0x1p-53;
      next[port] += static_cast<std::uint64_t>(2 * gap * bits);
      const NodeId src = port / ports;
      const auto bytes = static_cast<std::uint16_t>(c.least_bytes + random() % (c.most_bytes - c.least_bytes + 1));
      NodeId dst = destination(c, src, nodes, random);
      if (c.multicast_one_in != 0 && random() % c.multicast_one_in == 0)
        if (const NodeId box = drawn_box(c, random); !nodes_of_box(c, src, box).empty()) dst = box;
      offers.push_back({kCycle * static_cast<std::int64_t>(next[port]),
                        {src, dst, bytes, static_cast<std::uint8_t>(port % ports),
                         static_cast<std::uint8_t>(random() % c.priority_one_in == 0), 0}});
      if (c.magic_one_in != 0 && random() % c.magic_one_in == 0) {
        Packet& packet = offers.back().packet;
        const std::uint64_t most = std::min(31, (bytes + 15) / 16);
        packet.magic_lower = static_cast<std::uint8_t>(random() % (most + 1));
        // With pauses none has words of which both halves equal Magic: docs/microarchitecture.md.
        packet.magic_upper =
            static_cast<std::uint8_t>(random() % (most + 1 - (c.pause_every != 0 ? packet.magic_lower : 0)));
      }
    }
  std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) { return a.at < b.at; });
  for (std::size_t i = 0; i < offers.size(); ++i) offers[i].packet.user = i;
  return offers;
}

// While an interface stalls, its packets stand in the network, and those behind them.
struct Stall {
  Time at, until;
  NodeId node;
  std::uint8_t port;
};

inline std::vector<Stall> drawn_stalls(const Case& c, const std::vector<Offer>& offers, NodeId nodes) {
  std::mt19937_64 random(~c.seed);
  std::vector<Stall> stalls;
  const auto last = static_cast<std::uint64_t>(offers.back().at.ps() / kCycle.ps());
  for (unsigned i = 0; i < c.stalls; ++i) {
    const Time at = kCycle * static_cast<std::int64_t>(random() % (last + 100));
    const Time until = at + kCycle * static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 3000 : 300));
    stalls.push_back(
        {at, until, static_cast<NodeId>(random() % nodes), static_cast<std::uint8_t>(random() % c.ports())});
  }
  return stalls;
}

struct Fate {
  Time taken = Time::ps(-1), delivered = Time::ps(-1);  // the last copy
  std::vector<std::pair<NodeId, Time>> copies;  // where and when each arrived
  unsigned marked = 0;  // of them
  bool operator==(const Fate&) const = default;
};

// One network, with a queue of packets in front of each of its ports and classes. What space comes back at an instant
// is there for those who wait, before others come at the same instant: which of the two classes gets the last space
// must not depend on the order of a network's events.
class Run {
 public:
  Run(const Case& c, const std::vector<Offer>& offers, const MakeNetwork& make)
      : offers_(offers),
        fates(offers.size()),
        topology_(make_topology(c.topology)),
        ports_(c.ports()),
        queues_(topology_->node_count() * ports_ * 2) {
    network_ = make(events_, *topology_, c.fabric(),
                    {this,
                     [](void* self, const Packet& packet, Time taken, Time tail) {
                       Run& run = *static_cast<Run*>(self);
                       Fate& fate = run.fates[packet.user];
                       fate.taken = taken;
                       fate.delivered = max(fate.delivered, tail);
                       fate.copies.emplace_back(packet.dst, tail);
                       fate.marked += packet.marked;
                       ++run.arrived_;
                     },
                     [](void* self, NodeId node, std::uint8_t port, std::uint8_t priority, Time) {
                       Run& run = *static_cast<Run*>(self);
                       run.pump((node * run.ports_ + port) * 2 + priority);
                     }});
    offer_event_ = events_.add_handler([](void* self, Time, std::uint32_t index,
                                          std::uint64_t last) { static_cast<Run*>(self)->offer(index, last != 0); },
                                       this);
    if (!offers.empty()) events_.schedule(offers[0].at, offer_event_, 0);
    stalls_ = drawn_stalls(c, offers, topology_->node_count());
    stall_event_ = events_.add_handler(
        [](void* self, Time, std::uint32_t index, std::uint64_t) {
          const Stall& stall = static_cast<Run*>(self)->stalls_[index];
          static_cast<Run*>(self)->network_->stall(stall.node, stall.port, stall.until);
        },
        this);
    for (std::uint32_t i = 0; i < stalls_.size(); ++i) events_.schedule(stalls_[i].at, stall_event_, i);
    std::size_t copies = 0;
    for (const Offer& offer : offers)
      copies += is_multicast(offer.packet.dst) ? nodes_of_box(c, offer.packet.src, offer.packet.dst).size() : 1;
    while (arrived_ < copies && !events_.empty()) events_.run_one();
    // Credits and reports of what was sent are still under way; behind them comes nothing.
    const std::uint64_t busy = network_->cycles();
    while (!events_.empty() && network_->cycles() < busy + kRestCycles) events_.run_one();
    at_rest_ = events_.empty();
    for (Fate& fate : fates) std::sort(fate.copies.begin(), fate.copies.end());
  }

  bool at_rest() const { return at_rest_; }

  std::uint64_t cycles() const { return network_->cycles(); }
  std::uint64_t discarded() const {
    std::uint64_t packets = 0;
    for (NodeId node = 0; node < topology_->node_count(); ++node) packets += network_->discarded(node);
    return packets;
  }
  std::uint64_t lost() const { return network_->lost(); }
  unsigned nodes_that_discard_others(const Run& other) const {
    unsigned differ = 0;
    for (NodeId node = 0; node < topology_->node_count(); ++node)
      differ += network_->discarded(node) != other.network_->discarded(node);
    return differ;
  }
  std::uint64_t packet_hops() const { return network_->packet_hops(); }
  // Links whose packets, bytes or busy time are not those of the same network over there.
  unsigned links_that_differ(const Run& other) const {
    unsigned differ = 0;
    for (NodeId node = 0; node < topology_->node_count(); ++node)
      for (std::uint16_t port = 0; port < topology_->port_count(node); ++port) {
        const LinkStats &a = network_->link_stats(node, port), &b = other.network_->link_stats(node, port);
        differ += a.packets != b.packets || a.payload_bytes != b.payload_bytes || a.busy != b.busy;
      }
    return differ;
  }

 private:
  const std::vector<Offer>& offers_;

 public:
  std::vector<Fate> fates;

 private:
  // The first event of an instant puts a second one behind all that had been scheduled for it before.
  void offer(std::uint32_t index, bool last) {
    const Time now = offers_[index].at;
    if (!last) return events_.schedule(now, offer_event_, index, 1);
    for (; index < offers_.size() && offers_[index].at == now; ++index) {
      const Packet& packet = offers_[index].packet;
      const std::uint32_t queue = (packet.src * ports_ + packet.intra_port) * 2 + packet.priority;
      queues_[queue].push_back(packet);
      if (queues_[queue].size() == 1) pump(queue);
    }
    if (index < offers_.size()) events_.schedule(offers_[index].at, offer_event_, index);
  }
  void pump(std::uint32_t queue) {
    while (!queues_[queue].empty() && network_->inject(queues_[queue].front())) queues_[queue].pop_front();
  }

  EventQueue events_;
  std::unique_ptr<Topology> topology_;
  unsigned ports_;
  std::unique_ptr<Network> network_;
  std::vector<std::deque<Packet>> queues_;
  std::vector<Stall> stalls_;
  std::uint32_t offer_event_ = 0, stall_event_ = 0;
  std::size_t arrived_ = 0;
  bool at_rest_ = false;
};

inline std::int64_t cycles(Time t) { return t.ps() < 0 ? -1 : t.ps() / kCycle.ps(); }

// The earliest difference, and the packets that were delivered around it.
inline std::string difference(const std::vector<Offer>& offers, const Run& gateware, const Run& model) {
  const auto differs = [&](std::size_t i) { return !(gateware.fates[i] == model.fates[i]); };
  const auto earliest = [&](std::size_t i) { return std::min(gateware.fates[i].delivered, model.fates[i].delivered); };
  std::size_t first = offers.size(), count = 0;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (!differs(i)) continue;
    ++count;
    if (first == offers.size() || earliest(i) < earliest(first)) first = i;
  }
  if (count == 0) return "";
  std::ostringstream s;
  s << count << " packets differ, the first:\n";
  std::vector<std::size_t> around;
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (earliest(i) <= earliest(first) + kCycle * 20 && earliest(i) >= earliest(first) - kCycle * 400)
      around.push_back(i);
  std::sort(around.begin(), around.end(), [&](std::size_t a, std::size_t b) { return earliest(a) < earliest(b); });
  for (const std::size_t i : around) {
    const Packet& p = offers[i].packet;
    s << (differs(i) ? " ! " : "   ") << p.src << '.' << int{p.intra_port} << " -> " << p.dst << ' ' << p.payload_bytes
      << " B" << (p.priority != 0 ? " high" : "");
    if (p.magic_lower + p.magic_upper != 0) s << ", Magic " << int{p.magic_lower} << " + " << int{p.magic_upper};
    s << ": offered " << cycles(offers[i].at) << ", taken " << cycles(gateware.fates[i].taken) << " / "
      << cycles(model.fates[i].taken) << ", delivered " << cycles(gateware.fates[i].delivered) << " / "
      << cycles(model.fates[i].delivered);
    for (std::size_t copy = 0; is_multicast(p.dst) && copy < gateware.fates[i].copies.size(); ++copy) {
      s << (copy == 0 ? ": " : ", ") << gateware.fates[i].copies[copy].first << " at "
        << cycles(gateware.fates[i].copies[copy].second);
      if (copy < model.fates[i].copies.size()) s << " / " << cycles(model.fates[i].copies[copy].second);
    }
    s << '\n';
  }
  return s.str();
}

inline std::uint64_t total_packets = 0, total_copies = 0, total_discarded = 0, total_lost = 0, total_marked = 0;

// Whether each packet has arrived once at each node that it was for, and nowhere else; but for those that were
// discarded, and copies that disabled ports left out.
inline bool all_arrived(const Case& c, const std::vector<Offer>& offers, const Run& run) {
  std::uint64_t missing = 0;
  bool multicast = false;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const Packet& p = offers[i].packet;
    std::vector<NodeId> nodes;
    for (const auto& [node, at] : run.fates[i].copies) nodes.push_back(node);
    const std::vector<NodeId> all = is_multicast(p.dst) ? nodes_of_box(c, p.src, p.dst) : std::vector{p.dst};
    if (!std::includes(all.begin(), all.end(), nodes.begin(), nodes.end())) return false;
    missing += all.size() - nodes.size();
    multicast = multicast || is_multicast(p.dst);
  }
  const std::uint64_t gone = run.discarded() + run.lost();
  return multicast && (run.lost() != 0 || !c.topology.disabled.empty()) ? missing >= gone : missing == gone;
}

// The library of such a case's nodes; null for a variant where only `make test-long` has those.
inline const char* library_of(const Case& c) {
#if EXANET_VARIANTS
  if (c.multicast) return c.of_qfdbs() ? EXANET_NODES_QFDB_MULTICAST : EXANET_NODES_3D_MULTICAST;
  if (c.of_qfdbs()) return EXANET_NODES_QFDB;
  if (c.wide) return EXANET_NODES_WIDE;
#else
  if (c.multicast || c.of_qfdbs() || c.wide) return nullptr;
#endif
  return EXANET_NODES_3D;
}

// Returns when each packet was taken and delivered; nothing where only `make test-long` has such nodes.
inline std::vector<Fate> compare(const Case& c, const std::vector<Offer>& offers) {
  const char* library = library_of(c);
  if (library == nullptr) return {};
  const Run gateware(c, offers, make_node_network(library, c.topology, c.threads)), model(c, offers, make_network);
  const std::string found = difference(offers, gateware, model);
  total_packets += offers.size();
  if (!found.empty()) FAIL_CHECK(c.text() << ": " << found);
  CHECK(gateware.packet_hops() == model.packet_hops());
  CHECK(gateware.links_that_differ(model) == 0);
  CHECK(gateware.nodes_that_discard_others(model) == 0);
  total_discarded += gateware.discarded();
  total_lost += model.lost();
  for (const Fate& fate : gateware.fates) total_marked += fate.marked;
  CHECK(gateware.at_rest());
  CHECK(all_arrived(c, offers, model));
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (is_multicast(offers[i].packet.dst)) total_copies += model.fates[i].copies.size();
  if (std::getenv("EXANET_VERBOSE") != nullptr) MESSAGE(c.text() << ": " << gateware.cycles() << " cycles");
  return gateware.fates;
}

inline void compare_whole(Case c) {
  c.topology.both_channels = c.fabric().faults.any();  // reports name channels
  compare(c, traffic(c));
}

// A third of the packets, but in full size.
inline void compare(Case c) {
  c.packets = gateware::taken(c.packets);
  compare_whole(c);
}

}  // namespace exanet::equality
