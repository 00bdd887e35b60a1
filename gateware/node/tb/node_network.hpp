// SPDX-License-Identifier: Apache-2.0
// Verilated nodes (router and links), one class for every node, joined by transceivers in C++.
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "Vexanet_node.h"
#include "gateware/link/tb/transceiver.hpp"
#include "gateware/node/model/verilated_ports.hpp"
#include "gateware/tb/packet.hpp"
#include "gateware/tb/placement.hpp"
#include "verilated.h"

#if EXANET_VARIANTS
#include "Vexanet_node_wide.h"
#endif

namespace exanet::gateware {

template <typename Model>
class NodeNetworkOf {
 public:
  static constexpr unsigned kInter = NodeShape<Model>::kInter, kIntra = NodeShape<Model>::kIntra;
  using LineWord = typename NodeShape<Model>::Word;

  struct Node {
    std::unique_ptr<Model> model;
    std::vector<Sender> senders;
    std::vector<Receiver> receivers;
    std::unique_ptr<LineTransceiver<LineWord>> tx[kInter];  // the line that leaves each port
    std::size_t far_node[kInter]{};
    unsigned far_port[kInter]{};
    bool stuck = false;  // takes packets and releases none
    unsigned held[kIntra]{};

    spec::LinkCounters counters(unsigned port) const {
      spec::LinkCounters counters;
      for (unsigned i = 0; i < counters.raw.size(); ++i) counters.raw[i] = model->counters_o[port][i];
      return counters;
    }
  };

  // `before_reset` other than 0: registers and memories hold chance values before the reset, others for each number.
  NodeNetworkOf(const std::vector<spec::RouterConfig>& configs, unsigned credit_threshold, unsigned credit_interval,
                int before_reset = 0) {
    if (before_reset != 0) {
      context_.randReset(2);
      context_.randSeed(before_reset);
    }
    for (const auto& config : configs) {
      Node& node = nodes_.emplace_back();
      node.model = std::make_unique<Model>(&context_);
      for (unsigned i = 0; i < kIntra; ++i) node.senders.emplace_back(4096, 64);
      node.receivers.resize(kIntra);
      for (unsigned i = 0; i < config.raw.size(); ++i) node.model->config_i[i] = config.raw[i];
      node.model->credit_threshold_i = static_cast<SData>(credit_threshold);
      node.model->credit_interval_i = static_cast<SData>(credit_interval);
      node.model->health_i = 0;
      node.model->release_i = 0;
      node.model->tx_ready_i = 0;
      node.model->rx_valid_i = 0;
      node.model->down_i = 0;
      node.model->drain_i = 0;
      node.model->restart_i = 0;
      for (unsigned p = 0; p < kInter; ++p) drive_word(node.model->rx_data_i[p], LineWord{});
      for (unsigned i = 0; i < kIntra; ++i)
        for (unsigned w = 0; w < spec::Flit{}.raw.size(); ++w) node.model->flit_i[i][w] = 0;
      node.model->rst_ni = 0;
    }
    for (int i = 0; i < 4; ++i) clock();
    for (Node& node : nodes_) node.model->rst_ni = 1;
    clock();
  }
  ~NodeNetworkOf() {
    for (Node& node : nodes_) node.model->final();
  }

