// SPDX-License-Identifier: Apache-2.0
// Ranks that die, wait for nothing, or write what libexanet never would: does the run end soon, name who it was, and
// leave nothing behind?
#include <doctest/doctest.h>

#include <array>
#include <random>

#include "runtime/coordinator/forked_ranks.hpp"

using namespace exanet;
using testing::kForEver;
using testing::Machine;

namespace {

// A fraction of a second on an idle host, and half of the time after which what hangs is stopped.
constexpr double kSoonS = 30;

exn_region* map_region() {
  const int fd = ::open(std::getenv("EXANET_NI"), O_RDWR);
  struct stat st;
  if (fd < 0 || ::fstat(fd, &st) != 0) ::_exit(96);
  void* map = ::mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) ::_exit(95);
  return static_cast<exn_region*>(map);
}

// Behind libexanet's back: `write` fills slots from the ring's present end and says how far the end moves.
void scribble(exanet_ni* ni, std::uint32_t rank,
              const std::function<std::uint32_t(exn_ring&, std::uint32_t at)>& write) {
  exn_ring& ring = exn_rank_slot(map_region(), rank)->work;
  const std::uint32_t tail = ring.tail;
  __atomic_store_n(&ring.tail, tail + write(ring, tail & EXN_RING_MASK), __ATOMIC_RELEASE);
  exanet_completion c;
  exanet_wait(ni, &c, 1, kForEver);
}

exn_descriptor descriptor(std::uint8_t kind, std::uint8_t slots, std::uint16_t payload_bytes = 0) {
  exn_descriptor d{};
  d.header.kind = kind;
  d.header.slots = slots;
  d.header.payload_bytes = payload_bytes;
  return d;
}

exn_descriptor send(std::uint8_t slots, std::uint64_t length, std::uint16_t payload_bytes) {
  exn_descriptor d = descriptor(EXN_OP_SEND, slots, payload_bytes);
  d.send.length = length;
  return d;
}

// A sum of one 64-bit word.
exn_descriptor sum() {
  exn_descriptor d = descriptor(EXN_OP_ATOMIC, 2, 8);
  d.atomic.operation = 2;
  d.atomic.datatype = 7;
  d.atomic.count = 1;
  return d;
}

void ends_naming(Machine& m, const std::string& who, const std::string& what) {
  INFO("reason: ", m.control.reason());
  CHECK(m.control.reason().find(who) == 0);
  CHECK(m.control.reason().find(what) != std::string::npos);
  CHECK(m.ended < kSoonS);
  CHECK(!m.region_exists());
}

// Rank 1 of 3 writes `d` into its ring; the other two wait for messages.
std::string hostile(const exn_descriptor& d, bool in_virtual_time = true) {
  Machine m(3);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep;
    exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
    if (in_virtual_time) exanet_start(ni);
    if (rank == 1)
      scribble(ni, rank, [&](exn_ring& ring, std::uint32_t at) {
        exn_descriptor copy = d;
        if (copy.header.time_ps == 0) copy.header.time_ps = exanet_clock_ps(ni);
        std::memcpy(ring.slots[at], &copy, sizeof copy);
        return std::max<std::uint32_t>(copy.header.slots, 1);
      });
    exanet_completion done;
    exanet_wait(ni, &done, 1, kForEver);
    return 0;
  });
  CHECK(m.ended < kSoonS);
  CHECK(!m.region_exists());
  return m.control.reason();
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
    for (const int rank : {0, 1, 3}) CHECK(m.statuses[rank] == 75);  // asked to leave
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
    m.control.stop("asked to");
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
  ends_naming(m, "asked to", "asked to");
}

