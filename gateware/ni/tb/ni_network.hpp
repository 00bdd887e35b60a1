// SPDX-License-Identifier: Apache-2.0
// Verilated nodes with network interface, router and links, each with a processor that stores and loads, and a memory.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "Vni_node.h"
#include "core/spec/interface_port.hpp"
#include "gateware/ni/tb/axi_memory.hpp"
#include "gateware/ni/tb/disorder.hpp"
#include "gateware/ni/tb/dma_port.hpp"
#include "gateware/ni/tb/joined_nodes.hpp"
#include "gateware/ni/tb/page_tables.hpp"
#include "gateware/tb/packet.hpp"
#include "verilated.h"

namespace exanet::gateware {

inline constexpr unsigned kContexts = 16, kMailboxes = 32, kPeers = 64, kChannels = 64;  // as ni_node.sv has them

// A store of the processor: up to 16 bytes of a line, offered in `cycle` or, if others are before it, when these have
// been taken.
struct Store {
  std::uint64_t cycle;
  std::uint32_t address;  // of the line
  Line data{};
  unsigned strobe = 0xffff;
};

// An answer, or an interface's timeout, as it changes a slot.
struct SlotEvent {
  std::uint64_t cycle;
  unsigned slot;
  bool freed;  // or refused, to be sent again
  unsigned reason;
};

struct NiNetworkConfig {
  TransceiverConfig line{.latency_cycles = 20};
  MemoryConfig memory{};
  unsigned timeout = 8, tries = 4, block_timeout = 8, read_timeout = 0, kept_channels = 8, fault_tries = 0;
  bool translate = false;
  // What is at a node's ports before the edge at the cycle's end.
  std::function<void(std::size_t node, const Vni_node& ports)> watch{};
  // Whether the packet that is so many-th to come out of the router at this port of this node is damaged.
  std::function<bool(std::size_t node, unsigned port, std::size_t packet)> damages{};
  double apart = 0;  // share of stores whose address is offered before their beat, and as many the other way round
  DisorderConfig disorder{};
  int before_reset =
      0;  // other than 0: registers and memories hold chance values before the reset, others for each number
};

// The processor's window (exanet_ni).
inline std::uint32_t page(unsigned context) { return 0x1000 * context; }
inline constexpr std::uint32_t kSend = 0x40, kTransfer = 0x80, kFence = 0xa0, kStatus = 0xc0, kRelease = 0xc8,
                               kTransferStatus = 0xd0;
inline constexpr std::uint32_t kContextTable = 0x100000, kConfig = 0x104000, kClearPeer = 0x104010, kCounts = 0x104020,
                               kPageCounts = 0x104070, kInvalidate = 0x104080, kParts = 0x104080, kFault = 0x104090,
                               kMailboxTable = 0x108000, kDomainTable = 0x10c000;

struct NiNode : JoinedNode<Vni_node> {
  std::deque<Store> stores;  // that are to come
  std::vector<std::uint64_t> taken;  // cycle of each that has been
  Receiver in[3], out[3];  // packets into the router, and out of it: messages, answers, transfers
  std::vector<SlotEvent> slot_events;  // of the slots of this node
  std::array<bool, 4 * kContexts> queued{};  // a slot that was freed while it was queued is free when its turn has come
  std::array<unsigned, 4 * kContexts> framed{};  // frames of its message that are to go: then it is not free either
  bool is_held(unsigned slot) const { return queued[slot] || framed[slot] != 0; }
  std::unique_ptr<AxiMemory> memory;
  std::unique_ptr<DmaPort> dma;  // of the same memory
  std::unique_ptr<WalkPort> walks;  // likewise
  std::optional<unsigned> kept_channels;  // other than all have
  unsigned bad_answers = 0;  // of stores, by the bus
  // Of the store that is offered: what has been taken, and in which cycle the later half of it is offered.
  bool address_taken = false, beat_taken = false, beat_later = false;
  std::uint64_t later = 0;
  std::size_t drawn = 0;  // stores for which that has been drawn
  std::vector<DisorderedPort> between;  // at each port, if packets are lost and the like
};

class NiNetwork : public NodeNetwork<NiNetwork, NiNode> {
  friend NodeNetwork<NiNetwork, NiNode>;

