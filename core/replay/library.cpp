// SPDX-License-Identifier: Apache-2.0
// The message library as the ranks of a replay use it.
//
// Problem: ranks are no processes here, and yet are to be charged what libexanet charges. Model: each rank has a clock,
// posts descriptors to the message engine, and takes completions that are due by its clock; a rank that has nothing
// left to take sleeps until something comes. Contents of live ranks' messages are copied where the interface would do
// it: of eager ones when they are posted, and when they are complete. Limits: a rank polls whenever it waits.
#include "core/replay/library.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/protocol/atomic_table.h"
#include "core/protocol/failure.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {
constexpr std::uint64_t kMemory = ~std::uint64_t{0};  // key of all memory that a rank opens; no program's

bool is_of_message(const Completion& c) {
  return std::holds_alternative<SendCompletion>(c) || std::holds_alternative<ReceiveCompletion>(c) ||
         std::holds_alternative<PeekCompletion>(c);
}
}  // namespace

Library::Library(const Setup& s)
    : queue_(s.queue),
      config_(s.interface),
      user_(s.user),
      ranks_(s.placement.size()),
      contents_(s.interface.eager_max_bytes),
      statistics_(s.placement.size()),
      timeline_(statistics_.timeline),
      own_(std::make_unique<MessageEngine>(s.queue, s.topology, s.network, s.interface, s.placement,
                                           static_cast<Host&>(*this),
                                           s.flow_level ? flow_interface() : nic_kind("exanet"))),
      engine_(*own_),
      hosts_(s.hosts) {
  engine_.set_zero_cost(false);
  engine_.on_packet(
      [](void* self, Time latency) { static_cast<Library*>(self)->statistics_.packet_latency.add(latency.ps()); },
      this);
  handle_wakes();
}

Library::Library(const Beside& s, LibraryUser& user)
    : queue_(s.queue),
      config_(s.interface),
      user_(user),
      ranks_(s.ranks),
      contents_(s.interface.eager_max_bytes),
      statistics_(0),
      timeline_(s.timeline),
      engine_(s.engine),
      memory_(&s.memory),
      hosts_(s.hosts),
      endpoint_(s.endpoint) {
  handle_wakes();
  for (RankId rank = 0; rank < ranks_.size(); ++rank) {
    EpOpenDescriptor open;
    open.ep = endpoint_;
    open.ep_kind = EndpointKind::kMessage;
    engine_.submit(rank, open);
    ranks_[rank].outside = true;
  }
}

void Library::handle_wakes() {
  on_wake_ = queue_.add_handler(
      [](void* self, Time now, std::uint32_t rank, std::uint64_t generation) {
        static_cast<Library*>(self)->wake(rank, static_cast<std::uint32_t>(generation), now);
      },
      this);
}

void Library::start(const std::vector<Time>& at) {
  for (RankId rank = 0; rank < ranks_.size(); ++rank) {
    EpOpenDescriptor open;
    open.ep_kind = EndpointKind::kMessage;
    engine_.submit(rank, open);
    ranks_[rank].asleep = true;
    ranks_[rank].clock = at[rank];
    ranks_[rank].wake_at = Time::never();
    set_wake(rank, at[rank]);
  }
}

void Library::end_dead(RankId rank) {
  Rank& r = ranks_[rank];
  if (r.dead) return;
  if (r.asleep && !r.outside && r.clock < dies(rank)) timeline_.add_wait(rank, r.clock, dies(rank));
  r.dead = true;
  r.behind_death = max(r.clock - dies(rank), Time());
  r.clock = dies(rank);
  r.wake_at = Time::never();
  ++r.generation;
  r.arrivals.clear();
}

void Library::charge(RankId rank, Time cost) {
  ranks_[rank].clock += cost;
  ranks_[rank].library += cost;
}

std::optional<std::uint32_t> Library::open_reduction(std::vector<RankId> members) {
  const std::int64_t tree = engine_.open_reduction(std::move(members));
  return tree < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(tree));
}

