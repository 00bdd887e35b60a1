// SPDX-License-Identifier: Apache-2.0
// The fabric's data: flat arrays of inputs, outputs and packets, so that a packet's hop touches a handful of cache
// lines. Private to core/network/exanet.
//
// The nodes are divided into parts. A part has its own event queue and packets, and touches nothing of another part's:
// its outputs, the credits that they have, and its inputs. What crosses the border between two parts (a packet, a
// credit) takes the latency of a link, and is mailed: see ExanetNetwork::collect(). A fabric in one piece is one part
// without mail.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/pool.hpp"
#include "core/network/common/injection.hpp"
#include "core/network/common/mailboxes.hpp"
#include "core/network/common/seen.hpp"
#include "core/network/exanet/exanet_network.hpp"
#include "core/network/queue_actions/queue_action.hpp"
#include "core/network/timing.hpp"
#include "core/routing/routing.hpp"
#include "core/topology/multicast.hpp"

namespace exanet {

namespace exanet_state {

inline constexpr std::uint32_t kNone = 0xffffffffu;
inline constexpr std::uint32_t kFewInputs =
    128;  // of a router, all classes, whose outputs keep their masks of waiting inputs themselves
inline constexpr std::uint32_t kMostInputs = 1024;  // of a router, of each class
inline constexpr std::uint8_t kBulk = 0, kPriority = 1;  // classes
inline constexpr std::uint8_t kIntraTile = 0xff;  // in place of a link class
inline constexpr std::uint32_t kCopies = kNone - 1;  // in place of an output: those of a multicast packet
inline constexpr std::uint32_t kDiscard = kNone - 2;  // the same: there is no route
inline constexpr Time kNotScheduled = Time::ps(-1);

// A packet in flight. The first half is its place in the buffer of the input that it stands in or is on its way to,
// with what the router reads of its header; the second is read at the ends of its route, and by routing.
struct alignas(64) PacketInFlight {
  Time time;  // it can be granted
  Time tail_in;  // its last word can be read
  std::uint32_t next;  // the one behind it in that buffer; of those not in use, another
  NodeId dst;
  std::uint16_t payload_bytes;
  std::uint8_t intra_port;
  std::uint8_t priority;
  NodeId src;
  std::uint64_t user;
  Time injected;
  // what routing remembers of it; of a multicast packet, whether copies have left: then `time` is when the last
  // ones began to
  std::uint32_t route = 0;
  // that it asks for where that input is, and with which virtual channel; none where routing decides when it is its
  // turn
  std::uint32_t output = kNone;
  std::uint8_t vc = 0;
  std::uint8_t marked : 1 = 0;  // a link has seen wrong bits
  std::uint8_t stuffed : 7 = 0;  // line words more than its length says: those of Magic, which a line sends twice
  // Outputs of this router, a bit each, to which a multicast packet has yet to go; its channels behind them; and those
  // where it is due.
  std::uint16_t copies = 0, copies_vc = 0;
  union {
    std::uint16_t copies_due = 0;
    std::uint16_t number;  // of a packet to one node: among those that its port took at the same time (draw_of())
  };
};
static_assert(sizeof(PacketInFlight) == 64);

// The credit for a packet that has left a buffer, on its way back to the sender.
struct CreditReturn {
  Time time;  // while it is pending: it can be sent; then: the sender has it
  std::uint32_t next;
  std::uint32_t pool;
  std::uint32_t payload_words;
  std::uint16_t packets = 1;
  bool reclaimed = false;  // space of packets that were lost on the way here
};

// What the other end of a line has heard, where words of it come out wrong. Control words report in turn health,
// payload words and packets sent on each virtual channel; what a report names and has not come was lost, and its space
// is given back.
struct FarEnd {
  std::uint32_t report = 1;  // the next one's kind; the first went out behind the reset
  std::uint64_t credits = 1;  // sent in control words of their own
  bool unheard = false;  // the last control word was wrong
  std::uint32_t lost_words[2] = {}, lost_packets[2] = {};  // by virtual channel, not given back yet
};

// An inter-tile port's virtual channel, or an intra-tile port, of one class: a FIFO of packets. Only its front asks for
// an output. The two classes of a port's virtual channel share its space.
struct alignas(64) Input {
  std::uint32_t front = kNone;
  std::uint32_t last = kNone;
  std::uint32_t output = kNone;  // what the front asks for
  std::uint32_t pool = kNone;  // this buffer's credits, as its sender knows them
  Time request;  // from when on the front asks
  Time idle_at;  // the packet before the front has gone, and the gap is over
  NodeId node = kNoNode;
  std::uint32_t first_output = 0;  // of this router
  std::uint32_t first_intra_output = 0;  // of this router
  std::uint16_t front_words = 0;  // payload words and virtual channel of the front
  std::uint8_t front_vc = 0;
  std::uint8_t priority = kBulk;  // its class
  std::uint16_t place =
      0;  // in the masks of those that wait: among the inputs of its router and class, and behind all of bulk
  std::uint8_t link_class = kIntraTile;
  bool due : 1 = false;  // the front goes before those of its class that came later
  bool multicast : 1 =
      false;  // the front is a packet to several nodes: its record says what it asks for, and where it is due
  std::uint32_t credit_output = kNone;  // this port's output, whose link carries credits to the sender
};

// The credit pool of an input's buffer, as the sender knows it: what is free, and a list of the credits that are on
// their way.
struct CreditPool {
  static constexpr std::uint32_t kStarved = kNone - 1;

