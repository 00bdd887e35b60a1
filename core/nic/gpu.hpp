// SPDX-License-Identifier: Apache-2.0
// GPUs of a node, as the machine file describes them: what their memory costs interfaces and processors.
//
// Problem: a message's buffer may be in a GPU's memory, and there are two paths to it. By GPUDirect RDMA (peer to
// peer) the interface reads and writes it over PCIe; reads are bounded by what the GPU answers. By staging, the GPU's
// copy engine moves it from or to a bounce buffer in host memory, block by block.
//
// Model: an access by peer to peer has a latency, and the bytes of all accesses to a GPU go one after another at a
// rate, for each direction its own. A copy likewise. Messages that a processor stores itself (eager ones) make it wait
// for the access or the copy. The path is the machine's choice, for all messages or by their size.
// Sources: Ammendola et al., "GPU peer-to-peer techniques applied to a cluster interconnect", arXiv:1307.8276;
// Potluri et al., ICPP 2013 (pipelined staging, and GPUDirect RDMA below a size).
#pragma once

#include <cstdint>

#include "core/config/visit.hpp"
#include "core/units/moving_time.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct GpuConfig {
  enum class Path : std::uint8_t { kPeer, kStaged, kAuto };

  std::uint32_t per_node = 1;
  std::uint64_t memory_bytes = 0;  // of each
  std::uint64_t memory_rate_bit_per_s = 0;  // of copies within it: reads and writes together
  std::uint32_t pcie_generation = 0, pcie_lanes = 0;  // bounds the rates below (exanet/machine/gpu.py)
  Time peer_read_latency, peer_write_latency;
  std::uint64_t peer_read_rate_bit_per_s = 0, peer_write_rate_bit_per_s = 0;
  Time copy_latency;  // of a copy between host and device: fixed part ...
  std::uint64_t copy_rate_bit_per_s = 0;  // ... and rate
  std::uint64_t staging_block_bytes = 0;  // in which longer messages are staged
  Time launch_latency;  // of a kernel, on the processor
  Path path = Path::kPeer;
  std::uint64_t staged_above_bytes = 0;  // of kAuto: longer messages are staged

  bool stages(std::uint64_t bytes) const {
    return path == Path::kStaged || (path == Path::kAuto && bytes > staged_above_bytes);
  }
  Time copy(std::uint64_t bytes) const { return copy_latency + moving_time(bytes, copy_rate_bit_per_s); }
  // A processor reads or writes a short message there, and waits for it.
  Time read(std::uint64_t bytes) const {
    return stages(bytes) ? copy(bytes) : peer_read_latency + moving_time(bytes, peer_read_rate_bit_per_s);
  }
  Time write(std::uint64_t bytes) const {
    return stages(bytes) ? copy(bytes) : peer_write_latency + moving_time(bytes, peer_write_rate_bit_per_s);
  }
};

template <>
inline constexpr auto kChoices<GpuConfig::Path> = choices<GpuConfig::Path>(
    {{"peer", GpuConfig::Path::kPeer}, {"staged", GpuConfig::Path::kStaged}, {"auto", GpuConfig::Path::kAuto}});

template <typename V>
void visit(GpuConfig& c, V&& v) {
  v("per_node", c.per_node);
  v("memory_bytes", c.memory_bytes);
  v("memory_rate_bit_per_s", c.memory_rate_bit_per_s);
  v("pcie_generation", c.pcie_generation);
  v("pcie_lanes", c.pcie_lanes);
  v("peer_read_latency_ps", c.peer_read_latency);
  v("peer_read_rate_bit_per_s", c.peer_read_rate_bit_per_s);
  v("peer_write_latency_ps", c.peer_write_latency);
  v("peer_write_rate_bit_per_s", c.peer_write_rate_bit_per_s);
  v("copy_latency_ps", c.copy_latency);
  v("copy_rate_bit_per_s", c.copy_rate_bit_per_s);
  v("staging_block_bytes", c.staging_block_bytes);
  v("launch_latency_ps", c.launch_latency);
  v("path", c.path);
  v("staged_above_bytes", c.staged_above_bytes, kOptional);
}

}  // namespace exanet
