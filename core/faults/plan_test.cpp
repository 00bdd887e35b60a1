// SPDX-License-Identifier: Apache-2.0
// Do plans name what they are given, keep the order of time, and draw the same from the same seed?
#include "core/faults/plan.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "core/routing/make_topology.hpp"

using namespace exanet;

namespace {

bool same(const FaultChange& a, const FaultChange& b) {
  return a.at == b.at && a.node == b.node && a.port == b.port && a.up == b.up;
}

}  // namespace

TEST_CASE("plans of faults: a link fails at both ends, a node with all of its links, and both work again") {
  const auto shape = make_topology({"mesh", {3}});
  std::uint16_t right = 0;
  while (shape->neighbour(0, right).node != 1) ++right;
  const PortRef far = shape->neighbour(0, right);
  FaultPlan plan;
  plan.add({Time::us(3), 0, right, true});
  plan.fail(*shape, shape->node_name(0) + " " + shape->port_name(0, right), Time::us(1));
  plan.fail(*shape, shape->node_name(2), Time::us(2));
  REQUIRE(plan.changes().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(plan.changes()[i].at == Time::us(static_cast<std::int64_t>(i) + 1));
  const auto works = [&](Time at, NodeId node, std::uint16_t port) {
    return plan.states_at(*shape, at).works(*shape, node, port);
  };
  std::uint16_t last = 0;
  while (shape->neighbour(2, last).node != 1) ++last;
  const Time before = Time::us(1) - Time::ps(1);
  CHECK(works(before, 0, right));
  CHECK_FALSE(works(Time::us(1), 0, right));
  CHECK_FALSE(works(Time::us(1), far.node, far.port));
  CHECK(works(Time::us(1), 2, last));
  CHECK(plan.states_at(*shape, Time::us(1)).alive(2));
  CHECK_FALSE(works(Time::us(2), 2, last));
  CHECK_FALSE(plan.states_at(*shape, Time::us(2)).alive(2));
  CHECK(works(Time::us(3), 0, right));
  CHECK_FALSE(works(Time::us(3), 2, last));
}

TEST_CASE("plans of faults: what names nothing, or asks for more than there is, is refused") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultPlan plan;
  for (const char* what :
       {"nowhere", "links:", "links:2:", "links:x", "links:1:2:3", "nodes:1:-2", "links:33", "nodes:17"})
    CHECK_THROWS_AS(plan.fail(*shape, what), std::invalid_argument);
  CHECK_THROWS_AS(plan.fail(*shape, shape->node_name(0) + " nothing"), std::invalid_argument);
  CHECK(plan.empty());
}

TEST_CASE("plans of faults: numbers of links and nodes are drawn by the seed, each once") {
  const auto shape = make_topology({"torus", {4, 4}});
  const auto drawn = [&](const char* what) {
    FaultPlan plan;
    plan.fail(*shape, what);
    std::set<std::pair<NodeId, std::uint16_t>> found;
    for (const FaultChange& change : plan.changes()) found.insert({change.node, change.port});
    return found;
  };
  CHECK(drawn("links:32").size() == 32);
  CHECK(drawn("nodes:16").size() == 16);
  CHECK(drawn("links:5") == drawn("links:5:1"));
  CHECK(drawn("links:5") != drawn("links:5:2"));
}

TEST_CASE("plans of faults: rates: things fail and are repaired in turn, and a longer plan begins with a shorter one") {
  const auto shape = make_topology({"torus", {4, 4}});
  FaultRate rate;
  rate.between = Time::us(300);
  rate.repair = Time::us(100);
  rate.seed = 5;
  FaultPlan plan, again, longer, other;
  plan.draw(*shape, rate, Time::us(20'000));
  again.draw(*shape, rate, Time::us(20'000));
  longer.draw(*shape, rate, Time::us(40'000));
  rate.seed = 6;
  other.draw(*shape, rate, Time::us(20'000));
  REQUIRE(plan.changes().size() == again.changes().size());
  REQUIRE(longer.changes().size() > plan.changes().size());
  std::map<std::pair<NodeId, std::uint16_t>, bool> up;
  Time last;
  std::uint64_t down_ps = 0;
  std::map<std::pair<NodeId, std::uint16_t>, Time> since;
  for (std::size_t i = 0; i < plan.changes().size(); ++i) {
    const FaultChange& change = plan.changes()[i];
    CHECK(same(change, again.changes()[i]));
    CHECK(same(change, longer.changes()[i]));
    CHECK(change.at >= last);
    CHECK(change.at <= Time::us(20'000));
    last = change.at;
    const std::pair<NodeId, std::uint16_t> link{change.node, change.port};
    CHECK(up.try_emplace(link, true).first->second == !change.up);
    up[link] = change.up;
    if (change.up)
      down_ps += static_cast<std::uint64_t>((change.at - since[link]).ps());
    else
      since[link] = change.at;
  }
  CHECK(up.size() == 32);
  const double share = static_cast<double>(down_ps) / (32 * 20e9);  // a quarter of the time
  CHECK(share > 0.22);
  CHECK(share < 0.28);
  CHECK_FALSE(same(other.changes().front(), plan.changes().front()));
}
