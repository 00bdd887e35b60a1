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
  latency = c.cycle * in_range(c.latency_cycles, 0, 1'000'000, "latency_cycles");
  head = c.cycle * header;
  input_gap = c.cycle * in_range(c.input_gap_cycles, 0, 1'000'000, "input_gap_cycles");
  output_gap = c.cycle * in_range(c.output_gap_cycles, 0, 1'000'000, "output_gap_cycles");
  const std::int64_t channels = in_range(c.virtual_channels, 1, 8, "virtual_channels");
  in_range(c.intra_ports, 1, 16, "intra_ports");
  in_range(c.intra_fifo_words, most_payload_words, 1 << 24, "intra_fifo_words (which must hold the largest payload)");
  in_range(c.inter_fifo_words, most_payload_words * channels, 1 << 24,
           "inter_fifo_words (which must hold the largest payload in each virtual channel)");
  in_range(c.header_fifo_words, header * channels, 1 << 24, "header_fifo_words (which must hold a header in each virtual channel)");
}

LinkPace::LinkPace(const LinkConfig& c, const RouterConfig& router, const RouterPace& pace) {
  require(c.word_time > Time(), "a link's word time must be longer than 0");
  require(c.latency >= Time(), "a link's latency must not be negative");
  const std::int64_t bits = in_range(c.word_bits, 1, 1 << 16, "a link's word_bits");
  const std::uint32_t framing = in_range(c.framing_words, 0, 1024, "a link's framing_words");
  const auto link_words = [&](std::int64_t words) { return static_cast<std::uint32_t>((words * router.word_bits + bits - 1) / bits); };
  word_time = c.word_time;
  latency = c.latency;
  pause_every = in_range(c.pause_every, 0, 1 << 24, "a link's pause_every");
  head_words = framing + link_words(router.header_words);
  last_word = c.word_time * link_words(1);
  for (std::uint32_t payload = 0; payload <= pace.most_payload_words; ++payload)
    packet_words.push_back(framing + link_words(pace.packet_words(payload)));
}

Time zero_load_time(const RouterPace& router, const std::vector<const LinkPace*>& path, std::uint32_t payload_words) {
  // The head passes every stage at once. The tail is right behind it at the stage's own rate, or held back by the crossbar or by a
  // slower stage before it.
  const std::int64_t words = router.packet_words(payload_words);
  const Time behind_head = router.cycle * (words - 1);
  Time head = router.head, tail = router.cycle * words;
  for (const LinkPace* link : path) {
    const auto with_pauses = [link](std::int64_t n) { return link->word_time * (link->pause_every == 0 ? n : n + n / link->pause_every); };
    const Time last_word = max(head + behind_head, tail) + router.latency;
    tail = max(head + router.latency + with_pauses(link->packet_words[payload_words]), last_word + link->last_word) + link->latency;
    head = head + router.latency + with_pauses(link->head_words) + link->latency;
  }
  return max(head + behind_head, tail) + router.latency + router.cycle;
}

}  // namespace exanet
