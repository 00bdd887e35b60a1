// SPDX-License-Identifier: Apache-2.0
// Do ranks see every completion at its time, whatever they do in between, and the same in every run?
#include <doctest/doctest.h>

#include "core/network/model.hpp"
#include "runtime/coordinator/forked_ranks.hpp"

using namespace exanet;
using testing::kForEver;
using testing::Machine;

namespace {

// One packet of `bytes` from clock to clock: stores, packetizer, network, mailbox, read.
Time packet_time(const Machine& m, NodeId from, NodeId to, std::uint16_t bytes, int word_bytes = 16) {
  const NiConfig ni = testing::small_machine().ni;
  const std::int64_t words = (bytes + word_bytes - 1) / word_bytes, lines = std::max(1, (bytes + 63) / 64);
  const Time network = static_cast<const NetworkModel&>(m.coordinator.network()).zero_load_latency(from, to, bytes);
  return ni.library_send + ni.store_word * std::max<std::int64_t>(words, 1) + ni.packetizer + network + ni.mailbox +
         ni.mailbox_word * words + ni.mailbox_read * lines + ni.library_receive;
}

exanet_completion next(exanet_ni* ni) {
  exanet_completion c{};
  if (exanet_wait(ni, &c, 1, kForEver) != 1) ::_exit(97);
  return c;
}

std::uint64_t clock_of(const Machine& m, std::uint32_t rank, int i) { return m.report->values[rank][i]; }

}  // namespace

TEST_CASE("when virtual time begins every rank knows how far the furthest program's clock was") {
  Machine m(3);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    exanet_note_before(ni, rank == 1 ? 7000 : rank);
    exanet_start(ni);
    m.report->values[rank][0] = exanet_before_ps(ni);
    return exanet_finish(ni);
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank) CHECK(clock_of(m, rank, 0) == 7000);
}

TEST_CASE("packets to and fro take the formula's time, start and finish are met together") {
  for (const std::uint16_t bytes : {0, 1, 16, 64}) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_RAW, &ep);
      if (rank == 1) ::usleep(20000);  // real time: the other waits for this one to start
      if (exanet_is_virtual(ni)) return 1;
      exanet_start(ni);
      if (!exanet_is_virtual(ni) || exanet_clock_ps(ni) != 0) return 2;
      char data[64] = {};
      for (int i = 0; i < 20; ++i) {
        data[0] = static_cast<char>(i);
        if (rank == 0) exanet_packet_send(ni, ep, exanet_address(1, ep), data, bytes);
        const exanet_completion c = next(ni);
        if (c.kind != EXANET_C_PACKET || c.packet_len != bytes || (bytes > 0 && c.packet[0] != i) ||
            c.peer != exanet_address(1 - rank, ep))
          return 3;
        if (rank == 1) exanet_packet_send(ni, ep, exanet_address(0, ep), data, bytes);
        m.report->values[rank][i] = exanet_clock_ps(ni);
      }
      exanet_advance(ni, 1000000 * (rank + 1));
      exanet_finish(ni);
      return exanet_is_virtual(ni) ? 4 : 0;
    });
    CHECK(m.control.reason() == "");
    CHECK(m.statuses == std::vector<int>{0, 0});
    const Time there = packet_time(m, 0, 1, bytes), back = packet_time(m, 1, 0, bytes);
    for (int i = 0; i < 20; ++i)
      CHECK(clock_of(m, 0, i) == static_cast<std::uint64_t>(((there + back) * (i + 1)).ps()));
    CHECK(!m.region_exists());
  }
}

