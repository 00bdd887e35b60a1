// SPDX-License-Identifier: Apache-2.0
// Packets for the gateware's tests: made with every check in place, and taken apart with every check made.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "core/spec/integrity.hpp"

namespace exanet::gateware {

using Word = std::array<std::uint32_t, 4>;

struct Packet {
  spec::Header header;
  std::vector<Word> payload;
  spec::Footer footer;
};

// A packet of `bytes` random bytes; `number` comes back in its footer.
inline Packet make_packet(std::uint32_t source, std::uint32_t destination, unsigned kind, unsigned bytes,
                          std::uint32_t number, std::mt19937_64& random, bool high_priority = false) {
  Packet packet;
  packet.header.set_dmadd(random());
  packet.header.set_dcid(destination);
  packet.header.set_pdid(random());
  packet.header.set_source_dcid(source);
  packet.header.set_length(bytes);
  packet.header.set_kind(kind);
  packet.header.set_high_priority(high_priority);
  spec::protect(packet.header);
  packet.payload.resize((bytes + 15) / 16);
  for (unsigned i = 0; i < bytes; ++i)
    packet.payload[i / 16][i % 16 / 4] |= static_cast<std::uint32_t>(random() & 0xff) << 8 * (i % 4);
  packet.footer.set_number(number);
  packet.footer.set_channel(random());
  packet.footer.set_crc32(spec::packet_crc(packet.header, packet.payload, packet.footer));
  return packet;
}

inline spec::Flit make_flit(const Word& data, unsigned vc, bool head, bool tail) {
  spec::Flit flit;
  flit.set_data(data);
  flit.set_vc(vc);
  flit.set_head(head);
  flit.set_tail(tail);
  flit.set_valid(1);
  return flit;
}

// The words of packets, one a cycle, when the receiver has space for all of the packet. Priority packets go before
// bulk, which leaves space for one.
class Sender {
 public:
  Sender(unsigned words, unsigned headers) : words_(words), headers_(headers) {}

  void push(Packet packet) { queue_[packet.header.high_priority()].push_back(std::move(packet)); }
  bool idle() const { return waiting() == 0; }
  std::size_t waiting() const { return queue_[0].size() + queue_[1].size(); }
  void credit(const spec::Credit& credit) {
    words_ += static_cast<unsigned>(credit.words());
    headers_ += static_cast<unsigned>(credit.headers());
  }
  const std::vector<std::uint64_t>& sent_cycles() const { return sent_; }

  spec::Flit next(std::uint64_t cycle) {
    if (position_ == 0) class_ = !queue_[1].empty();
    if (queue_[class_].empty()) return {};
    const Packet& packet = queue_[class_].front();
    const unsigned length = static_cast<unsigned>(packet.payload.size());
    if (position_ == 0) {
      const unsigned packets = class_ == 1 ? 1 : 2, words = length + (packets - 1) * spec::kMaxPayloadWords;
      if (headers_ < packets || words_ < words) return {};
      --headers_;
      words_ -= length;
      sent_.push_back(cycle);
    }
    const unsigned at = position_++;
    if (at == 0) return make_flit(packet.header.raw, 0, true, false);
    if (at <= length) return make_flit(packet.payload[at - 1], 0, false, false);
    const spec::Flit flit = make_flit(packet.footer.raw, 0, false, true);
    queue_[class_].pop_front();
    position_ = 0;
    return flit;
  }

 private:
  unsigned words_, headers_, position_ = 0, class_ = 0;
  std::deque<Packet> queue_[2];
  std::vector<std::uint64_t> sent_;
};

struct Arrival {
  Packet packet;
  std::uint64_t head_cycle, tail_cycle;
  bool sound;  // header and payload intact, length right, not marked by a link
};

// Puts packets together again. Contract: words of one channel of one port.
class Receiver {
 public:
  // True when the word was a packet's last.
  bool accept(const spec::Flit& flit, std::uint64_t cycle) {
    if (flit.head()) {
      framing_errors_ += open_;
      open_ = true;
      now_ = {};
      now_.packet.header.raw = flit.data();
      now_.head_cycle = cycle;
      return false;
    }
    framing_errors_ += !open_;
    if (!flit.tail()) {
      now_.packet.payload.push_back(flit.data());
      return false;
    }
    open_ = false;
    now_.packet.footer.raw = flit.data();
    now_.tail_cycle = cycle;
    const Packet& p = now_.packet;
    now_.sound = spec::intact(p.header) && p.payload.size() == (p.header.length() + 15) / 16 && !p.footer.error() &&
                 p.footer.crc32() == spec::packet_crc(p.header, p.payload, p.footer);
    arrivals.push_back(now_);
    return true;
  }
  unsigned framing_errors() const { return framing_errors_; }

  std::vector<Arrival> arrivals;

 private:
  bool open_ = false;
  unsigned framing_errors_ = 0;
  Arrival now_{};
};

}  // namespace exanet::gateware