  std::uint32_t oldest = kNone;
  // of that list; while it is empty, whether the sender waits for credits of which it cannot know the time yet
  std::uint32_t last = kNone;
  std::int32_t free_words = 0;
  std::int32_t free_packets = 0;

  bool starved() const { return last == kStarved; }
};

struct alignas(64) Output {
  Time free_at;  // next grant possible
  Time wire_free;  // end of the last word on the link
  Time
      advertised;  // the register of the line took the last control word: it carries all credits that were pending then
  Time wake_at = Time::never();  // the next look: an arbitrate event
  // inputs whose front asks for this output, with priorities a word each class; in a wide fabric how many, in the
  // first
  std::uint64_t waiting[2] = {};
  std::uint32_t first_input : 31 = 0;  // of this router
  std::uint32_t control_paused : 1 = 0;  // a pause before the last control word
  std::uint32_t far_input = kNone;  // virtual channel 0 at the other end
  std::uint32_t pending =
      kNone;  // pending credits for this port's FIFOs, not sent yet: a ring in order of time, its last one
  std::uint8_t idle_phase = 0;
  std::uint8_t link_class = kIntraTile;
  std::uint16_t passed : 4 = 0;  // grants to links since a packet of the network interface that could have gone did not
  std::uint16_t starves : 1 =
      0;  // a sender to this port may wait for space of which it cannot know the time yet; only of this part's
  std::uint16_t border : 1 = 0;  // the link leads to another part
  std::uint16_t granted : 10 = 0;  // the input that was granted last, of either class
};
static_assert(sizeof(Output) == 64);

// An intra-tile port, as its network interface sees it.
struct InjectionPort {
  Time busy_until;  // words are still being written
  Time offers_at = kNotScheduled;  // an event to look at the space, if somebody waits and a time is known
  std::uint32_t refused[2] = {};  // by class: calls of ready() that are due
  std::uint16_t need[2] = {};  // payload words of the largest refused packet
};

// What stands in an input behind its front, as far as it has been counted: routing asks for it at each decision, and it
// may be long. A packet counts from when its header is there, for the port to which the topology's own way leads.
struct Behind {
  std::size_t words = 0;  // its place in behind_words_
  std::uint32_t counted = kNone;  // the last packet counted; none: nothing behind the front
};

// The slots of the network interface behind an intra-tile output.
struct Slots {
  std::vector<Time>
      given_back;  // by the last packets, in the order of `next`; the time of each is when the interface does so
  std::uint32_t next = 0;  // the oldest
  Time stalled_until;
  Time output_free;  // the output's free_at, but for slots
  bool by_interface = false;  // given back by give_back(): until then `given_back` is Time::never()
};

// When the front of an input decides on its route, or reconsiders it. Only with adaptive routing. A router's are a list
// in order of time, and of inputs where that is the same.
struct Decision {
  Time at = kNotScheduled;
  std::uint32_t before = kNone, next = kNone;
};

struct DecisionList {  // of a router
  Time earliest = Time::never();
  std::uint32_t first = kNone, last = kNone;
};

// The front of an input that has decided and has not been granted, where it may be rerouted. It decides again only when
// what its last decision saw may have changed: see blocked_fronts.cpp.
struct Blocked {
  Time decided;  // the last decision: others are a multiple of the packet's time through the crossbar later
  Seen seen;  // by that
  std::uint32_t before = kNone, next = kNone;  // in the list of its router
  bool listed = false;
  bool settled = false;  // its next decision is scheduled, or it sleeps
};

struct Arrival {
  std::uint32_t input;
  PacketInFlight in_flight;
};

// What a packet carries of congestion, beside its record.
struct Notes {
  std::uint64_t stamp = 0;
  std::uint8_t notes = 0;
};

struct Credit {
  Time time;
  std::uint32_t pool;
  std::uint32_t payload_words;
};

// Mail of one partition to another in a window.
struct Mail {
  std::vector<Arrival> arrivals;
  std::vector<Notes> notes;  // of the arrivals, where packets carry any
  std::vector<Credit> credits;

