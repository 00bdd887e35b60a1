// SPDX-License-Identifier: Apache-2.0
// Runs a case on the Verilated network interfaces: processors of their nodes store transfers and messages at drawn
// times.
//
// Every store is written down with the cycle in which the bus has taken it, and what happens with its cycle. Where
// packets are lost, each transfer has to end once, and what has ended well has to be whole in memory. Limits: faults of
// what is sent are seen nowhere, so a case ends when nothing has happened for long.
#pragma once

#include "gateware/ni/tb/transfers_case.hpp"

namespace exanet::gateware::transfers_equality {

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
              .block_timeout = c.timeout,
              .read_timeout = c.read_timeout,
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
      most = kRound * (3 + std::max<std::uint64_t>(32 * std::max(case_.timeout, 1u), 1u << case_.read_timeout));
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
  // What shows that a transfer has ended, if it is that which was written: the same in both words of the line.
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

}  // namespace exanet::gateware::transfers_equality
