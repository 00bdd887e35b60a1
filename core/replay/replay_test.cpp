// SPDX-License-Identifier: Apache-2.0
// Do replayed ranks wait for what MPI says that they wait for, and is what cannot be replayed reported?
#include "core/replay/replay.hpp"

#include <doctest/doctest.h>

#include "core/collectives/registry.hpp"
#include "core/config/error.hpp"
#include "core/network/lossy_harness.hpp"
#include "core/protocol/engine_harness.hpp"
#include "core/replay/stream_harness.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;
using testing::StreamBytes;
using testing::StreamFiles;

namespace {

struct Outcome {
  ReplayResult result;
  std::uint64_t messages = 0, bytes = 0;
  std::string complaint;
};

Outcome replay(const std::vector<StreamBytes>& streams, double factor = 1, const CollectiveChoices& choices = {},
               const NetworkConfig& fabric = testing::steady_fabric(), const FaultSchedule& faults = {}) {
  StreamFiles files;
  ReplayProgram program;
  for (std::size_t rank = 0; rank < streams.size(); ++rank) {
    files.add(streams[rank].bytes);
    program.placement.push_back(static_cast<NodeId>(rank));
  }
  program.streams = files.paths;
  program.compute_factor = factor;
  program.collectives = choices;
  ReplayConfig config{{program}};
  config.faults = faults;
  Outcome outcome;
  try {
    Replay run({"torus", {4}}, fabric, testing::odd_costs(), config);
    const bool ended = run.run();
    REQUIRE(ended);
    CHECK(run.progress() == 1);
    outcome.result = run.result();
    outcome.messages = run.statistics().total.messages;
    outcome.bytes = run.statistics().total.bytes;
  } catch (const ConfigError& error) {
    outcome.complaint = error.what();
  }
  return outcome;
}

bool says(const Outcome& outcome, const char* what) { return outcome.complaint.find(what) != std::string::npos; }

std::vector<StreamBytes> two() { return {StreamBytes(0, 2), StreamBytes(1, 2)}; }

Time ping_pong(std::uint64_t bytes, int rounds) {
  auto s = two();
  for (int i = 0; i < rounds; ++i) {
    s[0].message(EXANET_TRACE_Send, 1, bytes).message(EXANET_TRACE_Recv, 1, bytes);
    s[1].message(EXANET_TRACE_Recv, 0, bytes).message(EXANET_TRACE_Send, 0, bytes);
  }
  s[0].end(), s[1].end();
  const Outcome found = replay(s);
  CHECK(found.complaint == "");
  CHECK(found.messages == 2 * static_cast<std::uint64_t>(rounds));
  CHECK(found.bytes == 2 * bytes * static_cast<std::uint64_t>(rounds));
  return found.result.finished;
}

}  // namespace

TEST_CASE("a ping-pong takes as long as its messages, whatever their protocol") {
  const Time eager = ping_pong(8, 1), rendezvous = ping_pong(4096, 1);
  CHECK(eager > Time::us(1));
  CHECK(rendezvous > eager);
  CHECK(ping_pong(8, 10) <= eager * 10);
  CHECK(ping_pong(8, 10) > eager * 9);
}

TEST_CASE("a message that the network loses ends the replay, which says where and when") {
  std::vector<StreamBytes> s;
  for (std::uint32_t rank = 0; rank < 4; ++rank) s.emplace_back(rank, 4);
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    s[0].message(EXANET_TRACE_Recv, rank, 4096);
    s[rank].message(EXANET_TRACE_Send, 0, 4096).end();
  }
  s[0].end();
  const NetworkConfig fabric = testing::steady_fabric();
  CHECK(replay(s, 1, {}, testing::dropping(fabric, 1 << 20)).complaint == "");
  const Outcome found = replay(s, 1, {}, testing::dropping(fabric));
  CAPTURE(found.complaint);
  CHECK(says(found, "the replay ends at "));
  CHECK(says(found, " us, on node "));
  CHECK((says(found, "MPI_Recv from rank ") || says(found, "MPI_Send to rank 0")));
  CHECK(says(found, " failed: a packet of it was lost"));
}

TEST_CASE("a message that is longer than its receive is named, and comes as far as there is space") {
  for (const std::uint64_t bytes : {std::uint64_t{40}, std::uint64_t{4096}}) {
    auto s = two();
    s[0].message(EXANET_TRACE_Send, 1, bytes).message(EXANET_TRACE_Send, 1, bytes).end();
    s[1].message(EXANET_TRACE_Recv, 0, 32).message(EXANET_TRACE_Irecv, 0, 32, 1).call(EXANET_TRACE_Wait, {1}).end();
    const Outcome found = replay(s);
    CHECK(found.complaint == "");
    CHECK(found.result.ranks[0].truncated == 0);
    CHECK(found.result.ranks[1].truncated == 2);
    CHECK(found.result.ranks[1].first_truncated == "rank 1 in call 1, MPI_Recv from rank 0 with tag 5: a message of " +
                                                       std::to_string(bytes) +
                                                       " B of rank 0 comes to a receive of 32 B");
  }
}

