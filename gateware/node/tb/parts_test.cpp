// SPDX-License-Identifier: Apache-2.0
// Is a node out of Verilated parts, of which what is idle is not evaluated, the node of
// gateware/node/rtl/exanet_node.sv? Both are driven with the same words in every cycle and must drive the same ones.
#include "gateware/node/model/parts.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "Vexanet_node.h"
#include "gateware/node/model/port.hpp"
#include "gateware/tb/placement.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kInter = NodeParts::kInter, kIntra = NodeParts::kIntra;
using Word = NodeParts::Word;

// Two nodes with two lines between them, so that packets go both ways round, twice: out of parts, and whole. The whole
// one's words go over the lines.
class Both {
 public:
  explicit Both(unsigned latency) : lines_(2 * kInter, std::deque<Line>(latency)) {
    for (unsigned n = 0; n < 2; ++n) {
      const spec::RouterConfig config = on_ring(n, 2);
      parts_.emplace_back(&context_, config.raw.data());
      whole_.push_back(std::make_unique<Vexanet_node>(&context_, "whole"));
      Vexanet_node& whole = *whole_.back();
      for (unsigned i = 0; i < 4; ++i) whole.config_i[i] = config.raw[i];
      whole.credit_threshold_i = 0;
      whole.credit_interval_i = 0;
      for (int half = 0; half < 16; ++half) {
        whole.rst_ni = half >= 8;
        whole.clk_i = half % 2;
        whole.eval();
      }
    }
  }

  PacketSource& source(unsigned n, unsigned i) { return source_[n][i]; }
  std::size_t arrived() const { return arrived_; }
  bool is_idle() const { return parts_[0].at_rest() && parts_[1].at_rest(); }

  // One cycle; `ready`: which transmitters take a word, `inter` bits a node.
  void step(unsigned ready) {
    bool arrives[2][kInter];
    Word words[2][kInter];
    for (unsigned n = 0; n < 2; ++n)
      for (unsigned p = 0; p < kInter; ++p) {
        const bool takes = (ready >> (n * kInter + p) & 1u) != 0, valid = (whole_[n]->tx_valid_o >> p & 1u) != 0;
        CHECK(valid == parts_[n].tx_valid(p));
        if (valid) CHECK(line_word(whole_[n]->tx_data_o[p]) == parts_[n].tx_data(p));
        parts_[n].set_tx_ready(p, takes);
        std::deque<Line>& line = lines_[n * kInter + p];
        line.push_back({valid && takes, valid && takes ? line_word(whole_[n]->tx_data_o[p]) : Word{}});
      }
    for (unsigned n = 0; n < 2; ++n)
      for (unsigned p = 0; p < kInter; ++p) {
        std::deque<Line>& line = lines_[(1 - n) * kInter + (1 - p)];  // upwards out of one is downwards into the other
        arrives[n][p] = line.front().valid;
        words[n][p] = line.front().word;
        line.pop_front();
      }
    for (unsigned n = 0; n < 2; ++n) {
      Vexanet_node& whole = *whole_[n];
      unsigned valid = 0;
      for (unsigned p = 0; p < kInter; ++p) {
        valid |= unsigned{arrives[n][p]} << p;
        if (!arrives[n][p]) continue;
        drive_word(whole.rx_data_i[p], words[n][p]);
        parts_[n].receive(p, words[n][p]);
      }
      drive_ports(whole.rx_valid_i, valid);
      drive_ports(whole.tx_ready_i, ready >> (n * kInter) & ((1u << kInter) - 1));
      for (unsigned i = 0; i < kIntra; ++i) {
        spec::Flit flit;
        if (!source_[n][i].idle()) {
          flit = source_[n][i].next();
          parts_[n].inject(i, flit);
        }
        for (unsigned w = 0; w < flit.raw.size(); ++w) whole.flit_i[i][w] = flit.raw[w];
      }
      whole.clk_i = 0;
      whole.eval();
      whole.clk_i = 1;
      whole.eval();
      parts_[n].edge((1u << kInter) - 1);
      unsigned release = 0;
      for (unsigned i = 0; i < kIntra; ++i) {
        spec::Flit flit;
        for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = whole.flit_o[i][w];
        const spec::Flit ours = parts_[n].ejected(i);
        CHECK(flit.valid() == ours.valid());
        if (flit.valid() != 0) CHECK(flit.raw == ours.raw);
        CHECK(whole.credit_o[i] == parts_[n].space(i));
        if (flit.valid() != 0 && sink_[n][i].accept(flit)) {
          CHECK(sink_[n][i].sound());
          ++arrived_;
          release |= 1u << i;
          parts_[n].release(i);
        }
      }
      drive_ports(whole.release_i, release);
    }
  }

 private:
  struct Line {
    bool valid = false;
    Word word{};
  };

  VerilatedContext context_;
  std::vector<NodeParts> parts_;
  std::vector<std::unique_ptr<Vexanet_node>> whole_;
  std::vector<std::deque<Line>> lines_;
  PacketSource source_[2][kIntra];
  PacketSink sink_[2][kIntra];
  std::size_t arrived_ = 0;
};

}  // namespace

// Bursts at random, then pauses of any length, in which parts fall asleep one by one; transmitters that take a word
// always, mostly, or now and then.
TEST_CASE("parts: a node out of parts drives what a whole one does") {
  std::mt19937_64 random(11);
  for (const unsigned latency : {0u, 1u, 20u})
    for (const unsigned takes_of_8 : {8u, 7u, 1u}) {
      Both both(latency);
      std::uint64_t sent = 0, idle = 0;
      for (unsigned burst = 0; burst < 30; ++burst) {
        for (unsigned packets = random() % 10; packets > 0; --packets) {
          const unsigned n = random() % 2, i = random() % kIntra;
          const bool home = random() % 8 == 0;
          both.source(n, i).send({++sent, dcid(n, 0), dcid(home ? n : 1 - n, 0),
                                  static_cast<std::uint16_t>(random() % 513), static_cast<std::uint8_t>(random() % 16),
                                  static_cast<std::uint8_t>(random() % 4 == 0), 0, 0, 0});
        }
        for (unsigned cycles = random() % (burst % 4 == 0 ? 1200 : 80); cycles > 0; --cycles) {
          unsigned ready = 0;
          for (unsigned p = 0; p < 2 * kInter; ++p) ready |= unsigned{random() % 8 < takes_of_8} << p;
          both.step(ready);
          idle += both.is_idle();
        }
      }
      for (unsigned cycles = 0; cycles < 60'000 && both.arrived() < sent; ++cycles) both.step((1u << 2 * kInter) - 1);
      CHECK(both.arrived() == sent);
      if (takes_of_8 == 8) CHECK(idle > 0);
    }
}
