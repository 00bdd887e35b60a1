// SPDX-License-Identifier: Apache-2.0
// Runs jobs of communicating ranks over what carries their messages.
//
// Problem: thousands of ranks wait for each other's messages, which may come early. Model: a rank is a step and the
// count of messages that have come for it and for later steps; an arrival lets it go on. Limits: messages of a step are
// counted, not distinguished: programs say how many there are (program.hpp).
#include "core/workload/closed_loop.hpp"

#include <algorithm>
#include <ctime>
#include <optional>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/fault_driver.hpp"
#include "core/network/model.hpp"
#include "core/nic/nic.hpp"
#include "core/protocol/failure.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/check.hpp"
#include "core/workload/queue_samples.hpp"
#include "core/workload/statistics.hpp"
#include "core/workload/transport.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

struct InFlight {
  std::uint32_t from_rank, to_rank;  // of all jobs' ranks
  std::uint32_t next_free;
  std::uint64_t step;  // of the receiver
  std::uint64_t reply_bytes;
  Time handed_over;
  bool is_reply, awaited;
};

struct Rank {
  std::uint64_t step = 0;
  std::uint32_t job = 0, number = 0;
  std::uint32_t expected = 0, replies_due = 0;
  bool computing = false, waiting = false;
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

// Ranks of each job; those without a number share equally what the others leave.
std::vector<std::uint32_t> ranks_of(const std::vector<JobConfig>& jobs, std::uint32_t endpoints) {
  if (jobs.empty()) throw ConfigError("jobs", "there is no job to run: name at least one");
  std::uint64_t fixed = 0, open = 0;
  for (const JobConfig& job : jobs) fixed += job.program.ranks, open += job.program.ranks == 0;
  std::vector<std::uint32_t> ranks;
  for (const JobConfig& job : jobs) {
    const std::uint64_t share = fixed < endpoints && open > 0 ? (endpoints - fixed) / open : 0;
    ranks.push_back(job.program.ranks != 0 ? job.program.ranks : static_cast<std::uint32_t>(share));
  }
  return ranks;
}

NetworkConfig with_priority(NetworkConfig fabric, const std::vector<JobConfig>& jobs) {
  fabric.priority = std::any_of(jobs.begin(), jobs.end(), [](const JobConfig& job) { return job.priority > 0; });
  return fabric;
}

auto transport_of(const ClosedLoopConfig& config, const NicKind& nic) {
  return config.flow_level ? make_flow_transport : nic.message_library ? make_library_transport : make_packet_transport;
}

}  // namespace

struct ClosedLoop::State final : TransportListener {
  State(const TopologySpec& spec, const NetworkConfig& network_config, const ClosedLoopConfig& c)
      : config(c), topology(make_topology(spec)) {
    if (c.packet_bytes < 1 || c.packet_bytes > network_config.router.max_payload_bytes)
      throw ConfigError("packet_bytes", "packets of " + std::to_string(c.packet_bytes) +
                                            " bytes; this machine's carry from 1 to " +
                                            std::to_string(network_config.router.max_payload_bytes));
    add_jobs();
    step_event = queue.add_handler(
        [](void* self, Time now, std::uint32_t rank, std::uint64_t) { static_cast<State*>(self)->go_on(rank, now); },
        this);
    const NetworkConfig network = failing(with_priority(network_config, c.jobs), c.faults);
    const NicKind& nic = nic_kind(c.nic);
    if (!nic.message_library && c.nic != "ideal")
      throw ConfigError("nic", c.nic +
                                   " interfaces carry whole messages, not the steps of jobs: take sim messages, or " +
                                   "--nic ideal or exanet");
    transport = transport_of(c, nic)({queue, *topology, network, c.interface, nic, c.packet_bytes, endpoint_of, *this});
    if (!c.faults.empty()) faults.emplace(transport->links(), *topology, c.faults, c.noticed).run_on(queue);
    for (std::uint32_t r = 0; r < ranks.size(); ++r) queue.schedule(Time(), step_event, r);
    if (transport->model() != nullptr) samples.emplace(queue, *topology, *transport->model());
  }

