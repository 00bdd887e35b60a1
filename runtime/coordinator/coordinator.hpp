// SPDX-License-Identifier: Apache-2.0
// The coordinator: advances the simulated machine while all ranks sleep, then lets those go on whose time has come.
//
// A round: when every rank sleeps, take what they have posted, run the event queue to the earliest time at which a rank
// has something to see, on to when its processor has taken that, and on by the lookahead (no rank woken in this round
// can touch the network earlier than that). All ranks that are due by then run, on as many processors as there are, and
// the next round begins when they all sleep again. So no completion is seen before its time, none after it, and what
// happens is a function of the programs and the machine alone.
//
// Before all ranks have come to exanet_start() and after all have come to exanet_finish() time stands still: the
// coordinator then serves descriptors as they come, at once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/collectives/network_trees.hpp"
#include "core/collectives/registry.hpp"
#include "core/faults/schedule.hpp"
#include "core/network/fault_driver.hpp"
#include "core/protocol/engine.hpp"
#include "core/protocol/host_deaths.hpp"
#include "core/protocol/statistics.hpp"
#include "core/replay/live.hpp"
#include "core/storage/storage.hpp"
#include "core/topology/topology.hpp"
#include "core/workload/background_traffic.hpp"
#include "runtime/coordinator/completion_queue.hpp"
#include "runtime/coordinator/control.hpp"
#include "runtime/coordinator/region.hpp"
#include "runtime/coordinator/run_record.hpp"
#include "runtime/lib/switch.h"

namespace exanet {

struct MachineConfig {
  TopologySpec topology;
  NetworkConfig fabric;
  NiConfig ni;
  MakeNetwork network = make_network;
  bool flow_level = false;  // transfers as flows (core/nic/flow): `network` then makes none
  FaultSchedule faults;  // of the run
  std::optional<BackgroundConfig> background;  // traffic beside programs
  std::vector<StorageConfig> storage;  // that files of programs are on
  std::optional<HandlerProgram> handlers;  // of packets, on the interfaces' HPUs
};

template <typename V>
void visit(MachineConfig& c, V&& v) {
  v("topology", c.topology);
  visit(c.fabric, v);
  v("ni", c.ni);
  v("faults", c.faults, kOptional);
  v("background", c.background, kOptional);
  v("storage", c.storage, kOptional);
  v("handlers", c.handlers, kOptional);
}

std::int64_t host_ns();  // of a steady clock

class Coordinator final : private Host, private LiveHost, private StorageNetwork, private TransferListener {
 public:
  struct Options {
    double compute_factor = 0;
    std::string bcast;  // the algorithm of programs' broadcasts (program_broadcast()); empty: the MPI library's own
    std::uint32_t offloaded = 0;  // a bit of enum exn_offload each
    bool simulates_mpi = false;  // calls of MPI are carried out here (core/replay/live.hpp)
    std::vector<std::string> collectives;  // then: algorithms in place of those of `rules`, each NAME=ALGORITHM
    std::string rules = "mpich";
  };
  // `calls`: of the host of packed ranks in which this is; nullptr in a process of its own. Throws ConfigError
  // (machine, placement).
  Coordinator(Region& region, const MachineConfig& machine, const std::vector<NodeId>& placement,
              const Options& options, const exn_simulator_calls* calls = nullptr);
  ~Coordinator() override;

  void run();  // until all ranks have ended or the run is to stop (control.hpp); once
  RunRecord record();  // after run(), once

