// SPDX-License-Identifier: Apache-2.0
// Do the virtual channels that routing does not need carry packets, under every kind of switching, and does nothing
// else change?
#include <doctest/doctest.h>

#include "core/network/common/switch_checks.hpp"
#include "core/network/cut_through/switch_harness.hpp"
#include "core/workload/open_loop_harness.hpp"

using namespace exanet;
using namespace exanet::testing;

namespace {

using VcAllocation = RouterConfig::VcAllocation;

// Packets of 64 bytes beyond saturation, on shapes whose routing needs one channel; each channel's buffer holds
// `packets` of them.
OpenLoopResult saturated(const TopologySpec& spec, const std::string& switching, std::int64_t channels,
                         std::int64_t packets, VcAllocation allocation, std::uint32_t threads = 1) {
  NetworkConfig fabric = published_fabric(64);
  if (switching != "exanet") {
    fabric = cell_switch();
    fabric.input_queued->switching = switching;
    fabric.input_queued->queues = SwitchConfig::Queues::kFifo;
  }
  fabric.router.virtual_channels = channels;
  fabric.router.vc_allocation = allocation;
  fabric.router.inter_fifo_words = most_packet_words(fabric.router) * packets * channels;
  OpenLoopConfig loop;
  loop.packet_bytes = 64;
  loop.load = 1;
  loop.warm_up = Time::us(5);
  loop.measure = Time::us(20);
  loop.threads = threads;
  OpenLoop run(spec, fabric, loop);
  REQUIRE(run.run());
  return run.result();
}

}  // namespace

TEST_CASE(
    "virtual channels: those that routing does not need carry packets, and stand empty where it alone allocates") {
  for (const TopologySpec& spec : {TopologySpec{"mesh", {5, 5}}, TopologySpec{"hyperx", {2, 4, 4}}})
    for (const char* switching : {"exanet", "cut-through", "wormhole"}) {
      CAPTURE(spec.kind);
      CAPTURE(switching);
      REQUIRE(make_topology(spec)->virtual_channels() == 1);
      const OpenLoopResult one = saturated(spec, switching, 1, 4, VcAllocation::kOccupancy);
      check_same(saturated(spec, switching, 4, 4, VcAllocation::kRouting), one);
      const OpenLoopResult two = saturated(spec, switching, 2, 4, VcAllocation::kOccupancy);
      const OpenLoopResult four = saturated(spec, switching, 4, 4, VcAllocation::kOccupancy);
      CHECK(two.accepted_load > one.accepted_load * 1.1);
      CHECK(four.accepted_load > two.accepted_load);
      check_same(saturated(spec, switching, 2, 4, VcAllocation::kOccupancy, 3), two);
    }
}

TEST_CASE(
    "virtual channels: a packet goes only where there is space for it, when headers run out before words, or words "
    "before headers") {
  for (const std::int64_t headers : {16, 24, 512})
    for (const std::int64_t words : {64, 1024}) {
      NetworkConfig fabric = published_fabric(256);
      fabric.router.virtual_channels = 4;
      fabric.router.vc_allocation = VcAllocation::kOccupancy;
      fabric.router.header_fifo_words = headers;
      fabric.router.inter_fifo_words = words * 4;
      for (const std::uint16_t bytes : {16, 256}) {
        OpenLoopConfig loop;
        loop.packet_bytes = bytes;
        loop.load = 1;
        loop.priority_share = 0.4;
        loop.warm_up = Time::us(5);
        loop.measure = Time::us(20);
        OpenLoop run({"mesh", {4, 4}}, fabric, loop);
        CHECK(run.run());
      }
    }
}
