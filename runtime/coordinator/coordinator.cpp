// SPDX-License-Identifier: Apache-2.0
// Rounds of the coordinator, from ranks that sleep to ranks that run (coordinator.hpp has the model and its limits).
// What stands in the rings is in rings.cpp, start-up and shut-down in free_time.cpp, ranks' questions in trees.cpp.
#include "runtime/coordinator/coordinator.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

#include "core/config/error.hpp"
#include "core/lofamo/notice.hpp"
#include "core/nic/handlers/handler_units.hpp"
#include "core/routing/make_topology.hpp"

namespace exanet {
namespace {

// IP's header, of each fragment of a datagram. Their bytes go through rings, whose records are shorter than 255 slots.
constexpr std::uint32_t kFragmentHeader = 20, kFragmentMax = 16'000;

constexpr std::int64_t kSleepLimit =
    20'000'000;  // ns without a change before one more rank is let run: one of them may wait for it
// How far a rank that runs alone may go before it asks again. Nobody else posts anything meanwhile, so nothing comes
// for it before the next event.
constexpr Time kFurthestAlone = Time::us(1000);

// A round whose ranks take less than this together is left to one processor, and the simulator spins for its end for so
// long. Where other programs want the processors, longer spins were seen to take far more than they save.
constexpr std::int64_t kShortRoundNs = 100'000;
// In the host of the ranks the simulator takes no processor of its own: a round is shared from the length on at which
// that pays, with workers that look for one, and with those that have to be woken.
constexpr std::int64_t kSharedRoundNs = 5'000, kWakingRoundNs = 200'000;

std::uint32_t processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set))) : 1;
}

// Of this run. Without a use for it the unit that reduces is left out: what it might send keeps nobody waiting.
NiConfig interfaces(const MachineConfig& machine, std::uint32_t offloaded, std::size_t nodes) {
  NiConfig ni = machine.ni;
  if (offloaded == 0) ni.reduction_trees = 0;
  if (machine.handlers) {
    if (!ni.hpu) throw ConfigError("handlers", "the machine's interfaces have no HPUs: add a section hpu to its file");
    ni.handlers = std::make_shared<HandlerUnits>(*ni.hpu, *machine.handlers, nodes,
                                                 static_cast<std::uint32_t>(machine.fabric.router.max_payload_bytes));
  }
  return ni;
}

}  // namespace

std::int64_t host_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Coordinator::Coordinator(Region& region, const MachineConfig& machine, const std::vector<NodeId>& placement,
                         const Options& options, const exn_simulator_calls* calls)
    : region_(region),
      calls_(calls),
      topology_(make_topology(following(machine.topology, machine.faults))),
      placement_(placement),
      options_(options),
      ni_(interfaces(machine, options.offloaded, topology_->node_count())),
      fabric_(machine.fabric),
      engine_(events_, *topology_, failing(machine.fabric, machine.faults), ni_, placement, *this,
              machine.flow_level ? flow_interface() : nic_kind("exanet"), machine.network),
      statistics_(placement.size()),
      ranks_(placement.size()),
      first_(placement.size()),
      processors_(processors()) {
  for (const NodeId node : placement) {
    if (node >= topology_->node_count())
      throw ConfigError("placement", "placement names node " + std::to_string(node) + ", the machine has " +
                                         std::to_string(topology_->node_count()));
  }
  if (!machine.faults.empty()) {
    const FaultPlan plan = plan_of(machine.faults, *topology_);
    const NoticedFaults noticed = lofamo::notice(machine.faults, plan, *topology_);
    faults_.emplace(engine_.links(), *topology_, plan, noticed);
    expect_deaths(plan, noticed.deaths);
  }
  if (machine.background)
    background_.emplace(events_, engine_, *topology_, machine.topology, machine.fabric, *machine.background,
                        [this] { return !nothing_comes(); });
  make_storages(machine.storage);
  if (ni_.handlers) ni_.handlers->set_on_fault([this](const std::string& why) { stop(why); });
  set_nodes();
  set_costs();
  set_gpus();
  region_->segment_bytes = machine.ni.ip_mtu_bytes - kSegmentHeaders;
  region_->fragment_bytes = std::min(machine.ni.ip_mtu_bytes - kFragmentHeader, kFragmentMax) / 8 * 8;
  region_->window_bytes = machine.ni.ip_window_bytes;
  region_->segment_cpu_ps = static_cast<std::uint64_t>(machine.ni.ip_send.ps());
  region_->envelope_bytes = machine.ni.envelope_bytes;
  region_->eager_max = machine.ni.eager_max_bytes;
  region_->packet_max = machine.ni.packet_max_bytes;
  region_->compute_factor = options.compute_factor;
  // Whoever spins takes a processor, or half of one, from what is measured.
  may_spin_ = processors_ > 1 && options.compute_factor == 0;
  region_->most_looking = may_spin_ ? processors_ - 1 : 0;
  if (options.offloaded != 0 && !engine_.reduces())
    throw ConfigError("offload",
                      "--offload: the machine's interfaces have no unit that reduces: say ni.reduction_trees, and "
                      "ni.reductions: gateware where its messages are");
  region_->reduction_max = engine_.reduction_max();
  region_->offloaded = options.offloaded;
  region_->simulates_mpi = options.simulates_mpi;
  choose_bcast(options.bcast, machine.topology);
  engine_.on_packet(
      [](void* self, Time latency) { static_cast<Coordinator*>(self)->statistics_.packet_latency.add(latency.ps()); },
      this);
  on_wake_ = events_.add_handler(
      [](void* self, Time now, std::uint32_t rank, std::uint64_t generation) {
        static_cast<Coordinator*>(self)->wake_event(rank, static_cast<std::uint32_t>(generation), now);
      },
      this);
}