void Library::reduce(RankId rank, std::uint32_t tree, std::uint64_t bytes, std::uint64_t cookie) {
  static constexpr std::array<std::byte, kReductionMax> kNothing{};
  const ProcessorCosts& costs = engine_.costs(rank);
  charge(rank, costs.send_cpu() + costs.store(bytes) + costs.ni.store_word);
  ReductionDescriptor d;
  d.time = ranks_[rank].clock;
  d.cookie = cookie;
  d.tree = tree;
  d.count = static_cast<std::uint16_t>(bytes / 4);
  d.operation = exanet_op_bor;
  d.datatype = exanet_type_u32;
  submit(rank, d, Payload(kNothing.data(), bytes));
}

bool Library::send(RankId rank, RankId to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t data,
                   std::uint64_t cookie, std::uint64_t address) {
  return send_as(kTagged, rank, to, tag, bytes, data, cookie, address);
}

bool Library::send_active(RankId rank, RankId to, std::uint64_t bytes, std::uint64_t data, std::uint64_t cookie) {
  return send_as(0, rank, to, 0, bytes, data, cookie, 0);
}

Time Library::send_cost(RankId rank, RankId to, std::uint64_t bytes) const {
  const ProcessorCosts& costs = engine_.costs(rank);
  if (to >= kGroup && !is_eager(bytes)) return costs.send_cpu() + costs.rdma_cpu();
  return costs.send_cpu() + costs.store(costs.ni.envelope_bytes + (is_eager(bytes) ? bytes : 0));
}

bool Library::send_as(std::uint16_t flags, RankId rank, RankId to, std::uint64_t tag, std::uint64_t bytes,
                      std::uint64_t data, std::uint64_t cookie, std::uint64_t address) {
  const bool eager = is_eager(bytes);
  charge(rank, send_cost(rank, to, bytes));
  SendDescriptor d;
  d.flags = static_cast<std::uint16_t>(flags | kHasData | (eager ? kSilent : 0));
  d.time = ranks_[rank].clock;
  d.ep = endpoint_;
  d.peer = Address{to, endpoint_};
  d.cookie = cookie;
  d.tag = tag;
  d.buffer = address;
  d.length = bytes;
  d.data = data;
  if (eager && address != 0 && bytes > 0 && !memory_->read(rank, address, contents_.data(), bytes) && !failure_)
    failure_ = {rank, d.time, "it sends " + std::to_string(bytes) + " bytes that are not all in its memory"};
  submit(rank, d, eager ? Payload(contents_.data(), bytes) : Payload{});
  return eager;
}

void Library::receive(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie,
                      Space space) {
  ReceiveDescriptor d;
  d.ep = endpoint_;
  d.flags = kTagged;
  d.time = ranks_[rank].clock;
  d.peer = from == kAnyRank ? Address{from, 0} : Address{from, endpoint_};
  d.cookie = cookie;
  d.tag = tag;
  d.ignore = ignore;
  d.buffer = space.address;
  d.length = space.bytes;
  submit(rank, d);
}

void Library::receive_active(RankId rank, std::uint64_t cookie) {
  ReceiveDescriptor d;
  d.ep = endpoint_;
  d.flags = kMulti;
  d.time = ranks_[rank].clock;
  d.peer = Address{kAnyRank, 0};
  d.cookie = cookie;
  if (memory_ != nullptr) d.buffer = kNoContents;
  d.length = ~std::uint64_t{0} >> 1;
  submit(rank, d);
}

void Library::open_memory(RankId rank) {
  MemRegisterDescriptor d;
  d.time = ranks_[rank].clock;
  d.key = kMemory;
  d.length = MemoryMap::kAddressSpace;
  d.access = kRemoteRead | kRemoteWrite;
  submit(rank, d);
}

template <typename Descriptor>
Descriptor Library::access(RankId rank, RankId peer, std::uint64_t bytes, std::uint64_t cookie, const Places& places) {
  charge(rank, engine_.costs(rank).rdma_cpu());
  Descriptor d;
  d.time = ranks_[rank].clock;
  d.ep = endpoint_;
  d.peer = Address{peer, endpoint_};
  d.buffer = places.here;
  d.remote = places.there;
  d.cookie = cookie;
  d.length = bytes;
  d.key = kMemory;
  return d;
}

