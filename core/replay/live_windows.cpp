// SPDX-License-Identifier: Apache-2.0
// Contents of one-sided calls of live ranks, and the steps of such a call.
//
// Problem: an access is carried out at its target while that is in MPI, and its origin has the memory. Model: what is
// sent is kept here, under a number that the access's messages carry; the target computes, and what was there before
// comes back under the same number. A transfer by the interface goes from memory to memory where both are one piece,
// else over what is kept here. Limit: a rank carries accesses of others out when it is in a call that is simulated.
#include "core/replay/live_windows.hpp"

#include <algorithm>

#include "core/collectives/rules.hpp"
#include "core/collectives/selection.hpp"
#include "core/replay/live_operations.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kWindowTag = std::uint64_t{1} << 61;  // in tags of barriers of windows

bool is_access(std::uint32_t code) { return code >= EXANET_TRACE_Put && code <= EXANET_TRACE_Rget_accumulate; }
bool is_get(std::uint32_t code) { return code == EXANET_TRACE_Get || code == EXANET_TRACE_Rget; }
bool is_put(std::uint32_t code) { return code == EXANET_TRACE_Put || code == EXANET_TRACE_Rput; }
bool makes(std::uint32_t code) { return code == EXANET_TRACE_WINDOW_MADE; }

std::uint64_t bytes_of(const std::vector<exanet_live_block>& blocks) {
  std::uint64_t all = 0;
  for (const exanet_live_block& block : blocks) all += block.bytes;
  return all;
}

TraceRecord record_of(const exanet_live_call& call) {
  const exanet_live_access& a = *call.access;
  TraceRecord r;
  r.code = static_cast<std::uint8_t>(call.code);
  r.window = a.window;
  r.message.peer = a.peer == EXANET_LIVE_NOBODY ? kNoPeer : a.peer;
  r.flags = call.flags;
  r.send_bytes = call.bytes;
  r.receive_bytes = call.receive_bytes;
  r.first.assign(a.ranks, a.ranks + a.rank_count);
  return r;
}

}  // namespace

bool is_live_one_sided(std::uint32_t code) {
  return makes(code) || (code >= EXANET_TRACE_Put && code <= EXANET_TRACE_Win_flush_local_all);
}
bool is_live_access_with_request(std::uint32_t code) {
  return code >= EXANET_TRACE_Rput && code <= EXANET_TRACE_Rget_accumulate;
}

// -- contents ---------------------------------------------------------------------------------------------------------

LiveAccesses::Blocks LiveAccesses::blocks_of(const exanet_live_memory& memory) {
  if (memory.blocks != nullptr) return {memory.blocks, memory.blocks + memory.block_count};
  return memory.bytes > 0 ? Blocks{{memory.address, memory.bytes}} : Blocks{};
}

void LiveAccesses::read(RankId rank, const Blocks& blocks, std::vector<std::byte>& to) {
  to.resize(bytes_of(blocks));
  std::byte* place = to.data();
  for (const exanet_live_block& block : blocks) {
    if (!memory_.read(rank, block.address, place, block.bytes))
      return library_.fail(rank, "a one-sided access reads what is not all in its memory");
    place += block.bytes;
  }
}

void LiveAccesses::write(RankId rank, const Blocks& blocks, const std::vector<std::byte>& from) {
  std::size_t done = 0;
  for (const exanet_live_block& block : blocks) {
    const std::size_t bytes = std::min<std::size_t>(block.bytes, from.size() - done);
    if (bytes > 0 && !memory_.write(rank, block.address, from.data() + done, bytes))
      return library_.fail(rank, "a one-sided access writes what is not all in its memory");
    done += bytes;
  }
}

std::uint32_t LiveAccesses::begin(RankId rank, const exanet_live_call& call) {
  if (free_.empty()) {
    all_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(all_.size()));
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  const exanet_live_access& a = *call.access;
  Access& access = at(number) = Access{};
  access.origin = rank;
  access.target = a.peer;
  access.code = call.code;
  access.operation = is_put(call.code) ? std::uint32_t{EXANET_LIVE_REPLACE} : a.operation;
  access.type = a.type;
  access.result = blocks_of(a.result);
  access.there = blocks_of(a.target);
  if (is_get(call.code))
    access.data.resize(bytes_of(access.result));
  else
    read(rank, blocks_of(a.origin), access.data);
  if (a.compared != 0) read(rank, Blocks{{a.compared, access.data.size()}}, access.compared);
  return number;
}

