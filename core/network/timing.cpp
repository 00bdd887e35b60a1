// SPDX-License-Identifier: Apache-2.0
// Works out the times of routers and links once: words of packets of each length, cycles between header and grant,
// slots of a link with its pauses. Model: timing.hpp.
#include "core/network/timing.hpp"

#include <algorithm>
#include <bit>

#include "core/config/error.hpp"

namespace exanet {

namespace {

// Registers of the gateware, in cycles of the router's clock (gateware/router, gateware/link).
constexpr std::uint32_t kOutputCycles = 2;  // grant; the word's read from its FIFO; then it is in the output register
constexpr std::uint32_t kSenderCycles = 1;  // the register of credits out of the router
constexpr std::uint32_t kCreditCycles = 2;  // the same, and the link's count of credits
constexpr std::uint32_t kBufferCycles = 1;  // the link's buffer
constexpr std::uint32_t kLineCycles = 1;  // the link's register towards the line
constexpr std::uint32_t kReceiveCycles =
    1;  // the receiver's register, and its register towards the router, less the cycle of the word itself
constexpr std::uint32_t kReceiverCycles =
    3;  // the receiver's two registers, less the same, the router's register, and its count of credits
constexpr std::uint32_t kPayloadCycles =
    1;  // of a payload word in its FIFO, a block of memory, more than of a header or footer
constexpr std::uint32_t kReleaseCycles = 2;  // the router's register of a release, and its count of slots

constexpr std::int64_t kEndpointCycles = 3;  // one before the grant and two after it

}  // namespace

std::int64_t endpoint_cycles(const RouterConfig& c) {
  if (c.endpoint_latency_cycles == 0) return std::min(kEndpointCycles, c.latency_cycles);
  return require_in_range(c.endpoint_latency_cycles, 1, 1'000'000, "router.endpoint_latency_cycles",
                          "endpoint_latency_cycles");
}

RouterTiming::RouterTiming(const RouterConfig& c) {
  require(c.cycle > Time(), "router.cycle_ps", "the router's cycle must be longer than 0");
  const std::uint32_t bits = require_in_range(c.word_bits, 8, 4096, "router.word_bits", "the router's word_bits");
  require(std::has_single_bit(bits), "router.word_bits", "the router's word_bits must be a power of two");
  word_shift = static_cast<std::uint32_t>(std::countr_zero(bits / 8));
  const std::uint32_t header = require_in_range(c.header_words, 1, 64, "router.header_words", "header_words");
  overhead_words = header + require_in_range(c.footer_words, 0, 64, "router.footer_words", "footer_words");
  most_payload_words =
      payload_words(require_in_range(c.max_payload_bytes, 0, 65535, "router.max_payload_bytes", "max_payload_bytes"));
  cycle = c.cycle;
  to_request = c.cycle * (require_in_range(c.latency_cycles, kOutputCycles, 1'000'000, "router.latency_cycles",
                                           "latency_cycles") -
                          kOutputCycles);
  endpoint_to_request = c.cycle * (std::max<std::int64_t>(endpoint_cycles(c), kOutputCycles) - kOutputCycles);
  to_output = c.cycle * kOutputCycles;
  head = c.cycle * (header - 1);
  to_credit = c.cycle * kCreditCycles;
  to_sender = c.cycle * (kSenderCycles + require_in_range(c.interface_credit_cycles, 0, 1'000'000,
                                                          "router.interface_credit_cycles", "interface_credit_cycles"));
  slot_back = c.cycle * kReleaseCycles;
  input_gap =
      c.cycle * require_in_range(c.input_gap_cycles, 0, 1'000'000, "router.input_gap_cycles", "input_gap_cycles");
  output_gap =
      c.cycle * require_in_range(c.output_gap_cycles, 0, 1'000'000, "router.output_gap_cycles", "output_gap_cycles");
  require_in_range(c.virtual_channels, 1, 8, "router.virtual_channels", "virtual_channels");
  require_in_range(c.intra_ports, 1, 16, "router.intra_ports", "intra_ports");
}

LinkTiming::LinkTiming(const LinkConfig& c, const RouterConfig& router, const RouterTiming& timing) {
  require(c.word_time > Time(), link_path(c, "word_time_ps"), "a link's word time must be longer than 0");
  require(c.latency >= Time(), link_path(c, "latency_ps"), "a link's latency must not be negative");
  const std::int64_t bits = require_in_range(c.word_bits, 1, 1 << 16, link_path(c, "word_bits"), "a link's word_bits");
  const std::uint32_t framing =
      require_in_range(c.framing_words, 0, 1024, link_path(c, "framing_words"), "a link's framing_words");
  const auto link_words = [&](std::int64_t words) {
    return static_cast<std::uint32_t>((words * router.word_bits + bits - 1) / bits);
  };
  require(c.sleep_after >= Time() && c.wake_time >= Time(), link_path(c, "sleep_after_ps"),
          "a link's sleep_after and wake_time must not be negative");
  word_time = c.word_time;
  sleep_after = c.sleep_after;
  wake_time = c.wake_time;
  to_line = timing.cycle * kLineCycles;
  to_wire = timing.to_output + timing.cycle * kBufferCycles + to_line;
  across = c.latency + timing.cycle * kReceiveCycles + timing.to_request;
  back = c.latency + timing.cycle * kReceiverCycles;
  slot_back = timing.cycle * kReleaseCycles;
  tail_to_wire = timing.cycle * (kOutputCycles - 1 + kBufferCycles) + to_line;
  idle_every = require_in_range(c.pause_every, 0, 255, link_path(c, "pause_every"), "a link's pause_every");
  require(idle_every != 1, link_path(c, "pause_every"),
          "a link's pause_every is 1, a pause after each word: halve its rate instead, and use 0 or 2 to 255");
  per_idle = idle_every == 0 ? 0 : ~std::uint64_t{0} / idle_every + 1;
  control_words = framing > 0 ? framing : 1;
  head_words = framing + link_words(router.header_words);
  last_word = c.word_time * link_words(1);
  behind_payload = max(timing.cycle * (1 + kPayloadCycles) - last_word, Time());
  for (std::uint32_t payload = 0; payload <= timing.most_payload_words; ++payload)
    packet_words.push_back(framing + link_words(timing.packet_words(payload)));
}

}  // namespace exanet