TEST_CASE("a receive that is as long as its message, longer, or of no known size is not named") {
  for (const std::uint64_t space : {std::uint64_t{0}, std::uint64_t{40}, std::uint64_t{41}}) {
    auto s = two();
    s[0].message(EXANET_TRACE_Send, 1, 40).message(EXANET_TRACE_Isend, 0, 40, 1).message(EXANET_TRACE_Recv, 0, space);
    s[0].call(EXANET_TRACE_Wait, {1}).end();
    s[1].message(EXANET_TRACE_Recv, 0, space).end();
    const Outcome found = replay(s);
    CHECK(found.complaint == "");
    CHECK(found.result.ranks[0].truncated + found.result.ranks[1].truncated == 0);
  }
}

TEST_CASE("names of calls on files are left out") {
  auto s = two();
  s[0].call(EXANET_TRACE_UNRECORDED, {'M', 'P', 'I', '_', 'F', 'i', 'l', 'e', '_', 's', 'y', 'n', 'c'}).end(3'000'000);
  s[1].end();
  const Outcome found = replay(s);
  CHECK(found.complaint == "");
  CHECK(found.result.finished == Time::us(3));
}

TEST_CASE("computing is as long as recorded, times the factor") {
  auto s = two();
  s[0].end(5'000'000), s[1].end(2'000'000);
  CHECK(replay(s).result.finished == Time::us(5));
  CHECK(replay(s, 0.5).result.finished == Time::ps(2'500'000));
  CHECK(replay(s, 0).result.finished == Time());
}

TEST_CASE("a rank may have a factor of its own, and all have one or none has") {
  const auto finished = [](const std::vector<double>& factors) {
    StreamFiles files;
    auto s = two();
    s[0].end(5'000'000), s[1].end(2'000'000);
    for (const StreamBytes& stream : s) files.add(stream.bytes);
    ReplayProgram program;
    program.streams = files.paths;
    program.placement = {0, 1};
    program.rank_factors = factors;
    const ReplayConfig config{{program}};
    Replay run({"torus", {4}}, testing::steady_fabric(), testing::odd_costs(), config);
    run.run();
    return run.result().finished;
  };
  CHECK(finished({}) == Time::us(5));
  CHECK(finished({0.2, 1}) == Time::us(2));
  CHECK(finished({1, 4}) == Time::us(8));
  CHECK_THROWS_AS(finished({1}), ConfigError);
}

TEST_CASE("a receive waits for its sender's computing, and a wait for the request") {
  auto s = two();
  s[0].call(EXANET_TRACE_Send, {EXANET_TRACE_WORLD, 3, 6, 8, 0}, 7'000'000).end();
  s[1].message(EXANET_TRACE_Irecv, 0, 8, 1).call(EXANET_TRACE_Wait, {1}).end();
  const Outcome found = replay(s);
  CHECK(found.result.ranks[1].clock > Time::us(7));
  CHECK(found.result.ranks[1].calls[EXANET_TRACE_Wait].time > Time::us(7));
  CHECK(found.result.ranks[1].calls[EXANET_TRACE_Irecv].time == Time());
}

TEST_CASE("messages match by tag and communicator, in order, and a receive from any takes what comes") {
  auto s = two();
  const std::initializer_list<std::uint64_t> both{EXANET_TRACE_WORLD, 3, EXANET_TRACE_OF_WORLD, 0, 0};
  for (auto& stream : s) stream.call(EXANET_TRACE_Comm_dup, both);
  s[0].message(EXANET_TRACE_Send, 1, 8, 0, 1)
      .message(EXANET_TRACE_Send, 1, 16, 0, 2)
      .call(EXANET_TRACE_Send, {3, 3, 2, 24, 0})
      .end();
  s[1].call(EXANET_TRACE_Recv, {3, 2, 2, 24, 0})
      .message(EXANET_TRACE_Recv, 0, 16, 0, 2)
      .call(EXANET_TRACE_Recv, {EXANET_TRACE_WORLD, 1, 0, 8, 0})
      .end();
  const Outcome found = replay(s);
  CHECK(found.complaint == "");
  auto other = two();
  other[0].message(EXANET_TRACE_Send, 1, 8, 0, 1).end();
  other[1].message(EXANET_TRACE_Recv, 0, 8, 0, 2).end();
  CHECK(says(replay(other),
             "1 of 2 ranks wait for messages that nobody sends: rank 1 in call 1, MPI_Recv from rank 0 with tag 2"));
}

TEST_CASE("persistent requests, probes, synchronous sends and messages to the own rank") {
  auto s = two();
  s[0].message(EXANET_TRACE_Send_init, 1, 8, 1);
  s[1].message(EXANET_TRACE_Recv_init, 0, 8, 1);
  for (auto& stream : s)
    for (int i = 0; i < 3; ++i) stream.call(EXANET_TRACE_Start, {1}).call(EXANET_TRACE_Wait, {1});
  s[0].call(EXANET_TRACE_Request_free, {1}).message(EXANET_TRACE_Ssend, 1, 8).message(EXANET_TRACE_Irecv, 0, 8, 1);
  s[0].message(EXANET_TRACE_Send, 0, 8).call(EXANET_TRACE_Wait, {1}).end();
  s[1].call(EXANET_TRACE_Probe, {EXANET_TRACE_WORLD, 2, 6, 1}, 3'000'000).message(EXANET_TRACE_Recv, 0, 8).end();
  const Outcome found = replay(s);
  CHECK(found.complaint == "");
  CHECK(found.messages == 3 + 2);  // the acknowledgement of the synchronous one; what stays in the rank is none
  CHECK(found.result.ranks[0].clock > Time::us(3));
}

