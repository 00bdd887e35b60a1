// SPDX-License-Identifier: Apache-2.0
// Ends of transfers, one after the other: the message that stays behind a transfer is claimed, the word that reports
// the end is written where that is wanted and its page allows it, then the channel is free and the message is launched.
//
// What each of these waits for is known ahead most often, so an end takes one event; whether an invalidation of pages
// is under way is known in its own cycle alone. Limits: as of transfer_sender.hpp.
#include <algorithm>
#include <utility>

#include "core/nic/transfers/block_receiver.hpp"
#include "core/nic/transfers/transfer_sender.hpp"

namespace exanet {

void TransferSender::offer_ends(NodeId node, Node& n) {
  while (!n.ends.empty() && !n.offers) {
    const auto& end = n.ends.front();
    Cycle from = std::max(end.from, n.end_free);
    if (n.launches && n.launches->asked >= kLaunches) {
      const std::uint64_t before = n.launches->asked - kLaunches;
      if (before >= n.launches->read) return;
      from = std::max(from, n.launches->read_at[before % kLaunches] + 1);
    }
    const Cycle offered = from + 1;
    const TransferStore& store = n.channels[end.what.channel].store;
    if (store.message && !n.claims) {
      n.claims = true;
      launcher_.claim(launcher_.self, node, store, end.what.failure, offered);
    }
    if (store.notify && config_.translate) {
      if (!look_end_up(node, n, std::max(offered, pages_.open_from(node, Pages::kEnd)), store)) return;
    } else {
      n.offers = true;
      if (!end_known(node, n, offered)) return;
    }
  }
}

// False when it is not known yet whether the end may be written, or when it has been offered.
bool TransferSender::look_end_up(NodeId node, Node& n, Cycle cycle, const TransferStore& store) {
  if (cycle > now()) {
    // Whether an invalidation is under way is known in its own cycle.
    if (cycle != n.end_event) events_.schedule(time_of(cycle, config_.cycle), on_end_, node);
    n.end_event = cycle;
    return false;
  }
  if (pages_.held(node, Pages::kEnd)) return false;
  n.offers = n.end_looked = true;
  if (pages_.look(node, Pages::kEnd, store.domain, store.end_word >> 12)) return end_known(node, n, cycle + 1);
  pages_.walk(node, Pages::kEnd, cycle + 1);
  return false;
}

// Where the end goes is known in this cycle: it is offered, when its message has been claimed; true where it is not to
// be written, and the next one follows.
bool TransferSender::end_known(NodeId node, Node& n, Cycle cycle) {
  const TransferStore& store = n.channels[n.ends.front().what.channel].store;
  if (store.message) {
    if (n.claimed == kUnknown) {
      n.known = cycle;
      return false;
    }
    cycle = std::max(cycle, n.claimed);
  }
  if (store.notify && (!config_.translate || pages_.fault(node, Pages::kEnd) == TransferEnding::kWhole)) {
    written_->offer_end(node, cycle, n.found);
    return false;
  }
  n.offers = false;
  const bool looked = std::exchange(n.end_looked, false);
  if (looked) n.end_drained = cycle + 1;
  release_channel(node, n, cycle, false);
  if (looked) pages_.settle(node, Pages::kEnd);
  return true;
}

void TransferSender::claimed(NodeId node, bool found, Cycle at) {
  Node& n = nodes_[node];
  n.claimed = at + 2;
  n.found = found;
  if (n.known == kUnknown) return;
  if (end_known(node, n, std::exchange(n.known, kUnknown))) offer_ends(node, n);
}

void TransferSender::end_written(NodeId node, Cycle cycle) {
  Node& n = nodes_[node];
  n.offers = n.end_looked = false;
  n.end_drained = cycle + 1;
  release_channel(node, n, cycle, true);
  if (config_.translate) pages_.settle(node, Pages::kEnd);
  offer_ends(node, n);
}

void TransferSender::end_answered(NodeId node, Cycle cycle) {
  Launches& launches = *nodes_[node].launches;
  launches.answered.push_back(cycle);
  launch_next(node, launches);
  offer_ends(node, nodes_[node]);
}

void TransferSender::launched(NodeId node, Cycle at) {
  Node& n = nodes_[node];
  n.launches->launching = false;
  n.launches->free = at + 1;
  launch_next(node, *n.launches);
  offer_ends(node, n);
}

// It is read where it waits, and launched from the cycle behind.
void TransferSender::launch_next(NodeId node, Launches& launches) {
  if (launches.launching || launches.waiting.empty()) return;
  const auto [launch, from] = launches.waiting.front();
  Cycle cycle = std::max(from, launches.free);
  if (launch.written) {
    if (launches.answered.empty()) return;
    cycle = std::max(cycle, launches.answered.front() + 1);
    launches.answered.pop_front();
  }
  launches.waiting.pop_front();
  launches.read_at[launches.read++ % kLaunches] = cycle;
  launches.launching = true;
  launcher_.launch(launcher_.self, node, launch.slot, cycle + 1);
}

void TransferSender::release_channel(NodeId node, Node& n, Cycle cycle, bool written) {
  const End end = n.ends.front().what;
  n.ends.pop_front();
  n.end_free = cycle + 1;
  n.spare.push_back({end.channel, cycle + 1});
  (n.channels[end.channel].serves ? n.serves_less : n.owns_less).push_back(cycle + 1);
  ++ended_;
  const Channel& channel = n.channels[end.channel];
  if (channel.serves) return wake(node);
  if (n.found) {
    if (!n.launches) n.launches = std::make_unique<Launches>();
    ++n.launches->asked;
    n.launches->waiting.push_back({{channel.store.message_slot, written}, cycle + 1});
    launch_next(node, *n.launches);
  }
  n.claims = n.found = false;
  n.claimed = kUnknown;
  on_ended_(self_, node, channel.store.user, end.failure, cycle);
  wake(node);
}

}  // namespace exanet
