// SPDX-License-Identifier: Apache-2.0
// Configures an input-queued switch, beside what it has in common with every router (RouterConfig: clock, latency,
// words, buffers, virtual channels).
//
// A packet is of a class, by its priority. Each class has all virtual channels that routing asks for, so that classes
// never wait for each other's buffers; a class and a virtual channel together are a lane. Buffers are counted in words
// of whole packets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/visit.hpp"

namespace exanet {

struct SwitchConfig {
  enum class Queues : std::uint8_t { kFifo, kVirtualOutput };  // of a lane of an input: one, or one for each output
  enum class Arbitration : std::uint8_t { kRoundRobin, kFixedPriority, kIslip };
  enum class FlowControl : std::uint8_t { kCredits, kPause };
  enum class Buffer : std::uint8_t { kPerLane, kShared };

  std::string switching = "cut-through";  // when a packet goes on: the name of a network model (registry.hpp)
  Queues queues = Queues::kVirtualOutput;
  Arbitration arbitration = Arbitration::kRoundRobin;  // among the inputs that ask for an output
  FlowControl flow_control = FlowControl::kCredits;
  Buffer buffer =
      Buffer::kPerLane;  // of an input: its lanes have equal parts, or share its words beyond one packet each
  std::int64_t iterations = 1;  // of iSLIP
  std::int64_t speed_up_percent = 100;  // rate of a line through the crossbar, of the fastest link's
  std::int64_t slot_cycles = 0;  // grants are made at multiples of so many cycles: a cell switch; 0: at any time
  std::int64_t output_fifo_words =
      0;  // behind each output of the crossbar; 0: one packet of the largest size, or a word under wormhole switching
  std::int64_t classes = 1;  // a packet of priority p is of class p, or of the highest that there is
  std::vector<std::int64_t>
      weights;  // by class: an output's words are shared out so; empty: a higher class always goes first
  std::int64_t pause_words = 0;  // of a lane, at and above which its sender is paused ...
  std::int64_t resume_words = 0;  // ... and at and below which it goes on
  std::int64_t pause_frame_words = 0;  // of the link: what a pause takes on it
};

template <>
inline constexpr auto kChoices<SwitchConfig::Queues> = choices<SwitchConfig::Queues>(
    {{"fifo", SwitchConfig::Queues::kFifo}, {"virtual-output", SwitchConfig::Queues::kVirtualOutput}});
template <>
inline constexpr auto kChoices<SwitchConfig::Arbitration> =
    choices<SwitchConfig::Arbitration>({{"round-robin", SwitchConfig::Arbitration::kRoundRobin},
                                        {"fixed-priority", SwitchConfig::Arbitration::kFixedPriority},
                                        {"islip", SwitchConfig::Arbitration::kIslip}});
template <>
inline constexpr auto kChoices<SwitchConfig::FlowControl> = choices<SwitchConfig::FlowControl>(
    {{"credits", SwitchConfig::FlowControl::kCredits}, {"pause", SwitchConfig::FlowControl::kPause}});
template <>
inline constexpr auto kChoices<SwitchConfig::Buffer> = choices<SwitchConfig::Buffer>(
    {{"per-lane", SwitchConfig::Buffer::kPerLane}, {"shared", SwitchConfig::Buffer::kShared}});

template <typename V>
void visit(SwitchConfig& c, V&& v) {
  v("switching", c.switching);
  v("queues", c.queues);
  v("arbitration", c.arbitration);
  v("flow_control", c.flow_control);
  v("buffer", c.buffer);
  v("speed_up_percent", c.speed_up_percent);
  v("classes", c.classes);
  v("weights", c.weights, kOptional);
  v("iterations", c.iterations, kOptional);
  v("slot_cycles", c.slot_cycles, kOptional);
  v("output_fifo_words", c.output_fifo_words, kOptional);
  v("pause_words", c.pause_words, kOptional);
  v("resume_words", c.resume_words, kOptional);
  v("pause_frame_words", c.pause_frame_words, kOptional);
}

}  // namespace exanet
