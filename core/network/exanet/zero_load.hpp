// SPDX-License-Identifier: Apache-2.0
// Computes what a packet takes through ExaNet routers where nothing is in its way: the rules of
// docs/microarchitecture.md as a formula. Limits: buffers, credits and slots of interfaces never hold a message up, and
// all its packets use one virtual channel.
#pragma once

#include <vector>

#include "core/network/timing.hpp"
#include "core/network/zero_load.hpp"

namespace exanet {

class ExanetZeroLoad final : public ZeroLoadModel {
 public:
  ExanetZeroLoad(const NetworkConfig& config, const Topology& topology);  // throws ConfigError

  Time packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time at) const override;
  Time input_time(std::uint32_t payload_words) const override {
    return crossbar_time(payload_words) + router_.input_gap;
  }
  Time output_time(std::uint32_t payload_words) const override {
    return crossbar_time(payload_words) + router_.output_gap;
  }
  const LinkTiming& link(std::uint8_t link_class) const override { return links_[link_class]; }
  std::unique_ptr<Way> way(const std::vector<std::uint8_t>& links) const override;

 private:
  // An output on the way, and the input before it.
  struct Stage {
    const LinkTiming* link = nullptr;  // null: to the network interface
    Time input_idle, free, wire_free;
    std::uint32_t phase = 0;  // of the link's pauses
  };
  class PacketsInTurn;

  Stage stage(const std::vector<std::uint8_t>& links, std::size_t number) const;
  void pass(Stage& stage, std::uint32_t payload_words, Time& request, Time& tail) const;
  Time crossbar_time(std::uint32_t payload_words) const { return router_.cycle * router_.packet_words(payload_words); }

  RouterTiming router_, endpoint_;
  std::vector<LinkTiming> links_, last_links_;  // by class; towards an endpoint
};

}  // namespace exanet
