// SPDX-License-Identifier: Apache-2.0
// Verilated nodes with two inter-tile ports, joined by lines in C++: as a ring; or four as a torus of two by two.
//
// A cycle's number is that of its clock edge at the end: a store is taken, and a word is on a port, in the cycle in
// which the edge at its end sees it.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "gateware/link/tb/transceiver.hpp"
#include "gateware/node/model/verilated_ports.hpp"
#include "gateware/tb/expect.hpp"
#include "gateware/tb/placement.hpp"
#include "verilated.h"

namespace exanet::gateware {

// What a node is joined by, and its processor's loads. `Model` is Verilator's class of it.
template <typename Model>
struct JoinedNode {
  std::unique_ptr<Model> model;
  std::uint32_t dcid = 0;
  spec::RouterConfig router;
  std::unique_ptr<Transceiver> tx[2];
  std::size_t far_node[2]{};
  unsigned far_port[2]{};
  bool stuck[2]{};  // the transceiver takes no word
  bool loads = false, asks = false;
  std::array<std::uint64_t, 2> loaded{};

  void drive_router() {
    for (unsigned i = 0; i < router.raw.size(); ++i) model->config_i[i] = router.raw[i];
  }
};

// Place and registers of each node.
template <typename Node>
void place_nodes(std::vector<Node>& nodes, bool two_dimensions) {
  expect(!two_dimensions || nodes.size() == 4, "a square has four nodes");
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto x = static_cast<unsigned>(two_dimensions ? n % 2 : n),
               y = static_cast<unsigned>(two_dimensions ? n / 2 : 0);
    nodes[n].dcid = dcid(x, y);
    nodes[n].router = two_dimensions ? two_by_two(x, y) : on_ring(x, static_cast<unsigned>(nodes.size()));
  }
}

template <typename Node>
void join_nodes(std::vector<Node>& nodes, bool two_dimensions, const TransceiverConfig& config) {
  const auto join = [&](std::size_t from, unsigned from_port, std::size_t to, unsigned to_port) {
    TransceiverConfig line = config;
    line.seed += 2 * from + from_port;
    nodes[from].tx[from_port] = std::make_unique<Transceiver>(line);
    nodes[from].far_node[from_port] = to;
    nodes[from].far_port[from_port] = to_port;
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (two_dimensions) {
      join(n, 0, n ^ 1, 0);
      join(n, 1, n ^ 2, 1);
    } else {
      join(n, 0, (n + 1) % nodes.size(), 1);
      join((n + 1) % nodes.size(), 1, n, 0);
    }
  }
}

// A cycle of the lines that begin at a node.
template <typename Node>
void drive_lines(std::vector<Node>& nodes, Node& node) {
  node.model->tx_ready_i = 0;
  for (unsigned p = 0; p < 2; ++p) {
    // Whether a word is offered does not depend on ready, so it can be read before.
    const bool ready = node.tx[p]->ready() && !node.stuck[p];
    node.model->tx_ready_i |= static_cast<CData>(unsigned{ready} << p);
    const bool valid = ready && (node.model->tx_valid_o >> p & 1u) != 0;
    const auto arrived = node.tx[p]->step(valid ? std::optional(line_word(node.model->tx_data_o[p])) : std::nullopt);
    auto& far = *nodes[node.far_node[p]].model;
    const unsigned q = node.far_port[p];
    far.rx_valid_i = static_cast<CData>((far.rx_valid_i & ~(1u << q)) | (unsigned{arrived.has_value()} << q));
    drive_word(far.rx_data_i[q], arrived.value_or(NarrowWord{}));
  }
}

// A clock edge of all of them, with the others at rest.
template <typename Node>
void clock_nodes(std::vector<Node>& nodes, unsigned level) {
  for (Node& node : nodes) {
    node.model->clk_i = static_cast<CData>(level);
    node.model->eval();
  }
}

// Such nodes and their clock. `Network` says by drive() what a node sees in a cycle, and by sample() what has come of
// it before the edge at the cycle's end; `Node` has the stores that are to come.
template <typename Network, typename Node>
class NodeNetwork {
 public:
  Node& node(std::size_t n) { return nodes_[n]; }
  std::size_t size() const { return nodes_.size(); }
  std::uint64_t cycle() const { return cycle_; }

  // What a processor loads, while the network goes on.
  std::array<std::uint64_t, 2> load(std::size_t n, std::uint32_t address) {
    Node& node = nodes_[n];
    node.model->s_axi_araddr = address & ~0xfu;
    node.asks = node.loads = true;
    for (int i = 0; node.loads; ++i) {
      expect(i < 1000, "a load is not answered");
      step();
    }
    return node.loaded;
  }
  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) step();
  }
  // Until all stores have been taken, and have had their effect on tables.
  void run_until_stored(std::uint64_t most = 100'000) {
    for (std::uint64_t i = 0;
         std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.stores.empty(); }); ++i) {
      expect(i < most, "a store is not taken");
      step();
    }
    run(40);
  }
  // A node's router takes and hands out nothing any more; or does again.
  void enable(std::size_t n, bool enabled) {
    nodes_[n].router.set_enabled(enabled);
    nodes_[n].drive_router();
  }
  void step() {
    auto& network = static_cast<Network&>(*this);
    for (Node& node : nodes_) network.drive(node);
    for (Node& node : nodes_) drive_lines(nodes_, node);
    for (Node& node : nodes_) {
      node.model->clk_i = 0;
      node.model->eval();
      network.sample(node);
    }
    clock_nodes(nodes_, 1);
    ++cycle_;
  }

 protected:
  // `before_reset`: other than 0: registers and memories hold chance values before the reset, others for each number.
  NodeNetwork(std::size_t nodes, bool two_dimensions, int before_reset)
      : nodes_(nodes), two_dimensions_(two_dimensions) {
    if (before_reset != 0) {
      context_.randReset(2);
      context_.randSeed(before_reset);
    }
    place_nodes(nodes_, two_dimensions);
  }
  ~NodeNetwork() {
    for (Node& node : nodes_) node.model->final();
  }
  // When each node has a model: joins them, and ends their reset.
  void join(const TransceiverConfig& line) {
    join_nodes(nodes_, two_dimensions_, line);
    for (unsigned i = 0; i < 8; ++i) clock_nodes(nodes_, i % 2);
    for (Node& node : nodes_) node.model->rst_ni = node.model->ni_rst_ni = 1;
  }
  // The interface of a node is reset alone, with nothing under way at its ports.
  void reset_alone(std::size_t n) {
    nodes_[n].model->ni_rst_ni = 0;
    run(4);
    nodes_[n].model->ni_rst_ni = 1;
  }
  void take_load(Node& node) {
    const auto& m = *node.model;
    if (m.s_axi_arvalid && m.s_axi_arready) node.asks = false;
    if (!m.s_axi_rvalid) return;
    for (unsigned i = 0; i < 2; ++i)
      node.loaded[i] = m.s_axi_rdata[2 * i] | std::uint64_t{m.s_axi_rdata[2 * i + 1]} << 32;
    node.loads = false;
  }
  template <typename Record>
  static std::uint64_t value_of(const Record& record) {
    return record.raw[0] | std::uint64_t{record.raw[1]} << 32;
  }

  VerilatedContext context_;
  std::vector<Node> nodes_;
  std::uint64_t cycle_ = 0;

 private:
  bool two_dimensions_;
};

}  // namespace exanet::gateware
