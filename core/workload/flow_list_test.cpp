// SPDX-License-Identifier: Apache-2.0
// Are lists of flows carried out at both levels, each flow from its start and after the others that it follows, and is
// what is no list refused?
#include "core/workload/flow_list.hpp"

#include <doctest/doctest.h>

#include <string>

#include "core/config/error.hpp"
#include "core/network/exanet/exanet_harness.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/message_run.hpp"

using namespace exanet;

namespace {

const TopologySpec kFlowListTree{"fat-tree", {4, 4}};

MessageResult carry_flow_list(const std::string& flows, bool packets) {
  MessageConfig config;
  config.traffic = "flows:[" + flows + "]";
  const NetworkConfig fabric = testing::fabric_for(kFlowListTree);
  const auto run =
      packets ? make_packet_messages(kFlowListTree, fabric, config) : make_flow_messages(kFlowListTree, fabric, config);
  REQUIRE(run->run());
  return run->result();
}

}  // namespace

TEST_CASE("lists of flows: starts and waits count, at both levels") {
  for (const bool packets : {false, true}) {
    CAPTURE(packets);
    const double once = carry_flow_list("0 5 100000 0;", packets).completion_ns;
    CHECK(carry_flow_list("0 5 100000 7000000;", packets).completion_ns == testing::near(once + 7000, 1e-6));
    // One after the other takes the sum; at once between others no longer than one.
    CHECK(carry_flow_list("0 5 100000 0;5 0 100000 0 0;", packets).completion_ns == testing::near(2 * once, 1e-3));
    CHECK(carry_flow_list("5 0 100000 0 1s;0 5 100000 0;", packets).completion_ns == testing::near(2 * once, 1e-3));
    CHECK(carry_flow_list("0 5 100000 0;5 0 100000 0;", packets).completion_ns == testing::near(once, 1e-3));
  }
}

TEST_CASE("lists of flows: what is no list is refused, with the flow and what to do") {
  const auto topology = make_topology(kFlowListTree);
  for (const char* wrong :
       {"flows:", "flows:x.cm", "flows:[]", "flows:[0 16 1 0;]", "flows:[16 0 1 0;]", "flows:[0 1 0 0;]",
        "flows:[0 1 1;]", "flows:[3 3 1 0;]", "flows:[0 1 1 -5;]", "flows:[0 1 1 0 7;]", "flows:[0 1 1 0 1;1 0 1 0 0;]",
        "flows:[0 1 1 0 0;]", "flows:[0 1 1 0 x;]", "flows:[0 1 2000000000000 0;]"})
    CHECK_THROWS_AS(read_flow_list(wrong, *topology), ConfigError);
  const MessagePlan plan = read_flow_list("flows:[0 1 10 5;2 3 20 0 0s;]", *topology);
  REQUIRE(plan.messages.size() == 2);
  CHECK(plan.messages[1].bytes == 20);
  CHECK(plan.messages[0].start == Time::ps(5));
  REQUIRE(plan.after.size() == 1);
  CHECK((plan.after[0].message == 1 && plan.after[0].earlier == 0 && plan.after[0].sent));
}
