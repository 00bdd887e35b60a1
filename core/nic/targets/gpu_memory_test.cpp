// SPDX-License-Identifier: Apache-2.0
// Do transfers from and to a GPU's memory take what its path says: by peer to peer the less of the link's rate and the
// GPU's, staged a copy of the first and of the last block beside the link, and is one GPU's memory no other one's?
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/nic/nic.hpp"
#include "core/nic/targets/device_range.h"
#include "core/nic/targets/memory_target.hpp"
#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

constexpr std::uint64_t kBlock = 65536;
constexpr std::uint64_t kReads = 12'000'000'000, kWrites = 22'000'000'000, kCopies = 48'000'000'000;  // bit/s
const Time kRead = Time::ns(1100), kWrite = Time::ns(600), kCopy = Time::ns(5000);

NiConfig with_gpus() {
  NiConfig ni;
  ni.memory_read = Time::ns(120);
  ni.memory_write = Time::ns(60);
  ni.gpu = GpuConfig{.per_node = 2,
                     .peer_read_latency = kRead,
                     .peer_write_latency = kWrite,
                     .peer_read_rate_bit_per_s = kReads,
                     .peer_write_rate_bit_per_s = kWrites,
                     .copy_latency = kCopy,
                     .copy_rate_bit_per_s = kCopies,
                     .staging_block_bytes = kBlock,
                     .launch_latency = Time::ns(5000)};
  return ni;
}

std::uint64_t on_gpu(std::uint64_t device) { return EXANET_DEVICE_BASE + (device << EXANET_DEVICE_SHIFT) + 4096; }

struct Bench final : NicListener {
  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t user, Status, Time now) override { arrived.at(user) = now; }
  void transfer_acknowledged(std::uint64_t, Status, Time) override {}
  void packet_delivered(const Packet&, Time, Time) override {}
  std::vector<Time> arrived = std::vector<Time>(2);
};

struct End {
  const char* kind = "host-dram";
  std::uint64_t device = 0;
};

ProcessBuffer buffer_at(const End& end) {
  return {.address = end.kind[0] == 'h' ? 4096 : on_gpu(end.device), .memory = memory_kind(end.kind)};
}

// When transfers of node 0 to the nodes 1 and 2 have arrived, each from one of these ends into the same of the other.
std::vector<Time> take(std::uint64_t bytes, const std::vector<End>& from, const End& into, std::int64_t quicker = 1) {
  EventQueue queue;
  const std::unique_ptr<Topology> topology = make_topology({"mesh", {3}});
  NetworkConfig fabric = testing::published_fabric();
  fabric.router.cycle = Time::ps(6400 / quicker);
  for (LinkConfig& link : fabric.links) link.word_time = Time::ps(6400 / quicker);
  const NiConfig ni = with_gpus();
  Bench seen;
  const std::unique_ptr<Nic> nic = nic_kind("exanet").make({queue, *topology, fabric, ni, seen});
  for (std::size_t i = 0; i < from.size(); ++i) {
    RdmaTransfer transfer{1, static_cast<NodeId>(2 * i), bytes, true, true, i};
    transfer.own = buffer_at(from[i]);
    transfer.target = buffer_at(into);
    nic->post(transfer);
  }
  while (!queue.empty()) queue.run_one();
  CHECK(nic->active() == 0);
  return seen.arrived;
}

Time takes(std::uint64_t bytes, const End& from, const End& into, std::int64_t quicker = 1) {
  return take(bytes, {from}, into, quicker)[0];
}

bool is_near(Time a, Time b, double share) {
  return std::abs(static_cast<double>(a.ps() - b.ps())) <= share * static_cast<double>(b.ps());
}

const End kHost{}, kPeer{"gpu-peer"}, kStaged{"gpu-staged"};

}  // namespace

TEST_CASE("GPU memory: a packet by peer to peer takes the GPU's latency and rate in place of the host's") {
  const Time host = takes(240, kHost, kHost);
  CHECK(takes(240, kPeer, kHost) - host == kRead + moving_time(240, kReads) - Time::ns(120));
  CHECK(takes(240, kHost, kPeer) - host == kWrite + moving_time(240, kWrites) - Time::ns(60));
}

TEST_CASE("GPU memory: a packet that is staged waits for a copy at each end") {
  const Time host = takes(240, kHost, kHost), copy = kCopy + moving_time(240, kCopies);
  CHECK(takes(240, kStaged, kHost) - host == copy - Time::ns(120));
  CHECK(takes(240, kHost, kStaged) - host == copy - Time::ns(60));
  CHECK(takes(240, kStaged, kStaged) - host == copy * 2 - Time::ns(180));
}

TEST_CASE("GPU memory: a long transfer goes at the rate of the link or of the GPU, whichever is less") {
  constexpr std::uint64_t kBytes = 1 << 20;
  for (const std::int64_t quicker : {1, 4}) {
    const Time link = takes(kBytes * 2, kHost, kHost, quicker) - takes(kBytes, kHost, kHost, quicker);
    const auto slope = [&](const End& from, const End& into) {
      return takes(kBytes * 2, from, into, quicker) - takes(kBytes, from, into, quicker);
    };
    CHECK(is_near(slope(kPeer, kHost), max(link, moving_time(kBytes, kReads)), 0.001));
    CHECK(is_near(slope(kHost, kPeer), max(link, moving_time(kBytes, kWrites)), 0.001));
    CHECK(is_near(slope(kStaged, kStaged), max(link, moving_time(kBytes, kCopies)), 0.001));
  }
}

TEST_CASE("GPU memory: staging hides all copies behind the link but that of the first and of the last block") {
  constexpr std::uint64_t kBytes = 16 * kBlock;
  const Time copies = (kCopy + moving_time(kBlock, kCopies)) * 2;
  const Time beside = takes(kBytes, kStaged, kStaged) - takes(kBytes, kHost, kHost);
  CHECK(is_near(beside + Time::ns(180), copies, 0.001));
}

TEST_CASE("GPU memory: transfers out of one GPU share its rate, those out of two do not") {
  constexpr std::uint64_t kBytes = 1 << 20;
  const std::vector<Time> one = take(kBytes, {kPeer, kPeer}, kHost, 4);
  const std::vector<Time> two = take(kBytes, {kPeer, {"gpu-peer", 1}}, kHost, 4);
  CHECK(is_near(one[1], moving_time(2 * kBytes, kReads), 0.02));
  CHECK(is_near(two[1], moving_time(kBytes, kReads), 0.02));
}

TEST_CASE("GPU memory: addresses say whether they are a GPU's, and which one's") {
  CHECK(exanet_is_device(EXANET_DEVICE_BASE - 1) == 0);
  for (std::uint32_t device = 0; device < EXANET_MOST_GPUS; ++device) {
    CHECK(exanet_is_device(on_gpu(device)) != 0);
    CHECK(exanet_device_of(on_gpu(device)) == device);
  }
  CHECK(exanet_is_device(EXANET_DEVICE_BASE + (std::uint64_t{EXANET_MOST_GPUS} << EXANET_DEVICE_SHIFT)) == 0);
}
