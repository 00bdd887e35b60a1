// SPDX-License-Identifier: Apache-2.0
#include "core/nic/rail_policy.hpp"

#include <bit>
#include <unordered_map>

#include "core/config/names.hpp"

namespace exanet {

namespace {

class ByPair final : public RailPolicy {
 public:
  std::uint32_t choose(const RailRequest& request, const RailLoad&) override { return request.of_pair; }
};

// The next usable rail from `first` on, in a ring of those up to the highest usable one.
std::uint32_t next_usable(std::uint32_t usable, std::uint32_t first) {
  const std::uint32_t from_first = usable >> first << first;
  return static_cast<std::uint32_t>(std::countr_zero(from_first != 0 ? from_first : usable));
}

class RoundRobin final : public RailPolicy {
 public:
  std::uint32_t choose(const RailRequest& request, const RailLoad&) override {
    const auto [turn, first_time] = next_.try_emplace(std::uint64_t{request.src} << 32 | request.dst, request.of_pair);
    const std::uint32_t rail = next_usable(request.usable, turn->second);
    turn->second = rail + 1;
    return rail;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> next_;  // by pair
};

class LeastLoaded final : public RailPolicy {
 public:
  std::uint32_t choose(const RailRequest& request, const RailLoad& load) override {
    std::uint32_t best = request.of_pair;
    std::uint64_t least = load(request.src, best);
    for (std::uint32_t rail = 0; request.usable >> rail != 0 && least != 0; ++rail) {
      if ((request.usable >> rail & 1) == 0) continue;
      const std::uint64_t here = load(request.src, rail);
      if (here < least) best = rail, least = here;
    }
    return best;
  }
};

template <class Policy>
RailPolicyKind describe(const char* name, const char* help, bool spreads) {
  return {name, help, spreads, [](std::size_t) -> std::unique_ptr<RailPolicy> { return std::make_unique<Policy>(); }};
}

}  // namespace

// A new policy is a class above and a line here.
const std::vector<RailPolicyKind>& rail_policy_kinds() {
  static const std::vector<RailPolicyKind> kinds{
      describe<ByPair>("pair", "one rail for each pair of nodes, so that all between them keeps its order", false),
      describe<RoundRobin>("round-robin", "what goes from one node to another takes the rails in turn", true),
      describe<LeastLoaded>(
          "least-loaded", "the one with the fewest bytes of transfers to send, the pair's where they are equal", true),
  };
  return kinds;
}

const RailPolicyKind& rail_policy_kind(const std::string& name) {
  std::string known;
  for (const RailPolicyKind& kind : rail_policy_kinds()) {
    if (name == kind.name) return kind;
    known.append(known.empty() ? "" : ", ").append(kind.name);
  }
  reject_name("ni.rail_policy", "is no rail policy", name, known);
}

}  // namespace exanet
