// SPDX-License-Identifier: Apache-2.0
#include "core/workload/open_loop.hpp"

#include <array>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "core/fabric/timing.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::size_t kBatches = 10;
constexpr double kStudent95 = 2.262;  // two-sided 95 % quantile of Student's t with kBatches - 1 degrees of freedom
constexpr std::uint32_t kMostSamples = 4096;
constexpr int kSteps = 200;  // of a phase, between which progress is told and a stop is heard

double link_time_ps(const FabricConfig& fabric, std::uint16_t packet_bytes) {
  if (fabric.links.empty()) throw std::invalid_argument("the machine describes no links");
  const RouterPace router(fabric.router);
  const LinkPace link(fabric.links[0], fabric.router, router);
  const double pauses = link.pause_every == 0 ? 1 : 1 + 1.0 / link.pause_every;
  return static_cast<double>(link.packet_words[router.payload_words(packet_bytes)] * link.word_time.ps()) * pauses;
}

const OpenLoopConfig& checked(const OpenLoopConfig& config, const FabricConfig& fabric) {
  if (!(config.load > 0 && config.load <= 1000)) throw std::invalid_argument("a load is above 0 and at most 1000; 1 fills a link");
  if (config.bernoulli && config.load > 1)
    throw std::invalid_argument("with bernoulli arrivals a load is at most 1, a packet each packet time");
  if (config.packet_bytes > fabric.router.max_payload_bytes)
    throw std::invalid_argument("packets of " + std::to_string(config.packet_bytes) + " bytes; this machine's carry at most " +
                                std::to_string(fabric.router.max_payload_bytes));
  if (config.measure < Time::ns(1) || config.warm_up < Time()) throw std::invalid_argument("the measured window is at least 1 ns long");
  return config;
}

// A number for each packet, whose sum over all packets shows a lost, doubled or altered one.
std::uint64_t fingerprint(const Packet& p) { return Random((std::uint64_t{p.src} << 32) | p.dst, p.user).next(); }

}  // namespace

struct OpenLoop::State {
  struct Source {
    explicit Source(std::uint64_t seed, NodeId node) : random(seed, node) {}
    Random random;
    Time next;             // creation of the packet at the head of the source's queue
    NodeId dst = kNoNode;  // where that goes
    std::uint64_t created = 0;
    std::uint64_t accepted = 0;  // delivered in the window
  };

  State(const TopologySpec& spec, const FabricConfig& fabric_config, const OpenLoopConfig& c)
      : config(checked(c, fabric_config)),
        topology(make_topology(spec)),
        pattern(make_pattern(c.pattern, *topology, spec, c.seed)),
        fabric(queue, *topology, fabric_config, FabricSink{this, on_delivered, on_ready}),
        packet_ps(link_time_ps(fabric_config, c.packet_bytes)),
        begin(c.warm_up),
        end(c.warm_up + c.measure),
        stop_at(end + c.measure) {
    arrival = queue.add_handler(
        [](void* self, Time now, std::uint32_t node, std::uint64_t) { static_cast<State*>(self)->offer(node, now); }, this);
    for (NodeId node = 0; node < topology->endpoint_count(); ++node) {
      Source& source = sources.emplace_back(config.seed, node);
      source.dst = pattern->destination(node, 0, source.random);
      if (source.dst == kNoNode) continue;
      ++senders;
      source.next = Time::ps(gap_ps(source));
      queue.schedule(source.next, arrival, node);
    }
    if (senders == 0) throw std::invalid_argument("nobody sends anything in this pattern on this machine: choose another");
  }

  std::int64_t gap_ps(Source& source) {
    double gap;
    if (!config.bernoulli)
      gap = source.random.exponential(packet_ps / config.load);
    else
      gap = packet_ps * (config.load >= 1 ? 1 : 1 + std::floor(std::log1p(-source.random.unit()) / std::log1p(-config.load)));
    return static_cast<std::int64_t>(std::min(gap, 1e15)) + 1;
  }

  void advance(Source& source, NodeId node) {
    window_created += source.next >= begin && source.next < end;
    ++source.created;
    source.next += Time::ps(gap_ps(source));
    source.dst = pattern->destination(node, source.created, source.random);
  }

