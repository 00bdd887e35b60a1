// SPDX-License-Identifier: Apache-2.0
// Calls of collectives for tests, and their schedules carried out without a network: who has heard of whom at the end.
#pragma once

#include <algorithm>
#include <bitset>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/collectives/registry.hpp"

namespace exanet::testing {

// Sizes that differ by rank, some of them 0; the same pair has the same at both ends.
inline std::uint64_t size_between(std::uint32_t a, std::uint32_t b, std::uint64_t bytes) {
  return bytes * ((a + b) % 3);
}

inline CollectiveCall collective_call(const std::string& collective, std::uint32_t ranks, std::uint32_t me,
                                      std::uint32_t root, std::uint64_t bytes, std::uint64_t element_bytes = 4) {
  CollectiveCall c;
  c.ranks = ranks;
  c.me = me;
  c.root = root;
  c.bytes = bytes;
  c.element_bytes = element_bytes;
  const bool all = collective == "allgatherv" || collective == "reduce-scatter" || collective == "alltoallv";
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (collective == "alltoallv") c.sent.push_back(size_between(me, r, bytes));
    if (collective == "scatterv" && me == root) c.sent.push_back(size_between(r, 0, bytes));
    if (all || (collective == "gatherv" && me == root))
      c.received.push_back(size_between(r, collective == "alltoallv" ? me : 0, bytes));
  }
  if (collective == "gatherv" || collective == "scatterv") c.bytes = size_between(me, 0, bytes);
  return c;
}

using RankSet = std::bitset<64>;

struct CarriedOut {
  bool ends = false;  // no rank waits for ever, and no message is left over
  std::int64_t bytes = 0;  // sent
  std::vector<RankSet> heard;  // by rank: whose data it may have, its own among it
  std::vector<std::uint64_t> received;  // bytes, by rank
  bool adds_up = true;  // each message brought the data of other ranks than were there, or of those and more
};

// Carries out the schedules of all ranks. A message takes along what its sender had when its stage began; messages
// between two ranks keep their order. `synchronous`: a stage's sends are over once they have been received, else at
// once.
class Execution {
 public:
  Execution(const std::vector<Schedule>& schedules, bool synchronous)
      : schedules_(schedules), synchronous_(synchronous), ranks_(schedules.size()) {
    result_.received.resize(schedules.size());
    for (std::size_t r = 0; r < schedules.size(); ++r) {
      ranks_[r].taken.resize(schedules[r].messages().size());
      result_.heard.emplace_back().set(r);
    }
  }

  CarriedOut run() {
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) any = advance(r) || any;
    }
    result_.ends = under_way_ == 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      result_.ends = result_.ends && ranks_[r].at == schedules_[r].messages().size();
    return result_;
  }

 private:
  struct Message {
    RankSet heard;
    std::uint64_t bytes;
  };
  struct Rank {
    std::size_t at = 0, end = 0;  // of its messages: the stage; `end` is 0 before it begins
    std::uint32_t unreceived = 0;  // of the stage's sends
    std::vector<bool> taken;
  };

  void begin_stage(std::uint32_t r) {
    Rank& rank = ranks_[r];
    const auto& messages = schedules_[r].messages();
    rank.end = rank.at;
    while (rank.end < messages.size() && !messages[rank.end].ends_stage) ++rank.end;
    ++rank.end;
    const RankSet had = result_.heard[r];
    for (std::size_t i = rank.at; i < std::min(rank.end, messages.size()); ++i) {
      if (!messages[i].sends) continue;
      channels_[{r, messages[i].peer}].push_back({had, messages[i].bytes});
      result_.bytes += static_cast<std::int64_t>(messages[i].bytes);
      ++rank.unreceived;
      ++under_way_;
    }
  }

  // Whether anything has happened. A last stage without an end never ends.
  bool advance(std::uint32_t r) {
    Rank& rank = ranks_[r];
    const auto& messages = schedules_[r].messages();
    if (rank.at == messages.size()) return false;
    const bool begins = rank.end == 0;
    if (begins) begin_stage(r);
    bool any = begins, whole = rank.end <= messages.size();
    for (std::size_t i = rank.at; i < std::min(rank.end, messages.size()); ++i) {
      if (messages[i].sends || rank.taken[i]) continue;
      rank.taken[i] = take(messages[i].peer, r);
      any = any || rank.taken[i];
      whole = whole && rank.taken[i];
    }
    if (!whole || (synchronous_ && rank.unreceived > 0)) return any;
    rank.at = rank.end;
    rank.end = 0;
    return true;
  }

  bool take(std::uint32_t from, std::uint32_t to) {
    auto& channel = channels_[{from, to}];
    if (channel.empty()) return false;
    RankSet& had = result_.heard[to];
    const RankSet both = had & channel.front().heard;
    result_.adds_up = result_.adds_up && (both.none() || both == had);
    had |= channel.front().heard;
    result_.received[to] += channel.front().bytes;
    channel.pop_front();
    --ranks_[from].unreceived;
    --under_way_;
    return true;
  }

  const std::vector<Schedule>& schedules_;
  const bool synchronous_;
  std::vector<Rank> ranks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Message>> channels_;
  std::uint64_t under_way_ = 0;
  CarriedOut result_;
};

}  // namespace exanet::testing
