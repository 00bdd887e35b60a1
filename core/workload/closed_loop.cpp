// SPDX-License-Identifier: Apache-2.0
#include "core/workload/closed_loop.hpp"

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "core/engine/random.hpp"
#include "core/units/check.hpp"
#include "core/workload/flow_carrier.hpp"
#include "core/workload/statistics.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

struct Message {
  NodeId src, dst;
  std::uint32_t to_rank;       // of all jobs' ranks
  std::uint32_t next;          // behind it at its interface, or the next free record
  std::uint64_t step;          // of the receiver
  std::uint64_t to_inject;     // bytes
  std::uint64_t undelivered;   // bytes
  std::uint64_t reply_bytes;
  Time handed_over;
  bool is_reply, injected, awaited;
  std::uint8_t priority;
};

struct Rank {
  std::uint64_t step = 0;
  std::uint32_t job = 0, number = 0;
  std::uint32_t expected = 0, replies_due = 0;
  bool pausing = false, waiting = false;
  Time finished = Time::ps(-1);
  std::uint64_t bytes_sent = 0;
  std::vector<std::uint32_t> arrived;  // messages, by step from the present one on
};

struct Job {
  std::unique_ptr<Program> program;
  std::uint32_t first_rank = 0, steps = 1;
  std::uint64_t total_steps = 1;
  double message_ps = 0;
};

struct Interface {
  std::uint32_t first = kNone, last = kNone;  // messages that are not yet injected in full; an endpoint's rank is of one job, so all of one class
};

// Ranks of each job; those without a number share equally what the others leave.
std::vector<std::uint32_t> ranks_of(const std::vector<JobConfig>& jobs, std::uint32_t endpoints) {
  if (jobs.empty()) throw std::invalid_argument("there is no job to run: name at least one");
  std::uint64_t fixed = 0, open = 0;
  for (const JobConfig& job : jobs) fixed += job.program.ranks, open += job.program.ranks == 0;
  std::vector<std::uint32_t> ranks;
  for (const JobConfig& job : jobs) {
    const std::uint64_t share = fixed < endpoints && open > 0 ? (endpoints - fixed) / open : 0;
    ranks.push_back(job.program.ranks != 0 ? job.program.ranks : static_cast<std::uint32_t>(share));
  }
  return ranks;
}

FabricConfig with_priority(FabricConfig fabric, const std::vector<JobConfig>& jobs) {
  fabric.priority = std::any_of(jobs.begin(), jobs.end(), [](const JobConfig& job) { return job.priority > 0; });
  return fabric;
}

}  // namespace

