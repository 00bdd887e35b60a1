// SPDX-License-Identifier: Apache-2.0
// Completions of a rank that have not been handed to it, the earliest first, those of one time as they came.
//
// Problem: a rank that takes few completions at a time while thousands are due would have all of them sorted and moved
// each time.
//
// Model: a list whose beginning is in order and has been handed over up to a place. What has been added behind is put
// in order when the order is asked for; nearly all of it already is. The place moves on, and the list is cut when half
// of it is behind that. A record is thus moved a few times, however many wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/units/time.hpp"

namespace exanet {

template <typename Record>  // with a `time`
class CompletionQueue {
 public:
  bool empty() const { return first_ == records_.size(); }
  std::size_t size() const { return records_.size() - first_; }

  Record& add() { return records_.emplace_back(); }  // to be written before anything else is called

  // Contract: not empty.
  const Record& front() {
    order();
    return records_[first_];
  }

  // Hands over what is due by `horizon` until take(record) returns false; returns how much of it is left.
  template <typename Take>
  std::size_t take_until(Time horizon, const Take& take) {
    order();
    while (!empty() && records_[first_].time <= horizon && take(records_[first_])) ++first_;
    const auto begin = at(first_);
    const auto left = std::upper_bound(begin, records_.end(), horizon, kBefore) - begin;
    cut();
    return static_cast<std::size_t>(left);
  }

 private:
  static constexpr auto kBefore = [](Time time, const Record& record) { return time < record.time; };

  typename std::vector<Record>::iterator at(std::size_t index) {
    return records_.begin() + static_cast<std::ptrdiff_t>(index);
  }

  void order() {
    const auto follows = [this](std::size_t index) {
      return index == first_ || !(records_[index].time < records_[index - 1].time);
    };
    ordered_ = std::max(ordered_, first_);
    while (ordered_ < records_.size() && follows(ordered_)) ++ordered_;
    if (ordered_ == records_.size()) return;
    const auto added = at(ordered_);
    std::stable_sort(added, records_.end(), [](const Record& a, const Record& b) { return a.time < b.time; });
    std::inplace_merge(std::upper_bound(at(first_), added, added->time, kBefore), added, records_.end(),
                       [](const Record& a, const Record& b) { return a.time < b.time; });
    ordered_ = records_.size();
  }

  void cut() {
    if (first_ * 2 < records_.size() || first_ == 0) return;
    records_.erase(records_.begin(), at(first_));
    ordered_ -= first_;
    first_ = 0;
  }

  std::vector<Record> records_;
  std::size_t first_ = 0;  // that has not been handed over
  std::size_t ordered_ = 0;  // of records_, from the first one on
};

}  // namespace exanet
