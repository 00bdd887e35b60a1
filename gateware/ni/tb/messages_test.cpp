// SPDX-License-Identifier: Apache-2.0
// Verilated nodes that send messages to each other: what is stored comes whole, into its mailbox, once, and every slot
// comes free again.
#include <doctest/doctest.h>

#include <map>

#include "gateware/ni/tb/ni_network.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kDomain = 5;
constexpr std::uint64_t kRing = 0x10'0000'0000;

std::vector<std::uint8_t> random_bytes(std::size_t length, std::mt19937_64& random) {
  std::vector<std::uint8_t> bytes(length);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// A context and a mailbox of 2^log_entries on each node.
void open_all(NiNetwork& network, unsigned log_entries) {
  for (std::size_t n = 0; n < network.size(); ++n) {
    for (unsigned c = 0; c < kContexts; ++c) network.open_context(n, c, kDomain);
    network.open_mailbox(n, 3, kDomain, kRing, log_entries);
  }
  network.run_until_stored();
}

}  // namespace

TEST_CASE("messages of every length arrive whole, once, and free their slots, between any two nodes") {
  for (const auto& [nodes, two_dimensions] : {std::pair{2u, false}, {4u, true}, {4u, false}, {8u, false}}) {
    CAPTURE(nodes);
    NiNetwork network(nodes, {.timeout = 63, .before_reset = static_cast<int>(nodes)}, two_dimensions);
    open_all(network, 8);
    std::mt19937_64 random(nodes);
    // What each node is to get: by sender and slot, the messages in their order.
    std::vector<std::map<std::pair<std::uint64_t, unsigned>, std::deque<std::vector<std::uint8_t>>>> wanted(nodes);
    std::vector<MailboxReader> readers(nodes, MailboxReader(kRing, 8));
    constexpr unsigned kMessages = 65;
    for (unsigned i = 0; i < kMessages; ++i) {
      for (std::size_t n = 0; n < nodes; ++n) {
        const std::size_t to = (n + i) % nodes;
        const auto bytes = random_bytes(i, random);
        const unsigned context = i / 4 % kContexts, slot = 4 * context + i % 4;
        wanted[to][{network.node(n).dcid, slot}].push_back(bytes);
        network.message(n, context, network.node(to).dcid, 3, bytes);
      }
      // A context has four slots, and what was stored before has come free when its turn is again.
      if (i == 63) network.run(2000);
    }
    network.run_until_stored();
    network.run(3000);
    for (std::size_t n = 0; n < nodes; ++n) {
      CAPTURE(n);
      while (const auto message = readers[n].poll(*network.node(n).memory)) {
        CHECK(message->entry.pdid() == kDomain);
        auto& queue = wanted[n][{message->entry.source_dcid(), static_cast<unsigned>(message->entry.channel())}];
        REQUIRE(!queue.empty());
        CHECK(message->bytes == queue.front());
        queue.pop_front();
      }
      for (const auto& [from, queue] : wanted[n]) CHECK(queue.empty());
      CHECK(network.counts(n) == std::array<std::uint32_t, 10>{kMessages, kMessages, 0, 0, kMessages, 0, 0, 0, 0, 0});
      CHECK(network.node(n).slot_events.size() == kMessages);
      for (const SlotEvent& event : network.node(n).slot_events) CHECK((event.freed && event.reason == 0));
      for (unsigned c = 0; c < kContexts; ++c) {
        const auto status = network.status(n, c);
        CHECK(status.free_slots() == 0xf);
        CHECK(status.refused() == 0);
        CHECK(status.failed() == 0);
      }
    }
  }
}
