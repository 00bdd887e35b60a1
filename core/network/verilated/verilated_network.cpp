// SPDX-License-Identifier: Apache-2.0
// Runs Verilated nodes as a network: packets are put on their ports beat by beat, those that come out are put together,
// and nodes that rest are not evaluated. Model and limits: verilated_network.hpp.
#include "core/network/verilated/verilated_network.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/network/common/injection.hpp"
#include "core/network/node_buses.hpp"
#include "core/network/timing.hpp"
#include "core/network/verilated/registers.hpp"
#include "core/spec/integrity.hpp"
#include "core/spec/node_library.h"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {
namespace {

constexpr std::uint64_t kIdBits = 48;
constexpr std::uint32_t kClasses = 2;  // bulk and priority packets
constexpr std::uint32_t kNoLine = 0xffffffffu;
// The last word of a packet is on the output's wire for a cycle, and with the interface at the end of it.
constexpr std::int64_t kTailCycles = 1;
constexpr std::uint64_t kThroughParts =
    100;  // cycles, more than a credit and a packet take through parts and a pause of the line
constexpr std::uint64_t kReports = 60;  // intervals, more than it takes until what was lost is reported

const exanet_node_library_calls& load(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: it may serve several networks
  if (handle == nullptr)
    throw std::invalid_argument("the Verilated gateware cannot be loaded: " + std::string(::dlerror()) +
                                "; remove that file, and the next run builds it again");
  using Get = const exanet_node_library_calls* (*)();
  const auto get = reinterpret_cast<Get>(::dlsym(handle, EXANET_NODE_LIBRARY_SYMBOL));
  if (get == nullptr || get()->version != EXANET_NODE_LIBRARY_VERSION)
    throw std::invalid_argument(path + " is not a library of Verilated nodes of this version: build it again");
  return *get();
}

class VerilatedNetwork final : public Network, public NodeBuses {
 public:
  VerilatedNetwork(const std::string& library, const TopologySpec& spec, EventQueue& events, const Topology& topology,
                   const NetworkConfig& config, PacketSink sink, unsigned threads);
  ~VerilatedNetwork() override { calls_.close(nodes_); }
  VerilatedNetwork(const VerilatedNetwork&) = delete;
  VerilatedNetwork& operator=(const VerilatedNetwork&) = delete;

  bool inject(const Packet& packet) override;
  const LinkStats& link_stats(NodeId node, std::uint16_t port) const override;
  std::uint64_t packet_hops() const override;
  std::uint64_t discarded(NodeId node) const override { return calls_.discarded(nodes_, node); }
  std::uint64_t in_flight() const override { return in_flight_; }
  void stall(NodeId node, std::uint8_t intra_port, Time until) override;
  void give_back(NodeId node, std::uint8_t intra_port, Time at) override;
  std::uint64_t cycles() const override { return cycles_; }

  NodeBuses* buses() override { return calls_.interfaces != 0 ? this : nullptr; }
  void store(NodeId node, std::int64_t cycle, const exanet_store& store) override;
  bool takes(NodeId node, std::uint32_t bus) const override { return calls_.takes(nodes_, node, bus) != 0; }
  bool configure(NodeId node, std::span<const exanet_store> stores) override {
    return calls_.configure(nodes_, node, stores.data(), static_cast<std::uint32_t>(stores.size())) != 0;
  }
  void start(const exanet_memory& memory, void* self, See see) override;
  std::uint32_t address(NodeId node) const override { return registers_.dcid(node); }
  NodeId node_at(std::uint32_t address) const override { return registers_.node_at(address); }
  std::uint32_t shift(unsigned dimension) const override { return registers_.shift(dimension); }

