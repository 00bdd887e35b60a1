// SPDX-License-Identifier: Apache-2.0
// A network of Verilated nodes as a shared library: nodes out of Verilated parts, joined by lines, behind
// core/spec/node_library.h.
//
// Every boundary of a node is registered, so within a cycle nodes do not depend on each other, and each thread steps
// its own. A thread puts its nodes' words for the next cycle on their lines at the end of a cycle, so threads meet once
// a cycle.
#include <algorithm>
#include <memory>
#include <vector>

#include "gateware/node/model/line.hpp"
#include "gateware/node/model/parts.hpp"
#include "gateware/node/model/port.hpp"
#include "gateware/node/model/team.hpp"

#ifndef EXANET_INTERFACES
#define EXANET_INTERFACES 0
#endif
#if EXANET_INTERFACES
#include "gateware/node/model/interfaces.hpp"
#endif

namespace {

using namespace exanet;
using namespace exanet::gateware;

using Word = NodeParts::Word;
constexpr unsigned kInter = NodeParts::kInter, kIntra = NodeParts::kIntra;
constexpr std::uint32_t kNone = 0xffffffffu;

struct Node {
#if EXANET_INTERFACES
  Node(VerilatedContext* context, const std::uint32_t* config, std::uint32_t credit)
      : parts(context, config, credit), interfaces(context) {}
#else
  Node(VerilatedContext* context, const std::uint32_t* config, std::uint32_t credit) : parts(context, config, credit) {}
#endif

  NodeParts parts;
  PacketSource source[kIntra];
  PacketSink sink[kIntra];
  std::uint32_t out[kInter], in[kInter];  // lines
  unsigned plugged = 0;  // ports with a line out
  unsigned sending = 0;  // sources that are not idle
  unsigned slots[kIntra] = {};  // that the network interface has yet to give back
  unsigned held = 0;  // ports at which it gives back none by itself, a bit each
  unsigned given[kIntra] = {};  // that it gives back there

  bool has_pending() const {
    return std::any_of(std::begin(slots), std::end(slots), [](unsigned n) { return n != 0; });
  }

  bool at_rest() const { return sending == 0 && !has_pending() && interfaces_at_rest() && parts.at_rest(); }
  bool router_at_rest() const {
    return sending == 0 && !has_pending() && interfaces_at_rest() && parts.router_at_rest();
  }

#if EXANET_INTERFACES
  bool interfaces_at_rest() const { return interfaces.at_rest(); }
  NodeInterfaces interfaces;
  spec::Flit arriving[kIntra];  // headers
#else
  bool interfaces_at_rest() const { return true; }
#endif
};

// A range of nodes that one thread steps, and what they have brought out in a cycle.
struct Share {
  VerilatedContext context;
  std::size_t begin = 0, end = 0;
  std::vector<exanet_arrival> arrivals;
  std::vector<exanet_space> space;
  std::vector<exanet_seen> seen;
  bool at_rest = false;  // all of its nodes
};

}  // namespace

struct exanet_nodes {
  exanet_nodes(std::uint32_t nodes, const std::uint32_t* registers, std::uint32_t credit, std::uint32_t lines,
               const exanet_line* line, std::uint32_t threads);

  void send(std::uint32_t node, std::uint32_t port, const exanet_node_packet& packet) {
    PacketSource& source = nodes_[node].source[port];
    nodes_[node].sending += source.idle();
    source.send(packet);
    at_rest_ = false;
  }
  void disturb(const LineFaults& faults) {
    for (auto& line : lines_) line.faults = faults;
  }
  void take_down(std::uint32_t line, std::uint64_t from, std::uint64_t until) {
    lines_[line].outages.push_back({lines_[line].ends.from, lines_[line].ends.from_port,
                                    static_cast<std::int64_t>(from), static_cast<std::int64_t>(until)});
  }
  void hold(std::uint32_t node, std::uint32_t port, bool on) {
    nodes_[node].held = (nodes_[node].held & ~(1u << port)) | unsigned{on} << port;
  }
  void give_back(std::uint32_t node, std::uint32_t port) { ++nodes_[node].given[port]; }
  void step();
  bool at_rest() const { return at_rest_; }
  std::uint32_t discarded(std::uint32_t node) const { return nodes_[node].parts.discarded(); }
  void store(std::uint32_t node, const exanet_store& store);
  void set_memory(const exanet_memory& memory);
  bool configure(std::uint32_t node, const exanet_store* stores, std::uint32_t count);
  bool takes(std::uint32_t node, std::uint32_t bus) const;
  void skip(std::uint64_t cycles) { time_ += cycles; }

