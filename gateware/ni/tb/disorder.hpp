// SPDX-License-Identifier: Apache-2.0
// What may become of packets between a router and a network interface: lost, damaged, handed over twice, or late,
// behind others that came after them; acknowledgements that another node has forged; and a node that is cut off, for a
// while or for good. All of it is drawn from a
// seed and from the packet's number at its port, so the model of the same packets meets the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gateware/tb/packet.hpp"

namespace exanet::gateware {

struct DisorderConfig {
  unsigned lost_one_in = 0, damaged_one_in = 0, twice_one_in = 0, late_one_in = 0;  // packets; 0: none
  unsigned forged_one_in = 0;  // acknowledgements before which one comes that is the same but for its node; 0: none
  unsigned most_late = 500;  // cycles, of those that are late and of second copies
  // Between these cycles nothing goes between this node and others; again and again, where a period is given.
  std::size_t cut_node = 0;
  std::uint64_t cut_from = 0, cut_until = 0, cut_period = 0;
  std::uint64_t seed = 1;

  bool any() const {
    return lost_one_in != 0 || damaged_one_in != 0 || twice_one_in != 0 || late_one_in != 0 || forged_one_in != 0 ||
           cut_until != 0;
  }
  bool is_cut(std::uint64_t cycle) const {
    if (cycle < cut_from) return false;
    return (cut_period == 0 ? cycle - cut_from : (cycle - cut_from) % cut_period) < cut_until - cut_from;
  }
};

struct DisorderCounts {
  std::uint64_t packets = 0, lost = 0, damaged = 0, twice = 0, late = 0, overtaken = 0, cut = 0, forged = 0;
  DisorderCounts& operator+=(const DisorderCounts& o) {
    packets += o.packets, lost += o.lost, damaged += o.damaged, twice += o.twice, late += o.late;
    overtaken += o.overtaken, cut += o.cut, forged += o.forged;
    return *this;
  }
};

// One port of one node: packets come in whole, and go on one behind the other, as many as the interface has slots for.
template <typename What>
class Disorder {
 public:
  struct Going {
    What what;
    unsigned words;  // with header and footer
    bool damaged;
    std::uint64_t draw;
  };

  Disorder(const DisorderConfig& config, std::size_t node, unsigned port) : config_(config), node_(node), port_(port) {}

  // Its last word has been there in this cycle. `forge` makes it another node's. Returns the cycles from which on
  // copies of it may go.
  template <typename Forge>
  std::vector<std::uint64_t> came(What what, unsigned words, std::size_t from, std::uint64_t cycle, Forge forge) {
    const std::uint64_t number = counts.packets++;
    const bool cut = config_.is_cut(cycle) && (from == config_.cut_node) != (node_ == config_.cut_node);
    counts.cut += cut;
    if (cut) return {};
    std::vector<std::uint64_t> from_cycles;
    if (port_ == kAnswers && hits(config_.forged_one_in, number, 5)) {
      ++counts.forged;
      waiting_.push_back({cycle + 1, entries_++, {forge(what), words, false, 0}});
      from_cycles.push_back(cycle + 1);
    }
    if (hits(config_.lost_one_in, number, 1)) {
      ++counts.lost;
      return from_cycles;
    }
    const bool damaged = hits(config_.damaged_one_in, number, 2), twice = hits(config_.twice_one_in, number, 3),
               late = hits(config_.late_one_in, number, 4);
    counts.damaged += damaged, counts.twice += twice, counts.late += late;
    for (unsigned copy = 0; copy < 1u + twice; ++copy) {
      const bool waits = copy != 0 || late;
      const std::uint64_t draw = drawn(number, 8 + copy),
                          from_cycle = cycle + 1 + (waits ? draw % (config_.most_late + 1) : 0);
      waiting_.push_back({from_cycle, entries_++, {what, words, damaged && copy == 0, draw}});
      from_cycles.push_back(from_cycle);
    }
    return from_cycles;
  }
  // The interface has given a slot back: another packet may go from the next cycle on.
  void given_back() { --under_way_; }
  // The packet whose header goes in this cycle. The next one goes behind its last word.
  std::optional<Going> begins(std::uint64_t cycle) {
    if (cycle < free_ || under_way_ == kSlots) return std::nullopt;
    const auto first = std::min_element(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return std::pair(a.from, a.number) < std::pair(b.from, b.number);
    });
    if (first == waiting_.end() || first->from > cycle) return std::nullopt;
    const Going going = first->going;
    counts.overtaken += first->number < newest_;
    newest_ = std::max(newest_, first->number);
    waiting_.erase(first);
    ++under_way_;
    free_ = cycle + going.words;
    return going;
  }
  std::uint64_t free() const { return free_; }