TEST_CASE("deadlock: all wait for what nobody sends") {
  const auto deadlock = [](const Machine::Program& program, const std::string& what) {
    Machine m(3);
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      std::uint16_t ep;
      exanet_ep_open(ni, EXANET_EP_MESSAGE, &ep);
      exanet_start(ni);
      return program(ni, rank);
    });
    ends_naming(m, what, "");
  };
  const auto wait = [](exanet_ni* ni) {
    exanet_completion c;
    exanet_wait(ni, &c, 1, kForEver);
    return 1;
  };
  const auto poll = [](exanet_ni* ni) {
    exanet_completion c;
    while (exanet_poll(ni, &c, 1) == 0) {
    }
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
      while (exanet_poll(ni, &c, 1) == 0) {
      }
    }
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  CHECK(m.statuses == std::vector<int>{0, 0});
}

TEST_CASE("descriptors that libexanet never writes end the run with the rank's name") {
  const auto refused = [](const exn_descriptor& d, const std::string& why) {
    const std::string reason = hostile(d);
    INFO("reason: ", reason);
    CHECK(reason.find("rank 1 wrote a malformed descriptor to its network interface: " + why) == 0);
  };
  CHECK(hostile(descriptor(200, 2)) == "rank 1 wrote a descriptor of unknown kind (200) to its network interface");
  CHECK(hostile(descriptor(200, 2), false) ==
        "rank 1 wrote a descriptor of unknown kind (200) to its network interface");
  refused(send(0, 0, 0), "it does not fit its slots");
  refused(descriptor(EXN_OP_RECEIVE, 1), "it does not fit its slots");  // shorter than its fixed part
  refused(send(1, 1, 1), "it does not fit its slots");
  refused(send(1, 0xffff, 0xffff), "it does not fit its slots");
  refused(send(2, 65, 65), "it does not fit its slots");
  refused(send(2, 32, 0), "a message that is not as long as it says");  // eager, but nothing is carried
  refused(send(2, ~0ull, 0), "more bytes than there can be");
  refused(send(2, 4000, 20), "a message that is not as long as it says");
  exn_descriptor d = descriptor(EXN_OP_PUT, 2, 20);
  d.put.length = 1;
  refused(d, "a put that is not as long as it says");
  refused(descriptor(EXN_OP_PACKET, 8, 300), "a packet that is longer than the packetizer takes");
  struct What {
    std::uint8_t operation, datatype, kind;
  };
  for (const What& w : {What{2, 255, 0}, What{255, 7, 0}, What{2, 7, 3}, What{2, 7, 2},
                        What{10, 7, 0}}) {  // the last two: kind and operation at odds
    d = sum();
    d.atomic.operation = w.operation;
    d.atomic.datatype = w.datatype;
    d.atomic.atomic_kind = w.kind;
    refused(d, "an atomic that does not exist");
  }
  for (const std::uint32_t count : {0u, 129u, 0xffffffffu}) {
    d = sum();
    d.atomic.count = count;
    refused(d, "an atomic of too many elements or none");
  }
  d = sum();
  d.atomic.count = 2;
  refused(d, "an atomic that is not as long as it says");
  refused(descriptor(EXN_OP_PEEK, 2, 8), "data where there are none");
  d = descriptor(EXN_OP_RECEIVE, 2);
  for (const std::uint64_t time : {std::uint64_t{~0ull}, std::uint64_t{INT64_MAX}}) {
    d.header.time_ps = time;
    refused(d, "a time beyond all");
  }
}