// What is short enough goes with the descriptor.
void Library::put(RankId rank, RankId to, std::uint64_t bytes, std::uint64_t cookie, const Places& places) {
  auto d = access<PutDescriptor>(rank, to, bytes, cookie, places);
  const bool carried = bytes <= contents_.size();
  if (carried) d.flags |= kInject;
  if (carried && places.here != 0 && bytes > 0 && !memory_->read(rank, places.here, contents_.data(), bytes))
    fail(rank, "it puts " + std::to_string(bytes) + " bytes that are not all in its memory");
  submit(rank, d, carried ? Payload(contents_.data(), bytes) : Payload{});
}

void Library::get(RankId rank, RankId from, std::uint64_t bytes, std::uint64_t cookie, const Places& places) {
  submit(rank, access<GetDescriptor>(rank, from, bytes, cookie, places));
}

void Library::probe(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie) {
  probe_as(kTagged, rank, from, tag, ignore, cookie);
}

void Library::claim(RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore, std::uint64_t cookie) {
  probe_as(kTagged | kClaim, rank, from, tag, ignore, cookie);
}

void Library::receive_claimed(RankId rank, std::uint64_t cookie, Space space) {
  ReceiveDescriptor d;
  d.ep = endpoint_;
  d.flags = kTagged | kClaim;
  d.time = ranks_[rank].clock;
  d.cookie = cookie;
  d.buffer = space.address;
  d.length = space.bytes;
  submit(rank, d);
}

void Library::probe_as(std::uint16_t flags, RankId rank, RankId from, std::uint64_t tag, std::uint64_t ignore,
                       std::uint64_t cookie) {
  PeekDescriptor d;
  d.ep = endpoint_;
  d.flags = flags;
  d.time = ranks_[rank].clock;
  d.peer = from == kAnyRank ? Address{from, 0} : Address{from, endpoint_};
  d.cookie = cookie;
  d.tag = tag;
  d.ignore = ignore;
  probes_ += d.time < dies(rank);
  submit(rank, d);
}

bool Library::waits_forever(RankId rank) const {
  const std::vector<Arrival>& arrivals = ranks_[rank].arrivals;
  const bool nothing = arrivals.empty() || (arrivals.size() == 1 && arrivals[0].kind == Arrival::Kind::missed);
  return nothing && engine_.under_way() == probes_;
}

void Library::cancel(RankId rank, std::uint64_t cookie) {
  CancelDescriptor d;
  d.ep = endpoint_;
  d.time = ranks_[rank].clock;
  d.cookie = cookie;
  submit(rank, d);
}

void Library::move(RankId rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  if (memory_ == nullptr || bytes == 0) return;
  std::vector<std::byte> between(bytes);
  const bool moved =
      memory_->read(rank, from, between.data(), bytes) && memory_->write(rank, to, between.data(), bytes);
  if (!moved && !failure_) failure_ = {rank, queue_.now(), "a message to the rank itself is not all in its memory"};
}

Library::Failure Library::failure_of_rank(RankId rank, const Completion& completion, std::string what) const {
  Failure failure{rank, queue_.now(), std::move(what)};
  if (!hosts_) return failure;
  failure.what += hosts_->about(completion, queue_.now());
  std::visit(
      [&failure](const auto& done) {
        if constexpr (requires { done.peer; }) failure.peer = done.peer.rank;
      },
      completion);
  failure.by_death = failure.peer < ranks_.size() && dies(failure.peer) <= queue_.now();
  return failure;
}