  void clear() {
    arrivals.clear();
    notes.clear();
    credits.clear();
  }
};

struct Part;

// Holds what all parts share. Parts write to the arrays, each to its own nodes'.
struct State {
  State(const std::vector<Partition>& parts, const Topology& topology, const NetworkConfig& config,
        const std::vector<std::uint8_t>& part_of);

  void build_ports(const NetworkConfig& config);
  void build_node(NodeId node, const NetworkConfig& config);
  std::uint8_t part_of(NodeId node) const { return partition_of(part_of_, node); }
  std::uint32_t first_port(NodeId node) const { return first_output_[node]; }

  const Topology& topology_;
  std::vector<std::uint8_t> part_of_;  // by node; empty when all are in one part
  RouterTiming router_;
  // By class, and behind them the same towards endpoints behind switches; behind all of these the same again, for links
  // that are down.
  std::vector<LinkTiming> links_;
  bool links_fail_ = false;  // in the run
  bool has_failed_ = false;  // a link or an interface, by now
  std::uint8_t down_ = 0;  // the first class of a link that is down; those of intra-tile ports are above
  std::uint32_t intra_ports_;  // of an endpoint; a switch has none
  std::uint32_t rail_ports_;  // of each rail of one, where packets take the rail that they enter by; else 0
  std::uint32_t channels_, channel_step_;
  bool fixed_priority_, links_first_;
  // links narrower than a router word: each half that is Magic is sent twice, on others what has Magic in its lower
  // half
  bool stuffs_halves_;
  std::uint32_t endpoints_;
  Time endpoint_to_request_;  // as to_request, where packets are injected
  std::int32_t words_each_;  // of a virtual channel's buffer
  Time lookahead_ = Time::never();
  // Idle links do not advertise each packet's space at once: see Part::send_paced().
  bool paced_;
  Time interval_;  // from a control word to the cycle in which it is to be repeated
  std::int32_t advertise_words_, advertise_always_,
      advertise_packets_;  // space that is advertised: so many payload words, more of them, or packets
  bool multicasts_;  // packets may go to several nodes
  std::uint32_t priority_offset_ =
      0;  // from an input of bulk to that of priority packets with the same space; 0: there are none

