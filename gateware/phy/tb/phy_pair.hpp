// SPDX-License-Identifier: Apache-2.0
// Two nodes with a transceiver each, a cable between them, and six clocks: each node's core, its transmitter, and the
// receiver that follows the other's transmitter with a phase of its own.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>

#include "Vphy_node.h"
#include "gateware/common/tb/clocks.hpp"
#include "gateware/node/include/node_registers.h"
#include "gateware/phy/tb/serial_line.hpp"
#include "gateware/tb/packet.hpp"
#include "verilated.h"

#if EXANET_VARIANTS
#include "Vphy_lanes.h"
#endif

namespace exanet::gateware {

struct PhyConfig {
  double core_ppm[2] = {100, -100}, line_ppm[2] = {-100, 100};  // of each node's core, and of its transmitter
  double line_clock = 0;  // MHz, of the words; 0: that of the code
  unsigned latency_words = 40, skew = 4;
  double bit_error_rate = 0;
  std::uint64_t seed = 1;
};

// The codes of a line: 64b/66b, and 8b/10b on four lanes. Clocks in MHz; the cores have 156.25.
struct Scrambled {
  using Model = Vphy_node;
  static constexpr unsigned kLanes = 1, kBits = 64, kPayloadWords = 64;  // bits of a lane's bus; words of 512 bytes
  static constexpr double kClock = 161.1328125;  // 10.3125 Gb/s
  static std::uint64_t sent(const QData& bus, unsigned) { return bus; }
  static void receive(QData& bus, unsigned, std::uint64_t word) { bus = word; }
};
#if EXANET_VARIANTS
struct FourLanes {
  using Model = Vphy_lanes;
  static constexpr unsigned kLanes = 4, kBits = 40, kPayloadWords = 32;
  static constexpr double kClock = 156.25;  // 6.25 Gb/s a lane
  static std::uint64_t sent(const VlWide<5>& bus, unsigned lane) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < kBits; ++i) word |= std::uint64_t{bus[at(lane, i) / 32] >> at(lane, i) % 32 & 1} << i;
    return word;
  }
  static void receive(VlWide<5>& bus, unsigned lane, std::uint64_t word) {
    for (unsigned i = 0; i < kBits; ++i) {
      const EData bit = EData{1} << at(lane, i) % 32;
      bus[at(lane, i) / 32] = (bus[at(lane, i) / 32] & ~bit) | (word >> i & 1 ? bit : 0);
    }
  }

 private:
  static unsigned at(unsigned lane, unsigned bit) { return lane * kBits + bit; }
};
#define EXANET_LINE_CODES Scrambled, FourLanes
#else
#define EXANET_LINE_CODES Scrambled
#endif

template <class Code>
class PhyPair {
 public:
  using Model = typename Code::Model;
  struct Node {
    std::unique_ptr<Model> model;
    Sender sender{4096, 64};
    Receiver receiver;
    std::uint64_t cycle = 0;
    bool in_reset = true, stuck = false;
    unsigned held = 0;
  };

  explicit PhyPair(const PhyConfig& config) : random(config.seed) {
    const double core = 1e6 / 156.25, line = 1e6 / (config.line_clock > 0 ? config.line_clock : Code::kClock);
    for (unsigned n = 0; n < 2; ++n) {
      Node& node = nodes_[n];
      node.model = std::make_unique<Model>(&context_);
      node.model->rx_signal_i = 1;
      node.model->rst_ni = 1;
      node.model->eval();
      node.model->rst_ni = 0;
      node.model->eval();
      cables_.emplace_back(Code::kLanes, Code::kBits, config.latency_words, Code::kLanes > 1 ? config.skew : 0,
                           config.bit_error_rate, config.seed + 77 * n);
      const double own = line / (1 + config.line_ppm[n] * 1e-6), far = line / (1 + config.line_ppm[1 - n] * 1e-6);
      clocks_.emplace_back(core / (1 + config.core_ppm[n] * 1e-6), draw() * core);
      clocks_.emplace_back(own, draw() * own);
      clocks_.emplace_back(far, draw() * far);
    }
    for (unsigned n = 0; n < 2; ++n) start(n);
  }
  ~PhyPair() {
    for (Node& node : nodes_) node.model->final();
  }

  // Out of reset and configured; its network interface begins anew.
  void start(unsigned n) {
    Node& node = nodes_[n];
    run(10);
    node.in_reset = false;
    node.model->rst_ni = 1;
    run(10);
    write(n, 0x10, n | 2 << 8);  // place and side; both ways lead to port 0
    write(n, 0x30, 0x3ffff);  // interrupts: down and up
    write(n, 0x08, 0 | 1 << 2 | 2 << 4 | 1 << 11);  // order of dimensions, enabled
  }
  void stop(unsigned n) {
    Node& node = nodes_[n];
    node.in_reset = true;
    node.model->rst_ni = 0;
    node.model->eval();
    node.sender = Sender{4096, 64};
    auto arrivals = std::move(node.receiver.arrivals);
    node.receiver = Receiver{};
    node.receiver.arrivals = std::move(arrivals);
    node.held = 0;
  }
  // The cable, or one way of it; `reported`: the transceiver says that there is no signal.
  void plug(unsigned to, bool plugged, bool reported) {
    cables_[1 - to].plug(plugged);
    nodes_[to].model->rx_signal_i = plugged || !reported;
  }
  void stop_receive_clock(unsigned n, bool stopped) { stopped_[n] = stopped; }

