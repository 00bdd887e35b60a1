// SPDX-License-Identifier: Apache-2.0
// Runs open-loop measurements: sources offer packets, a sink counts what comes out, and the phases of the method follow
// each other.
//
// Problem: millions of packets wait in sources' queues beyond saturation, and results must not depend on the number of
// threads. Model: a source is the packet that it offers next and a random stream of its own (arrivals.hpp); packets
// behind it are drawn when the network takes it. Each part of the network has a tally of its own, and these are added
// up at the end; phases are cut into steps, at whose ends all threads stand at one time. A sum over all packets, made
// where they are created and where they arrive, shows a lost or altered one. Limits: open_loop.hpp.
#include "core/workload/open_loop.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "core/config/error.hpp"
#include "core/flow/flow_network.hpp"
#include "core/lofamo/notice.hpp"
#include "core/network/timing.hpp"
#include "core/nic/ideal/feed.hpp"
#include "core/routing/make_topology.hpp"
#include "core/topology/slices.hpp"
#include "core/units/check.hpp"
#include "core/workload/open_loop_state.hpp"
#include "core/workload/statistics.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kMostSamples = 4096;
// A phase is cut into steps, between which progress is reported, a stop is heard, start-up and queues are looked at,
// and threads meet.
constexpr std::int64_t kMostSteps = 200;
constexpr Time kLeastStep = Time::us(1);

double link_time_ps(const NetworkConfig& fabric, std::uint16_t packet_bytes) {
  if (fabric.links.empty()) throw ConfigError("links", "the machine describes no links");
  const RouterTiming router(fabric.router);
  const LinkTiming link(fabric.links[0], fabric.router, router);
  const double pauses = link.idle_every == 0 ? 1 : 1 + 1.0 / link.idle_every;
  return static_cast<double>(link.packet_words[router.payload_words(packet_bytes)] * link.word_time.ps()) * pauses;
}

const OpenLoopConfig& checked(const OpenLoopConfig& config, const NetworkConfig& fabric) {
  if (config.packet_bytes > fabric.router.max_payload_bytes)
    throw ConfigError("packet_bytes", "packets of " + std::to_string(config.packet_bytes) +
                                          " bytes; this machine's carry at most " +
                                          std::to_string(fabric.router.max_payload_bytes));
  if (config.measure < Time::ns(1) || config.warm_up < Time())
    throw ConfigError("measure_ps", "the measured window must be at least 1 ns long");
  return config;
}

// A number for each packet, whose sum over all packets shows a lost, doubled or altered one.
std::uint64_t fingerprint(const Packet& p) {
  const std::uint64_t x = (p.user ^ (std::uint64_t{p.src} << 32 | p.dst)) * 0x9e3779b97f4a7c15u;
  return (x ^ x >> 32) * (p.user | 1);
}

// Of the sender with the fewest links; at least 1, below which the measurement shows it.
double full_load_of(const Topology& topology, const NetworkConfig& fabric, const OpenLoopConfig& config,
                    const std::vector<Source>& sources) {
  if (config.load < 1) return 1;
  const FlowNetwork network(topology, fabric, std::max<std::uint16_t>(config.packet_bytes, 1));
  double least = std::numeric_limits<double>::infinity();
  for (const Source& source : sources)
    if (source.is_first() && source.dst != kNoNode) least = std::min(least, network.most_load(source.node));
  return std::max(least, 1.0);
}

}  // namespace

