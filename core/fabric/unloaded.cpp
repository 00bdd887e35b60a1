// SPDX-License-Identifier: Apache-2.0
#include "core/fabric/unloaded.hpp"

#include "core/fabric/timing.hpp"
#include "core/switch/pace.hpp"
#include "core/switch/switches.hpp"
#include "core/switch/wormhole_pace.hpp"

namespace exanet {

namespace {

class UnloadedRouters final : public Unloaded {
 public:
  explicit UnloadedRouters(const FabricConfig& config) : router_(config.router) {
    for (const LinkConfig& link : config.links) links_.emplace_back(link, config.router, router_);
  }

  Time packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time) const override {
    std::vector<const LinkPace*> path;
    for (const std::uint8_t link : links) path.push_back(&links_[link]);
    return zero_load_time(router_, path, payload_words);
  }
  Time input_time(std::uint32_t payload_words) const override { return crossing(payload_words) + router_.input_gap; }
  Time output_time(std::uint32_t payload_words) const override { return crossing(payload_words) + router_.output_gap; }

 private:
  Time crossing(std::uint32_t payload_words) const { return router_.cycle * router_.packet_words(payload_words); }

  RouterPace router_;
  std::vector<LinkPace> links_;
};

}  // namespace

std::unique_ptr<Unloaded> make_unloaded(const Topology& topology, const FabricConfig& config) {
  if (config.input_queued) {
    check_switches(config, topology);
    if (config.input_queued->switching == SwitchConfig::Switching::kWormhole) return std::make_unique<WormholePace>(config);
    return std::make_unique<SwitchPace>(config);
  }
  return std::make_unique<UnloadedRouters>(config);
}

}  // namespace exanet
