// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/order.hpp"

#include "core/config/archive.hpp"

namespace exanet {
namespace {

template <typename T>
std::vector<std::byte> written(T& field) {
  ArchiveWriter archive;
  archive.write(field);
  return archive.bytes();
}

template <typename T>
T read(const std::byte* from, std::size_t bytes) {
  T field;
  ArchiveReader(from, bytes).read(field);
  return field;
}

}  // namespace

std::vector<std::byte> to_bytes(Order& order) { return written(order); }
std::vector<std::byte> to_bytes(RunRecord& record) { return written(record); }
Order order_of(const std::byte* from, std::size_t bytes) { return read<Order>(from, bytes); }
RunRecord record_of(const std::byte* from, std::size_t bytes) { return read<RunRecord>(from, bytes); }

}  // namespace exanet
