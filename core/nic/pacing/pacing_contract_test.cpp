// SPDX-License-Identifier: Apache-2.0
// Does every rate control keep the contract: does it repeat itself, wake later than now, stop asking for control
// packets, and let something go in the end whatever feedback it gets?
#include <doctest/doctest.h>

#include <vector>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/nic/pacing/pacing.hpp"

using namespace exanet;

TEST_CASE("rate controls: the same feedback leads to the same allowances, which close for no good") {
  for (const PacingKind& kind : pacing_kinds()) {
    if (kind.make == nullptr) continue;
    CAPTURE(kind.name);
    REQUIRE(!kind.samples.empty());
    for (const PacingSetup& setup : kind.samples) {
      std::vector<std::uint64_t> seen[2];
      for (std::vector<std::uint64_t>& answers : seen) {
        const std::unique_ptr<Pacing> control = kind.make(setup, 0);
        Random random(11, 0);
        Time now;
        const auto ask = [&](NodeId peer) {
          const Allowance allowed = control->allowance(peer, now);
          answers.insert(answers.end(), {allowed.window_bytes, allowed.bits_per_second});
          int packets = 0;
          while (const std::optional<ControlPacket> packet = control->control(now)) {
            answers.push_back(packet->stamp + packet->peer);
            REQUIRE(++packets < 1000);
          }
          CHECK(control->wake() > now);
        };
        for (int i = 0; i < 3000; ++i) {
          now += Time::ns(random.below(2000));
          const NodeId peer = 1 + random.below(3);
          ask(peer);
          const auto bytes = static_cast<std::uint16_t>(1 + random.below(setup.packet_bytes));
          Packet packet{peer, 0, bytes, 1, 0, 0};
          packet.notes = static_cast<std::uint8_t>(random.below(4));
          packet.stamp = random.below(1 << 30);
          switch (random.below(4)) {
            case 0: control->sent(peer, bytes, now); break;
            case 1: control->acknowledged(peer, {bytes, now - Time::us(2), packet.notes, packet.stamp}, now); break;
            case 2: control->arrived(peer, packet, now); break;
            default: control->heard({peer, random.below(2) == 0, packet.stamp}, now);
          }
        }
        for (NodeId peer = 1; peer <= 3; ++peer) {
          std::uint64_t rate = 0;
          for (int i = 0; i < 1000 && rate == 0; ++i) {
            now += Time::us(10);
            control->acknowledged(peer, {setup.packet_bytes, now - Time::us(2), 0, 0}, now);
            rate = control->allowance(peer, now).bits_per_second;
          }
          CHECK(rate > 0);
        }
      }
      CHECK(seen[0] == seen[1]);
    }
  }
}

TEST_CASE("rate controls: an unknown name is rejected with those that there are") {
  CHECK((pacing_kind("none").make == nullptr));
  for (const PacingKind& kind : pacing_kinds()) CHECK(&pacing_kind(kind.name) == &kind);
  CHECK_THROWS_AS(pacing_kind("hope"), ConfigError);
}
