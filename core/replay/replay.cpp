// SPDX-License-Identifier: Apache-2.0
// Runs the ranks of all programs over one message library until each has come to its end.
//
// Problem: programs, recorded and synthetic, meet in one network and share its time. Model: a rank goes on whenever the
// library wakes it; the queue of events has all that happens between. Limits: where all ranks wait and nothing is under
// way, the replay ends with where each of them stands.
#include "core/replay/replay.hpp"

#include <ctime>
#include <deque>
#include <optional>
#include <utility>

#include "core/collectives/network_trees.hpp"
#include "core/collectives/registry.hpp"
#include "core/config/error.hpp"
#include "core/lofamo/notice.hpp"
#include "core/network/fault_driver.hpp"
#include "core/protocol/failure.hpp"
#include "core/replay/library.hpp"
#include "core/replay/rank_collectives.hpp"
#include "core/replay/rank_job.hpp"
#include "core/replay/rank_replay.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/check.hpp"

namespace exanet {

class Replay::State final : public LibraryUser {
 public:
  State(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface, const ReplayConfig& c)
      : config(c),
        topology(make_topology(following(spec, c.faults))),
        plan(plan_of(c.faults, *topology)),
        noticed(lofamo::notice(c.faults, plan, *topology)),
        hosts(plan, placed(), noticed.deaths),
        library({queue, *topology, failing(network, c.faults), interface, placement, *this, c.flow_level,
                 c.faults.empty() ? nullptr : &hosts}),
        multicasts(library.multicasts() && spec.disabled.empty()) {
    std::vector<Time> starts;
    for (const ReplayProgram& program : config.programs) {
      check_collectives(program.collectives);
      if (program.calls_collective())
        add_collectives(program, interface);
      else if (program.streams.empty())
        add_job(program);
      else
        add_trace(program, interface);
      starts.resize(ranks.size(), program.start);
    }
    library.start(starts);
    if (!c.faults.empty()) {
      faults.emplace(library.links(), *topology, plan, noticed);
      faults->count_with([this](Time now) -> FaultInterval {
        const Nic& nic = library.engine().nic();
        return {now, nic.network().lost(), nic.reliability().retransmissions, 0, Time()};
      });
      faults->run_on(queue);
      hosts.run_on(queue, library.shared_engine(), [this](RankId rank) { library.die(rank); });
    }
    if (config.background)
      background
          .emplace(queue, library.shared_engine(), *topology, spec, network, *config.background,
                   [this] { return !stuck(); })
          .start();
    if (const auto* model = dynamic_cast<const NetworkModel*>(&library.engine().nic().network()))
      samples.emplace(queue, *topology, *model);
  }

  Time resume(RankId rank) override { return ranks[rank]->resume(); }

  // Throws ConfigError where something has failed on the network; where ranks have not come to their end, and nothing
  // is left that they could wait for.
  void check_done() const {
    if (const auto& failure = library.failure())
      throw ConfigError("", "the replay ends at " + in_microseconds(failure->time) + ", on node " +
                                std::to_string(placement[failure->rank]) + ", " + ranks[failure->rank]->where() + ": " +
                                failure->what);
    std::string stuck;
    std::size_t count = 0;
    for (std::size_t id = 0; id < ranks.size(); ++id) {
      if (over(id) || ++count > 4) continue;
      stuck.append(stuck.empty() ? "" : "; ").append(config.programs.size() > 1 ? program_of(id).name + ": " : "");
      stuck.append(ranks[id]->where());
    }
    if (count == 0) return;
    throw ConfigError("trace",
                      "the replay cannot go on: " + std::to_string(count) + " of " + std::to_string(ranks.size()) +
                          " ranks wait for messages that nobody sends: " + stuck + (count > 4 ? "; and others" : "") +
                          (deaths().empty() ? "" : "; hosts have died: " + text_of(deaths())));
  }

  // All ranks wait for what never comes, though some of them look for it again and again.
  bool stuck() const {
    if (!hosts.all_known()) return false;
    for (RankId id = 0; id < ranks.size(); ++id)
      if (!over(id) && !(ranks[id]->waits() && library.waits_forever(id))) return false;
    return true;
  }

