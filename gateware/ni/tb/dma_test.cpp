// SPDX-License-Identifier: Apache-2.0
// Frames of a DMA engine through ni_dma_send and ni_dma_receive, at random rates. The modules' own assertions check the
// rules of the streams.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "Vdma_loop.h"
#include "verilated.h"

namespace {

struct Beat {
  std::array<std::uint32_t, 4> data{};
  unsigned keep = 0;
  bool last = false;
  bool operator==(const Beat&) const = default;
};

// Two beats with what TUSER has, 176 bits and zeros, and then payload beats.
std::vector<Beat> frame(unsigned payload, unsigned final_keep, std::mt19937_64& random) {
  std::vector<Beat> beats(2 + payload);
  for (Beat& beat : beats) {
    for (auto& word : beat.data) word = static_cast<std::uint32_t>(random());
    beat.keep = 0xffff;
  }
  beats[1].data[1] &= 0xffff;
  beats[1].data[2] = beats[1].data[3] = 0;
  if (payload > 0) beats.back().keep = final_keep;
  beats.back().last = true;
  return beats;
}

}  // namespace

TEST_CASE("ni_dma: frames come back as they were, empty ones among them, and those of one beat are dropped") {
  VerilatedContext context;
  Vdma_loop loop(&context);
  std::mt19937_64 random(7);
  std::deque<Beat> waiting;
  std::vector<Beat> expected, arrived;
  for (unsigned i = 0; i < 500; ++i) {
    const auto made = frame(i % 34 == 33 ? 0 : i % 34, (2u << random() % 16) - 1, random);
    expected.insert(expected.end(), made.begin(), made.end());
    waiting.insert(waiting.end(), made.begin(), made.end());
    if (i % 10 == 0) {  // no packet: it ends before its header does
      waiting.push_back(made.front());
      waiting.back().last = true;
    }
  }
  loop.rst_ni = 0;
  unsigned wrong_user = 0, held_up = 0;
  bool begins = true, second = false;
  for (unsigned cycle = 0; cycle < 60'000 && arrived.size() < expected.size(); ++cycle) {
    loop.clk_i = 0;
    loop.eval();
    const bool taken = loop.s_axis_tvalid && loop.s_axis_tready;
    held_up += loop.m_axis_tvalid && !loop.m_axis_tready;
    if (loop.m_axis_tvalid && loop.m_axis_tready) {
      Beat beat;
      for (unsigned i = 0; i < 4; ++i) beat.data[i] = loop.m_axis_tdata[i];
      beat.keep = loop.m_axis_tkeep;
      beat.last = loop.m_axis_tlast;
      arrived.push_back(beat);
      for (unsigned i = 0; i < 4; ++i) wrong_user += begins && loop.user_o[i] != beat.data[i];
      for (unsigned i = 0; i < 2; ++i) wrong_user += second && loop.user_o[4 + i] != beat.data[i];
      second = begins;
      begins = beat.last;
    }
    loop.clk_i = 1;
    loop.eval();
    loop.rst_ni = cycle > 2;
    if (taken) {
      waiting.pop_front();
      loop.s_axis_tvalid = 0;
    }
    if (loop.rst_ni && !loop.s_axis_tvalid && !waiting.empty() && random() % 4 != 0) {
      const Beat& beat = waiting.front();
      loop.s_axis_tvalid = 1;
      for (unsigned i = 0; i < 4; ++i) loop.s_axis_tdata[i] = beat.data[i];
      loop.s_axis_tkeep = static_cast<SData>(beat.keep);
      loop.s_axis_tlast = beat.last;
    }
    loop.m_axis_tready = random() % 3 != 0;
  }
  loop.final();
  CHECK(arrived == expected);
  CHECK(wrong_user == 0);
  CHECK(held_up > 1000);
}
