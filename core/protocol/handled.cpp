// SPDX-License-Identifier: Apache-2.0
// Messages whose packets are taken by handlers on the receiving interface (core/nic/handlers).
//
// Model: as sPIN over Portals 4 has it (Hoefler et al., SC 2017), the interface matches. The envelope travels alone;
// the receiver's interface finds the receive, asks for the data, runs the handlers on their packets, and acknowledges
// to the sender. So no processor takes part between the call that sends and the one that completes the receive: what
// rendezvous.cpp has the receiver's processor do, the interface does here, in the time of a packetizer. The data go
// where handlers put them, within the receive's buffer.
//
//   requested ──▶ matched ──▶ reading ──▶ receiving ──▶ fetched ──▶ acknowledging ──▶ (sender completes: over)
//       ├────────────────── discarded or refused ────────────────────────▲
//       └──▶ lost ──▶ (matched, discarded or refused: over)
//
// An envelope that is lost is matched all the same, and its receive ends with the loss; its sender completes at once.
#include <algorithm>
#include <cerrno>

#include "core/nic/handlers/handler_units.hpp"
#include "core/nic/targets/memory_target.hpp"
#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

struct HandledOperation : Operation<SendDescriptor> {
  enum class State : std::uint8_t {
    requested,
    matched,
    reading,
    receiving,
    fetched,
    acknowledging,
    lost
  } state = State::requested;
  Message message;
};

class Handled final : public OperationMachine<HandledOperation>, private MessageProtocol, private HandlerHost {
 public:
  using State = HandledOperation::State;

