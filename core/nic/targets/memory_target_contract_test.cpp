// SPDX-License-Identifier: Apache-2.0
// Does every kind of memory keep the contract: no time before its call, the same times for the same calls, and one name
// each?
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/nic/targets/memory_target.hpp"

using namespace exanet;

TEST_CASE("memory targets: times do not precede their calls and are the same for the same calls") {
  constexpr std::size_t kNodes = 4;
  for (const MemoryKind& kind : memory_kinds()) {
    CAPTURE(kind.name);
    REQUIRE(!kind.samples.empty());
    for (const NiConfig& config : kind.samples) {
      std::vector<Time> seen[2];
      for (std::vector<Time>& times : seen) {
        const std::unique_ptr<MemoryTarget> target = kind.make(config, kNodes);
        Random random(7, 0);
        for (int i = 0; i < 1000; ++i) {
          const MemoryAccess access{random.below(kNodes), random.below(1 << 20), random.below(1 << 16)};
          const Time at = Time::ns(random.below(1 << 20));
          const Time there = random.below(2) == 0 ? target->read(access, at) : target->write(access, at);
          CHECK(there >= at);
          times.push_back(there);
        }
      }
      CHECK(seen[0] == seen[1]);
    }
  }
}

TEST_CASE("memory targets: names lead to kinds, host DRAM being the first") {
  CHECK(memory_kind("host-dram") == 0);
  std::set<std::string> names;
  for (std::size_t number = 0; number < memory_kinds().size(); ++number) {
    names.insert(memory_kinds()[number].name);
    CHECK(memory_kind(memory_kinds()[number].name) == number);
  }
  CHECK(names.size() == memory_kinds().size());
  CHECK_THROWS_AS(memory_kind("tape"), ConfigError);
}
