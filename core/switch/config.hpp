// SPDX-License-Identifier: Apache-2.0
// What an input-queued switch is, beside what it has in common with every router (RouterConfig: clock, latency, words, buffers, virtual
// channels).
//
// A packet is of a class, by its priority. Each class has all virtual channels that routing asks for, so that classes never wait for each
// other's buffers; a class and a virtual channel together are a lane. Buffers are counted in words of whole packets.
#pragma once

#include <cstdint>
#include <vector>

namespace exanet {

struct SwitchConfig {
  enum class Switching : std::uint8_t { kCutThrough, kWormhole };
  enum class Queues : std::uint8_t { kFifo, kVirtualOutput };  // of a lane of an input: one, or one for each output
  enum class Arbitration : std::uint8_t { kRoundRobin, kFixedPriority, kIslip };
  enum class FlowControl : std::uint8_t { kCredits, kPause };

  Switching switching = Switching::kCutThrough;  // a packet goes on when there is room for all of it, or word by word: wormhole.hpp
  Queues queues = Queues::kVirtualOutput;
  Arbitration arbitration = Arbitration::kRoundRobin;  // among the inputs that ask for an output
  FlowControl flow_control = FlowControl::kCredits;
  std::int64_t iterations = 1;           // of iSLIP
  std::int64_t speed_up_percent = 100;   // rate of a line through the crossbar, of the fastest link's
  std::int64_t slot_cycles = 0;          // grants are made at multiples of so many cycles: a cell switch; 0: at any time
  std::int64_t output_fifo_words = 0;    // behind the crossbar of each output; 0: one packet of the largest size, or a word under wormhole switching
  std::int64_t classes = 1;              // a packet of priority p is of class p, or of the highest that there is
  std::vector<std::int64_t> weights;     // by class: an output's words are shared out so; empty: a higher class always goes first
  bool shared_buffer = false;            // the lanes of an input share its words beyond one packet each; else each has its part
  std::int64_t pause_words = 0;          // of a lane, at and above which its sender is paused ...
  std::int64_t resume_words = 0;         // ... and at and below which it goes on
  std::int64_t pause_frame_words = 0;    // of the link: what a pause takes on it
};

}  // namespace exanet
