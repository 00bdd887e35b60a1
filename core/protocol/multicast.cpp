// SPDX-License-Identifier: Apache-2.0
// Messages to a group of ranks, which routers copy. A short one goes as an eager message does, into each member's
// mailbox. A longer one is a transfer that each member's interface writes to memory: its receive must have been posted,
// which whoever sends has to have been told by the members. At a member both are matched as any message. Limits: the
// contents of a long one do not travel: replays send it, whose messages have none.
//
//   sent ──▶ (each member: arrived ──▶ matched, discarded or refused) ──▶ over when all are, and all of a transfer has left
#include <algorithm>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

struct MulticastMessage : Operation<SendDescriptor> {
  // By member: what it is to the matching there.
  std::vector<SendDescriptor> sends;
  std::vector<Message> messages;
  std::uint32_t left = 0;  // nodes that it reaches and where it is not over
};

class Multicast final : public OperationMachine<MulticastMessage>, private MessageProtocol {
 public:
  using OperationMachine::OperationMachine;

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    const auto& send = static_cast<const SendDescriptor&>(d);
    if (send.peer.rank < kGroup || (send.peer.rank & ~kGroup) >= context_.groups.size()) return false;
    begin(rank, send, payload, is_short(send) ? context_.config.packetizer : Time());
    return true;
  }

  void copy_arrived(std::uint32_t id, NodeId node, Time now) override {
    MulticastMessage& op = (*this)[id];
    const std::vector<RankId>& members = group_of(op).members;
    const auto at = std::find_if(members.begin(), members.end(), [&](RankId r) { return context_.node(r) == node; });
    if (at == members.end()) return over(id);  // a node of the box, not of the group
    const auto member = static_cast<std::size_t>(at - members.begin());
    if (!context_.matching.takes(op.sends[member].peer, EndpointKind::kMessage)) return over(id);
    op.messages[member] = Message(*this, id, op.rank, op.sends[member]);
    context_.matching.arrived(op.messages[member], now);
  }

  void copies_sent(std::uint32_t id, Time now) override {
    complete<SendCompletion>(id, now, (*this)[id].d.length);
    release(id);
  }

 private:
  void execute(std::uint32_t id, Time) override {
    MulticastMessage& op = (*this)[id];
    const RankGroup& group = group_of(op);
    op.left = group.copies;
    op.sends.assign(group.members.size(), op.d);
    op.messages.resize(group.members.size());
    for (std::size_t i = 0; i < group.members.size(); ++i) op.sends[i].peer.rank = group.members[i];
    const NodeId from = context_.node(op.rank);
    if (is_short(op.d)) {
      const auto bytes = context_.config.envelope_bytes + static_cast<std::uint32_t>(op.d.length);
      context_.nic->post(PacketizerMessage{from, group.to, bytes, user(id), group.copies});
    } else {
      op.holds = 1;
      context_.nic->post(RdmaTransfer{from, group.to, op.d.length, false, true, user(id), group.copies});
    }
  }

  bool is_short(const SendDescriptor& d) const { return d.length <= context_.config.eager_max_bytes; }
  const RankGroup& group_of(const MulticastMessage& op) const { return context_.groups[op.d.peer.rank & ~kGroup]; }
  void over(std::uint32_t id) {
    if (--(*this)[id].left == 0) finish(id);
  }

  // MessageProtocol
  void matched(Message& m, Time at) override {
    const MulticastMessage& op = (*this)[m.operation];
    const NiConfig& cost = context_.config;
    if (is_short(op.d)) {
      const Time cpu = context_.consume_cpu(cost.envelope_bytes + m.bytes()) + cost.mpi_receive;
      context_.matching.deliver(m, at, 0, cpu, Protocol::eager, Payload(op.payload).first(m.bytes()));
    } else {
      context_.matching.deliver(m, context_.after(at, cost.dma_completion), 0, cost.mailbox_read + cost.mpi_receive,
                                Protocol::rendezvous, {});
    }
    over(m.operation);
  }
  void discarded(Message& m, Time) override { over(m.operation); }
  void refused(Message& m, std::int32_t) override { over(m.operation); }
};

}  // namespace

std::unique_ptr<StateMachine> make_multicast(Context& context) { return std::make_unique<Multicast>(context); }

}  // namespace exanet