  bool over(std::size_t id) const { return ranks[id]->finished() || library.died(static_cast<RankId>(id)); }

  std::vector<RankDeath> deaths() const {
    std::vector<RankDeath> found;
    for (RankId id = 0; id < ranks.size(); ++id)
      if (library.died(id)) found.push_back({id, placement[id], hosts.dies(id)});
    return found;
  }

  double share_done() const {
    double done = 0;
    for (const auto& rank : ranks) done += rank->share_done();
    return done / static_cast<double>(ranks.size());
  }

  ReplayResult summarize() {
    ReplayResult r;
    for (const auto& rank : ranks) {
      r.ranks.push_back(rank->statistics());
      ReplayedRank& last = r.ranks.back();
      if (const auto id = static_cast<RankId>(r.ranks.size() - 1); library.died(id)) {
        last.clock = hosts.dies(id);
        last.compute = max(last.compute - library.behind_death(id), Time());
      }
      r.finished = max(r.finished, last.clock);
      r.calls += rank->calls();
    }
    r.reductions = library.engine().reductions();
    for (const RankPlaces& at : places)
      for (const auto& [why, calls] : at.by_messages()) r.by_messages[why] += calls;
    r.pages = library.engine().nic().pages();
    if (faults) {
      const Nic& nic = library.engine().nic();
      r.faults = faults->record(nic.network().lost(), 0, nic.reliability());
      r.fault_intervals = faults->intervals(r.finished);
    }
    r.deaths = deaths();
    if (background) r.background = background->record();
    r.events = queue.processed() - (samples ? samples->looks() : 0);
    if (samples) r.queues = samples->take();
    return r;
  }

  const ReplayConfig config;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::vector<NodeId> placement;  // of all ranks
  const FaultPlan plan;
  const NoticedFaults noticed;
  HostDeaths hosts;  // that die
  Library library;
  const bool multicasts;  // copies reach all nodes, which they do not round disabled ports
  std::deque<ActiveMessages> words;  // of each recorded program
  std::deque<Communicators> communicators;  // of each recorded program
  std::deque<RankPlaces> places;  // of each program that calls collectives
  std::deque<std::unique_ptr<Program>> jobs;
  std::vector<std::unique_ptr<RankProgram>> ranks;
  std::optional<FaultDriver> faults;
  std::optional<BackgroundTraffic> background;
  std::optional<QueueSamples> samples;  // where there are queues of packets

 private:
  void check_collectives(const CollectiveChoices& choices) const {
    check_choices(choices);
    for (const auto& [collective, name] : choices) {
      const CarriedOutBy by = find_algorithm(collective, name)->by;
      if (by == CarriedOutBy::copies && !multicasts) throw ConfigError("collective", kNoMulticasts);
      if (by == CarriedOutBy::units && !library.reduces())
        throw ConfigError("collective", collective +
                                            " by \"accelerator\" takes interfaces with a unit that reduces "
                                            "(ni.reduction_trees); choose another algorithm or machine");
    }
  }

  std::optional<Multicasts> multicasts_of(const ReplayProgram& program, RankId first, const NiConfig& interface) {
    if (!multicasts) return {};
    return make_multicasts(*topology, program.placement, first, interface,
                           [this](RankGroup group) { return library.add_group(std::move(group)); });
  }

  std::optional<InterfaceReductions> reductions_of(RankId first) {
    if (!library.reduces()) return {};
    const auto open = [this, first](std::vector<std::uint32_t> members) {
      for (std::uint32_t& member : members) member += first;
      return library.open_reduction(std::move(members));
    };
    return InterfaceReductions{library.engine().reduction_max(), open};
  }

  RankPlaces& add_places(const ReplayProgram& program, RankId first, const NiConfig& interface) {
    return places.emplace_back(*topology, program.placement, multicasts_of(program, first, interface),
                               reductions_of(first));
  }

