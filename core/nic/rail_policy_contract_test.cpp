// SPDX-License-Identifier: Apache-2.0
// Does every rail policy keep the contract: a usable rail, the same one for the same calls, and the pair's own unless
// it spreads?
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/nic/rail_policy.hpp"

using namespace exanet;

TEST_CASE("rail policies: a choice is a usable rail, and the same for the same calls") {
  constexpr std::uint32_t kRails = 4, kNodes = 9;
  for (const RailPolicyKind& kind : rail_policy_kinds()) {
    CAPTURE(kind.name);
    std::vector<std::uint32_t> seen[2];
    std::set<std::uint32_t> taken;
    for (std::vector<std::uint32_t>& choices : seen) {
      const std::unique_ptr<RailPolicy> policy = kind.make(kNodes);
      Random random(3, 0);
      const std::uint32_t factor = random.below(1000);
      const RailLoad load = [&](NodeId node, std::uint32_t rail) {
        return std::uint64_t{node * 7 + rail} * factor % 11;
      };
      for (int i = 0; i < 2000; ++i) {
        RailRequest request{random.below(kNodes), random.below(kNodes),
                            random.below(3) == 0 ? 0 : random.below(1 << 20), random.below(kRails),
                            random.below(1 << kRails)};
        request.usable |= 1u << request.of_pair;
        const std::uint32_t rail = policy->choose(request, load);
        REQUIRE(rail < kRails);
        CHECK((request.usable >> rail & 1) != 0);
        if (!kind.spreads) CHECK(rail == request.of_pair);
        choices.push_back(rail);
        taken.insert(rail);
      }
    }
    CHECK(seen[0] == seen[1]);
    CHECK(taken.size() > 1);
  }
}

TEST_CASE("rail policies: an unknown name is rejected with those that there are") {
  CHECK(&rail_policy_kind("pair") == &rail_policy_kinds().front());
  CHECK_THROWS_AS(rail_policy_kind("blind"), ConfigError);
  for (const RailPolicyKind& kind : rail_policy_kinds()) CHECK(&rail_policy_kind(kind.name) == &kind);
}