TEST_CASE("packets are stored and written in words of the router's width") {
  for (const int word_bytes : {4, 8, 16, 32, 64}) {
    MachineConfig config = testing::small_machine();
    config.fabric.router.word_bits = 8 * word_bytes;
    Machine m(2, config);
    const std::uint16_t sizes[] = {0, 1, 8, 9, 32, 33, 64};
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_RAW, &ep);
      exanet_start(ni);
      char data[64] = {};
      for (int i = 0; i < 7; ++i) {
        if (rank == 0) exanet_packet_send(ni, ep, exanet_address(1, ep), data, sizes[i]);
        next(ni);
        if (rank == 1) exanet_packet_send(ni, ep, exanet_address(0, ep), data, sizes[i]);
        m.report->values[rank][i] = exanet_clock_ps(ni);
      }
      exanet_finish(ni);
      return 0;
    });
    CHECK(m.control.reason() == "");
    Time at;
    for (int i = 0; i < 7; ++i) {
      at = at + packet_time(m, 0, 1, sizes[i], word_bytes) + packet_time(m, 1, 0, sizes[i], word_bytes);
      CHECK(clock_of(m, 0, i) == static_cast<std::uint64_t>(at.ps()));
    }
  }
}

TEST_CASE("a completion that is already in the ring is seen at its time, also after something free was posted") {
  // Rank 0 gets two packets that arrive within the lookahead, so both are handed over at once. Between them it posts a
  // receive, which costs nothing and makes the horizon unknown.
  Machine m(3);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep, messages;
    exanet_ep_open(ni, EXANET_EP_RAW, &ep);
    exanet_ep_open(ni, EXANET_EP_MESSAGE, &messages);
    exanet_start(ni);
    if (rank == 2) exanet_advance(ni, 120000);
    if (rank > 0) {
      exanet_packet_send(ni, ep, exanet_address(0, ep), "x", 1);
    } else {
      char buf[8];
      next(ni);
      m.report->values[0][0] = exanet_clock_ps(ni);
      exanet_recv(ni, messages, EXANET_ANY, 1, 0, buf, sizeof buf, 0, EXANET_TAGGED, 5);
      exanet_completion c{};
      m.report->values[0][1] = static_cast<std::uint64_t>(exanet_wait(ni, &c, 1, 1000000000));  // a millisecond at most
      m.report->values[0][2] = exanet_clock_ps(ni);
    }
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  const NiConfig ni = testing::small_machine().ni;
  const Time read = ni.mailbox_read + ni.library_receive;
  const Time first = packet_time(m, 1, 0, 1);
  const Time second = max(Time::ps(120000) + packet_time(m, 2, 0, 1) - read, first) + read;
  CHECK(clock_of(m, 0, 0) == static_cast<std::uint64_t>(first.ps()));
  CHECK(clock_of(m, 0, 1) == 1);
  CHECK(clock_of(m, 0, 2) == static_cast<std::uint64_t>(second.ps()));
}

TEST_CASE("a message that comes while the receiver computes is there when it looks") {
  Machine m(2);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep;
    exanet_ep_open(ni, EXANET_EP_RAW, &ep);
    exanet_start(ni);
    if (rank == 0) {
      exanet_packet_send(ni, ep, exanet_address(1, ep), "x", 1);
    } else {
      exanet_advance(ni, 50000000);
      next(ni);
      m.report->values[1][0] = exanet_clock_ps(ni);
    }
    exanet_finish(ni);
    return 0;
  });
  const NiConfig ni = testing::small_machine().ni;
  CHECK(clock_of(m, 1, 0) == 50000000 + static_cast<std::uint64_t>((ni.mailbox_read + ni.library_receive).ps()));
}

