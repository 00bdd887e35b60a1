// SPDX-License-Identifier: Apache-2.0
// The control words that one end of a link sends, to the cycle of gateware/link/rtl/link_tx.sv.
//
// Problem: a link repeats its control words for ever, and awareness depends on the cycle at which the next one leaves.
//
// Model: the register of the line takes each control word in a cycle; a word carries one report in turn, or health out
// of turn when that has changed. An idle link is not simulated: its repetitions are counted when somebody asks. `news`,
// `early` and `told_health` are the registers of these names in link_tx.sv.
//
// Limits: lines of 64 bits without pauses. Packets are those of diagnosis alone, a header and a footer.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>

namespace exanet::lofamo {

using Cycle = std::int64_t;
inline constexpr Cycle kNever = std::numeric_limits<Cycle>::max() / 4;

class ControlWords {
 public:
  // `sent`: cycle in which the register took the last control word; `report`: the next report in turn, 0 is health.
  ControlWords(Cycle interval, Cycle sent, unsigned report)
      : interval_(interval == 0 ? 65'535 : interval), sent_(sent), previous_(sent), free_(sent + 1), report_(report) {}

  // Contract of all three: cycles of a kind never go back, and none lies before what advance() has settled.
  // The header of a packet is at the link's port in this cycle. Returns that in which its Start is taken.
  Cycle add_packet(Cycle header) {
    packets_.push_back(header);
    return start_ = (header + 1 > start_ + kPacketCycles - 1 ? header + 1 : start_ + kPacketCycles - 1) + 1;
  }
  // Space for a packet comes back in this cycle.
  void add_credit(Cycle back) { credits_.push_back(back); }
  // From this cycle on the node's health is this.
  void set_health(Cycle from, unsigned health) { changes_.push_back({from, health}); }

  // Settles what begins before cycle `until`. Calls on_health(cycle, health) for each word that reports changed health.
  template <typename OnHealth>
  void advance(Cycle until, OnHealth on_health) {
    for (;;) {
      if (health_ == told_health_) count_repetitions(idle_until(until));
      const Cycle words = control_begins();
      const bool packet = !packets_.empty() && packets_.front() <= words;
      const Cycle begins = packet ? (packets_.front() + 1 > free_ ? packets_.front() + 1 : free_) : words;
      if (begins >= until) return;
      if (packet) packets_.pop_front();
      send_word(begins + 1, on_health);
      free_ = sent_ + (packet ? kPacketCycles - 1 : 1);
    }
  }

  // The last control word that was taken before this cycle, which is not long before what is settled.
  Cycle last_before(Cycle cycle) const { return sent_ < cycle ? sent_ : previous_; }
  bool settled() const { return changes_.empty() && health_ == told_health_; }

 private:
  static constexpr Cycle kPacketCycles = 6;  // Magic, Start, header and footer of two words each
  static constexpr unsigned kReports = 5;

  struct Change {
    Cycle from;
    unsigned health;
  };

  // Where the first thing that is known to come could matter.
  Cycle idle_until(Cycle until) const {
    Cycle first = until + 2;
    if (!packets_.empty()) first = packets_.front() < first ? packets_.front() : first;
    if (!credits_.empty()) first = credits_.front() < first ? credits_.front() : first;
    if (!changes_.empty()) first = changes_.front().from < first ? changes_.front().from : first;
    return first - 2;
  }
  // Counts the repetitions that begin before `until`, up to which the link is idle.
  void count_repetitions(Cycle until) {
    const Cycle first = sent_ + 1 + interval_, period = interval_ + 2;
    if (first >= until) return;
    const Cycle more = (until - 1 - first) / period;
    previous_ = more > 0 ? first + 1 + (more - 1) * period : sent_;
    sent_ = first + 1 + more * period;
    report_ = static_cast<unsigned>((report_ + 1 + more) % kReports);
    free_ = sent_ + 1;
    early_ = false;
  }

  // When a control word without a packet begins, but for packets.
  Cycle control_begins() const {
    Cycle due = kNever, repeats = sent_ + 1 + interval_;
    if (!credits_.empty()) due = credits_.front() + 1;
    if (health_ != told_health_)
      repeats = repeats < news_from_ ? repeats : news_from_;
    else if (!changes_.empty() && changes_.front().from + 1 < repeats)
      repeats = changes_.front().from + 1;
    if (due < free_) due = free_;
    if (repeats < free_) repeats = free_;
    for (const Cycle back : credits_) repeats += repeats == back;
    return due < repeats ? due : repeats;
  }

  template <typename OnHealth>
  void send_word(Cycle cycle, OnHealth on_health) {
    // A change in this very cycle is reported if this is a word of health, but does not count as news yet.
    bool news = health_ != told_health_;
    while (!changes_.empty() && changes_.front().from <= cycle) {
      if (changes_.front().from < cycle && !news && changes_.front().health != told_health_) news = true;
      if (health_ == told_health_) news_from_ = changes_.front().from + 1;
      health_ = changes_.front().health;
      changes_.pop_front();
    }
    const bool early = news && !early_;
    if (early || report_ == 0) {
      if (health_ != told_health_) on_health(cycle, health_);
      told_health_ = health_;
    }
    if (!early) report_ = (report_ + 1) % kReports;
    early_ = early;
    while (!credits_.empty() && credits_.front() < cycle) credits_.pop_front();
    previous_ = sent_;
    sent_ = cycle;
  }

  Cycle interval_, sent_, previous_;
  Cycle free_;  // the first cycle in which something may begin
  Cycle start_ = -kNever;  // the last packet's
  Cycle news_from_ = kNever;
  unsigned report_, health_ = 0, told_health_ = 0;
  bool early_ = false;
  std::deque<Cycle> packets_, credits_;
  std::deque<Change> changes_;
};

}  // namespace exanet::lofamo
