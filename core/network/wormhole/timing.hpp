// SPDX-License-Identifier: Apache-2.0
// How long flits and packets take through wormhole switches: the figures that
// core/network/wormhole/wormhole_network.cpp and the formula for empty switches both rest on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/network/timing.hpp"
#include "core/network/zero_load.hpp"

namespace exanet {

// A kind of link, as flits see it.
struct Wire {
  LinkTiming timing;
  Time latency;
  Time credit;  // a flit out of the buffer to its credit's effect at the sender
  std::uint32_t flit_words, framing;  // link words of a flit, and before a packet's first one

  // When a flit that is granted at `now` is on the other side of the link, before its latency; moves the end of the
  // wire's use and its phase on.
  Time pass(Time now, bool head, Time& free, std::uint8_t& phase, Time& busy) const {
    const Time start = max(now, free);
    std::uint32_t at = start >= free + timing.word_time ? 0 : phase;  // an idle link has had its pause
    busy = timing.word_time * timing.slots(flit_words + (head ? framing : 0), at);
    phase = static_cast<std::uint8_t>(at);
    return free = start + busy;
  }
};

struct WormholeTiming final : ZeroLoadModel {
  WormholeTiming(const NetworkConfig& config, const Topology& topology);  // throws ConfigError

  Time packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time at) const override;
  Time input_time(std::uint32_t payload_words) const override {
    return crossbar_word * router.packet_words(payload_words);
  }
  Time output_time(std::uint32_t payload_words) const override { return input_time(payload_words); }
  const LinkTiming& link(std::uint8_t link_class) const override { return wires[link_class].timing; }

  RouterTiming router;
  std::vector<Wire> wires;  // by link class
  Time pipeline;  // header in to request
  Time endpoint_pipeline;  // the same where packets are injected and delivered
  Time crossbar_word;
  std::uint32_t header_words, output_fifo_words;
  std::int32_t lane_words;  // of a lane of an input
};

}  // namespace exanet
