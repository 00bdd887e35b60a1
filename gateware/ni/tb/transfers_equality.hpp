// SPDX-License-Identifier: Apache-2.0
// What transfers of the Verilated network interfaces and their model are compared by: a case, the processors and the kernel of its nodes, and both that run it.
//
// Processors of the Verilated nodes store transfers and messages at drawn times. The model is given each in the cycle in which the bus has taken its last
// store.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "core/nic/transfers/interfaces.hpp"
#include "gateware/ni/tb/disordered_network.hpp"
#include "gateware/ni/tb/ni_equality.hpp"
#include "gateware/ni/tb/ni_network.hpp"
#include "gateware/ni/tb/transfer_traffic.hpp"
#include "gateware/tb/long.hpp"

namespace exanet::gateware::transfers_equality {

inline constexpr std::uint64_t kClear = 64, kClearTransfers = 256;  // cycles in which the tables are cleared
inline constexpr std::uint64_t kRing = 0x1000'0000;
inline constexpr std::uint64_t kRound = 64 * kChannels;  // cycles in which all slots are visited once
inline constexpr unsigned kLogEntries = 12;  // more than there are messages: nobody reads them

struct Case {
  std::size_t nodes = 4;
  bool square = false;
  unsigned line_cycles = 20, memory_cycles = 20;
  unsigned patience = 8, tries = 0, read_patience = 0, kept = 8;
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
      << ", patience " << patience << ", tries " << tries << ", read patience " << read_patience << ", kept " << kept
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
        << disorder.twice_one_in << ", late " << disorder.late_one_in << " by " << disorder.most_late << ", node "
        << disorder.cut_node << " cut off from " << disorder.cut_from << " to " << disorder.cut_until;
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
    // Where packets are lost, it is told of each transfer what has become of it.
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
  // packets sent, transfers ended, blocks repeated, answers stale; packets written, repeated, dropped, blocks answered; messages sent and stored;
  // pages walked to, faults, invalidations
  std::array<std::uint64_t, 13> counts{};
  std::uint64_t busy = 0;  // requests of reads that were refused
  std::uint64_t whole = 0, reported = 0;  // transfers, where packets are lost and the like
  DisorderCounts disorder;
};

// Drives the Verilated nodes until nothing is under way, and writes down every transfer as it was taken.
class Gateware {
 public:
  explicit Gateware(const Case& c)
      : case_(c),
        random_(c.seed),
        net_(c.nodes,
             {.line = {.latency_cycles = c.line_cycles},
              .memory = {.latency_cycles = c.memory_cycles},
              .tries = c.tries,
              .block_patience = c.patience,
              .read_patience = c.read_patience,
              .kept_channels = c.kept,
              .fault_tries = c.fault_tries,
              .translate = c.translate,
              .damages = [this](std::size_t node, unsigned port,
                                std::size_t packet) { return case_.damages(node, port, packet); },
              .disorder = c.disorder},
             c.square),
        nodes_(c.nodes),
        kernel_(case_, net_) {
    for (std::size_t n = 0; n < net_.size(); ++n)
      for (unsigned context = 0; context < kContexts; ++context) {
        domains_[{n, context}] = case_.translate ? context % case_.domains : kDomain;
        net_.open_context(n, context, domain_of(n, context));
      }
    net_.run_until_stored();
    for (std::size_t n = 0; n < c.nodes; ++n) {
      net_.open_mailbox(n, 0, kDomain, kRing, kLogEntries);
      if (!c.disorder.any()) continue;
      // Bytes that say where they are, but where tables of pages may be.
      net_.node(n).memory->unwritten = [n, this](std::uint64_t address) {
        Line line{};
        for (unsigned i = 0; i < 16 && (!case_.translate || address >> 42 != 0); ++i)
          line[i] = value_at(n, address + i);
        return line;
      };
    }
    begin_processors(net_, nodes_, random_);
    run();
    collect();
  }