 public:
  using Node = NiNode;

  // A ring; or, of four nodes, a torus of two by two.
  explicit NiNetwork(std::size_t nodes, NiNetworkConfig config = {}, bool two_dimensions = false)
      : NodeNetwork(nodes, two_dimensions, config.before_reset), config_(config) {
    for (std::size_t n = 0; n < nodes; ++n) {
      Node& node = nodes_[n];
      for (unsigned kind = 0; kind < 16; ++kind) node.router.set_type_port(kind, spec::interface_port(kind));
      MemoryConfig memory = config.memory;
      memory.seed += n;
      node.memory = std::make_unique<AxiMemory>(memory);
      node.dma = std::make_unique<DmaPort>(*node.memory, memory);
      node.walks = std::make_unique<WalkPort>(*node.memory, memory);
      for (unsigned p = 0; p < 3 && config.disorder.any(); ++p) node.between.emplace_back(config_.disorder, n, p);
      start(node);
    }
    join(config.line);
    for (Node& node : nodes_) configure(node);
    run_until_stored();
  }
  const NiNetworkConfig& config() const { return config_; }

  // --- What processors store. Without a cycle: as soon as what was stored before has been taken.
  void store(std::size_t n, const Store& store) { nodes_[n].stores.push_back(store); }
  void store64(std::size_t n, std::uint32_t address, std::uint64_t value, std::uint64_t cycle = 0) {
    Store store{cycle, address & ~0xfu, {}, 0xffu << (address & 8)};
    for (unsigned i = 0; i < 8; ++i) store.data[(address & 8) + i] = static_cast<std::uint8_t>(value >> 8 * i);
    nodes_[n].stores.push_back(store);
  }
  void configure(Node& node) { store64(static_cast<std::size_t>(&node - nodes_.data()), kConfig, config_word(node)); }
  void open_context(std::size_t n, unsigned context, unsigned pdid, bool enabled = true) {
    spec::NiContext word;
    word.set_pdid(pdid);
    word.set_enabled(enabled);
    store64(n, kContextTable + 16 * context, value_of(word));
  }
  void open_mailbox(std::size_t n, unsigned mailbox, unsigned pdid, std::uint64_t address, unsigned log_entries,
                    bool open = true) {
    spec::NiMailbox word;
    word.set_line(address / 128);
    word.set_log_entries(log_entries);
    word.set_pdid(pdid);
    word.set_open(open);
    store64(n, kMailboxTable + 16 * mailbox, value_of(word));
  }
  // --- Pages. A protection domain has its first table at this address, or none.
  void open_domain(std::size_t n, unsigned domain, std::uint64_t root, bool valid = true) {
    spec::NiDomain word;
    word.set_valid(valid);
    word.set_root(root / kPage);
    store64(n, kDomainTable + 16 * domain, value_of(word));
  }
  void invalidate(std::size_t n) { store64(n, kInvalidate, 0); }
  void take_fault(std::size_t n) { store64(n, kFault, 0); }
  spec::NiFault fault(std::size_t n) {
    spec::NiFault fault;
    const std::uint64_t value = load(n, kFault)[0];
    fault.raw = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
    return fault;
  }
  // Pages walked to, faults, faults that were lost, invalidations that are over.
  std::array<std::uint32_t, 4> page_counts(std::size_t n) {
    const auto pair = load(n, kPageCounts);
    return {static_cast<std::uint32_t>(pair[0]), static_cast<std::uint32_t>(pair[0] >> 32),
            static_cast<std::uint32_t>(pair[1]), static_cast<std::uint32_t>(pair[1] >> 32)};
  }
  void release(std::size_t n, unsigned context, unsigned mailbox, unsigned place, std::uint64_t cycle = 0) {
    spec::MailboxRelease word;
    word.set_mailbox(mailbox);
    word.set_place(place);
    store64(n, page(context) + kRelease, value_of(word), cycle);
  }
  void clear_peer(std::size_t n, unsigned place) { store64(n, kClearPeer, place); }
  // The store that sends.
  void send(std::size_t n, unsigned context, std::uint32_t to, unsigned mailbox, unsigned length,
            std::uint64_t cycle = 0, bool behind = false) {
    spec::MessageSend word;
    word.set_behind(behind);
    word.set_dcid(to);
    word.set_mailbox(mailbox);
    word.set_length(length);
    store64(n, page(context) + kSend, value_of(word), cycle);
  }
  // A message by stores of 16 bytes; the first one is offered in `cycle`.
  void message(std::size_t n, unsigned context, std::uint32_t to, unsigned mailbox,
               const std::vector<std::uint8_t>& bytes, std::uint64_t cycle = 0) {
    for (std::size_t at = 0; at < bytes.size(); at += 16) {
      Store store{cycle, page(context) + static_cast<std::uint32_t>(at), {}, 0xffff};
      for (std::size_t i = at; i < std::min(at + 16, bytes.size()); ++i) store.data[i - at] = bytes[i];
      this->store(n, store);
    }
    send(n, context, to, mailbox, static_cast<unsigned>(bytes.size()), cycle);
  }

