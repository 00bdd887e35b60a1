// SPDX-License-Identifier: Apache-2.0
// Does the bridge follow the host's clock, and pass what its interfaces' files give? Pairs of sockets, which
// keep frames apart as TAP devices do, stand for these.
#include "runtime/bridge/bridge.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "core/protocol/engine_harness.hpp"
#include "runtime/bridge/capture.hpp"
#include "runtime/bridge/paced_clock.hpp"

using namespace exanet;

namespace {

std::vector<std::byte> frame(std::uint8_t to, std::uint8_t from, std::size_t bytes) {
  std::vector<std::byte> made(bytes, std::byte{0x5a});
  for (int i = 0; i < 12; ++i) made[i] = std::byte{0};
  made[0] = made[6] = std::byte{2};
  made[5] = std::byte{to};
  made[11] = std::byte{from};
  return made;
}

// Two hosts: 0 and 1 on nodes of a torus, 2 and 3 on none.
struct Hosts {
  Hosts() {
    for (int i = 0; i < 4; ++i) {
      std::array<int, 2> ends{};
      REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
      inside.push_back(ends[0]);
      outside.push_back(ends[1]);
    }
  }
  ~Hosts() {
    for (const int file : inside) ::close(file);
    for (const int file : outside) ::close(file);
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  BridgeConfig config(double dilation = 1) const {
    BridgeConfig c;
    c.ethernet.nodes = {0, 7, kNoNode, kNoNode};
    c.ethernet.addresses = {0x020000000001, 0x020000000002, 0x020000000003, 0x020000000004};
    c.files = inside;
    c.dilation = dilation;
    return c;
  }
  static Bridge bridge(const BridgeConfig& c) {
    return {{"torus", {2, 2, 2}}, testing::steady_fabric(), testing::odd_costs(), std::nullopt, c};
  }
  std::vector<std::byte> get(int host) const {
    std::vector<std::byte> got(70'000);
    const ssize_t length = ::read(outside[host], got.data(), got.size());
    got.resize(length < 0 ? 0 : length);
    return got;
  }

  std::vector<int> inside, outside;
};

// Runs it for so long beside `beside`.
template <typename Beside>
void run(Bridge& bridge, std::chrono::milliseconds length, Beside beside) {
  std::thread running([&] { bridge.run(); });
  beside();
  std::this_thread::sleep_for(length);
  bridge.stop();
  running.join();
}

}  // namespace

TEST_CASE("a paced clock follows the host's, slower by its factor, and waits for who is behind") {
  PacedClock clock(10, 1'000, 500);
  CHECK(clock.at(500) == Time());
  CHECK(clock.at(10'500) == Time::ns(1'000));
  CHECK(clock.due_ns(Time::ns(1'000)) == 10'500);
  clock.keep(Time::ns(950), 10'500);
  CHECK(clock.waited_ns() == 0);
  clock.keep(Time::ns(800), 10'500);  // due at 8,500, and 1,000 late it may be
  CHECK(clock.waited_ns() == 1'000);
  CHECK(clock.at(10'500) == Time::ns(900));
  CHECK(clock.due_ns(Time::ns(900)) == 10'500);
}

TEST_CASE("frames of all sizes cross, unchanged, in the time of the model") {
  Hosts hosts;
  Bridge bridge = Hosts::bridge(hosts.config());
  const std::array<std::size_t, 5> sizes = {60, 64, 1514, 1518, 9014};
  run(bridge, std::chrono::milliseconds(200), [&] {
    for (const std::size_t size : sizes) {
      const auto sent = frame(2, 1, size), direct = frame(4, 3, size);
      REQUIRE(::write(hosts.outside[0], sent.data(), sent.size()) == static_cast<ssize_t>(size));
      REQUIRE(::write(hosts.outside[2], direct.data(), direct.size()) == static_cast<ssize_t>(size));
    }
  });
  for (const std::size_t size : sizes) {
    CHECK(hosts.get(1) == frame(2, 1, size));
    CHECK(hosts.get(3) == frame(4, 3, size));
  }
  CHECK(hosts.get(1).empty());
  const BridgeResult& result = bridge.result();
  CHECK(result.delivered == 2 * sizes.size());
  CHECK(result.frames.size() == 2 * sizes.size());
  for (const CarriedFrame& f : result.frames) CHECK((f.taken - f.sent > Time()) == (f.from == 0));
  CHECK(result.wall_ns >= 100'000'000);
}

TEST_CASE("a second of the network takes as many of the host as dilation says") {
  Hosts hosts;
  Bridge bridge = Hosts::bridge(hosts.config(1000));
  run(bridge, std::chrono::milliseconds(300), [] {});
  const BridgeResult& result = bridge.result();
  CHECK(static_cast<double>(result.finished.ps()) <= static_cast<double>(result.wall_ns));
  CHECK(static_cast<double>(result.finished.ps()) >= 0.9 * static_cast<double>(result.wall_ns - result.waited_ns));
}

TEST_CASE("captures at both ends have the same frames, with the network's times") {
  Hosts hosts;
  BridgeConfig config = hosts.config();
  const std::string stem = "/tmp/exanet-capture-" + std::to_string(::getpid()) + "-";
  for (int i = 0; i < 4; ++i) config.captures.push_back(stem + std::to_string(i));
  {
    Bridge bridge = Hosts::bridge(config);
    run(bridge, std::chrono::milliseconds(100), [&] {
      const auto sent = frame(2, 1, 100);
      for (int i = 0; i < 3; ++i) REQUIRE(::write(hosts.outside[0], sent.data(), sent.size()) == 100);
    });
  }
  std::array<std::vector<char>, 2> files;
  for (int i = 0; i < 2; ++i) {
    std::ifstream in(config.captures[i], std::ios::binary);
    files[i].assign(std::istreambuf_iterator<char>(in), {});
    REQUIRE(files[i].size() == 24 + 3 * (16 + 100));
  }
  std::uint32_t magic = 0;
  std::memcpy(&magic, files[0].data(), 4);
  CHECK(magic == 0xa1b23c4d);
  for (int i = 0; i < 3; ++i) {
    std::array<std::uint32_t, 4> sent{}, got{};
    const std::size_t at = 24 + i * 116;
    std::memcpy(sent.data(), &files[0][at], 16);
    std::memcpy(got.data(), &files[1][at], 16);
    CHECK(sent[2] == 100);
    CHECK(got[0] * 1e9 + got[1] > sent[0] * 1e9 + sent[1]);
    CHECK(std::memcmp(&files[0][at + 16], &files[1][at + 16], 100) == 0);
  }
  for (const std::string& path : config.captures) std::remove(path.c_str());
}

TEST_CASE("what cannot be is refused") {
  Hosts hosts;
  BridgeConfig config = hosts.config(0.5);
  CHECK_THROWS_AS(Hosts::bridge(config), ConfigError);
  config = hosts.config();
  config.files.pop_back();
  CHECK_THROWS_AS(Hosts::bridge(config), ConfigError);
  CHECK_THROWS_AS(Capture("/nowhere/at/all.pcap"), ConfigError);
}