TEST_CASE("a probe for what nobody sends is reported, and one for what comes late waits") {
  auto s = two();
  const std::initializer_list<std::uint64_t> probe{EXANET_TRACE_WORLD, 2, 6, 1};
  s[0].message(EXANET_TRACE_Recv, 1, 8).end();
  s[1].call(EXANET_TRACE_Probe, probe).end();
  CHECK(says(replay(s), "rank 1 in call 1, MPI_Probe from rank 0 with tag 5"));
  s = two();
  s[0].call(EXANET_TRACE_Send, {EXANET_TRACE_WORLD, 3, 6, 8, 0}, 100'000'000'000).end();
  s[1].call(EXANET_TRACE_Probe, probe).message(EXANET_TRACE_Recv, 0, 8).end();
  CHECK(replay(s).complaint == "");
}

namespace {

// Two ranks with a window on MPI_COMM_WORLD: messages and bytes of what they do with it, less those of making and
// freeing it.
Outcome with_window(const std::vector<StreamBytes>& body_of_first, const std::vector<StreamBytes>& body_of_second) {
  std::vector<Outcome> found;
  for (const bool used : {true, false}) {
    auto s = two();
    for (std::size_t rank = 0; rank < 2; ++rank) {
      s[rank].call(EXANET_TRACE_Win_allocate, {EXANET_TRACE_WORLD, 1, 64});
      const auto& body = rank == 0 ? body_of_first : body_of_second;
      for (const StreamBytes& calls : body)
        if (used) s[rank].bytes.insert(s[rank].bytes.end(), calls.bytes.begin() + 32, calls.bytes.end());
      s[rank].call(EXANET_TRACE_Win_free, {1, 0, 0, 0}).end();
    }
    found.push_back(replay(s));
    CHECK(found.back().complaint == "");
  }
  found[0].messages -= found[1].messages;
  found[0].bytes -= found[1].bytes;
  return found[0];
}

StreamBytes calls() { return {0, 2}; }

}  // namespace

TEST_CASE("a fence waits for transfers, and its barrier for the other rank") {
  auto first = calls(), second = calls();
  first.call(EXANET_TRACE_Put, {1, 3, 0, 1, 100'000, 0}).call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  second.call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  const Outcome put = with_window({first}, {second});
  CHECK(put.messages == 3);  // the put, and two of the barrier
  CHECK(put.bytes == 100'000);
  const Time alone = put.result.ranks[0].calls[EXANET_TRACE_Put].time;
  CHECK(put.result.ranks[1].calls[EXANET_TRACE_Win_fence].time > Time::us(10));
  CHECK(alone < Time::us(2));
}

TEST_CASE("an exclusive lock waits for who holds it, and for the target to be in MPI") {
  auto first = calls(), second = calls();
  first.call(EXANET_TRACE_Win_lock, {1, 3, 1, 0}).call(EXANET_TRACE_Win_unlock, {1, 3, 0, 0}).end();
  first.bytes.resize(first.bytes.size() - 5);  // without its end
  second.call(EXANET_TRACE_Win_fence, {1, 0, 0, 0}, 50'000'000);
  auto fence = calls();
  fence.call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  const Outcome found = with_window({first, fence}, {second});
  CHECK(found.messages == 4 + 2);  // two words and their answers; a barrier
  CHECK(found.bytes == 4 * 40);
  CHECK(found.result.ranks[0].calls[EXANET_TRACE_Win_lock].time > Time::us(40));
}

TEST_CASE("a lock waits while its target has locked its own window") {
  auto first = calls(), second = calls();
  first.call(EXANET_TRACE_Win_lock, {1, 3, 1, 0}, 1'000'000).call(EXANET_TRACE_Win_unlock, {1, 3, 0, 0});
  first.call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  second.call(EXANET_TRACE_Win_lock, {1, 3, 1, 0});
  second.call(EXANET_TRACE_Win_lock, {1, 2, 1, 0}, 10'000'000).call(EXANET_TRACE_Win_unlock, {1, 2, 0, 0});
  second.call(EXANET_TRACE_Win_unlock, {1, 3, 0, 0}, 30'000'000).call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
  const Outcome found = with_window({first}, {second});
  CHECK(found.result.ranks[0].calls[EXANET_TRACE_Win_lock].time > Time::us(35));
}

TEST_CASE("an accumulate is a message that is answered, and a long one is fetched") {
  for (const std::uint64_t size : {1'000u, 100'000u}) {
    auto first = calls(), second = calls();
    first.call(EXANET_TRACE_Accumulate, {1, 3, 0, 1, size, 0}).call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
    second.call(EXANET_TRACE_Win_fence, {1, 0, 0, 0});
    const Outcome found = with_window({first}, {second});
    CHECK(found.messages == (size > 16384 ? 6 : 4));
    CHECK(found.bytes == (size > 16384 ? 144 + size + 32 + 32 : 96 + size + 32));
  }
}

TEST_CASE("what begins behind an exposure has heard of it, and its end hears of the other") {
  auto first = calls(), second = calls();
  first.call(EXANET_TRACE_Win_start, {1, 0, 0, 1, 1}).call(EXANET_TRACE_Put, {1, 3, 0, 1, 8, 0});
  first.call(EXANET_TRACE_Win_complete, {1, 0, 0, 0}, 30'000'000);
  second.call(EXANET_TRACE_Win_post, {1, 0, 0, 1, 0}, 20'000'000).call(EXANET_TRACE_Win_wait, {1, 0, 0, 0});
  const Outcome found = with_window({first}, {second});
  CHECK(found.messages == 3);
  CHECK(found.bytes == 40 + 8 + 40);
  CHECK(found.result.ranks[0].calls[EXANET_TRACE_Win_start].time > Time::us(20));
  CHECK(found.result.ranks[1].calls[EXANET_TRACE_Win_wait].time > Time::us(30));
}

TEST_CASE("neighbours send each other what they say, and nobody else") {
  auto s = two();
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    const std::uint64_t other = 3 - rank, size = 100 * (rank + 1), comes = 300 - size;
    s[rank].call(EXANET_TRACE_Neighbor_alltoallv,
                 {EXANET_TRACE_WORLD, 0, 2, 0, other, 2, 8, comes, 2, other, 0, 2, size, 8});
    s[rank].call(EXANET_TRACE_Ineighbor_allgather, {EXANET_TRACE_WORLD, 1, 1, other, 1, comes, 1, other, 1, size});
    s[rank].call(EXANET_TRACE_Wait, {1}).end();
  }
  const Outcome found = replay(s);
  CHECK(found.complaint == "");
  CHECK(found.messages == 4);
  CHECK(found.bytes == 600);
}

TEST_CASE("a receive that is taken back ends, and takes no message") {
  auto s = two();
  s[0].call(EXANET_TRACE_Send, {EXANET_TRACE_WORLD, 3, 6, 8, 0}, 2'000'000).end();
  s[1].message(EXANET_TRACE_Irecv, 0, 8, 1).call(EXANET_TRACE_Cancel, {1}).call(EXANET_TRACE_Wait, {1});
  s[1].message(EXANET_TRACE_Recv, 0, 8).end();
  const Outcome found = replay(s);
  CHECK(found.complaint == "");
  CHECK(found.messages == 1);
  CHECK(found.result.ranks[1].calls[EXANET_TRACE_Wait].time < Time::us(1));
}

TEST_CASE("a collective by another algorithm sends other messages") {
  std::vector<StreamBytes> s;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    s.push_back(StreamBytes(rank, 4).call(EXANET_TRACE_Allreduce, {EXANET_TRACE_WORLD, 0, 0, 3, 8, 8, 0, 0, 0}).end());
  CHECK(replay(s).messages == 4 * 2);
  CHECK(replay(s, 1, {{"allreduce", "ring"}}).messages == 4 * 6);
  CHECK(says(replay(s, 1, {{"allreduce", "rings"}}), "unknown"));
}

namespace {

constexpr NodeId kRing = 4;  // nodes of the torus of replay()

// Programs by hardware broadcasts, each a vector of streams, with `each` ranks on a node from node 0 on.
Outcome by_hardware(const TopologySpec& spec, const std::vector<std::vector<StreamBytes>>& programs,
                    std::uint32_t each = 1, bool flows = false, const NiConfig& interface = testing::odd_costs(),
                    const NetworkConfig& network = testing::steady_fabric()) {
  StreamFiles files;
  ReplayConfig config{{}, flows};
  for (const auto& streams : programs) {
    ReplayProgram& program = config.programs.emplace_back();
    program.collectives = {{"bcast", "hardware"}};
    for (std::uint32_t rank = 0; rank < streams.size(); ++rank) {
      program.streams.push_back(files.add(streams[rank].bytes));
      program.placement.push_back(rank / each);
    }
  }
  Outcome outcome;
  try {
    Replay run(spec, network, interface, config);
    const bool ended = run.run();
    REQUIRE(ended);
    outcome.result = run.result();
    outcome.messages = run.statistics().total.messages;
    outcome.bytes = run.statistics().total.bytes;
  } catch (const ConfigError& error) {
    outcome.complaint = error.what();
  }
  return outcome;
}

StreamBytes& bcast(StreamBytes& stream, std::uint32_t root, std::uint64_t bytes,
                   std::uint64_t comm = EXANET_TRACE_WORLD, std::uint64_t request = 0) {
  return stream.call(request == 0 ? EXANET_TRACE_Bcast : EXANET_TRACE_Ibcast,
                     {comm, root, request, 3, 1, bytes, 0, 0, 0});
}

// Broadcasts from `root` of these bytes one after the other by so many ranks.
std::vector<StreamBytes> broadcasts(std::uint32_t ranks, std::uint32_t root, const std::vector<std::uint64_t>& sizes) {
  std::vector<StreamBytes> streams;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    StreamBytes& stream = streams.emplace_back(rank, ranks);
    for (const std::uint64_t bytes : sizes) bcast(stream, root, bytes);
    stream.end();
  }
  return streams;
}

}  // namespace

TEST_CASE("a broadcast by hardware reaches one rank of each node, and these the others") {
  // None, what goes into mailboxes, just more than that, a packet and one byte more. Of a long one each node but the
  // root's says that it is ready.
  const std::vector<std::uint64_t> sizes{0, 1, 32, 33, 256, 257, 20000};
  for (const TopologySpec& spec : {TopologySpec{"torus", {4}}, TopologySpec{"dragonfly", {1}},
                                   TopologySpec{"qfdb-torus", {2, 1, 1}}, TopologySpec{"fat-tree", {4, 2}}}) {
    const std::uint32_t nodes = make_topology(spec)->endpoint_count();
    for (const std::uint32_t each : {1u, 3u})
      for (const std::uint32_t root : {0u, nodes * each - 2}) {
        INFO(spec.kind << ", " << each << " ranks a node, root " << root);
        const Outcome found = by_hardware(spec, {broadcasts(nodes * each, root, sizes)}, each);
        CHECK(found.complaint == "");
        CHECK(found.messages == 6 * (nodes * each - 1) + 4 * (nodes - 1));
        CHECK(found.bytes == (1 + 32 + 33 + 256 + 257 + 20000) * (nodes * each - 1));
      }
  }
}

TEST_CASE("a broadcast by hardware to ranks of some nodes, of the root's alone, and to nobody") {
  const TopologySpec dragonfly{"dragonfly", {1}};
  std::vector<StreamBytes> streams;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    StreamBytes& stream = streams.emplace_back(rank, 6);
    bcast(stream, 0, 5000, EXANET_TRACE_SELF);
    if (rank % 2 == 1) stream.call(EXANET_TRACE_COMMUNICATOR, {EXANET_TRACE_WORLD, 3, 0, 3, 1, 3, 5, 0});
    if (rank < 2) stream.call(EXANET_TRACE_COMMUNICATOR, {EXANET_TRACE_WORLD, 4, 0, 2, 0, 1, 0});
    if (rank % 2 == 1) bcast(bcast(stream, 1, 5000, 3), 2, 5000, 3);
    if (rank < 2) bcast(stream, 1, 5000, 4);
    stream.end();
  }
  const Outcome apart = by_hardware(dragonfly, {streams});  // nobody says to itself that it is ready
  CHECK(apart.complaint == "");
  CHECK(apart.messages == 2 * 4 + 2);
  CHECK(apart.bytes == 5 * 5000);
  const Outcome pairs =
      by_hardware(dragonfly, {streams}, 2);  // ranks 0 and 1 are on one node: no copies, and nothing asked
  CHECK(pairs.complaint == "");
  CHECK(pairs.messages == 2 * 4 + 1);
  CHECK(pairs.bytes == 5 * 5000);
}

TEST_CASE("broadcasts by hardware beside each other: from all roots at once, and of two programs on the same nodes") {
  for (const TopologySpec& spec : {TopologySpec{"torus", {4}}, TopologySpec{"dragonfly", {1}}}) {
    const std::uint32_t nodes = make_topology(spec)->endpoint_count();
    std::vector<StreamBytes> all;
    for (std::uint32_t rank = 0; rank < nodes; ++rank) {
      StreamBytes& stream = all.emplace_back(rank, nodes);
      for (std::uint32_t root = 0; root < nodes; ++root)
        bcast(stream, root, root % 2 == 0 ? 3000 : 20, EXANET_TRACE_WORLD, root + 1);
      for (std::uint32_t root = nodes; root > 0; --root) stream.call(EXANET_TRACE_Wait, {root});
      stream.end();
    }
    const Outcome one = by_hardware(spec, {all}), two = by_hardware(spec, {all, all});
    CHECK(one.complaint == "");
    CHECK(two.complaint == "");
    CHECK(one.bytes == nodes / 2 * 3020 * (nodes - 1));
    CHECK(two.bytes == 2 * one.bytes);
    CHECK(two.result.finished > one.result.finished);
    CHECK(by_hardware(spec, {all, all}).result.events == two.result.events);
  }
}

TEST_CASE("a broadcast by hardware takes about the time of one message") {
  const TopologySpec dragonfly{"dragonfly", {1}};
  const auto time = [&](std::uint64_t bytes) {
    return by_hardware(dragonfly, {broadcasts(6, 0, {bytes})}).result.finished;
  };
  const Time one = time(100'000), two = time(200'000);
  // A packet of 256 B is 38 words of 64 bits in 6.4 ns each: 32 of payload, header and footer, Magic and Start.
  CHECK(one > Time::us(95));
  CHECK(two - one > Time::us(94));
  CHECK(two - one < Time::us(96));
  const Time million = time(1'000'000);
  CHECK(million > Time::us(950));
  CHECK(million < Time::us(960));
}

TEST_CASE("a broadcast by hardware where packets overtake each other") {
  NetworkConfig overtaking = testing::steady_fabric();
  overtaking.router.virtual_channels = 4;
  overtaking.router.vc_allocation = RouterConfig::VcAllocation::kOccupancy;
  const std::vector<std::uint64_t> sizes{8, 20000, 8, 300, 20000};
  for (const TopologySpec& spec : {TopologySpec{"fat-tree", {4, 2}}, TopologySpec{"dragonfly", {1}}}) {
    const std::uint32_t nodes = make_topology(spec)->endpoint_count();
    const Outcome found =
        by_hardware(spec, {broadcasts(2 * nodes, 1, sizes)}, 2, false, testing::odd_costs(), overtaking);
    CHECK(found.complaint == "");
    CHECK(found.bytes == (2 * 8 + 2 * 20000 + 300) * (2 * nodes - 1));
  }
}

TEST_CASE("a broadcast by hardware is refused where packets are not copied to all") {
  const auto ring = broadcasts(kRing, 0, {8});
  const char* refused = "takes routers that copy packets";
  TopologySpec torus{"torus", {kRing}};
  CHECK(by_hardware(torus, {ring}).complaint == "");
  CHECK(says(by_hardware(torus, {ring}, 1, true), refused));
  torus.disabled = {{1, 0}};
  CHECK(says(by_hardware(torus, {ring}), refused));
  torus.disabled = {};
  torus.failed = {"links:1:1"};
  NetworkConfig one_more = testing::steady_fabric();
  one_more.router.virtual_channels = 3;
  CHECK(says(by_hardware(torus, {ring}, 1, false, testing::odd_costs(), one_more), refused));
  TopologySpec rails{"fat-tree", {4, 2}};
  rails.rails = 2;
  CHECK(says(by_hardware(rails, {ring}), refused));
  CHECK(says(by_hardware({"hyperx", {1, 2, 2}}, {ring}), refused));
  CHECK(says(by_hardware({"fat-tree", {16, 2}}, {ring}), refused));
  NiConfig gateware = testing::odd_costs();
  gateware.packetizer = gateware.mailbox_word = Time();
  gateware.messages = NiConfig::Costs::kGateware;
  CHECK(says(by_hardware({"torus", {kRing}}, {ring}, 1, false, gateware), refused));
  NetworkConfig switches = testing::steady_fabric();
  switches.input_queued.emplace();
  CHECK(says(by_hardware({"dragonfly", {1}}, {ring}, 1, false, testing::odd_costs(), switches), refused));
}

TEST_CASE("what cannot be replayed is reported") {
  auto s = two();
  s[0].call(EXANET_TRACE_Wait, {1}).end(), s[1].end();
  CHECK(says(replay(s), "MPI_Wait of request 1, which no call has begun"));
  s = two();
  s[0].end();
  CHECK(says(replay(s), "the stream ends before the program does"));
  s = two();
  s[0].call(EXANET_TRACE_UNRECORDED, {'M', 'P', 'I', '_', 'P', 'u', 't'}).end(), s[1].end();
  CHECK(says(replay(s), "MPI_Put, which is not recorded"));
  for (const std::uint8_t code : {EXANET_TRACE_Alltoallv, EXANET_TRACE_Reduce_scatter, EXANET_TRACE_Scatterv}) {
    s = two();
    for (auto& stream : s) {
      if (code == EXANET_TRACE_Alltoallv)
        stream.call(code, {EXANET_TRACE_WORLD, 0, 0, 3, 1, 0, 0, 2, 8, 8, 0}).end();
      else
        stream.call(code, {EXANET_TRACE_WORLD, 0, 0, 3, 8, 64, 64, 0, 0}).end();
    }
    CHECK(says(replay(s), "a collective lacks its sizes by rank"));
  }
  s = two();
  s[0].message(EXANET_TRACE_Send_init, 1, 8, 0).end(), s[1].end();
  CHECK(says(replay(s), "a persistent request has no number"));
  CHECK(says(replay({StreamBytes(1, 2).end(), StreamBytes(0, 2).end()}), "in the place of rank 0"));
  s = two();
  s[0].call(EXANET_TRACE_Bcast, {9, 0, 0, 0, 1, 8, 0, 0, 0}).end(), s[1].end();
  CHECK(says(replay(s), "communicator 9 has not been made"));
  s = two();
  s[0].call(EXANET_TRACE_Put, {1, 3, 0, 1, 8, 0}).end(), s[1].end();
  CHECK(says(replay(s), "window 1 has not been made"));
  s = two();
  for (auto& stream : s) stream.call(EXANET_TRACE_Win_create, {EXANET_TRACE_WORLD, 1, 8});
  s[0].call(EXANET_TRACE_Win_lock, {1, 1, 0, 0}).end(), s[1].end();
  CHECK(says(replay(s), "a lock or flush names MPI_ANY_SOURCE"));
}

namespace {

// Pairs of ranks that send to and fro, each on two nodes of a torus of eight; and a job, if there is one.
ReplayResult together(const std::vector<std::pair<NodeId, Time>>& pairs, const JobConfig* job = nullptr) {
  StreamFiles files;
  ReplayConfig config;
  auto s = two();
  for (int i = 0; i < 4; ++i) {
    s[0].message(EXANET_TRACE_Ssend, 1, 4096)
        .message(EXANET_TRACE_Recv, 1, 8)
        .call(EXANET_TRACE_Bcast, {EXANET_TRACE_WORLD, 1, 0, 3, 1, 8, 0, 0, 0});
    s[1].message(EXANET_TRACE_Recv, 0, 4096)
        .message(EXANET_TRACE_Send, 0, 8)
        .call(EXANET_TRACE_Bcast, {EXANET_TRACE_WORLD, 1, 0, 3, 1, 8, 0, 0, 0});
  }
  files.add(s[0].end().bytes), files.add(s[1].end().bytes);
  for (const auto& [node, start] : pairs)
    config.programs.push_back({"pair", files.paths, {node, node + 1}, 1, start, {}});
  if (job != nullptr) config.programs.push_back({"job", {}, {4, 5, 6, 7}, 1, Time(), *job});
  Replay run({"torus", {8}}, testing::steady_fabric(), testing::odd_costs(), config);
  CHECK(run.run());
  return run.result();
}

JobConfig job_of(const char* program) {
  JobConfig job;
  job.program.name = program;
  job.program.bytes = 20000;
  job.rounds = 3;
  return job;
}

}  // namespace

TEST_CASE("programs far from each other take as long as alone, each from its start") {
  const Time alone = together({{0, Time()}}).finished;
  const ReplayResult both = together({{0, Time()}, {2, Time::us(700)}});
  CHECK(both.ranks.size() == 4);
  CHECK(max(both.ranks[0].clock, both.ranks[1].clock) == alone);
  CHECK(both.finished == alone + Time::us(700));
  CHECK(together({{3, Time::us(700)}}).ranks[0].calls[EXANET_TRACE_Ssend].time ==
        together({{0, Time()}}).ranks[0].calls[EXANET_TRACE_Ssend].time);
}

TEST_CASE("programs on the same nodes slow each other, and so does a job; the same twice") {
  const Time alone = together({{4, Time()}}).finished;
  const Time shared = together({{4, Time()}, {4, Time()}}).finished;
  CHECK(shared > alone);
  const JobConfig job = job_of("alltoall");
  const ReplayResult with_job = together({{4, Time()}}, &job);
  CHECK(with_job.ranks.size() == 6);
  CHECK(with_job.ranks[0].clock > alone);
  CHECK(with_job.ranks[5].clock > Time::us(1));
  CHECK(with_job.events == together({{4, Time()}}, &job).events);
}

TEST_CASE("what no rank answers is no job beside a trace") {
  const JobConfig job = job_of("request-reply");
  CHECK_THROWS_WITH_AS(together({{0, Time()}}, &job), doctest::Contains("interfaces answer requests"), ConfigError);
}

namespace {

ReplayProgram calling(const std::string& collective, const std::string& algorithm, std::uint64_t bytes,
                      const std::vector<NodeId>& nodes) {
  ReplayProgram program;
  program.name = collective;
  program.placement = nodes;
  program.job.program.name = collective;
  program.job.program.bytes = bytes;
  program.job.rounds = 2;
  program.collectives = {{collective, algorithm}};
  return program;
}

ReplayResult run_all(const std::vector<ReplayProgram>& programs) {
  Replay run({"torus", {8}}, testing::steady_fabric(), testing::odd_costs(), {programs});
  CHECK(run.run());
  return run.result();
}

}  // namespace

TEST_CASE("computing that virtual time does not hold is refused, alone and added up, and what it just holds is not") {
  auto s = two();
  s[0].message(EXANET_TRACE_Send, 1, 8).end(1'000'000'000'000'000'000);
  s[1].message(EXANET_TRACE_Recv, 0, 8).end();
  CHECK(replay(s, 4).complaint.empty());
  CHECK(says(replay(s, 5), "computed for more than 53 days"));
  CHECK(says(replay(s, 1e6), "computed for more than 53 days"));
  auto often = two();
  for (int i = 0; i < 5; ++i) {
    often[0].call(EXANET_TRACE_Send, {EXANET_TRACE_WORLD, 1 + 2, 0 + 1, 8, 0}, 1'000'000'000'000'000'000);
    often[1].message(EXANET_TRACE_Recv, 0, 8);
  }
  for (StreamBytes& stream : often) stream.end();
  CHECK(says(replay(often), "computed for more than 53 days"));
}

TEST_CASE("a job that calls a collective takes what a trace of the same calls takes, by each algorithm") {
  StreamFiles files;
  for (const std::uint64_t bytes : {24u, 5000u}) {
    std::vector<Time> took;
    for (const char* algorithm : {"binomial", "LLF", "hardware", "scatter-ring"}) {
      ReplayProgram trace = calling("bcast", algorithm, bytes, {0, 1, 2, 3});
      const ReplayResult job = run_all({trace});
      for (const StreamBytes& stream : broadcasts(4, 0, {bytes, bytes}))
        trace.streams.push_back(files.add(stream.bytes));
      const ReplayResult recorded = run_all({trace});
      CHECK(job.finished == recorded.finished);
      CHECK(job.calls == 8);
      for (std::size_t rank = 0; rank < 4; ++rank)
        CHECK(job.ranks[rank].calls[EXANET_TRACE_Bcast].time == recorded.ranks[rank].calls[EXANET_TRACE_Bcast].time);
      took.push_back(job.finished);
    }
    CHECK(took[0] > took[2]);
  }
}

TEST_CASE("jobs call every collective by every algorithm, each job by its own") {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.by == CarriedOutBy::units) continue;
    CAPTURE(algorithm.collective);
    CAPTURE(algorithm.name);
    for (const std::uint64_t bytes : {0u, 12u, 10000u})
      for (const std::vector<NodeId>& nodes :
           {std::vector<NodeId>{0, 1, 2, 3, 4, 5}, {7, 6, 5, 4, 3, 2, 1, 0}, {3, 3}}) {
        ReplayProgram program = calling(algorithm.collective, algorithm.name, bytes, nodes);
        const ReplayResult alone = run_all({program});
        CHECK(alone.calls == 2 * nodes.size());
        CHECK((alone.finished > Time() || bytes == 0 || nodes.size() == 2));
      }
  }
  const ReplayProgram tree = calling("bcast", "binomial", 5000, {0, 1, 2, 3});
  const ReplayProgram chain = calling("bcast", "chain", 5000, {4, 5, 6, 7});
  const ReplayResult both = run_all({tree, chain});
  CHECK(both.ranks[3].clock == run_all({tree}).ranks[3].clock);
  CHECK(both.ranks[7].clock == run_all({chain}).ranks[3].clock);
  CHECK(both.ranks[3].clock != both.ranks[7].clock);
}

