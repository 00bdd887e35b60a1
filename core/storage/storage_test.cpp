// SPDX-License-Identifier: Apache-2.0
// Do calls on files go to the devices and servers that they should, and are they over when the last piece is?
#include "core/storage/storage.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/config/error.hpp"

namespace exanet {
namespace {

constexpr std::uint32_t kNodes = 8;
constexpr Time kHop = Time::us(3);  // of whatever is sent

StorageConfig local() {
  StorageConfig c;
  c.name = "nvme";
  c.read_latency = Time::us(70);
  c.write_latency = Time::us(20);
  c.read_rate_bit_per_s = c.write_rate_bit_per_s = 8'000'000'000;  // a byte a nanosecond
  c.queue_depth = 4;
  return c;
}

StorageConfig servers() {
  StorageConfig c = local();
  c.name = "central";
  c.kind = StorageKind::kServers;
  c.servers = {4, 5};
  c.chunk_bytes = 1000;
  c.message_bytes = 10;
  return c;
}

// In front of servers().
StorageConfig cache(std::uint64_t prefetch = 0) {
  StorageConfig c = local();
  c.name = "near";
  c.kind = StorageKind::kCache;
  c.behind = "central";
  c.prefetch_bytes = prefetch;
  return c;
}

StorageCall reads(std::uint64_t offset, std::uint64_t bytes, NodeId node = 0) {
  return {0, node, StorageAction::kRead, 7, offset, bytes, 4000};
}

struct Sent {
  NodeId from, to;
  std::uint64_t bytes;
};

struct StorageRig final : StorageNetwork {
  explicit StorageRig(const std::vector<StorageConfig>& configs)
      : storages(events, *this, configs, kNodes,
                 [this](std::uint32_t caller, Status status, Time now) { over.push_back({caller, status, now}); }) {
    on_arrival = events.add_handler(
        [](void* self, Time now, std::uint32_t number, std::uint64_t) {
          auto* rig = static_cast<StorageRig*>(self);
          rig->storages.arrived(number, rig->status, now);
        },
        this);
  }
  void send(NodeId from, NodeId to, std::uint64_t bytes, std::uint32_t number) override {
    sent.push_back({from, to, bytes});
    events.schedule(events.now() + kHop, on_arrival, number);
  }
  struct Over {
    std::uint32_t caller;
    Status status;
    Time at;
  };
  EventQueue events;
  Status status = Status::kOk;
  std::vector<Sent> sent;
  std::vector<Over> over;
  Storages storages;
  std::uint32_t on_arrival = 0;
};

std::string refused(const StorageConfig& config) {
  try {
    StorageRig rig({config});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("operations on names take the metadata latency where their folder is, some at once") {
  StorageConfig here = local(), there = servers();
  here.metadata_latency = there.metadata_latency = Time::us(50);
  there.metadata_servers = {6, 7};
  there.metadata_queue_depth = 1;
  StorageRig rig({here, there, cache()});
  rig.storages.begin(0, {0, 3, StorageAction::kMetadata, 1}, Time::us(1));
  rig.storages.begin(1, {1, 0, StorageAction::kMetadata, 2}, Time::us(1));  // on node 6
  rig.storages.begin(2, {2, 1, StorageAction::kMetadata, 4}, Time::us(2));  // there, too, behind the first
  rig.storages.begin(3, {2, 7, StorageAction::kMetadata, 3}, Time::us(1));  // on its own node
  rig.events.run_until(Time::never());
  REQUIRE(rig.over.size() == 4);
  const std::vector<Time> at = {Time::us(51), Time::us(51), Time::us(57), Time::us(107)};
  const std::vector<std::uint32_t> callers = {0, 3, 1, 2};
  for (std::size_t i = 0; i < at.size(); ++i) {
    CHECK(rig.over[i].at == at[i]);
    CHECK(rig.over[i].caller == callers[i]);
  }
  REQUIRE(rig.sent.size() == 4);
  for (const Sent& each : rig.sent) CHECK(each.bytes == 10);
}

TEST_CASE("without a metadata latency operations on names are over at once") {
  StorageRig rig({servers(), cache()});
  rig.storages.begin(0, {0, 3, StorageAction::kMetadata, 1}, Time::us(1));
  rig.storages.begin(1, {1, 3, StorageAction::kMetadata, 1}, Time::us(1));
  rig.events.run_until(Time::never());
  REQUIRE(rig.over.size() == 2);
  CHECK(rig.over[1].at == Time::us(1));
  CHECK(rig.sent.empty());
}

TEST_CASE("keys of metadata that nothing comes of are refused") {
  StorageConfig c = cache();
  c.metadata_latency = Time::us(50);
  try {
    StorageRig rig({servers(), c});
    CHECK(false);
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("those of the servers behind a cache") != std::string::npos);
  }
  c = servers();
  c.metadata_servers = {6};
  CHECK(refused(c).find("how long an operation on a name takes") != std::string::npos);
  c.metadata_latency = Time::us(50);
  c.metadata_servers = {8};
  CHECK(refused(c).find("node 8 is none of the machine's 8") != std::string::npos);
  c = local();
  c.metadata_latency = Time::us(50);
  c.metadata_servers = {3};
  CHECK(refused(c).find("has no servers") != std::string::npos);
}

TEST_CASE("a local storage is the device of the caller's node, and sends nothing") {
  StorageRig rig({local()});
  rig.storages.begin(0, {0, 3, StorageAction::kWrite, 1, 0, 5000}, Time::us(1));
  rig.storages.begin(1, {0, 2, StorageAction::kRead, 1, 0, 5000}, Time::us(1));
  rig.storages.begin(2, {0, 1, StorageAction::kSync, 1, 0, 0}, Time::us(1));
  rig.events.run_until(Time::never());
  REQUIRE(rig.over.size() == 3);
  CHECK(rig.over[0].caller == 2);
  CHECK(rig.over[0].at == Time::us(21));
  CHECK(rig.over[1].caller == 0);
  CHECK(rig.over[1].at == Time::us(26));
  CHECK(rig.over[2].at == Time::us(76));
  CHECK(rig.sent.empty());
}

TEST_CASE("a file lies in chunks on servers in turn, and its number says which is the first") {
  for (const std::uint64_t file : {0, 1}) {
    StorageRig rig({servers()});
    rig.storages.begin(0, {0, 0, StorageAction::kWrite, file, 500, 2000}, Time());
    rig.events.run_until(Time::never());
    REQUIRE(rig.over.size() == 1);
    REQUIRE(rig.sent.size() == 6);  // pieces of 500, 1000 and 500 bytes, and three answers
    const NodeId first = file == 0 ? 4 : 5, second = 9 - first;
    CHECK(rig.sent[0].to == first);
    CHECK(rig.sent[0].bytes == 510);
    CHECK(rig.sent[1].to == second);
    CHECK(rig.sent[1].bytes == 1010);
    CHECK(rig.sent[2].to == first);
    CHECK(rig.sent[3].to == 0);
    CHECK(rig.sent[3].bytes == 10);
    CHECK(rig.over[0].at == kHop + Time::us(20) + Time::ns(1000) + kHop);
  }
}

TEST_CASE("a read asks with a short message, and the data come back") {
  StorageRig rig({servers()});
  rig.storages.begin(0, {0, 1, StorageAction::kRead, 0, 1000, 700}, Time());
  rig.events.run_until(Time::never());
  REQUIRE(rig.sent.size() == 2);
  CHECK(rig.sent[0].bytes == 10);
  CHECK(rig.sent[0].to == 5);
  CHECK(rig.sent[1].from == 5);
  CHECK(rig.sent[1].bytes == 710);
  CHECK(rig.over[0].at == kHop + Time::us(70) + Time::ns(700) + kHop);
}

TEST_CASE("a node that is a server reaches its own device without the network") {
  StorageRig rig({servers()});
  rig.storages.begin(0, {0, 4, StorageAction::kRead, 0, 0, 1000}, Time());
  rig.events.run_until(Time::never());
  CHECK(rig.sent.empty());
  CHECK(rig.over[0].at == Time::us(71));
}

TEST_CASE("what the network loses ends the call, once, with its status") {
  StorageRig rig({servers()});
  rig.status = Status::kLost;
  rig.storages.begin(0, {0, 0, StorageAction::kWrite, 0, 0, 3000}, Time());
  rig.events.run_until(Time::never());
  REQUIRE(rig.over.size() == 1);
  CHECK(rig.over[0].status == Status::kLost);
}

TEST_CASE("a cache takes what is written at its device, and syncs send it to the servers once") {
  StorageRig rig({cache(), servers()});
  rig.storages.begin(0, {0, 0, StorageAction::kWrite, 7, 500, 1000}, Time());
  rig.events.run_until(Time::never());
  CHECK(rig.sent.empty());
  REQUIRE(rig.over.size() == 1);
  CHECK(rig.over[0].at == Time::us(21));

  const Time begun = Time::us(100);
  rig.storages.begin(0, {0, 0, StorageAction::kSync, 7, 0, 0}, begun);
  rig.events.run_until(Time::never());
  REQUIRE(rig.over.size() == 2);
  REQUIRE(rig.sent.size() == 4);  // a piece of 500 bytes to each server, and two answers
  CHECK(rig.sent[0].bytes == 510);
  CHECK(rig.sent[0].to + rig.sent[1].to == 9);
  const Time read = Time::us(70) + Time::ns(500) * 2;  // of the device, one behind the other
  CHECK(rig.over[1].at == begun + read + kHop + Time::us(20) + Time::ns(500) + kHop);

  rig.storages.begin(0, {0, 0, StorageAction::kSync, 7, 0, 0}, Time::us(1000));
  rig.events.run_until(Time::never());
  CHECK(rig.over[2].at == Time::us(1000));
  CHECK(rig.sent.size() == 4);
}

TEST_CASE("a cache fetches what its node does not have, and keeps it and what was written") {
  StorageRig rig({cache(), servers()});
  rig.storages.begin(0, {0, 0, StorageAction::kWrite, 7, 0, 400}, Time());
  rig.storages.begin(1, reads(0, 1000), Time::us(100));
  rig.storages.begin(2, reads(0, 1000, 2), Time::us(100));  // another node has nothing of it
  rig.events.run_until(Time::never());
  REQUIRE(rig.over.size() == 3);
  REQUIRE(rig.sent.size() == 4);
  CHECK(rig.sent[2].bytes + rig.sent[3].bytes == 10 + 600 + 10 + 1000);
  rig.storages.begin(1, reads(0, 1000), Time::us(1000));
  rig.events.run_until(Time::never());
  CHECK(rig.over[3].at == Time::us(1071));
  CHECK(rig.sent.size() == 4);
}

TEST_CASE("what is fetched ahead is not fetched again, by nobody, and never behind a file's end") {
  StorageRig rig({cache(1000), servers()});
  rig.storages.begin(0, reads(1000, 1000), Time());
  rig.storages.begin(1, reads(2000, 1000), Time::us(1));  // on its way
  rig.events.run_until(Time::never());
  REQUIRE(rig.sent.size() == 6);  // the three chunks behind the first one
  REQUIRE(rig.over.size() == 2);
  CHECK(rig.over[1].at <= rig.over[0].at + Time::us(1));
  rig.storages.begin(0, reads(3000, 1000), Time::us(1000));
  rig.events.run_until(Time::never());
  CHECK(rig.over[2].at == Time::us(1071));
  CHECK(rig.sent.size() == 6);
}

TEST_CASE("storages that contradict themselves are refused by their keys") {
  StorageConfig c = servers();
  c.servers = {4, 8};
  CHECK(refused(c).find("node 8 is none of the machine's 8") != std::string::npos);
  c.servers = {4, 4};
  CHECK(refused(c).find("a node is named twice") != std::string::npos);
  c.servers = {};
  CHECK(refused(c).find("say on which nodes the servers are") != std::string::npos);
  c = local();
  c.servers = {1};
  CHECK(refused(c).find("a local storage has no servers") != std::string::npos);
  c = cache();
  CHECK(refused(c).find("name a storage of the kind servers") != std::string::npos);
  c = local();
  c.prefetch_bytes = 1;
  CHECK(refused(c).find("only a cache has it") != std::string::npos);
  c = local();
  c.queue_depth = 0;
  CHECK(refused(c).find("at least one request at a time") != std::string::npos);
}

}  // namespace exanet