  std::vector<StoreOp> ops;
  Result result;
  const Kernel& kernel() const { return kernel_; }
  std::uint64_t end() const { return net_.cycle(); }

 private:
  struct Processor {
    std::uint64_t next = 0;
    std::vector<StoreOp> ops;
    std::size_t ends_seen = 0;
    unsigned under_way = 0;  // transfers that were stored and have not ended
  };

  void run() {
    unsigned sent = 0;
    // Faults of what is sent are seen nowhere.
    std::uint64_t most = case_.fault_tries > 2 ? 70'000 : 40'000;
    // As long as somebody may be patient with a block, or with the end of a read.
    if (case_.disorder.any())
      most = kRound * (3 + std::max<std::uint64_t>(32 * std::max(case_.patience, 1u), 1u << case_.read_patience));
    for (std::uint64_t quiet = 0; quiet < most; ++quiet) {
      if (case_.disorder.any() && sent == case_.transfers && quiet > 40'000 && all_ended()) break;
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        Processor& p = nodes_[n];
        if (sent >= case_.transfers || p.next > net_.cycle() ||
            (case_.disorder.any() && p.under_way >= most_under_way()))
          continue;
        if (random_() % 10 < case_.messages_of_ten)
          send_messages(n), ++sent;
        else
          send(n, sent++);
        p.next = net_.cycle() + drawn_gap(random_, case_.gap);
        quiet = 0;
      }
      for (std::size_t n = 0; n < nodes_.size() && sent < case_.transfers; ++n) {
        if (!kernel_.revokes(n)) continue;
        net_.invalidate(n);
        nodes_[n].ops.push_back({0, n, StoreOp::kInvalidation, {}, 0, {}});
      }
      const std::size_t before = happened();
      net_.step();
      if (happened() != before) quiet = 0;
      watch_ends();
    }
    CHECK(sent == case_.transfers);
  }
  // A process that counts its transfers is not refused.
  unsigned most_under_way() const { return kChannels - case_.kept - 2; }
  bool all_ended() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const Processor& p) { return p.under_way == 0; });
  }
  // What tells that a transfer has ended, if it is that which was written: the same in both words of the line.
  std::optional<spec::TransferEnd> end_in(const WrittenBeat& beat) const {
    const std::uint64_t address = case_.translate ? address_of(beat.address) : beat.address;
    if (address < kEnds || address >= kFences) return std::nullopt;
    spec::TransferEnd end;
    for (unsigned i = 0; i < 8; ++i) end.raw[i / 4] |= std::uint32_t{beat.data[i]} << 8 * (i % 4);
    return end;
  }
  void watch_ends() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto& ends = net_.node(n).dma->ends;
      for (std::size_t& i = nodes_[n].ends_seen; i < ends.size(); ++i) {
        const auto end = end_in(ends[i]);
        if (!end) continue;
        CHECK(ended_.emplace(end->token(), end->failure()).second);  // once
        --nodes_[n].under_way;
      }
    }
  }
  std::size_t happened() {
    std::size_t all = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      all += net_.node(n).dma->ends.size() + net_.node(n).slot_events.size();
      for (const Receiver& in : net_.node(n).in) all += in.arrivals.size();
    }
    return all;
  }

  unsigned domain_of(std::size_t n, unsigned context) const { return domains_.at({n, context}); }
  unsigned pick_context(std::size_t n) {
    const auto context = static_cast<unsigned>(random_() % kContexts);
    if (case_.translate && case_.given_one_in != 0 && random_() % case_.given_one_in == 0) {
      domains_[{n, context}] = static_cast<unsigned>(random_() % case_.domains);
      net_.open_context(n, context, domain_of(n, context));
      nodes_[n].ops.push_back({0, n, StoreOp::kContext, {}, 0, {}});
    }
    return context;
  }

  void send(std::size_t n, unsigned token) {
    const bool hot = case_.hot_one_in != 0 && random_() % case_.hot_one_in == 0;
    const auto to = hot ? 0 : random_() % nodes_.size();
    const auto length =
        static_cast<std::uint32_t>(case_.least_bytes + random_() % (case_.most_bytes - case_.least_bytes + 1));
    const std::uint64_t own = kOwn + random_() % 0x10000 / case_.align * case_.align,
                        target =
                            kTarget + 0x100000 * std::uint64_t{token} + random_() % 0x10000 / case_.align * case_.align;
    const bool notify = case_.silent_one_in == 0 || random_() % case_.silent_one_in != 0;
    spec::Transfer transfer = transfer_of(own, target, length, net_.node(to).dcid, token);
    transfer.set_notify(notify);
    const unsigned context = pick_context(n);
    TransferStore store{static_cast<NodeId>(to), own, target, length, notify, token};
    store.domain = static_cast<std::uint16_t>(domain_of(n, context));
    store.end_word = kEnds + 8 * std::uint64_t{token};
    if (random_() % 10 < case_.fences_of_ten) {
      store.fence = true;
      store.fence_word = kFences + 8 * (random_() % 0x10000);
      spec::TransferFence fence;
      fence.set_word(store.fence_word / 8);
      net_.fence(n, context, fence);
      transfer.set_fence(1);
    }
    if (random_() % 10 < case_.reads_of_ten) {
      // The other way round, so that no two transfers write the same.
      store.read = true;
      std::swap(store.own, store.target);
      transfer.set_own(store.own);
      transfer.set_target(store.target);
      transfer.set_read(1);
    }
    if (case_.behind_of_ten != 0 && random_() % 10 < case_.behind_of_ten) {
      // Whether a message stays there or not: what has nothing to send is left alone.
      const auto slot = static_cast<unsigned>(random_() % 4);
      store.message = true;
      store.message_slot = 4 * context + slot;
      transfer.set_message(1);
      transfer.set_message_slot(slot);
    }
    kernel_.map(n, store.domain, store.own, length);
    kernel_.map(to, store.domain, store.target, length);
    kernel_.map(n, store.domain, store.end_word, 8);
    if (store.fence) kernel_.map(to, store.domain, store.fence_word, 8);
    net_.transfer(n, context, transfer);
    nodes_[n].ops.push_back({0, n, StoreOp::kTransfer, store, 0, {}});
    ++nodes_[n].under_way;
  }
  void send_messages(std::size_t n) {
    const bool storm = case_.storm_one_in != 0 && random_() % case_.storm_one_in == 0;
    const unsigned context = pick_context(n);
    send_message(n, context);
    for (auto more = storm ? random_() % 60 : 0; more != 0; --more)
      send_message(n, random_() % 2 == 0 ? context : static_cast<unsigned>(random_() % kContexts));
  }
  void send_message(std::size_t n, unsigned context) {
    const auto to = random_() % nodes_.size();
    const auto bytes = static_cast<unsigned>(random_() % (case_.storm_one_in != 0 ? 80 : 65));  // or too many
    const bool behind = case_.behind_of_ten != 0 && random_() % 10 < case_.behind_of_ten;
    net_.send(n, context, net_.node(to).dcid, 0, bytes, 0, behind);
    nodes_[n].ops.push_back({0,
                             n,
                             StoreOp::kMessage,
                             {},
                             context,
                             {static_cast<NodeId>(to), static_cast<std::uint8_t>(bytes), 0,
                              static_cast<std::uint16_t>(domain_of(n, context)), 0, behind}});
  }

  void collect() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      NiNetwork::Node& node = net_.node(n);
      std::size_t stores = 0;
      for (const StoreOp& op : nodes_[n].ops) {
        stores += op.kind != StoreOp::kTransfer ? 1 : op.transfer.fence ? 3 : 2;
        REQUIRE(stores <= node.taken.size());
        ops.push_back(op);
        ops.back().taken = node.taken[stores - 1];
      }
      REQUIRE(stores == node.taken.size());
      add_packets(result.happenings, node, n);
      for (const Arrival& a : node.out[1].arrivals)
        result.busy += a.packet.footer.reason() == static_cast<unsigned>(spec::NackReason::kBusy);
      for (const WrittenBeat& beat : node.dma->ends) {
        const auto end = end_in(beat);
        const std::uint64_t said = end ? end->token() << 8 | end->failure() : 0;
        result.happenings.push_back({beat.cycle, 'w', n, beat.address, said});
      }
      for (const WrittenBeat& beat : node.memory->beats) {
        if (!beat.last) continue;
        const spec::MailboxEntry entry = entry_of(beat);
        result.happenings.push_back(
            {beat.cycle, 's', n, (beat.address - kRing) / 128, entry.source_dcid() << 40 | entry.number()});
      }
      for (const SlotEvent& e : node.slot_events) result.happenings.push_back({e.cycle, 'a', n, e.slot, e.reason});
    }
    std::sort(result.happenings.begin(), result.happenings.end());
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto counts = net_.transfer_counts(n);
      for (std::size_t i = 0; i < counts.size(); ++i) result.counts[i] += counts[i];
      const auto messages = net_.counts(n);
      result.counts[8] += messages[0];
      result.counts[9] += messages[4];
      const auto pages = net_.page_counts(n);
      result.counts[10] += pages[0];
      result.counts[11] += pages[1];
      result.counts[12] += pages[3];
    }
    if (case_.disorder.any()) check_ends();
  }
  // Every transfer has ended once, or was refused at its store; what has ended well is whole.
  void check_ends() {
    std::uint64_t stored = 0, refused = 0, wrong = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (unsigned context = 0; context < kContexts; ++context) refused += net_.transfer_status(n, context).refused();
    for (const StoreOp& op : ops) {
      if (op.kind != StoreOp::kTransfer) continue;
      ++stored;
      const TransferStore& t = op.transfer;
      const auto end = ended_.find(t.user);
      if (end == ended_.end()) continue;
      ++(end->second == 0 ? result.whole : result.reported);
      if (end->second != 0) continue;
      const std::size_t from = t.read ? t.dst : op.node, to = t.read ? op.node : t.dst;
      const std::uint64_t source = t.read ? t.target : t.own, target = t.read ? t.own : t.target;
      for (std::uint64_t i = 0; i < t.length; ++i)
        wrong += net_.node(to).memory->get(in_memory(t.domain, target + i)) !=
                 value_at(from, in_memory(t.domain, source + i));
    }
    CAPTURE(case_.text());
    CHECK(wrong == 0);
    CHECK(refused == 0);
    CHECK(result.whole + result.reported == stored);
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (const DisorderedPort& port : net_.node(n).between) result.disorder += port.counts();
  }
  std::uint64_t in_memory(unsigned domain, std::uint64_t address) const {
    return case_.translate ? frame_of(domain, address / kPage * kPage) | address % kPage : address;
  }

  Case case_;
  std::mt19937_64 random_;
  NiNetwork net_;
  std::vector<Processor> nodes_;
  Kernel kernel_;
  std::map<std::pair<std::size_t, unsigned>, unsigned> domains_;  // of a node's context
  std::map<std::uint64_t, std::uint64_t> ended_;  // by token: why it failed
};