TEST_CASE("what a job cannot call") {
  const auto refused = [](const ReplayProgram& program, const char* why) {
    CHECK_THROWS_WITH_AS(run_all({program}), doctest::Contains(why), ConfigError);
  };
  refused(calling("bcast", "magic", 8, {0, 1}), "bcast by \"magic\" is unknown");
  refused(calling("allreduce", "accelerator", 8, {0, 1}), "takes interfaces with a unit that reduces");
  ReplayProgram none = calling("bcast", "LLF", 8, {0, 1});
  none.job.program.name = "sing";
  refused(none, "there is no program");
}

namespace {

FaultSchedule dying(const char* host, Time at) {
  FaultSchedule faults;
  faults.events = {{host, at, false, FaultKind::kHost}};
  return faults;
}

NetworkConfig failing_fabric() {
  NetworkConfig fabric = testing::steady_fabric();
  fabric.router.virtual_channels = 4;
  return fabric;
}

}  // namespace

TEST_CASE("a rank whose host dies ends there, and the others go on without it") {
  auto s = two();
  for (StreamBytes& stream : s) stream.end(static_cast<std::uint64_t>(Time::us(100).ps()));
  for (const Time at : {Time::us(10), Time::us(40), Time()}) {
    const Outcome found = replay(s, 1, {}, failing_fabric(), dying("(1)", at));
    CHECK(found.complaint == "");
    REQUIRE(found.result.deaths.size() == 1);
    CHECK((found.result.deaths[0].rank == 1 && found.result.deaths[0].node == 1 && found.result.deaths[0].at == at));
    CHECK(found.result.ranks[1].clock == at);
    CHECK(found.result.ranks[1].compute == at);
    CHECK(found.result.ranks[0].clock == Time::us(100));
    CHECK(found.result.finished == Time::us(100));
  }
  const Outcome late = replay(s, 1, {}, failing_fabric(), dying("(1)", Time::us(101)));
  CHECK(late.result.deaths.empty());
  CHECK(late.result.ranks[1].clock == Time::us(100));
}

TEST_CASE("a rank that waits for one whose host has died is named, with both times") {
  auto s = two();
  s[0].message(EXANET_TRACE_Recv, 1, 64).end();
  s[1].call(EXANET_TRACE_Send, {EXANET_TRACE_WORLD, 2, 6, 64, 0}, static_cast<std::uint64_t>(Time::us(30).ps())).end();
  const Outcome found = replay(s, 1, {}, failing_fabric(), dying("(1)", Time::us(20)));
  CHECK(says(found, "the replay ends at 1020.000 us, on node 0, rank 0"));
  CHECK(says(found, "receive from rank 1, 64 bytes, failed"));
  CHECK(says(found, "the host of rank 1, node 1, died at 20.000 us"));
  s = two();
  s[0].message(EXANET_TRACE_Recv, 1, 0).end();  // of no known size
  s[1].end(static_cast<std::uint64_t>(Time::us(30).ps()));
  CHECK(says(replay(s, 1, {}, failing_fabric(), dying("(1)", Time::us(20))), "receive from rank 1 failed"));
}
