// SPDX-License-Identifier: Apache-2.0
#include "core/fabric/timing.hpp"

#include <bit>
#include <stdexcept>
#include <string>

namespace exanet {

namespace {

void require(bool condition, const std::string& what) {
  if (!condition) throw std::invalid_argument(what);
}

std::uint32_t in_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* name) {
  require(value >= least && value <= most, std::string(name) + " is " + std::to_string(value) + ": give a whole number from " +
                                               std::to_string(least) + " to " + std::to_string(most));
  return static_cast<std::uint32_t>(value);
}

// Registers of the gateware, in cycles of the router's clock (gateware/router, gateware/link).
constexpr std::uint32_t kOutputCycles = 2;   // grant; the word's read from its FIFO; then it is in the output register
constexpr std::uint32_t kSenderCycles = 1;   // the register of credits out of the router
constexpr std::uint32_t kCreditCycles = 2;   // the same, and the link's count of room
constexpr std::uint32_t kBufferCycles = 1;   // the link's buffer
constexpr std::uint32_t kReceiveCycles = 1;  // the receiver's register, and its register towards the router, less the cycle of the word itself
constexpr std::uint32_t kRoomCycles = 3;     // the receiver's two registers, less the same, the router's register, and its count of room
constexpr std::uint32_t kReleaseCycles = 2;  // the router's register of a link's release, and its count of slots

}  // namespace

RouterPace::RouterPace(const RouterConfig& c) {
  require(c.cycle > Time(), "the router's cycle must be longer than 0");
  const std::uint32_t bits = in_range(c.word_bits, 8, 4096, "the router's word_bits");
  require(std::has_single_bit(bits), "the router's word_bits must be a power of two");
  word_shift = static_cast<std::uint32_t>(std::countr_zero(bits / 8));
  const std::uint32_t header = in_range(c.header_words, 1, 64, "header_words");
  overhead_words = header + in_range(c.footer_words, 0, 64, "footer_words");
  most_payload_words = payload_words(in_range(c.max_payload_bytes, 0, 65535, "max_payload_bytes"));
  cycle = c.cycle;
  to_request = c.cycle * (in_range(c.latency_cycles, kOutputCycles, 1'000'000, "latency_cycles") - kOutputCycles);
  to_output = c.cycle * kOutputCycles;
  head = c.cycle * (header - 1);
  to_credit = c.cycle * kCreditCycles;
  to_sender = c.cycle * kSenderCycles;
  input_gap = c.cycle * in_range(c.input_gap_cycles, 0, 1'000'000, "input_gap_cycles");
  output_gap = c.cycle * in_range(c.output_gap_cycles, 0, 1'000'000, "output_gap_cycles");
  in_range(c.virtual_channels, 1, 8, "virtual_channels");
  in_range(c.intra_ports, 1, 16, "intra_ports");
}

void check_fifos(const RouterConfig& c) {
  const RouterPace pace(c);
  in_range(c.intra_fifo_words, pace.most_payload_words, 1 << 24, "intra_fifo_words (which must hold the largest payload)");
  in_range(c.inter_fifo_words, pace.most_payload_words * c.virtual_channels, 1 << 24,
           "inter_fifo_words (which must hold the largest payload in each virtual channel)");
  in_range(c.header_fifo_words, c.header_words * c.virtual_channels, 1 << 24, "header_fifo_words (which must hold a header in each virtual channel)");
}

LinkPace::LinkPace(const LinkConfig& c, const RouterConfig& router, const RouterPace& pace) {
  require(c.word_time > Time(), "a link's word time must be longer than 0");
  require(c.latency >= Time(), "a link's latency must not be negative");
  const std::int64_t bits = in_range(c.word_bits, 1, 1 << 16, "a link's word_bits");
  const std::uint32_t framing = in_range(c.framing_words, 0, 1024, "a link's framing_words");
  const auto link_words = [&](std::int64_t words) { return static_cast<std::uint32_t>((words * router.word_bits + bits - 1) / bits); };
  word_time = c.word_time;
  to_wire = pace.to_output + pace.cycle * kBufferCycles;
  across = c.latency + pace.cycle * kReceiveCycles + pace.to_request;
  back = c.latency + pace.cycle * kRoomCycles;
  slot_back = pace.cycle * kReleaseCycles;
  tail_to_wire = pace.cycle * (kOutputCycles - 1 + kBufferCycles);
  pause_every = in_range(c.pause_every, 0, 255, "a link's pause_every");
  require(pause_every != 1, "a link's pause_every is 1, a pause after each word: give it half the rate, and 0 or from 2 to 255");
  per_pause = pause_every == 0 ? 0 : ~std::uint64_t{0} / pause_every + 1;
  control_words = framing > 0 ? framing : 1;
  head_words = framing + link_words(router.header_words);
  last_word = c.word_time * link_words(1);
  for (std::uint32_t payload = 0; payload <= pace.most_payload_words; ++payload)
    packet_words.push_back(framing + link_words(pace.packet_words(payload)));
}

Time zero_load_time(const RouterPace& router, const std::vector<const LinkPace*>& path, std::uint32_t payload_words) {
  // The head passes every stage at once. The tail is right behind it at the stage's own rate, or held back by a slower stage before it.
  const Time words = router.cycle * router.packet_words(payload_words);
  Time request = router.head + router.to_request, tail = words - router.cycle + router.to_request;
  for (const LinkPace* link : path) {
    const auto out = [link](std::uint32_t n) {
      std::uint32_t phase = 0;
      return link->word_time * link->slots(n, phase);
    };
    const Time start = request + link->to_wire, left = max(request + words, tail);
    tail = max(start + out(link->packet_words[payload_words]), left + link->tail_to_wire + link->last_word) + link->across;
    request = start + out(link->head_words) + link->across;
  }
  return max(request + words, tail) + router.to_output;
}

}  // namespace exanet
