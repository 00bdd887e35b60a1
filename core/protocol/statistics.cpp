// SPDX-License-Identifier: Apache-2.0
#include "core/protocol/statistics.hpp"

#include <algorithm>

namespace exanet {

void Timeline::fold() {
  for (auto* table : {&waits_, &sent_}) {
    for (std::size_t r = 0; r < ranks_; ++r) {
      std::uint64_t* row = table->data() + r * kBins;
      for (std::size_t i = 0; i < kBins / 2; ++i) row[i] = row[2 * i] + row[2 * i + 1];
      std::fill(row + kBins / 2, row + kBins, 0);
    }
  }
  bin_ = bin_ * 2;
  used_ = (used_ + 1) / 2;
}

std::size_t Timeline::at(Time t) {
  while (t.ps() / bin_.ps() >= static_cast<std::int64_t>(kBins)) fold();
  const std::size_t i = static_cast<std::size_t>(t.ps() / bin_.ps());
  used_ = std::max(used_, i + 1);
  return i;
}

void Timeline::add_wait(RankId rank, Time from, Time to, Time waited) {
  if (waited <= Time() || to <= from) return;
  waited_ += waited;
  if (each_.size() < kMostWaits)
    each_.push_back({rank, to - min(waited, to - from), to});
  else
    ++dropped_;
  at(to);  // folds first, so that the bins below stay valid
  std::uint64_t* row = waits_.data() + rank * kBins;
  for (std::size_t i = at(from); from < to; ++i) {
    const Time end = min(to, bin_ * static_cast<std::int64_t>(i + 1));
    const __int128 in_bin = static_cast<__int128>(waited.ps()) * (end - from).ps() / (to - from).ps();
    const Time part = Time::ps(static_cast<std::int64_t>(in_bin));
    row[i] += static_cast<std::uint64_t>(part.ps());
    waited = waited - part;
    from = end;
  }
}

void Timeline::add_sent(RankId rank, Time when, std::uint64_t bytes) {
  const std::size_t i = at(when);
  sent_[rank * kBins + i] += bytes;
}

Statistics::Sent& Statistics::sent_to(RankId src, RankId dst) {
  std::vector<Sent>& row = sent[src];
  const auto place = std::lower_bound(row.begin(), row.end(), dst, [](const Sent& s, RankId to) { return s.dst < to; });
  if (place != row.end() && place->dst == dst) return *place;
  return *row.insert(place, {{}, dst});
}

void Statistics::add(const MessageRecord& m) {
  Sent& pair = sent_to(m.src, m.dst);
  ++pair.messages;
  pair.bytes += m.bytes;
  ++total.messages;
  total.bytes += m.bytes;
  ++received[m.dst].messages;
  received[m.dst].bytes += m.bytes;
  if (m.protocol >= Protocol::put) {
    Count& begun = rma[m.protocol == Protocol::get ? m.dst : m.src];
    ++begun.messages;
    begun.bytes += m.bytes;
  }
  Count& size = sizes[size_class(m.bytes)];
  ++size.messages;
  size.bytes += m.bytes;
  message_latency.add((m.delivered - m.posted).ps());
  timeline.add_sent(m.src, m.posted, m.bytes);
  if (messages.size() < kMostMessages)
    messages.push_back(m);
  else
    ++dropped.messages;
}

}  // namespace exanet
