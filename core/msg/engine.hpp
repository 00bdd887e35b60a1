// SPDX-License-Identifier: Apache-2.0
// The message library and the protocol side of the network interfaces, for all ranks of a machine.
//
// Small messages are *eager*: envelope and payload in one packetizer message. Larger ones are *rendezvous*: the envelope travels alone; the
// receiver, once matched, fetches the payload by an RDMA read from the sender's memory and then acknowledges to the sender. That is the
// protocol of the ExaNeSt MPI library (MICPRO 2018, section 4.2). Puts, gets and atomics go to the RDMA engines directly.
//
// Matching and protocol steps are the work of a rank's processor inside the library, so they only happen while the rank is in it (polling),
// at a cost, one after another: Rank::pending holds what waits for that. What the interface does in hardware needs no rank.
//
// Time: a command carries the time at which the rank's processor has handed it over. Commands are submitted when their rank goes to sleep
// and may lie up to lookahead() before the queue's present time; all that they touch outside their rank lies later, so the order of
// events is that of virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/msg/command.hpp"
#include "core/msg/memory_map.hpp"
#include "core/nic/interfaces.hpp"

namespace exanet {

class MessageEngine final : private InterfaceListener {
 public:
  MessageEngine(EventQueue& events, const Topology& topology, const FabricConfig& fabric, const NiConfig& config,
                std::vector<NodeId> placement, Host& host, const MakeNetwork& make = make_fabric);
  ~MessageEngine() override;

  void submit(RankId rank, const Command& command);
  // The rank polls from `clock` on / has been given back to its program.
  void asleep(RankId rank, Time clock);
  void awake(RankId rank) { ranks_[rank].polling = false; }
  // Work waits for the rank to poll: it must not advance its clock without the simulator.
  bool has_pending(RankId rank) const { return !ranks_[rank].pending.empty(); }
  Time busy_until(RankId rank) const { return ranks_[rank].busy_until; }

  void set_instant(bool instant);
  // A command that a rank hands over at a time t touches nothing outside the rank before t's call + lookahead().
  Time lookahead() const;

  // CPU costs that libexanet charges before it stamps a command.
  Time send_cpu() const { return config_.mpi_send + config_.library_send; }
  Time rdma_cpu() const { return config_.library_send + config_.store_word * kDescriptorWords; }
  Time packet_cpu() const { return config_.library_send; }

  const Interfaces& interfaces() const { return interfaces_; }
  std::uint64_t operations() const { return live_; }   // under way anywhere, posted receives not counted
  bool idle() const { return live_ == waiting_; }      // nothing goes on by itself: only messages are left that nobody has asked for

  // Statistics of delivered packets and messages are the host's and the histogram's business; set once.
  void on_packet(void (*fn)(void*, Time), void* self) { packet_fn_ = fn; packet_self_ = self; }

 private:
  static constexpr int kDescriptorWords = 4;  // an RDMA descriptor: 64 bytes, four stores of 128 bits

  enum class Stage : std::uint8_t {
    idle, posted, eager, request_to_send, unexpected, matched, read_request, read_data, read_done, final_ack,
    put_data, get_request, get_data, get_refused, atomic_request, atomic_reply
  };
  struct Op {
    Command c;
    RankId rank = 0;                 // who posted it
    Stage stage = Stage::idle;
    std::int32_t status = 0;
    std::uint32_t match = kNone;     // message: its receive
    std::uint64_t into = 0;          // receive side: where the data go
    std::uint64_t room = 0;          // and how much fits
    std::uint64_t result_bytes = 0;
    Time arrived;
    std::uint32_t holds = 0;         // acknowledgements still under way; receive: matched messages still under way
    bool done = false;               // nothing else will look at it
    std::vector<std::byte> payload;
    std::uint32_t prev = kNone, next = kNone;
  };
  struct List { std::uint32_t head = kNone, tail = kNone; };
  struct Endpoint {
    bool open = false, raw = false;
    List posted[2], unexpected[2], claimed;   // [tagged]
  };
  struct Work { std::uint32_t op; Time time; };
  struct Rank {
    NodeId node = 0;
    bool polling = false;
    Time clock, busy_until;
    std::vector<Endpoint> endpoints;
    std::vector<Work> pending;
    MemoryMap memory;
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // InterfaceListener
  void control_arrived(std::uint64_t user, Time now) override;
  void data_arrived(std::uint64_t user, Time now) override;
  void data_acknowledged(std::uint64_t user, Time now) override;
  void packet_delivered(Time latency) override { if (packet_fn_) packet_fn_(packet_self_, latency); }

