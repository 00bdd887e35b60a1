// SPDX-License-Identifier: Apache-2.0
// The network interfaces of a node, Verilated as one part (node_interfaces.sv), between two buses of stores, a memory
// and four intra-tile ports of its router, which it drives from registers.
//
// It is at rest when nothing has come to it or out of it for kRest cycles, no message or transfer of its own is under
// way, and nothing from memory is pending. Then its counters of scans alone go on, and it is not evaluated; before it
// is again, they are moved on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "Vnode_interfaces.h"
#include "Vnode_interfaces___024root.h"
#include "core/spec/integrity.hpp"
#include "core/spec/node_library.h"
#include "gateware/node/model/memory_ports.hpp"
#include "gateware/node/model/parts.hpp"

namespace exanet::gateware {

class NodeInterfaces {
 public:
  static constexpr unsigned kPorts = 4;

  explicit NodeInterfaces(VerilatedContext* context)
      : model_(std::make_unique<Vnode_interfaces>(context, "interfaces")) {
    reset();
  }
  void set_memory(const exanet_memory& memory) { memory_ = memory; }
  // Where it is at rest the stores have their effect, and no cycle passes; else false.
  bool configure(const exanet_store* stores, std::size_t count);

  void store(const exanet_store& store) {
    stores_[store.bus].push_back(store);
    wake();
  }
  bool at_rest() const { return still_ >= kRest && own_ == 0; }
  bool takes(unsigned bus) const { return (model_->store_ready_o >> bus & 1) != 0; }  // a store in the coming cycle

  // Before a cycle's edge, in this order: what comes from the router, then see() and what goes to it, then edge().
  void eject(unsigned port, const spec::Flit& flit, std::uint64_t cycle) {
    catch_up(cycle);
    for (unsigned w = 0; w < flit.raw.size(); ++w) model_->flit_i[port][w] = flit.raw[w];
    wake();
  }
  void give_space(unsigned port, std::uint32_t credit, std::uint64_t cycle) {
    catch_up(cycle);
    model_->credit_i[port] = credit;
    wake();
  }
  template <typename See>
  void see(std::uint64_t cycle, const See& see);
  spec::Flit injected(unsigned port) const {
    spec::Flit flit;
    for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = model_->flit_o[port][w];
    return flit;
  }
  unsigned released() const { return model_->release_o; }
  void edge();

 private:
  // Longer than anything goes on in it that is not seen: the longest vectors of eight branches are added up.
  static constexpr unsigned kRest = 512;
  static constexpr std::uint64_t kScans = 16;  // cycles: what scans do repeats itself
  static constexpr unsigned kMailboxes = 0, kTransfers = 1, kReductions = 2;

  // What goes on at rest, in units of scans, of rounds of them, and of cycles.
  struct Scans {
    std::uint16_t message, message_round, block, block_round;
    std::uint8_t tree_clock;
  };
  static constexpr unsigned kSlots = 1024, kRounds = 4096;
  Scans scans() const;
  void set_scans(const Scans& scans);
  void wake() { still_ = 0; }
  void clock() {
    model_->clk_i = 0;
    model_->eval();
    model_->clk_i = 1;
    model_->eval();
  }
  void reset();
  void catch_up(std::uint64_t cycle);
  void pass(std::uint64_t cycles);
  template <typename See>
  void see_memory(std::uint64_t cycle, const See& see);