Coordinator::~Coordinator() = default;

void Coordinator::set_nodes() {
  std::vector<bool> used(topology_->node_count());
  for (RankId r = 0; r < ranks(); ++r) {
    region_.rank(r).node = placement_[r];
    if (used[placement_[r]]) region_->shares_nodes = 1;
    used[placement_[r]] = true;
  }
}

void Coordinator::set_costs() {
  const auto ps = [](Time t) { return static_cast<std::uint64_t>(t.ps()); };
  for (RankId r = 0; r < ranks(); ++r) {
    const ProcessorCosts& costs = engine_.costs(r);
    region_.rank(r).costs = {ps(costs.send_cpu()),
                             ps(costs.ni.store_word),
                             ps(costs.rdma_cpu()),
                             ps(costs.packet_cpu()),
                             ps(max(costs.ni.test_step, Time::ps(1))),
                             static_cast<std::uint64_t>(costs.router.word_bits / 8)};
  }
}

void Coordinator::set_gpus() {
  if (!ni_.gpu) return;
  const GpuConfig& gpu = *ni_.gpu;
  const auto ps = [](Time t) { return static_cast<std::uint64_t>(t.ps()); };
  std::uint64_t staged_above = ~std::uint64_t{0};
  if (gpu.path == GpuConfig::Path::kStaged) staged_above = 0;
  if (gpu.path == GpuConfig::Path::kAuto) staged_above = gpu.staged_above_bytes;
  region_->gpu = {
      gpu.per_node,         gpu.memory_bytes,        gpu.memory_rate_bit_per_s, ps(gpu.launch_latency),
      ps(gpu.copy_latency), gpu.copy_rate_bit_per_s, ps(gpu.peer_read_latency), gpu.peer_read_rate_bit_per_s,
      staged_above};
}

void Coordinator::run() {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);  // this thread: the rank that wakes it is about to sleep anyway
  run_free(EXN_AT_START);
  if (!stopping() && control_.exited() < ranks()) {
    const std::uint64_t before = events();
    start_virtual();
    run_virtual();
    virtual_events_ = events() - before;
    if (!stopping()) {
      finish_virtual();
      run_free(EXN_ABSENT);  // a state that none will be in again: until all have left
    }
  }
  __atomic_store_n(&region_->stop, 1, __ATOMIC_RELEASE);
  for (RankId r = 0; r < ranks(); ++r) {
    // A run cut short: the ranks' own last words count. A rank that still runs writes its clock when it next sleeps,
    // which is never.
    if (!ranks_[r].dead && region_.rank(r).clock_ps <= kLatestPs) take_clock(r);
    give_turn(region_.rank(r));
  }
}

