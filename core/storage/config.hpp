// SPDX-License-Identifier: Apache-2.0
// Storages of a machine, as its description names them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/visit.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

enum class StorageKind : std::uint8_t { kLocal, kServers, kCache };
template <>
inline constexpr auto kChoices<StorageKind> = choices<StorageKind>(
    {{"local", StorageKind::kLocal}, {"servers", StorageKind::kServers}, {"cache", StorageKind::kCache}});

struct StorageConfig {
  std::string name;
  StorageKind kind = StorageKind::kLocal;
  // of each node's device, or each server's
  Time read_latency, write_latency;
  std::uint64_t read_rate_bit_per_s = 0, write_rate_bit_per_s = 0;
  std::uint32_t queue_depth = 1;  // requests that it serves at once
  Time metadata_latency;  // of an operation on a name, such as to open a file; zero: it takes no time
  std::uint32_t metadata_queue_depth = 0;  // such operations served at once; 0: queue_depth
  // of servers
  std::vector<NodeId> servers;
  std::uint64_t chunk_bytes = 512 << 10;  // of a file, one after another on the servers in turn
  std::uint64_t message_bytes = 256;  // of a request, and of an answer, beside the data
  std::vector<NodeId> metadata_servers;  // each has some of the folders; empty: the servers
  // of a cache
  std::string behind;  // the servers whose data it keeps
  std::uint64_t prefetch_bytes = 0;  // fetched beyond what is read
};

template <typename V>
void visit(StorageConfig& c, V&& v) {
  v("name", c.name);
  v("kind", c.kind);
  v("read_latency_ps", c.read_latency);
  v("write_latency_ps", c.write_latency);
  v("read_rate_bit_per_s", c.read_rate_bit_per_s);
  v("write_rate_bit_per_s", c.write_rate_bit_per_s);
  v("queue_depth", c.queue_depth);
  v("metadata_latency_ps", c.metadata_latency, kOptional);
  v("metadata_queue_depth", c.metadata_queue_depth, kOptional);
  v("servers", c.servers, kOptional);
  v("chunk_bytes", c.chunk_bytes, kOptional);
  v("message_bytes", c.message_bytes, kOptional);
  v("metadata_servers", c.metadata_servers, kOptional);
  v("behind", c.behind, kOptional);
  v("prefetch_bytes", c.prefetch_bytes, kOptional);
}

}  // namespace exanet
