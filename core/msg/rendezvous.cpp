// SPDX-License-Identifier: Apache-2.0
// The steps of a rendezvous that need the receiver's processor: starting the RDMA read of a matched message, and, once the data are there,
// acknowledging to the sender and completing the receive.
#include <algorithm>

#include "core/msg/engine.hpp"

namespace exanet {

void MessageEngine::enqueue_work(RankId rank, std::uint32_t op, Time at) {
  Rank& r = ranks_[rank];
  r.pending.push_back(Work{op, at});
  if (instant_) events_.schedule(events_.now(), on_progress_, rank);
  else if (r.polling) events_.schedule(max(max(events_.now(), at), r.clock), on_progress_, rank);
}

void MessageEngine::asleep(RankId rank, Time clock) {
  Rank& r = ranks_[rank];
  r.polling = true;
  r.clock = clock;
  for (const Work& work : r.pending) events_.schedule(max(max(events_.now(), work.time), clock), on_progress_, rank);
}

void MessageEngine::progress(RankId rank, Time now) {
  Rank& r = ranks_[rank];
  if (!r.polling && !instant_) return;
  std::vector<Work> due;
  const Time until = max(now, r.clock);
  const auto later = std::stable_partition(r.pending.begin(), r.pending.end(),
                                           [&](const Work& w) { return instant_ || w.time <= until; });
  due.assign(r.pending.begin(), later);
  r.pending.erase(r.pending.begin(), later);
  for (const Work& work : due) run_work(rank, work);
}

void MessageEngine::run_work(RankId rank, Work work) {
  Rank& r = ranks_[rank];
  Op& m = *ops_[work.op];
  const Time start = max(max(work.time, r.clock), r.busy_until);
  Time cost = config_.mailbox_read + config_.library_receive;
  if (m.stage == Stage::matched) {
    cost += rdma_cpu();
    m.stage = Stage::read_request;
  } else {
    cost += config_.library_send + config_.store_word * ((config_.envelope_bytes + 15) / 16);
    m.stage = Stage::final_ack;
  }
  if (instant_) cost = Time();
  else r.busy_until = start + cost;
  const Time done = instant_ ? events_.now() : start + cost;
  if (m.stage == Stage::final_ack && m.match != kNone) finish_receive(work.op, done);
  const Time offered = m.stage == Stage::final_ack && !instant_ ? done + config_.packetizer : done;
  events_.schedule(max(events_.now(), offered), on_step_, work.op);
}

void MessageEngine::fetched(std::uint32_t id, Time now) { enqueue_work(ops_[id]->c.peer.rank, id, now); }

bool MessageEngine::copy(RankId from, std::uint64_t from_addr, RankId to, std::uint64_t to_addr, std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 256 * 1024;  // fits the second-level cache: read and written back warm
  if (bounce_.empty()) bounce_.resize(kPiece);
  for (std::uint64_t at = 0; at < bytes; at += kPiece) {
    const std::uint64_t n = std::min(kPiece, bytes - at);
    if (!host_.read(from, from_addr + at, bounce_.data(), n) || !host_.write(to, to_addr + at, bounce_.data(), n)) return false;
  }
  return true;
}

}  // namespace exanet
