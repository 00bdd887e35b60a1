// SPDX-License-Identifier: Apache-2.0
// The message library and the protocol side of the network interfaces, for all ranks of a machine: hands descriptors,
// and what the interfaces report, to the state machines of protocols.cpp.
//
// Time: a descriptor carries the time at which the rank's processor has handed it over. Descriptors are submitted when
// their rank goes to sleep and may lie before the queue's present time, but by less than lookahead(); all that they
// touch outside their rank lies later, so the order of events is that of virtual time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/protocol/context.hpp"
#include "core/protocol/host.hpp"

namespace exanet {

class StateMachine;

// Who learns what became of transfers that belong to no rank, by their numbers.
class TransferListener {
 public:
  virtual ~TransferListener() = default;
  virtual void arrived(std::uint32_t transfer, Status, Time now) = 0;
  virtual void acknowledged(std::uint32_t transfer, Status, Time now) = 0;
};

class MessageEngine final : private NicListener {
 public:
  // `kind`: an interface that has a message library. Throws ConfigError when it or the network cannot be built as
  // configured.
  MessageEngine(EventQueue& events, const Topology& topology, const NetworkConfig& fabric, const NiConfig& config,
                std::vector<NodeId> placement, Host& host, const NicKind& kind, const MakeNetwork& make = make_network);
  ~MessageEngine() override;

  // `d`: one of the records of core/spec/descriptors.hpp.
  template <typename Descriptor>
  void submit(RankId rank, const Descriptor& d, Payload payload = {}) {
    static_assert(Descriptor::kKind != DescriptorKind::kPad);
    take(rank, d, payload);
  }
  // The rank polls from `clock` on / has been given back to its program.
  void asleep(RankId rank, Time clock) { context_.processors.asleep(rank, clock); }
  void awake(RankId rank) { context_.processors.awake(rank); }
  // Work waits for the rank to poll: it must not advance its clock without the simulator.
  bool has_pending(RankId rank) const { return context_.processors.has_pending(rank); }
  // A message is on its way to a receive of the rank.
  bool is_receiving(RankId rank) const { return context_.matching.is_receiving(rank); }
  Time busy_until(RankId rank) const { return context_.processors.busy_until(rank); }

  // The rank's processor does nothing more from now on; its node's interface is a plan's (FaultKind::kHost).
  void dies(RankId rank) { context_.processors.die(rank); }
  // From now on the ranks on the node `by` know, or all (kNoNode): what waits there for the rank, and what is posted
  // for it later, ends with Status::kNodeDown.
  void is_known_dead(RankId rank, NodeId by);

  // Messages may go to groups of ranks: as a rank kGroup | what add_group() returns.
  bool multicasts() const { return context_.nic->multicasts(); }
  std::uint32_t add_group(RankGroup group) {
    context_.groups.push_back(std::move(group));
    return static_cast<std::uint32_t>(context_.groups.size() - 1);
  }

  // Ranks may reduce together in their interfaces.
  bool reduces() const { return context_.nic->reduces(); }
  // The number of a new tree, or why there is none: a negative errno value.
  std::int64_t open_reduction(std::vector<RankId> members) { return context_.open_reduction(std::move(members)); }
  std::uint32_t reduction_max() const { return context_.reduction_max(); }
  std::uint64_t reductions() const { return context_.reduced; }

  // Transfers between nodes that belong to no rank, beside those of ranks; each kind has one listener at a time.
  enum class Outside : std::uint8_t { kBackground, kStorage, kEthernet };
  void set_listener(Outside kind, TransferListener* listener) { outside_[static_cast<std::size_t>(kind)] = listener; }
  void post_outside(Outside kind, NodeId src, NodeId dst, std::uint64_t bytes, std::uint32_t number, bool acknowledged);

  void set_zero_cost(bool zero_cost);
  // What ranks may hand over that touches the network sooner than messages do.
  struct Sooner {
    bool packets, one_sided, streams = false;
  };
  // Whatever a rank does from a time t on, or has done for it while it polls, touches nothing outside the rank before t
  // + lookahead().
  Time lookahead(Sooner sooner) const;

  // CPU costs that libexanet charges before it stamps a descriptor.
  const ProcessorCosts& costs(RankId rank) const { return context_.costs(rank); }

  const Nic& nic() const { return *context_.nic; }
  FaultTarget& links() { return context_.nic->links(); }  // what a plan of faults acts on
  std::uint64_t operations() const { return context_.live; }  // under way anywhere, posted receives not counted
  // Messages by rendezvous that nobody has asked for: their senders wait, or will.
  std::vector<Matching::Unmatched> blocked_sends() const {
    return context_.matching.unmatched(context_.config.eager_max_bytes);
  }
  // Nothing goes on by itself: only messages are left that nobody has asked for.
  bool idle() const { return under_way() == 0; }
  std::uint64_t under_way() const {
    return context_.live - context_.matching.waiting();
  }  // operations that go on by themselves

  // Statistics of delivered packets and messages are the host's and the histogram's business; set once.
  void on_packet(void (*fn)(void*, Time), void* self) {
    packet_fn_ = fn;
    packet_self_ = self;
  }

 private:
  void take(RankId rank, const DescriptorHeader& d, Payload payload);

  // NicListener
  void message_completed(std::uint64_t user, Status status, Time now) override;
  void transfer_completed(std::uint64_t user, Status status, Time now) override;
  void transfer_acknowledged(std::uint64_t user, Status status, Time now) override;
  void reduction_packet_completed(std::uint64_t user, Status status, Time now) override;
  void reduction_completed(std::uint64_t user, Status status, Time now) override;
  void multicast_completed(std::uint64_t user, NodeId node, Status status, Time now) override;
  void multicast_sent(std::uint64_t user, Status status, Time now) override;
  void packet_delivered(const Packet&, Time injected, Time now) override {
    if (packet_fn_) packet_fn_(packet_self_, now - injected);
  }

  Context context_;
  std::vector<std::unique_ptr<StateMachine>> machines_;
  std::vector<std::vector<StateMachine*>> takers_;  // [kind of descriptor]: in the order in which they are asked
  void (*packet_fn_)(void*, Time) = nullptr;
  void* packet_self_ = nullptr;
  std::array<TransferListener*, 3> outside_{};  // by Outside
};

}  // namespace exanet
