// SPDX-License-Identifier: Apache-2.0
// Hands descriptors, and the interface's completions, to the state machine that they belong to.
//
// Model: a descriptor goes to the first machine in the list that takes its kind; a completion to the one whose number
// is in its user word, with the number of the operation there. Transfers that belong to no rank have a number of their
// own there. Limits: no more than 253 machines and 2^32 operations under way in each.
#include "core/protocol/engine.hpp"

#include "core/protocol/state_machine.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kOutside = 253;  // in the place of a machine's number, and behind it: of each kind in turn

}  // namespace

MessageEngine::MessageEngine(EventQueue& events, const Topology& topology, const NetworkConfig& fabric,
                             const NiConfig& config, std::vector<NodeId> placement, Host& host, const NicKind& kind,
                             const MakeNetwork& make)
    : context_(events, topology, fabric, config, std::move(placement), host, *this, kind, make),
      machines_(make_protocols(context_)) {
  for (std::uint32_t number = 0; number < machines_.size(); ++number) {
    StateMachine& machine = *machines_[number];
    machine.set_number(number);
    for (const DescriptorKind kind : machine.kinds()) {
      const auto index = static_cast<std::size_t>(kind);
      if (index >= takers_.size()) takers_.resize(index + 1);
      takers_[index].push_back(&machine);
    }
  }
}

MessageEngine::~MessageEngine() = default;

void MessageEngine::set_zero_cost(bool zero_cost) {
  context_.zero_cost = zero_cost;
  context_.nic->set_zero_cost(zero_cost);
}

Time MessageEngine::lookahead(Sooner sooner) const {
  Time least = Time::never();
  for (const ProcessorCosts& costs : context_.costs()) {
    const NiConfig& ni = costs.ni;
    const Time envelope = costs.store(ni.envelope_bytes) + ni.packetizer;
    // A message; a long one to a group of ranks; what the rank's processor does for a message by rendezvous while it
    // polls.
    least = min(least, costs.send_cpu() + min(envelope, costs.rdma_cpu()));
    least = min(least, costs.receive_cpu() + min(costs.rdma_cpu(), ni.library_send + envelope));
    if (reduces()) least = min(least, costs.send_cpu() + ni.store_word);
    if (sooner.one_sided) least = min(least, costs.rdma_cpu());
    if (sooner.streams) least = min(least, ni.ip_send);
    if (ni.handlers) least = min(least, ni.packetizer);  // an interface that matches (handled.cpp)
    if (sooner.packets) least = min(least, costs.packet_cpu() + ni.store_word + ni.packetizer);
  }
  return max(least, Time::ps(1));
}

void MessageEngine::take(RankId rank, const DescriptorHeader& d, Payload payload) {
  for (StateMachine* machine : takers_[static_cast<std::size_t>(d.kind)]) {
    if (machine->submit(rank, d, payload)) return;
  }
}

void MessageEngine::is_known_dead(RankId rank, NodeId by) {
  context_.nic->is_known_dead(context_.node(rank), by);
  for (RankId other = 0; other < context_.ranks(); ++other)
    if (by == kNoNode || context_.node(other) == by) context_.known_deaths.learn(rank, other);
  context_.processors.abandon(rank);
  context_.matching.die(rank, by == kNoNode);
}

void MessageEngine::message_completed(std::uint64_t user, Status status, Time now) {
  StateMachine& machine = *machines_[StateMachine::number_of(user)];
  const std::uint32_t operation = StateMachine::operation_of(user);
  if (user & StateMachine::kAcknowledgement)
    machine.acknowledgement_completed(operation, status, now);
  else
    machine.control_completed(operation, status, now);
}

void MessageEngine::post_outside(Outside kind, NodeId src, NodeId dst, std::uint64_t bytes, std::uint32_t number,
                                 bool acknowledged) {
  context_.nic->post(RdmaTransfer{.src = src,
                                  .dst = dst,
                                  .bytes = bytes,
                                  .acknowledged = acknowledged,
                                  .reads_memory = true,
                                  .user = (kOutside + std::uint64_t{static_cast<std::uint8_t>(kind)}) << 32 | number,
                                  .notifies = kind == Outside::kEthernet});
}

void MessageEngine::transfer_completed(std::uint64_t user, Status status, Time now) {
  if (const std::uint32_t machine = StateMachine::number_of(user); machine >= kOutside) {
    TransferListener* listener = outside_[machine - kOutside];
    if (listener != nullptr) listener->arrived(StateMachine::operation_of(user), status, now);
    return;
  }
  machines_[StateMachine::number_of(user)]->data_completed(StateMachine::operation_of(user), status, now);
}

void MessageEngine::reduction_packet_completed(std::uint64_t user, Status status, Time now) {
  machines_[StateMachine::number_of(user)]->reduction_packet_completed(StateMachine::operation_of(user), status, now);
}

void MessageEngine::reduction_completed(std::uint64_t user, Status status, Time now) {
  machines_[StateMachine::number_of(user)]->reduction_completed(StateMachine::operation_of(user), status, now);
}

void MessageEngine::multicast_completed(std::uint64_t user, NodeId node, Status status, Time now) {
  machines_[StateMachine::number_of(user)]->copy_completed(StateMachine::operation_of(user), node, status, now);
}

void MessageEngine::multicast_sent(std::uint64_t user, Status status, Time now) {
  machines_[StateMachine::number_of(user)]->copies_sent(StateMachine::operation_of(user), status, now);
}

void MessageEngine::transfer_acknowledged(std::uint64_t user, Status status, Time now) {
  if (const std::uint32_t machine = StateMachine::number_of(user); machine >= kOutside) {
    TransferListener* listener = outside_[machine - kOutside];
    if (listener != nullptr) listener->acknowledged(StateMachine::operation_of(user), status, now);
    return;
  }
  machines_[StateMachine::number_of(user)]->data_acknowledged(StateMachine::operation_of(user), status, now);
}

}  // namespace exanet
