// SPDX-License-Identifier: Apache-2.0
// Are streams of damaged bytes refused by one message, or replayed?
//
// Cases are drawn by number, so that a case that fails can be run again: EXANET_FUZZ_FIRST and EXANET_FUZZ_CASES choose
// them, and EXANET_FUZZ_SECONDS goes on for so long. Each starts from streams of four ranks with calls of every form,
// of which a few bytes are changed.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "core/config/error.hpp"
#include "core/protocol/engine_harness.hpp"
#include "core/replay/communicators.hpp"
#include "core/replay/replay.hpp"
#include "core/replay/stream_harness.hpp"

using namespace exanet;
using testing::StreamBytes;
using testing::StreamFiles;

namespace {

using Draw = std::mt19937_64;
constexpr std::uint32_t kRanks = 4;
constexpr std::uint64_t kMostBytes = 100'000, kMostCalls = 2000;  // of what is replayed

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Calls of every form; all ranks meet in the collectives, and messages go round.
StreamBytes stream_of(std::uint32_t rank, Draw& draw) {
  StreamBytes s(rank, kRanks);
  const std::uint32_t after = (rank + 1) % kRanks, before = (rank + kRanks - 1) % kRanks;
  s.call(EXANET_TRACE_Comm_dup, {EXANET_TRACE_WORLD, 3, EXANET_TRACE_OF_WORLD, 0, 0});
  s.call(EXANET_TRACE_Comm_split, {EXANET_TRACE_WORLD, 4, 0, 2, rank % 2, rank % 2 + 2, 0});
  s.message(EXANET_TRACE_Recv_init, before, 40, 7).message(EXANET_TRACE_Send_init, after, 40, 8);
  s.call(EXANET_TRACE_Startall, {7, 8}).call(EXANET_TRACE_Testall, {}).call(EXANET_TRACE_Waitall, {7, 8});
  s.message(EXANET_TRACE_Irecv, before, 700, 1).message(EXANET_TRACE_Isend, after, 700, 2);
  s.call(EXANET_TRACE_Waitall, {1, 2}, 1000);
  s.call(EXANET_TRACE_Sendrecv, {EXANET_TRACE_WORLD, after + 2, 6, 8, before + 2, 6, 8});
  s.message(EXANET_TRACE_Issend, after, 8, 3);
  s.call(EXANET_TRACE_Probe, {EXANET_TRACE_WORLD, before + 2, 6, 1}).message(EXANET_TRACE_Recv, before, 8);
  s.call(EXANET_TRACE_Wait, {3}).call(EXANET_TRACE_Iprobe, {EXANET_TRACE_WORLD, 1, 0, 0});
  for (std::uint8_t code = EXANET_TRACE_Barrier; code <= EXANET_TRACE_Exscan; ++code) {
    const std::uint64_t comm = draw() % 3 == 0 ? 3 : EXANET_TRACE_WORLD;
    switch (code) {
      case EXANET_TRACE_Alltoallv:
      case EXANET_TRACE_Alltoallw: s.call(code, {comm, 0, 0, 3, 1, 0, 0, 4, 8, 8, 8, 8, 4, 8, 8, 8, 8}); break;
      case EXANET_TRACE_Gatherv:
      case EXANET_TRACE_Allgatherv:
      case EXANET_TRACE_Reduce_scatter: s.call(code, {comm, 0, 0, 3, 8, 64, 0, 0, 4, 64, 64, 64, 64}); break;
      case EXANET_TRACE_Scatterv: s.call(code, {comm, 0, 0, 3, 8, 0, 64, 4, 64, 64, 64, 64, 0}); break;
      default: s.call(code, {comm, 0, 0, 3, 8, 64, 64, 0, 0});
    }
  }
  s.call(EXANET_TRACE_Ibcast, {4, 1, 5, 3, 8, 64, 64, 0, 0}).call(EXANET_TRACE_Wait, {5});
  for (const std::uint8_t code : {EXANET_TRACE_Neighbor_allgather, EXANET_TRACE_Ineighbor_alltoallw})
    s.call(code, {EXANET_TRACE_WORLD, code == EXANET_TRACE_Neighbor_allgather ? 0u : 6u, 2, before + 2, 0, 2, 8, 8, 1,
                  after + 2, 1, 64});
  s.call(EXANET_TRACE_Wait, {6});
  s.call(EXANET_TRACE_Win_allocate, {EXANET_TRACE_WORLD, 1, 4096}).call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  for (const std::uint8_t code : {EXANET_TRACE_Put, EXANET_TRACE_Get, EXANET_TRACE_Accumulate,
                                  EXANET_TRACE_Get_accumulate, EXANET_TRACE_Compare_and_swap, EXANET_TRACE_Rput})
    s.call(code, {1, after + 2, code == EXANET_TRACE_Rput ? 6u : 0u, draw() % 2, 64, 64});
  s.call(EXANET_TRACE_Wait, {6}).call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  s.call(EXANET_TRACE_Win_lock, {1, after + 2, draw() % 2, 0}).call(EXANET_TRACE_Win_unlock, {1, after + 2, 0, 0});
  s.call(EXANET_TRACE_Win_post, {1, 0, 0, 1, before}).call(EXANET_TRACE_Win_start, {1, 0, 0, 1, after});
  s.call(EXANET_TRACE_Win_complete, {1, 0, 0, 0}).call(EXANET_TRACE_Win_wait, {1, 0, 0, 0});
  s.call(EXANET_TRACE_Win_free, {1, 0, 0, 0});
  s.call(EXANET_TRACE_Request_free, {7}).call(EXANET_TRACE_Request_free, {8});
  return s.end();
}

void damage(std::vector<std::uint8_t>& bytes, Draw& draw) {
  for (std::uint64_t i = draw() % 2 * (draw() % 4); i-- > 0 && bytes.size() > sizeof(exanet_trace_header) + 1;) {
    const std::size_t first = draw() % 16 == 0 ? 0 : sizeof(exanet_trace_header);
    const std::size_t at = first + draw() % (bytes.size() - first);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<std::uint8_t> number;
    switch (draw() % 7) {
      case 0: *place = static_cast<std::uint8_t>(draw()); break;
      case 1: *place ^= static_cast<std::uint8_t>(1u << draw() % 8); break;
      case 2: *place = static_cast<std::uint8_t>(draw() % 10); break;
      case 3:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(std::min<std::size_t>(draw() % 20, bytes.size() - at)));
        break;
      case 4: bytes.resize(at); break;
      case 5:
        StreamBytes::put(number, draw() >> draw() % 64);
        bytes.insert(place, number.begin(), number.end());
        break;
      default: {
        const std::size_t from = draw() % bytes.size(), count = std::min<std::size_t>(draw() % 40, bytes.size() - from);
        number.assign(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                      bytes.begin() + static_cast<std::ptrdiff_t>(from + count));
        bytes.insert(place, number.begin(), number.end());
      }
    }
  }
}

