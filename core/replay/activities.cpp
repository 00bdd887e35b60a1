// SPDX-License-Identifier: Apache-2.0
// Activities of a rank of a replay: what it has begun and waits for.
//
// Problem: a rank has many messages and collectives under way, and a completion names only the one that it belongs to.
// Model: an activity counts what is outstanding; a collective posts its schedule stage by stage, each when the one
// before is complete; numbers of activities that nobody asks for any more are used again. Limits: messages to the rank
// itself are matched here, at no cost, in the order in which they were posted.
#include "core/replay/activities.hpp"

#include <algorithm>

namespace exanet {

std::uint32_t Activities::allocate() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(all_.size()));
    all_.emplace_back();
  }
  const std::uint32_t activity = free_.back();
  free_.pop_back();
  all_[activity] = Activity{};
  all_[activity].in_use = true;
  return activity;
}

std::uint32_t Activities::nothing() { return allocate(); }

std::vector<Activities::Own>::iterator Activities::find_own(std::vector<Own>& waiting, std::uint64_t tag,
                                                            std::uint64_t ignore) {
  return std::find_if(waiting.begin(), waiting.end(),
                      [tag, ignore](const Own& other) { return ((other.tag ^ tag) & ~(other.ignore | ignore)) == 0; });
}

bool Activities::match_own(std::vector<Own>& waiting, const Own& own) {
  const auto found = find_own(waiting, own.tag, own.ignore);
  if (found == waiting.end()) return false;
  const Own other = *found;
  waiting.erase(found);
  const bool sends = &waiting == &own_receives_;
  take_own(sends ? own : other, sends ? other : own);
  completed(other.activity);
  return true;
}

void Activities::take_own(const Own& sent, const Own& received) {
  const std::uint64_t bytes = sent.contents.bytes, space = received.contents.bytes;
  all_[received.activity].received = {rank_, sent.tag, bytes, space, bytes > space, false};
  if (sent.contents.address == 0 || received.contents.address == 0) return;
  library_.move(rank_, sent.contents.address, received.contents.address,
                std::min(sent.contents.bytes, received.contents.bytes));
}

std::uint32_t Activities::send(RankId to, std::uint64_t tag, std::uint64_t bytes, bool synchronous,
                               std::uint64_t address) {
  const std::uint32_t activity = allocate();
  Activity& a = all_[activity];
  to += first_;
  if (to == rank_) {
    a.outstanding = 1;
    const Own own{tag, 0, activity, {address, bytes}};
    if (match_own(own_receives_, own))
      all_[activity].outstanding = 0;
    else
      own_sends_.push_back(own);
    return activity;
  }
  if (synchronous) {
    library_.receive(rank_, to, kAcknowledgementTag | activity, 0, activity);
    ++a.outstanding;
  }
  a.outstanding += !library_.send(rank_, to, tag, bytes, synchronous ? kSynchronous | activity : 0, activity, address);
  return activity;
}

std::uint32_t Activities::receive(RankId from, std::uint64_t tag, std::uint64_t ignore, Library::Space space) {
  const std::uint32_t activity = allocate();
  if (from != kAnyRank) from += first_;
  all_[activity].outstanding = 1;
  all_[activity].received.space = space.bytes;
  const Own own{tag, ignore, activity, space};
  if ((from == rank_ || from == kAnyRank) && match_own(own_sends_, own))
    all_[activity].outstanding = 0;
  else if (from == rank_)
    own_receives_.push_back(own);
  else
    library_.receive(rank_, from, tag, ignore, activity, space);
  return activity;
}

// One to the rank itself is found at once, and where there can be no other it is not asked for on the network.
bool Activities::answer_own(RankId from, std::uint64_t tag, std::uint64_t ignore, std::optional<std::uint32_t> claims) {
  if (from != rank_ && from != kAnyRank) return false;
  const auto found = find_own(own_sends_, tag, ignore);
  if (found == own_sends_.end()) {
    if (from == rank_) answer_ = {Arrival::Kind::missed};
    return from == rank_;
  }
  answer_ = {Arrival::Kind::probed, {.from = rank_, .tag = found->tag, .bytes = found->contents.bytes}};
  if (claims) {
    own_claimed_.emplace_back(*claims, *found);
    own_sends_.erase(found);
  }
  return true;
}

