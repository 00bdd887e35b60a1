// SPDX-License-Identifier: Apache-2.0
// Stands at an intra-tile port in place of a network interface: packets made with every code in place on the way in,
// and taken apart with every check on the way out. The payload is not the program's bytes, which move beside the
// network, but words that only this packet has.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/spec/integrity.hpp"
#include "core/spec/node_library.h"

namespace exanet::gateware {

using RouterWord = std::array<std::uint32_t, 4>;

inline unsigned payload_words(unsigned bytes) { return (bytes + 15) / 16; }

// So many of a payload's words as a mask, drawn by the packet's id.
inline std::uint32_t drawn_words(std::uint64_t id, unsigned words, unsigned count) {
  std::uint32_t mask = 0;
  for (unsigned left = words; left > 0; --left) {
    id = id * 6364136223846793005u + 1442695040888963407u;
    if ((id >> 33) % left >= count) continue;
    mask |= 1u << (left - 1);
    --count;
  }
  return mask;
}

// Payload that only one packet has, but for halves that equal Magic: of no word both while there are enough words. How
// many of them it has travels in the field of a process that nobody looks at.
class Payload {
 public:
  Payload() = default;
  explicit Payload(const spec::Header& header) : id_(header.dmadd()) {
    const unsigned words = payload_words(static_cast<unsigned>(header.length()));
    const auto counts = static_cast<unsigned>(header.pdid());
    if (counts == 0) return;
    const unsigned lower = counts % kMost, upper = counts / kMost;
    magic_[0] = drawn_words(id_, words, lower);
    if (lower + upper > words) {
      magic_[1] = drawn_words(~id_, words, upper);
      return;
    }
    std::uint32_t among = drawn_words(~id_, words - lower, upper);  // the other words
    for (unsigned i = 0; i < words; ++i)
      if ((magic_[0] >> i & 1) == 0) {
        magic_[1] |= (among & 1) << i;
        among >>= 1;
      }
  }
  static unsigned counts(const exanet_node_packet& packet) {
    return packet.magic_lower + unsigned{packet.magic_upper} * kMost;
  }

  RouterWord word(unsigned i) const {
    const auto low = static_cast<std::uint32_t>(id_), high = static_cast<std::uint32_t>(id_ >> 32);
    RouterWord word{low, high, ~low, i};
    for (unsigned half = 0; half < 2; ++half)
      if ((magic_[half] >> i & 1) != 0) {
        word[2 * half] = static_cast<std::uint32_t>(spec::kMagicWord);
        word[2 * half + 1] = static_cast<std::uint32_t>(spec::kMagicWord >> 32);
      }
    return word;
  }

 private:
  static constexpr unsigned kMost = 32;
  std::uint64_t id_ = 0;
  std::uint32_t magic_[2] = {};  // words whose lower and upper half equals it
};

inline spec::Footer make_footer(const spec::Header& header) {
  spec::Footer footer;
  footer.set_number(header.dmadd() & 0xffffff);
  const Payload words(header);
  std::vector<RouterWord> payload(payload_words(static_cast<unsigned>(header.length())));
  for (unsigned i = 0; i < payload.size(); ++i) payload[i] = words.word(i);
  footer.set_crc32(spec::packet_crc(header, payload, footer));
  return footer;
}

inline spec::Flit make_flit(const RouterWord& data, bool head, bool tail) {
  spec::Flit flit;
  flit.set_data(data);
  flit.set_head(head);
  flit.set_tail(tail);
  flit.set_valid(1);
  return flit;
}

// The words of packets, one a cycle; at the end of one a priority packet goes before all bulk.
class PacketSource {
 public:
  void send(const exanet_node_packet& packet) { queue_[packet.high_priority != 0].push_back(packet); }
  bool idle() const { return queue_[0].empty() && queue_[1].empty(); }

  spec::Flit next() {
    if (position_ == 0) class_ = !queue_[1].empty();
    const exanet_node_packet& packet = queue_[class_].front();
    const unsigned words = payload_words(packet.payload_bytes), at = position_++;
    if (at == 0) {
      payload_ = Payload(header(packet));
      return make_flit(header(packet).raw, true, false);
    }
    if (at <= words) return make_flit(payload_.word(at - 1), false, false);
    const spec::Flit tail = make_flit(make_footer(header(packet)).raw, false, true);
    queue_[class_].pop_front();
    position_ = 0;
    return tail;
  }

 private:
  static spec::Header header(const exanet_node_packet& packet) {
    spec::Header header;
    header.set_dmadd(packet.id);
    header.set_dcid(packet.destination);
    header.set_source_dcid(packet.source);
    header.set_length(packet.payload_bytes);
    header.set_kind(packet.kind);
    header.set_high_priority(packet.high_priority);
    header.set_multicast(packet.multicast);
    header.set_pdid(Payload::counts(packet));
    spec::protect(header);
    return header;
  }

  std::deque<exanet_node_packet> queue_[2];  // of each class
  unsigned position_ = 0, class_ = 0;
  Payload payload_;  // of the packet whose words are going out
};

class PacketSink {
 public:
  // True when the word was a packet's last; then id() and sound() are its.
  bool accept(const spec::Flit& flit) {
    if (flit.head()) {
      sound_ = !open_;
      open_ = true;
      header_.raw = flit.data();
      sound_ = sound_ && spec::intact(header_);
      payload_ = Payload(header_);
      words_ = 0;
      return false;
    }
    sound_ = sound_ && open_;
    if (!flit.tail()) {
      sound_ = sound_ && flit.data() == payload_.word(words_++);
      return false;
    }
    open_ = false;
    const unsigned bytes = static_cast<unsigned>(header_.length());
    sound_ = sound_ && words_ == payload_words(bytes) && flit.data() == make_footer(header_).raw;
    return true;
  }
  std::uint64_t id() const { return header_.dmadd(); }
  const spec::Header& header() const { return header_; }
  bool sound() const { return sound_; }

 private:
  spec::Header header_;
  Payload payload_;
  unsigned words_ = 0;
  bool open_ = false, sound_ = false;
};

}  // namespace exanet::gateware
