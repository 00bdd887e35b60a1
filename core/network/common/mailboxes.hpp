// SPDX-License-Identifier: Apache-2.0
// Mail between the partitions of a network. Each partition runs on a thread of its own for a window of virtual time and
// touches nothing of another's; what crosses a border takes a link's latency, so that mail of this window is early
// enough in the next one.
//
// There are two sets of boxes: one is filled in a window while what was filled in the window before is read, so no box
// is ever shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/time.hpp"

namespace exanet {

// A partition's outgoing mail. Contract of `Mail`: clear() empties it.
template <typename Mail>
class Mailboxes {
 public:
  explicit Mailboxes(std::size_t partitions) : boxes_{std::vector<Mail>(partitions), std::vector<Mail>(partitions)} {}

  // The box of this window for a partition. `at`: when what is put there matters to it at the earliest.
  Mail& to(std::size_t partition, Time at) {
    earliest_ = min(earliest_, at);
    return boxes_[sending_][partition];
  }
  void matters_at(Time at) { earliest_ = min(earliest_, at); }
  Time earliest() const { return earliest_; }  // at which mail of this window matters

  // Hands take(Mail&) what each of `parts`, whose mailboxes are their mail_, has sent to the partition `number` in the
  // window before, and begins the next window. From whom it comes first does not matter: each link is a buffer of its
  // own.
  template <typename Parts, typename Take>
  void collect(const Parts& parts, std::size_t number, Take take) {
    for (const auto& other : parts) {
      Mail& mail = other->mail_.boxes_[sending_][number];
      take(mail);
      mail.clear();
    }
    sending_ ^= 1;
    earliest_ = Time::never();
  }

  template <typename Visit>
  void each(Visit visit) const {
    for (const std::vector<Mail>& set : boxes_)
      for (const Mail& mail : set) visit(mail);
  }

 private:
  std::vector<Mail> boxes_[2];  // to each partition
  unsigned sending_ = 0;  // which of the two is being filled
  Time earliest_ = Time::never();
};

// The partition of a node; `part_of` is empty when there is one.
inline std::uint8_t partition_of(const std::vector<std::uint8_t>& part_of, std::size_t node) {
  return node < part_of.size() ? part_of[node] : 0;
}

}  // namespace exanet
