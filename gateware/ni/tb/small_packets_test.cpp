// SPDX-License-Identifier: Apache-2.0
// ni_ports of a router whose largest packet is small: frames of all lengths arrive, or are refused and counted.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "Vport_pair_1.h"
#include "Vport_pair_16.h"
#include "Vport_pair_24.h"
#include "core/spec/packet.hpp"
#include "gateware/tb/placement.hpp"
#include "verilated.h"

using namespace exanet;
using namespace exanet::gateware;

namespace {

struct Beat {
  std::array<std::uint32_t, 4> data{};
  unsigned keep = 0;
  bool last = false;
  bool operator==(const Beat&) const = default;
};

// Frames of up to two words more than a packet has, from one port to the other; the slave stalls.
template <typename Model>
void try_frames(unsigned most_words) {
  constexpr unsigned kFrames = 3000;
  VerilatedContext context;
  Model model(&context);
  std::mt19937_64 random(most_words);
  spec::RouterConfig config;
  config.set_enabled(1);
  for (unsigned d = 0; d < 3; ++d) config.set_side(d, 1), config.set_order(d, 2 - d);
  for (unsigned kind = 0; kind < 16; ++kind) config.set_type_port(kind, 1);
  for (unsigned i = 0; i < config.raw.size(); ++i) model.config_i[i] = config.raw[i];
  std::vector<Beat> waiting, expected, arrived;
  unsigned refused = 0;
  for (unsigned f = 0; f < kFrames; ++f) {
    const unsigned bytes = static_cast<unsigned>(random() % (16 * (most_words + 2) + 1)), words = (bytes + 15) / 16;
    const bool good = bytes <= 16 * most_words;
    for (unsigned w = 0; w < std::max(words, 1u); ++w) {
      Beat beat;
      beat.keep = bytes >= 16 * (w + 1) ? 0xffff : (1u << (bytes - 16 * w)) - 1;
      for (unsigned i = 0; i < 16; ++i)
        if (beat.keep >> i & 1) beat.data[i / 4] |= static_cast<std::uint32_t>(random() & 0xff) << 8 * (i % 4);
      beat.last = w + 1 >= words;
      waiting.push_back(beat);
      if (good) expected.push_back(beat);
    }
    refused += !good;
  }
  model.rst_ni = 0;
  std::size_t at = 0;
  for (unsigned cycle = 0; cycle < 1'000'000 && (arrived.size() < expected.size() || at < waiting.size()); ++cycle) {
    model.s_axis_tvalid = cycle > 8 && at < waiting.size();
    if (model.s_axis_tvalid) {
      for (unsigned i = 0; i < 4; ++i) model.s_axis_tdata[i] = waiting[at].data[i];
      model.s_axis_tkeep = static_cast<SData>(waiting[at].keep);
      model.s_axis_tlast = waiting[at].last;
    }
    model.m_axis_tready = random() % 3 != 0;
    model.clk_i = 0;
    model.eval();
    if (model.m_axis_tvalid && model.m_axis_tready) {
      Beat beat{{}, model.m_axis_tkeep, model.m_axis_tlast != 0};
      for (unsigned i = 0; i < 4; ++i) beat.data[i] = model.m_axis_tdata[i];
      arrived.push_back(beat);
    }
    at += model.s_axis_tvalid && model.s_axis_tready;
    model.clk_i = 1;
    model.eval();
    model.rst_ni = cycle > 2;
  }
  CHECK(at == waiting.size());
  CHECK(arrived == expected);
  CHECK(model.sent_o == kFrames - refused);
  CHECK(model.received_o == kFrames - refused);
  CHECK(model.refused_o == refused);
  CHECK(model.discarded_o == 0);
  CHECK(model.dropped_o == 0);
  model.final();
}

}  // namespace

TEST_CASE("ni_port: of a router with packets of 1, 16 and 24 words each frame arrives or is refused") {
  try_frames<Vport_pair_1>(1);
  try_frames<Vport_pair_16>(16);
  try_frames<Vport_pair_24>(24);
}