OpenLoop::State::State(const TopologySpec& spec, const NetworkConfig& fabric_config, const OpenLoopConfig& c)
    : config(checked(c, fabric_config)),
      topology(make_topology(following(spec, c.faults))),
      packet_ps(link_time_ps(fabric_config, c.packet_bytes) / topology->rails()),
      ports(*topology, fabric_config.router),
      arrivals(config, packet_ps, make_pattern(c.pattern, *topology, spec, c.seed), ports),
      part_of(slices(*topology, c.threads)),
      parts(c.threads),
      classes(arrivals.classes()),
      model(make_network_model(fabric_parts(), *topology, with_priority(failing(fabric_config, c.faults)), part_of)),
      fabric(*model),
      windows(queues(), fabric),
      begin(c.warm_up),
      end(c.warm_up + c.measure),
      stop_at(end + c.measure) {
  if (!c.faults.empty()) {
    const FaultPlan plan = plan_of(c.faults, *topology);
    faults.emplace(fabric, *topology, plan, lofamo::notice(c.faults, plan, *topology));
    interval = Time::ps(std::max<std::int64_t>(1, end.ps() / static_cast<std::int64_t>(OpenLoopResult::kIntervals)));
  }
  for (Part& part : parts) {
    if (faults) part.tally.delivered_in.resize(OpenLoopResult::kIntervals);
    if (faults) part.tally.lost_in.resize(OpenLoopResult::kIntervals);
    part.tally.accepted.resize(topology->endpoint_count());
    part.tally.flows.resize(topology->endpoint_count());
    part.arrival = part.queue.add_handler(
        [](void* self, Time now, std::uint32_t source, std::uint64_t) { static_cast<Part*>(self)->offer(source, now); },
        &part);
  }
  const std::uint32_t each = classes * ports.queues();
  for (std::uint32_t i = 0; i < topology->endpoint_count() * each; ++i) {
    const NodeId node = i / each;
    const auto its_class = static_cast<std::uint8_t>(i % classes),
               queue = static_cast<std::uint8_t>(i % each / classes);
    const Source& source = sources.emplace_back(arrivals.source(node, its_class, queue, stop_at));
    if (source.dst == kNoNode) continue;
    senders += source.is_first();
    Part& part = parts[part_of[node]];
    if (source.next < stop_at) part.queue.schedule(source.next, part.arrival, i);
  }
  if (senders == 0)
    throw ConfigError("pattern", "no endpoint sends anything in this pattern on this machine: choose another");
  full_load = full_load_of(*topology, fabric_config, c, sources);
  samples_each = std::max(1u, kMostSamples / each / senders);
  sample_stride = (senders + kMostSamples - 1) / kMostSamples;
}

std::vector<Partition> OpenLoop::State::fabric_parts() {
  std::vector<Partition> made;
  const bool early = ports.one_for_a_pair();  // whose packets one output then reports in the order of their arrival
  for (Part& part : parts) {
    part.all = this;
    made.push_back({&part.queue, {&part, on_delivered, on_ready, early, 0, on_lost}});
  }
  return made;
}

std::vector<EventQueue*> OpenLoop::State::queues() {
  std::vector<EventQueue*> found;
  found.reserve(parts.size());
  for (Part& part : parts) found.push_back(&part.queue);
  return found;
}

NetworkConfig OpenLoop::State::with_priority(NetworkConfig fabric_config) const {
  fabric_config.priority = classes > 1;
  return fabric_config;
}

void OpenLoop::State::on_ready(void* self, NodeId node, std::uint8_t intra_port, std::uint8_t priority, Time now) {
  Part& part = *static_cast<Part*>(self);
  const InjectionPorts& ports = part.all->ports;
  part.offer((node * ports.queues() + ports.queue_at(intra_port)) * part.all->classes + priority, now);
}

void OpenLoop::State::on_delivered(void* self, const Packet& packet, Time injected, Time tail) {
  static_cast<Part*>(self)->delivered(packet, injected, tail);
}

void OpenLoop::State::on_lost(void* self, const Packet& packet, Status, Time now) {
  static_cast<Part*>(self)->lost(packet, now);
}

// Links change between windows that end there. What would change after the last packet never does.
void OpenLoop::State::run_until(Time to) {
  step_end = to;
  for (Part& part : parts) part.deliver_early();
  while (faults && faults->next() <= to && faults->next() != Time::never() && windows.next_time() != Time::never()) {
    const Time at = faults->next();
    windows.run_until(at);
    faults->apply(at);
  }
  windows.run_until(to);
}

Tally OpenLoop::State::total() const {
  Tally sum;
  for (const Part& part : parts) sum.add(part.tally);
  return sum;
}

