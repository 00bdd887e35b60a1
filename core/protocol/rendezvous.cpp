// SPDX-License-Identifier: Apache-2.0
// Rendezvous: the envelope travels alone; the receiver, once matched, fetches the payload by an RDMA read from the
// sender's memory and then acknowledges to the sender. That is the protocol of the ExaNeSt MPI library (MICPRO 2018,
// section 4.2). Starting the read and acknowledging are work of the receiver's processor.
//
//   requested ──▶ matched ──▶ reading ──▶ receiving ──▶ fetched ──▶ acknowledging ──▶ (sender completes: over)
//       │ └──────────────────── discarded ────────────────▲              ▲
//       ├──────────────────────────────────────────────── refused ───────┘
//       └──▶ lost ──▶ (matched, discarded or refused: over)
//
// An envelope that is lost is matched all the same, and its receive ends with the loss; its sender completes at once.
// What fails later ends the receive as soon as its processor takes it, and the acknowledgement says so to the sender.
#include <cerrno>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

struct RendezvousMessage : Operation<SendDescriptor> {
  // matched, fetched: waits for the receiver's processor. reading: the request is under way; receiving: the data are.
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
  Time offered;  // to the receiver's processor
};

class Rendezvous final : public OperationMachine<RendezvousMessage>, private MessageProtocol, private ProcessorStep {
 public:
  using State = RendezvousMessage::State;

