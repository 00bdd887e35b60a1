// SPDX-License-Identifier: Apache-2.0
// Messages that stay behind transfers, at each distance in time between a message's store and a transfer's end, and in
// drawn traffic, where packets are lost and come late: each message comes once or fails, as its transfer does, and
// every slot is free again.
#include <algorithm>
#include <random>

#include "gateware/ni/tb/behind_bench.hpp"
#include "gateware/tb/long.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Processes that wait for what they have handed over, and beside them transfers that name slots in which nothing stays.
class BehindTraffic {
 public:
  BehindTraffic(std::uint64_t seed, unsigned messages)
      : random_(seed),
        network_(seed % 3 == 0 ? 4 : 2,
                 {.memory = {.latency_cycles = seed % 4 == 1 ? 300u : 20u, .stalls = seed % 3 == 1 ? 0.3 : 0.0},
                  .timeout = 4,
                  .tries = 0,
                  .block_timeout = 2,
                  .disorder = disorder_of(seed),
                  .before_reset = static_cast<int>(seed)}),
        left_(messages),
        nodes_(network_.size()) {
    for (Node& node : nodes_)
      for (auto& context : node.holds) context.fill(kNothing);
  }

  void run() {
    const std::uint64_t begin = network_.cycle();
    while (left_ != 0 || open_ != 0 || strangers_ != 0) {
      if (network_.cycle() - begin > 3'000'000) {
        FAIL("messages or transfers are under way after " << network_.cycle() - begin << " cycles");
        return;
      }
      for (std::size_t n = 0; n < nodes_.size(); ++n) offer(n);
      network_.step();
      for (std::size_t n = 0; n < nodes_.size(); ++n) take_in(n);
      if (network_.cycle() % 128 == 0)
        for (std::size_t n = 0; n < nodes_.size(); ++n) look(n);
    }
    network_.run(5000);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      CHECK(network_.come(n).empty());
      for (unsigned context = 0; context < kContexts; ++context) {
        const spec::NiStatus status = network_.status(n, context);
        CHECK(status.free_slots() == kAllFree);
        CHECK(status.failed() == nodes_[n].failed[context]);
        CHECK(status.refused() == 0);
        CHECK(network_.transfer_status(n, context).refused() == 0);
      }
    }
    CHECK(came + failed == messages_.size());
  }

  unsigned came = 0, failed = 0, named_nothing = 0;

 private:
  static constexpr int kNothing = -1;
  static constexpr std::uint64_t kEndsOfMessages = kEnds + 0x8'0000'0000, kStrangersTarget = kTarget + 0x8'0000'0000;
  static constexpr unsigned kMargin =
      8;  // channels that are not used: one is free when its end has been seen, or later

  struct Message {
    std::size_t from = 0, to = 0;  // nodes: that stores it; that has the mailbox
    bool behind = false, bad = false, notify = false, fence = false, read = false, done = false;
    std::size_t source = 0, sink = 0;  // of the transfer's bytes
    std::uint64_t own = 0, target = 0;
    std::uint32_t bytes = 0;
  };
  struct Stranger {  // a transfer that names a slot in which nothing stays
    unsigned token, context, slot;
  };
  struct Node {
    std::array<std::array<int, kSlots>, kContexts> holds;  // the message in a slot
    std::array<unsigned, kContexts> failed{};
    std::vector<Stranger> strangers;
    unsigned transfers = 0, tokens = 0;  // transfers under way
  };

  static DisorderConfig disorder_of(std::uint64_t seed) {
    if (seed % 2 == 1) return {};
    return {
        .lost_one_in = 40, .damaged_one_in = 60, .twice_one_in = 40, .late_one_in = 20, .most_late = 800, .seed = seed};
  }
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::size_t pick_node() { return pick(static_cast<unsigned>(nodes_.size())); }
  static std::uint64_t end_word(std::uint64_t token) { return kEndsOfMessages + 16 * token; }

  void offer(std::size_t n) {
    Node& node = nodes_[n];
    if (left_ == 0 || network_.node(n).stores.size() > 4 || pick(30) != 0) return;
    if (node.transfers >= kChannels - network_.config().kept_channels - kMargin) return;
    const unsigned context = pick(kContexts);
    if (pick(3) == 0) {
      name_nothing(n, context, pick(kSlots));
      return;
    }
    const unsigned slot = network_.next_slot(n, context);
    if (node.holds[context][slot] != kNothing) return;
    const bool behind = pick(3) != 0;
    const bool named =
        std::ranges::any_of(node.strangers, [&](const Stranger& s) { return s.context == context && s.slot == slot; });
    if (behind && named) return;
    hand_over(n, context, slot, behind);
  }

  void name_nothing(std::size_t n, unsigned context, unsigned slot) {
    Node& node = nodes_[n];
    const int held = node.holds[context][slot];
    if (held != kNothing && messages_[static_cast<std::size_t>(held)].behind) return;
    const unsigned token = node.tokens++;
    const std::uint64_t own = pick(2) == 0 ? kOwn : kRefusesOwn;
    const std::uint32_t bytes = pick(4) == 0 ? 0 : 64, other = network_.node(pick_node()).dcid;
    network_.transfer(n, context, naming(transfer_of(own, kStrangersTarget, bytes, other, token), slot));
    node.strangers.push_back({token, context, slot});
    ++node.transfers;
    ++strangers_;
    ++named_nothing;
  }

  void hand_over(std::size_t n, unsigned context, unsigned slot, bool behind) {
    const std::uint64_t token = messages_.size(), place = 0x10000 * token;
    Message m;
    m.from = n;
    m.to = pick_node();
    m.behind = behind;
    m.bad = behind && pick(4) == 0;
    m.notify = pick(2) == 0;
    m.read = pick(2) == 0;
    m.fence = !m.read && pick(3) == 0;
    m.bytes = pick(3) == 0 ? pick(6000) : pick(200);
    if (m.bad) m.bytes = std::max(m.bytes, 1u);  // else nothing is refused
    const std::size_t other = pick_node();
    m.source = m.read ? other : n;
    m.sink = m.read ? n : other;
    m.own = (m.bad ? kRefusesOwn : kOwn) + place + pick(100);
    m.target = kTarget + place + 64 + pick(100);
    network_.put(n, context, {.token = token, .to = m.to, .length = 8 + pick(57), .behind = behind});
    if (behind) {
      if (!m.bad) fill(network_, m.source, m.own, m.bytes);
      const std::uint32_t dcid = network_.node(other).dcid;
      auto transfer =
          m.read ? read_of(m.target, m.own, m.bytes, dcid, 0) : transfer_of(m.own, m.target, m.bytes, dcid, 0);
      transfer.set_end_word(end_word(token) / 8);
      transfer.set_notify(m.notify);
      transfer.set_fence(m.fence);
      if (m.fence) network_.fence(n, context, fence_of(kFences + 8 * token, ~token));
      network_.transfer(n, context, naming(transfer, slot));
      ++nodes_[n].transfers;
    }
    nodes_[n].holds[context][slot] = static_cast<int>(token);
    messages_.push_back(m);
    ++open_;
    --left_;
  }

  void take_in(std::size_t n) {
    const Tokens tokens = network_.come(n);
    for (const std::uint64_t token : tokens) {
      Message& m = messages_.at(token);
      CHECK(m.to == n);
      CHECK(!m.done);
      CHECK(!m.bad);
      m.done = true;
      ++came;
      --open_;
      if (!m.behind) continue;
      --nodes_[m.from].transfers;
      check_whole(m, token);
    }
    if (!tokens.empty()) network_.give_back(n);
  }

  // What the message is behind has been answered by memory.
  void check_whole(const Message& m, std::uint64_t token) {
    const NiNode &sink = network_.node(m.sink), &from = network_.node(m.from);
    check_written(network_, m.source, m.own, m.sink, m.target, m.bytes);
    CHECK(sink.dma->unanswered(m.target / 16 * 16, m.target + m.bytes) == 0);
    if (m.fence) CHECK(word_of(*sink.memory, kFences + 8 * token) == ~token);
    if (!m.notify) return;
    CHECK((word_of(*from.memory, end_word(token)) & 1) == 1);
    CHECK(from.dma->unanswered(end_word(token), end_word(token) + 16) == 0);
  }

  // Transfers of strangers that have ended, and slots that are free again.
  void look(std::size_t n) {
    Node& node = nodes_[n];
    const std::size_t ended = std::erase_if(
        node.strangers, [&](const Stranger& s) { return end_of(*network_.node(n).memory, s.token).done() != 0; });
    node.transfers -= static_cast<unsigned>(ended);
    strangers_ -= static_cast<unsigned>(ended);
    if (!network_.node(n).stores.empty()) return;
    network_.run(8);  // until what was stored last is seen in the status
    for (unsigned context = 0; context < kContexts; ++context) {
      auto& holds = node.holds[context];
      if (std::ranges::all_of(holds, [](int held) { return held == kNothing; })) continue;
      const auto held = holds;
      const spec::NiStatus status = network_.status(n, context);
      for (unsigned slot = 0; slot < kSlots; ++slot) {
        if (held[slot] == kNothing || (status.free_slots() >> slot & 1) == 0) continue;
        Message& m = messages_[static_cast<std::size_t>(held[slot])];
        holds[slot] = kNothing;
        if (!m.bad) continue;
        m.done = true;
        ++failed;
        ++node.failed[context];
        --node.transfers;
        --open_;
      }
      CHECK(status.failed() >= node.failed[context]);
      if (status.failed() != 0) CHECK(status.failure() == code_of(Reason::kMemory));
    }
  }

  std::mt19937_64 random_;
  BehindBench network_;
  unsigned left_, open_ = 0, strangers_ = 0;  // messages to come, and under way
  std::vector<Message> messages_;
  std::vector<Node> nodes_;
};

}  // namespace