  std::vector<std::uint32_t> first_output_, first_input_;  // by node, and one beyond
  std::vector<Output> outputs_;  // inter-tile, then intra-tile ports of each node
  std::vector<LinkStats> stats_;  // of the outputs
  std::vector<std::uint32_t> far_outputs_;  // of the outputs: the one whose link leads back
  std::vector<CreditPool> pools_;  // (output, virtual channel): at its far end; an intra-tile port's: its input's
  std::vector<Input> inputs_;  // (port, virtual channel), then intra-tile ports of each node; and as many for priority
  std::vector<InjectionPort> injection_ports_;  // intra-tile ports of each node
  std::vector<Numbering> numberings_;  // of the injection ports, where routing may draw; else none
  std::vector<Decision> decisions_;  // of the inputs; empty where routing does not look
  std::vector<DecisionList> decision_lists_;  // of the nodes; the same
  std::vector<Blocked> blocked_;  // of the inputs; empty where nobody is rerouted
  std::vector<std::uint32_t> blocked_lists_;  // of the nodes: the first; the same
  std::vector<Time> coming_;  // of the outputs: up to then packets are on their way that will stand before it; the same
  std::vector<Behind> behind_;  // of the inputs; empty where routing does not look
  std::vector<std::uint32_t> behind_words_;  // of each input, by inter-tile port of its router
  std::uint32_t mask_words_ = 2;  // of waiting inputs of a class
  // Of a wide fabric, in which some router has more than kFewInputs: for each output a mask of so many words.
  std::uint32_t wide_words_ = 0;
  std::vector<std::uint64_t> wide_;
  std::vector<Slots> slots_;  // of the outputs; empty where they never run out
  LineFaults faults_;
  std::size_t link_kinds_ = 0, kinds_and_rates_ = 0;  // of the machine; with those at the rates of slow links
  std::vector<bool> silent_;  // endpoints whose interface has stopped; empty while none has
  std::vector<LossyLink> lossy_;  // of the outputs; empty while no link has lost single packets
  std::vector<FarEnd> far_ends_;  // of the outputs; empty without faults
  std::vector<std::uint64_t> discarded_;  // packets without a route, by node
  std::vector<std::unique_ptr<Part>> parts_;
};

struct Part {
  Part(State& net, const Partition& part, std::uint8_t number, std::size_t parts);

  bool inject(const Packet& packet);
  void refuse(InjectionPort& port, CreditPool& pool, std::uint32_t input_index, std::uint8_t priority,
              std::uint32_t words);
  Time overtake(Time now, Input& bulk, Time end, Time span);
  void await_credit(InjectionPort& port, CreditPool& pool, std::uint32_t input_index);
  void arbitrate(Time now, std::uint32_t output_index);
  void peek(std::uint32_t output_index, unsigned step) const;
  void deliver(Time tail, std::uint32_t packet_index);
  void offer_credit(Time now, std::uint32_t input_index);
  [[gnu::cold, gnu::noinline]] void keep_notes(std::uint32_t packet_index, const Notes& notes);
  [[gnu::cold, gnu::noinline]] void act(Time now, const Output& output, std::uint32_t output_index, const Input& input);
  std::uint32_t words_behind(Time now, const Output& output, std::uint32_t output_index, const Input& input) const;
  void collect();
  void finish(Time now);