  explicit Rendezvous(Context& context) : OperationMachine(context) {
    on_offer_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<Rendezvous*>(self)->offer(id); }, this);
    on_fetched_ = context.events.add_handler(
        [](void* self, Time now, std::uint32_t id, std::uint64_t) { static_cast<Rendezvous*>(self)->enqueue(id, now); },
        this);
  }

  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    begin(rank, static_cast<const SendDescriptor&>(d), payload, context_.costs(rank).ni.packetizer);
    return true;
  }

  void control_completed(std::uint32_t id, Status status, Time now) override {
    RendezvousMessage& op = (*this)[id];
    note(op, status);
    if (op.state != State::requested)
      end(id, now);  // acknowledging
    else if (status == Status::kOk)
      arrive(id, now);
    else
      lose(id, now);
  }

  void data_completed(std::uint32_t id, Status status, Time now) override {
    RendezvousMessage& op = (*this)[id];
    if (status != Status::kOk) {
      note(op, status);
      op.state = State::fetched;
      enqueue(id, now);
    } else if (op.state == State::reading) {
      serve_read(id);
    } else {
      receive(op, id, now);
    }
  }

  void data_acknowledged(std::uint32_t id, Status, Time) override { release(id); }  // the receiver says how it went

 private:
  void execute(std::uint32_t id, Time now) override {
    RendezvousMessage& op = (*this)[id];
    if (unreachable(op)) {
      op.status = -EHOSTUNREACH;
      end(id, now);
      return;
    }
    context_.send_control(op.rank, target(op), context_.config.envelope_bytes, user(id));
  }

  // At the receiver.
  void arrive(std::uint32_t id, Time now) {
    RendezvousMessage& op = (*this)[id];
    op.message = Message(*this, id, op.rank, op.d);
    if (context_.matching.takes(op.d.peer, EndpointKind::kMessage))
      context_.matching.arrived(op.message, now);
    else
      refused(op.message, -ECONNREFUSED);
  }

  [[gnu::cold, gnu::noinline]] void lose(std::uint32_t id, Time now) {
    RendezvousMessage& op = (*this)[id];
    if (!sender_has_completed(op)) complete<SendCompletion>(id, now, op.d.length);
    op.state = State::lost;
    op.message = Message(*this, id, op.rank, op.d);
    if (context_.matching.takes(op.d.peer, EndpointKind::kMessage))
      context_.matching.arrived(op.message, now);
    else
      finish(id);
  }

  // At the sender's interface: its engine serves the read without its processor.
  void serve_read(std::uint32_t id) {
    RendezvousMessage& op = (*this)[id];
    op.state = State::receiving;
    ++op.holds;
    context_.transfer(op.rank, target(op),
                      {.bytes = op.message.bytes(),
                       .acknowledged = true,
                       .reads_memory = op.payload.empty(),
                       .part = RdmaTransfer::Part::kReply,
                       .own = op.payload.empty() ? context_.device(op.d.buffer) : 0,
                       .target = context_.device(op.message.buffer)},
                      user(id));
  }

  void receive(RendezvousMessage& op, std::uint32_t id, Time now) {
    const Message& m = op.message;
    // Once the endpoint is closed its buffers are the program's again.
    if (!context_.matching.is_open(target(op), op.d.peer.ep)) {
      op.status = -ECONNRESET;
    } else {
      const bool copied = op.payload.empty() ? context_.copy(op.rank, op.d.buffer, target(op), m.buffer, m.bytes())
                                             : context_.host.write(target(op), m.buffer, op.payload.data(), m.bytes());
      op.status = copied ? 0 : -EFAULT;
    }
    op.state = State::fetched;
    context_.events.schedule(context_.after(now, context_.costs(target(op)).ni.dma_completion), on_fetched_, id);
  }

  void enqueue(std::uint32_t id, Time at) {
    (*this)[id].offered = at;
    context_.processors.enqueue(target((*this)[id]), *this, id, at);
  }

  // The sender completes, unless its buffer was carried by value and it does not ask for delivery: it has completed
  // long ago.
  void end(std::uint32_t id, Time now) {
    const RendezvousMessage& op = (*this)[id];
    if (op.status == 0 || !sender_has_completed(op)) complete<SendCompletion>(id, now, op.d.length);
    finish(id);
  }
  static bool sender_has_completed(const RendezvousMessage& op) { return !op.payload.empty() && !op.d.has(kDelivered); }

  // ProcessorStep, at the receiver
  Time cost(std::uint32_t id) const override {
    const bool reads = (*this)[id].state == State::matched;
    const ProcessorCosts& costs = context_.costs(target((*this)[id]));
    return costs.receive_cpu() +
           (reads ? costs.rdma_cpu() : costs.ni.library_send + costs.store(costs.ni.envelope_bytes));
  }
  void step(std::uint32_t id, Time done) override {
    RendezvousMessage& op = (*this)[id];
    if (const Time began = done - cost(id); began > op.offered) op.message.taken = began;
    Time offered = done;
    if (op.state == State::matched) {
      op.state = State::reading;
    } else {
      op.state = State::acknowledging;
      if (op.message.receive) deliver(op, done);
      offered = context_.after(done, context_.costs(target(op)).ni.packetizer);
    }
    context_.events.schedule(max(context_.events.now(), offered), on_offer_, id);
  }
  RankId waiter(std::uint32_t id) const override { return (*this)[id].rank; }
  // The receiver has died.
  void abandoned(std::uint32_t id) override {
    note((*this)[id], Status::kNodeDown);
    end(id, context_.events.now());
  }
  void offer(std::uint32_t id) {
    const RendezvousMessage& op = (*this)[id];
    if (op.state == State::reading)
      context_.transfer(target(op), op.rank,
                        {.part = RdmaTransfer::Part::kRequest,
                         .asks_for = op.message.bytes(),
                         .own = op.message.buffer,
                         .target = op.payload.empty() ? op.d.buffer : 0},
                        user(id));
    else
      context_.send_control(target(op), op.rank, context_.config.envelope_bytes, user(id));
  }

  void deliver(RendezvousMessage& op, Time at) {
    const NiConfig& cost = context_.costs(target(op)).ni;
    const Time cpu = cost.mailbox_read + cost.mpi_receive;
    context_.matching.deliver(op.message, at, op.status, cpu, Protocol::rendezvous, {});
  }

  // MessageProtocol
  void matched(Message& m, Time at) override {
    RendezvousMessage& op = (*this)[m.operation];
    if (op.state == State::lost) {
      deliver(op, at);
      return finish(m.operation);
    }
    op.state = State::matched;
    enqueue(m.operation, at);
  }
  void discarded(Message& m, Time at) override {
    RendezvousMessage& op = (*this)[m.operation];
    if (op.state == State::lost) return finish(m.operation);
    op.state = State::fetched;  // as it were: the sender gets its acknowledgement
    enqueue(m.operation, at);
  }
  void refused(Message& m, std::int32_t status) override {
    RendezvousMessage& op = (*this)[m.operation];
    if (op.state == State::lost || sender_has_completed(op)) {
      finish(m.operation);
      return;
    }
    op.status = status;
    if (context_.known_deaths.knows(op.rank, target(op))) return end(m.operation, context_.events.now());
    op.state = State::acknowledging;
    context_.send_control(target(op), op.rank, 0, user(m.operation));
  }

  std::uint32_t on_offer_, on_fetched_;
};

}  // namespace

std::unique_ptr<StateMachine> make_rendezvous(Context& context) { return std::make_unique<Rendezvous>(context); }

}  // namespace exanet
