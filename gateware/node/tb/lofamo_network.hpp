// SPDX-License-Identifier: Apache-2.0
// Verilated IPs with three links each on a grid of sides of two, driven by their registers: what LO|FA|MO is tried on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "Vlofamo_node.h"
#include "gateware/link/tb/transceiver.hpp"
#include "gateware/tb/packet.hpp"
#include "verilated.h"

namespace exanet::gateware {

// Offsets of spec/node.rdl.
enum LofamoRegister : std::uint32_t {
  kAtRouting = 0x08,
  kAtTypePort = 0x0c,
  kAtDimension = 0x10,
  kAtCredit = 0x1c,
  kAtHealth = 0x20,
  kAtInterruptsEnabled = 0x30,
  kAtInterrupts = 0x34,
  kAtHostWatchdog = 0x38,
  kAtNiWatchdog = 0x3c,
  kAtBeat = 0x40,
  kAtSilence = 0x44,
  kAtFaults = 0x48,
  kAtNeighbours = 0x4c,
  kAtFarHealth = 0x100,  // of link 0; 0x40 further of each next one
};

class LofamoNetwork {
 public:
  static constexpr unsigned kLinks = 3;
  using Done = std::function<void(std::uint32_t)>;

  struct Access {
    std::uint32_t address = 0, data = 0;
    bool write = false;
    Done done;
  };
  struct Node {
    std::unique_ptr<Vlofamo_node> model;
    Sender sender{4096, 64};
    Receiver receiver;
    std::unique_ptr<Transceiver> tx[kLinks];
    bool cut[kLinks] = {};  // what leaves by the link is lost
    bool ni_dead = false;  // neither sends nor takes packets
    std::deque<Access> accesses;
    bool asked = false;  // the first access has been taken
    unsigned held = 0;
  };

  // Nodes at the corners of a square, a cube, or two ends of a line; node n's link d leads to the one whose number
  // differs in bit d.
  LofamoNetwork(unsigned dimensions, unsigned line_cycles, unsigned interval, unsigned before_reset = 0) {
    if (before_reset != 0) {
      context_.randReset(2);
      context_.randSeed(static_cast<int>(before_reset));
    }
    for (unsigned n = 0; n < 1u << dimensions; ++n) {
      Node& node = nodes_.emplace_back();
      node.model = std::make_unique<Vlofamo_node>(&context_);
      for (unsigned d = 0; d < dimensions; ++d)
        node.tx[d] =
            std::make_unique<Transceiver>(TransceiverConfig{.latency_cycles = line_cycles, .seed = n * 3 + d + 1});
      node.model->s_axil_bready = node.model->s_axil_rready = 1;
      node.model->rst_ni = 0;
    }
    for (int i = 0; i < 4; ++i) clock();
    for (Node& node : nodes_) node.model->rst_ni = 1;
    const unsigned unused = 7u & ~((1u << dimensions) - 1);
    for (unsigned n = 0; n < nodes_.size(); ++n) {
      for (unsigned d = 0; d < 3; ++d)
        write(n, kAtDimension + 4 * d, (n >> d & 1) | (d < dimensions ? 2u : 1u) << 8 | d << 20 | d << 24);
      write(n, kAtCredit, interval << 16);
      write(n, kAtRouting, 2u | 1u << 2 | 0u << 4 | 1u << 11 | unused << 16);  // last dimension first
    }
    settle_accesses();
  }
  ~LofamoNetwork() {
    for (Node& node : nodes_) node.model->final();
  }

  Node& node(std::size_t n) { return nodes_[n]; }
  std::size_t size() const { return nodes_.size(); }
  std::uint64_t cycle() const { return cycle_; }
  static std::uint32_t address(std::size_t n) {
    return (n & 1) | (n >> 1 & 1) << 8 | static_cast<std::uint32_t>(n >> 2 & 1) << 15;
  }

