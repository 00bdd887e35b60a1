// SPDX-License-Identifier: Apache-2.0
// Ranks that die, wait for nothing, or write what libexanet never would: does the run end soon, name who it was, and leave nothing behind?
#include <doctest/doctest.h>

#include <random>

#include "runtime/coordinator/forked_ranks.hpp"

using namespace exanet;
using testing::Machine;

namespace {

constexpr std::uint64_t kForEver = UINT64_MAX;

exn_region* map_region() {
  const int fd = ::open(std::getenv("EXANET_NI"), O_RDWR);
  struct stat st;
  if (fd < 0 || ::fstat(fd, &st) != 0) ::_exit(96);
  void* map = ::mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) ::_exit(95);
  return static_cast<exn_region*>(map);
}

// Behind libexanet's back: `write` fills slots from the ring's present end and says how far the end moves.
void scribble(exanet_ni* ni, std::uint32_t rank, const std::function<std::uint32_t(exn_ring&, std::uint32_t at)>& write) {
  exn_ring& ring = exn_rank_slot(map_region(), rank)->cmd;
  const std::uint32_t tail = ring.tail;
  __atomic_store_n(&ring.tail, tail + write(ring, tail & EXN_RING_MASK), __ATOMIC_RELEASE);
  exanet_completion c;
  exanet_wait(ni, &c, 1, kForEver);
}

exn_cmd command(std::uint8_t op, std::uint8_t slots) {
  exn_cmd c{};
  c.op = op;
  c.slots = slots;
  c.peer = exanet_address(0, 0);
  return c;
}

void ends_naming(Machine& m, const std::string& who, const std::string& what, double within_s = 3) {
  INFO("reason: ", m.coordinator.reason());
  CHECK(m.coordinator.reason().find(who) == 0);
  CHECK(m.coordinator.reason().find(what) != std::string::npos);
  CHECK(m.ended < within_s);
  CHECK(!m.region_exists());
}

// Rank 1 of 3 writes `c` into its ring; the other two wait for messages.
std::string hostile(const exn_cmd& c, bool in_virtual_time = true) {
  Machine m(3);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep;
    exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
    if (in_virtual_time) exanet_start(ni);
    if (rank == 1)
      scribble(ni, rank, [&](exn_ring& ring, std::uint32_t at) {
        exn_cmd copy = c;
        if (copy.time_ps == 0) copy.time_ps = exanet_clock_ps(ni);
        std::memcpy(ring.slots[at], &copy, sizeof copy);
        return std::max<std::uint32_t>(copy.slots, 1);
      });
    exanet_completion done;
    exanet_wait(ni, &done, 1, kForEver);
    return 0;
  });
  CHECK(m.ended < 3);
  CHECK(!m.region_exists());
  return m.coordinator.reason();
}

}  // namespace

TEST_CASE("a rank that is killed, fails or leaves early ends the run at once") {
  const auto dies = [](const std::function<int()>& how, bool in_virtual_time, const std::string& what) {
    Machine m(4);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
      if (in_virtual_time || rank != 2) exanet_start(ni);
      if (rank == 2) return how();
      exanet_completion c;
      exanet_wait(ni, &c, 1, kForEver);
      return 0;
    });
    ends_naming(m, "rank 2", what);
    for (const int rank : {0, 1, 3}) CHECK(m.statuses[rank] == 75);  // told to leave
  };
  for (const bool in_virtual_time : {true, false}) {
    dies([] { return ::raise(SIGKILL); }, in_virtual_time, "was killed by signal 9");
    dies([] { return 3; }, in_virtual_time, "exited with code 3");
  }
  dies([] { return 0; }, true, "exited without MPI_Finalize");
  Machine m(2);
  m.run([](exanet_ni* ni, std::uint32_t rank) {
    if (rank == 0) exanet_start(ni);
    return 0;
  });
  ends_naming(m, "a rank exited before virtual time began", "");
}

