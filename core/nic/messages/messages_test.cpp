// SPDX-License-Identifier: Apache-2.0
// Do messages take the gateware's cycles where they can be counted by hand, and does none get lost, doubled or stuck
// where nothing is free? gateware/ni/tb/messages_equality_test.cpp holds the model to the Verilated interfaces
// themselves.
#include "core/nic/messages/messages.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/size_harness.hpp"

using namespace exanet;

namespace {

constexpr Time kCycle = Time::ps(6400);

NetworkConfig fabric() {
  NetworkConfig config = testing::published_fabric(512);
  for (LinkConfig& link : config.links) link.latency = kCycle * 20, link.pause_every = 0;
  config.router = Messages::router(config.router);
  config.priority = true;
  return config;
}

struct Answered {
  std::uint64_t user;
  MessageAnswer answer;
  Cycle at;
};

struct Bench {
  explicit Bench(const TopologySpec& spec, MessagesConfig config = {}, const NetworkConfig& network_config = fabric())
      : topology(make_topology(spec)),
        messages{kCycle,
                 {queue, kCycle, topology->node_count()},
                 {queue, config, topology->node_count(), this,
                  [](void* self, NodeId, std::uint32_t, std::uint64_t user, MessageAnswer answer, Cycle at) {
                    static_cast<Bench*>(self)->answers.push_back({user, answer, at});
                  }},
                 {queue, config, topology->node_count(), this, [](void* self, const StoredMessage& m) {
                    Bench& bench = *static_cast<Bench*>(self);
                    const MessageStore* message = bench.messages.sender.find(m.src, m.word.slot, m.word.number);
                    bench.stored.emplace_back(message->user, m);
                  }}} {
    PacketSink sink{this,
                    [](void* self, const Packet& packet, Time injected, Time tail) {
                      Bench& bench = *static_cast<Bench*>(self);
                      if (packet.intra_port == kMessagePort) bench.headers.push_back(injected.ps() / kCycle.ps());
                      bench.messages.delivered(packet, tail);
                    },
                    [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
                      static_cast<Bench*>(self)->messages.ready(node, port);
                    }};
    sink.gives_back = Messages::kGivesBack;
    network = std::make_unique<ExanetNetwork>(queue, *topology, network_config, sink);
    messages.attach(*network);
  }
  // In a cycle behind all that has happened.
  bool store(Cycle at, NodeId src, std::uint32_t context, const MessageStore& message) {
    queue.run_until(kCycle * at);
    return messages.sender.store(src, context, message);
  }
  void run() {
    while (!queue.empty()) queue.run_one();
  }

  EventQueue queue;
  std::unique_ptr<Topology> topology;
  Messages messages;
  std::unique_ptr<ExanetNetwork> network;
  std::vector<std::pair<std::uint64_t, StoredMessage>> stored;
  std::vector<Answered> answers;
  std::vector<Cycle> headers;
};

}  // namespace

TEST_CASE("a message alone takes the cycles of its stages") {
  for (const std::uint8_t bytes : {0, 1, 16, 17, 48, 64}) {
    Bench b({"mesh", {2}}, {.memory_answer = 9});
    b.messages.receiver.open(1, 3, 7, 16);
    CHECK(b.store(100, 0, 5, {1, bytes, 3, 7, 42}));
    b.run();
    REQUIRE(b.stored.size() == 1);
    REQUIRE(b.answers.size() == 1);
    const Cycle words = words_of(bytes), beats = std::max<Cycle>(words, 1);
    // Two cycles in the queue, two to look up and decide, one to the frames, a beat a cycle to the port, three in it.
    CHECK(b.headers[0] == 100 + 5 + beats + 3);
    const auto across = [&](std::uint16_t size) {
      return static_cast<const NetworkModel&>(*b.network).zero_load_latency(0, 1, size).ps() / kCycle.ps();
    };
    // Four cycles in the port (three without data), the lookups beside the beats, the decision, and a beat a cycle to
    // memory.
    const Cycle footer = b.headers[0] + across(bytes) - 1;
    const Cycle taken = footer + (words != 0 ? 4 : 3), decided = taken + std::max<Cycle>(2, words);
    CHECK(b.stored[0].second.at == decided + 1 + words);
    CHECK(b.stored[0].first == 42);
    // Memory's answer, a register, three cycles in the port, the way back, three in the port there, and two to check
    // and apply.
    const Cycle answer_header = b.stored[0].second.at + 9 + 1 + 3;
    CHECK(b.answers[0].at == answer_header + across(0) - 1 + 3 + 2);
    CHECK(b.answers[0].answer == MessageAnswer::kStored);
  }
}