  std::vector<exanet_arrival> arrivals_;
  std::vector<exanet_space> space_;
  std::vector<exanet_seen> seen_;
  std::vector<Line<Word>> lines_;

 private:
  void step(Share& share);
  void drive(Node& node);
  void drive_interfaces(std::uint32_t number, Share& share);
  void collect(std::uint32_t number, Share& share);
  void transmit(Node& node, std::uint64_t cycle);

  std::vector<std::unique_ptr<Share>> shares_;  // of each thread, in the order of their nodes
  std::vector<Node> nodes_;  // behind the contexts of their models
  std::uint64_t cycle_ = 0, time_ = 0;  // steps; cycles, with those that were skipped
  bool counting_, at_rest_ = false;
  Team team_;
};

exanet_nodes::exanet_nodes(std::uint32_t nodes, const std::uint32_t* registers, std::uint32_t credit,
                           std::uint32_t lines, const exanet_line* line, std::uint32_t threads)
    : counting_(credit != 0),
      team_(std::clamp(threads, 1u, nodes), [this](unsigned thread) { step(*shares_[thread]); }) {
  nodes_.reserve(nodes);
  for (std::size_t thread = 0; thread < team_.size(); ++thread) {
    Share& share = *shares_.emplace_back(std::make_unique<Share>());
    share.begin = nodes * thread / team_.size();
    share.end = nodes * (thread + 1) / team_.size();
    for (std::size_t n = share.begin; n < share.end; ++n) {
      Node& node = nodes_.emplace_back(&share.context, registers + 4 * n, credit);
      std::fill(std::begin(node.out), std::end(node.out), kNone);
      std::fill(std::begin(node.in), std::end(node.in), kNone);
    }
  }
  lines_.reserve(lines);
  for (std::uint32_t i = 0; i < lines; ++i) {
    lines_.emplace_back(line[i]);
    nodes_[line[i].from].out[line[i].from_port] = i;
    nodes_[line[i].from].plugged |= 1u << line[i].from_port;
    nodes_[line[i].to].in[line[i].to_port] = i;
  }
  for (Node& node : nodes_) transmit(node, cycle_);
}

void exanet_nodes::step() {
  team_.run();
  ++cycle_;
  ++time_;
  arrivals_.clear();
  space_.clear();
  seen_.clear();
  at_rest_ = true;
  for (const auto& share : shares_) {
    arrivals_.insert(arrivals_.end(), share->arrivals.begin(), share->arrivals.end());
    space_.insert(space_.end(), share->space.begin(), share->space.end());
    seen_.insert(seen_.end(), share->seen.begin(), share->seen.end());
    at_rest_ = at_rest_ && share->at_rest;
  }
  if (at_rest_)
    for (const auto& line : lines_) at_rest_ = at_rest_ && (counting_ ? !line.carries_packet(cycle_) : line.empty());
}

void exanet_nodes::step(Share& share) {
  share.arrivals.clear();
  share.space.clear();
  share.seen.clear();
  share.at_rest = true;
  for (std::size_t n = share.begin; n < share.end; ++n) {
    Node& node = nodes_[n];
    drive(node);
    if (node.at_rest()) continue;
#if EXANET_INTERFACES
    drive_interfaces(static_cast<std::uint32_t>(n), share);
#endif
    node.parts.edge(node.plugged);
    collect(static_cast<std::uint32_t>(n), share);
    transmit(node, cycle_ + 1);
    share.at_rest = share.at_rest && (counting_ ? node.router_at_rest() : node.at_rest());
  }
}

