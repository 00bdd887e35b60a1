// SPDX-License-Identifier: Apache-2.0
// Verilated nodes with reduction unit, router and links, each with a processor that stores and loads, and a memory; and
// trees of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>

#include "Vreduce_node.h"
#include "gateware/ni/tb/axi_memory.hpp"
#include "gateware/ni/tb/joined_nodes.hpp"
#include "gateware/ni/tb/reduce_reference.hpp"
#include "gateware/tb/packet.hpp"
#include "verilated.h"

namespace exanet::gateware {

inline constexpr unsigned kTrees = 16, kBranches = 8, kAbove = 8;
inline constexpr std::uint64_t kEndOffset = 0x3f0;  // of a place of results

struct ReduceNetworkConfig {
  TransceiverConfig line{.latency_cycles = 20};
  MemoryConfig memory{};
  unsigned timeout = 8, limit = 0;  // in rounds of 256 cycles
  // Whether the packet that is so many-th to come out of the router of this node is damaged.
  std::function<bool(std::size_t node, std::size_t packet)> damages{};
  int before_reset =
      0;  // other than 0: registers and memories hold chance values before the reset, others for each number
};

// A tree over nodes. What a node has at a branch is nothing, a process, or a node below.
struct Tree {
  struct Branch {
    bool process = false;
    std::optional<std::size_t> below;
    std::uint64_t results = 0;  // of a process: where they go
    bool used() const { return process || below; }
  };
  struct Place {
    std::size_t node;
    unsigned number;  // of the tree at this node
    std::optional<std::size_t> above;  // among the places
    unsigned branch_above = 0;
    std::array<Branch, kBranches> branches{};
  };
  unsigned pdid = 5, epoch = 0;
  std::vector<Place> places;

  // The result of parts, which are by place and branch, as the tree combines them.
  template <typename PartOf>
  Bytes result(ReduceType type, ReduceOperation operation, PartOf part_of, std::size_t place = 0) const {
    std::optional<Bytes> sum;
    for (unsigned b = 0; b < kBranches; ++b) {
      const Branch& branch = places[place].branches[b];
      if (!branch.used()) continue;
      const Bytes part = branch.process ? part_of(place, b) : result(type, operation, part_of, *branch.below);
      if (!sum)
        sum = part;
      else
        combine(type, operation, *sum, part);
    }
    return *sum;
  }
};

struct ReduceNode : JoinedNode<Vreduce_node> {
  struct Store {
    std::uint32_t address;
    Line data{};
    unsigned strobe = 0xffff;
  };
  std::deque<Store> stores;  // that are to come
  Receiver in[1], out[1];  // packets into the router, and out of it
  std::unique_ptr<AxiMemory> memory;
  bool keep_stores = false;  // what they were
  std::vector<Store> kept;
  std::vector<std::uint64_t> taken;  // cycle of each store that has been
};

class ReduceNetwork : public NodeNetwork<ReduceNetwork, ReduceNode> {
  friend NodeNetwork<ReduceNetwork, ReduceNode>;

 public:
  using Node = ReduceNode;
  using Store = ReduceNode::Store;

  // A ring; or, of four nodes, a torus of two by two.
  explicit ReduceNetwork(std::size_t nodes, ReduceNetworkConfig config = {}, bool two_dimensions = false)
      : NodeNetwork(nodes, two_dimensions, config.before_reset), config_(config) {
    for (std::size_t n = 0; n < nodes; ++n) {
      for (unsigned kind = 0; kind < 16; ++kind) nodes_[n].router.set_type_port(kind, 0);
      MemoryConfig memory = config.memory;
      memory.seed += n;
      nodes_[n].memory = std::make_unique<AxiMemory>(memory);
      start(nodes_[n]);
    }
    join(config.line);
    for (std::size_t n = 0; n < nodes; ++n) configure(n);
    run_until_stored();
  }

  // --- What processors store.
  void store(std::size_t n, const Store& store) { nodes_[n].stores.push_back(store); }
  void store64(std::size_t n, std::uint32_t address, std::uint64_t value) {
    Store store{address & ~0xfu, {}, 0xffu << (address & 8)};
    for (unsigned i = 0; i < 8; ++i) store.data[(address & 8) + i] = static_cast<std::uint8_t>(value >> 8 * i);
    nodes_[n].stores.push_back(store);
  }
  void configure(std::size_t n) {
    spec::NiReduceConfig word;
    word.set_dcid(nodes_[n].dcid);
    word.set_timeout(config_.timeout);
    word.set_limit(config_.limit);
    store64(n, 0x80100, value_of(word));
  }
  void open(const Tree& tree) {
    for (std::size_t p = 0; p < tree.places.size(); ++p) open_place(tree, p);
  }
  void open_place(const Tree& tree, std::size_t p, bool enabled = true) {
    const Tree::Place& place = tree.places[p];
    spec::NiReduceTree word;
    for (unsigned b = 0; b < kBranches; ++b) {
      const Tree::Branch& branch = place.branches[b];
      if (!branch.used()) continue;
      word.set_branches(word.branches() | 1u << b);
      if (branch.process) {
        word.set_locals(word.locals() | 1u << b);
        spec::NiReducePlace results;
        results.set_line(branch.results / 1024);
        store64(place.node, neighbour(place.number, b), value_of(results));
      } else {
        store64(place.node, neighbour(place.number, b), node_word(tree, *branch.below, 0));
      }
    }
    if (place.above)
      store64(place.node, neighbour(place.number, kAbove), node_word(tree, *place.above, place.branch_above));
    word.set_pdid(tree.pdid);
    word.set_epoch(tree.epoch);
    word.set_root(!place.above);
    word.set_enabled(enabled);
    store64(place.node, 0x80000 + 16 * place.number, value_of(word));
  }
  // A process hands its part over, in stores of 16 bytes.
  void call(std::size_t n, unsigned tree, unsigned branch, ReduceType type, ReduceOperation operation,
            const Bytes& part) {
    const std::uint32_t page = 0x1000 * (kBranches * tree + branch);
    for (std::size_t at = 0; at < part.size(); at += 16) {
      Store store{page + static_cast<std::uint32_t>(at), {}, 0xffff};
      for (std::size_t i = at; i < std::min(at + 16, part.size()); ++i) store.data[i - at] = part[i];
      this->store(n, store);
    }
    call_word(n, tree, branch, static_cast<unsigned>(type), static_cast<unsigned>(operation),
              static_cast<unsigned>(part.size()));
  }
  void call_word(std::size_t n, unsigned tree, unsigned branch, unsigned type, unsigned operation, unsigned bytes) {
    spec::ReduceCall word;
    word.set_element(type);
    word.set_operation(operation);
    word.set_bytes(bytes);
    store64(n, 0x1000 * (kBranches * tree + branch) + 0x200, value_of(word));
  }