  const Network& network() const { return engine_.nic().network(); }
  Time rank_clock(RankId rank) const { return ranks_[rank].clock; }
  std::uint64_t events() const { return events_.processed(); }
  std::uint64_t packets() const { return engine_.nic().packets(); }
  struct Rounds {
    std::uint64_t rounds = 0, wakes = 0, empty_wakes = 0;
  };
  const Rounds& rounds() const { return rounds_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  static constexpr std::uint64_t kLatestPs = std::uint64_t{1}
                                             << 62;  // 53 days: clocks end here, so that times can be added to them
  static constexpr const char* kDeadlock = "deadlock: every rank waits and no message is under way";
  static constexpr Time kLatest = Time::ps(std::int64_t{kLatestPs});
  struct Stored {  // a completion on its way to a rank
    Stored() {}  // the record is written as far as it is used
    Time time;
    std::uint32_t bytes = 0;
    std::array<std::byte, sizeof(exn_completion) + kPacketMax> record;  // as in the ring, payload included
    std::vector<std::byte> rest;  // of a fragment of a datagram, the payload instead
  };
  struct Rank {
    bool asleep = false;  // and nothing has woken it yet
    bool held = false;  // waits for all others at the start or the end: completions do not wake it
    bool ended = false;
    bool dead = false;  // with its host
    bool in_call = false;  // that is carried out here
    bool in_storage = false;  // in a call on a file of a storage
    Time library_before;  // what the library had taken of its time when that began
    std::uint32_t serves = 0;  // 1 + empty waits for whoever connects, as in its slot
    std::uint32_t blocking = 0;  // 1 + empty waits before this one
    Time clock, wake_at;
    Time worked;  // until it last fell asleep: computed, and in the library
    std::uint32_t generation = 0;  // of sleeps: shows that a wake-up event is stale
    CompletionQueue<Stored> completions;
  };

  // Host
  void complete(RankId rank, const Completion& completion, Payload payload) override;
  bool read(RankId rank, std::uint64_t addr, std::byte* to, std::size_t bytes) override;
  bool write(RankId rank, std::uint64_t addr, const std::byte* from, std::size_t bytes) override;
  void record(const MessageRecord& message) override;
  void note_failure(RankId rank, const Completion& completion, Time time);

  // coordinator.cpp: virtual time
  void start_virtual();
  void run_virtual();
  bool wait_asleep();
  bool spin();
  bool sleep(std::int64_t ns);
  bool collect();
  void reckon();
  void fell_asleep(RankId rank);
  void take_clock(RankId rank);
  void wake_event(RankId rank, std::uint32_t generation, Time now);
  void set_wake(RankId rank, Time at);
  void make_due(RankId rank, Time at);
  FaultInterval fault_totals(Time now);
  Time charge_first(RankId rank);
  void release();
  void wake_first();
  void wake(std::uint32_t* word, int most = 1);
  void give_turn(exn_rank& slot);
  void finish_virtual();
  void report_progress_to_ranks();
  bool all_over() const { return at_finish_ + deaths_.size() == ranks(); }
  bool deadlocked() const;
  void stop_deadlocked(const char* reason);
  bool nothing_comes() const;
  static bool waits_forever(const Rank& rank);
  static bool has_waited(const Rank& rank, std::uint32_t waits);
  // ends.cpp
  bool has_ended(RankId rank) const;
  void end_with(RankId rank);
  void end_after_long_wait();
  // deaths.cpp
  void expect_deaths(const FaultPlan& plan, const std::vector<KnownDeath>& known);
  Time dies(RankId rank) const { return hosts_ ? hosts_->dies(rank) : Time::never(); }
  void die(RankId rank);
  void learn(RankId dead, NodeId by);
  bool making(const std::vector<RankId>& left) override;
  void made(RankId rank) override;
  bool all_have_left() const;
  // servers.cpp
  bool only_servers() const;
  void end_servers();
  // free_time.cpp
  void run_free(std::uint32_t until_state);
  bool serve_free();
  void run_out();
  // rings.cpp
  bool drain(RankId rank);
  static void rewind(exn_ring& ring);
  void refuse(RankId rank, const std::string& what);
  void submit(RankId rank, const std::byte* at);
  bool push(RankId rank, const Stored& stored);
  std::size_t push_until(RankId rank, Time horizon);
  // live_calls.cpp
  void returned(RankId rank, Time clock) override;
  void refused(RankId rank, const std::string& why) override;
  void found_nothing() override;
  void start_live();
  LiveAlgorithms live_algorithms() const;
  bool answer_starts();
  void enter_calls();
  void leave_call(RankId rank, Time clock, Time worked);
  bool stop_if_live_failed();
  // storage_calls.cpp
  void make_storages(const std::vector<StorageConfig>& storages);
  void enter_storage(RankId rank);
  void leave_storage(RankId rank, Status status, Time now);
  void send(NodeId from, NodeId to, std::uint64_t bytes, std::uint32_t number) override;
  void arrived(std::uint32_t transfer, Status status, Time now) override;
  void acknowledged(std::uint32_t transfer, Status status, Time now) override;
  // trees.cpp
  void set_nodes();  // which rank is on which
  void set_costs();
  void set_gpus();
  void choose_bcast(const std::string& name, const TopologySpec& topology);
  void answer_questions();
  void answer(RankId rank);

  void stop(const std::string& reason) { control_.stop(reason); }
  bool stopping() const { return control_.stopping(); }

  Region& region_;
  std::uint64_t virtual_events_ = 0;  // how many there are outside virtual time depends on the host
  Control control_{region_};
  const exn_simulator_calls* calls_;
  std::unique_ptr<Topology> topology_;
  std::vector<NodeId> placement_;
  Options options_;
  NiConfig ni_;
  NetworkConfig fabric_;
  EventQueue events_;
  MessageEngine engine_;
  std::optional<FaultDriver> faults_;
  std::optional<HostDeaths> hosts_;  // where any dies
  std::vector<RankDeath> deaths_;
  std::size_t making_ = 0;  // ranks that are about to have a communicator of those who are left
  std::optional<BackgroundTraffic> background_;
  std::optional<NetworkStatistics> network_at_end_;  // of the programs, where it carries other traffic, too
  std::uint64_t failed_ = 0;  // operations that the network has failed
  Statistics statistics_;
  std::vector<Rank> ranks_;
  std::vector<RankId> due_;
  std::vector<RankId> first_;  // those of them that are woken by us
  std::optional<LiveRanks> live_;
  std::optional<Storages> storages_;  // where the run has any
  std::vector<RankId> calling_;
  Time window_end_ = Time::never(), lookahead_;
  std::uint32_t on_wake_;
  std::uint32_t at_finish_ = 0;
  std::uint32_t processors_;
  std::uint32_t at_once_ = 1;  // of this round's ranks, how many were let run at once
  bool may_spin_ = false;  // before it sleeps
  exn_spin spin_{};
  std::int64_t ended_since_ns_ = 0;  // host's time at which a rank's end was seen that still waits for others; 0: none
  std::int64_t released_ns_ = 0, turn_ns_ = 50'000;  // host's time: when this round began; what a turn takes of late
  Rounds rounds_;
  const CollectiveAlgorithm* bcast_ = nullptr;  // the one that was chosen
  std::optional<RankPlaces> places_;  // where it is
  std::set<std::vector<std::uint64_t>> groups_;  // the members of communicators that were asked about
};

}  // namespace exanet