 private:
  struct PacketInFlight {
    Packet packet;
    Time injected;
    std::uint64_t id;
    std::vector<NodeId> awaited;  // nodes that it has yet to arrive at; none: it is not under way
  };
  struct InjectionPort {  // an intra-tile port, as its network interface sees it
    std::uint32_t words, headers;  // free behind it, for both classes
    std::uint32_t refused[2] = {};  // by class: calls of ready() that are due
    std::uint32_t need[2] = {};  // payload words of the largest refused packet
  };
  struct Waiting {
    std::int64_t cycle;
    std::uint32_t slot;
  };

  struct GivenBack {
    std::int64_t cycle;
    std::uint32_t node, port;
  };
  struct Stall {
    std::int64_t until;  // cycle
    std::uint32_t node, port;
  };
  struct Stored {
    std::int64_t cycle;
    NodeId node;
    exanet_store store;
  };
  using Header = std::array<std::uint32_t, 4>;

  std::uint32_t payload_words(const Packet& p) const { return (p.payload_bytes + word_bytes_ - 1) / word_bytes_; }
  // Bulk leaves space for the largest priority packet.
  bool fits(const InjectionPort& port, std::uint8_t priority, std::uint32_t words) const {
    return port.words >= words + (priority == 0 ? most_payload_words_ : 0) && port.headers >= 2u - priority;
  }
  InjectionPort& injection_port(std::uint64_t node, std::uint64_t port) {
    return injection_ports_[node * intra_ports_ + port];
  }
  std::int64_t next_cycle(Time at) const { return (at.ps() + period_.ps() - 1) / period_.ps(); }
  void schedule_cycle(std::int64_t cycle);
  void run_cycle(Time now);
  std::uint32_t take_slot();  // of packets_
  void hand_over(const PacketInFlight& in_flight);
  void see(std::int64_t cycle);
  void see_packet(const exanet_seen& seen, std::int64_t cycle);
  bool may_wait_for_credits();
  void arrived(Time now, NodeId node, std::uint64_t slot);
  void space(Time now, std::uint32_t port, std::uint64_t amount);

