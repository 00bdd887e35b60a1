// SPDX-License-Identifier: Apache-2.0
// Puts the network interface's stores on the buses of Verilated nodes and reads what these write to memory, at the
// models' cycles. Limits: verilated_interfaces.hpp.
#include "core/nic/exanet/verilated_interfaces.hpp"

#include <algorithm>

#include "core/spec/packet.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

// The window of an interface (gateware/ni/rtl/exanet_ni.sv), and that of a unit (exanet_reduce.sv).
constexpr std::uint32_t kBus = 0, kSend = 0x40, kTransfer = 0x80, kFence = 0xa0, kRelease = 0xc8,
                        kContextTable = 0x100000, kConfig = 0x104000, kMailboxTable = 0x108000;
constexpr std::uint32_t kReduceBus = 1, kCall = 0x200, kTreeTable = 0x80000, kReduceConfig = 0x80100,
                        kNeighbours = 0x81000, kAbove = 8;
constexpr std::uint32_t page(std::uint32_t context) { return 0x1000 * context; }
constexpr std::uint32_t reduce_page(std::uint32_t tree, std::uint32_t branch) {
  return 0x1000 * (kReductionBranches * tree + branch);
}

// Where mailboxes are in memory, and results of reductions, a place for each branch of a tree.
constexpr std::uint64_t kRing = 1u << 20, kEntryBytes = 128, kResultBytes = 1024;
constexpr std::uint64_t kPieceMask = (std::uint64_t{1} << 46) - 1;

template <typename Record>
Record record_of(const std::uint32_t* words) {
  Record record;
  std::copy_n(words, record.raw.size(), record.raw.begin());
  return record;
}

}  // namespace

void VerilatedInterfaces::Burst::line(std::uint32_t address, const Line& data, bool begins) {
  exanet_store store{bus_, address, 0xffff, begins, {}};
  std::copy(data.begin(), data.end(), store.data);
  stores_.push_back(store);
}

// Of 8 bytes.
template <typename Record>
void VerilatedInterfaces::Burst::word(std::uint32_t address, const Record& record, bool begins) {
  static_assert(std::tuple_size_v<decltype(record.raw)> == 2);
  const std::uint32_t half = address / 8 % 2;
  exanet_store store{bus_, address & ~15u, 0xffu << 8 * half, begins, {}};
  std::copy(record.raw.begin(), record.raw.end(), store.data + 2 * half);
  stores_.push_back(store);
}

VerilatedInterfaces::VerilatedInterfaces(NicContext& context, std::size_t nodes, NodeBuses& buses,
                                         GatewareListener& listener)
    : context_(context), buses_(buses), listener_(listener), slots_(nodes) {
  for (NodeId node = 0; node < nodes; ++node) configure(node);
  const auto cycles = [&](Time time) { return static_cast<std::uint32_t>(memory_cycles(context, time)); };
  const NiConfig& ni = context.config;
  buses.start({cycles(ni.memory_read), cycles(ni.memory_write), cycles(ni.mailbox)}, this,
              [](void* self, const exanet_seen& seen, std::int64_t cycle) {
                static_cast<VerilatedInterfaces*>(self)->seen(seen, cycle);
              });
}

void VerilatedInterfaces::go(NodeId node, const Burst& burst, Cycle from) {
  for (const exanet_store& store : burst.stores()) buses_.store(node, from, store);
}

// What a kernel stores before programs run.
void VerilatedInterfaces::configure(NodeId node) {
  Burst bus(kBus), reduces(kReduceBus);
  spec::NiConfig config;
  config.set_dcid(buses_.address(node));
  config.set_y_shift(buses_.shift(1));
  config.set_z_shift(buses_.shift(2));
  config.set_timeout(GatewareShape::kMessageTimeout);
  config.set_block_timeout(GatewareShape::block_timeout(*context_.network));
  config.set_kept_channels(GatewareShape::kKept);
  bus.word(kConfig, config);
  for (std::uint32_t number = 0; number < GatewareShape::kContexts; ++number) {
    spec::NiContext word;
    word.set_pdid(GatewareShape::kDomain);
    word.set_enabled(1);
    bus.word(kContextTable + 16 * number, word);
  }
  spec::NiMailbox mailbox;
  mailbox.set_line(kRing / kEntryBytes);
  mailbox.set_log_entries(GatewareShape::kLogEntries);
  mailbox.set_pdid(GatewareShape::kDomain);
  mailbox.set_open(1);
  bus.word(kMailboxTable + 16 * GatewareShape::kMailbox, mailbox);
  spec::NiReduceConfig unit;  // nothing is lost, so nothing is sent again
  unit.set_dcid(buses_.address(node));
  reduces.word(kReduceConfig, unit);
  EXANET_CHECK(buses_.configure(node, bus.stores()) && buses_.configure(node, reduces.stores()),
               "interfaces that are busy before they are configured", 0, node, 0);
}

bool VerilatedInterfaces::slot_is_free(NodeId node, std::uint32_t slot) const {
  return slots_[node][slot] <= cycle_of(context_.events.now(), context_.router.cycle);
}

void VerilatedInterfaces::store(NodeId id, std::uint32_t slot, const MessageStore& message, Cycle from) {
  slots_[id][slot] = kUnknown;
  Burst bus(kBus);
  spec::MessageSend send;
  send.set_dcid(buses_.address(message.dst));
  send.set_mailbox(message.mailbox);
  send.set_length(message.bytes);
  bus.word(page(slot / 4) + kSend, send, true);
  go(id, bus, from);
}

