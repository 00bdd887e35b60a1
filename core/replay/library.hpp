// SPDX-License-Identifier: Apache-2.0
// Ranks that use the message library as processes do, without being any: each has a clock, posts messages, polls, and
// sleeps until something has come.
//
// Model: what libexanet does in a rank (runtime/lib) and the coordinator for it, step by step. Sends cost the processor
// what libexanet charges; a completion is seen at its time, by a rank that polls, and costs what it says; while a rank
// sleeps its processor is in the library and does what rendezvous asks of it. Messages of a replay have no contents;
// those of live programs (live.hpp) do, in their ranks' memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/network/model.hpp"
#include "core/protocol/engine.hpp"
#include "core/protocol/host_deaths.hpp"
#include "core/protocol/statistics.hpp"

namespace exanet {

struct Arrival {
  Time time, cpu;
  std::uint64_t cookie = 0, data = 0;
  RankId peer = 0;
  std::uint64_t tag = 0, length = 0;  // of a message that was received or found
  bool truncated = false, cancelled = false;
  std::uint32_t failed = 0;  // on the network: number of the failure (Library::failed())
  enum class Kind : std::uint8_t { sent, received, probed, missed } kind = Kind::sent;
};

// Contract: resume() lets the rank go on from its clock, and returns until when it sleeps at most: Time::never() if it
// waits for arrivals alone.
class LibraryUser {
 public:
  virtual ~LibraryUser() = default;
  virtual Time resume(RankId rank) = 0;
};

class Library final : private Host {
 public:
  struct Setup {
    EventQueue& queue;
    const Topology& topology;
    const NetworkConfig& network;
    const NiConfig& interface;
    const std::vector<NodeId>& placement;
    LibraryUser& user;
    bool flow_level = false;  // transfers as flows (core/nic/flow)
    const HostDeaths* hosts = nullptr;  // that die, where any do
  };
  // Throws ConfigError on what cannot be built.
  explicit Library(const Setup& setup);
  // Over an engine that others use, too: completions at `endpoint` are to be given to deliver(), and messages have
  // contents, which `memory` reads and writes. All ranks are outside.
  struct Beside {
    EventQueue& queue;
    MessageEngine& engine;
    const NetworkConfig& network;
    const NiConfig& interface;
    std::size_t ranks;
    Host& memory;
    Timeline& timeline;  // gets the ranks' waits
    const HostDeaths* hosts = nullptr;  // that die, where any do
    std::uint16_t endpoint = 0;
  };
  Library(const Beside& setup, LibraryUser& user);

  void start(const std::vector<Time>& at);  // each rank at its time
  void end(RankId rank) { ranks_[rank].ended = true; }
  // Its host has died: it goes on no more.
  void die(RankId rank) {
    if (!ranks_[rank].ended) end_dead(rank);
  }
  bool died(RankId rank) const { return ranks_[rank].dead; }
  // Of what it has computed: the time that would have come behind its death.
  Time behind_death(RankId rank) const { return ranks_[rank].behind_death; }

  // A live rank comes from its program at this time, and goes on as if it had been woken; and leaves for it, in
  // LibraryUser::resume(), where nothing wakes it.
  void enter(RankId rank, Time clock);
  void leave(RankId rank) {
    ranks_[rank].outside = true;
    ranks_[rank].asleep = ranks_[rank].attends = false;
  }
  // It sleeps outside in MPI, from this time on: LibraryUser::resume() takes what comes, until it leaves.
  void attend(RankId rank, Time clock);
  void deliver(RankId rank, const Completion& completion, Payload payload) { complete(rank, completion, payload); }
  // Moves bytes within a rank's memory. A failure of the run where some of it is not mapped.
  void move(RankId rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);

  Time clock(RankId rank) const { return ranks_[rank].clock; }
  Time& clock(RankId rank) { return ranks_[rank].clock; }
  Time library_time(RankId rank) const { return ranks_[rank].library; }
  void charge(RankId rank, Time cost);

  // Where the network copies packets, a rank may send to several: `to` is then kGroup | what this returns. They must
  // have posted their receives before what is longer than eager_max. Contract: no two of them on a node, and none on
  // the sender's.
  bool multicasts() const { return engine_.multicasts(); }
  std::uint32_t add_group(RankGroup group) { return engine_.add_group(std::move(group)); }

  // Where interfaces reduce: the number of a tree of these ranks, if there is space for one; and a part of a rank's of
  // so many bytes, a multiple of four, whose result is an arrival.
  bool reduces() const { return engine_.reduces(); }
  std::optional<std::uint32_t> open_reduction(std::vector<RankId> members);
  void reduce(RankId rank, std::uint32_t tree, std::uint64_t bytes, std::uint64_t cookie);