  const exanet_node_library_calls& calls_;
  exanet_nodes* nodes_;
  EventQueue& events_;
  PacketSink sink_;
  GatewareRegisters registers_;
  Time period_;
  Time credit_time_;  // from space at the port to a header that may take it, in the interface
  std::uint32_t word_bytes_, most_payload_words_, intra_ports_, ports_ = 0;
  std::uint32_t cycle_event_, arrived_event_, credit_event_;
  std::vector<std::uint32_t> line_;  // by node and port, `ports_` each; kNoLine where nothing is plugged in
  mutable std::vector<LinkStats> stats_;
  std::vector<InjectionPort> injection_ports_;
  std::vector<PacketInFlight> packets_;
  std::vector<std::uint32_t> free_;
  std::vector<Stall> stalls_;
  std::vector<GivenBack> given_back_;  // for a cycle that has not been simulated
  std::vector<Stored> stored_;  // for a cycle that has not been simulated
  std::map<Header, std::deque<Time>> under_way_;  // when packets of interfaces began; those of one header come in order
  void* seer_ = nullptr;
  See see_ = nullptr;
  std::vector<Waiting> waiting_;  // handed over, for a cycle that has not been simulated
  std::int64_t next_ = 0;  // the cycle behind the last one that was simulated
  bool faulty_ = false, running_ = false;
  std::uint64_t in_flight_ = 0, cycles_ = 0, next_generation_ = 0;
  std::uint64_t still_ = 0, stall_limit_ = 0;  // cycles; for how long packets may wait though nothing moves
  const Topology& topology_;
};

VerilatedNetwork::VerilatedNetwork(const std::string& library, const TopologySpec& spec, EventQueue& events,
                                   const Topology& topology, const NetworkConfig& config, PacketSink sink,
                                   unsigned threads)
    : calls_(load(library)),
      events_(events),
      sink_(sink),
      registers_(spec, config, calls_.interfaces != 0),
      period_(config.router.cycle),
      credit_time_(config.router.cycle * config.router.interface_credit_cycles),
      word_bytes_(static_cast<std::uint32_t>(config.router.word_bits / 8)),
      most_payload_words_(RouterTiming(config.router).most_payload_words),
      intra_ports_(static_cast<std::uint32_t>(config.router.intra_ports)),
      topology_(topology) {
  const std::uint32_t nodes = topology.node_count();
  for (NodeId node = 0; node < nodes; ++node) ports_ = std::max<std::uint32_t>(ports_, topology.port_count(node));
  if (calls_.line_bits != config.links[0].word_bits)
    throw std::invalid_argument(
        library + " has nodes with links of another width than this machine's: build it for this machine");
  std::vector<exanet_line> lines;
  line_.assign(std::size_t{nodes} * ports_, kNoLine);
  bool fits = calls_.intra_ports == intra_ports_;
  std::uint32_t longest_line = 0;
  for (NodeId node = 0; node < nodes; ++node) {
    for (std::uint16_t port = 0; port < topology.port_count(node); ++port) {
      const PortRef far = topology.neighbour(node, port);
      if (far.node == kNoNode) continue;
      fits = fits && port < calls_.inter_ports;
      line_[std::size_t{node} * ports_ + port] = static_cast<std::uint32_t>(lines.size());
      const auto& [cycles, pause_every] = registers_.line(topology.link_class(node, port));
      lines.push_back({node, port, far.node, far.port, cycles, pause_every});
      longest_line = std::max(longest_line, cycles);
    }
  }
  if (!fits)
    throw std::invalid_argument(library + " has nodes with other ports than this machine's: build it for this machine");
  nodes_ = calls_.open(nodes, registers_.data(), registers_.credit(), static_cast<std::uint32_t>(lines.size()),
                       lines.data(), threads);
  if (config.faults.one_in != 0) calls_.disturb(nodes_, config.faults.seed, config.faults.one_in);
  faulty_ = config.faults.any();
  std::int64_t longest_outage = 0;
  for (const LineOutage& outage : config.faults.outages) {
    const std::uint32_t line = line_[std::size_t{outage.node} * ports_ + outage.port];
    EXANET_CHECK(line != kNoLine && registers_.credit() != 0, "an outage of no line that repeats credits", 0,
                 outage.node, outage.port);
    calls_.take_down(nodes_, line, static_cast<std::uint64_t>(outage.from), static_cast<std::uint64_t>(outage.until));
    longest_outage = std::max(longest_outage, outage.until - outage.from);
  }
  if (const std::uint32_t interval = registers_.credit() >> 16; registers_.credit() != 0)
    stall_limit_ = kThroughParts + longest_line + (faulty_ ? kReports * (interval + 4) : interval) +
                   static_cast<std::uint64_t>(longest_outage);
  for (NodeId node = 0; node < nodes; ++node)
    for (std::uint32_t port = 0; port < intra_ports_; ++port)
      if ((sink_.gives_back >> port & 1) != 0) calls_.hold(nodes_, node, port, 1);
  stats_.resize(line_.size());
  injection_ports_.assign(std::size_t{nodes} * intra_ports_,
                          {static_cast<std::uint32_t>(config.router.intra_fifo_words),
                           static_cast<std::uint32_t>(config.router.header_fifo_words / kClasses)});
  for (std::size_t port = 0; port < injection_ports_.size(); ++port)
    if (config.router.shallow_port == static_cast<std::int64_t>(port % intra_ports_))
      injection_ports_[port].headers =
          std::min(injection_ports_[port].headers, static_cast<std::uint32_t>(config.router.shallow_packets));
  cycle_event_ = events.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t) { static_cast<VerilatedNetwork*>(self)->run_cycle(now); },
      this);
  arrived_event_ =
      events.add_handler([](void* self, Time now, std::uint32_t node,
                            std::uint64_t slot) { static_cast<VerilatedNetwork*>(self)->arrived(now, node, slot); },
                         this);
  credit_event_ =
      events.add_handler([](void* self, Time now, std::uint32_t port,
                            std::uint64_t amount) { static_cast<VerilatedNetwork*>(self)->space(now, port, amount); },
                         this);
}

