// SPDX-License-Identifier: Apache-2.0
// A run that another process simulates, seen from who waits for it: that process as it should be, refusing, failing,
// and gone.
#include "runtime/coordinator/remote_run.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "core/config/archive.hpp"
#include "runtime/coordinator/forked_ranks.hpp"

using namespace exanet;

namespace {

struct Run {
  Region region{2};
  Control control{region};
  Order order{testing::small_machine(), {3, 1}, {0.5, "chain"}};
  RemoteRun remote_run{region, order};
  RunRecord record{2};

  void is(std::uint32_t where) {
    __atomic_store_n(&region->where, where, __ATOMIC_RELEASE);
    futex_wake(&region->where);
  }
  std::vector<std::byte> in_file() const {
    std::vector<std::byte> bytes(1 << 20);
    const int fd = ::open(remote_run.path().c_str(), O_RDONLY);
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    ::close(fd);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }
  void put(const std::vector<std::byte>& bytes) const {
    const int fd = ::open(remote_run.path().c_str(), O_WRONLY | O_TRUNC);
    CHECK(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    ::close(fd);
  }
};

}  // namespace

TEST_CASE("remote_run: the order is in the file, and the record is taken from it") {
  Run run;
  const std::vector<std::byte> bytes = run.in_file();
  Order order;
  ArchiveReader(bytes.data(), bytes.size()).read(order);
  CHECK(order.placement == std::vector<NodeId>{3, 1});
  CHECK(order.options.compute_factor == 0.5);
  CHECK(order.options.bcast == "chain");
  CHECK(order.machine.fabric.links.size() == 2);
  CHECK(order.machine.ni.mailbox == Time::ns(53));
  std::thread other([&run] {
    RunRecord record(2);
    record.events = 4711;
    record.clocks = {Time::us(1), Time::us(2)};
    ArchiveWriter archive;
    archive.write(record);
    run.put(archive.bytes());
    run.is(EXN_HOSTED);
    run.is(EXN_ENDED_THERE);
  });
  CHECK(run.remote_run.wait(run.record));
  other.join();
  CHECK(run.record.events == 4711);
  CHECK(run.record.clocks[1] == Time::us(2));
  CHECK(run.control.reason() == "");
}

TEST_CASE("remote_run: who cannot leaves it") {
  Run run;
  run.is(EXN_APART);
  CHECK_FALSE(run.remote_run.wait(run.record));
}

TEST_CASE(
    "remote_run: a process that has ended before it took the run leaves it, and one that has ended after that ends "
    "it") {
  Run before;
  before.remote_run.left_alone();
  CHECK_FALSE(before.remote_run.wait(before.record));
  Run after;
  after.is(EXN_HOSTED);
  after.remote_run.left_alone();
  CHECK(after.remote_run.wait(after.record));
  CHECK(after.control.reason().find("ended before its time") != std::string::npos);
  CHECK(after.record.events == 0);
}

TEST_CASE("remote_run: half a record, or none, ends the run with a reason") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}}) {
    Run run;
    ArchiveWriter archive;
    RunRecord record(2);
    archive.write(record);
    run.put({archive.bytes().begin(), archive.bytes().begin() + static_cast<std::ptrdiff_t>(bytes)});
    run.is(EXN_ENDED_THERE);
    CHECK(run.remote_run.wait(run.record));
    CHECK(run.control.reason() == "the simulator failed in the host of packed ranks");
  }
}

TEST_CASE("remote_run: a region of another version is refused") {
  Run run;
  run.region->version = EXN_VERSION + 1;
  CHECK_THROWS_AS(Region(run.region.path()), std::invalid_argument);
}