  // Accesses of a node follow each other; `done` gets what was read.
  void post(std::size_t n, std::uint32_t address, bool write, std::uint32_t data, Done done = {}) {
    nodes_[n].accesses.push_back({address, data, write, std::move(done)});
  }
  void write(std::size_t n, std::uint32_t address, std::uint32_t data) { post(n, address, true, data); }
  std::uint32_t read(std::size_t n, std::uint32_t address) {
    std::uint32_t got = 0;
    bool done = false;
    post(n, address, false, 0, [&](std::uint32_t data) { got = data, done = true; });
    while (!done) step();
    return got;
  }
  void settle_accesses() {
    const auto left = [&] {
      for (const Node& node : nodes_)
        if (!node.accesses.empty()) return true;
      return false;
    };
    for (unsigned i = 0; left(); ++i, step())
      if (i > 10'000) throw std::runtime_error("a register does not answer");
  }
  bool interrupt(std::size_t n) const { return nodes_[n].model->interrupt_o; }
  // Both ways of a link.
  void cut(std::size_t n, unsigned link, bool cut) { nodes_[n].cut[link] = nodes_[n ^ 1u << link].cut[link] = cut; }

  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) step();
  }

  void step() {
    for (Node& node : nodes_) drive(node);
    for (std::size_t n = 0; n < nodes_.size(); ++n) drive_lines(n);
    for (Node& node : nodes_) settle(node);
    for (Node& node : nodes_) see_accesses(node);
    for (Node& node : nodes_) {
      node.model->clk_i = 1;
      node.model->eval();
    }
    ++cycle_;
    for (Node& node : nodes_) collect(node);
  }

  static std::uint64_t tx_word(const Vlofamo_node& m, unsigned port) {
    return m.tx_data_o[2 * port] | std::uint64_t{m.tx_data_o[2 * port + 1]} << 32;
  }

 private:
  void drive(Node& node) {
    Vlofamo_node& m = *node.model;
    m.s_axil_awvalid = m.s_axil_wvalid = m.s_axil_arvalid = 0;
    if (!node.accesses.empty() && !node.asked) {
      const Access& access = node.accesses.front();
      m.s_axil_awvalid = m.s_axil_wvalid = access.write;
      m.s_axil_arvalid = !access.write;
      m.s_axil_awaddr = m.s_axil_araddr = static_cast<SData>(access.address);
      m.s_axil_wdata = access.data;
      m.s_axil_wstrb = 0xf;
    }
    spec::Credit credit;
    credit.raw[0] = m.credit_o;
    node.sender.credit(credit);
    const spec::Flit flit = node.ni_dead ? spec::Flit{} : node.sender.next(cycle_);
    for (unsigned w = 0; w < flit.raw.size(); ++w) m.flit_i[w] = flit.raw[w];
  }

  void drive_lines(std::size_t n) {
    Node& node = nodes_[n];
    Vlofamo_node& m = *node.model;
    m.tx_ready_i = 7;
    for (unsigned d = 0; d < kLinks; ++d) {
      if (!node.tx[d]) continue;
      const bool valid = m.tx_valid_o >> d & 1u;
      auto arrived = node.tx[d]->step(valid && !node.cut[d] ? std::optional(tx_word(m, d)) : std::nullopt);
      Vlofamo_node& far = *nodes_[n ^ std::size_t{1} << d].model;
      far.rx_valid_i = static_cast<CData>((far.rx_valid_i & ~(1u << d)) | (unsigned{arrived.has_value()} << d));
      far.rx_data_i[2 * d] = static_cast<std::uint32_t>(arrived.value_or(0));
      far.rx_data_i[2 * d + 1] = static_cast<std::uint32_t>(arrived.value_or(0) >> 32);
    }
  }

  // What is offered is taken in a cycle in which it is ready before the edge, and answered some cycles later.
  void see_accesses(Node& node) {
    if (node.accesses.empty()) return;
    Vlofamo_node& m = *node.model;
    Access& access = node.accesses.front();
    if (!node.asked) {
      node.asked = access.write ? m.s_axil_awready && m.s_axil_wready : m.s_axil_arready;
    } else if (access.write ? m.s_axil_bvalid : m.s_axil_rvalid) {
      const Done done = std::move(access.done);
      const std::uint32_t data = m.s_axil_rdata;
      node.accesses.pop_front();
      node.asked = false;
      if (done) done(data);
    }
  }

  void collect(Node& node) {
    spec::Flit flit;
    for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = node.model->flit_o[w];
    node.held += flit.valid() && node.receiver.accept(flit, cycle_);
    const bool release = node.held > 0 && !node.ni_dead;
    node.held -= release;
    node.model->release_i = release;
  }

  static void settle(Node& node) {
    node.model->clk_i = 0;
    node.model->eval();
  }
  void clock() {
    for (Node& node : nodes_) settle(node);
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
