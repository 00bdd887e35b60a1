// SPDX-License-Identifier: Apache-2.0
// LO|FA|MO in Verilated nodes: who is called faulty, when, and who hears of it.
#include <doctest/doctest.h>

#include <algorithm>

#include "Vnode_watchdog.h"
#include "gateware/node/tb/lofamo_network.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kInterval = 64, kLine = 20;

// A watchdog alone, of eight bits.
struct Watchdog {
  Watchdog() {
    model.rst_ni = 0;
    step(false);
    model.rst_ni = 1;
  }
  // One cycle; whether there is a fault behind it.
  bool step(bool beat) {
    model.beat_i = beat;
    model.clk_i = 0;
    model.eval();
    model.clk_i = 1;
    model.eval();
    return model.fault_o;
  }
  VerilatedContext context;
  Vnode_watchdog model{&context};
};

}  // namespace

TEST_CASE("lofamo: a watchdog's periods, from 1 to the largest, to the cycle") {
  for (const unsigned period : {1u, 2u, 3u, 100u, 254u, 255u}) {
    CAPTURE(period);
    Watchdog dog;
    dog.model.period_i = static_cast<CData>(period);
    bool ever = false;
    for (unsigned i = 0; i < 20 * period; ++i) ever |= dog.step(i % period == 0);
    CHECK(!ever);
    dog.step(true);
    unsigned cycles = 0;
    while (!dog.step(false) && cycles < 1000) ++cycles;
    CHECK(cycles == period);  // seen in the cycle behind these: `period` + 2 behind that of the beat
    for (int i = 0; i < 1000; ++i) CHECK(dog.step(false));  // and stays
    CHECK(!dog.step(true));  // heals with a beat
  }
}

TEST_CASE("lofamo: period 0 watches nobody, and the count begins with the period") {
  Watchdog dog;
  for (int i = 0; i < 1000; ++i) CHECK(!dog.step(false));
  dog.model.period_i = 10;
  for (int i = 0; i < 10; ++i) CHECK(!dog.step(false));
  CHECK(dog.step(false));
  dog.model.period_i = 0;
  CHECK(!dog.step(false));
}

TEST_CASE("lofamo: a host's fault comes to the neighbour's registers, and goes with its next beat") {
  LofamoNetwork network(1, kLine, kInterval);
  network.write(1, kAtInterruptsEnabled, 1u << 29);
  network.write(0, kAtHostWatchdog, 500);
  network.settle_accesses();
  network.run(300);
  CHECK(network.read(1, kAtNeighbours) == 0);
  network.run(300);
  CHECK(network.read(0, kAtFaults) == 1);
  CHECK(network.read(1, kAtNeighbours) == 1);
  CHECK(network.read(1, kAtFarHealth) == 1);
  CHECK(network.read(1, kAtFaults) == 0);
  CHECK(network.read(0, kAtHealth) == 0x100);
  CHECK(network.interrupt(1));
  network.write(1, kAtInterrupts, 1u << 29);
  network.settle_accesses();
  network.run(5);
  CHECK(!network.interrupt(1));
  network.write(0, kAtBeat, 1);
  network.run(60);
  CHECK(network.read(1, kAtNeighbours) == 0);
  CHECK(network.interrupt(1));
}
