// SPDX-License-Identifier: Apache-2.0
// Messages to a group of ranks, which routers copy. A short one goes as an eager message does, into each member's
// mailbox. A longer one is a transfer that each member's interface writes to memory: its receive must have been posted,
// which whoever sends has to have got from the members. At a member both are matched as any message. The contents of
// a long one are those that it has when its last packet leaves: from then on the buffer is the sender's again.
//
// A copy that is lost is matched at its member all the same, and its receive ends with the loss.
//
//   sent ──▶ (each member: arrived or lost ──▶ matched, discarded or refused) ──▶ over when all are, and all of a
//   transfer has left
#include <algorithm>
#include <cerrno>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

struct MulticastMessage : Operation<SendDescriptor> {
  // By member: what it is to the matching there.
  std::vector<SendDescriptor> sends;
  std::vector<Message> messages;
  std::vector<std::int32_t> statuses;
  std::uint32_t left = 0;  // nodes that it reaches and where it is not over
};

class Multicast final : public OperationMachine<MulticastMessage>, private MessageProtocol {
 public:
  using OperationMachine::OperationMachine;

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    const auto& send = static_cast<const SendDescriptor&>(d);
    const RankId number = send.peer.rank & ~kGroup;
    if (send.peer.rank < kGroup || number >= context_.groups.size()) return false;
    if (context_.groups[number].from != rank || context_.zero_cost) return false;
    begin(rank, send, payload, is_short(send) ? context_.config.packetizer : Time());
    return true;
  }

  void copy_completed(std::uint32_t id, NodeId node, Status status, Time now) override {
    MulticastMessage& op = (*this)[id];
    const std::vector<RankId>& members = group_of(op).members;
    const auto at = std::find_if(members.begin(), members.end(), [&](RankId r) { return context_.node(r) == node; });
    if (at == members.end()) return over(id);  // a node of the box, not of the group
    const auto member = static_cast<std::size_t>(at - members.begin());
    if (!context_.matching.takes(op.sends[member].peer, EndpointKind::kMessage)) return over(id);
    op.messages[member] = Message(*this, id, op.rank, op.sends[member]);
    op.statuses[member] = completion_status(status);
    context_.matching.arrived(op.messages[member], now);
  }

  void copies_sent(std::uint32_t id, Status status, Time now) override {
    MulticastMessage& op = (*this)[id];
    note(op, status);
    if (has_contents(op)) {
      op.payload.resize(op.d.length);
      if (!context_.host.read(op.rank, op.d.buffer, op.payload.data(), op.payload.size())) op.status = -EFAULT;
    }
    complete<SendCompletion>(id, now, op.d.length);
    release(id);
  }

 private:
  void execute(std::uint32_t id, Time) override {
    MulticastMessage& op = (*this)[id];
    const RankGroup& group = group_of(op);
    op.left = group.copies;
    op.sends.assign(group.members.size(), op.d);
    op.messages.resize(group.members.size());
    op.statuses.resize(group.members.size());
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

  // Those of a replay have none.
  static bool has_contents(const MulticastMessage& op) { return op.d.buffer != 0; }
  bool is_short(const SendDescriptor& d) const { return d.length <= context_.config.eager_max_bytes; }
  const RankGroup& group_of(const MulticastMessage& op) const { return context_.groups[op.d.peer.rank & ~kGroup]; }
  std::int32_t lost(const MulticastMessage& op, const Message& m) const {
    return op.statuses[static_cast<std::size_t>(&m - op.messages.data())];
  }
  // The status of a long message at a member.
  std::int32_t written(const MulticastMessage& op, const Message& m) {
    if (const std::int32_t status = lost(op, m); status != 0) return status;
    if (op.status != 0 || !has_contents(op)) return op.status;
    return context_.host.write(m.send->peer.rank, m.buffer, op.payload.data(), m.bytes()) ? 0 : -EFAULT;
  }
  void over(std::uint32_t id) {
    if (--(*this)[id].left == 0) finish(id);
  }

  // MessageProtocol
  void matched(Message& m, Time at) override {
    const MulticastMessage& op = (*this)[m.operation];
    const NiConfig& cost = context_.config;
    if (is_short(op.d)) {
      const Time cpu = context_.costs(op.rank).consume_cpu(cost.envelope_bytes + m.bytes()) + cost.mpi_receive;
      const std::int32_t status = lost(op, m);
      const Payload payload = status == 0 ? Payload(op.payload).first(m.bytes()) : Payload{};
      context_.matching.deliver(m, at, status, cpu, Protocol::eager, payload);
    } else {
      context_.matching.deliver(m, context_.after(at, cost.dma_completion), written(op, m),
                                cost.mailbox_read + cost.mpi_receive, Protocol::rendezvous, {});
    }
    over(m.operation);
  }
  void discarded(Message& m, Time) override { over(m.operation); }
  void refused(Message& m, std::int32_t) override { over(m.operation); }
};

}  // namespace

std::unique_ptr<StateMachine> make_multicast(Context& context) { return std::make_unique<Multicast>(context); }

}  // namespace exanet
