// SPDX-License-Identifier: Apache-2.0
// Atomics: a request with its operands, executed one at a time at the target's interface, and a reply with the old
// values.
//
//   requested ──▶ replied ──▶ (old values in memory, or refused: over)
//       └────────────┴──────▶ (lost: over; a reply that is lost does not undo the atomic)
#include "core/protocol/atomic_table.h"
#include "core/protocol/atomics.hpp"
#include "core/protocol/one_sided.hpp"

namespace exanet {
namespace {

struct AtomicOperation : Operation<AtomicDescriptor> {
  enum class State : std::uint8_t { requested, replied } state = State::requested;
  std::uint64_t result_bytes = 0;

  std::size_t bytes() const { return d.count * exanet_type_bytes(d.datatype); }
  bool reads_only() const { return d.operation == exanet_op_read; }
  std::uint32_t access() const {
    if (reads_only()) return kRemoteRead;
    return d.atomic_kind == AtomicKind::kUpdate ? kRemoteWrite : kRemoteRead | kRemoteWrite;
  }
};

class Atomic final : public OneSidedMachine<AtomicOperation> {
 public:
  using State = AtomicOperation::State;

  explicit Atomic(Context& context)
      : OneSidedMachine(context),
        unit_free_(context.placement.empty() ? 0 : 1 + *std::ranges::max_element(context.placement)) {
    on_executed_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<Atomic*>(self)->reply(id); }, this);
  }

  void data_completed(std::uint32_t id, Status status, Time now) override {
    AtomicOperation& op = (*this)[id];
    note(op, status);
    if (status != Status::kOk) return end<AtomicCompletion>(id, now, op.bytes());
    switch (op.state) {
      case State::requested: serve(id, now); return;
      case State::replied: arrive(id, now); return;
    }
  }

 private:
  void execute(std::uint32_t id, Time now) override {
    const AtomicOperation& op = (*this)[id];
    if (unreachable(op))
      fail<AtomicCompletion>(id, -EHOSTUNREACH, now, op.bytes());
    else
      context_.transfer(op.rank, target(op), {.bytes = op.payload.size()}, user(id));
  }

  // At the target: the unit is taken for as long as an atomic lasts.
  void serve(std::uint32_t id, Time now) {
    AtomicOperation& op = (*this)[id];
    std::vector<std::byte> old(op.bytes());
    op.status = apply(op, old, now);
    op.payload = std::move(old);
    op.result_bytes = op.status == 0 && op.d.atomic_kind != AtomicKind::kUpdate ? op.bytes() : 0;
    op.state = State::replied;
    Time& unit = unit_free_[context_.node(target(op))];
    unit = context_.after(max(unit, now), context_.costs(target(op)).ni.atomic);
    context_.events.schedule(context_.zero_cost ? now : unit, on_executed_, id);
  }

  // Returns the atomic's status.
  std::int32_t apply(const AtomicOperation& op, std::vector<std::byte>& old, Time now) {
    const std::size_t bytes = op.bytes();
    std::uint64_t addr = 0;
    const MemoryMap::Region* found = region(op, bytes, op.access(), addr);
    if (!found) return -EACCES;
    std::vector<std::byte> memory(bytes);
    if (!context_.host.read(target(op), addr, memory.data(), bytes)) return -EFAULT;
    const std::byte* operand = op.payload.size() >= bytes ? op.payload.data() : nullptr;
    const std::byte* compare = op.payload.size() >= 2 * bytes ? op.payload.data() + bytes : nullptr;
    atomic_apply(op.d.operation, op.d.datatype, op.d.count, memory.data(), operand, compare, old.data());
    const bool written = op.reads_only() || context_.host.write(target(op), addr, memory.data(), bytes);
    record(op, bytes, Protocol::atomic, now);
    remote_event(op, *found, bytes, op.reads_only() ? kRemoteRead : kRemoteWrite, now);
    return written ? 0 : -EFAULT;
  }

  void reply(std::uint32_t id) {
    const AtomicOperation& op = (*this)[id];
    context_.transfer(target(op), op.rank, {.bytes = op.result_bytes, .notifies = true}, user(id));
  }

  // At the initiator.
  void arrive(std::uint32_t id, Time now) {
    AtomicOperation& op = (*this)[id];
    if (op.result_bytes > 0 && !context_.host.write(op.rank, op.d.result, op.payload.data(), op.result_bytes))
      op.status = -EFAULT;
    end<AtomicCompletion>(id, now, op.bytes());
  }

  std::vector<Time> unit_free_;  // of each node: its atomic unit is free from then on
  std::uint32_t on_executed_;
};

}  // namespace

std::unique_ptr<StateMachine> make_atomic(Context& context) { return std::make_unique<Atomic>(context); }

}  // namespace exanet
