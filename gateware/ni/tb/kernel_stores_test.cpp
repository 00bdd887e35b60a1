// SPDX-License-Identifier: Apache-2.0
// Stores of the kernel while messages wait for a slow memory: none of them holds up what others store for as long as
// memory does.
#include <algorithm>
#include <functional>
#include <string>

#include "gateware/ni/tb/behind_bench.hpp"

using namespace exanet;
using namespace exanet::gateware;

namespace {

constexpr unsigned kMemory = 2000;  // cycles until memory answers
constexpr std::size_t kAtOnce = 8;  // messages that wait for memory
constexpr std::uint64_t kLongest = 150;  // cycles; a memory's answer is far beyond

// Nodes 0 and 2 fill what node 1 can have on its way to memory, all the time.
class Flood {
 public:
  Flood() : network(3, {.memory = {.latency_cycles = kMemory}, .timeout = 15, .tries = 15}) {
    for (unsigned i = 0; i < 400; ++i) step();  // what takes messages waits for memory by now
  }
  void step() {
    for (const std::size_t n : {std::size_t{0}, std::size_t{2}})
      if (network.node(n).stores.size() < 4)
        for (unsigned context = 0; context < kContexts; ++context)
          network.put(n, context, {.token = ++token, .length = 64, .behind = false});
    network.step();
  }
  // Cycles until a store of the kernel, and those of a process behind it, have been taken.
  std::uint64_t until_taken(const std::function<void(BehindBench&)>& kernel) {
    kernel(network);
    for (unsigned i = 0; i < 4; ++i) network.store(1, {0, page(1) + 16 * i, {}, 0xffff});
    const std::uint64_t begin = network.cycle();
    while (!network.node(1).stores.empty()) {
      REQUIRE(network.cycle() - begin < 10 * kMemory);
      step();
    }
    return network.cycle() - begin;
  }

  BehindBench network;
  std::uint64_t token = 0;
};

}  // namespace

TEST_CASE("kernel's stores: none waits for memory, which messages wait for") {
  const std::pair<std::string, std::function<void(BehindBench&)>> kinds[] = {
      {"a context", [](BehindBench& b) { b.open_context(1, 3, kDomain); }},
      {"the configuration", [](BehindBench& b) { b.configure(b.node(1)); }},
      {"a node's numbers", [](BehindBench& b) { b.clear_peer(1, 7); }},
      {"a mailbox that is opened",
       [](BehindBench& b) { b.open_mailbox(1, kSmallMailbox, kDomain, ring_of(kSmallMailbox), 0); }},
      {"one that is closed", [](BehindBench& b) { b.open_mailbox(1, kClosedMailbox, kDomain, 0, 0, false); }},
      {"a domain", [](BehindBench& b) { b.open_domain(1, 9, 0, false); }},
      {"pages", [](BehindBench& b) { b.invalidate(1); }},
      {"a fault", [](BehindBench& b) { b.take_fault(1); }},
  };
  for (const auto& [name, kernel] : kinds) {
    CAPTURE(name);
    Flood flood;
    std::uint64_t longest = 0;
    for (unsigned i = 0; i < 60; ++i) {
      longest = std::max(longest, flood.until_taken(kernel));
      for (unsigned idle = 0; idle < 37 + i; ++idle) flood.step();
    }
    MESSAGE(name << ": " << longest << " cycles at most");
    CHECK(longest <= kLongest);
    CHECK(flood.network.come(1).size() > kAtOnce);  // so some have waited for memory
  }
}
