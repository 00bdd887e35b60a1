// SPDX-License-Identifier: Apache-2.0
// Does every configuration name its keys once, each with its unit, and do errors keep the paths that they blame?
#include "core/config/visit.hpp"

#include <doctest/doctest.h>

#include <set>

#include "core/config/error.hpp"
#include "core/network/config.hpp"
#include "core/nic/config.hpp"
#include "core/topology/topology.hpp"
#include "core/workload/closed_loop.hpp"
#include "core/workload/message_plan.hpp"
#include "core/workload/open_loop.hpp"

using namespace exanet;

namespace {

struct Keys {
  std::set<std::string> seen;

  template <typename Field>
  void operator()(const std::string& key, Field&, Optional = {}) {
    CHECK_MESSAGE(seen.insert(key).second, key << " is named twice");
    CHECK_MESSAGE((key.ends_with("_ps") == std::is_same_v<Field, Time>),
                  key << ": a time ends in _ps, and nothing else does");
  }
};

template <typename E>
void check_names() {
  std::set<std::string> seen;
  for (const EnumName<E>& entry : kChoices<E>) {
    CHECK(seen.insert(entry.name).second);
    CHECK(std::string(name_of(entry.value)) == entry.name);
    CHECK(find_choice<E>(entry.name) == entry.value);
  }
  CHECK(!find_choice<E>("nothing of the kind"));
  CHECK(choice_names<E>().size() == seen.size());
}

}  // namespace

TEST_CASE_TEMPLATE("a configuration names each key once, with its unit", T, RouterConfig, LinkConfig, SwitchConfig,
                   NetworkConfig, NiConfig, TopologySpec, OpenLoopConfig, MessageConfig, JobConfig, ClosedLoopConfig) {
  T config;
  Keys keys;
  visit(config, keys);
  CHECK(keys.seen.size() > 2);
}

TEST_CASE_TEMPLATE("an enumeration's names lead to its values and back", E, RouterConfig::Arbitration,
                   SwitchConfig::Queues, SwitchConfig::Arbitration, SwitchConfig::FlowControl, SwitchConfig::Buffer) {
  check_names<E>();
}

TEST_CASE("a configuration error keeps its problems, and reads as one sentence after the other") {
  const ConfigError one("router.word_bits", "make it wider"),
      two(std::vector<ConfigProblem>{{"a", "first"}, {"b.c", "second"}});
  CHECK(std::string(one.what()) == "make it wider");
  CHECK(std::string(two.what()) == "first; second");
  REQUIRE(two.problems().size() == 2);
  CHECK(two.problems()[1].path == "b.c");
  CHECK_NOTHROW(require_in_range(3, 1, 3, "p", "it"));
  CHECK_THROWS_WITH_AS(require_in_range(4, 1, 3, "p", "it"), "it is 4: give a whole number from 1 to 3", ConfigError);
}

TEST_CASE("a link's problem names its kind") {
  LinkConfig link;
  link.name = "inter-qfdb";
  CHECK(link_path(link, "latency_ps") == "links.inter-qfdb.latency_ps");
}
