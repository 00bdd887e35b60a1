// SPDX-License-Identifier: Apache-2.0
// Verilated routers, one class for every node, wired in C++: what one router has on its output wires in a cycle is on
// the input wires of the next in the same cycle. Each node has a sender and a receiver at each intra-tile port.
#pragma once

#include <memory>

#include "Vexanet_router.h"
#include "gateware/tb/packet.hpp"
#include "gateware/tb/placement.hpp"
#include "verilated.h"

namespace exanet::gateware {

inline constexpr unsigned kInter = 2, kIntra = 3, kPorts = kInter + kIntra;
inline constexpr unsigned kIntraWords = 4096, kIntraHeaders = 64;

struct End {
  std::size_t node = SIZE_MAX;
  unsigned port = 0;
};

struct Node {
  explicit Node(VerilatedContext& context) : model(std::make_unique<Vexanet_router>(&context)) {
    for (unsigned i = 0; i < kIntra; ++i) senders.emplace_back(kIntraWords, kIntraHeaders);
    receivers.resize(kIntra);
  }
  std::unique_ptr<Vexanet_router> model;
  std::vector<Sender> senders;
  std::vector<Receiver> receivers;
  End far[kInter];
};

class RouterNetwork {
 public:
  explicit RouterNetwork(const std::vector<spec::RouterConfig>& configs) {
    for (const auto& config : configs) {
      Node& node = nodes_.emplace_back(context_);
      for (unsigned i = 0; i < config.raw.size(); ++i) node.model->config_i[i] = config.raw[i];
      node.model->rst_ni = 0;
    }
    for (int i = 0; i < 4; ++i) clock();
    for (Node& node : nodes_) node.model->rst_ni = 1;
    clock();
    cycle_ = 0;
  }
  ~RouterNetwork() {
    for (Node& node : nodes_) node.model->final();
  }

  // Both directions between two ports.
  void connect(End a, End b) {
    nodes_[a.node].far[a.port] = b;
    nodes_[b.node].far[b.port] = a;
  }
  Node& node(std::size_t n) { return nodes_[n]; }
  std::size_t size() const { return nodes_.size(); }
  std::uint64_t cycle() const { return cycle_; }

  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) step();
  }

  void step() {
    for (Node& node : nodes_) drive(node);
    clock();
    ++cycle_;
    for (Node& node : nodes_)
      for (unsigned i = 0; i < kIntra; ++i) {
        const spec::Flit flit = output(node, kInter + i);
        const bool done = flit.valid() && node.receivers[i].accept(flit, cycle_);
        set_release(node, kInter + i, done);
      }
  }

 private:
  static spec::Flit output(const Node& node, unsigned port) {
    spec::Flit flit;
    for (unsigned i = 0; i < flit.raw.size(); ++i) flit.raw[i] = node.model->flit_o[port][i];
    return flit;
  }
  static void set_release(Node& node, unsigned port, bool value) {
    node.model->release_i = static_cast<CData>((node.model->release_i & ~(1u << port)) | (unsigned{value} << port));
  }
  static void input(Node& node, unsigned port, const spec::Flit& flit) {
    for (unsigned i = 0; i < flit.raw.size(); ++i) node.model->flit_i[port][i] = flit.raw[i];
  }

  void drive(Node& node) {
    for (unsigned p = 0; p < kInter; ++p) {
      const End far = node.far[p];
      if (far.node == SIZE_MAX) continue;
      const Node& there = nodes_[far.node];
      input(node, p, output(there, far.port));
      for (unsigned v = 0; v < 2; ++v) node.model->credit_i[p][v] = there.model->credit_o[far.port][v];
      set_release(node, p, output(node, p).valid() && output(node, p).head());
    }
    for (unsigned i = 0; i < kIntra; ++i) {
      spec::Credit credit;
      credit.raw[0] = node.model->credit_o[kInter + i][0];
      node.senders[i].credit(credit);
      input(node, kInter + i, node.senders[i].next(cycle_));
    }
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

}  // namespace exanet::gateware