TEST_CASE("polls that test step by a fixed time and see a completion at its time, less than a step late") {
  for (const std::uint64_t delay : {0u, 33000u, 50000u, 99999u}) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_RAW, &ep);
      exanet_start(ni);
      if (rank == 0) {
        exanet_advance(ni, 20000000 + delay);
        exanet_packet_send(ni, ep, exanet_address(1, ep), "x", 1);
      } else {
        exanet_testing_begin();
        exanet_completion c{};
        std::uint64_t polls = 0, last = 0;
        bool even = true;
        while (exanet_poll(ni, &c, 1) == 0) {
          if (polls > 0) even = even && exanet_clock_ps(ni) - last == 100000;  // the first one is free
          last = exanet_clock_ps(ni);
          ++polls;
        }
        exanet_testing_end();
        m.report->values[1][0] = exanet_clock_ps(ni);
        m.report->values[1][1] = polls;
        m.report->values[1][2] = even;
      }
      exanet_finish(ni);
      return 0;
    });
    CHECK(m.control.reason() == "");
    const std::uint64_t due = 20000000 + delay + static_cast<std::uint64_t>(packet_time(m, 0, 1, 1).ps());
    CHECK(clock_of(m, 1, 0) >= due);
    CHECK(clock_of(m, 1, 0) < due + 100000);
    CHECK(clock_of(m, 1, 1) >= due / 100000 - 3);
    CHECK(clock_of(m, 1, 2) == 1);
  }
}

TEST_CASE("a rank that asks while the others wait needs the simulator once a millisecond") {
  Machine m(2);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep;
    exanet_ep_open(ni, EXANET_EP_RAW, &ep);
    exanet_start(ni);
    exanet_completion c{};
    if (rank == 0) {
      exanet_testing_begin();
      for (int i = 0; i <= 50'000; ++i) exanet_poll(ni, &c, 1);  // the first one is free
      exanet_testing_end();
      m.report->values[0][0] = exanet_clock_ps(ni);
      exanet_packet_send(ni, ep, exanet_address(1, ep), "x", 1);
    } else {
      next(ni);
      m.report->values[1][0] = exanet_clock_ps(ni);
    }
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  CHECK(clock_of(m, 0, 0) == 5'000'000'000);
  CHECK(clock_of(m, 1, 0) == 5'000'000'000 + static_cast<std::uint64_t>(packet_time(m, 0, 1, 1).ps()));
  CHECK(m.coordinator.rounds().rounds < 50);
}

TEST_CASE("the same run gives the same clocks") {
  std::vector<std::vector<std::uint64_t>> runs;
  for (int repeat = 0; repeat < 4; ++repeat) {
    Machine m(8);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
      exanet_start(ni);
      static char out[8][600], in[8][600];
      for (int round = 0; round < 12; ++round) {
        const std::size_t len = round % 3 == 0 ? 8 : 600;
        for (std::uint32_t peer = 0; peer < 8; ++peer) {
          exanet_recv(ni, ep, round % 2 ? EXANET_ANY : exanet_address(peer, ep), static_cast<std::uint64_t>(round), 0,
                      in[peer], 600, 0, EXANET_TAGGED, 1);
          exanet_send(ni, ep, exanet_address((rank + peer) % 8, ep), static_cast<std::uint64_t>(round), out[peer], len,
                      0, EXANET_TAGGED, 2);
        }
        for (int left = 16; left > 0;) {
          exanet_completion c[4];
          left -= exanet_wait(ni, c, 4, kForEver);
        }
        m.report->values[rank][round] = exanet_clock_ps(ni);
      }
      exanet_finish(ni);
      return 0;
    });
    REQUIRE(m.control.reason() == "");
    std::vector<std::uint64_t> clocks;
    for (std::uint32_t r = 0; r < 8; ++r)
      for (int i = 0; i < 12; ++i) clocks.push_back(clock_of(m, r, i));
    clocks.push_back(m.coordinator.events());
    runs.push_back(clocks);
  }
  for (const auto& run : runs) CHECK(run == runs[0]);
}

TEST_CASE("events are those of virtual time, whatever ranks did before and after") {
  std::vector<std::uint64_t> events;
  for (const int registrations : {0, 1, 40}) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      static char memory[64];
      const auto register_some = [&] {
        for (int i = 0; i < registrations; ++i) {
          std::uint64_t key = 0;
          if (exanet_mem_register(ni, memory, sizeof memory, EXANET_REMOTE_READ, 1, &key) != 0) ::_exit(96);
          exanet_mem_deregister(ni, key);
        }
      };
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_RAW, &ep);
      register_some();
      exanet_start(ni);
      if (rank == 0)
        exanet_packet_send(ni, ep, exanet_address(1, ep), "x", 1);
      else
        next(ni);
      exanet_finish(ni);
      register_some();
      return 0;
    });
    CHECK(m.control.reason() == "");
    events.push_back(m.coordinator.record().events);
  }
  CHECK(events[0] > 0);
  CHECK(events == std::vector<std::uint64_t>(3, events[0]));
}

