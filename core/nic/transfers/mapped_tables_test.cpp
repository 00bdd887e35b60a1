// SPDX-License-Identifier: Apache-2.0
// Do the tables that are worked out lead from every address to its own page, as spec/packet.yaml has tables?
#include "core/nic/transfers/mapped_tables.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace exanet;

namespace {

spec::NiPage entry_of(const MappedTables& tables, std::uint64_t table, std::uint64_t index) {
  const std::uint64_t value = tables.entry(table + 8 * index);
  spec::NiPage entry;
  entry.raw = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  return entry;
}

}  // namespace

TEST_CASE("mapped tables: every address leads to itself, in as many reads as its page's size takes") {
  std::mt19937_64 random(2027);
  for (const std::uint64_t bytes : {1u << 12, 1u << 16, 1u << 21}) {
    REQUIRE(MappedTables::has(bytes));
    const MappedTables tables(bytes);
    CHECK(tables.root() != 0);  // that would be no table
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t address = random() >> (16 + i % 40);
      std::uint64_t table = tables.root();
      int reads = 1;
      spec::NiPage entry = entry_of(tables, table, address >> 39 & 511);
      for (; entry.leaf() == 0 && reads < 4; ++reads) {
        REQUIRE(entry.valid() == 1);
        table = entry.frame() << 12;
        entry = entry_of(tables, table, address >> (30 - 9 * (reads - 1)) & 511);
      }
      CHECK(entry.valid() == 1);
      CHECK(entry.writable() == 1);
      CHECK(entry.wide() == (bytes == 1u << 16));
      CHECK(reads == (bytes == 1u << 21 ? 3 : 4));
      CHECK(entry.frame() * 4096 == address / bytes * bytes);
    }
  }
  for (const std::uint64_t bytes : {0u, 1u << 11, 1u << 13, 1u << 20, 1u << 22}) CHECK(!MappedTables::has(bytes));
}
