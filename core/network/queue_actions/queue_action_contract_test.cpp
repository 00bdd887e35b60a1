// SPDX-License-Identifier: Apache-2.0
// Does every queue action keep the contract: does it change notes and stamp alone, pass packets unless it discards, and
// repeat itself?
#include <doctest/doctest.h>

#include <vector>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {
const std::unique_ptr<Topology> topology = make_topology({"mesh", {4}});

// What a sample says of the action, in a router that there is.
RouterConfig with_sizes(const RouterConfig& sample) {
  RouterConfig router = testing::published_fabric().router;
  router.queue_threshold_words = sample.queue_threshold_words;
  router.queue_threshold_max_words = sample.queue_threshold_max_words;
  router.marking_probability_percent = sample.marking_probability_percent;
  router.queue_limit_words = sample.queue_limit_words;
  router.hpcc_round_trip = sample.hpcc_round_trip;
  return router;
}

}  // namespace

TEST_CASE("queue actions: packets keep all but notes and stamp, and the same calls have the same outcome") {
  for (const QueueActionKind& kind : queue_action_kinds()) {
    if (kind.make == nullptr) continue;
    CAPTURE(kind.name);
    REQUIRE(!kind.samples.empty());
    for (const RouterConfig& router : kind.samples) {
      NetworkConfig config;
      config.router = with_sizes(router);
      config.router.queue_action = kind.name;
      config.links = testing::published_fabric().links;
      std::vector<std::uint64_t> seen[2];
      for (std::vector<std::uint64_t>& outcomes : seen) {
        const std::unique_ptr<QueueAction> action = make_queue_action(config, *topology, true);
        Random random(5, 0);
        LinkStats link;
        Time now;
        for (int i = 0; i < 2000; ++i) {
          now += Time::ns(random.below(1000));
          const auto bytes = static_cast<std::uint16_t>(random.below(257));
          Packet packet{random.below(4), random.below(4), bytes, 1, 0, random.below(1000)};
          const Packet before = packet;
          link.packets += 1;
          link.payload_bytes += bytes;
          const auto port = static_cast<std::uint16_t>(random.below(3));
          const auto verdict = action->join({random.below(4), port, random.below(128), link, now}, packet);
          CHECK((kind.discards || verdict == QueueAction::Verdict::kPass));
          CHECK((packet.src == before.src && packet.dst == before.dst && packet.user == before.user));
          CHECK((packet.payload_bytes == before.payload_bytes && packet.priority == before.priority));
          outcomes.push_back(packet.stamp * 1024 + packet.notes * 4 + static_cast<std::uint64_t>(verdict));
        }
      }
      CHECK(seen[0] == seen[1]);
    }
  }
}

TEST_CASE("queue actions: an unknown name and a threshold of nothing are refused") {
  NetworkConfig config;
  config.router.queue_action = "guess";
  CHECK_THROWS_AS(make_queue_action(config, *topology), ConfigError);
  config.router.queue_action = "ecn";
  CHECK_THROWS_AS(make_queue_action(config, *topology), ConfigError);
  config.router.queue_threshold_words = 1;
  CHECK(make_queue_action(config, *topology) != nullptr);
  CHECK(make_queue_action(NetworkConfig(), *topology) == nullptr);
}
