// SPDX-License-Identifier: Apache-2.0
// Is the sharing max-min fair: on textbook cases, against a plain reference, and after every change as from scratch?
#include "core/flow/max_min.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/engine/random.hpp"

using namespace exanet;

namespace {

constexpr Rate kUnit = 1'000'000'000'000'000;  // 1 Gb/s

using Path = std::vector<ResourceId>;

// Progressive filling as the textbook has it: again and again all open flows grow by what the tightest resource has for
// each of them.
std::map<FlowId, double> reference(const std::vector<Rate>& capacity, const std::map<FlowId, Path>& flows) {
  std::vector<double> free(capacity.begin(), capacity.end());
  std::map<FlowId, double> rates;
  while (rates.size() < flows.size()) {
    std::vector<int> open(capacity.size(), 0);
    for (const auto& [flow, path] : flows)
      if (!rates.contains(flow))
        for (const ResourceId r : path) ++open[r];
    double least = 1e300;
    for (std::size_t r = 0; r < capacity.size(); ++r)
      if (open[r] > 0) least = std::min(least, free[r] / open[r]);
    std::vector<FlowId> done;
    for (const auto& [flow, path] : flows)
      if (!rates.contains(flow) &&
          std::any_of(path.begin(), path.end(), [&](ResourceId r) { return free[r] / open[r] <= least * (1 + 1e-12); }))
        done.push_back(flow);
    for (const FlowId flow : done) {
      rates[flow] = least;
      for (const ResourceId r : flows.at(flow)) free[r] -= least;
    }
  }
  return rates;
}

struct Case {
  explicit Case(std::vector<Rate> given) : capacity(std::move(given)), sharing(capacity.size()) {
    for (std::size_t r = 0; r < capacity.size(); ++r) sharing.set_capacity(static_cast<ResourceId>(r), capacity[r]);
  }
  void add(FlowId flow, const Path& path) {
    flows[flow] = path;
    sharing.add(flow, path);
  }
  void remove(FlowId flow) {
    flows.erase(flow);
    sharing.remove(flow);
  }
  double share(FlowId flow) const { return static_cast<double>(sharing.rate(flow)) / static_cast<double>(kUnit); }

  void check_against_reference() {
    sharing.solve();
    for (const auto& [flow, rate] : reference(capacity, flows)) {
      CAPTURE(flow);
      REQUIRE(static_cast<double>(sharing.rate(flow)) == doctest::Approx(rate).epsilon(1e-7).scale(0));
    }
    check_conservation();
  }

  // Rates of flows and free capacity add up to the capacity, to the last unit.
  void check_conservation() const {
    std::vector<Rate> used(capacity.size(), 0);
    for (const auto& [flow, path] : flows)
      for (const ResourceId r : path) used[r] += sharing.rate(flow);
    for (std::size_t r = 0; r < capacity.size(); ++r) {
      REQUIRE(used[r] <= capacity[r]);
      REQUIRE(sharing.free(static_cast<ResourceId>(r)) == capacity[r] - used[r]);
    }
  }

  std::vector<Rate> capacity;
  MaxMin sharing;
  std::map<FlowId, Path> flows;
};

Path random_path(Random& random, std::uint32_t resources, std::uint32_t most) {
  Path path;
  for (std::uint32_t n = 1 + random.below(most); n > 0; --n) {
    const ResourceId r = random.below(resources);
    if (std::find(path.begin(), path.end(), r) == path.end()) path.push_back(r);
  }
  return path;
}

}  // namespace

TEST_CASE("parking lot: the long flow and each short one get half") {
  Case lot(std::vector<Rate>(4, kUnit));
  lot.add(0, {0, 1, 2, 3});
  for (FlowId f = 1; f <= 4; ++f) lot.add(f, {f - 1});
  lot.sharing.solve();
  for (FlowId f = 0; f <= 4; ++f) CHECK(lot.sharing.rate(f) == kUnit / 2);
}

TEST_CASE("parking lot with a narrow end: the long flow takes its share there, the others the rest of their links") {
  Case lot({kUnit, kUnit, kUnit / 4});
  lot.add(0, {0, 1, 2});
  lot.add(1, {0});
  lot.add(2, {1});
  lot.add(3, {2});
  lot.sharing.solve();
  CHECK(lot.sharing.rate(0) == kUnit / 8);
  CHECK(lot.sharing.rate(3) == kUnit / 8);
  CHECK(lot.sharing.rate(1) == kUnit - kUnit / 8);
  CHECK(lot.sharing.rate(2) == kUnit - kUnit / 8);
}

