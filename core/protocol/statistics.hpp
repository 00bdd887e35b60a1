// SPDX-License-Identifier: Apache-2.0
// Statistics that a run leaves behind: counts, histograms, a time line. All of constant size, whatever the run's
// length, but for the counts of pairs of ranks, one a pair that has met, and the list of messages, which stops at a
// limit and says so.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/protocol/host.hpp"
#include "core/units/histogram.hpp"
#include "core/units/time.hpp"

namespace exanet {

// Classes of messages by their size, the same in all tables: 0 and 1 B are class 0, above 2^(i-1) and up to 2^i B is
// class i.
constexpr std::size_t size_class(std::uint64_t bytes) {
  return bytes <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(bytes - 1));
}
constexpr std::uint64_t least_of_class(std::size_t i) { return i == 0 ? 0 : (std::uint64_t{1} << (i - 1)) + 1; }
constexpr std::uint64_t most_of_class(std::size_t i) { return std::uint64_t{1} << i; }

// Sums per rank and time bin. When the run outgrows the bins, neighbours are added together and the bins become twice
// as long.
class Timeline {
 public:
  static constexpr std::size_t kBins = 1024;
  explicit Timeline(std::size_t ranks) : ranks_(ranks), waits_(ranks * kBins), sent_(ranks * kBins) {}

  void add_wait(RankId rank, Time from, Time to) { add_wait(rank, from, to, to - from); }
  // Between these times the rank has waited for so long, nobody knows when: evenly.
  void add_wait(RankId rank, Time from, Time to, Time waited);
  void add_sent(RankId rank, Time at, std::uint64_t bytes);
  Time waited() const { return waited_; }  // by all ranks
  // Each wait, until there are kMostWaits. One of which only the length is known ends where it may have ended.
  struct Wait {
    RankId rank;
    Time from, to;
  };
  static constexpr std::size_t kMostWaits = 1 << 21;
  const std::vector<Wait>& each() const { return each_; }
  std::uint64_t dropped() const { return dropped_; }  // waits beyond these
  Time bin() const { return bin_; }
  std::size_t bins_used() const { return used_; }
  const std::vector<std::uint64_t>& waits_ps() const { return waits_; }
  const std::vector<std::uint64_t>& sent_bytes() const { return sent_; }

  template <typename V>
  friend void visit(Timeline& t, V&& v) {
    v("ranks", t.ranks_);
    v("used", t.used_);
    v("bin_ps", t.bin_);
    v("waited_ps", t.waited_);
    v("waits", t.waits_);
    v("sent", t.sent_);
    v("each", t.each_);
    v("dropped", t.dropped_);
  }

 private:
  std::size_t at(Time t);
  void fold();
  std::size_t ranks_, used_ = 0;
  Time bin_ = Time::ns(100), waited_;
  std::vector<std::uint64_t> waits_, sent_;  // [rank][bin]
  std::vector<Wait> each_;
  std::uint64_t dropped_ = 0;
};

struct Statistics {
  explicit Statistics(std::size_t ranks) : n(ranks), sent(ranks), received(ranks), timeline(ranks), rma(ranks) {}
  static constexpr std::size_t kMostMessages = 1 << 20;
  struct Count {
    std::uint64_t messages = 0, bytes = 0;
  };
  struct Sent : Count {
    RankId dst = 0;
  };

  void add(const MessageRecord& m);

  std::size_t n;
  // By source, of each destination that there was, in their order: atomics from the initiator, all else from where the
  // data come from.
  std::vector<std::vector<Sent>> sent;
  std::vector<Count> received;
  std::array<Count, 64> sizes{};  // by size_class()
  Histogram packet_latency, message_latency;
  Timeline timeline;
  std::vector<Count> rma;  // by initiator
  std::vector<MessageRecord> messages;
  Count total, dropped;

 private:
  Sent& sent_to(RankId src, RankId dst);
};

template <typename V>
void visit(Statistics& s, V&& v) {
  v("ranks", s.n);
  v("sent", s.sent);
  v("received", s.received);
  v("sizes", s.sizes);
  v("packet_latency", s.packet_latency);
  v("message_latency", s.message_latency);
  v("timeline", s.timeline);
  v("rma", s.rma);
  v("messages", s.messages);
  v("total", s.total);
  v("dropped", s.dropped);
}

}  // namespace exanet
