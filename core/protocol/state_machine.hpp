// SPDX-License-Identifier: Apache-2.0
// A protocol is a state machine over operations of its own: a descriptor begins one, events of the network interface
// move it on, and completions end it. Each stands in a file of its own with its record and its states; protocols.cpp
// lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/protocol/context.hpp"

namespace exanet {

// Contract: submit() takes a descriptor of one of kinds(), or leaves it to the next in the list and returns false. The
// other calls are about control messages and transfers that were begun with user() or acknowledgement() of the
// operation. Each has the interface's status: an operation any of whose messages or transfers fails ends with that, at
// all ranks that wait for it.
class StateMachine {
 public:
  explicit StateMachine(Context& context) : context_(context) {}
  virtual ~StateMachine() = default;
  virtual std::vector<DescriptorKind> kinds() const = 0;
  virtual bool submit(RankId rank, const DescriptorHeader& d, Payload payload) = 0;
  virtual void control_completed(std::uint32_t operation, Status, Time now) {}
  virtual void acknowledgement_completed(std::uint32_t operation, Status, Time now) {}
  virtual void data_completed(std::uint32_t operation, Status, Time now) {}
  virtual void data_acknowledged(std::uint32_t operation, Status, Time now) {}
  virtual void reduction_packet_completed(std::uint32_t packet, Status, Time now) {}  // by its number, as in user()
  virtual void reduction_completed(std::uint32_t call, Status, Time now) {}  // likewise
  virtual void copy_completed(std::uint32_t operation, NodeId node, Status, Time now) {}
  virtual void copies_sent(std::uint32_t operation, Status, Time now) {}

  // A user word of the interface: operation, number of the machine in the list, and whether it acknowledges.
  static constexpr std::uint64_t kAcknowledgement = 1ull << 40;
  void set_number(std::uint32_t number) { number_ = number; }
  static std::uint32_t operation_of(std::uint64_t user) { return static_cast<std::uint32_t>(user); }
  static std::uint32_t number_of(std::uint64_t user) { return user >> 32 & 0xff; }

 protected:
  std::uint64_t user(std::uint32_t operation) const { return std::uint64_t{number_} << 32 | operation; }
  std::uint64_t acknowledgement(std::uint32_t operation) const { return user(operation) | kAcknowledgement; }

  Context& context_;

 private:
  std::uint32_t number_ = 0;
};

// Fields of every operation; a protocol's record adds its state.
template <typename D>
struct Operation {
  using Descriptor = D;
  D d;
  RankId rank = 0;  // that posted it
  std::int32_t status = 0;
  std::uint32_t holds = 0;  // what the interface has pending: acknowledgements under way
  bool done = false;  // nothing else will look at it
  std::vector<std::byte> payload;
};

// The life of operations that execute once their descriptor's time has come.
template <typename Op>
class OperationMachine : public StateMachine {
 public:
  explicit OperationMachine(Context& context) : StateMachine(context) {
    on_execute_ =
        context_.events.add_handler([](void* self, Time now, std::uint32_t id,
                                       std::uint64_t) { static_cast<OperationMachine*>(self)->execute(id, now); },
                                    this);
  }
  std::vector<DescriptorKind> kinds() const override { return {Op::Descriptor::kKind}; }
  bool submit(RankId rank, const DescriptorHeader& d, Payload payload) override {
    begin(rank, static_cast<const typename Op::Descriptor&>(d), payload, Time());
    return true;
  }

 protected:
  // Contract: ends in finish(), here or later.
  virtual void execute(std::uint32_t id, Time now) = 0;

  // `delay`: from the processor's last store to the interface's first step.
  void begin(RankId rank, const typename Op::Descriptor& d, Payload payload, Time delay) {
    const std::uint32_t id = allocate();
    Op& op = *operations_[id];
    op.d = d;
    op.rank = rank;
    op.payload.assign(payload.begin(), payload.end());
    ++context_.live;
    const Time at = context_.zero_cost ? context_.events.now() : d.time + delay;
    context_.events.schedule(max(context_.events.now(), at), on_execute_, id);
  }

  const Op& operator[](std::uint32_t id) const { return *operations_[id]; }
  Op& operator[](std::uint32_t id) { return *operations_[id]; }  // stays where it is while others begin

  std::uint32_t on_execute() const { return on_execute_; }  // the event that executes once more

  void finish(std::uint32_t id) {
    Op& op = *operations_[id];
    op.done = true;
    --context_.live;
    if (op.holds == 0) free_.push_back(id);
  }
  void release(std::uint32_t id) {
    Op& op = *operations_[id];
    if (--op.holds == 0 && op.done) free_.push_back(id);
  }

  // At the initiator: what failed always completes.
  template <typename C>
  void complete(std::uint32_t id, Time at, std::uint64_t length) {
    complete<C>(id, at, length, operations_[id]->status);
  }
  template <typename C>
  void complete(std::uint32_t id, Time at, std::uint64_t length, std::int32_t status) {
    const Op& op = *operations_[id];
    if (status == 0 && op.d.has(kSilent)) return;
    C done = context_.completion<C>(op.rank, op.d, at, status);
    done.cookie = op.d.cookie;
    done.peer = op.d.peer;
    done.length = length;
    context_.host.complete(op.rank, done, {});
  }
  // What has gone wrong first is the operation's status.
  static void note(Op& op, Status status) {
    if (status != Status::kOk && op.status == 0) op.status = completion_status(status);
  }
  bool unreachable(const Op& op) const { return op.d.peer.rank >= context_.ranks(); }
  RankId target(const Op& op) const { return op.d.peer.rank; }

 private:
  std::uint32_t allocate() {
    if (free_.empty()) {
      operations_.push_back(std::make_unique<Op>());
      return static_cast<std::uint32_t>(operations_.size() - 1);
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    std::vector<std::byte> payload = std::move(operations_[id]->payload);  // keeps its capacity over lives
    *operations_[id] = Op{};
    operations_[id]->payload = std::move(payload);
    return id;
  }

  std::vector<std::unique_ptr<Op>> operations_;
  std::vector<std::uint32_t> free_;
  std::uint32_t on_execute_;
};

// The machines of a message engine, in the order in which they are asked.
std::vector<std::unique_ptr<StateMachine>> make_protocols(Context& context);

}  // namespace exanet
