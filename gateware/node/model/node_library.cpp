// SPDX-License-Identifier: Apache-2.0
// A network of Verilated nodes as a shared library: one Verilated class for every node, joined by lines, behind core/spec/node_library.h.
//
// Every boundary of a node is registered, so within a cycle nodes do not depend on each other: each is evaluated once a clock edge. A node that has
// been still for kRest cycles is at rest: further edges would leave it as it is, so it is not evaluated until a word comes. Limit: nothing in a
// node may count cycles while it is still, which is why the repetition of credits (credit_interval_i) is off.
#include <algorithm>
#include <memory>
#include <vector>

#include "Vexanet_node.h"
#include "gateware/node/model/line.hpp"
#include "gateware/node/model/port.hpp"
#include "gateware/node/model/verilated_ports.hpp"

namespace {

using namespace exanet;
using namespace exanet::gateware;

using Word = NodeShape<Vexanet_node>::Word;
constexpr unsigned kInter = NodeShape<Vexanet_node>::kInter, kIntra = NodeShape<Vexanet_node>::kIntra;
constexpr unsigned kRest = 64;  // longer than any pipeline of the node
constexpr std::uint32_t kNone = 0xffffffffu;

struct Node {
  std::unique_ptr<Vexanet_node> model;
  PacketSource source[kIntra];
  PacketSink sink[kIntra];
  std::uint32_t out[kInter], in[kInter];  // lines
  unsigned plugged = 0;  // ports with a line out; at the others the first word of a link waits for ever
  unsigned sending = 0;  // sources that are not idle
  unsigned still = 0;  // cycles without a word at any port

  bool at_rest() const { return still >= kRest && sending == 0; }
};

}  // namespace

struct exanet_nodes {
  exanet_nodes(std::uint32_t nodes, const std::uint32_t* registers, std::uint32_t lines, const exanet_line* line);
  ~exanet_nodes() {
    for (Node& node : nodes_) node.model->final();
  }

  void send(std::uint32_t node, std::uint32_t port, const exanet_node_packet& packet) {
    PacketSource& source = nodes_[node].source[port];
    nodes_[node].sending += source.idle();
    source.send(packet);
  }
  void step();
  bool at_rest() const;

  std::vector<exanet_arrival> arrivals_;
  std::vector<exanet_room> room_;
  std::vector<Line<Word>> lines_;

 private:
  void drive(Node& node);
  void collect(std::uint32_t number);

  VerilatedContext context_;
  std::vector<Node> nodes_;
  std::uint64_t cycle_ = 0;
};

exanet_nodes::exanet_nodes(std::uint32_t nodes, const std::uint32_t* registers, std::uint32_t lines,
                           const exanet_line* line)
    : nodes_(nodes) {
  lines_.reserve(lines);
  for (Node& node : nodes_) {
    std::fill(std::begin(node.out), std::end(node.out), kNone);
    std::fill(std::begin(node.in), std::end(node.in), kNone);
    node.model = std::make_unique<Vexanet_node>(&context_, "node");
    for (unsigned i = 0; i < 4; ++i) node.model->config_i[i] = *registers++;
    node.model->credit_threshold_i = 0;
    node.model->credit_interval_i = 0;
  }
  for (std::uint32_t i = 0; i < lines; ++i) {
    lines_.emplace_back(line[i]);
    nodes_[line[i].from].out[line[i].from_port] = i;
    nodes_[line[i].from].plugged |= 1u << line[i].from_port;
    nodes_[line[i].to].in[line[i].to_port] = i;
  }
  for (int edge = 0; edge < 8; ++edge) {
    for (Node& node : nodes_) {
      node.model->rst_ni = edge >= 4;
      node.model->clk_i = 0;
      node.model->eval();
      node.model->clk_i = 1;
      node.model->eval();
    }
  }
}

