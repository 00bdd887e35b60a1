// SPDX-License-Identifier: Apache-2.0
// Gets: a request, and the data back in acknowledged blocks, or a refusal.
//
//   requested ──▶ answered ──▶ (data in memory, or refused: over)
//       └────────────┴───────▶ (lost: over)
#include "core/protocol/one_sided.hpp"

namespace exanet {
namespace {

struct GetOperation : Operation<GetDescriptor> {
  enum class State : std::uint8_t { requested, answered } state = State::requested;
};

class Get final : public OneSidedMachine<GetOperation> {
 public:
  using OneSidedMachine::OneSidedMachine;
  using State = GetOperation::State;

  void data_completed(std::uint32_t id, Status status, Time now) override {
    GetOperation& op = (*this)[id];
    note(op, status);
    if (status != Status::kOk) return arrive(id, now);
    switch (op.state) {
      case State::requested: serve(id, now); return;
      case State::answered: arrive(id, now); return;
    }
  }

  void data_acknowledged(std::uint32_t id, Status, Time) override { release(id); }

 private:
  void execute(std::uint32_t id, Time now) override {
    const GetOperation& op = (*this)[id];
    std::uint64_t addr = 0;
    if (unreachable(op)) {
      fail<GetCompletion>(id, -EHOSTUNREACH, now, op.d.length);
    } else {
      // What is refused sends nothing back. The region of a key that the initiator knows is there by now.
      const bool allowed = region(op, op.d.length, kRemoteRead, addr) != nullptr;
      context_.transfer(op.rank, target(op),
                        {.part = RdmaTransfer::Part::kRequest,
                         .asks_for = allowed ? op.d.length : 0,
                         .own = op.d.buffer,
                         .target = addr},
                        user(id));
    }
  }

  // At the target.
  void serve(std::uint32_t id, Time now) {
    GetOperation& op = (*this)[id];
    const GetDescriptor& d = op.d;
    std::uint64_t addr = 0;
    const MemoryMap::Region* found = region(op, d.length, kRemoteRead, addr);
    if (found || d.length == 0)
      op.payload.resize(d.length);
    else
      op.status = -EACCES;
    // The memory is read when the request is served, so that a later put cannot change what this get returns.
    if (op.status == 0 && d.length > 0 && !context_.host.read(target(op), addr, op.payload.data(), d.length))
      op.status = -EFAULT;
    const bool served = op.status == 0;
    op.state = State::answered;
    if (served) ++op.holds;
    if (served && found) remote_event(op, *found, d.length, kRemoteRead, now);
    context_.transfer(target(op), op.rank,
                      {.bytes = served ? d.length : 0,
                       .acknowledged = served,
                       .reads_memory = served,
                       .part = RdmaTransfer::Part::kReply,
                       .own = context_.device(addr),
                       .target = context_.device(d.buffer)},
                      user(id));
  }

  // At the initiator.
  void arrive(std::uint32_t id, Time now) {
    GetOperation& op = (*this)[id];
    const GetDescriptor& d = op.d;
    if (op.status == 0 && d.length > 0 && !context_.host.write(op.rank, d.buffer, op.payload.data(), d.length))
      op.status = -EFAULT;
    if (op.status == 0) record(op, d.length, Protocol::get, now);
    std::vector<std::byte>().swap(op.payload);  // may have been large
    end<GetCompletion>(id, now, d.length);
  }
};

}  // namespace

std::unique_ptr<StateMachine> make_get(Context& context) { return std::make_unique<Get>(context); }

}  // namespace exanet