void Activities::probe(RankId from, std::uint64_t tag, std::uint64_t ignore) {
  if (from != kAnyRank) from += first_;
  if (!answer_own(from, tag, ignore, std::nullopt)) library_.probe(rank_, from, tag, ignore, kProbe);
}

std::uint32_t Activities::claim(RankId from, std::uint64_t tag, std::uint64_t ignore) {
  const std::uint32_t activity = allocate();
  if (from != kAnyRank) from += first_;
  if (!answer_own(from, tag, ignore, activity)) library_.claim(rank_, from, tag, ignore, activity);
  return activity;
}

void Activities::take(std::uint32_t activity, Library::Space space) {
  const auto own =
      std::find_if(own_claimed_.begin(), own_claimed_.end(), [activity](const auto& c) { return c.first == activity; });
  if (own == own_claimed_.end()) {
    all_[activity].outstanding = 1;
    all_[activity].received.space = space.bytes;
    return library_.receive_claimed(rank_, activity, space);
  }
  const Own sent = own->second;
  own_claimed_.erase(own);
  take_own(sent, {sent.tag, 0, activity, space});
  completed(sent.activity);
}

void Activities::cancel(std::uint32_t activity) {
  const auto own = std::find_if(own_receives_.begin(), own_receives_.end(),
                                [activity](const Own& waiting) { return waiting.activity == activity; });
  if (own == own_receives_.end()) return library_.cancel(rank_, activity);
  own_receives_.erase(own);
  all_[activity].received.cancelled = true;
  completed(activity);
}

std::uint32_t Activities::put(RankId to, std::uint64_t bytes, std::uint64_t address, std::uint64_t remote) {
  const std::uint32_t activity = allocate();
  all_[activity].outstanding = 1;
  library_.put(rank_, first_ + to, bytes, activity, {address, remote});
  return activity;
}

std::uint32_t Activities::get(RankId from, std::uint64_t bytes, std::uint64_t address, std::uint64_t remote) {
  const std::uint32_t activity = allocate();
  all_[activity].outstanding = 1;
  library_.get(rank_, first_ + from, bytes, activity, {address, remote});
  return activity;
}

void Activities::send_active(std::uint32_t activity, RankId to, std::uint64_t bytes, std::uint64_t data,
                             std::uint32_t answers) {
  all_[activity].one_sided = true;
  all_[activity].outstanding += answers;
  all_[activity].outstanding += !library_.send_active(rank_, first_ + to, bytes, data, activity);
}

void Activities::fetch_active(RankId from, std::uint64_t bytes, std::uint64_t data) {
  library_.get(rank_, first_ + from, bytes, kFetched | data, {});
}

void Activities::on_active(std::function<void(RankId, std::uint64_t)> handler) {
  on_active_ = std::move(handler);
  library_.open_memory(rank_);
  library_.receive_active(rank_, kActiveMessage);
}

std::uint32_t Activities::collective(std::unique_ptr<Schedule> schedule, const std::vector<std::uint64_t>* names,
                                     std::uint64_t tag, Time before_stage) {
  const std::uint32_t activity = allocate();
  Activity& a = all_[activity];
  a.schedule = std::move(schedule);
  a.names = names;
  a.tag = tag;
  a.before_stage = before_stage;
  post_stage(activity);
  return activity;
}

Time Activities::cost(const Schedule& schedule) const {
  Time all;
  bool waits = false;
  for (const ScheduledMessage& m : schedule.messages()) {
    if (m.sends) all += library_.send_cost(rank_, m.peer, m.bytes);
    waits = waits || !m.sends || !library_.is_eager(m.bytes);
    if (m.ends_stage && waits) break;
  }
  return all;
}

void Activities::abandon(std::uint32_t activity) {
  Activity& a = all_[activity];
  if (!a.schedule) return;
  a.schedule->clear();
  schedules_.push_back(std::move(a.schedule));
}

void Activities::on_notice(std::function<void(std::uint64_t)> handler) {
  on_notice_ = std::move(handler);
  library_.receive(rank_, kAnyRank, kNoticeTag, 0, kNotice);
}

void Activities::send_notice(RankId to, std::uint64_t bytes, std::uint64_t data) {
  library_.send(rank_, first_ + to, kNoticeTag, bytes, data, kNotice);
}