  // A transfer by two stores of 16 bytes; the first one is offered in `cycle`.
  void transfer(std::size_t n, unsigned context, const spec::Transfer& transfer, std::uint64_t cycle = 0) {
    for (unsigned half = 0; half < 2; ++half) {
      Store store{cycle, page(context) + kTransfer + 16 * half, {}, 0xffff};
      for (unsigned i = 0; i < 16; ++i)
        store.data[i] = static_cast<std::uint8_t>(transfer.raw[4 * half + i / 4] >> 8 * (i % 4));
      this->store(n, store);
    }
  }

  // The word that is written behind the next transfers with a fence of this context, by one store of 16 bytes.
  void fence(std::size_t n, unsigned context, const spec::TransferFence& fence, std::uint64_t cycle = 0) {
    Store store{cycle, page(context) + kFence, {}, 0xffff};
    for (unsigned i = 0; i < 16; ++i) store.data[i] = static_cast<std::uint8_t>(fence.raw[i / 4] >> 8 * (i % 4));
    this->store(n, store);
  }

  // --- What processors load, while the network goes on.
  spec::NiStatus status(std::size_t n, unsigned context) {
    spec::NiStatus status;
    const std::uint64_t value = load(n, page(context) + kStatus)[0];
    status.raw = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
    return status;
  }
  spec::NiTransferStatus transfer_status(std::size_t n, unsigned context) {
    spec::NiTransferStatus status;
    const std::uint64_t value = load(n, page(context) + kTransferStatus)[0];
    status.raw = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
    return status;
  }
  // Packets sent, transfers ended, blocks repeated, answers stale; packets written, repeated, dropped, blocks answered.
  std::array<std::uint32_t, 8> transfer_counts(std::size_t n) {
    std::array<std::uint32_t, 8> counts{};
    for (unsigned i = 0; i < 2; ++i) {
      const auto pair = load(n, kCounts + 0x30 + 16 * i);
      for (unsigned k = 0; k < 4; ++k) counts[4 * i + k] = static_cast<std::uint32_t>(pair[k / 2] >> 32 * (k % 2));
    }
    return counts;
  }
  // Sent, done, repeated, stale; stored, refused, repeated, dropped; damaged messages and answers.
  std::array<std::uint32_t, 10> counts(std::size_t n) {
    std::array<std::uint32_t, 10> counts{};
    for (unsigned i = 0; i < 3; ++i) {
      const auto pair = load(n, kCounts + 16 * i);
      for (unsigned k = 0; k < (i < 2 ? 4 : 2); ++k)
        counts[4 * i + k] = static_cast<std::uint32_t>(pair[k / 2] >> 32 * (k % 2));
    }
    return counts;
  }