TEST_CASE("behind: a transfer that ends in each cycle round its message's store") {
  for (const bool bad : {false, true})
    for (const bool busy : {false, true}) {
      CAPTURE(bad);
      CAPTURE(busy);
      BehindBench network(2, {.memory = {.latency_cycles = 3}, .timeout = 1, .tries = 0, .before_reset = 5});
      constexpr unsigned kWaiting = 41;
      if (busy) {  // messages of which one is taken, and the others are sent again and again
        for (unsigned i = 0; i < kWaiting; ++i)
          network.put(0, 4 + i / kSlots, {.mailbox = kSmallMailbox, .length = 8, .behind = false});
        network.run_until_stored();
        network.run(1000);
      }
      unsigned with_it = 0, stayed = 0, failed = 0;
      std::uint64_t token = 1;
      for (int offset = -10; offset < 60; ++offset, ++token) {
        CAPTURE(offset);
        const unsigned context = token % 4, slot = network.next_slot(0, context);
        const TokenMessage message{.token = token, .length = static_cast<unsigned>(8 + token % 57)};
        spec::Transfer transfer = bad ? naming(network.refused_by_memory(1, 0), slot) : network.no_bytes(slot);
        transfer.set_notify(0);
        // The transfer's last store, then the message's last one so many cycles later, or before it.
        const std::uint64_t cycle = network.cycle() + 50;
        if (offset < 0) network.put(0, context, message, cycle + static_cast<std::uint64_t>(offset));
        network.transfer(0, context, transfer, cycle);
        if (offset >= 0) network.put(0, context, message, cycle + 1 + static_cast<std::uint64_t>(offset));
        network.run_until_stored();
        network.run(300);
        const spec::NiStatus status = network.status(0, context);
        if ((status.free_slots() >> slot & 1) == 0) {
          ++stayed;
          CHECK(network.come(1).empty());
          network.transfer(0, context, network.no_bytes(slot));
          network.until_these_come(1, Tokens{token});
          network.until_free(0, context);
        } else {
          ++(bad ? failed : with_it);
          CHECK(network.come(1) == (bad ? Tokens{} : Tokens{token}));
        }
      }
      CHECK(stayed > 5);
      CHECK(with_it + failed > 5);
      unsigned all_failed = 0;
      for (unsigned context = 0; context < 4; ++context) all_failed += network.status(0, context).failed();
      CHECK(all_failed == failed);
      for (unsigned i = 0; busy && i < kWaiting; ++i) {
        network.until_come(1, 1, kSmallMailbox);
        network.give_back(1, kSmallMailbox);
      }
      for (unsigned context = 0; context < kContexts; ++context) network.until_free(0, context);
    }
}

