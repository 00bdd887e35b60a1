// SPDX-License-Identifier: Apache-2.0
// The coordinator: advances the simulated machine while all ranks sleep, then lets those go on whose time has come.
//
// A round: when every rank sleeps, take what they have posted, run the event queue to the earliest time at which a rank has something to
// see, and on to that time plus the lookahead (no rank woken in this round can touch the network earlier than that). All ranks that are
// due by then run, on as many processors as there are, and the next round begins when they all sleep again. So no completion is
// seen before its time, none after it, and what happens is a function of the programs and the machine alone.
//
// Before all ranks have come to exanet_start() and after all have come to exanet_finish() time stands still: the coordinator then serves
// commands as they come, at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/msg/engine.hpp"
#include "core/topology/topology.hpp"
#include "runtime/coordinator/region.hpp"
#include "runtime/coordinator/statistics.hpp"

namespace exanet {

struct MachineConfig {
  TopologySpec topology;
  FabricConfig fabric;
  NiConfig ni;
  MakeNetwork network = make_fabric;
};

class Coordinator final : private Host {
 public:
  struct Options {
    double compute_factor = 0;
  };
  // Throws std::invalid_argument (machine), std::system_error (region).
  Coordinator(const MachineConfig& machine, std::vector<NodeId> placement, const Options& options);
  ~Coordinator() override;

  void run();                                  // until all ranks have ended or stop(); once
  void stop(const std::string& reason);        // any thread
  void rank_exited(RankId rank, int status);   // any thread; negative: killed by that signal

  struct Progress { Time now; std::uint64_t messages, packets, events; std::uint32_t phase, attached, exited; };
  Progress progress() const;                   // any thread
  const Region& region() const { return region_; }
  Region& region() { return region_; }

  // After run():
  const Statistics& statistics() const { return statistics_; }
  const Topology& topology() const { return *topology_; }
  const Network& network() const { return engine_.interfaces().network(); }
  const std::vector<NodeId>& placement() const { return placement_; }
  std::string reason() const;                  // empty: complete
  Time rank_clock(RankId rank) const { return ranks_[rank].clock; }
  std::uint64_t events() const { return events_.processed(); }
  std::uint64_t packets() const { return engine_.interfaces().packets(); }
  std::uint64_t payload_bytes() const { return engine_.interfaces().payload_bytes(); }
  struct Rounds { std::uint64_t rounds = 0, wakes = 0, empty_wakes = 0; };
  const Rounds& rounds() const { return rounds_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  static constexpr std::uint64_t kLatestPs = std::uint64_t{1} << 62;  // 53 days: clocks end here, so that times can be added to them
  struct Stored {                              // a completion on its way to a rank
    Stored() {}                                // the payload is written as far as it is used
    exn_cqe cqe;
    std::array<std::byte, 256> payload;
  };
  struct Rank {
    bool asleep = false;                       // and nothing has woken it yet
    bool held = false;                         // waits for all others at the start or the end: completions do not wake it
    bool ended = false;
    bool blocking = false;
    Time clock, wake_at;
    std::uint32_t generation = 0;              // of sleeps: tells a stale wake-up event
    std::uint32_t empty_wakes = 0;             // in a row, deadline only
    std::vector<Stored> completions;
  };

  // Host
  void complete(RankId rank, const Completion& completion) override;
  bool read(RankId rank, std::uint64_t addr, std::byte* to, std::size_t bytes) override;
  bool write(RankId rank, std::uint64_t addr, const std::byte* from, std::size_t bytes) override;
  void record(const MessageRecord& message) override;

  // coordinator.cpp: virtual time
  void start_virtual();
  void run_virtual();
  bool wait_asleep();
  void collect();
  void fell_asleep(RankId rank);
  void wake_event(RankId rank, std::uint32_t generation, Time now);
  void set_wake(RankId rank, Time at);
  void make_due(RankId rank, Time at);
  void release();
  void finish_virtual();
  bool deadlocked() const;
  // free_time.cpp
  void run_free(std::uint32_t until_state);
  bool serve_free();
  // rings.cpp
  bool drain(RankId rank);
  static void rewind(exn_ring& ring);
  const char* fault(const exn_cmd& command) const;
  void submit(RankId rank, const exn_cmd& command, const std::byte* payload);
  bool push(RankId rank, const Stored& stored);
  std::size_t push_until(RankId rank, Time horizon);

  bool stopping() const { return stop_.load(std::memory_order_acquire); }

  Region region_;
  std::unique_ptr<Topology> topology_;
  std::vector<NodeId> placement_;
  Options options_;
  NiConfig ni_;
  EventQueue events_;
  MessageEngine engine_;
  Statistics statistics_;
  std::vector<Rank> ranks_;
  std::vector<RankId> due_;
  Time window_end_ = Time::never();
  std::uint32_t on_wake_;
  std::uint32_t at_finish_ = 0;
  std::uint32_t processors_;
  Rounds rounds_;
  std::vector<std::atomic<int>> exit_status_;  // kAlive, or what rank_exited() was told
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> now_ps_{0};
  std::atomic<std::uint64_t> messages_{0}, packets_seen_{0}, events_seen_{0};
  std::atomic<std::uint32_t> exited_{0};
  mutable std::mutex reason_mutex_;
  std::string reason_;
};

}  // namespace exanet