void exanet_nodes::step() {
  arrivals_.clear();
  room_.clear();
  for (Node& node : nodes_) {
    if (node.at_rest()) continue;
    unsigned ready = 0;
    for (unsigned p = 0; p < kInter; ++p) {
      if (node.out[p] == kNone) continue;
      Line<Word>& line = lines_[node.out[p]];
      ready |= unsigned{line.ready()} << p;
      // Whether a word is offered does not depend on ready, so it can be read before.
      line.put(cycle_, node.model->tx_valid_o >> p & 1u, line_word(node.model->tx_data_o[p]));
    }
    drive_ports(node.model->tx_ready_i, ready);
  }
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    drive(node);
    if (node.at_rest()) continue;
    node.model->clk_i = 0;
    node.model->eval();
    node.model->clk_i = 1;
    node.model->eval();
    collect(n);
  }
  ++cycle_;
}

// The inputs of the coming edge: words of the lines and of the network interface.
void exanet_nodes::drive(Node& node) {
  unsigned valid = 0;
  for (unsigned p = 0; p < kInter; ++p) {
    if (node.in[p] == kNone || lines_[node.in[p]].empty()) continue;
    Word word{};
    if (!lines_[node.in[p]].take(cycle_, word)) continue;
    valid |= 1u << p;
    drive_word(node.model->rx_data_i[p], word);
  }
  if (valid != 0) node.still = 0;
  if (node.at_rest()) return;
  drive_ports(node.model->rx_valid_i, valid);
  for (unsigned i = 0; i < kIntra; ++i) {
    spec::Flit flit;
    if (!node.source[i].idle()) {
      flit = node.source[i].next();
      node.sending -= node.source[i].idle();
      node.still = 0;
    }
    for (unsigned w = 0; w < flit.raw.size(); ++w) node.model->flit_i[i][w] = flit.raw[w];
  }
}

// Words that the edge has brought to the outputs. The network interface takes every word, and gives the slot back with the last.
void exanet_nodes::collect(std::uint32_t number) {
  Node& node = nodes_[number];
  unsigned release = 0;
  bool moving = (node.model->tx_valid_o & node.plugged) != 0;
  for (unsigned i = 0; i < kIntra; ++i) {
    spec::Flit flit;
    for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = node.model->flit_o[i][w];
    moving |= flit.valid();
    if (flit.valid() && node.sink[i].accept(flit)) {
      release |= 1u << i;
      arrivals_.push_back({node.sink[i].id(), number, i, node.sink[i].sound()});
    }
    spec::Credit credit;
    credit.raw[0] = node.model->credit_o[i];
    if (credit.raw[0] != 0) {
      room_.push_back(
          {number, i, static_cast<std::uint32_t>(credit.words()), static_cast<std::uint32_t>(credit.headers())});
      moving = true;
    }
  }
  drive_ports(node.model->release_i, release);
  node.still = moving ? 0 : node.still + 1;
}

bool exanet_nodes::at_rest() const {
  for (const auto& line : lines_)
    if (!line.empty()) return false;
  for (const Node& node : nodes_)
    if (!node.at_rest()) return false;
  return true;
}

namespace {

const exanet_node_library_calls kCalls = {
    EXANET_NODE_LIBRARY_VERSION,
    kInter,
    kIntra,
    kLineBits<Word>,
    [](std::uint32_t nodes, const std::uint32_t* registers, std::uint32_t lines, const exanet_line* line) {
      return new exanet_nodes(nodes, registers, lines, line);
    },
    [](exanet_nodes* nodes) { delete nodes; },
    [](exanet_nodes* nodes, std::uint32_t node, std::uint32_t port, const exanet_node_packet* packet) {
      nodes->send(node, port, *packet);
    },
    [](exanet_nodes* nodes) { nodes->step(); },
    [](const exanet_nodes* nodes, const exanet_arrival** first) {
      *first = nodes->arrivals_.data();
      return static_cast<std::uint32_t>(nodes->arrivals_.size());
    },
    [](const exanet_nodes* nodes, const exanet_room** first) {
      *first = nodes->room_.data();
      return static_cast<std::uint32_t>(nodes->room_.size());
    },
    [](const exanet_nodes* nodes) { return static_cast<int>(nodes->at_rest()); },
    [](const exanet_nodes* nodes, std::uint32_t line, exanet_line_counts* counts) {
      *counts = nodes->lines_[line].counts;
    },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const exanet_node_library_calls* exanet_node_library() {
  return &kCalls;
}