void Library::complete(RankId rank, const Completion& completion, Payload payload) {
  if (ranks_[rank].dead) {
    probes_ -= std::holds_alternative<PeekCompletion>(completion);
    return;
  }
  std::uint32_t failed = 0;
  if (std::string what = failure_of(completion); !what.empty()) {
    Failure failure = failure_of_rank(rank, completion, std::move(what));
    if (memory_ == nullptr || !is_of_message(completion)) {
      if (!failure_) failure_ = std::move(failure);
      return;
    }
    failed = add_failed(std::move(failure));
  }
  const std::int32_t status = std::visit([](const auto& c) { return c.status; }, completion);
  if (memory_ != nullptr && status == -EFAULT && !failure_)
    failure_ = {rank, queue_.now(), "a message's buffer is not all in its rank's memory"};
  Arrival a;
  a.failed = failed;
  std::visit(
      [&a](const auto& c) {
        a.time = c.time;
        a.cpu = Time::ps(c.cpu_ps);
        if constexpr (requires { c.cookie; }) a.cookie = c.cookie;
        if constexpr (requires { c.peer; }) a.peer = c.peer.rank;
        if constexpr (requires { c.data; }) a.data = c.data;
        if constexpr (requires { c.tag; }) a.tag = c.tag, a.length = c.length;
        a.truncated = c.status == -EMSGSIZE;
        a.cancelled = c.status == -ECANCELED;
      },
      completion);
  if (const auto* received = std::get_if<ReceiveCompletion>(&completion)) {
    a.kind = Arrival::Kind::received;
    if (memory_ != nullptr && !payload.empty() && received->buffer != 0 &&
        !memory_->write(rank, received->buffer, payload.data(), payload.size()))
      failure_ = {rank, queue_.now(), "it receives into memory that is not there"};
  }
  if (const auto* peek = std::get_if<PeekCompletion>(&completion)) {
    a.kind = peek->status == 0 ? Arrival::Kind::probed : Arrival::Kind::missed;
    --probes_;
  }
  Rank& r = ranks_[rank];
  // Of equal times the one that came first is taken first.
  const auto place =
      std::find_if(r.arrivals.begin(), r.arrivals.end(), [&a](const Arrival& other) { return other.time <= a.time; });
  r.arrivals.insert(place, a);
  if (r.asleep && !r.ended) set_wake(rank, a.time);
}

bool Library::poll(RankId rank, Arrival& out) {
  Rank& r = ranks_[rank];
  if (r.arrivals.empty() || r.arrivals.back().time > r.clock) return false;
  out = r.arrivals.back();
  r.arrivals.pop_back();
  charge(rank, out.cpu);
  return true;
}

void Library::set_wake(RankId rank, Time at) {
  Rank& r = ranks_[rank];
  at = max(at, r.clock);
  if (at >= r.wake_at) return;
  r.wake_at = at;
  queue_.schedule(max(at, queue_.now()), on_wake_, rank, r.generation);
}

void Library::wake(RankId rank, std::uint32_t generation, Time now) {
  Rank& r = ranks_[rank];
  if (!r.asleep || r.generation != generation || r.wake_at > now) return;
  const Time goes_on = max(r.wake_at, engine_.busy_until(rank));
  if (goes_on >= dies(rank)) return end_dead(rank);
  r.asleep = false;
  if (!r.attends) timeline_.add_wait(rank, r.clock, goes_on);
  r.clock = goes_on;
  engine_.awake(rank);
  go_on(rank);
}

void Library::attend(RankId rank, Time clock) {
  ranks_[rank].attends = true;
  enter(rank, clock);
}

void Library::enter(RankId rank, Time clock) {
  ranks_[rank].outside = false;
  ranks_[rank].clock = clock;
  go_on(rank);
}

void Library::go_on(RankId rank) {
  Rank& r = ranks_[rank];
  const Time until = user_.resume(rank);
  if (r.outside) return;
  r.asleep = true;
  r.wake_at = Time::never();
  ++r.generation;
  if (r.clock >= dies(rank) || (!r.ended && queue_.now() >= dies(rank))) end_dead(rank);
  engine_.asleep(rank, r.clock);
  if (r.ended || r.dead) return;
  if (until < Time::never()) set_wake(rank, until);
  if (!r.arrivals.empty()) set_wake(rank, r.arrivals.back().time);
}

}  // namespace exanet