// Bytes that the stream's calls name, and its calls, as far as they can be read. Throws ConfigError.
std::uint64_t read_all(const std::string& path, Communicators& communicators, std::uint32_t rank,
                       std::uint64_t& calls) {
  TraceStream stream(path);
  TraceRecord r;
  std::uint64_t bytes = 0;
  while (stream.next(r)) {
    ++calls;
    bytes += r.message.bytes + r.received.bytes + r.send_bytes + r.receive_bytes + r.element_bytes;
    if (r.form == EXANET_TRACE_COLLECTIVE || r.form == EXANET_TRACE_NEIGHBOURS)
      for (const auto* list : {&r.first, &r.second})
        for (const std::uint64_t size : *list) bytes += size;
    if (r.form == EXANET_TRACE_CREATE && !communicators.add(rank, r)) stream.fail("no member");
  }
  return bytes;
}

enum class Fate { refused, replayed, read };

Fate run_case(std::uint64_t number) {
  Draw draw(number);
  StreamFiles files;
  ReplayProgram program;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    Draw same(number);
    StreamBytes stream = stream_of(rank, same);
    damage(stream.bytes, draw);
    files.add(stream.bytes);
    program.placement.push_back(rank);
  }
  program.streams = files.paths;
  try {
    Communicators communicators(kRanks);
    std::uint64_t bytes = 0, calls = 0;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      bytes += read_all(files.paths[rank], communicators, rank, calls);
    if (bytes > kMostBytes || calls > kMostCalls) return Fate::read;
    Replay run({"torus", {kRanks}}, testing::steady_fabric(), testing::odd_costs(), {{program}, {}});
    return run.run() ? Fate::replayed : Fate::refused;
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return Fate::refused;
  }
}

}  // namespace

TEST_CASE("fuzz: streams of damaged bytes are refused, or replayed") {
  const std::uint64_t first = setting("EXANET_FUZZ_FIRST", 0), seconds = setting("EXANET_FUZZ_SECONDS", 0);
  const std::uint64_t cases = setting("EXANET_FUZZ_CASES", seconds > 0 ? ~std::uint64_t{0} >> 1 : 300);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t done = 0, outcomes[3] = {};
  for (; done < cases && (seconds == 0 || std::chrono::steady_clock::now() < until); ++done) {
    CAPTURE(first + done);
    if (seconds > 0 && done % 10'000 == 0)
      std::printf("fuzz: case %llu\n", static_cast<unsigned long long>(first + done)), std::fflush(stdout);
    ++outcomes[static_cast<int>(run_case(first + done))];
  }
  MESSAGE(done << " cases: " << outcomes[0] << " refused, " << outcomes[1] << " replayed, " << outcomes[2] << " read");
  if (done >= 100) CHECK(outcomes[0] > 0);
  if (done >= 100) CHECK(outcomes[1] > 0);
}