  // Hands over what has been created until now, as far as there is room.
  void offer(NodeId node, Time now) {
    Source& source = sources[node];
    while (source.next <= now && source.next < stop_at) {
      const Packet packet{node, source.dst, config.packet_bytes, 0, 0, static_cast<std::uint64_t>(source.next.ps())};
      if (!fabric.inject(packet)) return;  // on_ready() comes back
      ++injected;
      fingerprints += fingerprint(packet);
      if (source.next >= begin && source.next < end) {
        ++in_window_injected;
        if (samples < kMostSamples)
          zero_load_ps += static_cast<double>(fabric.zero_load_latency(node, packet.dst, packet.payload_bytes).ps()), ++samples;
      }
      advance(source, node);
    }
    if (source.next < stop_at) queue.schedule(source.next, arrival, node);
  }

  static void on_ready(void* self, NodeId node, std::uint8_t, Time now) { static_cast<State*>(self)->offer(node, now); }

  static void on_delivered(void* self, const Packet& packet, Time injected_at, Time tail) {
    State& s = *static_cast<State*>(self);
    ++s.delivered;
    s.fingerprints -= fingerprint(packet);
    if (tail >= s.begin && tail < s.end) {
      ++s.sources[packet.src].accepted;
      ++s.window_delivered;
    }
    const Time created = Time::ps(static_cast<std::int64_t>(packet.user));
    if (created < s.begin || created >= s.end) return;
    const std::int64_t latency = (tail - created).ps(), network = (tail - injected_at).ps();
    s.latency.add(latency);
    s.network_latency.add(network);
    s.latency_ps += static_cast<std::uint64_t>(latency);
    s.network_ps += static_cast<std::uint64_t>(network);
    s.least = min(s.least, tail - created);
    s.most = max(s.most, tail - created);
    const auto batch =
        static_cast<std::size_t>((created - s.begin).ps() * static_cast<double>(kBatches) / static_cast<double>((s.end - s.begin).ps()));
    s.batch_ps[std::min(batch, kBatches - 1)] += static_cast<double>(latency);
    s.batch_packets[std::min(batch, kBatches - 1)] += 1;
    ++s.measured;
  }

  template <typename Visit>
  void each_link(Visit visit) const {
    for (NodeId node = 0; node < topology->node_count(); ++node)
      for (std::uint16_t port = 0; port < topology->port_count(node); ++port) {
        const PortRef far = topology->neighbour(node, port);
        if (far.node != kNoNode) visit(node, port, far.node);
      }
  }

  std::vector<Time> link_busy() const {
    std::vector<Time> busy;
    each_link([&](NodeId node, std::uint16_t port, NodeId) { busy.push_back(fabric.link_stats(node, port).busy); });
    return busy;
  }

  OpenLoopResult summarize() const;

  // What sources have created but the network has not taken, up to the window's end.
  void count_left_behind() {
    for (NodeId node = 0; node < sources.size(); ++node)
      while (sources[node].dst != kNoNode && sources[node].next < end) advance(sources[node], node);
  }

  OpenLoopConfig config;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<Pattern> pattern;
  Fabric fabric;
  double packet_ps;
  Time begin, end, stop_at;
  std::uint32_t arrival = 0;
  std::vector<Source> sources;
  std::uint32_t senders = 0, samples = 0;
  std::uint64_t injected = 0, delivered = 0, fingerprints = 0;
  std::uint64_t window_created = 0, in_window_injected = 0, window_delivered = 0, measured = 0;
  std::uint64_t latency_ps = 0, network_ps = 0;
  double zero_load_ps = 0;
  Time least = Time::never(), most;
  Histogram latency, network_latency;
  std::array<double, kBatches> batch_ps{}, batch_packets{};
  std::vector<Time> busy_before, busy_after;
};

OpenLoop::OpenLoop(const TopologySpec& spec, const FabricConfig& fabric, const OpenLoopConfig& config)
    : state_(std::make_unique<State>(spec, fabric, config)) {}

OpenLoop::~OpenLoop() = default;

const Topology& OpenLoop::topology() const { return *state_->topology; }

namespace {

double half_interval(const std::array<double, kBatches>& sums, const std::array<double, kBatches>& counts) {
  std::array<double, kBatches> means;
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < kBatches; ++i) {
    if (counts[i] == 0) return 0;
    means[i] = sums[i] / counts[i];
    mean += means[i] / kBatches;
  }
  for (const double m : means) squares += (m - mean) * (m - mean);
  return kStudent95 * std::sqrt(squares / (kBatches - 1) / kBatches);
}

