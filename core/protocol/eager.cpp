// SPDX-License-Identifier: Apache-2.0
// Eager messages: envelope and payload in one packetizer message. The sender is done once it is stored, unless it asks
// for delivery: the target's interface then acknowledges its arrival in a mailbox, or refuses it. One that is lost is
// matched all the same, and its receive ends with the loss: a sender that is done has no call any more that could fail.
//
//   sent ──▶ arrived or lost ──▶ (matched, discarded or refused: over)
//     └────▶ refused ──▶ (sender completes: over)
#include <cerrno>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

struct EagerMessage : Operation<SendDescriptor> {
  enum class State : std::uint8_t { sent, arrived, refused } state = State::sent;
  Message message;
};

class Eager final : public OperationMachine<EagerMessage>, private MessageProtocol {
 public:
  using OperationMachine::OperationMachine;
  using State = EagerMessage::State;

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    const auto& send = static_cast<const SendDescriptor&>(d);
    if (send.length > context_.config.eager_max_bytes) return false;
    begin(rank, send, payload, context_.costs(rank).ni.packetizer);
    return true;
  }

  void control_completed(std::uint32_t id, Status status, Time now) override {
    EagerMessage& op = (*this)[id];
    switch (op.state) {
      case State::sent: status == Status::kOk ? arrive(id, now) : lose(id, status, now); return;
      case State::refused: end(id, now); return;
      case State::arrived: return;
    }
  }

  void acknowledgement_completed(std::uint32_t id, Status status, Time now) override {
    complete<SendCompletion>(id, now, (*this)[id].d.length, completion_status(status));
    release(id);
  }

 private:
  void execute(std::uint32_t id, Time now) override {
    EagerMessage& op = (*this)[id];
    if (unreachable(op)) {
      op.status = -EHOSTUNREACH;
      end(id, now);
      return;
    }
    if (op.d.has(kDelivered)) op.holds = 1;
    context_.send_control(op.rank, target(op), context_.config.envelope_bytes + static_cast<std::uint32_t>(op.d.length),
                          user(id));
  }

  void arrive(std::uint32_t id, Time now) {
    EagerMessage& op = (*this)[id];
    if (!context_.matching.takes(op.d.peer, EndpointKind::kMessage)) {
      op.holds = 0;
      if (!op.d.has(kDelivered)) {
        finish(id);  // its sender has gone on
        return;
      }
      op.status = -ECONNREFUSED;
      op.state = State::refused;
      context_.send_control(target(op), op.rank, 0, user(id));
      return;
    }
    if (op.d.has(kDelivered)) context_.send_control(target(op), op.rank, 0, acknowledgement(id));
    match(id, now);
  }

  [[gnu::cold, gnu::noinline]] void lose(std::uint32_t id, Status status, Time now) {
    EagerMessage& op = (*this)[id];
    note(op, status);
    op.holds = 0;  // nothing will acknowledge it
    if (op.d.has(kDelivered)) complete<SendCompletion>(id, now, op.d.length);
    if (context_.matching.takes(op.d.peer, EndpointKind::kMessage))
      match(id, now);
    else
      finish(id);
  }

  void match(std::uint32_t id, Time now) {
    EagerMessage& op = (*this)[id];
    op.state = State::arrived;
    op.message = Message(*this, id, op.rank, op.d);
    context_.matching.arrived(op.message, now);
  }

  // A sender that did not ask for delivery has completed as soon as the message was stored: there is nobody to report
  // an error to.
  void end(std::uint32_t id, Time now) {
    if ((*this)[id].d.has(kDelivered)) complete<SendCompletion>(id, now, (*this)[id].d.length);
    finish(id);
  }

  // MessageProtocol
  void matched(Message& m, Time at) override {
    const EagerMessage& op = (*this)[m.operation];
    const ProcessorCosts& costs = context_.costs(target(op));
    const Time cpu = costs.consume_cpu(costs.ni.envelope_bytes + m.bytes()) + costs.ni.mpi_receive +
                     costs.device_write(m.buffer, m.bytes());
    const Payload payload = op.status == 0 ? Payload(op.payload).first(m.bytes()) : Payload{};
    context_.matching.deliver(m, at, op.status, cpu, Protocol::eager, payload);
    finish(m.operation);
  }
  void discarded(Message& m, Time) override { finish(m.operation); }
  void refused(Message& m, std::int32_t) override { finish(m.operation); }  // delivery has been acknowledged
};

}  // namespace

std::unique_ptr<StateMachine> make_eager(Context& context) { return std::make_unique<Eager>(context); }

}  // namespace exanet