  // The kernel's changes of mailboxes and nodes that are not over.
  unsigned changes(std::size_t n) { return static_cast<unsigned>(load(n, kCounts + 0x20)[1] >> 32); }
  // What is given up after so many repetitions, also of what has been sent by now.
  void set_tries(std::size_t n, unsigned tries) {
    config_.tries = tries;
    configure(nodes_[n]);
  }
  void set_translate(std::size_t n, bool translate) {
    config_.translate = translate;
    configure(nodes_[n]);
  }
  // So many channels of a node serve others' reads.
  void keep_channels(std::size_t n, unsigned channels) {
    nodes_[n].kept_channels = channels;
    configure(nodes_[n]);
    run_until_stored();
  }
  // The network interface alone is reset, with nothing under way at its ports; its tables are as at the start.
  void reset_interface(std::size_t n) {
    reset_alone(n);
    nodes_[n].queued.fill(false);
    nodes_[n].framed.fill(0);
    configure(nodes_[n]);
    run_until_stored();
  }

 private:
  std::size_t node_at(std::uint32_t dcid) const {
    std::size_t n = 0;
    while (n < nodes_.size() && nodes_[n].dcid != dcid) ++n;
    return n;
  }
  std::uint64_t config_word(const Node& node) const {
    spec::NiConfig word;
    word.set_dcid(node.dcid);
    word.set_y_shift(3);
    word.set_z_shift(6);
    word.set_timeout(config_.timeout);
    word.set_tries(config_.tries);
    word.set_block_timeout(config_.block_timeout);
    word.set_read_timeout(config_.read_timeout);
    word.set_kept_channels(node.kept_channels.value_or(config_.kept_channels));
    word.set_translate(config_.translate);
    word.set_fault_tries(config_.fault_tries);
    return value_of(word);
  }

  void start(Node& node) {
    node.model = std::make_unique<Vni_node>(&context_);
    Vni_node& m = *node.model;
    node.drive_router();
    m.clk_i = m.rst_ni = m.ni_rst_ni = 0;
    m.s_axi_awvalid = m.s_axi_wvalid = m.s_axi_arvalid = 0;
    m.s_axi_awlen = m.s_axi_arlen = 0;
    m.s_axi_awsize = m.s_axi_arsize = 4;
    m.s_axi_awburst = m.s_axi_arburst = 1;
    m.s_axi_wlast = 1;
    m.s_axi_bready = m.s_axi_rready = 1;
    m.m_axi_awready = m.m_axi_wready = m.m_axi_bvalid = m.m_axi_bresp = 0;
    m.m_axi_dma_awready = m.m_axi_dma_wready = m.m_axi_dma_bvalid = m.m_axi_dma_bresp = 0;
    m.m_axi_dma_arready = m.m_axi_dma_rvalid = m.m_axi_dma_rresp = 0;
    m.m_axi_walk_arready = m.m_axi_walk_rvalid = m.m_axi_walk_rresp = 0;
    m.tx_ready_i = m.rx_valid_i = m.damages_i = 0;
    m.between_i = !node.between.empty();
    m.put_release_i = 0;
    m.rx_data_i[0] = m.rx_data_i[1] = 0;
  }
  void drive(Node& node) {
    Vni_node& m = *node.model;
    const bool offers = !node.stores.empty() && node.stores.front().cycle <= cycle_;
    if (offers && config_.apart > 0 && node.drawn == node.taken.size()) {
      ++node.drawn;
      const double share = std::uniform_real_distribution<>{}(random_);
      node.beat_later = share < config_.apart;
      node.later = cycle_ + (share < 2 * config_.apart ? 1 + random_() % 8 : 0);
    }
    const bool all = cycle_ >= node.later;
    m.s_axi_awvalid = offers && !node.address_taken && (all || node.beat_later);
    m.s_axi_wvalid = offers && !node.beat_taken && (all || !node.beat_later);
    if (offers) {
      const Store& store = node.stores.front();
      m.s_axi_awaddr = store.address;
      m.s_axi_wstrb = static_cast<SData>(store.strobe);
      for (unsigned w = 0; w < 4; ++w) m.s_axi_wdata[w] = 0;
      for (unsigned i = 0; i < 16; ++i)
        m.s_axi_wdata[i / 4] |= static_cast<std::uint32_t>(store.data[i]) << 8 * (i % 4);
    }
    m.s_axi_arvalid = node.asks;
    for (unsigned p = 0; p < 3 && config_.damages; ++p) {
      const bool damaged =
          config_.damages(static_cast<std::size_t>(&node - nodes_.data()), p, node.out[p].arrivals.size());
      m.damages_i = static_cast<CData>((m.damages_i & ~(1u << p)) | unsigned{damaged} << p);
    }
    for (unsigned p = 0; p < node.between.size(); ++p) {
      const spec::Flit flit = node.between[p].next(cycle_);
      for (unsigned w = 0; w < flit.raw.size(); ++w) m.put_i[p][w] = flit.raw[w];
      const bool releases = node.between[p].releases();
      m.put_release_i = static_cast<CData>((m.put_release_i & ~(1u << p)) | unsigned{releases} << p);
    }
    node.memory->drive(m, cycle_);
    node.dma->drive(m, cycle_);
    node.walks->drive(m, cycle_);
  }