double jain(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double s : shares) sum += s, squares += s * s;
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace

// What has been counted, as figures.
OpenLoopResult OpenLoop::State::summarize() const {
  const State& s = *this;
  OpenLoopResult r;
  const double window_ps = static_cast<double>((s.end - s.begin).ps()), per_load = s.packet_ps / window_ps / s.senders;
  const double bits = 8.0 * s.config.packet_bytes;
  r.senders = s.senders;
  r.created = s.window_created;
  r.measured = s.measured;
  r.offered_load = static_cast<double>(s.window_created) * per_load;
  r.accepted_load = static_cast<double>(s.window_delivered) * per_load;
  r.offered_gbps = static_cast<double>(s.window_created) * bits / window_ps * 1e3;
  r.accepted_gbps = static_cast<double>(s.window_delivered) * bits / window_ps * 1e3;
  if (s.measured > 0) {
    const auto count = static_cast<double>(s.measured);
    r.latency_ns = static_cast<double>(s.latency_ps) / count * 1e-3;
    r.network_latency_ns = static_cast<double>(s.network_ps) / count * 1e-3;
    r.latency_error_ns = half_interval(s.batch_ps, s.batch_packets) * 1e-3;
    r.least = s.least;
    r.most = s.most;
  }
  if (s.samples > 0) r.zero_load_ns = s.zero_load_ps / s.samples * 1e-3;
  r.latency = s.latency;
  r.network_latency = s.network_latency;
  r.packets = s.delivered;
  r.packet_hops = s.fabric.packet_hops();
  if (r.packets > 0) r.mean_hops = static_cast<double>(r.packet_hops) / static_cast<double>(r.packets);
  std::vector<double> shares;
  for (const auto& source : s.sources)
    if (source.dst != kNoNode) shares.push_back(static_cast<double>(source.accepted));
  r.fairness = jain(shares);
  r.saturated = s.window_created > 0 && (s.measured < s.window_created || r.accepted_load < 0.9 * r.offered_load);
  r.events = s.queue.processed();
  r.memory_bytes = s.fabric.memory_bytes();
  std::size_t i = 0;
  s.each_link([&](NodeId node, std::uint16_t port, NodeId to) {
    r.links.push_back(
        {node, to, port, s.topology->link_class(node, port), static_cast<double>((s.busy_after[i] - s.busy_before[i]).ps()) / window_ps});
    ++i;
  });
  return r;
}

bool OpenLoop::run() {
  State& s = *state_;
  const std::clock_t started = std::clock();
  const auto until = [&](Time to, bool (*enough)(const State&)) {
    const Time from = s.queue.now();
    for (int i = 1; i <= kSteps; ++i) {
      s.queue.run_until(from + Time::ps((to - from).ps() / kSteps * i + (to - from).ps() % kSteps * i / kSteps));
      progress_.store(static_cast<double>(s.queue.now().ps()) / static_cast<double>(s.stop_at.ps()), std::memory_order_relaxed);
      if (stopped_.load(std::memory_order_relaxed)) return false;
      if (enough != nullptr && enough(s)) break;
    }
    return true;
  };
  if (!until(s.begin, nullptr)) return false;
  s.busy_before = s.link_busy();
  if (!until(s.end, nullptr)) return false;
  s.busy_after = s.link_busy();
  // Those still queueing at their sources may never get in; those that did are waited for under unchanged load.
  if (!until(s.stop_at, [](const State& now) { return now.measured == now.in_window_injected; })) return false;
  s.stop_at = s.queue.now();
  s.count_left_behind();
  while (!s.queue.empty()) {
    for (int i = 0; i < 100'000 && !s.queue.empty(); ++i) s.queue.run_one();
    if (stopped_.load(std::memory_order_relaxed)) return false;
  }
  EXANET_CHECK(s.fabric.in_flight() == 0, "packets are stuck in the network", s.queue.now().ps(), s.fabric.in_flight(), s.injected);
  EXANET_CHECK(s.injected == s.delivered && s.fingerprints == 0, "packets were lost, doubled or altered", s.queue.now().ps(), s.injected,
               s.delivered);

  result_ = s.summarize();
  result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  progress_.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace exanet
