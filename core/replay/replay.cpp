// SPDX-License-Identifier: Apache-2.0
#include "core/replay/replay.hpp"

#include <ctime>
#include <deque>

#include "core/config/error.hpp"
#include "core/replay/library.hpp"
#include "core/replay/rank_replay.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/check.hpp"

namespace exanet {

class Replay::State final : public LibraryUser {
 public:
  State(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface, const ReplayConfig& c)
      : config(c),
        topology(make_topology(spec)),
        communicators(static_cast<std::uint32_t>(c.streams.size())),
        library({queue, *topology, network, interface, placed(c, *topology), *this}) {
    check_choices(config.collectives);
    for (RankId rank = 0; rank < config.streams.size(); ++rank) {
      const RankReplay& made = ranks.emplace_back(config, interface, rank, library, communicators);
      const exanet_trace_header& header = made.stream().header();
      if (header.rank != rank || header.ranks != config.streams.size())
        throw ConfigError("trace", config.streams[rank] + ": it is of rank " + std::to_string(header.rank) + " of " +
                                       std::to_string(header.ranks) + ", in the place of rank " + std::to_string(rank) +
                                       " of " + std::to_string(config.streams.size()));
    }
    library.start();
  }

  Time resume(RankId rank) override { return ranks[rank].resume(); }

  // Throws ConfigError where ranks have not come to their end, and nothing is left that they could wait for.
  void check_done() const {
    std::string stuck;
    std::size_t count = 0;
    for (const RankReplay& rank : ranks) {
      if (rank.finished() || ++count > 4) continue;
      stuck.append(stuck.empty() ? "" : "; ").append(rank.where());
    }
    if (count == 0) return;
    throw ConfigError("trace",
                      "the replay cannot go on: " + std::to_string(count) + " of " + std::to_string(ranks.size()) +
                          " ranks wait for messages that nobody sends: " + stuck + (count > 4 ? "; and others" : ""));
  }

  double share_read() const {
    double read = 0;
    for (const RankReplay& rank : ranks) read += rank.stream().share_read();
    return read / static_cast<double>(ranks.size());
  }

  ReplayResult summarize() const {
    ReplayResult r;
    for (const RankReplay& rank : ranks) {
      r.ranks.push_back(rank.figures());
      r.finished = max(r.finished, rank.figures().clock);
      r.calls += rank.stream().records();
    }
    r.events = queue.processed();
    return r;
  }

  const ReplayConfig config;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  Communicators communicators;
  Library library;
  std::deque<RankReplay> ranks;

 private:
  static const std::vector<NodeId>& placed(const ReplayConfig& c, const Topology& topology) {
    if (c.streams.empty() || c.placement.size() != c.streams.size())
      throw ConfigError("trace", "a replay takes a stream and a node for each rank");
    for (const NodeId node : c.placement) {
      if (node >= topology.endpoint_count())
        throw ConfigError("placement", "placement names node " + std::to_string(node) + ", the machine has " +
                                           std::to_string(topology.endpoint_count()));
    }
    return c.placement;
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
std::uint64_t Replay::payload_bytes() const { return state_->library.engine().nic().payload_bytes(); }

bool Replay::run() {
  const std::clock_t started = std::clock();
  EventQueue& queue = state_->queue;
  while (!queue.empty()) {
    for (int i = 0; i < 100'000 && !queue.empty(); ++i) queue.run_one();
    progress_.store(state_->share_read(), std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed)) return false;
  }
  state_->check_done();
  result_ = state_->summarize();
  result_.cpu_s = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
  progress_.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace exanet