  // What is at the ports before the edge at the cycle's end.
  void sample(Node& node) {
    const Vni_node& m = *node.model;
    node.address_taken |= m.s_axi_awvalid && m.s_axi_awready;
    node.beat_taken |= m.s_axi_wvalid && m.s_axi_wready;
    if (node.address_taken && node.beat_taken) {
      node.address_taken = node.beat_taken = false;
      node.stores.pop_front();
      node.taken.push_back(cycle_);
    }
    node.bad_answers += m.s_axi_bvalid && m.s_axi_bresp != 0;
    take_load(node);
    for (unsigned p = 0; p < 3; ++p) {
      spec::Flit in, out;
      for (unsigned w = 0; w < in.raw.size(); ++w) in.raw[w] = m.in_o[p][w], out.raw[w] = m.out_o[p][w];
      if (in.valid()) node.in[p].accept(in, cycle_);
      if (out.valid()) node.out[p].accept(out, cycle_);
      if (node.between.empty()) continue;
      if (out.valid())
        node.between[p].accept(
            out, cycle_, [this](std::uint32_t dcid) { return node_at(dcid); },
            [this](std::size_t n) { return nodes_[n % nodes_.size()].dcid; });
      if ((m.release_o >> p & 1u) != 0) node.between[p].given_back();
    }
    if (m.freed_o || m.refused_o) node.slot_events.push_back({cycle_, m.slot_o, m.freed_o != 0, m.reason_o});
    if (m.popped_o) node.queued[m.popped_slot_o] = false;
    if (m.pushed_o) node.queued[m.pushed_slot_o] = true;
    if (m.framed_o) ++node.framed[m.framed_slot_o];
    if (m.fetched_o) --node.framed[m.fetched_slot_o];
    node.memory->sample(m, cycle_);
    node.dma->sample(m, cycle_);
    node.walks->sample(m, cycle_);
    if (config_.watch) config_.watch(static_cast<std::size_t>(&node - nodes_.data()), m);
  }

  NiNetworkConfig config_;
  std::mt19937_64 random_{1};
};

// A process that reads a mailbox in memory, by the phase of its entries.
class MailboxReader {
 public:
  struct Message {
    spec::MailboxEntry entry;
    std::vector<std::uint8_t> bytes;
  };

  MailboxReader(std::uint64_t address, unsigned log_entries) : address_(address), entries_(1u << log_entries) {}

  unsigned place() const { return place_ % (2 * entries_); }
  std::optional<Message> poll(const AxiMemory& memory) {
    const std::uint64_t end = address_ + 128 * std::uint64_t{place_ % entries_} + 128;
    const Line info = memory.line(end - 16);
    Message message;
    for (unsigned i = 0; i < 16; ++i) message.entry.raw[i / 4] |= std::uint32_t{info[i]} << 8 * (i % 4);
    if (message.entry.phase() != (place_ / entries_ + 1) % 2) return std::nullopt;
    const auto length = static_cast<unsigned>(message.entry.length()), words = (length + 15) / 16;
    for (unsigned i = 0; i < length; ++i)
      message.bytes.push_back(memory.line(end - 16 - 16 * (words - i / 16))[i % 16]);
    ++place_;
    return message;
  }

 private:
  std::uint64_t address_;
  unsigned entries_, place_ = 0;
};

}  // namespace exanet::gateware