  void connect(std::size_t a, unsigned a_port, std::size_t b, unsigned b_port, TransceiverConfig config) {
    join(a, a_port, b, b_port, config);
    config.seed += 1000;
    join(b, b_port, a, a_port, config);
  }
  Node& node(std::size_t n) { return nodes_[n]; }
  std::size_t size() const { return nodes_.size(); }
  std::uint64_t cycle() const { return cycle_; }
  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) step();
  }

  void step() {
    for (Node& node : nodes_) drive_intra(node);
    for (Node& node : nodes_) drive_lines(node);
    clock();
    ++cycle_;
    for (Node& node : nodes_) collect(node);
  }

 private:
  void join(std::size_t from, unsigned from_port, std::size_t to, unsigned to_port, const TransceiverConfig& config) {
    nodes_[from].tx[from_port] = std::make_unique<LineTransceiver<LineWord>>(config);
    nodes_[from].far_node[from_port] = to;
    nodes_[from].far_port[from_port] = to_port;
  }

  void drive_intra(Node& node) {
    for (unsigned i = 0; i < kIntra; ++i) {
      spec::Credit credit;
      credit.raw[0] = node.model->credit_o[i];
      node.senders[i].credit(credit);
      const spec::Flit flit = node.senders[i].next(cycle_);
      for (unsigned w = 0; w < flit.raw.size(); ++w) node.model->flit_i[i][w] = flit.raw[w];
    }
  }

  void drive_lines(Node& node) {
    node.model->tx_ready_i = 0;
    for (unsigned p = 0; p < kInter; ++p) {
      if (!node.tx[p]) continue;
      // Whether a word is offered does not depend on ready, so it can be read before.
      node.model->tx_ready_i |= static_cast<CData>(unsigned{node.tx[p]->ready()} << p);
      const bool valid = node.model->tx_valid_o >> p & 1u;
      const auto arrived = node.tx[p]->step(valid ? std::optional(line_word(node.model->tx_data_o[p])) : std::nullopt);
      Model& far = *nodes_[node.far_node[p]].model;
      const unsigned q = node.far_port[p];
      far.rx_valid_i = static_cast<CData>((far.rx_valid_i & ~(1u << q)) | (unsigned{arrived.has_value()} << q));
      drive_word(far.rx_data_i[q], arrived.value_or(LineWord{}));
    }
  }

  void collect(Node& node) {
    unsigned release = 0;
    for (unsigned i = 0; i < kIntra; ++i) {
      spec::Flit flit;
      for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = node.model->flit_o[i][w];
      node.held[i] += flit.valid() && node.receivers[i].accept(flit, cycle_);
      if (node.held[i] > 0 && !node.stuck) {
        --node.held[i];
        release |= 1u << i;
      }
    }
    node.model->release_i = static_cast<CData>(release);
  }

  void clock() {
    for (Node& node : nodes_) {
      node.model->clk_i = 0;
      node.model->eval();
    }
    for (Node& node : nodes_) {
      node.model->clk_i = 1;
      node.model->eval();
    }
  }

  VerilatedContext context_;
  std::vector<Node> nodes_;
  std::uint64_t cycle_ = 0;
};

using VerilatedNetwork = NodeNetworkOf<Vexanet_node>;           // two inter-tile and three intra-tile ports
#if EXANET_VARIANTS
using WideNodeNetwork = NodeNetworkOf<Vexanet_node_wide>;  // four and two, and links of four lanes
#define EXANET_NODE_NETWORKS VerilatedNetwork, WideNodeNetwork
#else
#define EXANET_NODE_NETWORKS VerilatedNetwork
#endif

// Two nodes and one link.
template <typename Network>
struct PairOf {
  Network network;
  std::mt19937_64 random{1};

  explicit PairOf(TransceiverConfig config, unsigned credit_threshold = 0, unsigned credit_interval = 256)
      : network({two_by_two(0, 0), two_by_two(1, 0)}, credit_threshold, credit_interval) {
    network.connect(0, 0, 1, 0, config);
  }
  void send(unsigned from, unsigned port, unsigned packets, unsigned bytes) {
    for (unsigned i = 0; i < packets; ++i)
      network.node(from).senders[port].push(make_packet(dcid(from, 0), dcid(1 - from, 0), port, bytes, i, random));
  }
  // Payload share of the line's rate at one receiver after a warm-up, in percent.
  double efficiency(unsigned node, unsigned port, std::size_t warm_up) {
    const auto& a = network.node(node).receivers[port].arrivals;
    REQUIRE(a.size() > warm_up + 1);
    const double line_words =
        128.0 / kLineBits<typename Network::LineWord> * static_cast<double>(a[0].packet.payload.size());
    return 100 * static_cast<double>(a.size() - 1 - warm_up) * line_words /
           static_cast<double>(a.back().tail_cycle - a[warm_up].tail_cycle);
  }
  std::size_t unsound(unsigned node, unsigned port) {
    std::size_t bad = 0;
    for (const Arrival& arrival : network.node(node).receivers[port].arrivals) bad += !arrival.sound;
    return bad;
  }
};

}  // namespace exanet::gateware
