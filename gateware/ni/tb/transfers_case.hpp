// SPDX-License-Identifier: Apache-2.0
// A case by which transfers of the Verilated network interfaces and of their model are compared, what is stored in it,
// the kernel of its nodes, which maps pages and revokes some, and what came of it.
//
// All is drawn from the case's seed. Limits: pages of a domain are in frames of its own, one to one.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "core/nic/transfers/interfaces.hpp"
#include "gateware/ni/tb/ni_equality.hpp"
#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/ni/tb/transfer_traffic.hpp"
#include "gateware/tb/long.hpp"

namespace exanet::gateware::transfers_equality {

inline constexpr std::uint64_t kClear = 64, kClearTransfers = 256;  // cycles in which the tables are cleared
inline constexpr std::uint64_t kRing = 0x1000'0000;
inline constexpr std::uint64_t kRound = 64 * kChannels;  // cycles in which all slots are scanned once
inline constexpr unsigned kLogEntries = 12;  // more than there are messages: nobody reads them

struct Case {
  std::size_t nodes = 4;
  bool square = false;
  unsigned line_cycles = 20, memory_cycles = 20;
  unsigned timeout = 8, tries = 0, read_timeout = 0, kept = 8;
  unsigned transfers = 100;  // of all nodes
  double gap = 100;  // cycles between a node's transfers, mean
  unsigned most_bytes = 4096, least_bytes = 0;
  unsigned align = 1;  // own and target addresses
  unsigned hot_one_in = 0;  // transfers to node 0
  unsigned silent_one_in = 0;  // transfers whose end is not written
  unsigned messages_of_ten = 0;  // of what a processor stores
  unsigned behind_of_ten =
      0;  // messages that stay behind a transfer, and transfers that send what is in a slot of their context
  unsigned storm_one_in = 0;  // of the messages: up to 60 words that send, one a cycle, most of which find no slot
  unsigned given_one_in = 0;  // stores whose context the kernel gives to another domain before
  unsigned fences_of_ten = 0;  // transfers with one
  unsigned reads_of_ten = 0;  // transfers
  bool translate = false;
  unsigned domains = 1, fault_tries = 0;
  unsigned unmapped_one_in = 0, read_only_one_in = 0;  // pages
  unsigned late = 0;  // cycles after which the kernel puts half of the unmapped ones in place; 0: never
  double revoked = 0;  // cycles between revocations of pages at a node, mean; 0: none
  unsigned damaged_one_in = 0;  // packets, of all kinds, as they come out of the network
  DisorderConfig disorder{};  // in place of that
  std::uint64_t seed = 1;

