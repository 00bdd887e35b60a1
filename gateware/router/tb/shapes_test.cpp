// SPDX-License-Identifier: Apache-2.0
// Routers of other shapes: 2 + 3, 3 + 2 and 6 + 1 inter-tile and intra-tile ports, one router alone. Each input reaches
// each output, alone in four cycles, and all at once in every permutation at a word a cycle.
#include <doctest/doctest.h>

#include <memory>

#include "Vexanet_router.h"
#include "gateware/tb/packet.hpp"
#include "verilated.h"

#if EXANET_VARIANTS
#include "Vrouter_3_2.h"
#include "Vrouter_6_1.h"
#endif

using namespace exanet;
using namespace exanet::gateware;

namespace {

// In the middle of a mesh of three nodes a side. Port 2d leads upwards in dimension d and port 2d + 1 downwards, as far
// as there are ports.
template <typename Model, unsigned Inter, unsigned Intra, unsigned Dimensions>
class Shape {
 public:
  static constexpr unsigned kPorts = Inter + Intra;

  Shape() {
    spec::RouterConfig config;
    config.set_enabled(1);
    for (unsigned d = 0; d < 3; ++d) {
      config.set_coordinate(d, d < Dimensions);
      config.set_side(d, d < Dimensions ? 3 : 1);
      config.set_order(d, d);
      config.set_plus_port(d, 2 * d < Inter ? 2 * d : 0);
      config.set_minus_port(d, 2 * d + 1 < Inter ? 2 * d + 1 : 0);
    }
    for (unsigned kind = 0; kind < 16; ++kind) config.set_type_port(kind, kind % Intra);
    for (unsigned i = 0; i < config.raw.size(); ++i) model_.config_i[i] = config.raw[i];
    for (unsigned p = 0; p < kPorts; ++p) senders_.emplace_back(p < Inter ? 512 : 4096, p < Inter ? 32 : 64);
    model_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) clock();
    model_.rst_ni = 1;
    clock();
  }
  ~Shape() { model_.final(); }

  void send(unsigned input, unsigned output, unsigned bytes) {
    unsigned at[3]{1, Dimensions > 1, Dimensions > 2};
    if (output < Inter) at[output / 2] = output % 2 ? 0 : 2;
    const std::uint32_t destination = at[0] | at[1] << 8 | at[2] << 15;
    senders_[input].push(make_packet(input, destination, output < Inter ? 0 : output - Inter, bytes, output, random_));
  }

  void run(unsigned cycles) {
    for (unsigned i = 0; i < cycles; ++i) {
      for (unsigned p = 0; p < kPorts; ++p) {
        spec::Credit credit;
        credit.raw[0] = model_.credit_o[p][0];
        senders_[p].credit(credit);
        const spec::Flit flit = senders_[p].next(cycle_);
        for (unsigned w = 0; w < flit.raw.size(); ++w) model_.flit_i[p][w] = flit.raw[w];
      }
      clock();
      ++cycle_;
      unsigned release = 0;
      for (unsigned p = 0; p < kPorts; ++p) release |= unsigned{take(p)} << p;
      model_.release_i = static_cast<CData>(release);
    }
  }

  // A packet goes on to every port but the one to the node that it comes from.
  static bool is_a_way(unsigned from, unsigned to) { return from >= Inter || from != to; }

  Receiver& receiver(unsigned port) { return receivers_[port]; }
  unsigned discarded() const { return model_.discarded_o; }
  std::uint64_t sent(unsigned port) const { return senders_[port].sent_cycles().back(); }
  // Packets at each output are sound, and said that they are for it.
  unsigned bad() const {
    unsigned bad = 0;
    for (unsigned p = 0; p < kPorts; ++p) {
      bad += receivers_[p].framing_errors();
      for (const Arrival& arrival : receivers_[p].arrivals)
        bad += !arrival.sound || arrival.packet.footer.number() != p;
    }
    return bad;
  }

 private:
  // True when the consumer behind the port has a slot again; space in the far FIFO comes back with the footer.
  bool take(unsigned port) {
    spec::Flit flit;
    for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = model_.flit_o[port][w];
    for (unsigned v = 0; v < 2; ++v) model_.credit_i[port][v] = 0;
    if (!flit.valid()) return false;
    const bool last = receivers_[port].accept(flit, cycle_);
    if (port >= Inter) return last;
    if (last) {
      spec::Credit credit;
      credit.set_words(receivers_[port].arrivals.back().packet.payload.size());
      credit.set_headers(1);
      model_.credit_i[port][flit.vc()] = credit.raw[0];
    }
    return flit.head();
  }
  void clock() {
    model_.clk_i = 0;
    model_.eval();
    model_.clk_i = 1;
    model_.eval();
  }

  VerilatedContext context_;
  Model model_{&context_};
  std::vector<Sender> senders_;
  Receiver receivers_[kPorts];
  std::mt19937_64 random_{1};
  std::uint64_t cycle_ = 0;
};

template <typename S>
void check_shape() {
  for (unsigned from = 0; from < S::kPorts; ++from)
    for (unsigned to = 0; to < S::kPorts; ++to) {
      S shape;
      shape.send(from, to, 40);
      shape.run(30);
      if (!S::is_a_way(from, to)) {
        CHECK(shape.discarded() == 1);
        CHECK(shape.receiver(to).arrivals.empty());
        continue;
      }
      REQUIRE(shape.receiver(to).arrivals.size() == 1);
      CHECK(shape.receiver(to).arrivals[0].head_cycle - shape.sent(from) == 4);
      CHECK(shape.bad() == 0);
    }
  constexpr unsigned kPackets = 40;
  for (unsigned turn = 0; turn < S::kPorts; ++turn) {
    S shape;
    for (unsigned from = 0; from < S::kPorts; ++from)
      for (unsigned i = 0; i < kPackets; ++i) shape.send(from, (from + turn) % S::kPorts, 512);
    shape.run(kPackets * 34 + 10);
    for (unsigned from = 0; from < S::kPorts; ++from) {
      const unsigned to = (from + turn) % S::kPorts;
      CHECK(shape.receiver(to).arrivals.size() == (S::is_a_way(from, to) ? kPackets : 0));
    }
    CHECK(shape.bad() == 0);
  }
}

}  // namespace

TEST_CASE("router shapes: 2 + 3 ports, from each to each") { check_shape<Shape<Vexanet_router, 2, 3, 2>>(); }

#if EXANET_VARIANTS
TEST_CASE("router shapes: 3 + 2 and 6 + 1 ports, from each to each") {
  check_shape<Shape<Vrouter_3_2, 3, 2, 2>>();
  check_shape<Shape<Vrouter_6_1, 6, 1, 3>>();
}
#endif
