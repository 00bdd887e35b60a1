// SPDX-License-Identifier: Apache-2.0
// One-sided calls of a rank of a replay, as the messages that MPICH makes of them.
//
// Problem: a put or an accumulate is one call here, and several messages with answers between there. Model: accesses
// are activities; locks, unlocks and exposures are active messages, which the target answers when it is in MPI; a
// synchronisation waits for what the rules of MPI say. Limits: lengths of headers are those seen in runs (windows.hpp).
#include "core/replay/windows.hpp"

#include <algorithm>

namespace exanet {

namespace {

using Kind = ActiveMessages::Kind;

// Bytes of active messages, as `exanet run` shows them under MPICH: words alone, headers before data, a description of
// memory in several pieces, where something is to be fetched, and the longest.
constexpr std::uint64_t kAskBytes = 40, kAnswerBytes = 32, kReadyBytes = 48, kAccessBytes = 96, kGetBytes = 88,
                        kGotBytes = 40, kSwapBytes = 64, kDescriptionBytes = 336, kFetchBytes = 48,
                        kLongestBytes = 16384;

bool is_get(std::uint8_t code) { return code == EXANET_TRACE_Get || code == EXANET_TRACE_Rget; }
bool is_put(std::uint8_t code) { return code == EXANET_TRACE_Put || code == EXANET_TRACE_Rput; }

}  // namespace

std::uint64_t ActiveMessages::put(const Words& words) {
  if (free_.empty()) {
    free_.push_back(all_.size());
    all_.emplace_back();
  }
  const std::uint64_t number = free_.back();
  free_.pop_back();
  all_[number] = words;
  return number;
}

ActiveMessages::Words ActiveMessages::take(std::uint64_t number) {
  free_.push_back(number);
  return all_[number];
}

void RankWindows::add(std::uint32_t number, std::uint64_t window, std::uint32_t comm, std::vector<RankId> members) {
  if (!listening_) activities_.on_active([this](RankId from, std::uint64_t data) { arrived(from, data); });
  listening_ = true;
  Window& made = windows_[number] = Window{};
  made.window = window;
  made.comm = comm;
  made.members = std::move(members);
}

void RankWindows::remove(std::uint32_t number) {
  targets_.erase(windows_.at(number).window);
  windows_.erase(number);
}

void RankWindows::post(std::uint32_t activity, RankId to, std::uint64_t header, std::uint64_t data,
                       ActiveMessages::Words words, std::uint32_t answers) {
  const bool fetched = header + data > kLongestBytes;
  if (fetched) {
    words.fetch_bytes = data;
    words.fetched = activity;
  }
  activities_.send_active(activity, to, header + (fetched ? kFetchBytes : data), words_.put(words),
                          answers + (fetched ? 1 : 0));
}

// A lock of the rank's own memory, or its end: no message is needed.
std::uint32_t RankWindows::ask_own(Kind kind, const Window& window) {
  const std::uint32_t activity = activities_.nothing();
  Target& target = targets_[window.window];
  if (kind == Kind::unlock) {
    target.holders -= target.holders > 0;
  } else {
    activities_.expect(activity);
    ActiveMessages::Words words;
    words.kind = kind;
    words.activity = activity;
    target.waiting.emplace_back(rank_, words);
  }
  grant(target);
  return activity;
}

// A word that is answered by one.
std::uint32_t RankWindows::ask(Kind kind, const Window& window, RankId to) {
  if (to == rank_) return ask_own(kind, window);
  const std::uint32_t activity = activities_.nothing();
  ActiveMessages::Words words;
  words.kind = kind;
  words.window = window.window;
  words.activity = activity;
  post(activity, to, kAskBytes, 0, words, 1);
  return activity;
}

// A message that is not answered.
void RankWindows::send(RankId to, std::uint64_t header, std::uint64_t data, const ActiveMessages::Words& words) {
  const std::uint32_t activity = activities_.nothing();
  post(activity, to, header, data, words, 0);
  activities_.release(activity);
}

bool RankWindows::is_transfer(const TraceRecord& call) {
  return (is_put(call.code) || is_get(call.code)) && (call.flags & EXANET_TRACE_CONTIGUOUS) != 0;
}

void RankWindows::before_access(const TraceRecord& call, std::vector<std::uint32_t>& waited) {
  if (is_transfer(call) || call.message.peer == rank_) return;
  std::erase_if(windows_.at(call.window).accesses, [&waited](const Access& access) {
    if (access.is_transfer) waited.push_back(access.activity);
    return access.is_transfer;
  });
}

std::uint32_t RankWindows::access(const TraceRecord& call, const Contents& contents) {
  Window& w = windows_.at(call.window);
  const RankId peer = call.message.peer;
  const bool whole = (call.flags & EXANET_TRACE_CONTIGUOUS) != 0, get = is_get(call.code);
  if (peer == rank_ || (call.send_bytes == 0 && call.receive_bytes == 0)) return activities_.nothing();
  const bool transfer = is_transfer(call);
  std::uint32_t activity = 0;
  if (transfer) {
    activity = get ? activities_.get(peer, call.receive_bytes, contents.origin, contents.target)
                   : activities_.put(peer, call.send_bytes, contents.origin, contents.target);
  } else {
    activity = activities_.nothing();
    ActiveMessages::Words words;
    words.kind = Kind::access;
    words.window = w.window;
    words.activity = activity;
    words.answer_bytes = call.receive_bytes;
    words.contents = contents.number;
    if (get) {
      words.answer_bytes += kGotBytes - kAnswerBytes;
      post(activity, peer, kGetBytes + kDescriptionBytes, 0, words, 1);
    } else if (!whole) {
      words.kind = Kind::description;
      words.data_bytes = call.send_bytes;
      post(activity, peer, kAccessBytes + kDescriptionBytes, 0, words, 1);
    } else if (call.code == EXANET_TRACE_Compare_and_swap) {
      post(activity, peer, kSwapBytes, 2 * call.send_bytes, words, 1);
    } else {
      post(activity, peer, kAccessBytes, call.send_bytes, words, 1);
    }
  }
  activities_.share(activity);
  if (w.accesses.size() >= w.look_at) {
    std::erase_if(w.accesses, [this](const Access& access) {
      const bool over = activities_.done(access.activity);
      if (over) activities_.release(access.activity);
      return over;
    });
    w.look_at = 2 * w.accesses.size() + 64;
  }
  w.accesses.push_back({peer, activity, transfer});
  return activity;
}

void RankWindows::finish(const TraceRecord& call, std::vector<std::uint32_t>& waited) {
  Window& w = windows_.at(call.window);
  switch (call.code) {
    case EXANET_TRACE_Win_lock:
    case EXANET_TRACE_Win_lock_all:
    case EXANET_TRACE_Win_start:
    case EXANET_TRACE_Win_post:
    case EXANET_TRACE_Win_wait:
    case EXANET_TRACE_Win_test: return;
    default: break;
  }
  const RankId peer = call.message.peer;
  std::erase_if(w.accesses, [&](const Access& access) {
    if (peer != kNoPeer && access.peer != peer) return false;
    waited.push_back(access.activity);
    return true;
  });
}

void RankWindows::ask(const TraceRecord& call, std::vector<std::uint32_t>& waited) {
  Window& w = windows_.at(call.window);
  const bool unchecked = (call.flags & EXANET_TRACE_UNCHECKED) != 0;
  const RankId peer = call.message.peer;
  const auto each = [&](Kind kind) {
    for (const RankId member : w.members) waited.push_back(ask(kind, w, member));
  };
  const auto one = [&](Kind kind) {
    if (peer != kNoPeer) waited.push_back(ask(kind, w, peer));
  };
  const auto said = [&w](Kind kind) {
    ActiveMessages::Words words;
    words.kind = kind;
    words.window = w.window;
    return words;
  };
  switch (call.code) {
    case EXANET_TRACE_Win_lock:
      if (!unchecked) one((call.flags & EXANET_TRACE_EXCLUSIVE) != 0 ? Kind::exclusive_lock : Kind::lock);
      return;
    case EXANET_TRACE_Win_unlock: return one(Kind::unlock);
    case EXANET_TRACE_Win_lock_all:
      if (!unchecked) each(Kind::lock);
      return;
    case EXANET_TRACE_Win_unlock_all: return each(Kind::unlock);
    case EXANET_TRACE_Win_post:
      w.exposed = call.first;
      for (const std::uint64_t to : call.first)
        if (to != rank_ && !unchecked) send(static_cast<RankId>(to), kAskBytes, 0, said(Kind::post));
      return;
    case EXANET_TRACE_Win_start: w.started = unchecked ? std::vector<std::uint64_t>{} : call.first; return;
    case EXANET_TRACE_Win_complete:
      for (const std::uint64_t to : w.started) {
        ++words_.completes(w.window, rank_, static_cast<RankId>(to));
        if (to != rank_) send(static_cast<RankId>(to), kAskBytes, 0, said(Kind::complete));
      }
      return;
    default: return;
  }
}

bool RankWindows::take_all(std::map<RankId, std::uint32_t>& come, const std::vector<std::uint64_t>& wanted) {
  const auto from = [&](std::uint64_t rank) { return static_cast<RankId>(rank); };
  for (const std::uint64_t rank : wanted)
    if (rank != rank_ && come[from(rank)] == 0) return false;
  for (const std::uint64_t rank : wanted)
    if (rank != rank_) --come[from(rank)];
  return true;
}

bool RankWindows::heard(const TraceRecord& call) {
  if (!has(call.window)) return true;  // it is being freed
  Window& w = windows_.at(call.window);
  Target& target = targets_[w.window];
  if (call.code == EXANET_TRACE_Win_start) return take_all(target.posts, w.started);
  const bool ends = call.code == EXANET_TRACE_Win_wait || call.code == EXANET_TRACE_Win_test;
  if (!ends || (call.flags & EXANET_TRACE_EMPTY) != 0) return true;
  if (!take_all(target.completes, w.exposed)) return false;
  for (const std::uint64_t from : w.exposed) --words_.completes(w.window, static_cast<RankId>(from), rank_);
  return true;
}

bool RankWindows::will_hear(const TraceRecord& call) const {
  const Window& w = windows_.at(call.window);
  return std::all_of(w.exposed.begin(), w.exposed.end(), [&](std::uint64_t from) {
    return words_.completes(w.window, static_cast<RankId>(from), rank_) > 0;
  });
}

void RankWindows::arrived(RankId from, std::uint64_t number) {
  ActiveMessages::Words words = words_.take(number);
  if (words.fetch_bytes > 0) {
    const std::uint64_t bytes = words.fetch_bytes;
    words.fetch_bytes = 0;
    words.was_fetched = true;
    return activities_.fetch_active(from, bytes, words_.put(words));
  }
  ActiveMessages::Words answer;
  answer.window = words.window;
  if (words.was_fetched) {
    answer.activity = words.fetched;
    send(from, kAnswerBytes, 0, answer);
  }
  answer.activity = words.activity;
  Target& target = targets_[words.window];
  switch (words.kind) {
    case Kind::answer:
      if (words.contents != 0) contents_->returned(words.contents);
      return activities_.answered(words.activity);
    case Kind::post: ++target.posts[from]; return;
    case Kind::complete: ++target.completes[from]; return;
    case Kind::lock:
    case Kind::exclusive_lock: target.waiting.emplace_back(from, words); return grant(target);
    case Kind::unlock:
      target.holders -= target.holders > 0;
      grant(target);
      return send(from, kAskBytes, 0, answer);
    case Kind::access:
      if (words.contents != 0) contents_->reached(words.contents);
      answer.contents = words.contents;
      return send(from, kAnswerBytes, words.answer_bytes, answer);
    case Kind::description: words.kind = Kind::ready; return send(from, kReadyBytes, 0, words);
    case Kind::ready:
      words.kind = Kind::access;
      return post(words.activity, from, kAnswerBytes, words.data_bytes, words, 0);
  }
}

void RankWindows::grant(Target& target) {
  while (!target.waiting.empty()) {
    const auto [from, words] = target.waiting.front();
    const bool exclusive = words.kind == Kind::exclusive_lock;
    if (target.holders > 0 && (exclusive || target.is_exclusive)) return;
    ++target.holders;
    target.is_exclusive = exclusive;
    target.waiting.pop_front();
    if (from == rank_) {
      activities_.answered(words.activity);
      continue;
    }
    ActiveMessages::Words answer;
    answer.activity = words.activity;
    send(from, kAskBytes, 0, answer);
  }
}

}  // namespace exanet
