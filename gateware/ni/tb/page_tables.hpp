// SPDX-License-Identifier: Apache-2.0
// Tables of pages of protection domains in a memory, as a kernel keeps them for ni_walk, and the port by which it reads
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "core/spec/packet.hpp"
#include "gateware/ni/tb/axi_memory.hpp"

namespace exanet::gateware {

inline constexpr std::uint64_t kPage = 4096, kWidePage = 64 * 1024, kLargePage = 2 * 1024 * 1024;

inline void set_word(AxiMemory& memory, std::uint64_t address, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) memory.set(address + i, static_cast<std::uint8_t>(value >> 8 * i));
}

// Contract: pages are aligned to their size, in their domain and in memory, and those of a domain do not overlap.
class PageTables {
 public:
  using Write = std::function<void(std::uint64_t address, std::uint64_t entry)>;

  // Tables are put behind each other from `begin` on.
  PageTables(std::uint64_t begin, Write write) : next_(begin), write_(std::move(write)) {}

  // Address of a domain's first table.
  std::uint64_t root(unsigned domain) {
    const auto [at, fresh] = roots_.try_emplace(domain, next_);
    if (fresh) next_ += kPage;
    return at->second;
  }
  void map(unsigned domain, std::uint64_t page, std::uint64_t frame, std::uint64_t size, bool writable) {
    spec::NiPage entry;
    entry.set_valid(1);
    entry.set_leaf(1);
    entry.set_writable(writable);
    entry.set_wide(size == kWidePage);
    entry.set_frame(frame / kPage);
    put(domain, page, size, entry.raw[0] | std::uint64_t{entry.raw[1]} << 32);
  }
  void unmap(unsigned domain, std::uint64_t page, std::uint64_t size) { put(domain, page, size, 0); }

 private:
  void put(unsigned domain, std::uint64_t page, std::uint64_t size, std::uint64_t entry) {
    expect(page % size == 0, "a page is not aligned to its size");
    std::uint64_t table = root(domain);
    const unsigned levels = size == kLargePage ? 3 : 4;
    for (unsigned level = 0; level + 1 < levels; ++level) table = next_table(table + 8 * index(page, level));
    for (unsigned i = 0; i < (size == kWidePage ? 16 : 1); ++i)
      write_(table + 8 * (index(page, levels - 1) + i), entry);
  }
  static std::uint64_t index(std::uint64_t page, unsigned level) { return page >> (39 - 9 * level) & 511; }
  std::uint64_t next_table(std::uint64_t at) {
    const auto [found, fresh] = tables_.try_emplace(at, next_);
    if (fresh) {
      next_ += kPage;
      spec::NiPage entry;
      entry.set_valid(1);
      entry.set_frame(found->second / kPage);
      write_(at, entry.raw[0] | std::uint64_t{entry.raw[1]} << 32);
    }
    return found->second;
  }

  std::uint64_t next_;
  Write write_;
  std::map<unsigned, std::uint64_t> roots_;
  std::map<std::uint64_t, std::uint64_t> tables_;  // by address of the entry that leads there
};

// Reads of lines, each answered a fixed time after its address with what memory has then.
class WalkPort {
 public:
  WalkPort(const AxiMemory& memory, MemoryConfig config) : memory_(memory), config_(config) {}

  std::uint64_t reads = 0;
  std::uint64_t last_read = 0;  // cycle in which an address was taken
  std::function<bool(std::uint64_t address)> refuses = [](std::uint64_t) { return false; };

  template <typename Model>
  void drive(Model& model, std::uint64_t cycle) {
    model.m_axi_walk_arready = 1;
    model.m_axi_walk_rvalid = !asked_.empty() && asked_.front().cycle <= cycle;
    if (!model.m_axi_walk_rvalid) return;
    const Line line = memory_.line(asked_.front().address);
    for (unsigned w = 0; w < 4; ++w) model.m_axi_walk_rdata[w] = 0;
    for (unsigned i = 0; i < 16; ++i) model.m_axi_walk_rdata[i / 4] |= std::uint32_t{line[i]} << 8 * (i % 4);
    model.m_axi_walk_rresp = refuses(asked_.front().address) ? static_cast<CData>(2 + refused_++ % 2) : CData{0};
  }
  template <typename Model>
  void sample(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_walk_rvalid && model.m_axi_walk_rready) asked_.pop_front();
    if (!model.m_axi_walk_arvalid || !model.m_axi_walk_arready) return;
    ++reads;
    last_read = cycle;
    asked_.push_back({cycle + config_.latency_cycles, model.m_axi_walk_araddr});
  }

 private:
  struct Asked {
    std::uint64_t cycle, address;
  };
  const AxiMemory& memory_;
  MemoryConfig config_;
  std::deque<Asked> asked_;
  std::uint64_t refused_ = 0;
};

}  // namespace exanet::gateware
