// SPDX-License-Identifier: Apache-2.0
// Ranks in calls on files of simulated storages.
//
// Model: such a rank sleeps with the call in its slot, and is due when the storage has ended it. What servers need of
// the network goes as transfers that belong to no rank.
#include "core/protocol/failure.hpp"
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

void Coordinator::make_storages(const std::vector<StorageConfig>& storages) {
  if (storages.empty()) return;
  storages_.emplace(events_, static_cast<StorageNetwork&>(*this), storages, topology_->endpoint_count(),
                    [this](std::uint32_t rank, Status status, Time now) { leave_storage(rank, status, now); });
  engine_.set_listener(MessageEngine::Outside::kStorage, this);
}

void Coordinator::enter_storage(RankId r) {
  exn_storage_call& call = region_.rank(r).storage_call;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // of bytes, so that they can be added
  if (!storages_ || call.storage >= storages_->size() || call.action > EXN_STORAGE_METADATA || call.bytes > kMost ||
      call.offset > kMost || call.file_bytes > kMost)
    return refuse(r, "a malformed call on a file of a storage");
  const auto action = static_cast<StorageAction>(call.action - EXN_STORAGE_READ);
  ranks_[r].in_storage = true;
  storages_->begin(r, {call.storage, placement_[r], action, call.file, call.offset, call.bytes, call.file_bytes},
                   ranks_[r].clock);
  call.action = EXN_STORAGE_NONE;
}

void Coordinator::leave_storage(RankId r, Status status, Time now) {
  ranks_[r].in_storage = false;
  if (ranks_[r].dead) return;
  if (const char* why = network_failure(completion_status(status)))
    return stop("rank " + std::to_string(r) + " on node " + std::to_string(placement_[r]) +
                ", in a call on a file of a storage at " + in_microseconds(now) + ": " + why);
  make_due(r, now);
}

void Coordinator::send(NodeId from, NodeId to, std::uint64_t bytes, std::uint32_t number) {
  engine_.post_outside(MessageEngine::Outside::kStorage, from, to, bytes, number, false);
}

void Coordinator::arrived(std::uint32_t transfer, Status status, Time now) {
  storages_->arrived(transfer, status, now);
}

void Coordinator::acknowledged(std::uint32_t, Status, Time) {}

}  // namespace exanet
