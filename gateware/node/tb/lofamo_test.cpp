// SPDX-License-Identifier: Apache-2.0
// LO|FA|MO in Verilated nodes: who is called faulty, when, and who hears of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

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

TEST_CASE("lofamo: a period that changes counts from the last beat") {
  Watchdog dog;
  dog.model.period_i = 10;
  dog.step(true);
  for (int i = 0; i < 100; ++i) dog.step(false);
  dog.model.period_i = 100;
  for (int i = 0; i < 1000; ++i) CHECK(dog.step(false));  // silent for longer than either period
  dog.model.period_i = 255;
  for (int i = 0; i < 1000; ++i) CHECK(dog.step(false));
  dog.step(true);
  for (int i = 0; i < 50; ++i) CHECK(!dog.step(false));
  dog.model.period_i = 10;
  CHECK(dog.step(false));  // at once
  dog.model.period_i = 100;
  CHECK(!dog.step(false));  // 51 cycles are less
  for (int i = 52; i < 100; ++i) CHECK(!dog.step(false));
  CHECK(dog.step(false));
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

TEST_CASE("lofamo: a network interface's fault, by its port or its register") {
  for (const bool by_port : {false, true}) {
    LofamoNetwork network(1, kLine, kInterval);
    network.write(0, kAtInterruptsEnabled, 1u << 28);
    network.write(0, kAtNiWatchdog, 300);
    network.settle_accesses();
    const auto beats = [&](unsigned cycles) {
      for (unsigned i = 0; i < cycles; ++i) {
        if (by_port)
          network.node(0).model->ni_beat_i = i % 200 == 0;
        else if (i % 200 == 0)
          network.write(0, kAtBeat, 2);
        network.step();
      }
      network.node(0).model->ni_beat_i = 0;
    };
    beats(2000);
    CHECK(network.read(0, kAtFaults) == 0);
    CHECK(!network.interrupt(0));
    network.run(400);
    CHECK(network.interrupt(0));  // of the host that is beside it
    CHECK(network.read(0, kAtFaults) == 2);
    CHECK(network.read(1, kAtNeighbours) == 1u << 16);
    beats(200);
    CHECK(network.read(0, kAtFaults) == 0);
    CHECK(network.read(1, kAtNeighbours) == 0);
  }
}

namespace {

// Cycles from a period that is short to the neighbour's interrupt, with 512-byte packets on the link all the time or
// none.
unsigned cycles_to_neighbour(unsigned phase, bool traffic) {
  constexpr unsigned kPeriod = 700;
  LofamoNetwork network(1, kLine, kInterval);
  std::mt19937_64 random(phase);
  network.write(1, kAtInterruptsEnabled, 1u << 29);
  network.settle_accesses();
  if (traffic)
    for (unsigned i = 0; i < 40; ++i)
      network.node(0).sender.push(make_packet(LofamoNetwork::address(0), LofamoNetwork::address(1), 0, 512, i, random));
  network.run(100 + phase);
  // Signs of life come all the time, until the last one: the watchdog's time is known to the cycle.
  network.node(0).model->ni_beat_i = 1;
  network.write(0, kAtNiWatchdog, kPeriod);
  network.settle_accesses();
  network.node(0).model->ni_beat_i = 0;
  unsigned cycles = 0;
  while (!network.interrupt(1) && cycles < 5000) network.step(), ++cycles;
  return cycles - kPeriod;
}

}  // namespace

TEST_CASE("lofamo: a neighbour hears within the line's latency, one control word, and the packet that is on the line") {
  unsigned least = 10'000, most = 0, busy = 0;
  for (unsigned phase = 0; phase < 140; ++phase) {
    const unsigned idle = cycles_to_neighbour(phase, false);
    least = std::min(least, idle);
    most = std::max(most, idle);
    busy = std::max(busy, cycles_to_neighbour(phase, true));
  }
  MESSAGE("cycles beyond the period and a line of " << kLine << ": " << least - kLine << " to " << most - kLine
                                                    << " when idle, up to " << busy - kLine << " behind packets");
  CHECK(most - least <= 2);
  CHECK(busy <= most + 70);
  CHECK(busy > most + 35);
}

TEST_CASE("lofamo: a second fault while the first is reported") {
  for (unsigned apart = 0; apart < 80; ++apart) {
    LofamoNetwork network(1, kLine, kInterval);
    network.settle_accesses();
    network.node(0).model->ni_beat_i = 1;
    network.write(0, kAtHostWatchdog, 400);
    network.write(0, kAtNiWatchdog,
                  400 - 40 + apart);  // the host's count begins earlier, the interface's with its last beat
    network.settle_accesses();
    network.node(0).model->ni_beat_i = 0;
    network.run(400 + 40 + 60);
    CAPTURE(apart);
    CHECK(network.read(1, kAtFarHealth) == 3);
  }
}

TEST_CASE("lofamo: a word of health that the line damages is made good by repetition") {
  LofamoNetwork network(1, kLine, kInterval);
  network.settle_accesses();
  network.run(500);
  network.cut(0, 0, true);
  network.write(0, kAtHealth, 0x50);
  network.run(50);
  network.cut(0, 0, false);
  CHECK(network.read(1, kAtFarHealth) == 0);
  network.run(5 * (kInterval + 2) + 30);
  CHECK(network.read(1, kAtFarHealth) == 0x50);
}

TEST_CASE("lofamo: a link that is cut is silent at both ends, and heals") {
  LofamoNetwork network(2, kLine, kInterval);
  for (unsigned n = 0; n < 4; ++n) network.write(n, kAtSilence, 400);
  network.write(0, kAtInterruptsEnabled, 1u << 30);
  network.settle_accesses();
  network.run(3000);
  for (unsigned n = 0; n < 4; ++n)
    CHECK(network.read(n, kAtFaults) == 0);  // the third port has no line, and is disabled
  network.cut(0, 1, true);
  network.run(600);
  CHECK(network.interrupt(0));
  for (unsigned n = 0; n < 4; ++n) CHECK(network.read(n, kAtFaults) == (n % 2 == 0 ? 1u << 17 : 0));
  CHECK(network.read(1, kAtFarHealth) == 8);  // node 0 says that it has a link that is down
  CHECK(network.read(3, kAtFarHealth) == 8);
  network.cut(0, 1, false);
  network.run(600);
  for (unsigned n = 0; n < 4; ++n) CHECK(network.read(n, kAtFaults) == 0);
  CHECK(network.read(1, kAtFarHealth) == 0);
}

TEST_CASE("lofamo: a node that is dead altogether is silent to all its neighbours") {
  LofamoNetwork network(3, kLine, kInterval);
  for (unsigned n = 0; n < 8; ++n) network.write(n, kAtSilence, 400);
  network.settle_accesses();
  for (unsigned d = 0; d < 3; ++d) network.cut(5, d, true);
  network.run(600);
  for (unsigned n = 0; n < 8; ++n) {
    if (n == 5) continue;
    CAPTURE(n);
    const unsigned apart = n ^ 5u;
    CHECK(network.read(n, kAtFaults) == ((apart & (apart - 1)) == 0 ? apart << 16 : 0));
  }
}

TEST_CASE("lofamo: a link is not silent while it carries packets without pause") {
  LofamoNetwork network(1, kLine, 60'000);
  std::mt19937_64 random(3);
  for (unsigned n = 0; n < 2; ++n) {
    network.write(n, kAtSilence, 200);
    for (unsigned i = 0; i < 200; ++i)
      network.node(n).sender.push(
          make_packet(LofamoNetwork::address(n), LofamoNetwork::address(1 - n), 0, 512, i, random));
  }
  network.settle_accesses();
  network.run(300);
  for (unsigned i = 0; i < 50; ++i) {
    network.run(200);
    CHECK(network.read(0, kAtFaults) == 0);
    CHECK(network.read(1, kAtFaults) == 0);
  }
}

namespace {

// When packets arrive, while health changes as often as it can be written, or never.
std::vector<std::uint64_t> arrivals(bool health) {
  LofamoNetwork network(1, kLine, kInterval);
  network.settle_accesses();
  std::mt19937_64 random(11);
  std::uint32_t word = 0;
  for (unsigned burst = 0; burst < 60; ++burst) {
    for (unsigned i = 0; i < 6; ++i)
      if (const unsigned n = i % 2; random() % 2 == 0)
        network.node(n).sender.push(make_packet(LofamoNetwork::address(n), LofamoNetwork::address(1 - n), 0,
                                                static_cast<unsigned>(random() % 513), i, random, random() % 4 == 0));
    for (std::uint64_t left = random() % 400; left > 0; --left) {
      for (unsigned n = 0; n < 2 && health; ++n)
        if (network.node(n).accesses.empty()) network.write(n, kAtHealth, ++word % 200);
      network.step();
    }
  }
  network.run(3000);
  std::vector<std::uint64_t> cycles;
  for (unsigned n = 0; n < 2; ++n)
    for (const Arrival& arrival : network.node(n).receiver.arrivals) {
      CHECK(arrival.sound);
      cycles.insert(cycles.end(), {arrival.head_cycle, arrival.tail_cycle});
    }
  return cycles;
}

}  // namespace

TEST_CASE("lofamo: no packet comes a cycle later for health that changes all the time") {
  const auto still = arrivals(false);
  CHECK(still.size() > 200);
  CHECK(arrivals(true) == still);
}