void VerilatedInterfaces::store(NodeId id, const TransferStore& transfer, Cycle from) {
  Burst bus(kBus);
  const auto line = [](const auto& record, unsigned half) {
    Line line;
    std::copy_n(record.raw.begin() + 4 * half, 4, line.begin());
    return line;
  };
  constexpr std::uint32_t kContext = 0;
  if (transfer.fence) {
    spec::TransferFence fence;
    fence.set_word(transfer.fence_word / 8);
    fence.set_value(transfer.user);
    bus.line(page(kContext) + kFence, line(fence, 0));
  }
  spec::Transfer word;
  word.set_own(transfer.own);
  word.set_target(transfer.target);
  word.set_length(transfer.length);
  word.set_dcid(buses_.address(transfer.dst));
  word.set_end_word(transfer.end_word / 8);
  word.set_notify(transfer.notify);
  word.set_fence(transfer.fence);
  word.set_read(transfer.read);
  word.set_token(transfer.user & 0xffff);
  bus.line(page(kContext) + kTransfer, line(word, 0));
  bus.line(page(kContext) + kTransfer + 16, line(word, 1), true);
  go(id, bus, from);
}

void VerilatedInterfaces::release(NodeId node, std::uint32_t place, Cycle from) {
  spec::MailboxRelease word;
  word.set_mailbox(GatewareShape::kMailbox);
  word.set_place(place);
  Burst bus(kBus);
  bus.word(page(0) + kRelease, word);
  go(node, bus, from);
}

void VerilatedInterfaces::open(NodeId node, std::uint8_t tree, const ReductionPlace& place, Cycle at) {
  Burst bus(kReduceBus);
  const auto neighbour = [&](std::uint32_t branch, const ReductionPlace::Neighbour& at_it) {
    spec::NiReduceNode word;
    word.set_dcid(buses_.address(at_it.node));
    word.set_tree(at_it.tree);
    word.set_branch(at_it.branch);
    bus.word(kNeighbours + 256 * tree + 16 * branch, word);
  };
  for (std::uint32_t branch = 0; branch < kReductionBranches; ++branch) {
    if ((place.branches >> branch & 1) == 0) continue;
    if ((place.locals >> branch & 1) == 0) {
      neighbour(branch, place.below[branch]);
      continue;
    }
    spec::NiReducePlace results;
    results.set_line(1 + kReductionBranches * tree + branch);
    bus.word(kNeighbours + 256 * tree + 16 * branch, results);
  }
  if (!place.root) neighbour(kAbove, place.above);
  spec::NiReduceTree word;
  word.set_pdid(GatewareShape::kDomain);
  word.set_epoch(place.epoch);
  word.set_branches(place.branches);
  word.set_locals(place.locals);
  word.set_root(place.root);
  word.set_enabled(1);
  bus.word(kTreeTable + 16 * tree, word);
  if (!context_.zero_cost || !buses_.configure(node, bus.stores())) go(node, bus, at - 1);
}

void VerilatedInterfaces::call(const ReductionCall& call, Cycle at) {
  Burst bus(kReduceBus);
  const std::uint32_t first = reduce_page(call.tree, call.branch);
  for (std::uint32_t word = 0; word < words_of(call.shape.bytes); ++word) bus.line(first + 16 * word, {});
  spec::ReduceCall word;
  word.set_element(call.shape.element);
  word.set_operation(call.shape.operation);
  word.set_bytes(call.shape.bytes);
  bus.word(first + kCall, word);
  go(call.node, bus, at - 1);
}

void VerilatedInterfaces::seen(const exanet_seen& seen, Cycle cycle) {
  switch (seen.what) {
    case EXANET_SEEN_FREE:
      slots_[seen.node][seen.place] = cycle + 1;
      return listener_.message_answered(seen.node, cycle);
    case EXANET_SEEN_SERVED: return listener_.transfer_served(seen.address >> kPieceBits);
    default: break;
  }
  constexpr std::uint32_t kMailboxes = 0, kTransfers = 1;
  if (seen.place == kMailboxes) return entry_written(seen, cycle);
  if (seen.place == kTransfers) return transfer_written(seen, cycle);
  end_written(seen, cycle);
}

void VerilatedInterfaces::entry_written(const exanet_seen& seen, Cycle cycle) {
  const auto entry = record_of<spec::MailboxEntry>(seen.data);
  listener_.message_stored(buses_.node_at(static_cast<std::uint32_t>(entry.source_dcid())),
                           static_cast<std::uint32_t>(entry.channel()), seen.node, cycle);
}

void VerilatedInterfaces::transfer_written(const exanet_seen& seen, Cycle cycle) {
  EXANET_CHECK(seen.sound != 0, "bytes of a transfer that were not sent", context_.events.now().ps(), seen.node,
               seen.address);
  if (seen.address < kFences) return listener_.transfer_written(seen.address >> kPieceBits, false, seen.bytes, cycle);
  const std::uint64_t piece = (seen.address & kPieceMask) / 8;
  if (seen.address < kEnds) return listener_.transfer_written(piece, true, seen.bytes, cycle);
  const auto end = record_of<spec::TransferEnd>(seen.data + seen.address / 8 % 2 * 2);
  listener_.transfer_ended(seen.node, piece, static_cast<TransferEnding>(end.failure()), cycle);
}

void VerilatedInterfaces::end_written(const exanet_seen& seen, Cycle cycle) {
  const auto end = record_of<spec::ReduceEnd>(seen.data);
  const std::uint64_t place = seen.address / kResultBytes - 1;
  listener_.reduction_ended({seen.node, static_cast<std::uint8_t>(place / kReductionBranches),
                             static_cast<std::uint8_t>(place % kReductionBranches),
                             static_cast<std::uint32_t>(end.number()), static_cast<ReductionEnding>(end.reason()),
                             static_cast<std::uint16_t>(end.bytes()), cycle});
}

}  // namespace exanet
