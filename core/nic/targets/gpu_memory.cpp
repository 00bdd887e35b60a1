// SPDX-License-Identifier: Apache-2.0
// The memories of a node's GPUs, as interfaces reach them: by GPUDirect RDMA (peer to peer), or through a bounce buffer
// in host memory. core/nic/gpu.hpp has the problem, the model and its sources.
//
// Peer to peer: an access takes the GPU for its bytes at the rate of its direction, in the order of calls; its latency
// overlaps with others. So a transfer is pipelined with the link, at the rate of whichever is less.
//
// Staged: the GPU's copy engine of a direction moves a block of `staging_block` at a time, the last one as long as it
// is; blocks of all transfers follow each other, and the latency of one overlaps with the bytes of others. Packets of a
// block are there to read once all of it is copied, and a block is copied into the device once all of it has come. So
// copies of a long transfer overlap with the link, except for its first and its last block.
//
// Limits: bounce buffers are never short. PCIe switches and the host's bridge are in the constants: accesses of one GPU
// do not slow down another's.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/nic/targets/device_range.h"
#include "core/nic/targets/memory_target.hpp"

namespace exanet {

namespace {

constexpr std::size_t place(NodeId node) { return std::size_t{node} * EXANET_MOST_GPUS; }

// When each GPU of each node has moved all that it was asked for.
class Engines {
 public:
  Time pass(const MemoryAccess& access, std::uint64_t bytes, Time at, std::uint64_t rate) {
    const std::size_t gpu = place(access.node) + exanet_device_of(access.address);
    if (free_.size() <= gpu) free_.resize(gpu + 1);
    return free_[gpu] = max(free_[gpu], at) + moving_time(bytes, rate);
  }

 private:
  std::vector<Time> free_;  // by node and GPU
};

class Peer final : public MemoryTarget {
 public:
  explicit Peer(const GpuConfig& gpu) : gpu_(gpu) {}
  Time read(const MemoryAccess& access, Time at) override {
    return reads_.pass(access, access.bytes, at, gpu_.peer_read_rate_bit_per_s) + gpu_.peer_read_latency;
  }
  Time write(const MemoryAccess& access, Time at) override {
    return writes_.pass(access, access.bytes, at, gpu_.peer_write_rate_bit_per_s) + gpu_.peer_write_latency;
  }
  bool streams() const override { return false; }

 private:
  const GpuConfig gpu_;
  Engines reads_, writes_;
};

class Staged final : public MemoryTarget {
 public:
  explicit Staged(const GpuConfig& gpu) : gpu_(gpu) {}

  Time read(const MemoryAccess& access, Time at) override {
    const std::uint64_t total = std::max(access.total, access.offset + access.bytes);
    const auto key = std::tuple(access.node, access.transfer, access.address - access.offset);
    const auto found = copied_.find(key);
    Block block = found == copied_.end() ? Block{} : found->second;
    if (access.offset + access.bytes > block.end || access.offset == 0) {
      const std::uint64_t begin = access.offset, end = std::min(total, begin + gpu_.staging_block_bytes);
      block = {std::max(end, begin + access.bytes), copy(from_, access, std::max(end - begin, access.bytes), at)};
    }
    if (access.offset + access.bytes >= total)
      copied_.erase(key);
    else
      copied_[key] = block;
    return max(block.there, at);
  }

  Time write(const MemoryAccess& access, Time at) override {
    const std::uint64_t end = access.offset + access.bytes, block = gpu_.staging_block_bytes;
    const std::uint64_t whole = access.offset / block, filled = end / block;  // blocks before it, and with it
    const bool last = end >= access.total;
    if (filled == whole && !last) return at;
    return copy(into_, access, last ? end - whole * block : (filled - whole) * block, at);
  }
  bool streams() const override { return false; }

 private:
  struct Block {
    std::uint64_t end = 0;  // in its transfer
    Time there = {};
  };

  Time copy(Engines& engines, const MemoryAccess& access, std::uint64_t bytes, Time at) const {
    return engines.pass(access, bytes, at, gpu_.copy_rate_bit_per_s) + gpu_.copy_latency;
  }

  const GpuConfig gpu_;
  Engines from_, into_;
  std::map<std::tuple<NodeId, std::uint64_t, std::uint64_t>, Block> copied_;  // of transfers that are being read
};

NiConfig gpu_sample() {
  NiConfig config;
  config.gpu = GpuConfig{.per_node = 2,
                         .memory_bytes = std::uint64_t{6} << 30,
                         .memory_rate_bit_per_s = 1'200'000'000'000,
                         .pcie_generation = 2,
                         .pcie_lanes = 16,
                         .peer_read_latency = Time::ns(1100),
                         .peer_write_latency = Time::ns(600),
                         .peer_read_rate_bit_per_s = 12'000'000'000,
                         .peer_write_rate_bit_per_s = 22'000'000'000,
                         .copy_latency = Time::ns(5000),
                         .copy_rate_bit_per_s = 48'000'000'000,
                         .staging_block_bytes = 65536,
                         .launch_latency = Time::ns(5000)};
  return config;
}

// Machines without GPUs have none of their memory, and nobody asks for it.
template <typename Target>
std::unique_ptr<MemoryTarget> make(const NiConfig& config, std::size_t) {
  return std::make_unique<Target>(config.gpu.value_or(GpuConfig{}));
}

}  // namespace

namespace memories {

MemoryKind gpu_peer() {
  return {"gpu-peer", "a GPU's memory, which the interface reads and writes over PCIe", {gpu_sample()}, make<Peer>};
}

MemoryKind gpu_staged() {
  return {"gpu-staged", "a GPU's memory, copied to and from a buffer in host memory", {gpu_sample()}, make<Staged>};
}

}  // namespace memories

}  // namespace exanet