bool OpenLoop::State::all_arrived() const {
  std::uint64_t awaited = 0;
  for (const Part& part : parts)
    awaited += part.tally.in_window_injected - part.tally.measured - part.tally.in_window_lost;
  return awaited == 0;
}

bool OpenLoop::State::settled() {
  std::uint64_t early_ps = 0, early = 0;
  for (Part& part : parts) {
    early_ps += std::exchange(part.tally.early_ps, 0);
    early += std::exchange(part.tally.early, 0);
  }
  if (early > 0) start_up.push_back(static_cast<double>(early_ps) / static_cast<double>(early));
  if (start_up.size() % 5 != 0 || !has_settled(start_up)) return false;
  begin = parts[0].queue.now();
  end = begin + config.measure;
  stop_at = end + config.measure;
  return true;
}

void OpenLoop::State::watch() {
  ++samples;
  if (topology->node_count() - first_watched() <= OpenLoopResult::kMostWatched)
    for (NodeId node = first_watched(); node < topology->node_count(); ++node) queued.push_back(fabric.queued(node));
  if (meter) meter->sample(parts[0].queue.now(), link_use);
}

void OpenLoop::State::count_left_behind() {
  for (Source& source : sources)
    while (source.dst != kNoNode && source.next < end) parts[part_of[source.node]].advance(source);
}

// Counts the source's packet, and goes on to its next.
void OpenLoop::State::Part::advance(Source& source) {
  const State& s = *all;
  if (s.in_window(source.next)) {
    ++tally.of_priority[source.own].created;
    ++tally.flows.of(source.node, source.dst).created;
    if (source.sampled < s.samples_each && source.node % s.sample_stride == 0) {
      ++source.sampled, ++tally.samples;
      tally.zero_load_ps += static_cast<std::uint64_t>(
          s.fabric.zero_load_latency(source.node, source.dst, s.config.packet_bytes, source.next).ps());
    }
  }
  s.arrivals.advance(source, s.stop_at);
}

// Hands over what has been created until now, as far as there is space.
void OpenLoop::State::Part::offer(std::uint32_t source_index, Time now) {
  State& s = *all;
  Source& source = s.sources[source_index];
  const NodeId node = source.node;
  const bool all = feed(
      s.fabric,
      [&](Packet& packet) {
        if (source.next > now || source.next >= s.stop_at) return false;
        packet = {node,
                  source.dst,
                  s.config.packet_bytes,
                  s.ports.port(source.queue, source.turn),
                  source.own,
                  static_cast<std::uint64_t>(source.next.ps())};
        return true;
      },
      [&](const Packet& packet) {
        ++tally.injected;
        tally.fingerprints += fingerprint(packet);
        tally.in_window_injected += s.in_window(source.next);
        s.ports.pass(source.turn);
        advance(source);
      });
  if (all && source.next < s.stop_at) queue.schedule(source.next, arrival, source_index);
}

void OpenLoop::State::Part::delivered(const Packet& packet, Time injected_at, Time tail) {
  const State& s = *all;
  if (tail > s.step_end) return early.push_back({packet, injected_at, tail});
  ++tally.delivered;
  if (!tally.delivered_in.empty()) [[unlikely]]
    count_in(tally.delivered_in, tail);
  tally.fingerprints -= fingerprint(packet);
  if (s.in_window(tail)) {
    ++tally.accepted[packet.src];
    ++tally.flows.of(packet.src, packet.dst).delivered;
    ++tally.of_priority[packet.priority].delivered;
  }
  const Time created = Time::ps(static_cast<std::int64_t>(packet.user));
  if (tail < s.begin) tally.early_ps += static_cast<std::uint64_t>((tail - created).ps()), ++tally.early;
  const bool measured = s.in_window(created);
  if (!s.fabric.keeps_order()) overtaking.arrived(packet, created, tail, measured);
  if (!measured) return;
  tally.measure(tally.of_priority[packet.priority], created, tail - created, tail - injected_at, s.begin, s.end);
  FlowTally& flow = tally.flows.of(packet.src, packet.dst);
  ++flow.measured;
  flow.latency_ps += static_cast<std::uint64_t>((tail - created).ps());
  flow.most = max(flow.most, tail - created);
}

