// SPDX-License-Identifier: Apache-2.0
// Tables of pages in which every page is there, to be written, and where its address says: entries are worked out, so
// that tables take no memory.
//
// The number of a table is its level and the address bits that lead to it, nine for each level before: so an entry's
// address says what it is about.
#pragma once

#include <cstdint>

#include "core/spec/packet.hpp"

namespace exanet {

class MappedTables {
 public:
  // Bytes of a page: 4 KiB, 64 KiB or 2 MiB.
  explicit MappedTables(std::uint64_t page_bytes) : last_(page_bytes == kLarge ? 2 : 3), wide_(page_bytes == kWide) {}

  static bool has(std::uint64_t page_bytes) {
    return page_bytes == kSmall || page_bytes == kWide || page_bytes == kLarge;
  }
  std::uint64_t root() const { return table(0, 0) << 12; }

  // 8 bytes at an address within a table: ni_page of spec/packet.yaml.
  std::uint64_t entry(std::uint64_t address) const {
    const std::uint64_t number = address >> 12, level = (number >> kPathBits) - 1;
    const std::uint64_t path = (number & ((std::uint64_t{1} << kPathBits) - 1)) << 9 | (address >> 3 & 511);
    spec::NiPage entry;
    entry.set_valid(1);
    if (level != last_) {
      entry.set_frame(table(level + 1, path));
    } else {
      entry.set_leaf(1);
      entry.set_writable(1);
      entry.set_wide(wide_);
      entry.set_frame(last_ == 2 ? path << 9 : wide_ ? path & ~std::uint64_t{15} : path);
    }
    return entry.raw[0] | std::uint64_t{entry.raw[1]} << 32;
  }

 private:
  static constexpr std::uint64_t kSmall = 1 << 12, kWide = 1 << 16, kLarge = 1 << 21;
  static constexpr unsigned kPathBits = 27;  // of a fourth table
  static std::uint64_t table(std::uint64_t level, std::uint64_t path) { return (level + 1) << kPathBits | path; }

  std::uint64_t last_;  // level of the tables with leaves
  bool wide_;
};

}  // namespace exanet
