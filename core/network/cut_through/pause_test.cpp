// SPDX-License-Identifier: Apache-2.0
// Priority flow control: lossless with the headroom that is asked for and not by much less; and how a pause spreads.
#include <doctest/doctest.h>

#include <stdexcept>

#include "core/network/cut_through/switch_harness.hpp"
#include "core/network/cut_through/timing.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

using SwitchBench = BenchOf<CutThroughNetwork>;

NetworkConfig paused(std::int64_t classes, Time latency) {
  SwitchConfig config;
  config.flow_control = SwitchConfig::FlowControl::kPause;
  config.classes = classes;
  config.pause_words = 60;
  config.resume_words = 40;
  config.pause_frame_words = 8;
  config.speed_up_percent =
      200;  // the FIFO behind the crossbar is full, all of which may yet come when a pause is felt
  config.output_fifo_words = 50;
  NetworkConfig fabric = cell_switch(config);
  fabric.links[0].latency = latency;
  fabric.router.inter_fifo_words = classes * (60 + pause_headroom_words(fabric.router, config, fabric.links[0]));
  return fabric;
}

}  // namespace

TEST_CASE("the least headroom that is accepted loses nothing, and all but two packets of it is used") {
  for (const Time latency : {Time::ns(10), Time::ns(300), Time::us(2)}) {
    NetworkConfig config = paused(1, latency);
    // Four switches in a row; all senders of the first to one receiver of the last: its pauses reach all the way back.
    SwitchBench bench({"mesh", {5}}, [&] {
      config.router.virtual_channels = 2;
      config.router.inter_fifo_words *= 2;
      return config;
    }());
    for (NodeId sender = 0; sender < 4; ++sender)
      for (int i = 0; i < 400; ++i) bench.send(sender, 4, kCellBytes, 0, 0), bench.send(sender, 4, kCellBytes, 0, 1);
    bench.run();
    CHECK(bench.deliveries.size() == bench.offered);
    CHECK(bench.fabric.in_flight() == 0);
    CHECK(bench.fabric.pauses() > 10);
    std::int32_t fullest = 0;
    for (NodeId node = 0; node < 5; ++node)
      for (std::uint16_t port = 0; port < bench.topology->port_count(node); ++port)
        fullest = std::max(fullest, bench.fabric.fullest(node, port));
    const std::int64_t lane = config.router.inter_fifo_words / 2;
    INFO("latency " << latency.ps() << " ps: lane of " << lane << " words, at most " << fullest << " used");
    CHECK(fullest <= lane);
    CHECK(fullest > lane - 30);  // two packets that the worst case has more, and the start of a third

    --config.router.inter_fifo_words;
    CHECK_THROWS_AS(SwitchBench({"mesh", {5}}, config), std::invalid_argument);
  }
}

TEST_CASE("a paused lane takes a victim with it, as a full one with credits does; a class of its own keeps it free") {
  // One link from the first switch to the second. Senders 0 and 9 to 14 send to receiver 8, who takes a seventh from
  // each; sender 7 sends through the same link to receiver 15, for whom six sevenths of it are left.
  const auto victim = [](const NetworkConfig& config, std::uint8_t priority) {
    SwitchBench bench({"xgft", {8, 2, 1, 1}}, config);
    for (int i = 0; i < 4000; ++i) {
      for (const NodeId sender : {0, 9, 10, 11, 12, 13, 14}) bench.send(sender, 8, kCellBytes);
      bench.send(7, 15, kCellBytes, 1, 0, priority);
    }
    bench.queue.run_until(Time::us(100));
    std::uint64_t got = 0;
    for (const Delivery& d : bench.deliveries) got += d.packet.user == 1 && d.tail > Time::us(20);
    return static_cast<double>(got) * static_cast<double>(kCell.ps()) / static_cast<double>(Time::us(80).ps());
  };
  const auto credits = [](std::int64_t classes, SwitchConfig::Queues queues) {
    NetworkConfig config = cell_switch();
    config.input_queued->classes = classes;
    config.input_queued->queues = queues;
    return config;
  };
  const double fair =
      1.0 / 7;  // of the link to receiver 8, which is what sender 0 gets, and no more the victim behind its packets
  CHECK(victim(credits(1, SwitchConfig::Queues::kFifo), 0) < fair + 0.01);
  CHECK(victim(credits(1, SwitchConfig::Queues::kVirtualOutput), 0) <
        fair + 0.01);  // its queue is free, but the buffer is full
  CHECK(victim(paused(1, Time::ns(10)), 0) < fair + 0.01);
  CHECK(victim(credits(2, SwitchConfig::Queues::kVirtualOutput), 1) > 0.8);
  CHECK(victim(paused(2, Time::ns(10)), 1) > 0.8);
}