std::uint32_t VerilatedNetwork::take_slot() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(packets_.size()));
    packets_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

bool VerilatedNetwork::inject(const Packet& packet) {
  const Time now = events_.now();
  const std::uint32_t words = payload_words(packet);
  InjectionPort& port = injection_port(packet.src, packet.intra_port);
  EXANET_CHECK(packet.magic_lower < 32 && packet.magic_upper < 32, "too much Magic", now.ps(), packet.src, packet.dst);
  EXANET_CHECK(packet.priority < kClasses, "a packet of no class", now.ps(), packet.src, packet.priority);
  if (!fits(port, packet.priority, words)) {
    port.need[packet.priority] = std::max(port.need[packet.priority], words);
    ++port.refused[packet.priority];
    return false;
  }
  port.words -= words;
  port.headers -= 1;
  const std::uint32_t slot = take_slot();
  // The generation distinguishes a late second copy from the packet that has the slot now.
  std::vector<NodeId> awaited =
      is_multicast(packet.dst) ? multicast_destinations(topology_, packet.src, packet.dst) : std::vector{packet.dst};
  EXANET_CHECK(!awaited.empty() || topology_.routes_by_port(), "a packet to no node", now.ps(), packet.src, packet.dst);
  in_flight_ += awaited.size();
  packets_[slot] = {packet, now, (next_generation_++ << 24 | slot) & ((std::uint64_t{1} << kIdBits) - 1),
                    std::move(awaited)};
  const std::int64_t cycle = next_cycle(now);
  waiting_.push_back({cycle, slot});
  if (!running_) schedule_cycle(cycle);
  return true;
}

// A cycle is simulated a picosecond after its edge, when all that happens at the edge itself has happened.
void VerilatedNetwork::schedule_cycle(std::int64_t cycle) {
  running_ = true;
  events_.schedule(period_ * cycle + Time::ps(1), cycle_event_, 0);
}

void VerilatedNetwork::run_cycle(Time now) {
  const std::int64_t cycle = now.ps() / period_.ps();
  // What links have repeated while nothing was under way.
  for (; registers_.credit() != 0 && next_ < cycle; ++next_, ++cycles_) calls_.step(nodes_);
  if (calls_.interfaces != 0 && next_ < cycle) calls_.skip(nodes_, static_cast<std::uint64_t>(cycle - next_));
  next_ = cycle + 1;
  std::erase_if(stalls_, [&](const Stall& stall) {
    const bool over = stall.until <= cycle + 1;  // in the cycle that the step begins
    if (over) calls_.hold(nodes_, stall.node, stall.port, 0);
    return over;
  });
  std::erase_if(given_back_, [&](const GivenBack& slot) {
    if (slot.cycle > cycle) return false;
    calls_.give_back(nodes_, slot.node, slot.port);
    return true;
  });
  std::size_t kept = 0;
  for (const Waiting& waiting : waiting_) {
    if (waiting.cycle <= cycle)
      hand_over(packets_[waiting.slot]);
    else
      waiting_[kept++] = waiting;
  }
  waiting_.resize(kept);
  std::erase_if(stored_, [&](const Stored& stored) {
    if (stored.cycle > cycle) return false;
    calls_.store(nodes_, stored.node, &stored.store);
    return true;
  });
  calls_.step(nodes_);
  ++cycles_;
  if (see_ != nullptr) see(cycle);
  const Time edge = period_ * (cycle + 1);
  const exanet_arrival* arrival = nullptr;
  for (std::uint32_t i = 0, n = calls_.arrivals(nodes_, &arrival); i < n; ++i) {
    const std::uint32_t slot = static_cast<std::uint32_t>(arrival[i].id & 0xffffff);
    EXANET_CHECK(slot < packets_.size() && !packets_[slot].awaited.empty() && packets_[slot].id == arrival[i].id,
                 "the gateware delivers a packet that nobody sent", now.ps(), arrival[i].node, arrival[i].id);
    const Packet& packet = packets_[slot].packet;
    EXANET_CHECK(std::count(packets_[slot].awaited.begin(), packets_[slot].awaited.end(), arrival[i].node) == 1 &&
                     packet.intra_port == arrival[i].port,
                 "the gateware delivers a packet elsewhere", now.ps(), arrival[i].node, packet.dst);
    EXANET_CHECK(arrival[i].sound || faulty_, "the gateware delivers a packet changed", now.ps(), packet.src,
                 packet.dst);
    events_.schedule(edge + period_ * kTailCycles, arrived_event_, arrival[i].node,
                     slot | std::uint64_t{arrival[i].sound == 0} << 32);
  }
  const exanet_space* space = nullptr;
  for (std::uint32_t i = 0, n = calls_.space(nodes_, &space); i < n; ++i)
    events_.schedule(edge + credit_time_, credit_event_, space[i].node * intra_ports_ + space[i].port,
                     std::uint64_t{space[i].words} << 32 | space[i].headers);
  still_ = calls_.at_rest(nodes_) ? still_ + 1 : 0;
  if (!waiting_.empty() || !given_back_.empty() || !stored_.empty() || still_ == 0 || may_wait_for_credits()) {
    schedule_cycle(cycle + 1);
    return;
  }
  running_ = false;
}