// The inputs of the coming edge: words of the lines and of the network interface.
void exanet_nodes::drive(Node& node) {
  Word word;
  for (unsigned p = 0; p < kInter; ++p)
    if (node.in[p] != kNone && lines_[node.in[p]].take(cycle_, word)) node.parts.receive(p, word);
  for (unsigned i = 0; node.has_pending() && i < kIntra; ++i) {
    if (node.given[i] == 0 || node.slots[i] == 0) continue;
    --node.given[i];
    --node.slots[i];
    node.parts.release(i);
  }
  for (unsigned i = 0; node.sending != 0 && i < kIntra; ++i) {
    if (node.source[i].idle()) continue;
    node.parts.inject(i, node.source[i].next());
    node.sending -= node.source[i].idle();
  }
}

#if EXANET_INTERFACES
// Both ways between a router and its interfaces, and what goes on at these; up to the edge, with theirs.
void exanet_nodes::drive_interfaces(std::uint32_t number, Share& share) {
  Node& node = nodes_[number];
  NodeInterfaces& interfaces = node.interfaces;
  const auto see = [&](exanet_seen seen) {
    seen.node = number;
    share.seen.push_back(seen);
  };
  const auto see_header = [&](std::uint32_t what, std::uint32_t port, const spec::Flit& header) {
    exanet_seen seen{what, port, 0, 1, 0, {}, 0};
    std::copy_n(header.raw.begin(), 4, seen.data);
    see(seen);
  };
  for (unsigned i = 0; !node.parts.router_at_rest() && i < kIntra; ++i) {
    const spec::Flit flit = node.parts.ejected(i);
    if (flit.valid() != 0) {
      interfaces.eject(i, flit, time_);
      if (flit.head() != 0) node.arriving[i] = flit;
      if (flit.tail() != 0) see_header(EXANET_SEEN_DELIVERED, i, node.arriving[i]);
    }
    if (const std::uint32_t credit = node.parts.space(i); credit != 0) interfaces.give_space(i, credit, time_);
  }
  if (interfaces.at_rest()) return;
  interfaces.see(time_, see);
  for (unsigned i = 0; i < kIntra; ++i) {
    const spec::Flit flit = interfaces.injected(i);
    if (flit.valid() != 0) node.parts.inject(i, flit);
    if (flit.valid() != 0 && flit.head() != 0) see_header(EXANET_SEEN_INJECTED, i, flit);
    if ((interfaces.released() >> i & 1) != 0) node.parts.release(i);
  }
  interfaces.edge();
}

void exanet_nodes::store(std::uint32_t node, const exanet_store& store) {
  nodes_[node].interfaces.store(store);
  at_rest_ = false;
}
bool exanet_nodes::takes(std::uint32_t node, std::uint32_t bus) const { return nodes_[node].interfaces.takes(bus); }
void exanet_nodes::set_memory(const exanet_memory& memory) {
  for (Node& node : nodes_) node.interfaces.set_memory(memory);
}
bool exanet_nodes::configure(std::uint32_t node, const exanet_store* stores, std::uint32_t count) {
  return nodes_[node].interfaces.configure(stores, count);
}
#endif

// Words that the edge has brought to the outputs. The network interface takes every word, and gives the slot back with
// the last unless it is held.
void exanet_nodes::collect(std::uint32_t number, Share& share) {
  if (EXANET_INTERFACES) return;
  Node& node = nodes_[number];
  for (unsigned i = 0; i < kIntra; ++i) {
    const spec::Flit flit = node.parts.ejected(i);
    if (flit.valid() != 0 && node.sink[i].accept(flit)) {
      ++node.slots[i];
      share.arrivals.push_back({node.sink[i].id(), number, i, node.sink[i].sound()});
    }
    if (node.slots[i] != 0 && (node.held >> i & 1) == 0) {
      --node.slots[i];
      node.parts.release(i);
    }
    spec::Credit credit;
    credit.raw[0] = node.parts.space(i);
    if (credit.raw[0] != 0)
      share.space.push_back(
          {number, i, static_cast<std::uint32_t>(credit.words()), static_cast<std::uint32_t>(credit.headers())});
  }
}

