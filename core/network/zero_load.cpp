// SPDX-License-Identifier: Apache-2.0
// The time of a message alone in the network.
//
// Problem: a message may have millions of packets. Model: packets of one length soon follow each other in a pattern
// that repeats, with the pauses of the links after some packets, or with each packet where no link pauses. Packets are
// computed one by one until it does; whole repetitions are then left out. Limit: after kMost packets the pattern is
// taken to be that of the last ones.
#include "core/network/zero_load.hpp"

#include <algorithm>
#include <numeric>

namespace exanet {

namespace {

constexpr std::uint64_t kMost = 1 << 16;
// Packets for which the pattern of a rate other than the slowest stage's has to last.
constexpr std::uint64_t kLong = 256;

// Packets after which the pauses of all these links come at the same words.
std::uint64_t between_same_pauses(const ZeroLoadModel& model, const std::vector<std::uint8_t>& links,
                                  std::uint32_t payload_words) {
  std::uint64_t packets = 1;
  for (const std::uint8_t link_class : links) {
    const LinkTiming& link = model.link(link_class);
    if (link.idle_every == 0) continue;
    packets = std::lcm(packets, link.idle_every / std::gcd(link.idle_every, link.packet_words[payload_words]));
  }
  return packets;
}

}  // namespace

// What so many packets take the slowest stage.
Time ZeroLoadModel::slowest(const std::vector<std::uint8_t>& links, std::uint32_t payload_words,
                            std::int64_t packets) const {
  Time most = max(input_time(payload_words), output_time(payload_words)) * packets;
  for (const std::uint8_t link_class : links) {
    const LinkTiming& timing = link(link_class);
    const std::int64_t words = timing.packet_words[payload_words] * packets,
                       pauses = timing.idle_every == 0 ? 0 : words / timing.idle_every;
    most = max(most, timing.word_time * (words + pauses));
  }
  return most;
}

std::unique_ptr<ZeroLoadModel::Way> ZeroLoadModel::way(const std::vector<std::uint8_t>& links) const {
  class InTurn final : public Way {
   public:
    InTurn(const ZeroLoadModel& model, const std::vector<std::uint8_t>& links) : model_(model), links_(links) {}
    Time next(std::uint32_t payload_words) override {
      const Time begin = sent_ == 0 ? Time() : model_.slowest(links_, payload_words_, sent_);
      if (sent_++ == 0 || payload_words != payload_words_) took_ = model_.packet_time(links_, payload_words, Time());
      payload_words_ = payload_words;
      return begin + took_;
    }

   private:
    const ZeroLoadModel& model_;
    const std::vector<std::uint8_t> links_;
    std::int64_t sent_ = 0;
    std::uint32_t payload_words_ = 0;  // of the packets so far, which are equal
    Time took_;
  };
  return std::make_unique<InTurn>(*this, links);
}

Time ZeroLoadModel::message_time(const std::vector<std::uint8_t>& links, std::uint64_t packets,
                                 std::uint32_t payload_words, std::uint32_t last_payload_words) const {
  const std::unique_ptr<Way> packets_of = way(links);
  const std::uint64_t period = between_same_pauses(*this, links, payload_words);
  const Time least = slowest(links, payload_words, static_cast<std::int64_t>(period));
  std::vector<Time> delivered;
  Time before, left_out;  // what the period before has taken; repetitions
  std::uint64_t same = 0;  // packets since the last one that took another time
  for (std::uint64_t sent = 0; sent + 1 < packets; ++sent) {
    const Time at = packets_of->next(payload_words);
    if (left_out > Time()) continue;
    delivered.push_back(at);
    if (sent < period) continue;
    const Time took = at - delivered[sent - period];
    same = took == before ? same + 1 : 0;
    before = took;
    if ((same < period || took != least) && same < kLong + period && sent < kMost) continue;
    const std::uint64_t repetitions = (packets - 2 - sent) / period;
    left_out = took * static_cast<std::int64_t>(repetitions);
    sent += repetitions * period;
  }
  return packets_of->next(last_payload_words) + left_out;
}

}  // namespace exanet