RunRecord Coordinator::record() {
  RunRecord record(ranks());
  Time end;
  for (RankId r = 0; r < ranks(); ++r) {
    record.clocks[r] = ranks_[r].clock;
    end = max(end, ranks_[r].clock);
  }
  record.network =
      network_at_end_ ? std::move(*network_at_end_) : network_statistics(*topology_, engine_.nic().network(), end);
  record.packets = packets();
  record.payload_bytes = engine_.nic().payload_bytes();
  record.events = virtual_events_;
  if (faults_) {
    record.faults = faults_->record(engine_.nic().network().lost(), failed_, engine_.nic().reliability());
    record.fault_intervals = faults_->intervals(events_.now());
  }
  record.deaths = deaths_;
  if (background_) record.background = background_->record();
  record.gateways = engine_.nic().gateways();
  if (ni_.handlers) record.handlers = ni_.handlers->statistics();
  record.reductions = engine_.reductions();
  record.page_lookups = engine_.nic().pages().lookups;
  record.page_walks = engine_.nic().pages().walks;
  record.rounds = rounds_.rounds;
  record.wakes = rounds_.wakes;
  record.empty_wakes = rounds_.empty_wakes;
  record.blocked_sends = engine_.blocked_sends();
  record.statistics = std::move(statistics_);
  return record;
}

void Coordinator::wake(std::uint32_t* word, int most) {
  if (calls_ != nullptr)
    calls_->wake(word, most);
  else
    futex_wake(word, most);
}

void Coordinator::give_turn(exn_rank& slot) {
  __atomic_fetch_add(&slot.turn, EXN_TURN, __ATOMIC_RELEASE);
  wake(&slot.turn);
}

// -- Host: what the engine needs of ranks' memory ---------------------------------------------------------------------

bool Coordinator::read(RankId rank, std::uint64_t addr, std::byte* to, std::size_t bytes) {
  if (live_ && !has_contents(addr)) return true;  // a message of the engine's own, as of a collective
  const exn_rank& slot = region_.rank(rank);
  if (calls_ != nullptr && slot.hosted != 0) return calls_->copy(to, reinterpret_cast<const void*>(addr), bytes);
  return read_process(slot.pid, addr, to, bytes);
}

bool Coordinator::write(RankId rank, std::uint64_t addr, const std::byte* from, std::size_t bytes) {
  if (live_ && !has_contents(addr)) return true;
  const exn_rank& slot = region_.rank(rank);
  if (calls_ != nullptr && slot.hosted != 0) return calls_->copy(reinterpret_cast<void*>(addr), from, bytes);
  return write_process(slot.pid, addr, from, bytes);
}

void Coordinator::record(const MessageRecord& message) {
  if (region_->phase == EXN_VIRTUAL) statistics_.add(message);
}

// -- virtual time -----------------------------------------------------------------------------------------------------

void Coordinator::start_virtual() {
  engine_.set_zero_cost(false);
  if (faults_) {
    faults_->count_with([this](Time now) { return fault_totals(now); });
    faults_->run_on(events_);
  }
  if (hosts_)
    hosts_->run_on(
        events_, engine_, [this](RankId rank) { die(rank); }, [this](RankId dead, NodeId by) { learn(dead, by); });
  if (background_) background_->start();
  __atomic_store_n(&region_->phase, EXN_VIRTUAL, __ATOMIC_RELEASE);
  for (RankId r = 0; r < ranks(); ++r) region_->sooner |= region_.rank(r).sooner;
  reckon();
  start_live();
  for (RankId r = 0; r < ranks(); ++r) {
    ranks_[r].asleep = true;
    make_due(r, Time());
  }
  release();
}

void Coordinator::run_virtual() {
  while (wait_asleep()) {
    const bool at_once = collect();
    if (all_over() || stopping()) return;
    if (at_once) {
      release();
      continue;
    }
    while (!stopping() && events_.run_one_before(window_end_)) {
    }
    report_progress_to_ranks();
    if (stopping() || stop_if_live_failed() || all_over()) return;
    if (only_servers()) end_servers();
    if (due_.empty())
      return stop_deadlocked(
          at_finish_ == 0 ? kDeadlock
                          : "no rank can go on: some wait in MPI_Finalize, the others for nothing that is under way");
    if (deadlocked()) return stop_deadlocked(kDeadlock);
    if (due_.size() == 1)
      window_end_ = max(window_end_, min(events_.next_time(), ranks_[due_[0]].clock + kFurthestAlone));
    release();
  }
}

void Coordinator::report_progress_to_ranks() {
  const auto store = [](std::uint64_t& word, std::uint64_t count) { __atomic_store_n(&word, count, __ATOMIC_RELAXED); };
  store(region_->now_ps, static_cast<std::uint64_t>(events_.now().ps()));
  store(region_->messages, statistics_.total.messages);
  store(region_->packets, packets());
  store(region_->events, events());
}

