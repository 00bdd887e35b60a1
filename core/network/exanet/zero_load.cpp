// SPDX-License-Identifier: Apache-2.0
#include "core/network/exanet/zero_load.hpp"

#include "core/topology/topology.hpp"

namespace exanet {

ExanetZeroLoad::ExanetZeroLoad(const NetworkConfig& config, const Topology& topology)
    : router_(config.router), endpoint_(topology.switched() ? router_.at_endpoint() : router_) {
  for (const LinkConfig& link : config.links) {
    links_.emplace_back(link, config.router, router_);
    last_links_.emplace_back(link, config.router, endpoint_);
  }
}

ExanetZeroLoad::Stage ExanetZeroLoad::stage(const std::vector<std::uint8_t>& links, std::size_t number) const {
  Stage made;
  if (number < links.size()) made.link = &(number + 1 < links.size() ? links_ : last_links_)[links[number]];
  return made;
}

// The head passes every stage at once, but behind the packet before it. The tail is right behind the head at the
// stage's own rate, or held back by a slower stage before it. `request` and `tail` become those at the next stage;
// behind the last one, `tail` is the delivery.
void ExanetZeroLoad::pass(Stage& stage, std::uint32_t payload_words, Time& request, Time& tail) const {
  const Time granted = max(request, max(stage.input_idle, stage.free)),
             left = max(granted + crossbar_time(payload_words), tail);
  stage.input_idle = left + router_.input_gap;
  stage.free = left + router_.output_gap;
  if (stage.link == nullptr) {
    tail = left + router_.to_output;
    return;
  }
  const LinkTiming& link = *stage.link;
  const Time start = max(granted + link.to_wire, stage.wire_free);
  // A link that has been idle for a word time has had its pause.
  const std::uint32_t phase = start < stage.wire_free + link.word_time ? stage.phase : 0;
  std::uint32_t after_head = phase, after_packet = phase;
  const Time head_out = start + link.word_time * link.slots(link.head_words, after_head),
             packet_out = start + link.word_time * link.slots(link.packet_words[payload_words], after_packet);
  stage.phase = after_packet;
  stage.wire_free = max(packet_out, left + link.tail_to_wire + link.last_word);
  stage.free = max(stage.free, start + link.to_control(phase) + link.slot_back);
  request = head_out + link.across;
  tail = stage.wire_free + link.across;
}

Time ExanetZeroLoad::packet_time(const std::vector<std::uint8_t>& links, std::uint32_t payload_words, Time) const {
  Time request = router_.head + endpoint_.to_request,
       tail = crossbar_time(payload_words) - router_.cycle + endpoint_.to_request;
  for (std::size_t i = 0; i <= links.size(); ++i) {
    Stage unused = stage(links, i);
    pass(unused, payload_words, request, tail);
  }
  return tail;
}

class ExanetZeroLoad::PacketsInTurn final : public Way {
 public:
  PacketsInTurn(const ExanetZeroLoad& model, const std::vector<std::uint8_t>& links) : model_(model) {
    for (std::size_t i = 0; i <= links.size(); ++i) stages_.push_back(model.stage(links, i));
  }
  Time next(std::uint32_t payload_words) override {
    const Time span = model_.crossbar_time(payload_words);
    Time request = injected_ + model_.router_.head + model_.endpoint_.to_request,
         tail = injected_ + span - model_.router_.cycle + model_.endpoint_.to_request;
    injected_ = injected_ + span;
    for (Stage& stage : stages_) model_.pass(stage, payload_words, request, tail);
    return tail;
  }

 private:
  const ExanetZeroLoad& model_;
  std::vector<Stage> stages_;
  Time injected_;
};

std::unique_ptr<ZeroLoadModel::Way> ExanetZeroLoad::way(const std::vector<std::uint8_t>& links) const {
  return std::make_unique<PacketsInTurn>(*this, links);
}

}  // namespace exanet
