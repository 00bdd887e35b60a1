// SPDX-License-Identifier: Apache-2.0
#include "core/network/cut_through/timing.hpp"

#include "core/topology/topology.hpp"

namespace exanet {

SwitchTiming::SwitchTiming(const NetworkConfig& config, const Topology& topology)
    : router(config.router),
      pipeline(config.router.cycle * config.router.latency_cycles),
      endpoint_pipeline(topology.switched() ? config.router.cycle * endpoint_cycles(config.router) : pipeline),
      slot(config.router.cycle * config.input_queued->slot_cycles),
      speed_up_percent(config.input_queued->speed_up_percent) {
  for (const LinkConfig& link : config.links) {
    links.emplace_back(link, config.router, router);
    latency.push_back(link.latency);
    const std::int64_t its_word_ps_100 = link.word_time.ps() * 100 * config.router.word_bits / link.word_bits;
    if (word_ps_100 == 0 || its_word_ps_100 < word_ps_100) word_ps_100 = its_word_ps_100;
  }
  const std::int64_t most_words = router.packet_words(router.most_payload_words),
                     fifo_words = config.input_queued->output_fifo_words;
  behind = Time::ps((fifo_words > 0 ? fifo_words - most_words : 0) * word_ps_100 / 100);
}

SwitchTiming::Stage SwitchTiming::stage(const std::vector<std::uint8_t>& path, std::size_t number) const {
  Stage made;
  if (number == path.size()) return made;
  made.link = &links[path[number]];
  made.on = latency[path[number]] + (number + 1 < path.size() ? pipeline : endpoint_pipeline);
  return made;
}

// The header crosses the link and the pipeline, behind the packet before it; the tail is right behind the header, or
// held back by a slower line before.
void SwitchTiming::pass(Stage& stage, std::uint32_t payload_words, Time& request, Time& tail) const {
  const Time granted = in_slot(max(request, max(stage.input_free, stage.free)));
  const Time left = max(granted + on_crossbar(router.packet_words(payload_words)), tail);
  stage.input_free = stage.free = left;
  tail = left;
  if (stage.link == nullptr) return;
  const LinkTiming& link = *stage.link;
  const Time start = max(granted, stage.wire_free);
  // A link that has been idle for a word time has had its pause.
  const std::uint32_t phase = start < stage.wire_free + link.word_time ? stage.phase : 0;
  std::uint32_t after_head = phase, after_packet = phase;
  request = start + link.word_time * link.slots(link.head_words, after_head) + stage.on;
  stage.wire_free = max(start + link.word_time * link.slots(link.packet_words[payload_words], after_packet), left);
  stage.phase = after_packet;
  stage.free = max(left, stage.wire_free - behind);
  tail = stage.wire_free + stage.on;
}

Time SwitchTiming::packet_time(const std::vector<std::uint8_t>& path, std::uint32_t payload_words, Time at) const {
  Time request = at + endpoint_pipeline, tail = request + on_crossbar(router.packet_words(payload_words));
  for (std::size_t i = 0; i <= path.size(); ++i) {
    Stage unused = stage(path, i);
    pass(unused, payload_words, request, tail);
  }
  return tail - at;
}

std::unique_ptr<ZeroLoadModel::Way> SwitchTiming::way(const std::vector<std::uint8_t>& path) const {
  class PacketsInTurn final : public Way {
   public:
    PacketsInTurn(const SwitchTiming& timing, const std::vector<std::uint8_t>& path) : timing_(timing) {
      for (std::size_t i = 0; i <= path.size(); ++i) stages_.push_back(timing.stage(path, i));
    }
    Time next(std::uint32_t payload_words) override {
      Time request = injected_ + timing_.endpoint_pipeline;
      injected_ = injected_ + timing_.on_crossbar(timing_.router.packet_words(payload_words));
      Time tail = injected_ + timing_.endpoint_pipeline;
      for (Stage& stage : stages_) timing_.pass(stage, payload_words, request, tail);
      return tail;
    }

   private:
    const SwitchTiming& timing_;
    std::vector<Stage> stages_;
    Time injected_;
  };
  return std::make_unique<PacketsInTurn>(*this, path);
}

}  // namespace exanet