void LiveAccesses::reached(std::uint32_t contents) {
  Access& access = at(contents);
  std::vector<std::byte> before;
  const bool overwrites = access.operation == EXANET_LIVE_REPLACE && access.result.empty();
  if (!overwrites) read(access.target, access.there, before);
  if (!is_get(access.code)) {
    std::vector<std::byte> after = before;
    const std::size_t bytes = std::min(after.size(), access.data.size());
    if (access.code == EXANET_TRACE_Compare_and_swap)
      after = before == access.compared ? access.data : before;
    else if (overwrites)
      after = access.data;
    else
      live_combine(access.operation, access.type, after.data(), access.data.data(), bytes);
    write(access.target, access.there, after);
  }
  access.data = std::move(before);
}

void LiveAccesses::returned(std::uint32_t contents) {
  write(at(contents).origin, at(contents).result, at(contents).data);
  at(contents) = Access{};
  free_.push_back(contents);
}

void LiveAccesses::transferred(std::uint32_t contents) {
  if (is_put(at(contents).code)) at(contents).result.clear();
  returned(contents);
}

// -- calls ------------------------------------------------------------------------------------------------------------

std::string LiveWindows::make(const exanet_live_call& call) {
  Communicator* comm = communicators_.find(rank_, call.comm);
  if (comm == nullptr) return "a communicator that has not been made";
  std::vector<RankId> members;
  members.reserve(comm->ranks);
  for (std::uint32_t member = 0; member < comm->ranks; ++member) members.push_back(comm->world(member));
  const std::uint64_t window = std::uint64_t{comm->context} << 32 | comm->windows++;
  windows_.add(call.access->window, window, call.comm, std::move(members));
  barriers_[call.access->window] = {accesses_.number_of(window), 0};
  return {};
}

std::string LiveWindows::begin(const exanet_live_call& call, std::vector<std::uint32_t>& waited) {
  call_ = &call;
  began_ = !makes(call.code);
  record_ = record_of(call);
  if (!began_) return make(call);
  if (!windows_.has(record_.window)) return "a window that has not been made";
  if (is_access(call.code))
    windows_.before_access(record_, waited);
  else
    windows_.finish(record_, waited);
  return {};
}

void LiveWindows::access() {
  const exanet_live_access& a = *call_->access;
  const bool empty = call_->bytes == 0 && call_->receive_bytes == 0, own = a.peer == rank_;
  const bool transfer = !own && RankWindows::is_transfer(record_);
  const exanet_live_memory& mine = is_get(call_->code) ? a.result : a.origin;
  RankWindows::Contents contents{0, mine.address, a.target.address};
  if (!empty && (!transfer || mine.blocks != nullptr)) contents.number = accesses_.begin(rank_, *call_);
  if (transfer && contents.number != 0) contents.origin = accesses_.place(contents.number);
  activity_ = windows_.access(record_, contents);
  if (own && contents.number != 0) {
    accesses_.reached(contents.number);
    accesses_.returned(contents.number);
  } else if (transfer && contents.number != 0) {
    activities_.share(activity_);
    transfers_.push_back({activity_, contents.number});
  }
}

std::uint32_t LiveWindows::barrier() {
  const std::uint32_t number = windows_.communicator_of(record_.window);
  const Communicator& comm = *communicators_.find(rank_, number);
  Barriers& barriers = barriers_.at(record_.window);
  std::unique_ptr<Schedule> schedule = activities_.empty_schedule();
  if (comm.ranks > 1) plan_collective({Collective::barrier}, call_on(comm), {}, selection_rules("mpich"), *schedule);
  const std::uint64_t tag = kCollectiveTag | kWindowTag | barriers.window << 32 | (barriers.begun++ & 0xffffffffu);
  return activities_.collective(std::move(schedule), comm.members, tag, Time());
}

bool LiveWindows::over(std::vector<std::uint32_t>& waited) {
  const auto done = [&] {
    return std::all_of(waited.begin(), waited.end(), [this](std::uint32_t a) { return activities_.done(a); });
  };
  if (!done()) return false;
  if (!began_) return makes(call_->code) || is_access(call_->code) || heard();
  began_ = false;
  if (is_access(call_->code)) return access(), true;
  windows_.ask(record_, waited);
  if (call_->code == EXANET_TRACE_Win_fence || call_->code == EXANET_TRACE_Win_free) {
    waited.push_back(barrier());
    if (call_->code == EXANET_TRACE_Win_free) windows_.remove(record_.window);
  }
  return done() && heard();
}

void LiveWindows::take_results() {
  std::erase_if(transfers_, [this](const Transfer& transfer) {
    if (!activities_.done(transfer.activity)) return false;
    accesses_.transferred(transfer.contents);
    activities_.release(transfer.activity);
    return true;
  });
}

}  // namespace exanet