// False when the run is to stop.
bool Coordinator::wait_asleep() {
  std::uint32_t seen = UINT_MAX;
  while (!stopping()) {
    __atomic_store_n(&region_->simulator_wake, EXN_AWAKE, __ATOMIC_SEQ_CST);
    answer_questions();
    const std::uint32_t running = __atomic_load_n(&region_->running, __ATOMIC_SEQ_CST);
    if (running == 0) {
      const std::int64_t took = host_ns() - released_ns_, turns = static_cast<std::int64_t>(due_.size());
      if (turns > 0) turn_ns_ += (took * static_cast<std::int64_t>(at_once_) / turns - turn_ns_) / 8;
      return true;
    }
    const bool woken = calls_ != nullptr ? calls_->wait(kSleepLimit) : spin() || sleep(kSleepLimit);
    if (!woken && running == seen) {
      // Whoever runs may be waiting, in real time, for a rank that is due but has not had its turn.
      const std::int64_t next = exn_take_due(region_.get());
      if (next >= 0 && static_cast<std::size_t>(next) < due_.size()) {
        const RankId rank = region_.due()[next];
        if (rank < ranks()) give_turn(region_.rank(rank));
      }
      end_after_long_wait();
    }
    seen = running;
  }
  return false;
}

// Spins for a call for a while, if a processor is to spare for it; after spins without one not each time.
bool Coordinator::spin() {
  if (!may_spin_ || at_once_ >= processors_ || !exn_spin_now(&spin_)) return false;
  bool called = false;
  for (const std::int64_t until = host_ns() + kShortRoundNs; !called && host_ns() < until;) {
    for (int i = 0; i < 16 && !called; ++i) {
      __builtin_ia32_pause();
      called = __atomic_load_n(&region_->simulator_wake, __ATOMIC_ACQUIRE) == EXN_CALLED;
    }
  }
  exn_spin_ended(&spin_, !called);
  return called;
}

