// SPDX-License-Identifier: Apache-2.0
// Runs a graph of operations of one rank.
//
// Problem: a schedule says which operations of a rank require which, and no order of the others. Any order in which
// they are made to wait for each other can deadlock, or delay one chain by another. Model: an operation begins when all
// that it requires have ended (or begun). Messages go first: they take the processor for as long as posting them does.
// Computing has the one processor of the rank, in the order in which it became possible; after each computing the rank
// sees what has arrived meanwhile. Limits: the graph is in memory as a whole; an operation that computes is not
// interrupted by one that becomes possible.
//
// Source: Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language" (2009).
#include "core/replay/rank_graph.hpp"

#include <algorithm>

namespace exanet {

namespace {
constexpr std::uint32_t kAtOnce = 256;  // then the rank sleeps until the others have come to its clock
}  // namespace

std::string RankGraph::add(const TraceRecord& r, Time computes, std::uint32_t context) {
  const auto number = static_cast<std::uint32_t>(operations_.size());
  const bool message = r.code != EXANET_TRACE_OPERATION_COMPUTE;
  if (message && r.message.peer == kNoPeer) return "a message to or from no process";
  if (r.code == EXANET_TRACE_OPERATION_SEND && (r.message.peer == kAnyPeer || r.message.any_tag))
    return "a message to any process, or with any tag";
  Operation& o = operations_.emplace_back();
  o.code = r.code;
  o.any_tag = r.message.any_tag;
  o.peer = r.message.peer == kAnyPeer ? kAnyRank : r.message.peer;
  o.tag = std::uint64_t{context} << 32 | r.message.tag;
  o.bytes = r.message.bytes;
  o.computes = computes;
  o.missing = static_cast<std::uint32_t>(r.first.size() + r.second.size());
  for (const bool beside : {false, true}) {
    for (const std::uint64_t distance : beside ? r.second : r.first) {
      if (distance == 0 || distance > number) return "it requires an operation that does not stand before it";
      edges_.push_back({number - static_cast<std::uint32_t>(distance), number, beside});
    }
  }
  return "";
}

void RankGraph::prepare() {
  prepared_ = true;
  left_ = operations_.size();
  std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  first_edge_.assign(operations_.size() + 1, 0);
  for (const Edge& edge : edges_) ++first_edge_[edge.from + 1];
  for (std::size_t i = 1; i < first_edge_.size(); ++i) first_edge_[i] += first_edge_[i - 1];
  for (std::uint32_t i = 0; i < operations_.size(); ++i)
    if (operations_[i].missing == 0)
      (operations_[i].code == EXANET_TRACE_OPERATION_COMPUTE ? computes_ : messages_).push_back(i);
}

void RankGraph::satisfied(std::uint32_t operation, bool beside) {
  for (std::uint32_t i = first_edge_[operation]; i < first_edge_[operation + 1]; ++i) {
    if (edges_[i].beside != beside) continue;
    Operation& later = operations_[edges_[i].to];
    if (--later.missing == 0)
      (later.code == EXANET_TRACE_OPERATION_COMPUTE ? computes_ : messages_).push_back(edges_[i].to);
  }
}

void RankGraph::begin(std::uint32_t number) {
  Operation& o = operations_[number];
  o.state = State::begun;
  satisfied(number, true);
  library_.clock(rank_) += o.computes;
  if (o.code == EXANET_TRACE_OPERATION_COMPUTE) {
    if (o.computes > Time{})
      computing_ = number;
    else
      end(number);
    return;
  }
  const std::uint32_t activity = o.code == EXANET_TRACE_OPERATION_SEND
                                     ? activities_.send(o.peer, o.tag, o.bytes, false)
                                     : activities_.receive(o.peer, o.tag, o.any_tag ? 0xffffffffu : 0);
  if (activities_.done(activity)) {
    activities_.release(activity);
    return end(number);
  }
  if (of_activity_.size() <= activity) of_activity_.resize(activity + 1);
  of_activity_[activity] = number;
  activities_.watch(activity);
}

void RankGraph::end(std::uint32_t number) {
  operations_[number].state = State::ended;
  --left_;
  satisfied(number, false);
}

std::uint32_t RankGraph::next() {
  std::deque<std::uint32_t>& from = messages_.empty() ? computes_ : messages_;
  if (from.empty()) return kNone;
  const std::uint32_t number = from.front();
  from.pop_front();
  return number;
}

std::optional<Time> RankGraph::run() {
  if (!prepared_) prepare();
  for (std::uint32_t begun = 0; left_ > 0;) {
    activities_.progress();
    if (computing_ != kNone) end(std::exchange(computing_, kNone));
    activities_.take_ended(ended_);
    for (const std::uint32_t activity : ended_) {
      activities_.release(activity);
      end(of_activity_[activity]);
    }
    const std::uint32_t number = next();
    if (number == kNone && ended_.empty() && left_ > 0) return Time::never();
    if (number == kNone) continue;
    begin(number);
    if (computing_ != kNone || ++begun > kAtOnce) return library_.clock(rank_);
  }
  operations_.clear();
  edges_.clear();
  prepared_ = false;
  return {};
}

std::string RankGraph::where() const {
  const auto unfinished = [](State state) { return [state](const Operation& o) { return o.state == state; }; };
  auto found = std::find_if(operations_.begin(), operations_.end(), unfinished(State::begun));
  if (found == operations_.end())
    found = std::find_if(operations_.begin(), operations_.end(), unfinished(State::waits));
  if (found == operations_.end()) return "";
  std::string text = "operation " + std::to_string(found - operations_.begin() + 1);
  if (found->code == EXANET_TRACE_OPERATION_COMPUTE) return text + ", which computes";
  text += found->code == EXANET_TRACE_OPERATION_SEND ? ", a message to " : ", a message from ";
  text += found->peer == kAnyRank ? "any rank" : "rank " + std::to_string(found->peer);
  return found->any_tag ? text : text + " with tag " + std::to_string(found->tag & 0xffffffffu);
}

}  // namespace exanet