  void add_jobs() {
    const ClosedLoopConfig& c = config;
    std::uint32_t alive = 0;
    for (NodeId e = 0; e < topology->endpoint_count(); ++e) alive += takes_ranks(*topology, e);
    const std::vector<std::uint32_t> numbers = ranks_of(c.jobs, alive);
    for (std::size_t j = 0; j < c.jobs.size(); ++j) {
      if (c.jobs[j].rounds < 1 || c.jobs[j].rounds > 1'000'000'000)
        throw ConfigError("jobs", "a job must have from 1 to 10^9 rounds");
      if (c.jobs[j].program.bytes > std::uint64_t{1} << 40)
        throw ConfigError("jobs", "a message must be at most 1 TiB");
      if (c.jobs[j].priority > 1) throw ConfigError("jobs", "a job's priority must be 0 or 1");
      if (c.jobs[j].priority > 0 && c.flow_level)
        throw ConfigError("jobs", "priorities need the packet level: leave out the priority, or use --level packet");
      if (c.jobs[j].priority > 0 && nic_kind(c.nic).message_library)
        throw ConfigError(
            "jobs", "the message library sends all data in one class: leave out the priority, or use --nic ideal");
      ProgramSpec program = c.jobs[j].program;
      program.ranks = numbers[j];
      Job& job = jobs.emplace_back();
      job.program = make_program(program);
      if (nic_kind(c.nic).message_library && job.program->answered_by_interface())
        throw ConfigError("jobs",
                          "in " + program.name + " interfaces answer requests, or nobody receives: use --nic ideal");
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
  }

  // Takes the rank as far as it gets without anything that is not here yet.
  void go_on(std::uint32_t index, Time now) {
    Rank& rank = ranks[index];
    const Job& job = jobs[rank.job];
    while (rank.step < job.total_steps) {
      const std::uint64_t round = rank.step / job.steps;
      const auto step = static_cast<std::uint32_t>(rank.step % job.steps);
      if (!rank.waiting) {
        const Time gap = rank.computing ? Time() : job.program->compute_gap(rank.number, round, step);
        rank.computing = gap > Time();
        if (rank.computing) return queue.schedule(now + gap, step_event, index);
        begin_step(index, round, step, now);
      }
      if (rank.arrived.empty()) rank.arrived.push_back(0);
      if (rank.replies_due > 0 || rank.arrived[0] < rank.expected || transport->busy(index)) return;
      EXANET_CHECK(rank.arrived[0] == rank.expected, "more messages in a step than the program expects", now.ps(),
                   index, rank.step);
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
    transport->begin_step(index, rank.step, rank.expected, now);
    sending.clear();
    job.program->sends(rank.number, round, step, sending);
    for (const Sending& s : sending) {
      EXANET_CHECK(s.to != rank.number, "a rank sends to itself", now.ps(), s.to, rank.step);
      rank.replies_due += s.reply_bytes > 0;
      rank.bytes_sent += s.bytes;
      hand_over(index, job.first_rank + s.to, rank.step, s.bytes, s.reply_bytes, false, now, s.awaited);
    }
    transport->doorbell(index);
  }

  void hand_over(std::uint32_t from, std::uint32_t to, std::uint64_t step, std::uint64_t bytes, std::uint64_t reply,
                 bool is_reply, Time now, bool awaited = true) {
    std::uint32_t m = free_message;
    if (m == kNone) {
      m = static_cast<std::uint32_t>(messages.size());
      messages.emplace_back();
    } else {
      free_message = messages[m].next_free;
    }
    messages[m] = {from, to, kNone, step, reply, now, is_reply, awaited};
    ++results[ranks[from].job].messages;
    results[ranks[from].job].bytes += bytes;
    ++under_way;
    transport->post({from, to, step, bytes, config.jobs[ranks[from].job].priority, m, awaited && !is_reply});
  }

  void resumed(std::uint32_t rank, Time now) override {
    if (ranks[rank].waiting) go_on(rank, now);
  }

  void arrived(std::uint32_t index, Time now) override {
    const InFlight message = messages[index];
    messages[index].next_free = free_message;
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
      EXANET_CHECK(message.step >= rank.step || message.reply_bytes > 0, "a message for a step that is over", now.ps(),
                   message.to_rank, message.step);
      const auto ahead = static_cast<std::size_t>(message.step - rank.step);
      if (message.reply_bytes > 0) {
        const std::uint32_t requester = message.from_rank;
        hand_over(message.to_rank, requester, ranks[requester].step, message.reply_bytes, 0, true, now);
        transport->doorbell(message.to_rank);
        return;  // the answer is the interface's; the rank knows nothing of the request
      }
      if (rank.arrived.size() <= ahead) rank.arrived.resize(ahead + 1);
      ++rank.arrived[ahead];
    }
    if (rank.waiting) go_on(message.to_rank, now);
  }

  void failed(std::uint32_t index, Status why, Time now) override {
    const InFlight& message = messages[index];
    if (failure.empty())
      failure = "the simulation cannot go on: at " + in_microseconds(now) + ", rank " +
                std::to_string(message.from_rank) + " on node " + std::to_string(endpoint_of[message.from_rank]) +
                ": send to rank " + std::to_string(message.to_rank) +
                " failed: " + network_failure(completion_status(why));
  }

  ClosedLoopResult summarize();

  ClosedLoopConfig config;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<MessageTransport> transport;
  std::optional<FaultDriver> faults;
  std::vector<Job> jobs;
  std::vector<Rank> ranks;
  std::vector<NodeId> endpoint_of;  // by rank of all jobs
  std::vector<InFlight> messages;
  std::vector<Sending> sending;
  std::vector<JobResult> results;
  std::optional<QueueSamples> samples;  // where there are queues of packets
  std::uint32_t step_event = 0, free_message = kNone;
  std::uint64_t steps_done = 0, under_way = 0;
  double all_steps = 0;
  std::string failure;  // the first
};

ClosedLoop::ClosedLoop(const TopologySpec& spec, const NetworkConfig& network, const ClosedLoopConfig& config)
    : state_(std::make_unique<State>(spec, network, config)) {}

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
      EXANET_CHECK(rank.finished >= Time(), "a rank waits for a message that nobody sends", queue.now().ps(), i,
                   rank.step);
      job.finished = max(job.finished, rank.finished);
      job.first_finished = min(job.first_finished, rank.finished);
      rates.push_back(static_cast<double>(rank.bytes_sent) /
                      static_cast<double>(std::max<std::int64_t>(rank.finished.ps(), 1)));
    }
    job.fairness = std::all_of(rates.begin(), rates.end(), [](double rate) { return rate == 0; }) ? 1 : jain(rates);
    job.message_ns = job.messages == 0 ? 0 : jobs[j].message_ps / static_cast<double>(job.messages) * 1e-3;
    r.finished = max(r.finished, job.finished);
  }
  r.jobs = std::move(results);
  const MessageTransport::Totals totals = transport->totals();
  r.packets = totals.packets;
  r.packet_hops = totals.packet_hops;
  r.pages = transport->pages();
  if (faults) r.faults = faults->record(transport->lost(), 0, transport->reliability());
  r.events = queue.processed();
  if (r.packets > 0) {
    r.mean_hops = static_cast<double>(r.packet_hops) / static_cast<double>(r.packets);
    r.packet_ns = totals.packet_ps / static_cast<double>(r.packets) * 1e-3;
  }
  if (samples) r.queues = samples->take();
  r.links = link_use(*topology, {}, transport->link_counts(r.finished), r.finished);
  return r;
}

bool ClosedLoop::run() {
  State& s = *state_;
  const std::clock_t started = std::clock();
  while (!s.queue.empty()) {
    for (int i = 0; i < 100'000 && !s.queue.empty(); ++i) {
      s.queue.run_one();
      s.transport->advance();
    }
    progress_.store(static_cast<double>(s.steps_done) / s.all_steps, std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed)) return false;
  }
  require(s.failure.empty(), "", s.failure);
  s.transport->check_done();
  EXANET_CHECK(s.under_way == 0, "messages are stuck in the network", s.queue.now().ps(), s.under_way,
               s.messages.size());
  result_ = s.summarize();
  result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  progress_.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace exanet
