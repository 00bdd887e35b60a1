// SPDX-License-Identifier: Apache-2.0
// Between the protocols and whoever runs the ranks: completions, ranks' memory, and a record of each message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/spec/descriptors.hpp"
#include "core/units/time.hpp"

namespace exanet {

using RankId = std::uint32_t;
inline constexpr RankId kAnyRank = 0xffffffffu;  // as a receive's source: any

inline constexpr RankId kGroup =
    1u << 31;  // as a message's destination, with a number: a group of ranks (Context::groups)

using Payload =
    std::span<const std::byte>;  // behind a descriptor or completion; valid during the call that it is given to

// Addresses of messages without contents, of which the ranks know nothing: 0, and all from here on.
inline constexpr std::uint64_t kNoContents = std::uint64_t{1} << 62;
constexpr bool has_contents(std::uint64_t address) { return address != 0 && address < kNoContents; }

enum class Protocol : std::uint8_t { eager, rendezvous, put, get, atomic };

struct MessageRecord {
  RankId src, dst;  // of the data; of an atomic, initiator and target
  std::uint64_t bytes, tag;
  Protocol protocol;
  Time posted, delivered;
  Time taken = {};  // when its receiver got to it, if it waited for that; else 0
};

// Contract: read() and write() move bytes of a rank's memory and return false, having changed nothing that matters,
// when the rank is gone or the address is not mapped. The payload of a completion goes to the receive's buffer, or to a
// packet's receiver.
class Host {
 public:
  virtual ~Host() = default;
  virtual void complete(RankId rank, const Completion& completion, Payload payload) = 0;
  virtual bool read(RankId rank, std::uint64_t addr, std::byte* to, std::size_t bytes) = 0;
  virtual bool write(RankId rank, std::uint64_t addr, const std::byte* from, std::size_t bytes) = 0;
  virtual void record(const MessageRecord& message) = 0;
};

}  // namespace exanet