// Whether packets may go on though nothing has moved for a while: links hold back credits for an interval, and report
// what was lost in a report of many. Copies of multicast packets that were discarded, and what was lost, never come.
bool VerilatedNetwork::may_wait_for_credits() {
  if (still_ > stall_limit_) return false;
  std::uint64_t gone = 0;
  for (NodeId node = 0; node < topology_.node_count(); ++node) gone += discarded(node);
  return in_flight_ > gone;
}

void VerilatedNetwork::stall(NodeId node, std::uint8_t intra_port, Time until) {
  calls_.hold(nodes_, node, intra_port, 1);
  for (Stall& stall : stalls_)
    if (stall.node == node && stall.port == intra_port) {
      stall.until = std::max(stall.until, next_cycle(until));
      return;
    }
  stalls_.push_back({next_cycle(until), node, intra_port});
}

void VerilatedNetwork::give_back(NodeId node, std::uint8_t intra_port, Time at) {
  const std::int64_t cycle = next_cycle(at);
  given_back_.push_back({cycle, node, intra_port});
  if (!running_) schedule_cycle(cycle);
}

void VerilatedNetwork::store(NodeId node, std::int64_t cycle, const exanet_store& store) {
  stored_.push_back({cycle, node, store});
  if (!running_) schedule_cycle(cycle);
}

void VerilatedNetwork::start(const exanet_memory& memory, void* self, See see) {
  calls_.memory(nodes_, &memory);
  seer_ = self;
  see_ = see;
}

void VerilatedNetwork::see(std::int64_t cycle) {
  const exanet_seen* seen = nullptr;
  for (std::uint32_t i = 0, n = calls_.seen(nodes_, &seen); i < n; ++i)
    if (seen[i].what == EXANET_SEEN_INJECTED || seen[i].what == EXANET_SEEN_DELIVERED)
      see_packet(seen[i], cycle);
    else
      see_(seer_, seen[i], cycle);
}

