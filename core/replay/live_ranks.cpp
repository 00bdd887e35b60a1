// SPDX-License-Identifier: Apache-2.0
// All live ranks of a run, over one message library.
#include <utility>

#include "core/replay/live.hpp"
#include "core/replay/live_codes.hpp"

namespace exanet {

namespace {

constexpr std::uint32_t kManyEmptyProbes = 4096;  // of a call: then it may wait for ever

}  // namespace

LiveRanks::LiveRanks(const Library::Beside& setup, LiveHost& host, const LiveAlgorithms& algorithms)
    : host_(host),
      library_(
          [&] {
            Library::Beside own = setup;
            own.endpoint = kEndpoint;
            return own;
          }(),
          *this),
      communicators_(static_cast<std::uint32_t>(setup.ranks)),
      collectives_(setup.memory, algorithms),
      accesses_(setup.memory, library_) {
  for (RankId rank = 0; rank < setup.ranks; ++rank)
    ranks_.push_back(
        std::make_unique<LiveRank>(rank, setup.interface, library_, communicators_, collectives_, accesses_, notices_));
  notices_.making = [this](const std::vector<RankId>& left) { return host_.making(left); };
  if (setup.hosts != nullptr) listen();
}

void LiveRanks::listen() {
  if (std::exchange(listens_, true)) return;
  for (const auto& rank : ranks_) rank->listen();
}

void LiveRanks::enter(RankId rank, exanet_live_call& call) {
  library_.clock(rank) = Time::ps(static_cast<std::int64_t>(call.time_ps));
  if (call.code == EXANET_LIVE_FATAL) return library_.end_with(call.failure);
  if (call.code == EXANET_LIVE_MADE) host_.made(rank);
  if (is_of_tolerance(call.code)) listen();
  if (const std::string why = ranks_[rank]->begin(call); !why.empty()) return host_.refused(rank, why);
  library_.enter(rank, library_.clock(rank));
}

void LiveRanks::post(RankId rank, exanet_live_call& first) {
  for (exanet_live_call* call = &first; call != nullptr; call = call->next) {
    library_.clock(rank) = Time::ps(static_cast<std::int64_t>(call->time_ps));
    if (const std::string why = ranks_[rank]->post(*call); !why.empty()) return host_.refused(rank, why);
  }
}

Time LiveRanks::prepare(RankId rank, exanet_live_call& call) {
  const Time begins = Time::ps(static_cast<std::int64_t>(call.time_ps));
  library_.clock(rank) = begins;
  if (const std::string why = ranks_[rank]->prepare(call); !why.empty()) host_.refused(rank, why);
  return library_.clock(rank) - begins;
}

Time LiveRanks::resume(RankId rank) {
  LiveRank& live = *ranks_[rank];
  if (live.is_outside()) return live.attend(), Time::never();
  if (!live.go_on()) {
    if (live.empty_probes() % kManyEmptyProbes == kManyEmptyProbes - 1) host_.found_nothing();
    return live.until();
  }
  library_.leave(rank);
  host_.returned(rank, library_.clock(rank));
  return Time::never();
}

}  // namespace exanet
