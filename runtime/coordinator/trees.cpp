// SPDX-License-Identifier: Apache-2.0
// Gives ranks their part of a broadcast by the algorithm that the run chose: the one that a replay takes.
//
// A question is answered while other ranks run, and takes no virtual time: what it needs, the machine's map and the
// ranks' places, does not change. Groups of ranks get their numbers in the order of questions, which nothing else
// depends on.
#include <utility>

#include "core/config/error.hpp"
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

void Coordinator::choose_bcast(const std::string& name, const TopologySpec& topology) {
  if (name.empty()) return;
  bcast_ = program_broadcast(name);
  if (bcast_ == nullptr)
    throw ConfigError("collective", "broadcasts of programs by \"" + name + "\" are unknown: choose a tree algorithm");
  std::optional<Multicasts> multicasts;
  if (bcast_->by == CarriedOutBy::copies) {
    if (!engine_.multicasts() || !topology.disabled.empty()) throw ConfigError("collective", kNoMulticasts);
    multicasts = make_multicasts(*topology_, placement_, 0, ni_,
                                 [this](RankGroup group) { return engine_.add_group(std::move(group)); });
  }
  region_->chosen_bcast = multicasts ? EXN_BCAST_BY_COPIES : EXN_BCAST_BY_MESSAGES;
  places_.emplace(*topology_, placement_, std::move(multicasts));
}

void Coordinator::answer_questions() {
  if (bcast_ == nullptr || __atomic_exchange_n(&region_->questions, 0, __ATOMIC_SEQ_CST) == 0) return;
  for (RankId rank = 0; rank < ranks() && !stopping(); ++rank)
    if (__atomic_load_n(&region_.rank(rank).asks, __ATOMIC_ACQUIRE) != 0) answer(rank);
}

// What a rank writes is checked before it is believed.
void Coordinator::answer(RankId rank) {
  exn_rank& slot = region_.rank(rank);
  exn_tree_question head{};
  const std::uint64_t at = slot.question;
  const auto bytes = [](std::size_t words) { return words * sizeof(std::uint32_t); };
  if (!read(rank, at, reinterpret_cast<std::byte*>(&head), sizeof head) || head.ranks == 0 || head.ranks > ranks() ||
      head.me >= head.ranks || head.root >= head.ranks || head.is_long > 1)
    return refuse(rank, "a malformed request about a broadcast");
  std::vector<std::uint32_t> list(head.ranks);
  if (!read(rank, at + sizeof head, reinterpret_cast<std::byte*>(list.data()), bytes(list.size())))
    return refuse(rank, "a malformed request about a broadcast");
  for (const std::uint32_t member : list)
    if (member >= ranks()) return refuse(rank, "a malformed request about a broadcast");

  CollectiveCall call;
  call.ranks = head.ranks;
  call.me = head.me;
  call.root = head.root;
  call.bytes = head.is_long ? std::uint64_t{ni_.eager_max_bytes} + 1 : 1;
  call.members = &*groups_.emplace(list.begin(), list.end()).first;
  call.places = &*places_;
  Schedule schedule;
  bcast_->generate(call, schedule);
  list.clear();
  for (const ScheduledMessage& message : schedule.messages())
    list.push_back(message.peer << EXN_STEP_FLAGS | (message.sends ? EXN_STEP_SENDS : 0) |
                   (message.ends_stage ? EXN_STEP_ENDS_STAGE : 0) | (message.copied ? EXN_STEP_COPIED : 0) |
                   (message.signals ? EXN_STEP_SIGNALS : 0));
  head.steps = static_cast<std::uint32_t>(list.size());
  if (list.size() > head.ranks || !write(rank, at, reinterpret_cast<const std::byte*>(&head), sizeof head) ||
      !write(rank, at + sizeof head, reinterpret_cast<const std::byte*>(list.data()), bytes(list.size())))
    return refuse(rank, "a request about a broadcast names memory that cannot be written");
  __atomic_store_n(&slot.asks, 0, __ATOMIC_RELEASE);
  wake(&slot.asks);
}

}  // namespace exanet