class Model {
 public:
  Model(const Case& c, const std::vector<StoreOp>& ops, const Kernel& kernel, std::uint64_t end)
      : case_(c),
        ops_(ops),
        topology_(topology_of(c.nodes, c.square)),
        interfaces_{{kCycle,
                     {events_, kCycle, c.nodes},
                     {events_, messages_config(), c.nodes, this,
                      [](void* self, NodeId node, std::uint32_t slot, std::uint64_t, MessageAnswer answer, Cycle at) {
                        static_cast<Model*>(self)->add(
                            {static_cast<std::uint64_t>(at), 'a', node, slot, static_cast<std::uint64_t>(answer)});
                      }},
                     {events_, messages_config(), c.nodes, this,
                      [](void* self, const StoredMessage& m) { static_cast<Model*>(self)->stored(m); }}},
                    {events_, config(), c.nodes, this,
                     [](void* self, NodeId node, std::uint64_t user, TransferEnding ending, Cycle at) {
                       static_cast<Model*>(self)->ended(node, user, ending, at);
                     }},
                    {events_, config(), c.nodes, this,
                     [](void* self, const WrittenPacket& packet) { static_cast<Model*>(self)->written(packet); }}} {
    const NetworkConfig fabric = fabric_of(kCycle, c.line_cycles, 3);
    PacketSink sink{this,
                    [](void* self, const exanet::Packet& packet, Time injected, Time tail) {
                      Model& model = *static_cast<Model*>(self);
                      add_packet(model.result.happenings, packet, injected, tail);
                      exanet::Packet came = packet;
                      std::size_t& number = model.came_[packet.dst][packet.intra_port];
                      if (model.case_.damages(packet.dst, packet.intra_port, number++)) came.marked = 1;
                      model.interfaces_.delivered(came, tail);
                    },
                    [](void* self, NodeId node, std::uint8_t port, std::uint8_t, Time) {
                      static_cast<Model*>(self)->interfaces_.ready(node, port);
                    }};
    sink.gives_back = Interfaces::kGivesBack;
    if (c.disorder.any()) {
      sink.delivered = [](void* self, const exanet::Packet& packet, Time, Time tail) {
        static_cast<Model*>(self)->interfaces_.delivered(packet, tail);
      };
      auto disordered = std::make_unique<DisorderedNetwork>(events_, kCycle, c.disorder, c.nodes, sink);
      disordered->attach(
          make_network(events_, *topology_, fabric,
                       disordered->sink([](void* self, const exanet::Packet& packet, Time injected, Time tail) {
                         add_packet(static_cast<Model*>(self)->result.happenings, packet, injected, tail);
                       })));
      network_ = std::move(disordered);
    } else {
      network_ = make_network(events_, *topology_, fabric, sink);
    }
    interfaces_.attach(*network_);
    for (NodeId n = 0; n < c.nodes; ++n) interfaces_.messages.receiver.open(n, 0, kDomain, 1u << kLogEntries);
    const std::uint32_t on_store = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) {
          Model& model = *static_cast<Model*>(self);
          const StoreOp& op = model.ops_[i];
          if (op.kind == StoreOp::kInvalidation)
            model.interfaces_.transfers.pages().invalidate(static_cast<NodeId>(op.node));
          else if (op.kind == StoreOp::kContext)
            return;  // each store says whose it is
          else if (op.kind == StoreOp::kMessage)
            model.interfaces_.messages.sender.store(static_cast<NodeId>(op.node), op.context, op.message);
          else
            model.interfaces_.transfers.store(static_cast<NodeId>(op.node), op.transfer);
        },
        this);
    Pages& pages = interfaces_.transfers.pages();
    for (const auto& [at, root] : kernel.roots)
      pages.set_root(static_cast<NodeId>(at.first), static_cast<std::uint16_t>(at.second), root);
    pages.read_tables({this, [](void* self, NodeId node, std::uint64_t address) {
                         return static_cast<Model*>(self)->tables_[{node, address}];
                       }});
    const std::uint32_t on_write = events_.add_handler(
        [](void* self, Time, std::uint32_t i, std::uint64_t) {
          Model& model = *static_cast<Model*>(self);
          const TableWrite& write = (*model.writes_)[i];
          model.tables_[{static_cast<NodeId>(write.node), write.address}] = write.entry;
        },
        this);
    writes_ = &kernel.writes;
    for (std::uint32_t i = 0; i < kernel.writes.size(); ++i)
      events_.schedule(kCycle * static_cast<std::int64_t>(kernel.writes[i].cycle), on_write, i);
    // A store is at the interface in the cycle behind that in which the bus took it.
    for (std::uint32_t i = 0; i < ops.size(); ++i)
      events_.schedule(kCycle * static_cast<std::int64_t>(ops[i].taken + 1), on_store, i);
    events_.run_until(kCycle * static_cast<std::int64_t>(end));
    std::sort(result.happenings.begin(), result.happenings.end());
    const TransferSender& sender = interfaces_.transfers;
    const BlockReceiver& blocks = interfaces_.blocks;
    result.counts = {sender.packets(),
                     sender.ended(),
                     sender.repeated(),
                     sender.stale(),
                     blocks.written(),
                     blocks.repeated(),
                     blocks.dropped(),
                     blocks.answered(),
                     interfaces_.messages.sender.sent(),
                     interfaces_.messages.receiver.stored(),
                     pages.walks(),
                     pages.faults(),
                     pages.invalidations()};
  }

  Result result;

 private:
  TransfersConfig config() const {
    TransfersConfig config;
    config.cycle = kCycle;
    config.channels = kChannels;
    config.patience = case_.patience;
    config.tries = case_.tries;
    config.kept_channels = case_.kept;
    config.read_patience = case_.read_patience;
    config.begins = kClearTransfers;
    config.translate = case_.translate;
    config.fault_tries = case_.fault_tries;
    config.memory_read = config.memory_answer = case_.memory_cycles;
    return config;
  }
  MessagesConfig messages_config() const {
    MessagesConfig config;
    config.cycle = kCycle;
    config.contexts = kContexts;
    config.tries = case_.tries;
    config.patience = 8;
    config.begins = kClear;
    config.memory_answer = case_.memory_cycles;
    return config;
  }
  void add(const Happening& h) { result.happenings.push_back(h); }
  std::uint32_t address(NodeId node) const { return case_.square ? dcid(node % 2, node / 2) : dcid(node, 0); }
  void stored(const StoredMessage& m) {
    add({static_cast<std::uint64_t>(m.at), 's', m.node, m.place % (1u << kLogEntries),
         std::uint64_t{address(m.src)} << 40 | m.word.number});
  }
  void written(const WrittenPacket& packet) {
    std::uint64_t target = interfaces_.transfers.target(packet.src, packet.node, packet.word);
    if (case_.translate) target = packet.frame << 12 | target % kPage;
    add({static_cast<std::uint64_t>(packet.at), 'w', packet.node, (target + packet.bytes - 1) / 16 * 16, 0});
  }
  void ended(NodeId node, std::uint64_t token, TransferEnding ending, Cycle at) {
    const auto op = std::find_if(ops_.begin(), ops_.end(), [&](const StoreOp& o) {
      return o.kind == StoreOp::kTransfer && o.transfer.user == token;
    });
    if (!op->transfer.notify) return;
    std::uint64_t word = kEnds + 8 * token;
    if (case_.translate) {
      const Pages& pages = interfaces_.transfers.pages();
      if (pages.fault(node, Pages::kEnd) != TransferEnding::kWhole) return;  // it is not written
      word = pages.frame(node, Pages::kEnd) << 12 | word % kPage;
    }
    add({static_cast<std::uint64_t>(at), 'w', node, word / 16 * 16, token << 8 | static_cast<std::uint64_t>(ending)});
  }

  Case case_;
  const std::vector<StoreOp>& ops_;
  EventQueue events_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Network> network_;
  Interfaces interfaces_;
  std::map<std::pair<NodeId, std::uint64_t>, std::uint64_t> tables_;
  const std::vector<TableWrite>* writes_ = nullptr;
  std::map<NodeId, std::array<std::size_t, 3>> came_;  // packets at each port
};

}  // namespace exanet::gateware::transfers_equality
