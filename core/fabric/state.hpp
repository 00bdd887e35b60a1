// SPDX-License-Identifier: Apache-2.0
// The fabric's data: flat arrays of inputs, outputs and buffer entries, so that a packet's hop touches a handful of cache lines. Private
// to core/fabric.
//
// An input (an inter-tile port's virtual channel, or an intra-tile port) is a FIFO of entries in one linked list: first those whose packet
// has been granted but whose room has not been reclaimed (their credits are on the way back), then those that wait or are still
// arriving. Only the front of the latter asks for an output.
#pragma once

#include <cstdint>
#include <vector>

#include "core/fabric/fabric.hpp"
#include "core/fabric/timing.hpp"

namespace exanet {

namespace fabric_state {

inline constexpr std::uint32_t kNone = 0xffffffffu;
inline constexpr std::uint32_t kMostInputs = 128;  // of a router
inline constexpr std::uint8_t kIntraTile = 0xff;  // in place of a link class
inline constexpr Time kNotScheduled = Time::ps(-1);

// A packet's place in one input's buffer, with what the router reads of its header: half a cache line.
struct alignas(32) Entry {
  Time time;     // until the grant: its header is here; after it: its room is known to be free at the sender
  Time tail_in;  // its last word is here
  std::uint32_t packet;
  std::uint32_t next;
  NodeId dst;
  std::uint16_t payload_bytes;
  std::uint8_t intra_port;
  std::uint8_t priority;
};

struct Carried {
  Packet packet;
  Time injected;
  std::uint32_t next_free;
};

struct alignas(64) Input {
  std::uint32_t oldest = kNone;  // first entry whose room has not been reclaimed
  std::uint32_t front = kNone;   // first entry without a grant
  std::uint32_t last = kNone;
  std::uint32_t output = kNone;  // what the front asks for
  Time request;                  // from when on
  Time idle_at;                  // the packet before the front has gone, and the gap is over
  std::int32_t free_words = 0;
  std::int32_t free_packets = 0;
  std::uint32_t upstream = kNone;  // the output that fills this input
  NodeId node = kNoNode;
  std::uint16_t front_words = 0;  // payload words, virtual channel and priority of the front
  std::uint8_t front_vc = 0;
  std::uint8_t front_priority = 0;
  std::uint8_t index = 0;  // among the inputs of its router
  std::uint8_t link_class = kIntraTile;
  bool starved = false;  // the sender waits for room, and no credit is on the way
};

struct alignas(128) Output {
  Time free_at;                  // next grant possible
  Time tail_out;                 // end of the last packet's last word on the link
  Time wake_at = kNotScheduled;  // a pending arbitrate event, if there is one
  std::uint64_t waiting[2] = {};  // inputs whose front asks for this output
  NodeId node = kNoNode;
  std::uint32_t first_input = 0;    // of this router
  std::uint32_t far_input = kNone;  // virtual channel 0 at the other end
  std::uint32_t pause_phase = 0;
  std::uint8_t link_class = kIntraTile;
  std::uint8_t last_granted = kMostInputs - 1;
  LinkStats stats;
};

// An intra-tile port, as its network interface sees it.
struct Entrance {
  Time busy_until;            // words are still being written
  std::uint32_t refused = 0;  // calls of ready() that are due
  std::uint32_t need = 0;     // payload words of the largest refused packet
};

}  // namespace fabric_state

struct Fabric::State {
  using Entry = fabric_state::Entry;
  using Input = fabric_state::Input;
  using Output = fabric_state::Output;
  using Entrance = fabric_state::Entrance;

  State(EventQueue& events, const Topology& topology, const FabricConfig& config, FabricSink sink);

  bool inject(const Packet& packet);
  void arbitrate(Time now, std::uint32_t output_index);
  void deliver(Time now, std::uint32_t packet_index);
  void offer_room(Time now, std::uint32_t input_index);

  void build_ports(const Topology& topology, const FabricConfig& config);
  std::uint32_t choose(Time now, Output& output, std::uint32_t output_index, bool& others);
  bool room_beyond(Time now, const Output& output, std::uint32_t output_index, const Input& input);
  void grant(Time now, Output& output, std::uint32_t input_index);
  void cross_link(Time now, Output& output, const Input& input, const Entry& entry, Time left);
  void register_front(Input& input);
  void append(Input& input, const Entry& entry);
  void reclaim(Input& input, Time now);
  void wake(Output& output, std::uint32_t output_index, Time at);
  Entrance& entrance(const Input& input) {
    return entrances_[std::size_t{input.node} * intra_ports_ + input.index - intra_index(input.node)];
  }
  std::uint32_t intra_index(NodeId node) const { return first_input_[node + 1] - first_input_[node] - intra_ports_; }

  EventQueue& events_;
  const Topology& topology_;
  FabricSink sink_;
  RouterPace router_;
  std::vector<LinkPace> links_;
  std::uint32_t intra_ports_;  // of an endpoint; a switch has none
  std::uint32_t endpoints_;
  std::uint32_t arbitrate_event_, deliver_event_, room_event_;

  std::vector<std::uint32_t> first_output_, first_input_;  // by node, and one beyond
  std::vector<Output> outputs_;                            // inter-tile, then intra-tile ports of each node
  std::vector<Input> inputs_;                              // (port, virtual channel), then intra-tile ports of each node
  std::vector<Entrance> entrances_;                        // intra-tile ports of each node
  std::vector<Entry> entries_;
  std::vector<fabric_state::Carried> packets_;
  std::uint32_t free_entry_ = fabric_state::kNone, free_packet_ = fabric_state::kNone;
  std::uint64_t hops_ = 0, in_flight_ = 0;
};

}  // namespace exanet