  void add_trace(const ReplayProgram& program, const NiConfig& interface) {
    const auto first = static_cast<RankId>(ranks.size());
    const auto count = static_cast<std::uint32_t>(program.streams.size());
    Communicators& own = communicators.emplace_back(count);
    ActiveMessages& said = words.emplace_back();
    RankPlaces& at = add_places(program, first, interface);
    for (RankId rank = 0; rank < count; ++rank) {
      auto made = std::make_unique<RankReplay>(program, interface, first, rank, library, own, said, at);
      const exanet_trace_header& header = made->stream().header();
      if (header.rank != rank || header.ranks != count)
        throw ConfigError("trace", program.streams[rank] + ": this is the stream of rank " +
                                       std::to_string(header.rank) + " of " + std::to_string(header.ranks) +
                                       ", in the place of rank " + std::to_string(rank) + " of " +
                                       std::to_string(count));
      if (config.call_times) made->keep_times();
      ranks.push_back(std::move(made));
    }
  }

  void add_job(const ReplayProgram& program) {
    const auto first = static_cast<RankId>(ranks.size());
    ProgramSpec spec = program.job.program;
    spec.ranks = static_cast<std::uint32_t>(program.placement.size());
    const Program& made = *jobs.emplace_back(make_program(spec));
    if (made.answered_by_interface())
      throw ConfigError("jobs", "in " + spec.name +
                                    " interfaces answer requests, or nobody receives; jobs beside a trace "
                                    "cannot do this: choose another program");
    for (RankId rank = 0; rank < spec.ranks; ++rank)
      ranks.push_back(std::make_unique<RankPattern>(made, program.job.rounds, first, rank, library));
  }

  void add_collectives(const ReplayProgram& program, const NiConfig& interface) {
    const auto first = static_cast<RankId>(ranks.size());
    RankPlaces& at = add_places(program, first, interface);
    for (RankId rank = 0; rank < program.placement.size(); ++rank)
      ranks.push_back(std::make_unique<RankCollectives>(program, first, rank, library, at));
  }

  const ReplayProgram& program_of(std::size_t id) const {
    for (const ReplayProgram& program : config.programs) {
      if (id < program.placement.size()) return program;
      id -= program.placement.size();
    }
    return config.programs.back();
  }

  const std::vector<NodeId>& placed() {
    if (config.programs.empty()) throw ConfigError("trace", "there is no program to replay: name at least one");
    for (const ReplayProgram& program : config.programs) {
      const bool whole = program.streams.empty() || program.placement.size() == program.streams.size();
      if (program.placement.empty() || !whole)
        throw ConfigError("trace", "a replay needs a stream and a node for each rank");
      if (!program.rank_factors.empty() && program.rank_factors.size() != program.placement.size())
        throw ConfigError("rank_factors", "there is one for each rank, or none");
      placement.insert(placement.end(), program.placement.begin(), program.placement.end());
    }
    for (const NodeId node : placement) {
      if (node >= topology->endpoint_count())
        throw ConfigError("placement", "placement names node " + std::to_string(node) + ", the machine has " +
                                           std::to_string(topology->endpoint_count()));
    }
    return placement;
  }
};

Replay::Replay(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface,
               const ReplayConfig& config)
    : state_(std::make_unique<State>(spec, network, interface, config)) {}

Replay::~Replay() = default;

const Topology& Replay::topology() const { return *state_->topology; }
const Statistics& Replay::statistics() const { return state_->library.statistics(); }
const Network& Replay::network() const { return state_->library.engine().nic().network(); }
std::uint64_t Replay::packets() const { return state_->library.engine().nic().packets(); }
std::vector<GatewayUse> Replay::gateways() const { return state_->library.engine().nic().gateways(); }
std::uint64_t Replay::payload_bytes() const { return state_->library.engine().nic().payload_bytes(); }

bool Replay::run() {
  const std::clock_t started = std::clock();
  EventQueue& queue = state_->queue;
  // Background traffic knows no end: links are counted until the programs' end.
  const std::size_t at_once = state_->background ? 256 : 100'000;
  while (!queue.empty()) {
    queue.run_some(at_once);
    progress_.store(state_->share_done(), std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed)) return false;
    if (state_->library.failure() || state_->stuck()) break;
  }
  state_->check_done();
  result_ = state_->summarize();
  result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  progress_.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace exanet