  std::string text() const {
    std::ostringstream s;
    s << nodes << " nodes" << (square ? " in a square" : "") << ", line " << line_cycles << ", memory " << memory_cycles
      << ", timeout " << timeout << ", tries " << tries << ", read timeout " << read_timeout << ", kept " << kept
      << ", " << transfers << " transfers, gap " << gap << ", " << least_bytes << " to " << most_bytes
      << " B, aligned to " << align << ", hot " << hot_one_in << ", silent " << silent_one_in << ", messages "
      << messages_of_ten << " of ten, behind " << behind_of_ten << " of ten, storm " << storm_one_in << ", given "
      << given_one_in << ", fences " << fences_of_ten << " of ten, reads " << reads_of_ten << " of ten, damaged "
      << damaged_one_in;
    if (translate)
      s << ", " << domains << " domains, fault tries " << fault_tries << ", unmapped " << unmapped_one_in
        << ", read-only " << read_only_one_in << ", late " << late << ", revoked " << revoked;
    if (disorder.any())
      s << ", lost " << disorder.lost_one_in << ", damaged " << disorder.damaged_one_in << ", twice "
        << disorder.twice_one_in << ", late " << disorder.late_one_in << " by " << disorder.most_late << ", forged "
        << disorder.forged_one_in << ", node " << disorder.cut_node << " cut off from " << disorder.cut_from << " to "
        << disorder.cut_until << ", again after " << disorder.cut_period;
    s << ", seed " << seed;
    return s.str();
  }
  // The packet that is so many-th to come out at a node's port.
  bool damages(std::size_t node, unsigned port, std::size_t packet) const {
    return is_damaged(damaged_one_in, seed, node, port, packet);
  }
};

struct StoreOp {
  enum Kind : std::uint8_t { kTransfer, kMessage, kInvalidation, kContext };
  std::uint64_t taken;
  std::size_t node;
  Kind kind;
  TransferStore transfer;
  unsigned context;
  MessageStore message;
};

// Pages of a domain are in frames of its own, and of the sizes that the region of 2 MiB has them in.
inline constexpr std::uint64_t kTables = 0x70'0000'0000, kScramble = 0x2000'0000;
inline std::uint64_t frame_of(unsigned domain, std::uint64_t address) {
  return address ^ std::uint64_t{domain + 1} << 42 ^ kScramble;
}
inline std::uint64_t address_of(std::uint64_t frame) { return (frame & ((std::uint64_t{1} << 42) - 1)) ^ kScramble; }

// What a kernel has written to the tables in a node's memory.
struct TableWrite {
  std::uint64_t cycle;
  std::size_t node;
  std::uint64_t address, entry;
};

// A kernel that maps what transfers name, but for some pages, and revokes some of them.
class Kernel {
 public:
  Kernel(const Case& c, NiNetwork& net) : case_(c), net_(net), random_(c.seed + 1), nodes_(c.nodes) {
    if (!c.translate) return;
    for (std::size_t n = 0; n < c.nodes; ++n) {
      tables_.emplace_back(kTables, [this, n](std::uint64_t address, std::uint64_t entry) {
        set_word(*net_.node(n).memory, address, entry);
        writes.push_back({net_.cycle(), n, address, entry});
      });
      for (unsigned d = 0; d < c.domains; ++d) net_.open_domain(n, d, roots[{n, d}] = tables_[n].root(d));
      nodes_[n].next = drawn_gap(random_, c.revoked);
    }
  }
  // Before a transfer that reads or writes these bytes.
  void map(std::size_t n, unsigned domain, std::uint64_t begin, std::uint64_t bytes) {
    if (!case_.translate) return;
    for (std::uint64_t page = begin; page < begin + bytes;) {
      const std::uint64_t size = size_of(domain, page);
      page = page / size * size;
      map(n, {domain, page, size, true});
      page += size;
    }
  }
  // In each cycle, before it. True when an invalidation is to be stored.
  bool revokes(std::size_t n) {
    if (!case_.translate) return false;
    Node& node = nodes_[n];
    for (; !node.late.empty() && node.late.front().cycle <= net_.cycle(); node.late.pop_front())
      put(n, node.late.front().page);
    if (case_.revoked == 0 || node.next > net_.cycle()) return false;
    node.next = net_.cycle() + drawn_gap(random_, case_.revoked);
    if (!node.mapped.empty() && random_() % 4 != 0) {
      const std::size_t i = random_() % node.mapped.size();
      tables_[n].unmap(node.mapped[i].domain, node.mapped[i].at, node.mapped[i].size);
      if (case_.late != 0) node.late.push_back({net_.cycle() + case_.late, node.mapped[i]});
      node.mapped[i] = node.mapped.back();
      node.mapped.pop_back();
    }
    return true;
  }

  std::map<std::pair<std::size_t, unsigned>, std::uint64_t> roots;
  std::vector<TableWrite> writes;

 private:
  struct Page {
    unsigned domain;
    std::uint64_t at, size;
    bool writable;
  };
  struct Late {
    std::uint64_t cycle;
    Page page;
  };
  struct Node {
    std::set<std::pair<unsigned, std::uint64_t>> seen;
    std::vector<Page> mapped;
    std::deque<Late> late;
    std::uint64_t next = 0;
  };
  std::uint64_t size_of(unsigned domain, std::uint64_t address) const {
    const std::uint64_t h = (address / kLargePage + domain + case_.seed) * 0x9e3779b97f4a7c15 >> 40;
    return std::array{kPage, kPage, kWidePage, kLargePage}[h % 4];
  }
  void map(std::size_t n, Page page) {
    if (!nodes_[n].seen.emplace(page.domain, page.at).second) return;
    // Where packets are lost, it is reported of each transfer what has become of it.
    if (case_.disorder.any() && page.at >= kEnds && page.at < kFences)
      return tables_[n].map(page.domain, page.at, frame_of(page.domain, page.at), page.size, true);
    page.writable = case_.read_only_one_in == 0 || random_() % case_.read_only_one_in != 0;
    const bool unmapped = case_.unmapped_one_in != 0 && random_() % case_.unmapped_one_in == 0;
    if (!unmapped) return put(n, page);
    page.writable = true;
    if (case_.late != 0 && random_() % 2 == 0) nodes_[n].late.push_back({net_.cycle() + case_.late, page});
  }
  void put(std::size_t n, const Page& page) {
    tables_[n].map(page.domain, page.at, frame_of(page.domain, page.at), page.size, page.writable);
    nodes_[n].mapped.push_back(page);
  }

  const Case& case_;
  NiNetwork& net_;
  std::mt19937_64 random_;
  std::vector<Node> nodes_;
  std::deque<PageTables> tables_;
};

struct Result {
  std::vector<Happening> happenings;
  // packets sent, transfers ended, blocks repeated, answers stale; packets written, repeated, dropped, blocks answered;
  // messages sent and stored; pages walked to, faults, invalidations
  std::array<std::uint64_t, 13> counts{};
  std::uint64_t busy = 0;  // requests of reads that were refused
  std::uint64_t whole = 0, reported = 0;  // transfers, where packets are lost and the like
  DisorderCounts disorder;
};

}  // namespace exanet::gateware::transfers_equality
