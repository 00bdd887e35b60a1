// SPDX-License-Identifier: Apache-2.0
// Does NDP begin with its first window and send a packet for each pull, and does its receiver pull what is left, in
// turn, at its link's rate?
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "core/nic/pacing/pacing.hpp"

using namespace exanet;

namespace {

// 4000 bytes are 320 ns at 100 Gb/s; the round trip of an empty network is 10 us, which is 31.25 of them.
PacingSetup ndp_setup(Time one_way = Time::us(5)) {
  return {100'000'000'000, 4000, 4000, [one_way](NodeId, NodeId, std::uint32_t) { return one_way; }};
}

Packet ndp_packet(NodeId from, bool more, bool trimmed = false) {
  Packet packet{from, 9, 4000, 0, 0, 0};
  packet.stamp = more;
  if (trimmed) packet.notes = Packet::kTrimmed;
  return packet;
}

}  // namespace

TEST_CASE("NDP: the first window is a bandwidth-delay product, 15 packets at least") {
  CHECK(pacing_kind("ndp").make(ndp_setup(), 0)->allowance(7, Time()).credit_bytes == 32 * 4000);
  CHECK(pacing_kind("ndp").make(ndp_setup(Time::us(1)), 0)->allowance(7, Time()).credit_bytes == 15 * 4000);
}

TEST_CASE("NDP: a packet goes for each pull, and a first window once nothing is in flight") {
  const auto control = pacing_kind("ndp").make(ndp_setup(), 0);
  const auto packets = [&] { return control->allowance(7, Time()).credit_bytes / 4000; };
  for (int i = 0; i < 32; ++i) control->sent(7, 4000, Time());
  CHECK(packets() == 0);
  CHECK(control->demand(7, 4000, 4000, 1) == 1);
  CHECK(control->demand(7, 0, 4000, 1) == 0);
  control->heard({7, true, 2}, Time::us(11));
  control->heard({7, true, 1}, Time::us(11));  // late: counts are sums
  CHECK(packets() == 2);
  control->acknowledged(7, {16'000, Time(), 0, 0}, Time::us(12));
  CHECK(packets() == 2);
  control->lost(7, {4000, Loss::Why::kTrimmed}, Time::us(12));  // it is pulled
  CHECK(packets() == 2);
  control->lost(7, {4000, Loss::Why::kTimeout}, Time::us(12));  // nobody pulls it
  CHECK(packets() == 3);
  control->heard({7, true, 1000}, Time::us(13));
  CHECK(packets() == 32);
  control->sent(7, 1000, Time::us(13));
  CHECK(packets() == 31);
  control->acknowledged(7, {26 * 4000 + 1000, Time(), 0, 0}, Time::us(14));
  CHECK(packets() == 32);
}

TEST_CASE("NDP: a receiver pulls in turn, a packet's time apart, and trimmed packets even behind the last one") {
  const auto control = pacing_kind("ndp").make(ndp_setup(), 9);
  for (int i = 0; i < 3; ++i) control->arrived(1, ndp_packet(1, true), Time::us(1));
  control->arrived(2, ndp_packet(2, true, true), Time::us(1));
  control->arrived(2, ndp_packet(2, true), Time::us(1));
  control->arrived(3, ndp_packet(3, true), Time::us(1));
  control->arrived(2, ndp_packet(2, false), Time::us(1));  // forgets the whole one
  control->arrived(3, ndp_packet(3, false), Time::us(1));
  control->arrived(4, ndp_packet(4, false, true), Time::us(1));
  std::vector<std::pair<NodeId, std::uint64_t>> pulls;
  Time now = Time::us(1);
  while (control->wake() != Time::never()) {
    now = control->wake();
    const auto pull = control->control(now);
    if (!pull) break;
    pulls.emplace_back(pull->peer, pull->stamp);
    CHECK(!control->control(now));
    CHECK((control->wake() == Time::never() || control->wake() == now + Time::ns(320)));
  }
  CHECK(pulls == std::vector<std::pair<NodeId, std::uint64_t>>{{1, 1}, {2, 1}, {4, 1}, {1, 2}, {1, 3}});
  CHECK(now == Time::us(1) + Time::ns(4 * 320));
}