// The words that go out in a cycle, from the edge that begins it. Whether a word is offered does not depend on whether
// the line takes it.
void exanet_nodes::transmit(Node& node, std::uint64_t cycle) {
  for (unsigned p = 0; p < kInter; ++p) {
    if (node.out[p] == kNone) continue;
    Line<Word>& line = lines_[node.out[p]];
    const bool valid = node.parts.tx_valid(p);
    if (!valid && line.at_rest()) continue;
    node.parts.set_tx_ready(p, line.ready());
    line.put(cycle, valid, node.parts.tx_data(p));
  }
}

namespace {

const exanet_node_library_calls kCalls = {
    EXANET_NODE_LIBRARY_VERSION,
    kInter,
    kIntra,
    kLineBits<Word>,
    EXANET_INTERFACES,
    [](std::uint32_t nodes, const std::uint32_t* registers, std::uint32_t credit, std::uint32_t lines,
       const exanet_line* line,
       std::uint32_t threads) { return new exanet_nodes(nodes, registers, credit, lines, line, threads); },
    [](exanet_nodes* nodes) { delete nodes; },
    [](exanet_nodes* nodes, std::uint32_t node, std::uint32_t port, const exanet_node_packet* packet) {
      nodes->send(node, port, *packet);
    },
    [](exanet_nodes* nodes, std::uint64_t seed, std::uint32_t one_in) { nodes->disturb({seed, one_in}); },
    [](exanet_nodes* nodes, std::uint32_t line, std::uint64_t from, std::uint64_t until) {
      nodes->take_down(line, from, until);
    },
    [](exanet_nodes* nodes, std::uint32_t node, std::uint32_t port, int on) { nodes->hold(node, port, on != 0); },
    [](exanet_nodes* nodes, std::uint32_t node, std::uint32_t port) { nodes->give_back(node, port); },
    [](exanet_nodes* nodes) { nodes->step(); },
    [](const exanet_nodes* nodes, const exanet_arrival** first) {
      *first = nodes->arrivals_.data();
      return static_cast<std::uint32_t>(nodes->arrivals_.size());
    },
    [](const exanet_nodes* nodes, const exanet_space** first) {
      *first = nodes->space_.data();
      return static_cast<std::uint32_t>(nodes->space_.size());
    },
    [](const exanet_nodes* nodes) { return static_cast<int>(nodes->at_rest()); },
    [](const exanet_nodes* nodes, std::uint32_t node) { return nodes->discarded(node); },
    [](const exanet_nodes* nodes, std::uint32_t line, exanet_line_counts* counts) {
      *counts = nodes->lines_[line].counts;
    },
#if EXANET_INTERFACES
    [](exanet_nodes* nodes, std::uint32_t node, const exanet_store* store) { nodes->store(node, *store); },
    [](exanet_nodes* nodes, const exanet_memory* memory) { nodes->set_memory(*memory); },
    [](exanet_nodes* nodes, std::uint32_t node, const exanet_store* stores, std::uint32_t count) {
      return static_cast<int>(nodes->configure(node, stores, count));
    },
    [](const exanet_nodes* nodes, std::uint32_t node, std::uint32_t bus) {
      return static_cast<int>(nodes->takes(node, bus));
    },
    [](const exanet_nodes* nodes, const exanet_seen** first) {
      *first = nodes->seen_.data();
      return static_cast<std::uint32_t>(nodes->seen_.size());
    },
    [](exanet_nodes* nodes, std::uint64_t cycles) { nodes->skip(cycles); },
#endif
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const exanet_node_library_calls* exanet_node_library() {
  return &kCalls;
}
