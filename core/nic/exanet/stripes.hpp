// SPDX-License-Identifier: Apache-2.0
// Transfers that are cut over the rails of a node: a part for each rail, and one completion of them all.
//
// Model: a part is a transfer of its own, of whole blocks, with its own cost at its interface. The parts begin at once
// and are in memory in their order, so the last one completes the whole. Limits: one that fails fails the whole when
// the last part is there; the others are sent nevertheless.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "core/nic/nic.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

// Stands between the engines and who listens.
class Stripes final : public NicListener {
 public:
  // Cuts transfers of more than `longer_than` bytes into as many parts as there are rails, of blocks of `block_bytes`.
  Stripes(NicListener& listener, std::uint64_t longer_than, std::uint32_t rails, std::uint32_t block_bytes)
      : listener_(listener), longer_than_(longer_than), rails_(rails), block_bytes_(block_bytes) {}

  bool cuts(const RdmaTransfer& t) const {
    return t.bytes > longer_than_ && t.part != RdmaTransfer::Part::kRequest && !is_multicast(t.dst);
  }

  // Gives each part, with its number from 0 on, to `send`.
  template <typename Send>
  void cut(const RdmaTransfer& t, Send&& send) {
    const std::uint64_t blocks = (t.bytes + block_bytes_ - 1) / block_bytes_;
    const std::uint64_t each = (blocks + rails_ - 1) / rails_ * block_bytes_;
    const auto parts = static_cast<std::uint32_t>((t.bytes + each - 1) / each);
    const bool added = whole_.try_emplace(t.user, Whole{parts, t.acknowledged ? parts : 0}).second;
    EXANET_CHECK(added, "two transfers of one user word under way", t.src, t.dst, t.user);
    for (std::uint32_t i = 0; i < parts; ++i) {
      RdmaTransfer part = t;
      part.bytes = std::min(each, t.bytes - i * each);
      part.own.address += i * each;
      part.target.address += i * each;
      part.notifies = t.notifies && i + 1 == parts;
      send(part, i);
    }
  }

  void transfer_completed(std::uint64_t user, Status status, Time now) override {
    const auto found = whole_.find(user);
    if (found == whole_.end()) return listener_.transfer_completed(user, status, now);
    Whole& whole = found->second;
    if (status != Status::kOk) whole.status = status;
    if (--whole.coming != 0) return;
    const Status of_all = whole.status;
    if (whole.unacknowledged == 0) whole_.erase(found);
    listener_.transfer_completed(user, of_all, now);
  }
  void transfer_acknowledged(std::uint64_t user, Status status, Time now) override {
    const auto found = whole_.find(user);
    if (found == whole_.end()) return listener_.transfer_acknowledged(user, status, now);
    Whole& whole = found->second;
    if (status != Status::kOk) whole.acknowledged_with = status;
    if (--whole.unacknowledged != 0) return;
    const Status of_all = whole.acknowledged_with;
    whole_.erase(found);
    listener_.transfer_acknowledged(user, of_all, now);
  }

  void message_completed(std::uint64_t user, Status status, Time now) override {
    listener_.message_completed(user, status, now);
  }
  void reduction_packet_completed(std::uint64_t user, Status status, Time now) override {
    listener_.reduction_packet_completed(user, status, now);
  }
  void reduction_completed(std::uint64_t user, Status status, Time now) override {
    listener_.reduction_completed(user, status, now);
  }
  void multicast_completed(std::uint64_t user, NodeId node, Status status, Time now) override {
    listener_.multicast_completed(user, node, status, now);
  }
  void multicast_sent(std::uint64_t user, Status status, Time now) override {
    listener_.multicast_sent(user, status, now);
  }
  void packet_delivered(const Packet& packet, Time injected, Time now) override {
    listener_.packet_delivered(packet, injected, now);
  }

 private:
  struct Whole {
    std::uint32_t coming, unacknowledged;  // parts
    Status status = Status::kOk, acknowledged_with = Status::kOk;
  };
  NicListener& listener_;
  const std::uint64_t longer_than_;
  const std::uint32_t rails_, block_bytes_;
  std::unordered_map<std::uint64_t, Whole> whole_;  // by user
};

}  // namespace exanet
