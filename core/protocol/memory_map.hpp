// SPDX-License-Identifier: Apache-2.0
// The memory that one rank has opened to its protection domain. Nothing outside it can be reached from another rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "core/spec/descriptors.hpp"

namespace exanet {

class MemoryMap {
 public:
  struct Region {
    std::uint64_t first, bytes;
    std::uint32_t access;
    std::uint64_t serial;
  };

  static constexpr std::uint64_t kAddressSpace = std::uint64_t{1} << 47;  // no region has more, whatever its owner says

  // Registering a key again replaces the region. The serial number shows a later deregistration which of the two it
  // meant.
  std::uint64_t add(std::uint64_t key, std::uint64_t first, std::uint64_t bytes, std::uint32_t access) {
    regions_[key] = Region{first, std::min(bytes, kAddressSpace), access, ++serial_};
    return serial_;
  }
  std::uint64_t serial(std::uint64_t key) const {
    const auto it = regions_.find(key);
    return it == regions_.end() ? 0 : it->second.serial;
  }
  void remove(std::uint64_t key, std::uint64_t serial) {
    const auto it = regions_.find(key);
    if (it != regions_.end() && it->second.serial == serial) regions_.erase(it);
  }

  // The region if [remote, remote + bytes) lies within it and allows `access`; `addr` is then the rank's own address.
  // nullptr otherwise.
  const Region* find(std::uint64_t key, std::uint64_t remote, std::uint64_t bytes, std::uint32_t access,
                     std::uint64_t& addr) const {
    const auto it = regions_.find(key);
    if (it == regions_.end()) return nullptr;
    const Region& r = it->second;
    const std::uint64_t offset = (r.access & kOffsetAddressed) ? remote : remote - r.first;
    if ((r.access & access) != access || offset > r.bytes || bytes > r.bytes - offset) return nullptr;
    addr = r.first + offset;
    return &r;
  }

 private:
  std::unordered_map<std::uint64_t, Region> regions_;
  std::uint64_t serial_ = 0;
};

}  // namespace exanet