  // engine.cpp
  std::uint32_t allocate(RankId rank, const Command& c);
  void finish(std::uint32_t id);                        // recycled once nothing holds it
  void drop_hold(std::uint32_t id);
  void recycle(std::uint32_t id);
  void execute(std::uint32_t id, Time now);             // a command's time has come
  Endpoint* endpoint(RankId rank, std::uint16_t ep);
  Endpoint& open_endpoint(RankId rank, std::uint16_t ep);
  void close_endpoint(RankId rank, std::uint16_t ep);
  Completion completion(const Op& op, CompletionKind kind, Time at) const;
  Time consume_cpu(std::uint64_t bytes) const;
  void complete_initiator(std::uint32_t id, CompletionKind kind, Time at);
  NodeId node(RankId rank) const { return ranks_[rank].node; }
  bool told(const Op& op) const;
  void fail(std::uint32_t id, std::int32_t status, Time now);
  void refuse(std::uint32_t id, std::int32_t status);

  // matching.cpp
  void post_receive(RankId rank, const Command& c);
  void message_arrived(std::uint32_t id, Endpoint& e, Time now);
  void match(std::uint32_t message, std::uint32_t receive, Time at);
  void peek(std::uint32_t id, Time now);
  void cancel(std::uint32_t id, Time now);
  void discard(std::uint32_t message, Time at);
  bool matches(const Op& message, const Command& receive) const;
  void append(List& list, std::uint32_t id);
  void remove(List& list, std::uint32_t id);
  void take_waiting(List& list, std::uint32_t id);
  void finish_receive(std::uint32_t message, Time at);
  void release_multi(std::uint32_t receive, Time at);

  // rendezvous.cpp: what a rank's processor does inside the library
  void enqueue_work(RankId rank, std::uint32_t op, Time at);
  void progress(RankId rank, Time now);
  void run_work(RankId rank, Work work);
  void fetched(std::uint32_t id, Time now);
  bool copy(RankId from, std::uint64_t from_addr, RankId to, std::uint64_t to_addr, std::uint64_t bytes);

  // rdma.cpp
  void start_put(std::uint32_t id);
  void start_request(std::uint32_t id, Stage stage, std::uint64_t bytes);
  void put_arrived(std::uint32_t id, Time now);
  void get_requested(std::uint32_t id, Time now);
  void get_arrived(std::uint32_t id, Time now);
  void atomic_requested(std::uint32_t id, Time now);
  void atomic_replied(std::uint32_t id, Time now);
  void remote_event(const Op& op, const MemoryMap::Region& region, std::uint32_t access, Time now);

  EventQueue& events_;
  NiConfig config_;
  Host& host_;
  Interfaces interfaces_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Op>> ops_;    // addresses stay put while handlers allocate
  std::vector<std::uint32_t> free_;
  std::vector<Time> atomic_unit_;           // per node: free from
  std::vector<std::byte> bounce_;
  std::uint32_t on_execute_, on_progress_, on_step_, on_fetched_;
  std::uint64_t live_ = 0, waiting_ = 0;
  bool instant_ = true;
  void (*packet_fn_)(void*, Time) = nullptr;
  void* packet_self_ = nullptr;
};

}  // namespace exanet