  template <typename Visit>
  void each_waiting(const Output& output, std::uint32_t output_index, std::uint8_t priority, Visit visit) const;
  std::uint64_t* wide(std::uint32_t output_index) const {
    return net_.wide_.data() + std::size_t{output_index} * wide_words_;
  }
  const std::uint64_t* masks(const Output& output, std::uint32_t output_index, std::uint8_t priority) const {
    return (wide_words_ == 0 ? output.waiting : wide(output_index)) + priority * mask_words_;
  }
  void await(Output& output, std::uint32_t output_index, const Input& input);
  void forget(Output& output, std::uint32_t output_index, const Input& input);
  std::uint32_t choose(Time now, Output& output, std::uint32_t output_index, Time& next);
  std::uint32_t choose_of(Time now, Output& output, std::uint32_t output_index, std::uint8_t priority, Time& next);
  bool may_go(Time now, const Output& output, std::uint32_t output_index, const Input& input);
  bool has_credit_beyond(Time now, const Output& output, std::uint32_t output_index, std::uint32_t vc,
                         std::uint8_t priority);
  bool has_credit_in_any(std::uint32_t output_index, const Input& input) const;
  // From when on the front asks: one of which copies have left again behind the last of them, but in their instant
  // still, to go together with them.
  Time asks_from(Time now, const Input& input) const {
    const bool waits = input.multicast && packets_[input.front].route != 0 && packets_[input.front].time != now;
    return waits ? input.idle_at : input.request;
  }
  std::uint8_t channel_to(std::uint32_t output_index, const Input& input) const {
    if (!input.multicast) return input.front_vc;
    return packets_[input.front].copies_vc >> (output_index - input.first_output) & 1;
  }
  bool is_due(std::uint32_t output_index, const Input& input) const {
    if (!input.multicast) return input.due;
    return (packets_[input.front].copies_due >> (output_index - input.first_output) & 1) != 0;
  }
  void set_due(std::uint32_t output_index, Input& input);
  void plan_copies(PacketInFlight& packet, const Input& input) const;
  void ask_copies(Input& input);
  void grant_copy(Time now, Output& output, std::uint32_t output_index, std::uint32_t input_index);
  std::uint8_t emptiest_channel(Time now, const Output& output, std::uint32_t output_index, const Input& input);
  void grant(Time now, Output& output, std::uint32_t output_index, std::uint32_t input_index);
  void cross_link(Time now, Output& output, std::uint32_t output_index, const Input& input, std::uint32_t packet_index,
                  Time left, std::uint8_t vc);
  void send_out(Output& output, std::uint32_t packet_index, Time left);
  [[gnu::cold, gnu::noinline]] void take_slot(Output& output, Time left);
  void stall(Time now, NodeId node, std::uint8_t intra_port, Time until);
  void give_back(NodeId node, std::uint8_t intra_port, Time at);
  void free_with_slot(Output& output, const Slots& slots) const;
  void plan(PacketInFlight& packet, const Input& input) const;
  [[gnu::cold, gnu::noinline]] void plan_by_port(PacketInFlight& packet, const Input& input) const;
  [[gnu::cold, gnu::noinline]] void discard_later(Input& input);
  [[gnu::cold, gnu::noinline]] void discard(Time now, std::uint32_t input_index);
  // links_down.cpp
  [[gnu::cold, gnu::noinline]] void set_output(Time now, std::uint32_t output_index, bool up);
  [[gnu::cold, gnu::noinline]] void set_rate(Time now, std::uint32_t output_index, std::uint32_t rate);
  [[gnu::cold, gnu::noinline]] bool is_silenced(const Output& output, const Input& input) const;
  [[gnu::cold, gnu::noinline]] void lose_on_line(Time now, std::uint32_t far_input);
  void withdraw(Input& input);
  [[gnu::cold, gnu::noinline]] void lose_front(Time now, Output& output, std::uint32_t output_index,
                                               std::uint32_t input_index, Status why);
  void read_out(Input& input, Time left, Status why);
  void report_lost(std::uint32_t packet_index, Status why);
  void register_front(Input& input);
  void ask(Input& input, std::uint32_t output_index, std::uint8_t vc, Time from);
  class View;  // steering.cpp, with what follows
  std::uint32_t words_behind(Time now, std::uint32_t input_index, std::uint16_t port);
  void uncount_front(const Input& input);
  void count_again(const Input& input);
  void steer(Input& input);
  void decide(Time now, Input& input);
  void schedule_decision(Time at, std::uint32_t input_index);
  void cancel_decision(std::uint32_t input_index);
  void decide_all(Time now, NodeId node);
  // blocked_fronts.cpp
  void block(Time now, std::uint32_t input_index, const Seen& seen);
  void unblock(std::uint32_t input_index);
  void settle_blocked(std::uint32_t input_index);
  void reconsider(std::uint32_t input_index, Time from);
  template <typename Saw>
  void reconsider_all(NodeId node, Time from, Saw saw);
  void port_granted(Time now, std::uint32_t output_index, NodeId node);
  void front_decided(Time now, std::uint32_t input_index, std::uint64_t ports);
  void packet_behind(const Input& input, const PacketInFlight& packet);
  void credit_comes(std::uint32_t pool_index, Time at);
  std::uint64_t port_bit(NodeId node, std::uint32_t output_index) const {
    return Seen::bit(output_index - net_.first_output_[node]);
  }
  [[gnu::cold, gnu::noinline]] void links_change(NodeId node, Time now);
  void reroute_those_left(Time now, const Output& output, std::uint32_t output_index);
  void arrive(Input& input, std::uint32_t packet_index);
  void return_credit(const Input& input, std::uint32_t payload_words, Time left);
  // Whether a packet may ever have come to the node: those who look at all nodes leave out the idle ones.
  bool was_reached(NodeId node) const { return (reached_[node / 64 % reached_.size()] >> (node % 64) & 1) != 0; }
  void queue_credit(Output& output, std::uint32_t return_index);
  bool overtakes_others(const Output& sender, std::uint32_t return_index) const;
  void insert_return(CreditPool& pool, std::uint32_t return_index);
  void send_credits(Time now, Output& output);
  [[gnu::cold, gnu::noinline]] void send_paced(Time now, Output& output);
  [[gnu::cold, gnu::noinline]] bool is_lost(Output& output, PacketInFlight& packet, std::uint32_t words,
                                            std::uint8_t vc, Time first_word);
  Time send_next(Output& output, Time magic);
  void settle_both(Time now, Output& output);
  void hear(Output& output, LineFault fault);
  LineFault fault_on(const Output& output, std::uint64_t number, bool credit, Time first_word) const;
  bool heard(const Output& output) const {
    return !faulty_ || !net_.far_ends_[static_cast<std::size_t>(&output - outputs_)].unheard;
  }
  Time next_control(const Output& output) const;
  void hand_over(Time now, Output& output, const LinkTiming& link);
  void receive_credits(Time now, const Output& output);
  Time next_credit(const Output& output, std::uint32_t pool_index) const;
  static Time control_end(const Output& output, const LinkTiming& link) {
    return output.advertised + link.to_line + link.word_time * (1 + output.control_paused);
  }
  static void settle_control(Output& output, const LinkTiming& link, Time advertised, Time end) {
    output.advertised = advertised;
    output.control_paused = end > advertised + link.to_line + link.word_time;
  }
  Time credit_arrival(const Output& output, Time returned) const;
  void accept_credit(CreditPool& pool, Time now, std::uint32_t return_index);
  void append_return(CreditPool& pool, std::uint32_t return_index);
  void reclaim(CreditPool& pool, Time now);
  void take(CreditPool& pool, std::uint32_t words);
  // Bulk leaves space for the largest priority packet.
  bool fits(const CreditPool& pool, std::uint8_t priority, std::uint32_t words) const {
    return pool.free_words >= static_cast<std::int32_t>(words) + reserve_[priority] &&
           pool.free_packets >= 2 - priority;
  }
  // Whether a largest packet of either class will find space for so long, whatever is granted meanwhile. In `span` an
  // output grants fewer than span / shortest_ + 2 packets, for their beginnings on the link are that far apart, and
  // fewer words than span / cycle and a largest packet's.
  bool plenty(const CreditPool& pool, Time span) const {
    const auto most = static_cast<std::int32_t>(router_.most_payload_words);
    return shortest_ * (pool.free_packets - 3) > span && router_.cycle * (pool.free_words - 3 * most) > span;
  }
  bool has_credit(const CreditPool& pool, std::uint8_t priority) const {
    return fits(pool, priority, router_.most_payload_words);
  }
  std::uint8_t far_part(const Output& output) const {
    return output.border ? net_.part_of(inputs_[output.far_input].node) : number_;
  }
  void wake(Output& output, std::uint32_t output_index, Time at);
  std::uint32_t add_return(Time time, std::uint32_t pool, std::uint32_t payload_words);
  InjectionPort& injection_port(const Input& input) {
    return injection_ports_[std::size_t{input.node} * intra_ports_ + input.pool / channels_ - input.first_intra_output];
  }

