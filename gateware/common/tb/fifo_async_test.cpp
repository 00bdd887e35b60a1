// SPDX-License-Identifier: Apache-2.0
// The FIFO between two clocks, at drawn ratios, phases and pauses of either clock: order and content are kept, of the
// words that it is ready for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>

#include "Vfifo_async.h"
#include "gateware/common/tb/clocks.hpp"
#include "verilated.h"

using namespace exanet::gateware;

namespace {

struct Crossing {
  VerilatedContext context;
  Vfifo_async fifo{&context};
  std::mt19937_64 random;
  std::deque<std::uint64_t> in_it;
  std::uint64_t taken = 0, lost = 0, handed_out = 0, wrong = 0;
  std::size_t most = 0;
  double write_share = 1, read_share = 1;

  explicit Crossing(std::uint64_t seed) : random(seed) {
    for (const int reset : {0, 1}) {
      fifo.write_rst_ni = fifo.read_rst_ni = static_cast<CData>(reset);
      fifo.eval();
    }
  }
  ~Crossing() { fifo.final(); }

  double draw() { return std::uniform_real_distribution<double>()(random); }

  // Inputs change behind the clock's edge, as those of registers do.
  void write_edge() {
    if (fifo.write_i && fifo.ready_o) {
      in_it.push_back(fifo.data_i);
      ++taken;
    }
    lost += fifo.write_i && !fifo.ready_o;
    most = std::max(most, in_it.size());
    fifo.write_clk_i = 1;
    fifo.eval();
    fifo.write_i = draw() < write_share;
    fifo.data_i = random();
    fifo.write_clk_i = 0;
    fifo.eval();
  }
  void read_edge() {
    if (fifo.read_i && fifo.valid_o) {
      ++handed_out;
      wrong += in_it.empty() || in_it.front() != fifo.data_o;
      if (!in_it.empty()) in_it.pop_front();
    }
    fifo.read_clk_i = 1;
    fifo.eval();
    fifo.read_clk_i = 0;
    fifo.eval();
    fifo.read_i = fifo.valid_o && draw() < read_share;
    fifo.eval();
  }
  void run(Clock write, Clock read, std::uint64_t words) {
    const std::uint64_t until = taken + words;
    for (std::uint64_t edges = 0; taken < until && edges < 100 * words; ++edges) {
      if (write.next() <= read.next()) {
        write_edge();
        write.advance(random);
      } else {
        read_edge();
        read.advance(random);
      }
    }
    REQUIRE(taken >= until);
    fifo.write_i = 0;
    read_share = 1;
    for (int i = 0; i < 40; ++i) {
      write_edge();
      fifo.write_i = 0;
      read_edge();
    }
    CHECK(in_it.size() == 0);
    CHECK(handed_out == taken);
    CHECK(wrong == 0);
    CHECK(most <= 9);
  }
};

}  // namespace

TEST_CASE("clocks: a FIFO between them keeps order and content at any ratio, phase and pause") {
  std::mt19937_64 random{1};
  const double ratios[] = {1 - 200e-6, 1 - 1e-6, 1, 1 + 200e-6, 2, 0.5, 3, 1.0 / 3, 1.37};
  for (const double ratio : ratios)
    for (const double pauses : {0.0, 0.02}) {
      CAPTURE(ratio);
      CAPTURE(pauses);
      Crossing crossing{random()};
      crossing.write_share = pauses > 0 ? crossing.draw() : 1;
      crossing.read_share = pauses > 0 ? crossing.draw() : 1;
      crossing.run({1000, crossing.draw() * 1000, pauses}, {1000 * ratio, crossing.draw() * 1000, pauses}, 2000);
      if (ratio > 1.01 && pauses == 0) CHECK(crossing.lost > 0);  // the reader is slower: the rest is reported
      if (ratio < 0.99 && pauses == 0) CHECK(crossing.lost == 0);
    }
}

// As on a line that has a gap a thousand words: the gaps make up for clocks that differ by 400 parts in a million.
TEST_CASE("clocks: words with a gap in 1024 cross at plus and minus 200 ppm without loss") {
  for (const double ratio : {(1 + 200e-6) / (1 - 200e-6), (1 - 200e-6) / (1 + 200e-6)}) {
    Crossing crossing{7};
    std::uint64_t gaps = 0;
    Clock write{1000, 0, 0}, read{1000 * ratio, 313, 0};
    for (std::uint64_t n = 0; crossing.taken < 120'000;) {
      if (write.next() <= read.next()) {
        crossing.write_edge();
        crossing.fifo.write_i = ++n % 1024 != 0;
        gaps += !crossing.fifo.write_i;
        write.advance(crossing.random);
      } else {
        crossing.read_edge();
        read.advance(crossing.random);
      }
    }
    MESSAGE("ratio " << ratio << ": " << crossing.taken << " words, " << gaps << " gaps, at most " << crossing.most
                     << " in the FIFO");
    CHECK(crossing.lost == 0);
    CHECK(crossing.wrong == 0);
    // Without the gaps some are lost when the reader is the slower one: the gaps are what makes up for it.
    if (ratio > 1) {
      Crossing full{7};
      full.run({1000, 0, 0}, {1000 * ratio, 313, 0}, 120'000);
      CHECK(full.lost > 0);
    }
  }
}