  Node& node(unsigned n) { return nodes_[n]; }
  Cable& line(unsigned from) { return cables_[from]; }

  // So many edges of the first node's core.
  void run(std::uint64_t cycles) {
    for (const std::uint64_t until = nodes_[0].cycle + cycles; nodes_[0].cycle < until;) step();
  }

  void write(unsigned n, std::uint32_t address, std::uint32_t data) {
    Model& m = *nodes_[n].model;
    m.s_axil_awaddr = static_cast<SData>(address);
    m.s_axil_wdata = data;
    m.s_axil_awvalid = m.s_axil_wvalid = 1;
    m.eval();
    wait(n, [&] { return m.s_axil_awready && m.s_axil_wready; });
    edge_of(n);
    m.s_axil_awvalid = m.s_axil_wvalid = 0;
    wait(n, [&] { return m.s_axil_bvalid; });
    edge_of(n);
  }
  std::uint32_t read(unsigned n, std::uint32_t address) {
    Model& m = *nodes_[n].model;
    m.s_axil_araddr = static_cast<SData>(address);
    m.s_axil_arvalid = 1;
    m.eval();
    wait(n, [&] { return m.s_axil_arready; });
    edge_of(n);
    m.s_axil_arvalid = 0;
    wait(n, [&] { return m.s_axil_rvalid; });
    const std::uint32_t data = m.s_axil_rdata;
    edge_of(n);
    return data;
  }
  std::uint32_t counter(unsigned n, unsigned offset) { return read(n, 0x100 + offset); }
  bool up(unsigned n) { return read(n, 0x2C) & 1; }
  bool both_up() { return up(0) && up(1); }
  void clear_interrupts(unsigned n) { write(n, 0x34, 0x7ffffff); }
  // Cycles of a node's core until its interrupt; a limit is a failure.
  std::uint64_t until_interrupt(unsigned n, std::uint64_t limit) {
    const std::uint64_t begin = nodes_[n].cycle;
    while (!nodes_[n].model->interrupt_o && nodes_[n].cycle - begin <= limit) step();
    return nodes_[n].cycle - begin;
  }

  std::mt19937_64 random;

 private:
  double draw() { return std::uniform_real_distribution<double>()(random); }

  template <typename Done>
  void wait(unsigned n, Done&& done) {
    for (int i = 0; !done(); ++i) {
      REQUIRE(i < 1000);
      edge_of(n);
    }
  }
  void edge_of(unsigned n) {
    for (const std::uint64_t now = nodes_[n].cycle; nodes_[n].cycle == now;) step();
    nodes_[n].model->eval();
  }

  void step() {
    unsigned first = 0;
    for (unsigned i = 1; i < clocks_.size(); ++i)
      if (clocks_[i].next() < clocks_[first].next()) first = i;
    clocks_[first].advance(random);
    const unsigned n = first / 3;
    Model& m = *nodes_[n].model;
    if (first % 3 == 0) {
      core_edge(nodes_[n]);
    } else if (first % 3 == 1) {
      for (unsigned lane = 0; lane < Code::kLanes; ++lane) cables_[n].lane(lane).put(Code::sent(m.tx_data_o, lane));
      m.tx_clk_i = 1;
      m.eval();
      m.tx_clk_i = 0;
      m.eval();
    } else {
      std::uint64_t words[Code::kLanes];
      for (unsigned lane = 0; lane < Code::kLanes; ++lane) words[lane] = cables_[1 - n].lane(lane).take();
      if (stopped_[n]) return;
      m.rx_clk_i = 1;
      m.eval();
      for (unsigned lane = 0; lane < Code::kLanes; ++lane) Code::receive(m.rx_data_i, lane, words[lane]);
      m.rx_clk_i = 0;
      m.eval();
    }
  }

  void core_edge(Node& node) {
    Model& m = *node.model;
    if (!node.in_reset) {
      spec::Credit credit;
      credit.raw[0] = m.credit_o;
      node.sender.credit(credit);
    }
    const spec::Flit flit = node.in_reset ? spec::Flit{} : node.sender.next(node.cycle);
    for (unsigned w = 0; w < flit.raw.size(); ++w) m.flit_i[w] = flit.raw[w];
    m.clk_i = 0;
    m.eval();
    m.clk_i = 1;
    m.eval();
    ++node.cycle;
    m.release_i = 0;
    if (node.in_reset) return;
    spec::Flit out;
    for (unsigned w = 0; w < out.raw.size(); ++w) out.raw[w] = m.flit_o[w];
    node.held += out.valid() && node.receiver.accept(out, node.cycle);
    if (node.held > 0 && !node.stuck) {
      --node.held;
      m.release_i = 1;
    }
  }

  VerilatedContext context_;
  Node nodes_[2];
  std::vector<Cable> cables_;  // from each node
  std::vector<Clock> clocks_;  // core, transmit and receive of each node
  bool stopped_[2]{};
};

}  // namespace exanet::gateware
