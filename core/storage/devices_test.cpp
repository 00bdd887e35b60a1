// SPDX-License-Identifier: Apache-2.0
// Does a device take the times of its model, alone and with a queue?
#include "core/storage/devices.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace exanet {
namespace {

// 8 Gb/s is a byte a nanosecond.
DeviceTiming timing(std::uint32_t depth) { return {Time::us(70), Time::us(20), 8'000'000'000, 4'000'000'000, depth}; }

struct DeviceRig {
  explicit DeviceRig(std::uint32_t depth)
      : devices(events, timing(depth), [this](std::uint32_t number, Time now) {
          if (number >= over.size()) over.resize(number + std::size_t{1});
          over[number] = now;
        }) {}
  EventQueue events;
  std::vector<Time> over;
  Devices devices;
};

}  // namespace

TEST_CASE("a request alone takes its latency, and its bytes at the device's rate") {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{1} << 40}) {
    DeviceRig rig(1);
    rig.devices.submit(0, {false, bytes, 0}, Time());
    rig.devices.submit(1, {true, bytes, 1}, Time());
    rig.events.run_until(Time::never());
    CHECK(rig.over[0] == Time::us(70) + Time::ns(1) * static_cast<std::int64_t>(bytes));
    CHECK(rig.over[1] == Time::us(20) + Time::ns(2) * static_cast<std::int64_t>(bytes));
  }
}

TEST_CASE("a queue as deep as there are requests hides all latencies but one") {
  constexpr std::uint32_t kRequests = 32;
  constexpr std::int64_t kBytes = 4096;
  for (const std::uint32_t depth : {1u, 4u, kRequests}) {
    DeviceRig rig(depth);
    for (std::uint32_t i = 0; i < kRequests; ++i) rig.devices.submit(5, {false, kBytes, i}, Time());
    rig.events.run_until(Time::never());
    Time last;
    for (const Time each : rig.over) last = max(last, each);
    const Time moving = Time::ns(kBytes) * kRequests;
    if (depth == 1) CHECK(last == (Time::us(70) + Time::ns(kBytes)) * kRequests);
    if (depth == 4) CHECK(last >= (Time::us(70) + Time::ns(kBytes)) * (kRequests / 4));
    if (depth == 4) CHECK(last <= (Time::us(70) + Time::ns(kBytes) * 4) * (kRequests / 4));
    if (depth == kRequests) CHECK(last == Time::us(70) + moving);
  }
}

TEST_CASE("a write overtakes a read whose latency is longer, and devices do not wait for each other") {
  DeviceRig rig(2);
  rig.devices.submit(0, {false, 1000, 0}, Time());
  rig.devices.submit(0, {true, 1000, 1}, Time());
  rig.devices.submit(9, {true, 1000, 2}, Time());
  rig.events.run_until(Time::never());
  CHECK(rig.over[0] == Time::us(71));
  CHECK(rig.over[1] == Time::us(22));
  CHECK(rig.over[2] == Time::us(22));
}

}  // namespace exanet