TEST_CASE("a context has four slots, and what finds none is rejected as busy") {
  Bench b({"mesh", {2}});
  b.messages.receiver.open(1, 0, 0, 64);
  for (Cycle i = 0; i < 6; ++i) CHECK(b.store(10 + i, 0, 0, {1, 8, 0, 0, 0}) == (i < 4));
  CHECK(b.store(20, 0, 1, {1, 8, 0, 0, 0}));
  CHECK_FALSE(b.messages.sender.is_free(0, 0));
  b.run();
  CHECK(b.messages.sender.is_free(0, 0));
  CHECK(b.messages.sender.busy() == 2);
  CHECK(b.stored.size() == 5);
}

TEST_CASE("short messages leave one in three cycles, the longest one in six") {
  for (const std::uint8_t bytes : {16, 64}) {
    Bench b({"mesh", {2}});
    b.messages.receiver.open(0, 0, 0, 1024);
    for (Cycle i = 0; i < 24; ++i) b.store(10 + i, 0, static_cast<std::uint32_t>(i), {0, bytes, 0, 0, 0});
    b.run();
    REQUIRE(b.headers.size() == 24);
    for (std::size_t i = 1; i < 20; ++i) CHECK(b.headers[i] - b.headers[i - 1] == words_of(bytes) + 2);
  }
}

TEST_CASE("a full mailbox sends NACKs, and what it did not take comes when it has been read") {
  Bench b({"mesh", {2}}, {.contexts = 16, .timeout = 1});
  b.messages.receiver.open(1, 0, 0, 2);
  for (Cycle i = 0; i < 4; ++i)
    b.store(10 + i, 0, static_cast<std::uint32_t>(i), {1, 8, 0, 0, static_cast<std::uint64_t>(i)});
  b.queue.run_until(kCycle * 2000);
  CHECK(b.stored.size() == 2);
  CHECK(b.messages.receiver.nacked() > 2);
  b.messages.receiver.release(1, 0, 2);
  b.run();
  CHECK(b.stored.size() == 4);
  std::map<std::uint64_t, int> seen;
  for (const auto& [user, m] : b.stored) ++seen[user];
  CHECK(seen.size() == 4);
}

TEST_CASE("mailboxes that are closed or of another domain answer so") {
  Bench b({"mesh", {2}});
  b.messages.receiver.open(1, 0, 1, 4);
  b.store(10, 0, 0, {1, 8, 0, 2, 0});
  b.store(20, 0, 0, {1, 8, 9, 1, 1});
  b.run();
  CHECK(b.stored.empty());
  REQUIRE(b.answers.size() == 2);
  CHECK(b.answers[0].answer == MessageAnswer::kDomain);
  CHECK(b.answers[1].answer == MessageAnswer::kClosed);
}

namespace {

// Wrong bits take messages and answers; each message is stored once all the same. How many messages were taken.
std::uint64_t lossy_messages(std::uint64_t seed) {
  NetworkConfig lossy = fabric();
  lossy.router.credit_interval_cycles = 64;
  lossy.faults = {seed, 12};
  TopologySpec ring{"torus", {4}};
  ring.both_channels = true;
  Bench b(ring, {.contexts = 16, .timeout = 2}, lossy);
  for (NodeId node = 0; node < 4; ++node) b.messages.receiver.open(node, 0, 0, 4096);
  std::uint64_t taken = 0;
  for (Cycle i = 0; i < 4000; ++i)
    taken += b.store(10 + 5 * i, i % 4, static_cast<std::uint32_t>(i / 4 % 16),
                     {static_cast<NodeId>(i / 3 % 4), 40, 0, 0, taken});
  b.queue.run_until(kCycle * 1'000'000);
  CHECK(b.network->lost() > 100);
  CHECK(b.messages.sender.repeated() > 100);
  std::map<std::uint64_t, int> seen;
  for (const auto& [user, m] : b.stored) ++seen[user];
  CHECK(seen.size() == taken);
  CHECK(b.stored.size() == taken);
  CHECK(b.answers.size() == taken);
  return taken;
}

}  // namespace

TEST_CASE("lost and damaged packets: each message once") {
  const std::uint64_t wanted = testing::in_full() ? 100'000 : 300;
  std::uint64_t messages = 0;
  for (std::uint64_t seed = 5; messages < wanted; ++seed) messages += lossy_messages(seed);
  MESSAGE("messages over lines that lose and damage words: " << messages);
}
