// SPDX-License-Identifier: Apache-2.0
// Which entropy each packet of a flow carries, and so which of the routes between its ends it takes: load balancing by
// the source, from what acknowledgements say of the entropies before.
//
// Sources: recycled entropies are those of Bonato et al., REPS: Recycled Entropy Packet Spraying for Adaptive Load
// Balancing and Failure Mitigation, arXiv 2407.21625; penalties, their sizes and the mixture of both are the choices of
// uet-htsim (uec_mp), in our words. Model: a round passes through all entropies, each once, in an order that an
// exclusive or with a random number shuffles anew each time. That alone is `oblivious`. `bitmap` skips an entropy as
// often as penalties say: 1 for a mark, 4 for a trimmed packet, 15 at most, and for a timeout. `reps` sends with the
// entropies of unmarked acknowledgements again, each once, the oldest of the last eight first, else with random ones;
// after a timeout it goes round these eight alone for 10 ms, whether used or not, and then explores with 16 random
// ones. `mixed` recycles all of them, else does as `bitmap`.
//
// Contract: next() is a pure function of the calls before and the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/units/time.hpp"

namespace exanet {

class Entropies {
 public:
  enum class Heard : std::uint8_t { kGood, kMarked, kTrimmed, kTimeout };
  virtual ~Entropies() = default;
  virtual std::uint16_t next(Time now) = 0;  // from 1 on; 0 where packets carry none
  virtual void feedback(std::uint16_t entropy, Heard heard, Time now) = 0;  // of a timeout: any entropy
};

struct EntropiesKind {
  const char* name;  // as machine files call it
  const char* help;  // how entropies are chosen, as a clause
  // A power of two of entropies. Null: packets carry none.
  std::unique_ptr<Entropies> (*make)(std::uint16_t entropies, std::uint64_t seed, std::uint64_t flow);
};

const std::vector<EntropiesKind>& entropies_kinds();  // "none" first
// Throws ConfigError, naming those that there are.
const EntropiesKind& entropies_kind(const std::string& name);

}  // namespace exanet
