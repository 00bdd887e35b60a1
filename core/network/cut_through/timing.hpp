// SPDX-License-Identifier: Apache-2.0
// How long packets take through input-queued switches: the figures that
// core/network/cut_through/cut_through_network.cpp and the formula for empty switches both rest on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/timing.hpp"
#include "core/network/zero_load.hpp"

namespace exanet {

struct SwitchTiming final : ZeroLoadModel {
  SwitchTiming(const NetworkConfig& config, const Topology& topology);  // throws ConfigError

  Time packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time at) const override;
  Time input_time(std::uint32_t payload_words) const override {
    return in_slot(on_crossbar(router.packet_words(payload_words)));
  }
  Time output_time(std::uint32_t payload_words) const override { return input_time(payload_words); }
  const LinkTiming& link(std::uint8_t link_class) const override { return links[link_class]; }
  std::unique_ptr<Way> way(const std::vector<std::uint8_t>& path) const override;

  Time on_crossbar(std::uint32_t words) const {
    return Time::ps((word_ps_100 * words + speed_up_percent - 1) / speed_up_percent);
  }
  // The first time from `t` on at which grants are made.
  Time in_slot(Time t) const { return slot > Time() ? slot * ((t.ps() + slot.ps() - 1) / slot.ps()) : t; }

  // An output on the way, and the input before it.
  struct Stage {
    const LinkTiming* link = nullptr;  // null: to the network interface
    Time on;  // from the link's end to the request behind it
    Time input_free, free, wire_free;
    std::uint32_t phase = 0;  // of the link's pauses
  };
  Stage stage(const std::vector<std::uint8_t>& path, std::size_t number) const;
  // A packet goes on: `request` and `tail` become those at the next stage; behind the last one, `tail` is the delivery.
  void pass(Stage& stage, std::uint32_t payload_words, Time& request, Time& tail) const;

  RouterTiming router;
  std::vector<LinkTiming> links;  // by class, and so
  std::vector<Time> latency;  // of the link
  Time pipeline;  // header in to request
  Time endpoint_pipeline;  // the same where packets are injected and delivered
  Time slot;  // 0: grants are made at any time
  Time behind;  // of the end of a packet on the link: the output's FIFO takes the next one so much earlier
  std::int64_t word_ps_100 = 0,
               speed_up_percent;  // of a router word on the fastest link, times 100; of the crossbar's lines
};

// From the threshold to the pause felt at the other end: a frame goes between packets, so it may wait for one.
Time pause_delay(const RouterConfig& router, const SwitchConfig& config, const LinkConfig& link);

// Words of a lane's buffer that may yet come in once it is as full as the pause threshold: what is on the way until the
// pause is felt at the other end of a link of `link`, what the switch there has let through by then, and the packet
// that reached the threshold.
std::int64_t pause_headroom_words(const RouterConfig& router, const SwitchConfig& config, const LinkConfig& link);

}  // namespace exanet
