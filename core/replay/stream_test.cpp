// SPDX-License-Identifier: Apache-2.0
// Is a stream read as it was written, and one that is cut, damaged or of another version reported?
#include "core/replay/stream.hpp"

#include <doctest/doctest.h>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/replay/stream_harness.hpp"

using namespace exanet;
using testing::StreamBytes;
using testing::StreamFiles;

namespace {

StreamBytes several_calls() {
  StreamBytes s(1, 4);
  s.call(EXANET_TRACE_Isend, {EXANET_TRACE_WORLD, 2, 8, 300, 1}, 1234);
  s.call(EXANET_TRACE_Irecv, {EXANET_TRACE_WORLD, 1, 0, 1 << 20, 2});
  s.call(EXANET_TRACE_Waitall, {1, 2});
  s.call(EXANET_TRACE_Comm_split, {EXANET_TRACE_WORLD, 3, 0, 2, 1, 3, 0});
  s.call(EXANET_TRACE_Alltoallv, {3, 0, 0, 0, 8, 0, 0, 2, 16, 24, 2, 8, 0});
  s.call(EXANET_TRACE_Ineighbor_alltoallv, {3, 4, 2, 0, 3, 2, 0, 16, 1, 5, 1, 24});
  s.call(EXANET_TRACE_Win_create, {3, 1, 4096});
  s.call(EXANET_TRACE_Rget_accumulate, {1, 3, 5, 1, 64, 32});
  s.call(EXANET_TRACE_Win_post, {1, 0, 2, 2, 0, 1});
  s.call(EXANET_TRACE_UNRECORDED, {'M', 'P', 'I', '_', 'P', 'u', 't'});
  return s.end(77);
}

// Records read, or the complaint.
std::string outcome(const std::vector<std::uint8_t>& bytes) {
  StreamFiles files;
  try {
    TraceStream stream(files.add(bytes));
    TraceRecord record;
    while (stream.next(record)) continue;
    return std::to_string(stream.records()) + (stream.complete() ? " whole" : " cut");
  } catch (const ConfigError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a stream is read as it was written") {
  StreamFiles files;
  TraceStream stream(files.add(several_calls().bytes));
  CHECK(stream.header().rank == 1);
  TraceRecord r;
  REQUIRE(stream.next(r));
  CHECK(std::string(trace_call_name(r.code)) == "Isend");
  CHECK(r.compute == Time::ps(1234));
  CHECK(r.message.peer == 0);
  CHECK(r.message.tag == 7);
  CHECK(r.message.bytes == 300);
  REQUIRE(stream.next(r));
  CHECK(r.message.peer == kAnyPeer);
  CHECK(r.message.any_tag);
  CHECK(r.message.bytes == 1 << 20);
  REQUIRE(stream.next(r));
  CHECK(r.first == std::vector<std::uint64_t>{1, 2});
  REQUIRE(stream.next(r));
  CHECK(r.made == 3);
  CHECK(r.first == std::vector<std::uint64_t>{1, 3});
  REQUIRE(stream.next(r));
  CHECK(r.first == std::vector<std::uint64_t>{16, 24});
  CHECK(r.second == std::vector<std::uint64_t>{8, 0});
  REQUIRE(stream.next(r));
  CHECK(r.request == 4);
  CHECK(r.sources == std::vector<std::uint32_t>{kNoPeer, 1});
  CHECK(r.first == std::vector<std::uint64_t>{0, 16});
  CHECK(r.destinations == std::vector<std::uint32_t>{3});
  CHECK(r.second == std::vector<std::uint64_t>{24});
  REQUIRE(stream.next(r));
  CHECK(r.comm == 3);
  CHECK(r.window == 1);
  REQUIRE(stream.next(r));
  CHECK(r.message.peer == 1);
  CHECK(r.request == 5);
  CHECK(r.send_bytes == 64);
  CHECK(r.receive_bytes == 32);
  REQUIRE(stream.next(r));
  CHECK(r.flags == EXANET_TRACE_UNCHECKED);
  CHECK(r.first == std::vector<std::uint64_t>{0, 1});
  REQUIRE(stream.next(r));
  CHECK(r.name == "MPI_Put");
  CHECK(!stream.complete());
  REQUIRE(stream.next(r));
  CHECK(stream.complete());
  CHECK(!stream.next(r));
}

TEST_CASE("of a stream that is cut anywhere what is whole is read") {
  const std::vector<std::uint8_t> whole = several_calls().bytes;
  CHECK(outcome(whole) == "11 whole");
  std::size_t before = 0;
  for (std::size_t length = sizeof(exanet_trace_header); length < whole.size(); ++length) {
    const std::string found = outcome({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    CHECK(found.ends_with(" cut"));
    const std::size_t records = std::stoul(found);
    CHECK(records >= before);
    before = records;
  }
  CHECK(before == 10);
  auto padded = whole;
  padded.resize(whole.size() - 3);
  padded.resize(1 << 16);  // as a killed rank leaves it: what was taken and not written is zero
  CHECK(outcome({whole.begin(), whole.begin() + 40}).find("cut") != std::string::npos);
}

TEST_CASE("what is no stream, or one of another version, is reported") {
  CHECK(outcome({'a', 'b'}).find("too short") != std::string::npos);
  CHECK(outcome(std::vector<std::uint8_t>(64, 'x')).find("no recorded rank's stream") != std::string::npos);
  CHECK(outcome(StreamBytes(0, 1, 4).end().bytes).find("version 4, and this exanet reads versions 1 to 3") !=
        std::string::npos);
  CHECK(outcome(StreamBytes(0, 1, 1).end().bytes) == "1 whole");
  CHECK(outcome(StreamBytes(3, 3).end().bytes).find("header is damaged") != std::string::npos);
}

TEST_CASE("damaged records are reported with their place") {
  CHECK(outcome(StreamBytes(0, 2).call(200, {}).bytes).find("unknown code 200") != std::string::npos);
  CHECK(outcome(StreamBytes(0, 2).message(EXANET_TRACE_Send, 2, 8).bytes).find("call 1 (before byte") !=
        std::string::npos);
  // Ranks and tags as people know them, not as a record has them.
  CHECK(outcome(StreamBytes(0, 2).message(EXANET_TRACE_Send, 4, 8).bytes).find("a peer is 4, and the largest is 1:") !=
        std::string::npos);
  CHECK(outcome(StreamBytes(0, 2).message(EXANET_TRACE_Send, 1, 8, 0, std::uint64_t{1} << 31).bytes)
            .find("a tag is 2147483648, and the largest is 2147483647:") != std::string::npos);
  CHECK(outcome(StreamBytes(0, 2).message(EXANET_TRACE_Send, 1, std::uint64_t{1} << 47).bytes)
            .find("a size is 140737488355328, and the largest is 140737488355327:") != std::string::npos);
  CHECK(outcome(StreamBytes(0, 2).call(EXANET_TRACE_Send, {1}).bytes).find("it ends within a field") !=
        std::string::npos);
  CHECK(outcome(StreamBytes(0, 2).call(EXANET_TRACE_Neighbor_alltoall, {1, 0, 1, 3, 2, 8, 8, 0, 0}).bytes)
            .find("not one size for each neighbour") != std::string::npos);
  CHECK(outcome(StreamBytes(0, 2).call(EXANET_TRACE_Finalize, {1}).bytes).find("more fields") != std::string::npos);
}

TEST_CASE("a stream with wrong bytes is read or refused, never anything else") {
  const std::vector<std::uint8_t> whole = several_calls().bytes;
  Random random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> bytes = whole;
    for (std::uint32_t changes = 1 + random.below(4); changes > 0; --changes)
      bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::uint8_t>(random.below(256));
    if (random.below(4) == 0) bytes.resize(random.below(static_cast<std::uint32_t>(bytes.size())));
    const std::string found = outcome(bytes);
    refused += !found.ends_with(" whole") && !found.ends_with(" cut");
  }
  CHECK(refused > 300);
  CHECK(refused < 3000);
}