TEST_CASE("the records are the same bytes in C and in C++") {
  exn_descriptor d = descriptor(EXN_OP_SEND, 3, 32);
  d.header.ep = 7;
  d.header.flags = EXANET_TAGGED | EXANET_DELIVERED;
  d.header.time_ps = 123'456'789;
  d.send = {d.header, exanet_address(5, 9), 11, 12, 13, 14, 15};
  int seen = 0;
  visit_descriptor(reinterpret_cast<const std::byte*>(&d), [&](const auto& record, const std::byte* payload) {
    if constexpr (std::is_same_v<std::decay_t<decltype(record)>, SendDescriptor>) {
      ++seen;
      CHECK(
          (record.kind == DescriptorKind::kSend && record.slots == 3 && record.ep == 7 && record.payload_bytes == 32));
      CHECK((record.has(kTagged) && record.has(kDelivered) && !record.has(kSilent) &&
             record.time == Time::ps(123'456'789)));
      CHECK((record.peer == Address{5, 9} && record.cookie == 11 && record.tag == 12));
      CHECK((record.buffer == 13 && record.length == 14 && record.data == 15));
      CHECK(payload == reinterpret_cast<const std::byte*>(&d.send + 1));
    }
  });
  CHECK(seen == 1);
  ReceiveCompletion done;
  done.ep = 3;
  done.status = -5;
  done.time = Time::ns(2);
  done.cpu_ps = 77;
  done.flags = kHasData;
  done.cookie = 1;
  done.peer = Address{kAnyRank, 0xffff, 0xffff};
  done.tag = 2;
  done.length = 3;
  done.data = 4;
  done.buffer = 5;
  exn_completion c;
  std::memcpy(&c, &done, sizeof done);
  CHECK((c.header.kind == EXANET_C_RECEIVE && c.header.ep == 3 && c.header.status == -5 && c.header.time_ps == 2000));
  CHECK((c.header.cpu_ps == 77 && c.header.flags == EXANET_HAS_DATA && c.receive.cookie == 1 &&
         c.receive.peer == EXANET_ANY));
  CHECK((c.receive.tag == 2 && c.receive.length == 3 && c.receive.data == 4 && c.receive.buffer == 5));
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
    ends_naming(m, "rank 1 wrote a malformed ring", "");
  };
  broken([](exn_rank& r) { r.work.tail += 2000; });
  broken([](exn_rank& r) { r.work.tail -= 1; });
  broken([](exn_rank& r) { r.work.head = 0x80000000u; });
  broken([](exn_rank& r) {
    r.work.slots[r.work.tail & EXN_RING_MASK][0] = EXN_OP_PAD;  // to the ring's end, which is beyond what was written
    r.work.tail += 2;
  });
}

TEST_CASE("random bytes in the ring of descriptors") {
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
    });
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
    region->due = ~std::uint64_t{0};
    region->workers = 0xffffff00u;
    return ::raise(SIGKILL);
  });
  ends_naming(m, "rank 0", "killed by signal 9");
}

TEST_CASE("questions about a broadcast: what cannot be ends the run, and the right one is answered in no time") {
  using Question = std::array<std::uint32_t, 9>;  // an exn_tree_question of four ranks
  const auto asks = [](const Question& wanted, bool mapped, bool is_right) {
    Machine m(4, testing::small_machine(), {0, "linear"});
    m.run([&](exanet_ni* ni, std::uint32_t rank) {
      exanet_start(ni);
      if (rank == 2) {
        Question asked = wanted;
        exanet_ask_tree(ni, reinterpret_cast<exn_tree_question*>(mapped ? asked.data() : nullptr));
        if (!is_right) return 1;
        const bool all = asked[4] == 3 && exanet_clock_ps(ni) == 0;
        for (std::uint32_t i = 0; i < 3; ++i)
          if (!(asked[5 + i] & EXN_STEP_SENDS) || EXN_STEP_PEER(asked[5 + i]) != i + (i >= 1)) return 2;
        if (!all || !(asked[7] & EXN_STEP_ENDS_STAGE)) return 2;
      }
      exanet_finish(ni);
      return 0;
    });
    if (is_right) {
      CHECK(m.control.reason() == "");
    } else {
      ends_naming(m, "rank 2 wrote a malformed request about a broadcast", "");
    }
  };
  const Question right{4, 1, 1, 0, 0, 3, 2, 1, 0};
  asks(right, true, true);
  asks(right, false, false);
  asks({0, 0, 0, 0, 0, 3, 2, 1, 0}, true, false);
  asks({5, 1, 1, 0, 0, 3, 2, 1, 0}, true, false);
  asks({4, 4, 1, 0, 0, 3, 2, 1, 0}, true, false);
  asks({4, 1, 4, 0, 0, 3, 2, 1, 0}, true, false);
  asks({4, 1, 1, 0, 0, 3, 2, 4, 0}, true, false);
  asks({4, 1, 1, 2, 0, 3, 2, 1, 0}, true, false);
}
