// SPDX-License-Identifier: Apache-2.0
// Verilated nodes with two inter-tile ports, joined by lines in C++: as a ring; or four as a torus of two by two.
//
// A cycle's number is that of its clock edge at the end: a store is taken, and a word is on a port, in the cycle in which the edge at its end sees it.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "gateware/link/tb/transceiver.hpp"
#include "gateware/node/model/verilated_ports.hpp"
#include "gateware/tb/placement.hpp"

namespace exanet::gateware {

// What a node is joined by. `Model` is Verilator's class of it.
template <typename Model>
struct JoinedNode {
  std::unique_ptr<Model> model;
  std::uint32_t dcid = 0;
  spec::RouterConfig router;
  std::unique_ptr<Transceiver> tx[2];
  std::size_t far_node[2]{};
  unsigned far_port[2]{};
  bool stuck[2]{};  // the transceiver takes no word

  void drive_router() {
    for (unsigned i = 0; i < router.raw.size(); ++i) model->config_i[i] = router.raw[i];
  }
};

// Place and registers of each node.
template <typename Node>
void place_nodes(std::vector<Node>& nodes, bool two_dimensions) {
  REQUIRE((!two_dimensions || nodes.size() == 4));
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

}  // namespace exanet::gateware
