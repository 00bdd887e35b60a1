// SPDX-License-Identifier: Apache-2.0
// Random messages between Verilated nodes, with what must become of each: delivered whole and once where a slot comes
// free without a reason, not at all where it was refused, and only into a mailbox of the sender's domain.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "gateware/ni/tb/ni_network.hpp"

namespace exanet::gateware {

enum class Target { kOpen, kOtherDomain, kClosed, kNone, kAway, kNoPlace, kTooLong };

struct TrafficConfig {
  std::uint64_t seed = 1;
  unsigned messages = 300;  // on each node
  double rate = 0.05;  // messages that a node offers in a cycle
  double reads = 1;  // share of cycles in which a node reads its mailboxes
  unsigned log_entries = 4;  // of mailboxes
  unsigned wrong_one_in = 0;  // messages with another target than kOpen
  unsigned eager_one_in = 0;  // that are stored without a free slot
  bool all_to_first = false;
  unsigned least_bytes = 0, most_bytes = 64;
};

// Mailboxes 0 to 3 are open to domain 10 + mailbox; 4 is closed; the others have never been opened. Context c is of
// domain 10 + c % 4.
class Traffic {
 public:
  static constexpr unsigned kDomains = 4, kClosedMailbox = 4;
  static unsigned domain(unsigned of) { return 10 + of % kDomains; }
  static std::uint64_t ring(unsigned mailbox) { return 0x40'0000'0000 + 0x100'0000 * std::uint64_t{mailbox}; }

  Traffic(NiNetwork& network, TrafficConfig config) : network_(network), config_(config), random_(config.seed) {
    nodes_.resize(network.size());
    for (std::size_t n = 0; n < network.size(); ++n) {
      for (unsigned c = 0; c < kContexts; ++c) network.open_context(n, c, domain(c));
      for (unsigned m = 0; m <= kClosedMailbox; ++m) {
        network.open_mailbox(n, m, domain(m), ring(m), config.log_entries, m != kClosedMailbox);
        nodes_[n].readers.emplace_back(ring(m), config.log_entries);
      }
      nodes_[n].contexts.resize(kContexts);
      nodes_[n].left = config.messages;
    }
    network.run_until_stored();
  }

  // Until every message has come to its end, and then what processors see of it.
  void run(std::uint64_t most_cycles) {
    const std::uint64_t begin = network_.cycle();
    while (!done()) {
      if (network_.cycle() - begin >= most_cycles) {
        FAIL("messages are under way after " << most_cycles << " cycles");
        return;
      }
      step();
    }
    for (int i = 0; i < 200; ++i) step();
    for (std::size_t n = 0; n < nodes_.size(); ++n) check(n);
  }
  void step() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      offer(n);
      if (config_.reads >= 1 || draw() < config_.reads) read(n);
    }
    network_.step();
    for (std::size_t n = 0; n < nodes_.size(); ++n) watch(n);
  }
  bool done() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [](const Node& node) { return node.left == 0 && node.under_way == 0; });
  }

  std::uint64_t delivered = 0, failed = 0, refused = 0, silent = 0, full = 0;

 private:
  struct Message {
    bool busy = false;
    Target target = Target::kOpen;
    std::size_t to = 0;
    unsigned mailbox = 0, deliveries = 0;
    std::vector<std::uint8_t> bytes;
  };
  struct Context {
    Message slots[4];
    unsigned fill = 0, refused = 0, failed = 0;
  };
  struct Node {
    std::vector<Context> contexts;
    std::vector<MailboxReader> readers;
    unsigned left = 0, under_way = 0;
    std::size_t seen = 0;
  };

  double draw() { return std::uniform_real_distribution<>{}(random_); }
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  // Stores of 1 to 16 bytes, in any order, over each other; what no store has written is zero.
  std::vector<std::uint8_t> store_payload(std::size_t n, unsigned context) {
    std::vector<std::uint8_t> bytes(64);
    for (unsigned stores = pick(8); stores > 0; --stores) {
      const unsigned width = 1u << pick(5), at = pick(64 / width) * width;
      Store store{0, page(context) + (at & ~15u), {}, ((1u << width) - 1) << at % 16};
      for (unsigned i = 0; i < 16; ++i) store.data[i] = static_cast<std::uint8_t>(random_());
      for (unsigned i = at; i < at + width; ++i) bytes[i] = store.data[i % 16];
      network_.store(n, store);
    }
    return bytes;
  }

  void offer(std::size_t n) {
    Node& node = nodes_[n];
    if (node.left == 0 || network_.node(n).stores.size() > 16 || draw() >= config_.rate) return;
    const unsigned c = pick(kContexts);
    Context& context = node.contexts[c];
    Message& slot = context.slots[context.fill];
    const bool free = !slot.busy && !network_.node(n).is_held(4 * c + context.fill);
    if (!free && (config_.eager_one_in == 0 || pick(config_.eager_one_in) != 0)) return;
    --node.left;
    Message message;
    message.busy = true;
    if (config_.wrong_one_in != 0 && pick(config_.wrong_one_in) == 0) message.target = static_cast<Target>(1 + pick(6));
    message.to = config_.all_to_first ? 0 : pick(static_cast<unsigned>(nodes_.size()));
    message.mailbox = c % kDomains;
    std::uint32_t place = network_.node(message.to).dcid;
    unsigned length = config_.least_bytes + pick(config_.most_bytes - config_.least_bytes + 1);
    switch (message.target) {
      case Target::kOtherDomain: message.mailbox = (c + 1 + pick(kDomains - 1)) % kDomains; break;
      case Target::kClosed: message.mailbox = kClosedMailbox + pick(kMailboxes - kClosedMailbox); break;
      case Target::kNone: message.mailbox = kMailboxes + pick(0x10000 - kMailboxes); break;
      case Target::kAway:
        place = 0x8000 * pick(2) + 0x3f0000 * pick(2) + 8 + pick(200);
        break;  // no node, and no place
      case Target::kNoPlace: place = 0x3fffff - pick(1000); break;
      case Target::kTooLong: length = 65 + pick(63); break;
      default: break;
    }
    message.bytes = store_payload(n, c);
    message.bytes.resize(std::min(length, 64u));
    network_.send(n, c, place, message.mailbox, length);
    if (!free || message.target >= Target::kAway) {
      // A slot may come free before its stores are taken; who sends without one takes what comes.
      if (!free) {
        await(n, c, message);
        return;
      }
      ++context.refused, ++refused;
      return;
    }
    slot = message;
    context.fill = (context.fill + 1) % 4;
    ++node.under_way;
  }

  // What was sent without a free slot: looks at the interface's own count until the stores have been taken.
  void await(std::size_t n, unsigned c, const Message& message) {
    const unsigned before = nodes_[n].contexts[c].refused;
    while (!network_.node(n).stores.empty()) {
      network_.step();
      for (std::size_t k = 0; k < nodes_.size(); ++k) watch(k);
    }
    for (int i = 0; i < 4; ++i) {
      network_.step();
      for (std::size_t k = 0; k < nodes_.size(); ++k) watch(k);
    }
    const auto now = static_cast<unsigned>(network_.status(n, c).refused());
    for (std::size_t k = 0; k < nodes_.size(); ++k) watch(k);
    if (now != before) {
      CHECK(now == before + 1);
      ++nodes_[n].contexts[c].refused, ++refused;
      return;
    }
    Context& context = nodes_[n].contexts[c];
    REQUIRE(message.target < Target::kAway);
    REQUIRE(!context.slots[context.fill].busy);
    context.slots[context.fill] = message;
    context.fill = (context.fill + 1) % 4;
    ++nodes_[n].under_way;
  }

  void read(std::size_t n) {
    for (unsigned m = 0; m < kDomains; ++m) {
      MailboxReader& reader = nodes_[n].readers[m];
      const auto message = reader.poll(*network_.node(n).memory);
      if (!message) continue;
      ++delivered;
      std::size_t from = 0;
      while (from < nodes_.size() && network_.node(from).dcid != message->entry.source_dcid()) ++from;
      REQUIRE(from < nodes_.size());
      const auto channel = static_cast<unsigned>(message->entry.channel());
      REQUIRE(channel < 4 * kContexts);
      Message& sent = nodes_[from].contexts[channel / 4].slots[channel % 4];
      // The slot may have come free, but holds what it held until its context stores again; then the reader looked too
      // late.
      CHECK(message->entry.pdid() == domain(m));
      if (config_.reads >= 1) {
        CHECK(sent.target == Target::kOpen);
        CHECK(sent.to == n);
        CHECK(sent.mailbox == m);
        CHECK(message->bytes == sent.bytes);
      }
      network_.release(n, m, m, reader.place());
    }
  }

  void watch(std::size_t n) {
    Node& node = nodes_[n];
    // Entries as they are written: each by one burst that ends with its record.
    const auto& beats = network_.node(n).memory->beats;
    for (; node.seen < beats.size(); ++node.seen) {
      burst_[n].push_back(beats[node.seen]);
      if (beats[node.seen].last) written(n);
    }
    auto& events = network_.node(n).slot_events;
    for (const SlotEvent& event : events) {
      Context& context = node.contexts[event.slot / 4];
      Message& message = context.slots[event.slot % 4];
      REQUIRE(message.busy);
      if (!event.freed) {
        CHECK(event.reason == unsigned{static_cast<unsigned>(spec::NackReason::kFull)});
        CHECK(message.target == Target::kOpen);
        ++full;
        continue;
      }
      end(message, static_cast<spec::NackReason>(event.reason));
      context.failed += event.reason != 0;
      message.busy = false;
      --node.under_way;
    }
    events.clear();
  }

  void written(std::size_t n) {
    auto& burst = burst_[n];
    spec::MailboxEntry entry;
    for (unsigned i = 0; i < 16; ++i) entry.raw[i / 4] |= std::uint32_t{burst.back().data[i]} << 8 * (i % 4);
    const unsigned m = static_cast<unsigned>((burst.back().address - ring(0)) / 0x100'0000);
    REQUIRE(m < kDomains);
    CHECK(burst.back().address % 0x100'0000 < 128u << config_.log_entries);
    const auto channel = static_cast<unsigned>(entry.channel());
    Message* sent = nullptr;
    for (std::size_t from = 0; from < nodes_.size(); ++from)
      if (network_.node(from).dcid == entry.source_dcid())
        sent = &nodes_[from].contexts.at(channel / 4).slots[channel % 4];
    REQUIRE(sent != nullptr);
    CHECK(sent->busy);
    CHECK(sent->target == Target::kOpen);
    CHECK((sent->to == n && sent->mailbox == m));
    CHECK(domain(channel / 4) == domain(m));
    CHECK(entry.pdid() == domain(m));
    CHECK(++sent->deliveries == 1);
    CHECK(entry.length() == sent->bytes.size());
    REQUIRE(burst.size() == (sent->bytes.size() + 15) / 16 + 1);
    bool same = true;
    for (std::size_t i = 0; i < sent->bytes.size(); ++i) same = same && burst[i / 16].data[i % 16] == sent->bytes[i];
    CHECK(same);
    burst.clear();
  }

  void end(const Message& message, spec::NackReason reason) {
    using Reason = spec::NackReason;
    if (reason == Reason::kSilent) {
      ++silent;
      CHECK(message.deliveries <= 1);
      return;
    }
    switch (message.target) {
      case Target::kOpen:
        CHECK(reason == Reason::kNone);
        CHECK(message.deliveries == 1);
        return;
      case Target::kOtherDomain: CHECK(reason == Reason::kDomain); break;
      default: CHECK(reason == Reason::kClosed);
    }
    ++failed;
    CHECK(message.deliveries == 0);
  }

  void check(std::size_t n) {
    for (unsigned c = 0; c < kContexts; ++c) {
      const auto status = network_.status(n, c);
      CHECK(status.free_slots() == 0xf);
      CHECK(status.fill() == nodes_[n].contexts[c].fill);
      CHECK(status.refused() == nodes_[n].contexts[c].refused);
      CHECK(status.failed() == nodes_[n].contexts[c].failed);
    }
    CHECK(network_.node(n).bad_answers == 0);
  }

  NiNetwork& network_;
  TrafficConfig config_;
  std::mt19937_64 random_;
  std::vector<Node> nodes_;
  std::map<std::size_t, std::vector<WrittenBeat>> burst_;
};

}  // namespace exanet::gateware