// Posts messages up to the end of a stage that does not complete at once.
void Activities::post_stage(std::uint32_t activity) {
  Activity& a = all_[activity];
  const auto& messages = a.schedule->messages();
  while (a.outstanding == 0) {
    bool ends = false;
    if (a.next < messages.size()) library_.clock(rank_) += a.before_stage;
    while (a.next < messages.size() && !ends) {
      const ScheduledMessage& m = messages[a.next++];
      const RankId peer = m.to_group()         ? kGroup | m.peer
                          : a.names == nullptr ? first_ + m.peer
                                               : first_ + static_cast<RankId>((*a.names)[m.peer]);
      if (m.reduces)
        library_.reduce(rank_, m.peer, m.bytes, activity), ++a.outstanding;
      else if (!m.sends)
        library_.receive(rank_, peer, a.tag, 0, activity), ++a.outstanding;
      else
        a.outstanding += !library_.send(rank_, peer, a.tag, m.bytes, 0, activity);
      ends = m.ends_stage;
    }
    if (!ends) break;
  }
  if (a.outstanding > 0 || a.next < messages.size()) return;
  a.schedule->clear();
  schedules_.push_back(std::move(a.schedule));
}

void Activities::completed(std::uint32_t activity) {
  Activity& a = all_[activity];
  --a.outstanding;
  if (a.schedule && a.received.failed != 0) abandon(activity);
  if (a.outstanding > 0) return;
  if (a.schedule)
    advanced_.push_back(activity);
  else if (a.watched)
    ended_.push_back(activity);
  else if (a.released)
    a.in_use = false, free_.push_back(activity);
}

void Activities::release(std::uint32_t activity) {
  Activity& a = all_[activity];
  if (a.shared > 0) {
    --a.shared;
    return;
  }
  a.released = true;
  if (done(activity) && a.in_use) a.in_use = false, free_.push_back(activity);
}

// One that has been lost is as none.
void Activities::notice(const Arrival& arrival) {
  if (arrival.kind != Arrival::Kind::received) return;
  library_.receive(rank_, kAnyRank, kNoticeTag, 0, kNotice);
  if (arrival.failed == 0) on_notice_(arrival.data);
}

void Activities::arrived(const Arrival& arrival) {
  if (arrival.kind == Arrival::Kind::probed || arrival.kind == Arrival::Kind::missed) {
    answer_ = {arrival.kind,
               {.from = arrival.peer, .tag = arrival.tag, .bytes = arrival.length, .failed = arrival.failed}};
    return;
  }
  if (arrival.cookie == kNotice) return notice(arrival);
  const bool fetched = (arrival.cookie & kFetched) != 0 || arrival.cookie == kActiveMessage;
  if (arrival.failed != 0 && (fetched || all_[static_cast<std::uint32_t>(arrival.cookie)].one_sided))
    return library_.end_with(arrival.failed);
  if ((arrival.cookie & kFetched) != 0) return on_active_(arrival.peer - first_, arrival.cookie & ~kFetched);
  if (arrival.cookie == kActiveMessage) return on_active_(arrival.peer - first_, arrival.data);
  if (arrival.kind == Arrival::Kind::received && (arrival.data & kSynchronous) != 0)
    library_.send(rank_, arrival.peer, kAcknowledgementTag | (arrival.data & ~kSynchronous), 0, 0, 0);
  if (arrival.kind == Arrival::Kind::received && (arrival.tag & kAcknowledgementTag) == 0) {
    Received& taken = all_[static_cast<std::uint32_t>(arrival.cookie)].received;
    const std::uint32_t failed = taken.failed;
    taken = {arrival.peer, arrival.tag, arrival.length, taken.space, arrival.truncated, arrival.cancelled, failed};
  }
  if (arrival.failed != 0) all_[static_cast<std::uint32_t>(arrival.cookie)].received.failed = arrival.failed;
  completed(static_cast<std::uint32_t>(arrival.cookie));
}

bool Activities::progress() {
  Arrival arrival;
  bool any = false;
  while (library_.poll(rank_, arrival)) {
    arrived(arrival);
    any = true;
  }
  for (std::size_t i = 0; i < advanced_.size(); ++i) {
    const std::uint32_t activity = advanced_[i];
    if (all_[activity].schedule) post_stage(activity);
    if (done(activity) && all_[activity].released) release(activity);
  }
  advanced_.clear();
  return any;
}

std::unique_ptr<Schedule> Activities::empty_schedule() {
  if (schedules_.empty()) return std::make_unique<Schedule>();
  std::unique_ptr<Schedule> schedule = std::move(schedules_.back());
  schedules_.pop_back();
  return schedule;
}

}  // namespace exanet
