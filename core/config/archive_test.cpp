// SPDX-License-Identifier: Apache-2.0
#include "core/config/archive.hpp"

#include <doctest/doctest.h>

#include "core/nic/config.hpp"
#include "core/protocol/statistics.hpp"
#include "core/topology/topology.hpp"

using namespace exanet;

namespace {

template <typename T>
std::vector<std::byte> written(T& value) {
  ArchiveWriter archive;
  archive.write(value);
  return archive.bytes();
}

// What is read is written as the same bytes again.
template <typename T>
T reread(T& value, T into = {}) {
  const std::vector<std::byte> bytes = written(value);
  ArchiveReader(bytes.data(), bytes.size()).read(into);
  CHECK(written(into) == bytes);
  return into;
}

}  // namespace

TEST_CASE("archive: a topology with lists in lists comes back") {
  TopologySpec spec{"graph", {2, 3, 5}, {1, 0}};
  spec.routing = "adaptive";
  spec.failed = {"", "node-7 1", "links:2:1"};
  spec.graph.names = {"a", "b"};
  spec.graph.hosts = {1};
  spec.rails = 3;
  const TopologySpec back = reread(spec);
  CHECK(back.kind == "graph");
  CHECK(back.shape == spec.shape);
  CHECK(back.failed == spec.failed);
  CHECK(back.graph.names == spec.graph.names);
  CHECK(back.rails == 3);
}

TEST_CASE("archive: constants of an interface come back, enumerations and times among them") {
  NiConfig ni;
  ni.library_send = Time::ps(123'457);
  ni.messages = NiConfig::Costs::kGateware;
  ni.eager_max_bytes = 77;
  const NiConfig back = reread(ni);
  CHECK(back.library_send == Time::ps(123'457));
  CHECK(back.messages == NiConfig::Costs::kGateware);
  CHECK(back.eager_max_bytes == 77);
}

TEST_CASE("archive: statistics come back with all that is private to them") {
  Statistics statistics(3);
  statistics.add({0, 2, 100, 7, Protocol::eager, Time::ns(3), Time::ns(2003)});
  statistics.add({1, 2, 1 << 20, 8, Protocol::rendezvous, Time::us(1), Time::us(900)});
  statistics.timeline.add_wait(1, Time::us(2), Time::us(5));
  statistics.packet_latency.add(777);
  const Statistics back = reread(statistics, Statistics(0));
  CHECK(back.messages.size() == 2);
  CHECK(back.messages[1].delivered == Time::us(900));
  CHECK(back.timeline.waits_ps() == statistics.timeline.waits_ps());
  CHECK(back.timeline.bins_used() == statistics.timeline.bins_used());
  CHECK(back.packet_latency.quantile(0.5) == statistics.packet_latency.quantile(0.5));
  CHECK(back.sent[1].size() == 1);
}

TEST_CASE("archive: every shorter one is refused") {
  TopologySpec spec{"mesh", {4, 4}, {}};
  spec.failed = {"node-1"};
  std::vector<std::byte> bytes = written(spec);
  while (!bytes.empty()) {
    bytes.pop_back();
    TopologySpec into;
    CHECK_THROWS_AS(ArchiveReader(bytes.data(), bytes.size()).read(into), std::length_error);
  }
}

TEST_CASE("archive: a list that says it is longer than the archive takes no memory") {
  const std::uint64_t huge = ~std::uint64_t{0} / 8;
  std::vector<std::byte> bytes(sizeof huge);
  std::memcpy(bytes.data(), &huge, sizeof huge);
  std::vector<std::uint64_t> into;
  CHECK_THROWS_AS(ArchiveReader(bytes.data(), bytes.size()).read(into), std::length_error);
}