  // The shared data, each a load less away.
  const RouterTiming& router_;
  const std::vector<LinkTiming>& links_;
  const Topology& topology_;
  const Routing* const routing_;  // null: packets go where the topology says
  const bool plain_;  // ... and wherever they come from
  const bool adaptive_, may_reroute_;
  Output* const outputs_;
  LinkStats* const stats_;
  const std::uint32_t* const far_outputs_;
  CreditPool* const pools_;
  Input* const inputs_;
  InjectionPort* const injection_ports_;
  Numbering* const numberings_;
  Decision* const decisions_;
  DecisionList* const decision_lists_;
  Blocked* const blocked_;
  std::uint32_t* const blocked_lists_;
  Time* const coming_;
  const std::uint8_t down_;  // as the network's
  const std::uint32_t intra_ports_;
  const std::uint32_t rail_ports_;  // 0 also where routing chooses the rail
  const std::uint32_t channels_, channel_step_;
  const bool fixed_priority_, links_first_;
  const std::uint32_t priority_offset_, mask_words_, wide_words_;
  const bool paced_, faulty_, has_slots_;
  const std::int32_t reserve_[2];  // payload words, by class
  const Time shortest_;  // packet on any link; 0 where somebody looks at how much space there is

  State& net_;
  EventQueue& events_;
  PacketSink sink_;
  std::uint8_t number_;
  std::uint32_t arbitrate_event_, deliver_event_, offer_event_, discard_event_, decide_event_;
  Pool<PacketInFlight, &PacketInFlight::next> packets_;
  Pool<CreditReturn, &CreditReturn::next> returns_;
  std::unique_ptr<QueueAction> action_;  // null: nothing is done to packets
  bool carries_notes_ = false;
  std::vector<Notes> notes_;  // of packets, by number, where they carry any
  std::uint64_t hops_ = 0, lost_ = 0;
  std::array<std::uint64_t, 64> reached_{};  // by node, those alike in their lowest bits together
  std::uint64_t in_flight_ =
      0;  // those injected here less those delivered here; only the sum over all parts means something
  std::vector<std::uint32_t> borders_;  // outputs with a link to another part
  Mailboxes<Mail> mail_;
};

// Field by field: a record that is put together elsewhere and copied stalls until what has just been written in pieces
// can be read as a whole.
inline std::uint32_t Part::add_return(Time time, std::uint32_t pool, std::uint32_t payload_words) {
  const std::uint32_t index = returns_.take();
  CreditReturn& returned = returns_[index];
  returned.time = time;
  returned.next = kNone;
  returned.pool = pool;
  returned.payload_words = payload_words;
  returned.packets = 1;
  returned.reclaimed = false;
  return index;
}

// `input` has a front that asks for `output`, or no more.
inline void Part::await(Output& output, std::uint32_t output_index, const Input& input) {
  const std::uint32_t word = input.place / 64;
  const std::uint64_t bit = std::uint64_t{1} << (input.place % 64);
  if (wide_words_ == 0) [[likely]] {
    output.waiting[word] |= bit;
    return;
  }
  output.waiting[0] += (wide(output_index)[word] & bit) == 0;
  wide(output_index)[word] |= bit;
}

inline void Part::forget(Output& output, std::uint32_t output_index, const Input& input) {
  const std::uint32_t word = input.place / 64;
  const std::uint64_t bit = std::uint64_t{1} << (input.place % 64);
  if (wide_words_ == 0) [[likely]] {
    output.waiting[word] &= ~bit;
    return;
  }
  output.waiting[0] -= (wide(output_index)[word] & bit) != 0;
  wide(output_index)[word] &= ~bit;
}

// Looks at `output` at `at`, unless it does so before.
inline void Part::wake(Output& output, std::uint32_t output_index, Time at) {
  if (at >= output.wake_at) return;
  output.wake_at = at;
  events_.schedule(at, arbitrate_event_, output_index);
}

inline void Part::ask(Input& input, std::uint32_t output_index, std::uint8_t vc, Time from) {
  input.output = output_index;
  input.front_vc = vc;
  Output& output = outputs_[output_index];
  await(output, output_index, input);
  wake(output, output_index, max(from, output.free_at));
}

// Works out what the packet asks for where it is going to: well before it has to be known, for it takes long, and the
// output is in no cache.
inline void Part::plan(PacketInFlight& packet, const Input& input) const {
  if (packet.dst == input.node) {
    packet.output = input.first_intra_output + packet.intra_port;
    packet.vc = 0;
  } else if (is_multicast(packet.dst)) {
    return plan_copies(packet, input);
  } else if (plain_) {
    const Hop hop = topology_.next_hop(input.node, packet.dst);
    packet.output = input.first_output + hop.port;
    packet.vc = hop.vc;
  } else if (routing_ == nullptr) {
    return plan_by_port(packet, input);
  } else {
    packet.output = kNone;
    return;
  }
  __builtin_prefetch(&outputs_[packet.output], 1);
}

// All of a class that wait, in the order of inputs.
template <typename Visit>
void Part::each_waiting(const Output& output, std::uint32_t output_index, std::uint8_t priority, Visit visit) const {
  const std::uint64_t* const words = masks(output, output_index, priority);
  for (std::uint32_t word = 0; word < mask_words_; ++word)
    for (std::uint64_t rest = words[word]; rest != 0; rest &= rest - 1)
      visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
}

}  // namespace exanet_state

}  // namespace exanet
