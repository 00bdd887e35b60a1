// SPDX-License-Identifier: Apache-2.0
// Compares what a saturated switch carries with what is known of it.
#include <doctest/doctest.h>

#include "core/network/cut_through/switch_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

using Queues = SwitchConfig::Queues;
using Arbitration = SwitchConfig::Arbitration;

// Of what the outputs could carry, with uniform traffic from senders that always have more.
double uniform(std::uint32_t n, SwitchConfig config, Time window = Time::us(600)) {
  Random random(7, n);
  NetworkConfig fabric = cell_switch(config);
  fabric.router.inter_fifo_words = 4000;  // deep, as theory has it
  OneSwitch one(n, fabric, [&](std::uint32_t) { return Flow{static_cast<std::uint32_t>(random.next() % n)}; });
  return one.throughput(Time::us(100), Time::us(100) + window);
}

}  // namespace

TEST_CASE("one queue an input: head-of-line blocking, as Karol, Hluchyj and Morgan (1987) have it") {
  SwitchConfig fifo;
  fifo.queues = Queues::kFifo;
  const struct {
    std::uint32_t n;
    double share;  // their table I
  } known[] = {{2, 0.75}, {4, 0.6553}, {8, 0.6184}};
  for (const std::int64_t slot_cycles : {0, 10}) {
    fifo.slot_cycles = slot_cycles;
    for (const auto& [n, share] : known) {
      INFO(n << " ports, slots of " << slot_cycles << " cycles");
      CHECK(uniform(n, fifo) == doctest::Approx(share).epsilon(0.015));
    }
    const double large = uniform(32, fifo, Time::us(300));  // 2 - sqrt(2) = 0.5858 with infinitely many
    CHECK(large > 0.5858);
    CHECK(large < 0.605);
  }
}

TEST_CASE("a queue for each output: all that the outputs can carry") {
  SwitchConfig voq;
  for (const std::uint32_t n : {2u, 8u, 32u}) {
    INFO(n << " ports");
    CHECK(uniform(n, voq, Time::us(300)) > 0.98);
    voq.arbitration = Arbitration::kIslip;
    for (voq.iterations = 1; voq.iterations <= 3; ++voq.iterations) CHECK(uniform(n, voq, Time::us(300)) > 0.95);
    voq = {};
  }
}

TEST_CASE("a faster crossbar makes up for head-of-line blocking when it has space behind it") {
  SwitchConfig fifo;
  fifo.queues = Queues::kFifo;
  const auto carried = [&](std::int64_t percent, std::int64_t output_fifo_words) {
    fifo.speed_up_percent = percent;
    fifo.output_fifo_words = output_fifo_words;
    return uniform(8, fifo);
  };
  CHECK(carried(150, 100) > 0.82);  // 0.62 without
  CHECK(carried(200, 100) > 0.88);
  CHECK(carried(200, 1000) > 0.97);  // half of the crossbar's rate is below what one queue an input lets through
  CHECK(carried(200, 10) < 0.85);    // one packet behind the crossbar: its line stands still while the link sends
}

TEST_CASE("round robin and iSLIP serve all pairs alike; fixed priority does not") {
  const std::uint32_t n = 4;
  const auto spread = [&](Arbitration arbitration) {
    SwitchConfig config;
    config.arbitration = arbitration;
    std::vector<std::uint32_t> next(n);
    OneSwitch one(n, cell_switch(config), [&](std::uint32_t s) { return Flow{next[s]++ % n}; });
    one.throughput(Time::us(100), Time::us(500));
    std::uint64_t least = UINT64_MAX, most = 0;
    for (std::uint32_t s = 0; s < n; ++s)
      least = std::min(least, one.between(s, 0)), most = std::max(most, one.between(s, 0));
    return static_cast<double>(least) / static_cast<double>(most);
  };
  CHECK(spread(Arbitration::kRoundRobin) > 0.98);
  CHECK(spread(Arbitration::kIslip) > 0.98);

  SwitchConfig fixed;
  fixed.arbitration = Arbitration::kFixedPriority;
  OneSwitch one(n, cell_switch(fixed), [&](std::uint32_t) { return Flow{0}; });  // all to one receiver
  one.throughput(Time::us(100), Time::us(200));
  CHECK(one.between(0, 0) > 1500);  // the first sender has all of the 100 us
  CHECK(one.between(3, 0) == 0);
}

TEST_CASE("weights share an output's words among classes") {
  SwitchConfig weighted;
  weighted.classes = 3;
  weighted.weights = {1, 3, 4};
  weighted.arbitration = Arbitration::kRoundRobin;
  NetworkConfig fabric = cell_switch(weighted);
  const auto shares = [&](std::uint16_t bytes_of_class_1) {
    // Senders 0 and 1 are of class 0, 2 and 3 of class 1, 4 and 5 of class 2; all send to one receiver.
    OneSwitch one(6, fabric, [&](std::uint32_t s) {
      const auto priority = static_cast<std::uint8_t>(s / 2);
      return Flow{0, priority, priority == 1 ? bytes_of_class_1 : kCellBytes};
    });
    one.throughput(Time::us(100), Time::us(900));
    const double all = static_cast<double>(one.of_class(0) + one.of_class(1) + one.of_class(2));
    return std::vector<double>{static_cast<double>(one.of_class(0)) / all, static_cast<double>(one.of_class(1)) / all};
  };
  for (const std::uint16_t bytes : {64, 16}) {  // by words, not by packets
    INFO("packets of class 1 of " << bytes << " bytes");
    CHECK(shares(bytes)[0] == doctest::Approx(0.125).epsilon(0.01));
    CHECK(shares(bytes)[1] == doctest::Approx(0.375).epsilon(0.01));
  }
  fabric.input_queued->arbitration = Arbitration::kIslip;
  CHECK(shares(64)[0] == doctest::Approx(0.125).epsilon(0.01));
  fabric.input_queued->weights = {};  // a higher class first: the lower ones starve
  CHECK(shares(64)[0] == 0);
  CHECK(shares(64)[1] == 0);
}

TEST_CASE("lanes that share a buffer use what others leave") {
  SwitchConfig config;
  config.classes = 4;
  const auto one_class = [&](bool shared) {
    config.buffer = shared ? SwitchConfig::Buffer::kShared : SwitchConfig::Buffer::kPerLane;
    NetworkConfig fabric = cell_switch(config);
    fabric.links[0].latency = Time::ns(500);
    fabric.router.inter_fifo_words = 200;  // a round trip takes 175 words or so; a quarter of the buffer does not
    OneSwitch one(2, fabric, [&](std::uint32_t s) { return Flow{s}; });
    return one.throughput(Time::us(50), Time::us(150));
  };
  CHECK(one_class(true) > 0.95);
  CHECK(one_class(false) < 0.4);
}