TEST_CASE("thousands of posts without a poll, and of completions without one, lose nothing and keep their order") {
  constexpr std::uint64_t kMany = 5000;
  for (const bool in_virtual_time : {true, false}) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_RAW, &ep);
      exanet_start(ni);
      if (!in_virtual_time) exanet_finish(ni);
      if (rank == 0) {
        for (std::uint64_t i = 0; i < kMany; ++i)
          if (exanet_packet_send(ni, ep, exanet_address(1, ep), &i, sizeof i) != 0) return 1;
        m.report->values[0][0] = exanet_clock_ps(ni);
      } else {
        if (in_virtual_time) exanet_advance(ni, 1000000000000);  // all are there before the first is looked at
        exanet_completion c[16];
        for (std::uint64_t expected = 0; expected < kMany;) {
          const int n = exanet_wait(ni, c, 16, kForEver);
          for (int k = 0; k < n; ++k, ++expected) {
            std::uint64_t i;
            std::memcpy(&i, c[k].packet, sizeof i);
            if (i != expected) return 2;
          }
        }
      }
      exanet_finish(ni);
      return 0;
    });
    CHECK(m.control.reason() == "");
    CHECK(m.statuses == std::vector<int>{0, 0});
    const NiConfig ni = testing::small_machine().ni;
    if (in_virtual_time)
      CHECK(clock_of(m, 0, 0) == kMany * static_cast<std::uint64_t>((ni.library_send + ni.store_word).ps()));
  }
}

TEST_CASE("one-sided operations reach another process's memory, and only what it registered") {
  Machine m(2);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    static std::uint64_t memory[4096], local[4096];
    std::uint16_t ep;
    std::uint64_t key = 9;
    exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
    if (rank == 1)
      exanet_mem_register(ni, memory, sizeof memory, EXANET_REMOTE_READ | EXANET_REMOTE_WRITE | EXANET_OFFSET_ADDRESSED,
                          0, &key);
    exanet_start(ni);
    if (rank == 0) {
      for (int i = 0; i < 4096; ++i) local[i] = static_cast<std::uint64_t>(i) * 3 + 1;
      const exanet_addr to = exanet_address(1, ep);
      exanet_put(ni, ep, to, local, sizeof local, 0, key, 0, 0, 1);
      if (next(ni).status != 0) return 1;
      std::memset(local, 0, sizeof local);
      exanet_get(ni, ep, to, local, sizeof local, 0, key, 0, 2);
      if (next(ni).status != 0) return 2;
      for (int i = 0; i < 4096; ++i)
        if (local[i] != static_cast<std::uint64_t>(i) * 3 + 1) return 3;
      const std::uint64_t add = 41;
      std::uint64_t old = 0;
      exanet_atomic(ni, ep, EXANET_ATOMIC_FETCH, to, 2, 7, 1, &add, nullptr, &old, 8, key, 0, 3);
      if (next(ni).status != 0 || old != 4) return 4;
      exanet_get(ni, ep, to, local, 8, 8, key, 0, 4);
      if (next(ni).status != 0 || local[0] != 45) return 5;
      exanet_get(ni, ep, to, local, 16, sizeof memory - 8, key, 0, 5);
      if (next(ni).status != -EACCES) return 6;
      exanet_put(ni, ep, to, local, 8, 0, key + 1, 0, EXANET_SILENT, 6);
      if (next(ni).status != -EACCES) return 7;
      exanet_get(ni, ep, to, local, SIZE_MAX / 4, 0, key, 0, 7);
      if (next(ni).status != -EACCES) return 8;
      exanet_put(ni, ep, to, local, SIZE_MAX / 4, 0, key, 0, 0, 8);
      if (next(ni).status != -EACCES) return 9;
      if (exanet_put(ni, ep, exanet_address(2, ep), local, 8, 0, key, 0, 0, 9) != -EHOSTUNREACH) return 10;
    }
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  CHECK(m.statuses == std::vector<int>{0, 0});
}