TEST_CASE("a stop from outside ends waiting and computing ranks alike") {
  Machine m(2);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    m.coordinator.stop("told to");
  });
  m.run([](exanet_ni* ni, std::uint32_t rank) {
    exanet_start(ni);
    exanet_completion c;
    if (rank == 0) exanet_wait(ni, &c, 1, kForEver);
    // Endless polls: the machine's clock runs on without anything under way.
    exanet_testing_begin();
    for (;;) exanet_poll(ni, &c, 1);
    return 0;
  });
  stopper.join();
  ends_naming(m, "told to", "told to");
}

TEST_CASE("deadlock: all wait for what nobody sends") {
  const auto deadlock = [](const Machine::Program& program, const std::string& what) {
    Machine m(3);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
      exanet_start(ni);
      return program(ni, rank);
    }, 20);
    ends_naming(m, what, "");
  };
  const auto wait = [](exanet_ni* ni) {
    exanet_completion c;
    exanet_wait(ni, &c, 1, kForEver);
    return 1;
  };
  const auto poll = [](exanet_ni* ni) {
    exanet_completion c;
    while (exanet_poll(ni, &c, 1) == 0) {}
    return 1;
  };
  deadlock([&](exanet_ni* ni, std::uint32_t) { return wait(ni); }, "deadlock");
  deadlock([&](exanet_ni* ni, std::uint32_t) { return poll(ni); }, "deadlock");
  deadlock([&](exanet_ni* ni, std::uint32_t rank) { return rank == 1 ? wait(ni) : poll(ni); }, "deadlock");
  // The commonest kind: a message was sent, and waits, but everybody waits for others.
  deadlock(
      [&](exanet_ni* ni, std::uint32_t rank) {
        static char buf[4096];
        if (rank == 0) exanet_send(ni, 0, exanet_address(1, 0), 1, buf, 8, 0, EXANET_TAGGED | EXANET_SILENT, 0);
        if (rank == 2) exanet_send(ni, 0, exanet_address(1, 0), 1, buf, sizeof buf, 0, EXANET_TAGGED, 0);
        if (rank == 1) exanet_recv(ni, 0, EXANET_ANY, 2, 0, buf, sizeof buf, 0, EXANET_TAGGED, 0);
        return rank == 2 ? wait(ni) : poll(ni);
      },
      "deadlock");
  deadlock(
      [&](exanet_ni* ni, std::uint32_t rank) {
        if (rank > 0) return wait(ni);
        exanet_finish(ni);
        return 0;
      },
      "no rank can go on: some wait in MPI_Finalize");
}

