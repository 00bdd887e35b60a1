// SPDX-License-Identifier: Apache-2.0
// Bare packets: one packetizer message to a raw endpoint's mailbox. A lost one is not reported.
#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

using BarePacket = Operation<PacketDescriptor>;

class Packets final : public OperationMachine<BarePacket> {
 public:
  using OperationMachine::OperationMachine;

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    begin(rank, static_cast<const PacketDescriptor&>(d), payload, context_.costs(rank).ni.packetizer);
    return true;
  }

  void control_completed(std::uint32_t id, Status status, Time now) override {
    const BarePacket& op = (*this)[id];
    if (status == Status::kOk && context_.matching.takes(op.d.peer, EndpointKind::kRaw)) {
      auto done = context_.completion<PacketCompletion>(target(op), op.d, now);
      done.ep = op.d.peer.ep;
      done.peer = Address{op.rank, op.d.ep};
      done.cpu_ps = static_cast<std::uint32_t>(context_.costs(target(op)).consume_cpu(op.payload.size()).ps());
      context_.host.complete(target(op), done, op.payload);
      context_.host.record(MessageRecord{op.rank, target(op), op.payload.size(), 0, Protocol::eager, op.d.time, now});
    }
    finish(id);
  }

 private:
  void execute(std::uint32_t id, Time) override {
    const BarePacket& op = (*this)[id];
    if (unreachable(op))
      finish(id);
    else
      context_.send_control(op.rank, target(op), static_cast<std::uint32_t>(op.payload.size()), user(id));
  }
};

}  // namespace

std::unique_ptr<StateMachine> make_packet(Context& context) { return std::make_unique<Packets>(context); }

}  // namespace exanet
