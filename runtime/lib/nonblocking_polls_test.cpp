// SPDX-License-Identifier: Apache-2.0
// When does an empty poll wait, and when does it return at once? What a rank does without the network must cost little
// virtual time, must not be taken for a deadlock, and must not keep the others from theirs.
#include <doctest/doctest.h>

#include "runtime/coordinator/forked_ranks.hpp"

using namespace exanet;
using testing::Machine;

namespace {

constexpr std::uint32_t kCall = 3;  // any
constexpr std::uint64_t kStepPs = 100'000;

// Polls as often inside one MPI call; the number of those that returned nothing.
int polls_in_call(exanet_ni* ni, exanet_call_kind kind, int polls) {
  exanet_completion c{};
  int empty = 0;
  exanet_mpi_enter(ni, kCall, kind);
  for (int i = 0; i < polls; ++i) empty += exanet_poll(ni, &c, 1) == 0;
  exanet_mpi_leave(ni, kCall, kind);
  return empty;
}

// Has rank 0 send a packet after 20 us, which rank 1 receives by `poll`; the time of rank 1 after that.
template <typename Poll>
std::uint64_t time_of_packet_at_20us(Poll poll) {
  Machine m(2);
  m.run([&](exanet_ni* ni, std::uint32_t rank) {
    std::uint16_t ep;
    exanet_ep_open(ni, EXANET_EP_RAW, &ep);
    exanet_start(ni);
    if (rank == 0) {
      exanet_advance(ni, 20'000'000);
      exanet_packet_send(ni, ep, exanet_address(1, ep), "x", 1);
    } else {
      poll(ni);
      m.report->values[1][0] = exanet_clock_ps(ni);
    }
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  CHECK(m.report->values[1][0] > 20'000'000);
  return m.report->values[1][0];
}

std::uint64_t time_of_polls(exanet_call_kind kind, int polls) {
  Machine m(1);
  m.run([&](exanet_ni* ni, std::uint32_t) {
    exanet_start(ni);
    polls_in_call(ni, EXANET_CALL_PLAIN, 1);  // the first one after the start is free
    const std::uint64_t before = exanet_clock_ps(ni);
    polls_in_call(ni, kind, polls);
    m.report->values[0][0] = exanet_clock_ps(ni) - before;
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  return m.report->values[0][0];
}

}  // namespace

TEST_CASE("non-blocking polls after which a call returns take a step each") {
  CHECK(time_of_polls(EXANET_CALL_PLAIN, 2) == 2 * kStepPs);
  CHECK(time_of_polls(EXANET_CALL_IMMEDIATE, 64) == 64 * kStepPs);
  CHECK(time_of_polls(EXANET_CALL_ONE_SIDED, 80) == 80 * kStepPs);
  // One more, and the call waits: for 16 us, and what came before was part of that.
  CHECK(time_of_polls(EXANET_CALL_PLAIN, 3) == 16'000'000);
  CHECK(time_of_polls(EXANET_CALL_IMMEDIATE, 65) == 16'000'000);
  CHECK(time_of_polls(EXANET_CALL_ONE_SIDED, 81) == 16'000'000);
}

TEST_CASE("each one-sided call adds non-blocking polls for what it leaves to the next") {
  Machine m(1);
  m.run([&](exanet_ni* ni, std::uint32_t) {
    exanet_start(ni);
    polls_in_call(ni, EXANET_CALL_PLAIN, 1);
    for (int i = 0; i < 100; ++i) polls_in_call(ni, EXANET_CALL_ONE_SIDED, 0);
    polls_in_call(ni, EXANET_CALL_ONE_SIDED, 64 + 101 * 16);
    m.report->values[0][0] = exanet_clock_ps(ni);
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.report->values[0][0] == (64 + 101 * 16) * kStepPs);
}

TEST_CASE("a call that waits for messages does not look before the rank has used a window") {
  CHECK(time_of_polls(EXANET_CALL_BLOCKING, 1) == 16'000'000);
  Machine m(1);
  m.run([&](exanet_ni* ni, std::uint32_t) {
    exanet_start(ni);
    polls_in_call(ni, EXANET_CALL_PLAIN, 1);
    polls_in_call(ni, EXANET_CALL_ONE_SIDED, 0);
    polls_in_call(ni, EXANET_CALL_BLOCKING, 2);
    m.report->values[0][0] = exanet_clock_ps(ni);
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.report->values[0][0] == 2 * kStepPs);
}

TEST_CASE("a wait ends at the completion's time however many non-blocking polls came before it") {
  std::vector<std::uint64_t> seen;
  for (const exanet_call_kind kind :
       {EXANET_CALL_BLOCKING, EXANET_CALL_PLAIN, EXANET_CALL_IMMEDIATE, EXANET_CALL_ONE_SIDED})
    seen.push_back(time_of_packet_at_20us([kind](exanet_ni* ni) {
      exanet_completion c{};
      exanet_mpi_enter(ni, kCall, kind);
      while (exanet_poll(ni, &c, 1) == 0) {
      }
      exanet_mpi_leave(ni, kCall, kind);
    }));
  CHECK(seen == std::vector<std::uint64_t>(4, seen[0]));
}

TEST_CASE("many calls that each find nothing are no deadlock") {
  Machine m(1);
  m.run([](exanet_ni* ni, std::uint32_t) {
    exanet_start(ni);
    for (int i = 0; i < 100; ++i) polls_in_call(ni, EXANET_CALL_PLAIN, 4);
    exanet_finish(ni);
    return 0;
  });
  CHECK(m.control.reason() == "");
  CHECK(m.coordinator.rank_clock(0) <= Time::us(100 * 48));  // windows begin anew with each call
}

TEST_CASE("a rank that polls in call after call does not leave the others behind") {
  const std::uint64_t ended = time_of_packet_at_20us([](exanet_ni* ni) {
    while (polls_in_call(ni, EXANET_CALL_IMMEDIATE, 1) == 1) {
    }
  });
  CHECK(ended < 30'000'000);
}