TEST_CASE("the ping-pong example prints the formula's time") {
  for (const int bytes : {8, 64}) {
    char name[] = "/tmp/exanet-pingpong-XXXXXX";
    const int out = ::mkstemp(name);
    REQUIRE(out >= 0);
    ::unlink(name);
    Machine m(2);
    m.run([&](exanet_ni*, std::uint32_t) {
      ::dup2(out, STDOUT_FILENO);
      ::execl(EXANET_PINGPONG, "pingpong", std::to_string(bytes).c_str(), nullptr);
      return 1;
    });
    char printed[200] = {};
    REQUIRE(::pread(out, printed, sizeof printed - 1, 0) > 0);
    ::close(out);
    char expected[200];
    const Time both = packet_time(m, 0, 1, static_cast<std::uint16_t>(bytes)) +
                      packet_time(m, 1, 0, static_cast<std::uint16_t>(bytes));
    std::snprintf(expected, sizeof expected, "%d bytes: %.1f ns one way\n", bytes,
                  static_cast<double>(both.ps()) * 1e-3 / 2);
    CHECK(std::string(printed) == expected);
    CHECK(m.statuses == std::vector<int>{0, 0});
  }
}

TEST_CASE(
    "how far ranks run together changes no time: less far once somebody has an endpoint for packets, or a region") {
  enum { kMessagesAlone, kPacketsBefore, kPacketsAmid, kRegionAmid };
  std::vector<std::uint64_t> clocks[4], rounds;
  for (const int what : {kMessagesAlone, kPacketsBefore, kPacketsAmid, kRegionAmid}) {
    CAPTURE(what);
    Machine m(4);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep, raw;
      std::uint64_t key = 1;
      exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
      if (what == kPacketsBefore && rank == 3) exanet_ep_open(ni, EXANET_EP_RAW, &raw);
      exanet_start(ni);
      exanet_advance(ni, 500'000 * rank);
      char out[8] = "tokens", in[8];
      for (int turn = 0; turn < 100; ++turn) {
        exanet_recv(ni, ep, EXANET_ANY, 1, 0, in, sizeof in, 0, EXANET_TAGGED, 5);
        exanet_send(ni, ep, exanet_address((rank + 1) % 4, ep), 1, out, sizeof out, 0, EXANET_TAGGED, 6);
        for (bool came = false; !came;) came = next(ni).kind == EXANET_C_RECEIVE;
        m.report->values[rank][turn] = exanet_clock_ps(ni);
        if (what == kPacketsAmid && rank == 1 && turn == 20) exanet_ep_open(ni, EXANET_EP_RAW, &raw);
        if (what == kRegionAmid && rank == 1 && turn == 20) exanet_mem_register(ni, in, sizeof in, 0, 0, &key);
      }
      return exanet_finish(ni);
    });
    CHECK(m.control.reason() == "");
    CHECK(m.statuses == std::vector<int>(4, 0));
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (int turn = 0; turn < 100; ++turn) clocks[what].push_back(clock_of(m, rank, turn));
    CHECK(clocks[what] == clocks[kMessagesAlone]);
    rounds.push_back(m.coordinator.record().rounds);
  }
  MESSAGE("rounds: " << rounds[0] << " of messages alone, " << rounds[1] << " with packets, " << rounds[2]
                     << " with packets later, " << rounds[3] << " with a region later");
  CHECK(rounds[kMessagesAlone] < rounds[kPacketsBefore]);
  CHECK(rounds[kMessagesAlone] < rounds[kPacketsAmid]);
  CHECK(rounds[kMessagesAlone] < rounds[kRegionAmid]);
}