// Until it is called; false after so long.
bool Coordinator::sleep(std::int64_t ns) {
  std::uint32_t awake = EXN_AWAKE;
  if (!__atomic_compare_exchange_n(&region_->simulator_wake, &awake, EXN_ASLEEP, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    return true;
  return futex_wait(&region_->simulator_wake, EXN_ASLEEP, ns);
}

// True: some ranks go on before anything else happens.
bool Coordinator::collect() {
  // due_ still holds those that ran: by number, so that descriptors of one time are taken in a fixed order.
  std::sort(due_.begin(), due_.end());
  for (const RankId r : due_) {
    drain(r);
    rewind(region_.rank(r).work);
    rewind(region_.rank(r).cq);
  }
  for (const RankId r : due_) fell_asleep(r);
  reckon();
  due_.clear();
  if (answer_starts()) {
    window_end_ = events_.now();
    return true;
  }
  window_end_ = Time::never();
  enter_calls();
  return false;
}

// With what ranks may do that touches the network soon.
void Coordinator::reckon() {
  const std::uint32_t sooner = region_->sooner;
  lookahead_ = engine_.lookahead({.packets = (sooner & EXN_SOONER_PACKETS) != 0,
                                  .one_sided = (sooner & EXN_SOONER_ONE_SIDED) != 0,
                                  .streams = (sooner & EXN_SOONER_STREAMS) != 0});
  if (storages_) lookahead_ = Time();  // a call on a file is there when it is made
}

void Coordinator::fell_asleep(RankId r) {
  Rank& rank = ranks_[r];
  const exn_rank& slot = region_.rank(r);
  if (slot.clock_ps < static_cast<std::uint64_t>(rank.clock.ps()) || slot.clock_ps > kLatestPs) {
    stop("rank " + std::to_string(r) + " set its clock to " + std::to_string(slot.clock_ps) +
         " ps, which is before its last or beyond all");
    return;
  }
  take_clock(r);
  rank.asleep = true;
  rank.held = slot.state == EXN_AT_FINISH;
  rank.blocking = slot.blocking;
  rank.serves = slot.serves;
  rank.wake_at = Time::never();
  ++rank.generation;
  region_->sooner |= slot.sooner;
  rank.in_call = slot.live_call != 0;
  if (rank.in_call || slot.live_posted != 0) calling_.push_back(r);
  if (!rank.held && max(rank.clock, events_.now()) >= dies(r)) return die(r);
  if (rank.in_call) return;
  if (live_ && slot.mpi_call > 0) live_->attend(r, rank.clock);
  if (slot.storage_call.action != EXN_STORAGE_NONE) return enter_storage(r);
  engine_.asleep(r, rank.clock);
  if (rank.held) {
    ++at_finish_;
    return;
  }
  set_wake(r, slot.deadline_ps < kLatestPs ? Time::ps(static_cast<std::int64_t>(slot.deadline_ps)) : Time::never());
  if (!rank.completions.empty()) set_wake(r, rank.completions.front().time);
}

// What the rank's clock has moved by since it was let run, and was not work, it has waited in polls that asked nobody.
void Coordinator::take_clock(RankId r) {
  Rank& rank = ranks_[r];
  const exn_rank& slot = region_.rank(r);
  const Time clock = max(rank.clock, Time::ps(static_cast<std::int64_t>(slot.clock_ps)));
  const Time worked = Time::ps(static_cast<std::int64_t>(slot.compute_ps + slot.library_ps));
  statistics_.timeline.add_wait(r, rank.clock, clock, (clock - rank.clock) - (worked - rank.worked));
  rank.clock = clock;
  rank.worked = worked;
}

void Coordinator::set_wake(RankId r, Time at) {
  Rank& rank = ranks_[r];
  at = max(at, rank.clock);
  if (at >= rank.wake_at) return;
  rank.wake_at = at;
  events_.schedule(max(at, events_.now()), on_wake_, r, rank.generation);
}

void Coordinator::wake_event(RankId r, std::uint32_t generation, Time now) {
  Rank& rank = ranks_[r];
  if (rank.asleep && rank.generation == generation && rank.wake_at <= now) make_due(r, rank.wake_at);
}

void Coordinator::make_due(RankId r, Time at) {
  Rank& rank = ranks_[r];
  if (has_ended(r)) return end_with(r);
  if (live_) live_->leave(r);
  const Time goes_on = max(at, engine_.busy_until(r));
  if (goes_on >= dies(r)) return die(r);
  rank.asleep = false;
  statistics_.timeline.add_wait(r, rank.clock, goes_on);
  rank.clock = goes_on;
  engine_.awake(r);
  due_.push_back(r);
  window_end_ = min(window_end_, rank.clock + charge_first(r) + lookahead_);
}

// Until `now`, waits that last included.
FaultInterval Coordinator::fault_totals(Time now) {
  Time waited = statistics_.timeline.waited();
  for (RankId r = 0; r < ranks(); ++r) {
    const Rank& rank = ranks_[r];
    const Time from = rank.in_call ? live_->clock(r) : rank.clock;
    if (rank.asleep && !rank.ended && !rank.dead && now > from) waited += now - from;
  }
  return {now, engine_.nic().network().lost(), engine_.nic().reliability().retransmissions, failed_, waited};
}

// What the rank's processor is busy with before it can do anything: taking the first of what has come.
Time Coordinator::charge_first(RankId r) {
  Rank& rank = ranks_[r];
  const exn_rank& slot = region_.rank(r);
  if (slot.takes_first == 0 || slot.cq.head != slot.cq.tail) return Time();
  if (rank.completions.empty()) return Time();
  const Stored& first = rank.completions.front();
  if (first.time > rank.clock) return Time();
  exn_completion_header header;
  std::memcpy(&header, first.record.data(), sizeof header);
  return Time::ps(header.cpu_ps);
}

void Coordinator::release() {
  // Everything before window_end_ has happened. What a rank does from here on reaches others at window_end_ or later.
  const Time seen = window_end_ - Time::ps(1);
  for (const RankId r : due_) {
    Rank& rank = ranks_[r];
    exn_rank& slot = region_.rank(r);
    const std::size_t before = rank.completions.size();
    const std::size_t left = push_until(r, max(seen, rank.clock));
    rounds_.empty_wakes += rank.completions.size() == before;
    slot.clock_ps = static_cast<std::uint64_t>(rank.clock.ps());
    slot.horizon_ps = left == 0 && !engine_.has_pending(r) ? static_cast<std::uint64_t>(max(seen, Time()).ps()) : 0;
    slot.receiving = left > 0 || engine_.has_pending(r) || engine_.is_receiving(r);
    __atomic_store_n(&slot.state, EXN_RUNNING, __ATOMIC_RELEASE);
  }
  ++rounds_.rounds;
  rounds_.wakes += due_.size();
  wake_first();
}

// As many as there are processors, or one if all are soon done; each of those then wakes one of the rest, or a worker
// takes it.
void Coordinator::wake_first() {
  const std::int64_t round_ns = static_cast<std::int64_t>(due_.size()) * turn_ns_;
  const bool is_short = round_ns < (calls_ != nullptr ? kSharedRoundNs : kShortRoundNs);
  at_once_ = (calls_ != nullptr || may_spin_) && is_short ? 1 : processors_;
  released_ns_ = host_ns();
  const std::uint32_t workers = __atomic_load_n(&region_->workers, __ATOMIC_ACQUIRE);
  std::uint32_t* later = region_.due();
  std::size_t direct = 0, on_workers = 0, left = 0;
  for (const RankId r : due_) {
    const bool descheduled = workers > 0 && __atomic_load_n(&region_.rank(r).place, __ATOMIC_ACQUIRE) ==
                                                static_cast<std::uint32_t>(EXN_DESCHEDULED);
    const bool first = direct + on_workers < at_once_;
    if (first && !descheduled) {
      first_[direct++] = r;
      continue;
    }
    on_workers += first;
    later[left++] = r;
  }
  std::reverse(later, later + left);
  __atomic_store_n(&region_->running, static_cast<std::uint32_t>(due_.size()), __ATOMIC_SEQ_CST);
  __atomic_store_n(&region_->due, rounds_.rounds << 32 | left, __ATOMIC_SEQ_CST);
  for (std::size_t i = 0; i < direct; ++i) give_turn(region_.rank(first_[i]));
  if (calls_ != nullptr && on_workers > 0 && calls_->on_worker()) --on_workers;  // by the worker that this runs on
  if (on_workers > 0) {
    const std::uint32_t asleep = exn_call_workers(region_.get(), static_cast<std::uint32_t>(on_workers));
    const bool needed = calls_ == nullptr || !calls_->on_worker() || round_ns >= kWakingRoundNs;
    if (asleep > 0 && needed) wake(&region_->worker_turn, static_cast<int>(asleep));
  }
}

bool Coordinator::deadlocked() const {
  if (!engine_.idle() || (hosts_ && !hosts_->all_known())) return false;
  return std::all_of(ranks_.begin(), ranks_.end(), waits_forever);
}

// For what nobody has sent: without an end, or in a call for more than so many windows, each twice as long as the one
// before.
bool Coordinator::has_waited(const Rank& r, std::uint32_t waits) {
  const bool for_ever = r.asleep && r.wake_at == Time::never();
  // Completions that have just come for a rank are about to be handed over.
  return r.completions.empty() && !r.in_storage && (for_ever || r.blocking > waits);
}

bool Coordinator::waits_forever(const Rank& r) {
  // A window that has doubled this often is seconds long; nobody who polls so patiently does anything else.
  constexpr std::uint32_t kPatientWaits = 20;
  return r.held || r.dead || (r.blocking > 0 && has_waited(r, kPatientWaits));
}

// For ranks, whatever else the network carries: all wait for each other, and have for some milliseconds.
bool Coordinator::nothing_comes() const {
  constexpr std::uint32_t kQuietWaits = 10;
  return engine_.idle() && std::all_of(ranks_.begin(), ranks_.end(),
                                       [](const Rank& r) { return r.held || r.dead || has_waited(r, kQuietWaits); });
}

void Coordinator::finish_virtual() {
  if (background_) {
    background_->stop();
    network_at_end_ = network_statistics(*topology_, engine_.nic().network(), events_.now());
  }
  run_out();
  if (stopping()) return;
  engine_.set_zero_cost(true);
  report_progress_to_ranks();
  __atomic_store_n(&region_->phase, EXN_DONE, __ATOMIC_RELEASE);
  for (RankId r = 0; r < ranks(); ++r) {
    Rank& rank = ranks_[r];
    if (rank.dead) continue;
    rank.asleep = rank.held = false;
    region_.rank(r).clock_ps = static_cast<std::uint64_t>(rank.clock.ps());
    __atomic_store_n(&region_.rank(r).state, EXN_RUNNING, __ATOMIC_RELEASE);
    give_turn(region_.rank(r));
  }
}

}  // namespace exanet