  DisorderCounts counts;

 private:
  static constexpr unsigned kSlots = 8, kAnswers = 1;  // kAnswers: the port of acknowledgements
  struct Waiting {
    std::uint64_t from, number;
    Going going;
  };

  std::uint64_t drawn(std::uint64_t number, unsigned what) const {
    std::uint64_t h =
        (config_.seed * 64 + node_ * 4 + port_) * 0x9e3779b97f4a7c15 + (number * 16 + what) * 0xbf58476d1ce4e5b9;
    h = (h ^ h >> 31) * 0x94d049bb133111eb;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9;
    return h >> 32;
  }
  bool hits(unsigned one_in, std::uint64_t number, unsigned what) const {
    return one_in != 0 && drawn(number, what) % one_in == 0;
  }

  DisorderConfig config_;
  std::size_t node_;
  unsigned port_;
  std::vector<Waiting> waiting_;
  std::uint64_t entries_ = 0, newest_ = 0, free_ = 0;
  unsigned under_way_ = 0;
};

// The same of a Verilated port, word by word.
class DisorderedPort {
 public:
  DisorderedPort(const DisorderConfig& config, std::size_t node, unsigned port) : disorder_(config, node, port) {}

  // A word out of the router. `node_at` says whose address a packet has, `address_of` the address of a node.
  template <typename NodeAt, typename AddressOf>
  void accept(const spec::Flit& flit, std::uint64_t cycle, NodeAt node_at, AddressOf address_of) {
    coming_.push_back(flit);
    if (!flit.tail()) return;
    spec::Header header;
    header.raw = coming_.front().data();
    const auto words = static_cast<unsigned>(coming_.size());
    const std::size_t from = node_at(static_cast<std::uint32_t>(header.source_dcid()));
    disorder_.came(std::exchange(coming_, {}), words, from, cycle,
                   [&](Words forged) { return sent_by(std::move(forged), address_of(from + 1)); });
    releases_ = true;
  }
  void given_back() { disorder_.given_back(); }
  // The word to the interface in this cycle.
  spec::Flit next(std::uint64_t cycle) {
    if (at_ == going_.size()) {
      const auto begins = disorder_.begins(cycle);
      if (!begins) return {};
      going_ = begins->damaged ? damaged(begins->what, begins->draw) : begins->what;
      at_ = 0;
    }
    return going_[at_++];
  }
  // Whether a slot goes back to the router in this cycle: the packet before was taken out of it.
  bool releases() { return std::exchange(releases_, false); }
  const DisorderCounts& counts() const { return disorder_.counts; }

 private:
  using Words = std::vector<spec::Flit>;

  // The packet as if the node of this address had sent it, with codes that are right.
  static Words sent_by(Words words, std::uint32_t address) {
    Receiver receiver;
    for (const spec::Flit& word : words) receiver.accept(word, 0);
    Packet packet = receiver.arrivals.front().packet;
    packet.header.set_source_dcid(address);
    spec::protect(packet.header);
    packet.footer.set_crc32(spec::packet_crc(packet.header, packet.payload, packet.footer));
    words.front().set_data(packet.header.raw);
    words.back().set_data(packet.footer.raw);
    return words;
  }
  // One bit of a packet is another one; or, where its codes do not cover that, a link has marked it.
  static Words damaged(Words words, std::uint64_t draw) {
    spec::Flit& flit = words[draw % words.size()];
    Word data = flit.data();
    data[draw / 64 % 4] ^= 1u << draw / 256 % 32;
    flit.set_data(data);
    Receiver receiver;
    for (const spec::Flit& word : words) receiver.accept(word, 0);
    if (!receiver.arrivals.front().sound) return words;
    spec::Footer footer;
    footer.raw = words.back().data();
    footer.set_error(1);
    words.back().set_data(footer.raw);
    return words;
  }

  Disorder<Words> disorder_;
  Words coming_, going_;
  std::size_t at_ = 0;
  bool releases_ = false;
};

}  // namespace exanet::gateware