void VerilatedNetwork::see_packet(const exanet_seen& seen, std::int64_t cycle) {
  spec::Header header;
  std::copy_n(seen.data, header.raw.size(), header.raw.begin());
  header.set_vc(0);
  header.set_ecc(0);
  std::deque<Time>& same = under_way_[header.raw];
  if (seen.what == EXANET_SEEN_INJECTED) {
    same.push_back(period_ * cycle);
    ++in_flight_;
    return;
  }
  EXANET_CHECK(!same.empty(), "the gateware delivers a packet that nobody sent", cycle, seen.node, seen.place);
  const std::uint32_t slot = take_slot();
  packets_[slot] = {{node_at(static_cast<std::uint32_t>(header.source_dcid())), seen.node,
                     static_cast<std::uint16_t>(header.length()), static_cast<std::uint8_t>(seen.place),
                     static_cast<std::uint8_t>(header.high_priority()), 0},
                    same.front(),
                    0,
                    {seen.node}};
  same.pop_front();
  if (same.empty()) under_way_.erase(header.raw);
  events_.schedule(period_ * (cycle + kTailCycles), arrived_event_, seen.node, slot);
}

void VerilatedNetwork::hand_over(const PacketInFlight& in_flight) {
  const Packet& p = in_flight.packet;
  const bool multicast = is_multicast(p.dst);
  const exanet_node_packet packet{in_flight.id,
                                  registers_.dcid(p.src),
                                  multicast ? registers_.box(p.dst) : registers_.dcid(p.dst),
                                  p.payload_bytes,
                                  registers_.kind(p.intra_port),
                                  p.priority,
                                  multicast,
                                  p.magic_lower,
                                  p.magic_upper};
  calls_.send(nodes_, p.src, p.intra_port, &packet);
}

void VerilatedNetwork::arrived(Time now, NodeId node, std::uint64_t what) {
  const auto slot = static_cast<std::uint32_t>(what);
  PacketInFlight& in_flight = packets_[slot];
  Packet packet = in_flight.packet;
  packet.marked = static_cast<std::uint8_t>(what >> 32);
  const Time injected = in_flight.injected;
  packet.dst = node;
  std::erase(in_flight.awaited, node);
  if (in_flight.awaited.empty()) free_.push_back(slot);
  --in_flight_;
  if (sink_.delivered != nullptr) sink_.delivered(sink_.self, packet, injected, now);
}

void VerilatedNetwork::space(Time now, std::uint32_t index, std::uint64_t amount) {
  InjectionPort& port = injection_ports_[index];
  port.words += static_cast<std::uint32_t>(amount >> 32);
  port.headers += static_cast<std::uint32_t>(amount);
  offer_space(sink_, port, index / intra_ports_, static_cast<std::uint8_t>(index % intra_ports_), now,
              [&](std::uint8_t priority, std::uint32_t need) { return fits(port, priority, need); });
}

const LinkStats& VerilatedNetwork::link_stats(NodeId node, std::uint16_t port) const {
  const std::size_t index = std::size_t{node} * ports_ + port;
  LinkStats& stats = stats_[index];
  if (line_[index] == kNoLine) return stats;
  exanet_line_counts counts;
  calls_.counts(nodes_, line_[index], &counts);
  stats.packets = counts.packets;
  stats.payload_bytes = counts.payload_bytes;
  stats.busy = period_ * static_cast<std::int64_t>(counts.packet_cycles);
  return stats;
}

std::uint64_t VerilatedNetwork::packet_hops() const {
  std::uint64_t hops = 0;
  for (const std::uint32_t line : line_) {
    if (line == kNoLine) continue;
    exanet_line_counts counts;
    calls_.counts(nodes_, line, &counts);
    hops += counts.packets;
  }
  return hops;
}

}  // namespace

MakeNetwork make_node_network(std::string library, TopologySpec spec, unsigned threads) {
  return [library = std::move(library), spec = std::move(spec), threads](EventQueue& events, const Topology& topology,
                                                                         const NetworkConfig& config,
                                                                         PacketSink sink) -> std::unique_ptr<Network> {
    return std::make_unique<VerilatedNetwork>(library, spec, events, topology, config, sink, threads);
  };
}

}  // namespace exanet