TEST_CASE("dumbbell: the waist is shared alike, and a flow with a narrow access leaves the rest to the others") {
  // Access links 0..3 left, 4..7 right, waist 8.
  Case bell({kUnit, kUnit, kUnit, kUnit / 10, kUnit, kUnit, kUnit, kUnit, kUnit});
  for (FlowId f = 0; f < 4; ++f) bell.add(f, {f, 8, f + 4});
  bell.sharing.solve();
  CHECK(bell.sharing.rate(3) == kUnit / 10);
  for (FlowId f = 0; f < 3; ++f) CHECK(bell.share(f) == doctest::Approx(0.3).epsilon(1e-9));
}

TEST_CASE("star: senders to one receiver share its link, a receiver of its own leaves a sender the rest") {
  // Up links 0..3, down links 4..7. Node 0 sends to 1, 2 and 3; node 1 sends to 2 as well.
  Case star(std::vector<Rate>(8, kUnit));
  star.add(0, {0, 5});
  star.add(1, {0, 6});
  star.add(2, {0, 7});
  star.add(3, {1, 6});
  star.sharing.solve();
  for (FlowId f = 0; f < 3; ++f) CHECK(star.sharing.rate(f) == kUnit / 3);
  CHECK(star.share(3) == doctest::Approx(2.0 / 3).epsilon(1e-9));
}

TEST_CASE("a resource is given out to the last unit but the remainder of a division") {
  Case one({1000});
  for (FlowId f = 0; f < 7; ++f) one.add(f, {0});
  one.sharing.solve();
  for (FlowId f = 0; f < 7; ++f) CHECK(one.sharing.rate(f) == 142);
  CHECK(one.sharing.free(0) == 6);
}

TEST_CASE("random cases agree with the reference, also after flows have come and gone") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<Rate> capacity;
    const std::uint32_t resources = 2 + random.below(30);
    for (std::uint32_t r = 0; r < resources; ++r) capacity.push_back(kUnit * (1 + random.below(4)));
    Case net(capacity);
    FlowId next = 0;
    for (int step = 0; step < 25; ++step) {
      for (std::uint32_t n = random.below(8); n > 0; --n) net.add(next++, random_path(random, resources, 5));
      for (std::uint32_t n = random.below(6); n > 0 && !net.flows.empty(); --n)
        net.remove(std::next(net.flows.begin(), random.below(static_cast<std::uint32_t>(net.flows.size())))->first);
      net.check_against_reference();
    }
    while (!net.flows.empty()) net.remove(net.flows.begin()->first);
    net.sharing.solve();
    net.check_conservation();
  }
}

TEST_CASE("the order in which flows are added does not change a bit of their rates") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<Path> paths;
    for (int f = 0; f < 200; ++f) paths.push_back(random_path(random, 40, 6));
    MaxMin forward(40), backward(40);
    for (ResourceId r = 0; r < 40; ++r) forward.set_capacity(r, kUnit + r % 3), backward.set_capacity(r, kUnit + r % 3);
    for (FlowId f = 0; f < 200; ++f) forward.add(f, paths[f]), backward.add(199 - f, paths[199 - f]);
    forward.solve();
    backward.solve();
    for (FlowId f = 0; f < 200; ++f) REQUIRE(forward.rate(f) == backward.rate(f));
  }
}

TEST_CASE("a change far away is not looked at, and reports nothing") {
  // Two hundred separate links, two flows each; then one more flow on one link.
  Case net(std::vector<Rate>(200, kUnit));
  for (FlowId f = 0; f < 400; ++f) net.add(f, {f / 2});
  net.sharing.solve();
  CHECK(net.sharing.changed().size() == 400);
  const std::uint64_t before = net.sharing.filled();
  net.add(400, {7});
  net.sharing.solve();
  CHECK(net.sharing.filled() - before <= 4);
  CHECK(net.sharing.changed().size() == 3);
  for (const auto& change : net.sharing.changed()) CHECK(net.sharing.rate(change.flow) == kUnit / 3);
}