TEST_CASE("long waits that do end are no deadlock") {
  Machine m(2);
  m.run([](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep;
    exanet_ep_open(ni, EXANET_EP_RAW, &ep);
    exanet_start(ni);
    exanet_completion c;
    if (rank == 0) {
      if (exanet_wait(ni, &c, 1, 500'000'000'000'000) != 0) return 1;  // 500 s of sleep, as it were
      exanet_packet_send(ni, ep, exanet_address(1, ep), "x", 1);
    } else {
      while (exanet_poll(ni, &c, 1) == 0) {}
    }
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.coordinator.reason() == "");
  CHECK(m.statuses == std::vector<int>{0, 0});
}

TEST_CASE("commands that libexanet never writes end the run with the rank's name") {
  const auto refused = [](const exn_cmd& c) {
    const std::string reason = hostile(c);
    INFO("reason: ", reason);
    CHECK(reason.find("rank 1 wrote a") == 0);
  };
  exn_cmd c = command(200, 2);
  CHECK(hostile(c) == "rank 1 wrote an unknown command (200) to its network interface");
  CHECK(hostile(c, false) == "rank 1 wrote an unknown command (200) to its network interface");
  refused(command(EXN_OP_SEND, 0));
  refused(command(EXN_OP_SEND, 1));  // shorter than a command
  c = command(EXN_OP_SEND, 1);
  c.len = c.inline_bytes = 0xfffffff0u;  // and its payload longer than the machine's memory
  refused(c);
  c = command(EXN_OP_SEND, 3);
  c.inline_bytes = 105;
  c.len = 105;
  refused(c);
  c = command(EXN_OP_SEND, 2);
  c.len = 32;  // eager, but nothing is carried
  refused(c);
  c = command(EXN_OP_SEND, 2);
  c.len = ~0ull;
  refused(c);
  c = command(EXN_OP_SEND, 2);
  c.len = 4000;
  c.inline_bytes = 20;  // less than it says
  refused(c);
  c = command(EXN_OP_PUT, 2);
  c.len = 1;
  c.inline_bytes = 20;  // more than it says
  refused(c);
  c = command(EXN_OP_PACKET, 2);
  c.len = 60000;
  refused(c);
  c = command(EXN_OP_PACKET, 8);
  c.len = c.inline_bytes = 300;  // more than the packetizer takes
  refused(c);
  for (const std::uint64_t data : {0xff02ull, 0x07ffull, 0x30702ull, 0x20702ull, 0x0070aull}) {  // type, operation, kind; kind and operation at odds
    c = command(EXN_OP_ATOMIC, 2);
    c.data = data;
    c.count = 1;
    c.len = c.inline_bytes = 8;
    refused(c);
  }
  for (const std::uint32_t count : {0u, 2u, 129u, 0xffffffffu}) {
    c = command(EXN_OP_ATOMIC, 2);
    c.data = 0x0702;
    c.count = count;
    c.len = c.inline_bytes = 8;
    refused(c);
  }
  c = command(EXN_OP_RECV, 2);
  c.time_ps = ~0ull;
  refused(c);
  c.time_ps = INT64_MAX;
  refused(c);
}

TEST_CASE("a ring whose ends make no sense") {
  const auto broken = [](const std::function<void(exn_rank&)>& how) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      exanet_start(ni);
      if (rank == 1) how(*exn_rank_slot(map_region(), rank));
      exanet_completion c;
      exanet_wait(ni, &c, 1, kForEver);
      return 0;
    });
    ends_naming(m, "rank 1 wrote a malformed command", "");
  };
  broken([](exn_rank& r) { r.cmd.tail += 2000; });
  broken([](exn_rank& r) { r.cmd.tail -= 1; });
  broken([](exn_rank& r) { r.cmd.head = 0x80000000u; });
  broken([](exn_rank& r) {
    r.cmd.slots[r.cmd.tail & EXN_RING_MASK][0] = EXN_OP_PAD;  // to the ring's end, which is beyond what was written
    r.cmd.tail += 2;
  });
}

TEST_CASE("random bytes in the command ring") {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
      exanet_start(ni);
      exanet_completion c;
      if (rank == 1) {
        scribble(ni, rank, [&](exn_ring& ring, std::uint32_t at) {
          std::mt19937 random(seed);
          const std::uint32_t slots = EXN_RING_SLOTS - at;
          for (std::uint32_t s = 0; s < slots; ++s) {
            for (auto& byte : ring.slots[at + s]) byte = static_cast<std::uint8_t>(random());
            // Most of them nearly right, so that they get further in.
            if (s % 2 == 0) ring.slots[at + s][0] = static_cast<std::uint8_t>(1 + random() % 13);
            if (s % 2 == 0) ring.slots[at + s][1] = 2;
          }
          return slots;
        });
      }
      exanet_wait(ni, &c, 1, kForEver);
      return 0;
    }, 20);
    INFO("seed ", seed);
    ends_naming(m, "rank 1 wrote a", "");
  }
}

TEST_CASE("a clock that goes back, or beyond all time") {
  for (const std::uint64_t clock : {std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{INT64_MAX}}) {
    Machine m(2);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      exanet_start(ni);
      exanet_completion c;
      if (rank == 1) {
        exanet_wait(ni, &c, 1, 1000000);
        exanet_advance(ni, clock - exanet_clock_ps(ni));
        exanet_finish(ni);
      }
      exanet_wait(ni, &c, 1, kForEver);
      return 0;
    });
    ends_naming(m, "rank 1 set its clock", "");
  }
}

TEST_CASE("the region's own figures overwritten by a rank: the simulator keeps its own") {
  Machine m(1);
  m.run([&](exanet_ni* ni, std::uint32_t) {
    exanet_start(ni);
    exn_region* region = map_region();
    region->rank_offset = region->due_offset = 0xfffff000u;
    region->bytes = 4096;
    region->due_count = region->due_next = 0xffffff00u;
    return ::raise(SIGKILL);
  });
  ends_naming(m, "rank 0", "killed by signal 9");
}