  std::unique_ptr<Vnode_interfaces> model_;
  exanet_memory memory_{1, 1, 1};
  std::deque<exanet_store> stores_[2];
  WritePort writes_[3];
  ReadPort reads_;
  std::array<bool, 1024> freed_{}, queued_{};  // by slot
  std::array<std::uint8_t, 1024> framed_{};  // frames of its message that are to go
  std::uint64_t cycle_ = 0;  // that comes next
  std::uint64_t own_ = 0;  // messages and transfers that have no answer, or end
  unsigned still_ = 0;
};

inline void NodeInterfaces::reset() {
  Vnode_interfaces& m = *model_;
  m.rst_ni = 0;
  for (int half = 0; half < 16; ++half) {
    m.clk_i = half % 2;
    m.eval();
  }
  m.rst_ni = 1;
  std::uint64_t cycles = 0;
  for (; !m.ready_o || cycles % kScans != 0; ++cycles) clock();
  for (std::uint64_t more = 0; more < kRest; ++more) clock();
  // Scans are counted from when the tables are clear, and of reductions from the reset on: at cycle 0 all of them
  // begin. The one of transfers that is due in that cycle is of the slot before the first.
  set_scans({0, 0, kSlots - 1, kRounds - 1, 0});
  still_ = kRest;
}

inline NodeInterfaces::Scans NodeInterfaces::scans() const {
  const auto& all = *model_->rootp;
  return {all.node_interfaces__DOT__u_ni__DOT__u_packetizer__DOT__scan_q,
          all.node_interfaces__DOT__u_ni__DOT__u_packetizer__DOT__round_q,
          all.node_interfaces__DOT__u_ni__DOT__gen_transfers__DOT__u_transfers__DOT__scan_q,
          all.node_interfaces__DOT__u_ni__DOT__gen_transfers__DOT__u_transfers__DOT__round_q,
          all.node_interfaces__DOT__u_reduce__DOT__u_reduce__DOT__clock_q};
}

inline void NodeInterfaces::set_scans(const Scans& scans) {
  auto& all = *model_->rootp;
  all.node_interfaces__DOT__u_ni__DOT__u_packetizer__DOT__scan_q = scans.message;
  all.node_interfaces__DOT__u_ni__DOT__u_packetizer__DOT__round_q = scans.message_round;
  all.node_interfaces__DOT__u_ni__DOT__gen_transfers__DOT__u_transfers__DOT__scan_q = scans.block;
  all.node_interfaces__DOT__u_ni__DOT__gen_transfers__DOT__u_transfers__DOT__round_q = scans.block_round;
  all.node_interfaces__DOT__u_reduce__DOT__u_reduce__DOT__clock_q = scans.tree_clock;
}

inline bool NodeInterfaces::configure(const exanet_store* stores, std::size_t count) {
  if (!at_rest()) return false;
  for (std::size_t i = 0; i < count; ++i) store(stores[i]);
  const auto nothing = [](const exanet_seen&) {};
  const std::uint64_t began = cycle_;
  const Scans before = scans();
  for (unsigned left = kRest; left > 0; left -= stores_[0].empty() && stores_[1].empty()) {
    see(cycle_, nothing);
    edge();
  }
  while ((cycle_ - began) % kScans != 0) {
    see(cycle_, nothing);
    edge();
  }
  set_scans(before);
  cycle_ = began;
  still_ = kRest;
  return true;
}

// So many cycles at rest, a multiple of kScans.
inline void NodeInterfaces::pass(std::uint64_t cycles) {
  Scans to = scans();
  const auto scan = [](std::uint16_t& slot, std::uint16_t& round, std::uint64_t scans) {
    const std::uint64_t then = slot + scans;
    round = static_cast<std::uint16_t>((round + then / kSlots) % kRounds);
    slot = static_cast<std::uint16_t>(then % kSlots);
  };
  scan(to.message, to.message_round, cycles / 2);
  scan(to.block, to.block_round, cycles / kScans);
  to.tree_clock = static_cast<std::uint8_t>(to.tree_clock + cycles);
  set_scans(to);
}

inline void NodeInterfaces::catch_up(std::uint64_t cycle) {
  if (cycle == cycle_) return;
  const std::uint64_t missed = cycle - cycle_;
  pass(missed / kScans * kScans);
  for (std::uint64_t i = 0; i < missed % kScans; ++i) clock();
  cycle_ = cycle;
}

// Offers what this cycle brings, and reports what is at the ports before the edge at its end.
template <typename See>
void NodeInterfaces::see(std::uint64_t cycle, const See& see) {
  Vnode_interfaces& m = *model_;
  catch_up(cycle);
  m.store_valid_i = 0;
  for (unsigned bus = 0; bus < 2; ++bus) {
    if (stores_[bus].empty()) continue;
    const exanet_store& store = stores_[bus].front();
    m.store_valid_i |= static_cast<CData>(1u << bus);
    m.store_address_i[bus] = store.address;
    for (unsigned w = 0; w < 4; ++w) m.store_data_i[bus][w] = store.data[w];
    m.store_strobe_i[bus] = static_cast<SData>(store.strobe);
  }
  m.written_i = 0;
  for (unsigned p = 0; p < 3; ++p) m.written_i |= static_cast<CData>(unsigned{writes_[p].answers(cycle)} << p);
  m.read_valid_i = reads_.offers(cycle);
  if (m.read_valid_i) {
    const MemoryWord word = reads_.word();
    for (unsigned w = 0; w < 4; ++w) m.read_data_i[w] = word[w];
  }
  m.clk_i = 0;
  m.eval();

  for (unsigned bus = 0; bus < 2; ++bus) {
    if (stores_[bus].empty()) continue;
    wake();
    if (!takes(bus)) continue;
    own_ += stores_[bus].front().begins;
    stores_[bus].pop_front();
  }
  if (m.freed_o) {
    wake();
    freed_[m.freed_slot_o] = true;
  }
  const auto report_free = [&](unsigned slot) {
    if (!freed_[slot] || queued_[slot] || framed_[slot] != 0) return;
    freed_[slot] = false;
    --own_;
    see(exanet_seen{EXANET_SEEN_FREE, slot, 0, 1, 0, {}, 0});
  };
  if (m.popped_o) queued_[m.popped_slot_o] = false;
  if (m.pushed_o) queued_[m.pushed_slot_o] = true;
  if (m.framed_o) ++framed_[m.framed_slot_o];
  if (m.fetched_o) --framed_[m.fetched_slot_o];
  if (m.popped_o) report_free(m.popped_slot_o);
  if (m.fetched_o) report_free(m.fetched_slot_o);
  if (m.freed_o) report_free(m.freed_slot_o);
  if (m.served_o) see(exanet_seen{EXANET_SEEN_SERVED, 0, 0, 1, m.served_address_o, {}, 0});
  see_memory(cycle, see);
}

template <typename See>
void NodeInterfaces::see_memory(std::uint64_t cycle, const See& see) {
  Vnode_interfaces& m = *model_;
  const std::uint32_t latency[] = {memory_.mailbox_cycles, memory_.write_cycles, memory_.mailbox_cycles};
  for (unsigned p = 0; p < 3; ++p) {
    WritePort& port = writes_[p];
    if ((m.written_i & m.written_ready_o) >> p & 1) port.answered();
    if (m.write_valid_o >> p & 1) port.address(m.write_address_o[p]);
    if (m.data_valid_o >> p & 1) {
      wake();
      MemoryWord word;
      for (unsigned w = 0; w < 4; ++w) word[w] = m.data_o[p][w];
      port.beat(word, m.data_strobe_o[p], m.data_last_o >> p & 1);
    }
    while (port.next()) {
      port.answer_at(cycle + latency[p]);
      const WritePort::Burst& burst = port.burst();
      const bool holds = p != kTransfers || burst.address >= EXANET_WORDS || burst.as_read;
      exanet_seen seen{EXANET_SEEN_WRITTEN, p, burst.bytes, holds, burst.address, {}, 0};
      for (unsigned w = 0; w < 4; ++w) seen.data[w] = burst.last[w];
      if (p == kTransfers && burst.address >= EXANET_ENDS) --own_;
      see(seen);
    }
  }
  if (m.read_valid_i && m.read_ready_o) reads_.taken();
  if (m.read_valid_o) {
    wake();
    reads_.read(m.read_address_o, m.read_beats_o + 1u, cycle + memory_.read_cycles);
  }
}

inline void NodeInterfaces::edge() {
  Vnode_interfaces& m = *model_;
  m.clk_i = 1;
  m.eval();
  ++cycle_;
  for (unsigned p = 0; p < kPorts; ++p) {
    m.flit_i[p][4] = 0;
    m.credit_i[p] = 0;
  }
  bool moving = m.release_o != 0 || !reads_.idle();
  for (unsigned p = 0; p < kPorts; ++p) moving = moving || (m.flit_o[p][4] & 8u) != 0;
  for (const WritePort& port : writes_) moving = moving || !port.idle();
  still_ = moving ? 0 : still_ + 1;
}

}  // namespace exanet::gateware