void OpenLoop::State::Part::count_in(std::vector<std::uint64_t>& intervals, Time at) const {
  const auto place = static_cast<std::size_t>(at.ps() / all->interval.ps());
  if (place < intervals.size()) ++intervals[place];
}

void OpenLoop::State::Part::lost(const Packet& packet, Time now) {
  ++tally.lost;
  if (!tally.lost_in.empty()) count_in(tally.lost_in, now);
  tally.fingerprints -= fingerprint(packet);
  tally.in_window_lost += all->in_window(Time::ps(static_cast<std::int64_t>(packet.user)));
}

void OpenLoop::State::Part::deliver_early() {
  for (const Delivery& d : std::exchange(early, {})) delivered(d.packet, d.injected, d.tail);
}

OpenLoop::OpenLoop(const TopologySpec& spec, const NetworkConfig& fabric, const OpenLoopConfig& config)
    : state_(std::make_unique<State>(spec, fabric, config)) {}

OpenLoop::~OpenLoop() = default;

const Topology& OpenLoop::topology() const { return *state_->topology; }

bool OpenLoop::run() {
  State& s = *state_;
  const std::clock_t started = std::clock();
  if (s.parts.size() > 1) s.windows.keep_time();
  const auto until = [&](Time to, bool (*enough)(State&)) {
    const Time from = s.parts[0].queue.now();
    const std::int64_t steps = std::clamp<std::int64_t>((to - from).ps() / kLeastStep.ps(), 1, kMostSteps);
    for (std::int64_t i = 1; i <= steps; ++i) {
      const Time at = from + Time::ps((to - from).ps() / steps * i + (to - from).ps() % steps * i / steps);
      s.run_until(at);
      progress_.store(static_cast<double>(at.ps()) / static_cast<double>(s.stop_at.ps()), std::memory_order_relaxed);
      if (stopped_.load(std::memory_order_relaxed)) return false;
      if (enough != nullptr && enough(s)) break;
    }
    return true;
  };
  if (!until(s.begin, s.config.settle ? +[](State& now) { return now.settled(); } : nullptr)) return false;
  s.before = link_counts(*s.topology, s.fabric, s.begin);
  if (s.before.size() <= OpenLoopResult::kMostWatched) {
    s.meter.emplace(*s.topology, s.fabric, s.parts[0].queue.now());
    s.link_use.reserve(s.before.size() * kMostSteps);
  }
  const auto watch = [](State& now) {
    now.watch();
    return false;
  };
  if (!until(s.end, watch)) return false;
  s.after = link_counts(*s.topology, s.fabric, s.end);
  // Those still queueing at their sources may never get in; those that did are waited for under unchanged load.
  if (!until(s.stop_at, [](State& now) { return now.all_arrived(); })) return false;
  s.stop_at = s.parts[0].queue.now();
  s.count_left_behind();
  for (Time next = s.windows.next_time(); next != Time::never(); next = s.windows.next_time()) {
    s.run_until(next + Time::us(10));
    if (stopped_.load(std::memory_order_relaxed)) return false;
  }
  s.run_until(Time::never());
  const Tally total = s.total();
  const std::string cycle = s.fabric.in_flight() == 0 ? "" : s.fabric.deadlock();
  EXANET_CHECK(s.fabric.in_flight() == 0, cycle.empty() ? "packets are stuck in the network" : cycle.c_str(),
               s.stop_at.ps(), s.fabric.in_flight(), total.injected);
  EXANET_CHECK(total.injected == total.delivered + total.lost && total.fingerprints == 0,
               "packets were lost, doubled or altered", s.stop_at.ps(), total.injected, total.delivered);

  result_ = s.summarize();
  result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  result_.longest_cpu_s = s.parts.size() > 1 ? s.windows.longest_s() : result_.cpu_s;
  progress_.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace exanet