  // What a send costs the rank, and whether it is then over at once.
  Time send_cost(RankId rank, RankId to, std::uint64_t bytes) const;
  bool is_eager(std::uint64_t bytes) const { return bytes <= config_.eager_max_bytes; }
  // True: it is over for the sender at once, and no arrival reports it. `address`: of its contents, if it has any.
  bool send(RankId rank, RankId to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t data, std::uint64_t cookie,
            std::uint64_t address = 0);
  // The same to whoever takes active messages, which no tag matches: true as of send().
  bool send_active(RankId rank, RankId to, std::uint64_t bytes, std::uint64_t data, std::uint64_t cookie);
  void receive_active(RankId rank, std::uint64_t cookie);  // all that come, each with an arrival of this cookie
  // Opens memory to the others, once; and writes to, or reads from, that of another rank.
  void open_memory(RankId rank);
  struct Places {
    std::uint64_t here = 0, there = 0;  // of contents, if there are any
  };
  void put(RankId rank, RankId to, std::uint64_t bytes, std::uint64_t cookie, const Places& places);
  void get(RankId rank, RankId from, std::uint64_t bytes, std::uint64_t cookie, const Places& places);
  struct Space {
    std::uint64_t address = 0, bytes = ~std::uint64_t{0} >> 1;
  };
  void receive(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie, Space space);
  void receive(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie) {
    receive(rank, from, tag, ignore, cookie, Space{});
  }
  void probe(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie);
  // A probe that keeps the message for the receive of the same cookie.
  void claim(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie);
  void receive_claimed(RankId rank, std::uint64_t cookie, Space space);
  // Takes a posted receive back; if no message has matched it, its completion comes as if one had.
  void cancel(RankId rank, std::uint64_t cookie);
  // The next completion whose time has come by the rank's clock; its cost is charged.
  bool poll(RankId rank, Arrival& out);
  // Nothing has come for the rank, and nothing will that ranks have asked for by now, but for answers of probes.
  bool waits_forever(RankId rank) const;

  // The first operation whose failure ends the run: no call of a recorded program has an error to return, and none of a
  // live one where it concerns no message.
  struct Failure {
    RankId rank;
    Time time;
    std::string what;
    bool by_death = false;  // of its peer, `peer`
    RankId peer = kAnyRank;
  };
  const std::optional<Failure>& failure() const { return failure_; }
  void fail(RankId rank, std::string what) {
    if (!failure_) failure_ = {rank, queue_.now(), std::move(what)};
  }
  // Failures of live ranks' messages, which are arrivals; by number.
  const Failure& failed(std::uint32_t number) const { return failed_[number - 1]; }
  std::uint32_t add_failed(Failure failure) {
    failed_.push_back(std::move(failure));
    return static_cast<std::uint32_t>(failed_.size());
  }
  void end_with(std::uint32_t failed) {
    if (!failure_) failure_ = failed_[failed - 1];
  }
  const HostDeaths* hosts() const { return hosts_; }
  std::size_t ranks() const { return ranks_.size(); }
  Time now() const { return queue_.now(); }
  // A rank that waits looks again now.
  void look_again(RankId rank) {
    if (ranks_[rank].asleep && !ranks_[rank].ended) set_wake(rank, queue_.now());
  }

  const MessageEngine& engine() const { return engine_; }
  MessageEngine& shared_engine() { return engine_; }  // for traffic that belongs to no rank
  FaultTarget& links() { return engine_.links(); }  // what a plan of faults acts on
  const Statistics& statistics() const { return statistics_; }

 private:
  struct Rank {
    Time clock, library, wake_at, behind_death;
    std::uint32_t generation = 0;
    bool asleep = false, ended = false, outside = false, dead = false, attends = false;
    std::vector<Arrival> arrivals;  // the earliest one last
  };

  void complete(RankId rank, const Completion& completion, Payload) override;
  Failure failure_of_rank(RankId rank, const Completion& completion, std::string what) const;
  bool read(RankId, std::uint64_t, std::byte*, std::size_t) override { return true; }
  bool write(RankId, std::uint64_t, const std::byte*, std::size_t) override { return true; }
  void record(const MessageRecord& message) override { statistics_.add(message); }

  void probe_as(std::uint16_t flags, RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore,
                std::uint64_t cookie);
  bool send_as(std::uint16_t flags, RankId rank, RankId to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t data,
               std::uint64_t cookie, std::uint64_t address);
  template <typename Descriptor>
  Descriptor access(RankId rank, RankId peer, std::uint64_t bytes, std::uint64_t cookie, const Places& places);
  template <typename Descriptor>
  void submit(RankId rank, const Descriptor& d, Payload payload = {}) {
    if (d.time < dies(rank)) engine_.submit(rank, d, payload);
  }
  Time dies(RankId rank) const { return hosts_ ? hosts_->dies(rank) : Time::never(); }
  void set_wake(RankId rank, Time at);
  void wake(RankId rank, std::uint32_t generation, Time now);
  void go_on(RankId rank);
  void end_dead(RankId rank);
  void handle_wakes();

  EventQueue& queue_;
  const NiConfig config_;
  LibraryUser& user_;
  std::vector<Rank> ranks_;
  std::vector<std::byte> contents_;
  Statistics statistics_;
  Timeline& timeline_;
  std::unique_ptr<MessageEngine> own_;
  MessageEngine& engine_;
  Host* memory_ = nullptr;  // of live ranks
  const HostDeaths* hosts_ = nullptr;  // that die, where any do
  std::uint16_t endpoint_ = 0;
  std::uint32_t on_wake_ = 0;
  std::uint64_t probes_ = 0;  // not answered yet
  std::optional<Failure> failure_;
  std::vector<Failure> failed_;
};

}  // namespace exanet