  explicit Handled(Context& context)
      : OperationMachine(context), units_(context.config.handlers), memory_(memory_kind("handlers")) {
    if (units_) units_->set_host(this);
    on_ask_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<Handled*>(self)->ask(id); }, this);
    on_fetched_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<Handled*>(self)->fetched(id, now); },
        this);
  }

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    if (!units_ || context_.zero_cost) return false;
    const auto& send = static_cast<const SendDescriptor&>(d);
    if (!send.has(kTagged) || send.peer.rank >= context_.ranks() ||
        !units_->takes(rank, send.peer.rank, send.tag, send.length))
      return false;
    begin(rank, send, payload, context_.costs(rank).ni.packetizer);
    return true;
  }

  void control_completed(std::uint32_t id, Status status, Time now) override {
    HandledOperation& op = (*this)[id];
    note(op, status);
    if (op.state != State::requested) return end(id, now);  // acknowledging
    if (status != Status::kOk) {
      if (!sender_has_completed(op)) complete<SendCompletion>(id, now, op.d.length);
      op.state = State::lost;
    }
    op.message = Message(*this, id, op.rank, op.d);
    if (context_.matching.takes(op.d.peer, EndpointKind::kMessage))
      context_.matching.arrived(op.message, now);
    else
      refused(op.message, -ECONNREFUSED);
  }

  void data_completed(std::uint32_t id, Status status, Time now) override {
    HandledOperation& op = (*this)[id];
    note(op, status);
    if (status == Status::kOk && op.state == State::reading) return serve_read(id);
    if (!units_->end(user(id), status == Status::kOk, now) && op.status == 0) op.status = -EIO;
    if (op.status == 0 && !is_open(op)) op.status = -ECONNRESET;
    op.state = State::fetched;
    context_.events.schedule(context_.after(now, context_.costs(target(op)).ni.dma_completion), on_fetched_, id);
  }

  void data_acknowledged(std::uint32_t id, Status, Time) override { release(id); }

 private:
  void execute(std::uint32_t id, Time) override {
    HandledOperation& op = (*this)[id];
    context_.send_control(op.rank, target(op), context_.config.envelope_bytes, user(id));
  }

  bool is_open(const HandledOperation& op) const { return context_.matching.is_open(target(op), op.d.peer.ep); }
  static bool sender_has_completed(const HandledOperation& op) { return !op.payload.empty() && !op.d.has(kDelivered); }

  // At the receiver's interface, which has found the receive.
  void ask(std::uint32_t id) {
    HandledOperation& op = (*this)[id];
    op.state = State::reading;
    units_->begin(user(id), {.node = context_.node(target(op)),
                             .process = target(op),
                             .source = op.rank,
                             .tag = static_cast<std::uint32_t>(op.d.tag),
                             .bytes = op.message.bytes(),
                             .host = op.message.buffer,
                             .host_bytes = op.message.space});
    context_.transfer(target(op), op.rank,
                      {.part = RdmaTransfer::Part::kRequest,
                       .asks_for = op.message.bytes(),
                       .own = op.message.buffer,
                       .target = op.payload.empty() ? op.d.buffer : 0},
                      user(id));
  }

  // At the sender's.
  void serve_read(std::uint32_t id) {
    HandledOperation& op = (*this)[id];
    op.state = State::receiving;
    ++op.holds;
    RdmaTransfer reply{
        context_.node(op.rank), context_.node(target(op)), op.message.bytes(), true, op.payload.empty(), user(id)};
    reply.part = RdmaTransfer::Part::kReply;
    reply.own = {.process = op.rank};
    reply.target = {.process = target(op), .address = 0, .memory = memory_};
    context_.nic->post(reply);
  }

  void fetched(std::uint32_t id, Time now) {
    HandledOperation& op = (*this)[id];
    if (op.message.receive != nullptr) deliver(op, now);
    op.state = State::acknowledging;
    context_.send_control(target(op), op.rank, context_.config.envelope_bytes, user(id));
  }

  void end(std::uint32_t id, Time now) {
    const HandledOperation& op = (*this)[id];
    if (op.status == 0 || !sender_has_completed(op)) complete<SendCompletion>(id, now, op.d.length);
    finish(id);
  }

  void deliver(HandledOperation& op, Time at) {
    const NiConfig& cost = context_.costs(target(op)).ni;
    context_.matching.deliver(op.message, at, op.status, cost.mailbox_read + cost.mpi_receive, Protocol::rendezvous,
                              {});
  }

  // MessageProtocol
  void matched(Message& m, Time at) override {
    HandledOperation& op = (*this)[m.operation];
    if (op.state == State::lost) {
      deliver(op, at);
      return finish(m.operation);
    }
    op.state = State::matched;
    const Time asks = context_.after(at, context_.costs(target(op)).ni.packetizer);
    context_.events.schedule(max(context_.events.now(), asks), on_ask_, m.operation);
  }
  void discarded(Message& m, Time at) override {
    if ((*this)[m.operation].state == State::lost) return finish(m.operation);
    context_.events.schedule(max(context_.events.now(), at), on_fetched_, m.operation);
  }
  void refused(Message& m, std::int32_t status) override {
    HandledOperation& op = (*this)[m.operation];
    if (op.state == State::lost || sender_has_completed(op)) return finish(m.operation);
    op.status = status;
    if (context_.known_deaths.knows(op.rank, target(op))) return end(m.operation, context_.events.now());
    op.state = State::acknowledging;
    context_.send_control(target(op), op.rank, 0, user(m.operation));
  }

  // HandlerHost
  bool read_message(std::uint64_t message, std::uint64_t offset, std::byte* to, std::size_t bytes) override {
    const HandledOperation& op = (*this)[operation_of(message)];
    if (op.payload.empty()) return context_.host.read(op.rank, op.d.buffer + offset, to, bytes);
    std::copy_n(op.payload.data() + offset, bytes, to);
    return true;
  }
  // Once the endpoint is closed its buffers are the program's again.
  bool read_process(std::uint64_t message, std::uint64_t address, std::byte* to, std::size_t bytes) override {
    const HandledOperation& op = (*this)[operation_of(message)];
    return !is_open(op) || context_.host.read(target(op), address, to, bytes);
  }
  bool write_process(std::uint64_t message, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
    const HandledOperation& op = (*this)[operation_of(message)];
    return !is_open(op) || context_.host.write(target(op), address, from, bytes);
  }

  const std::shared_ptr<HandlerUnits> units_;  // null: the run has no handlers
  const std::uint8_t memory_;
  std::uint32_t on_ask_, on_fetched_;
};

}  // namespace

std::unique_ptr<StateMachine> make_handled(Context& context) { return std::make_unique<Handled>(context); }

}  // namespace exanet
