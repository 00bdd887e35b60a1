// SPDX-License-Identifier: Apache-2.0
// Addresses of processes' buffers, by which interfaces look pages up: as far as buffers live, the same in every run,
// which those of the processes are not.
//
// A buffer is known by its process and its first address. Each gets a range of its own at its first use, from the
// beginning of a page on and in order, and has it again whenever it is used again; when more of it is used than ever
// before, a new one. A node's processes are of one protection domain, as a transfer has one for both its ends, and
// share no page.
//
// Limits: buffers that begin at different addresses share no page, though they may be parts of one array. Whether
// memory that was freed and allocated again is the same buffer follows from the allocator.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/nic/nic.hpp"

namespace exanet {

class BufferAddresses {
 public:
  BufferAddresses(std::uint64_t page_bytes, std::size_t nodes) : page_bytes_(page_bytes), nodes_(nodes) {}

  // Where so many bytes of it begin.
  std::uint64_t of(NodeId id, const ProcessBuffer& buffer, std::uint64_t bytes) {
    Node& node = nodes_[id];
    Range& range = node.ranges[Key{buffer.process, buffer.address}];
    if (range.bytes < bytes || range.bytes == 0) {
      const std::uint64_t pages = bytes == 0 ? 1 : (bytes + page_bytes_ - 1) / page_bytes_;
      range = {node.next, pages * page_bytes_};
      node.next += range.bytes;
    }
    return range.first;
  }
  // A word of a process's library, which has a page of them: ends and fences are written there.
  std::uint64_t word(NodeId node, std::uint32_t process, std::uint64_t number) {
    return of(node, {process, kWords}, 1) + 8 * (number % kWordsOfAPage);
  }

 private:
  static constexpr std::uint64_t kWords = ~std::uint64_t{0}, kWordsOfAPage = 512;
  struct Key {
    std::uint32_t process;
    std::uint64_t address;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return (key.address ^ key.process) * 0x9e3779b97f4a7c15u; }
  };
  struct Range {
    std::uint64_t first = 0, bytes = 0;
  };
  struct Node {
    std::unordered_map<Key, Range, Hash> ranges;
    std::uint64_t next = 0;  // what follows is nobody's
  };

  std::uint64_t page_bytes_;
  std::vector<Node> nodes_;
};

}  // namespace exanet