TEST_CASE("behind: a transfer that fails and names the slot of one that is queued, sent, answered or sent again") {
  for (const bool lossy : {false, true}) {
    CAPTURE(lossy);
    DisorderConfig disorder;
    if (lossy) disorder = {.lost_one_in = 4, .twice_one_in = 5, .late_one_in = 5, .most_late = 300};
    BehindBench network(2, {.memory = {.latency_cycles = 30},
                            .timeout = lossy ? 0u : 3u,
                            .tries = 0,
                            .block_timeout = lossy ? 0u : 1u,
                            .disorder = disorder});
    for (unsigned offset = 0; offset < 320; offset += in_full() ? 1 : 5) {
      CAPTURE(offset);
      const unsigned context = offset % kContexts;
      const unsigned slot = network.put(0, context, {.token = offset, .length = 8 + offset % 57});
      const unsigned good = 2 * offset, bad = good + 1;
      network.transfer(0, context, naming(network.write_to(1, good), slot));
      network.until_ended(0, good);
      network.transfer(0, context, naming(network.refused_by_memory(1, bad), slot), network.cycle() + offset);
      network.until_ended(0, bad, Reason::kMemory);
      network.until_free(0, context);
      CHECK(network.status(0, context).failed() == 0);
      network.run(lossy ? 1000 : 50);
      CHECK(network.come(1) == Tokens{offset});
    }
  }
}

// Campaigns: so many messages (EXANET_BEHIND) of each of so many seeds (EXANET_BEHIND_SEEDS) from one on
// (EXANET_BEHIND_SEED).
TEST_CASE("behind: drawn traffic") {
  const auto messages = static_cast<unsigned>(given("EXANET_BEHIND", in_full() ? 3000 : 600));
  const std::uint64_t first = given("EXANET_BEHIND_SEED", 1), seeds = given("EXANET_BEHIND_SEEDS", 4);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    BehindTraffic traffic(seed, messages);
    traffic.run();
    CHECK(traffic.came > traffic.failed);
    CHECK(traffic.failed > 0);
    CHECK(traffic.named_nothing > 0);
  }
}
