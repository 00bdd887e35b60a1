// SPDX-License-Identifier: Apache-2.0
// Does a router of a QFDB take every packet where the rule in C++ says, at every port, whatever its registers say?
//
// One router with three ports inside its QFDB, six of the torus and one intra-tile port. Registers and destinations are
// drawn, sound and unsound: places outside of the machine, ports that are disabled or none of a torus, dimensions that
// wrap and do not.
#include <doctest/doctest.h>

#include <optional>
#include <random>

#include "Vrouter_qfdb.h"
#include "gateware/tb/packet.hpp"
#include "gateware/tb/route_rule.hpp"
#include "verilated.h"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kInter = 9, kPorts = kInter + 1;
constexpr RuleShape kShape{kInter, true};

class Router {
 public:
  Router() {
    model_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) clock();
    model_.rst_ni = 1;
    clock();
  }
  ~Router() { model_.final(); }

  void configure(const spec::RouterConfig& config) {
    for (unsigned i = 0; i < config.raw.size(); ++i) model_.config_i[i] = config.raw[i];
    for (int i = 0; i < 4; ++i) clock();
  }

  // Where a packet leaves that comes at that port; nullopt where it is discarded.
  std::optional<Step> pass(unsigned port, const Packet& packet) {
    const unsigned discarded = model_.discarded_o;
    std::optional<Step> left;
    for (unsigned cycle = 0; cycle < 10; ++cycle) {
      spec::Flit flit;
      if (cycle == 0) flit = make_flit(packet.header.raw, 0, true, false);
      if (cycle == 1) flit = make_flit(packet.footer.raw, 0, false, true);
      for (unsigned w = 0; w < flit.raw.size(); ++w) model_.flit_i[port][w] = flit.raw[w];
      clock();
      unsigned release = 0;
      for (unsigned p = 0; p < kPorts; ++p) {
        for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = model_.flit_o[p][w];
        for (unsigned v = 0; v < 2; ++v) model_.credit_i[p][v] = 0;
        if (!flit.valid()) continue;
        CHECK((!left || left->port == p));
        left = Step{p, static_cast<unsigned>(flit.vc())};
        if (!flit.tail()) continue;
        release |= 1u << p;
        spec::Credit credit;
        credit.set_headers(1);
        if (p < kInter) model_.credit_i[p][flit.vc()] = credit.raw[0];
      }
      model_.release_i = release;
    }
    CHECK(model_.discarded_o == discarded + (left ? 0 : 1));
    return left;
  }

 private:
  void clock() {
    model_.clk_i = 0;
    model_.eval();
    model_.clk_i = 1;
    model_.eval();
  }

  VerilatedContext context_;
  Vrouter_qfdb model_{&context_};
};

struct Drawn {
  spec::RouterConfig config;
  unsigned sides[3];
};

Drawn draw(std::mt19937_64& random) {
  Drawn drawn;
  spec::RouterConfig& config = drawn.config;
  config.set_enabled(random() % 16 != 0);
  config.set_wraps(random() % 4 != 0);
  config.set_qfdb_node(random() % 2 == 0 ? 0 : random() % 4);
  const unsigned first = random() % 3, turn = 1 + random() % 2;
  for (unsigned d = 0; d < 3; ++d) {
    drawn.sides[d] = static_cast<unsigned>(1 + random() % 6);
    config.set_side(d, drawn.sides[d]);
    config.set_coordinate(d, random() % drawn.sides[d]);
    config.set_order(d, (first + turn * d) % 3);
    config.set_plus_port(d, random() % 16 == 0 ? random() % 16 : kMeshPorts + 2 * d);
    config.set_minus_port(d, random() % 16 == 0 ? random() % 16 : kMeshPorts + 2 * d + 1);
  }
  if (random() % 2 == 0) config.set_disabled(random() & random() & 0x1ff);
  return drawn;
}

}  // namespace

TEST_CASE("QFDBs: a router takes each packet where the rule says, at every port") {
  std::mt19937_64 random{31};
  Router router;
  unsigned mesh = 0, torus = 0, home = 0, discarded = 0;
  for (unsigned turn = 0; turn < 150; ++turn) {
    const Drawn drawn = draw(random);
    router.configure(drawn.config);
    for (unsigned port = 0; port < kPorts; ++port)
      for (unsigned i = 0; i < 8; ++i) {
        unsigned there[3];
        bool here = true;
        for (unsigned d = 0; d < 3; ++d) {
          const auto place = static_cast<unsigned>(drawn.config.coordinate(d));
          there[d] = random() % 2 == 0 ? place : static_cast<unsigned>(random() % (drawn.sides[d] + 1));
          here = here && there[d] == place;
        }
        const auto node = static_cast<unsigned>(random() % 4);
        const std::uint32_t dcid = address(true, node, there);
        const std::optional<Step> taken = router.pass(port, make_packet(0, dcid, 0, 0, 0, random));
        std::optional<Step> expected;
        if (here && node == drawn.config.qfdb_node()) {
          if (drawn.config.enabled()) expected = Step{kInter, 0};
        } else {
          expected = route_rule(drawn.config, kShape, dcid, port < kInter ? port : kNoPort);
        }
        CAPTURE(turn);
        CAPTURE(port);
        CAPTURE(dcid);
        CHECK(taken == expected);
        ++(!taken ? discarded : taken->port == kInter ? home : taken->port < kMeshPorts ? mesh : torus);
      }
  }
  MESSAGE(mesh << " packets inside the QFDB, " << torus << " into the torus, " << home << " at home, " << discarded
               << " discarded");
  CHECK(mesh > 500);
  CHECK(torus > 500);
  CHECK(home > 500);
  CHECK(discarded > 500);
}