struct ClosedLoop::State {
  State(const TopologySpec& spec, const FabricConfig& fabric_config, const ClosedLoopConfig& c)
      : config(c),
        topology(make_topology(spec)),
        model(c.flow_level ? nullptr : make_model({{&queue, FabricSink{this, on_delivered, on_ready}}}, *topology, with_priority(fabric_config, c.jobs), {})),
        flows(c.flow_level ? std::make_unique<FlowCarrier>(*topology, fabric_config, c.packet_bytes, queue, this, on_arrived) : nullptr),
        interfaces(topology->endpoint_count()) {
    if (c.packet_bytes < 1 || c.packet_bytes > fabric_config.router.max_payload_bytes)
      throw std::invalid_argument("packets of " + std::to_string(c.packet_bytes) + " bytes; this machine's carry from 1 to " +
                                  std::to_string(fabric_config.router.max_payload_bytes));
    std::uint32_t alive = 0;
    for (NodeId e = 0; e < topology->endpoint_count(); ++e) alive += topology->alive(e);
    const std::vector<std::uint32_t> numbers = ranks_of(c.jobs, alive);
    for (std::size_t j = 0; j < c.jobs.size(); ++j) {
      if (c.jobs[j].rounds < 1 || c.jobs[j].rounds > 1'000'000'000) throw std::invalid_argument("a job runs from 1 to 10^9 rounds");
      if (c.jobs[j].program.bytes > std::uint64_t{1} << 40) throw std::invalid_argument("messages are at most 1 TiB long");
      if (c.jobs[j].priority > 1) throw std::invalid_argument("a job's priority is 0 or 1");
      if (c.jobs[j].priority > 0 && c.flow_level) throw std::invalid_argument("packets overtake others at packet level: leave out the priority");
      ProgramSpec program = c.jobs[j].program;
      program.ranks = numbers[j];
      Job& job = jobs.emplace_back();
      job.program = make_program(program);
      job.first_rank = static_cast<std::uint32_t>(ranks.size());
      job.steps = job.program->steps();
      job.total_steps = job.steps * c.jobs[j].rounds;
      all_steps += static_cast<double>(job.total_steps) * numbers[j];
      for (std::uint32_t r = 0; r < numbers[j]; ++r) {
        Rank& rank = ranks.emplace_back();
        rank.job = static_cast<std::uint32_t>(j);
        rank.number = r;
      }
    }
    for (const auto& endpoints : map_jobs(c.mapping, numbers, *topology, c.seed)) {
      for (const NodeId endpoint : endpoints) endpoint_of.push_back(endpoint);
      results.emplace_back().endpoints = endpoints;
    }
    step_event = queue.add_handler(
        [](void* self, Time now, std::uint32_t rank, std::uint64_t) { static_cast<State*>(self)->go_on(rank, now); }, this);
    for (std::uint32_t r = 0; r < ranks.size(); ++r) queue.schedule(Time(), step_event, r);
    const std::uint32_t nodes = topology->node_count();
    first_watched = nodes > topology->endpoint_count() ? topology->endpoint_count() : 0;
    watched = model != nullptr && nodes - first_watched <= ClosedLoopResult::kMostWatched ? nodes - first_watched : 0;
    watch_event = queue.add_handler([](void* self, Time, std::uint32_t, std::uint64_t) { static_cast<State*>(self)->watch(); }, this);
    if (watched > 0) queue.schedule(sample, watch_event, 0);
  }

  // Samples become twice as long whenever there are too many of them; of the finer ones every second is one of the coarser.
  void watch() {
    for (NodeId node = first_watched; node < first_watched + watched; ++node) queued.push_back(model->queued(node));
    if (queue.empty()) return;
    if (queued.size() == std::size_t{ClosedLoopResult::kMostSamples} * watched) {
      for (std::size_t kept = 0; kept < ClosedLoopResult::kMostSamples / 2; ++kept)
        std::copy_n(queued.begin() + static_cast<std::ptrdiff_t>((2 * kept + 1) * watched), watched, queued.begin() + static_cast<std::ptrdiff_t>(kept * watched));
      queued.resize(queued.size() / 2);
      sample = sample * 2;
    }
    queue.schedule(sample * static_cast<std::int64_t>(queued.size() / watched + 1), watch_event, 0);
  }

  // Takes the rank as far as it gets without anything that is not here yet.
  void go_on(std::uint32_t index, Time now) {
    Rank& rank = ranks[index];
    const Job& job = jobs[rank.job];
    while (rank.step < job.total_steps) {
      const std::uint64_t round = rank.step / job.steps;
      const auto step = static_cast<std::uint32_t>(rank.step % job.steps);
      if (!rank.waiting) {
        const Time pause = rank.pausing ? Time() : job.program->pause(rank.number, round, step);
        rank.pausing = pause > Time();
        if (rank.pausing) return queue.schedule(now + pause, step_event, index);
        begin_step(index, round, step, now);
      }
      if (rank.arrived.empty()) rank.arrived.push_back(0);
      if (rank.replies_due > 0 || rank.arrived[0] < rank.expected) return;
      EXANET_CHECK(rank.arrived[0] == rank.expected, "more messages in a step than the program expects", now.ps(), index, rank.step);
      rank.arrived.erase(rank.arrived.begin());
      rank.waiting = false;
      ++rank.step;
      ++steps_done;
    }
    rank.finished = now;
  }

  void begin_step(std::uint32_t index, std::uint64_t round, std::uint32_t step, Time now) {
    Rank& rank = ranks[index];
    const Job& job = jobs[rank.job];
    rank.waiting = true;
    rank.expected = job.program->receives(rank.number, round, step);
    sending.clear();
    job.program->sends(rank.number, round, step, sending);
    for (const Sending& s : sending) {
      EXANET_CHECK(s.to != rank.number, "a rank sends to itself", now.ps(), s.to, rank.step);
      rank.replies_due += s.reply_bytes > 0;
      rank.bytes_sent += s.bytes;
      hand_over(index, job.first_rank + s.to, rank.step, s.bytes, s.reply_bytes, false, now, s.awaited);
    }
    inject(endpoint_of[index]);
  }

  void hand_over(std::uint32_t from, std::uint32_t to, std::uint64_t step, std::uint64_t bytes, std::uint64_t reply, bool is_reply, Time now,
                 bool awaited = true) {
    std::uint32_t m = free_message;
    if (m == kNone) {
      m = static_cast<std::uint32_t>(messages.size());
      messages.emplace_back();
    } else {
      free_message = messages[m].next;
    }
    messages[m] = {endpoint_of[from], endpoint_of[to], to, kNone, step, bytes, bytes, reply, now, is_reply, false, awaited,
                   config.jobs[ranks[from].job].priority};
    ++results[ranks[from].job].messages;
    results[ranks[from].job].bytes += bytes;
    ++under_way;
    if (flows != nullptr) {
      messages[m].injected = true;
      return flows->send(endpoint_of[from], endpoint_of[to], bytes, m);
    }
    Interface& ni = interfaces[endpoint_of[from]];
    (ni.first == kNone ? ni.first : messages[ni.last].next) = m;
    ni.last = m;
  }

  // Cuts what waits at the interface into packets, one of each message in turn, as far as there is room.
  void inject(NodeId node) {
    if (flows != nullptr) return flows->handed_over(node);
    Interface& ni = interfaces[node];
    while (ni.first != kNone) {
      Message& message = messages[ni.first];
      const auto bytes = static_cast<std::uint16_t>(std::min<std::uint64_t>(message.to_inject, config.packet_bytes));
      if (!model->inject({node, message.dst, bytes, 0, message.priority, ni.first})) return;  // on_ready() comes back
      message.to_inject -= bytes;
      message.injected = message.to_inject == 0;
      const std::uint32_t served = ni.first;
      if (message.next == kNone && !message.injected) continue;
      ni.first = message.next;
      message.next = kNone;
      if (message.injected) continue;
      messages[ni.last].next = served;
      ni.last = served;
    }
  }

  static void on_arrived(void* self, std::uint32_t message, Time now) { static_cast<State*>(self)->complete(message, now); }
  static void on_ready(void* self, NodeId node, std::uint8_t, std::uint8_t, Time) { static_cast<State*>(self)->inject(node); }

  static void on_delivered(void* self, const Packet& packet, Time injected, Time tail) {
    State& s = *static_cast<State*>(self);
    const auto index = static_cast<std::uint32_t>(packet.user);
    EXANET_CHECK(index < s.messages.size() && s.messages[index].dst == packet.dst && s.messages[index].src == packet.src &&
                     s.messages[index].undelivered >= packet.payload_bytes,
                 "a packet of no message has arrived", tail.ps(), packet.user, packet.dst);
    s.packet_ps += static_cast<double>((tail - injected).ps());
    ++s.packets;
    Message& message = s.messages[index];
    message.undelivered -= packet.payload_bytes;
    if (message.undelivered == 0 && message.injected) s.complete(index, tail);
  }

  void complete(std::uint32_t index, Time now) {
    const Message message = messages[index];
    messages[index].dst = kNoNode;
    messages[index].next = free_message;
    free_message = index;
    --under_way;
    Rank& rank = ranks[message.to_rank];
    results[rank.job].message.add((now - message.handed_over).ps());
    jobs[rank.job].message_ps += static_cast<double>((now - message.handed_over).ps());
    results[rank.job].finished = max(results[rank.job].finished, now);  // a rank may be done before what it sent last
    if (message.is_reply) {
      --rank.replies_due;
    } else {
      if (!message.awaited && message.reply_bytes == 0) return;
      EXANET_CHECK(message.step >= rank.step || message.reply_bytes > 0, "a message for a step that is over", now.ps(), message.to_rank, message.step);
      const auto ahead = static_cast<std::size_t>(message.step - rank.step);
      if (message.reply_bytes > 0) {
        const std::uint32_t requester = rank_at(message.src, rank.job);
        hand_over(message.to_rank, requester, ranks[requester].step, message.reply_bytes, 0, true, now);
        inject(message.dst);
        return;  // the answer is the interface's; the rank knows nothing of the request
      }
      if (rank.arrived.size() <= ahead) rank.arrived.resize(ahead + 1);
      ++rank.arrived[ahead];
    }
    if (rank.waiting) go_on(message.to_rank, now);
  }

  std::uint32_t rank_at(NodeId endpoint, std::uint32_t job) {
    if (rank_of.empty()) {
      rank_of.resize(topology->endpoint_count());
      for (std::uint32_t r = 0; r < ranks.size(); ++r) rank_of[endpoint_of[r]] = r;
    }
    EXANET_CHECK(ranks[rank_of[endpoint]].job == job, "a message between jobs", queue.now().ps(), endpoint, job);
    return rank_of[endpoint];
  }

  ClosedLoopResult summarize();

  ClosedLoopConfig config;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<NetworkModel> model;  // at packet level
  std::unique_ptr<FlowCarrier> flows;   // at flow level
  std::vector<Interface> interfaces;
  std::vector<Job> jobs;
  std::vector<Rank> ranks;
  std::vector<NodeId> endpoint_of;     // by rank of all jobs
  std::vector<std::uint32_t> rank_of;  // by endpoint, once asked for
  std::vector<Message> messages;
  std::vector<Sending> sending;
  std::vector<JobResult> results;
  NodeId first_watched = 0;
  std::uint32_t watched = 0, watch_event = 0;
  Time sample = Time::ns(100);
  std::vector<std::uint32_t> queued;
  std::uint32_t step_event = 0, free_message = kNone;
  std::uint64_t steps_done = 0, under_way = 0, packets = 0;
  double all_steps = 0, packet_ps = 0;
};

ClosedLoop::ClosedLoop(const TopologySpec& spec, const FabricConfig& fabric, const ClosedLoopConfig& config)
    : state_(std::make_unique<State>(spec, fabric, config)) {}

ClosedLoop::~ClosedLoop() = default;

const Topology& ClosedLoop::topology() const { return *state_->topology; }

ClosedLoopResult ClosedLoop::State::summarize() {
  ClosedLoopResult r;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    JobResult& job = results[j];
    job.ranks = static_cast<std::uint32_t>(job.endpoints.size());
    job.first_finished = Time::never();
    std::vector<double> rates;
    for (std::uint32_t i = 0; i < job.ranks; ++i) {
      const Rank& rank = ranks[jobs[j].first_rank + i];
      EXANET_CHECK(rank.finished >= Time(), "a rank waits for a message that nobody sends", queue.now().ps(), i, rank.step);
      job.finished = max(job.finished, rank.finished);
      job.first_finished = min(job.first_finished, rank.finished);
      rates.push_back(static_cast<double>(rank.bytes_sent) / static_cast<double>(std::max<std::int64_t>(rank.finished.ps(), 1)));
    }
    job.fairness = std::all_of(rates.begin(), rates.end(), [](double rate) { return rate == 0; }) ? 1 : jain(rates);
    job.message_ns = job.messages == 0 ? 0 : jobs[j].message_ps / static_cast<double>(job.messages) * 1e-3;
    r.finished = max(r.finished, job.finished);
  }
  r.jobs = std::move(results);
  r.packets = flows != nullptr ? flows->packets() : packets;
  r.packet_hops = flows != nullptr ? flows->packet_hops() : model->packet_hops();
  r.events = queue.processed();
  if (r.packets > 0) {
    r.mean_hops = static_cast<double>(r.packet_hops) / static_cast<double>(r.packets);
    r.packet_ns = packet_ps / static_cast<double>(r.packets) * 1e-3;
  }
  r.first_watched = first_watched;
  r.watched = watched;
  r.sample = sample;
  r.queued = std::move(queued);
  r.links = link_use(*topology, {}, flows != nullptr ? flows->link_counts() : link_counts(*topology, *model), r.finished);
  return r;
}

bool ClosedLoop::run() {
  State& s = *state_;
  const std::clock_t started = std::clock();
  while (!s.queue.empty()) {
    for (int i = 0; i < 100'000 && !s.queue.empty(); ++i) {
      s.queue.run_one();
      if (s.flows != nullptr) s.flows->advance();
    }
    progress_.store(static_cast<double>(s.steps_done) / s.all_steps, std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed)) return false;
  }
  const std::uint64_t in_flight = s.flows != nullptr ? 0 : s.model->in_flight();
  const std::string circle = in_flight == 0 ? "" : s.model->deadlock();
  EXANET_CHECK(in_flight == 0 && s.under_way == 0,
               circle.empty() ? "packets or messages are stuck in the network" : circle.c_str(), s.queue.now().ps(), in_flight, s.under_way);
  if (s.flows != nullptr) s.flows->check_done();
  result_ = s.summarize();
  result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  progress_.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace exanet