  // --- What processes read.
  std::optional<spec::ReduceEnd> end(std::size_t n, std::uint64_t results) const {
    const Line info = nodes_[n].memory->line(results + kEndOffset);
    spec::ReduceEnd end;
    for (unsigned i = 0; i < 16; ++i) end.raw[i / 4] |= std::uint32_t{info[i]} << 8 * (i % 4);
    return end.valid() ? std::optional(end) : std::nullopt;
  }
  Bytes vector(std::size_t n, std::uint64_t results, std::size_t bytes) const {
    Bytes vector(bytes);
    const std::uint64_t first = results + kEndOffset - (bytes + 15) / 16 * 16;
    for (std::size_t i = 0; i < bytes; ++i) vector[i] = nodes_[n].memory->get(first + i);
    return vector;
  }
  // Ended, failed, sent again, dropped; damaged packets.
  std::array<std::uint32_t, 5> counts(std::size_t n) {
    const auto pair = load(n, 0x80110);
    return {static_cast<std::uint32_t>(pair[0]), static_cast<std::uint32_t>(pair[0] >> 32),
            static_cast<std::uint32_t>(pair[1]), static_cast<std::uint32_t>(pair[1] >> 32),
            static_cast<std::uint32_t>(load(n, 0x80120)[0])};
  }

  // Trees of a node that are not at rest, a bit each, and a bit behind them while stores are not over.
  std::uint32_t unrest(std::size_t n) { return static_cast<std::uint32_t>(load(n, 0x80120)[0] >> 32); }

  // The unit alone is reset, with nothing under way at its port.
  void reset_unit(std::size_t n) {
    nodes_[n].stores.clear();
    reset_alone(n);
    configure(n);
    run_until_stored();
  }

 private:
  static std::uint32_t neighbour(unsigned tree, unsigned branch) { return 0x81000 + 256 * tree + 16 * branch; }
  std::uint64_t node_word(const Tree& tree, std::size_t place, unsigned branch) const {
    spec::NiReduceNode word;
    word.set_dcid(nodes_[tree.places[place].node].dcid);
    word.set_tree(tree.places[place].number);
    word.set_branch(branch);
    return value_of(word);
  }

  void start(Node& node) {
    node.model = std::make_unique<Vreduce_node>(&context_);
    Vreduce_node& m = *node.model;
    node.drive_router();
    m.clk_i = m.rst_ni = m.ni_rst_ni = 0;
    m.s_axi_awvalid = m.s_axi_wvalid = m.s_axi_arvalid = 0;
    m.m_axi_awready = m.m_axi_wready = m.m_axi_bvalid = m.m_axi_bresp = 0;
    m.tx_ready_i = m.rx_valid_i = m.damages_i = 0;
    m.rx_data_i[0] = m.rx_data_i[1] = 0;
  }
  void drive(Node& node) {
    Vreduce_node& m = *node.model;
    m.s_axi_awvalid = m.s_axi_wvalid = !node.stores.empty();
    if (!node.stores.empty()) {
      const Store& store = node.stores.front();
      m.s_axi_awaddr = store.address;
      m.s_axi_wstrb = static_cast<SData>(store.strobe);
      for (unsigned w = 0; w < 4; ++w) std::memcpy(&m.s_axi_wdata[w], &store.data[4 * w], 4);
    }
    m.s_axi_arvalid = node.asks;
    if (config_.damages)
      m.damages_i = config_.damages(static_cast<std::size_t>(&node - nodes_.data()), node.out[0].arrivals.size());
    node.memory->drive(m, cycle_);
  }
  void sample(Node& node) {
    const Vreduce_node& m = *node.model;
    if (m.s_axi_wvalid && m.s_axi_wready) {
      if (node.keep_stores) node.kept.push_back(node.stores.front());
      node.stores.pop_front();
      node.taken.push_back(cycle_);
    }
    take_load(node);
    spec::Flit in, out;
    for (unsigned w = 0; w < in.raw.size(); ++w) in.raw[w] = m.in_o[w], out.raw[w] = m.out_o[w];
    if (in.valid()) node.in[0].accept(in, cycle_);
    if (out.valid()) node.out[0].accept(out, cycle_);
    node.memory->sample(m, cycle_);
  }

  ReduceNetworkConfig config_;
};

}  // namespace exanet::gateware
