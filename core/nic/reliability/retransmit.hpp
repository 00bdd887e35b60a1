// SPDX-License-Identifier: Apache-2.0
// The retransmission scan: slots that wait for an answer, in the order in which the scan is to look at them.
//
// Problem: hardware looks at its slots in turn, for ever, and almost always finds nothing due. Model: what is sent is
// entered with the place in the scan at which its timeout has run out, and only these are looked at. Nothing is taken
// out before its turn: who looks at an entry finds by `sent` whether the slot is still what it was when the entry was
// made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace exanet {

class RetransmissionScan {
 public:
  struct Entry {
    std::int64_t at;  // place in the scan: a cycle, or the number of a look
    std::uint32_t slot;
    std::int64_t sent;  // which sending of the slot it is for
  };

  bool empty() const { return heap_.empty(); }
  const Entry& first() const { return heap_.front(); }
  void add(const Entry& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Entry take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    return entry;
  }
  // Gives the entries that `moves` another place, which place(entry) says.
  template <typename Moves, typename Place>
  void move(Moves moves, Place place) {
    for (Entry& entry : heap_)
      if (moves(entry)) entry.at = place(entry);
    std::make_heap(heap_.begin(), heap_.end(), later);
  }

 private:
  static bool later(const Entry& a, const Entry& b) { return a.at > b.at; }
  std::vector<Entry> heap_;
};

}  // namespace exanet
