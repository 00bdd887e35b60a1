// SPDX-License-Identifier: Apache-2.0
// Does a router of FIFOs served in turn pass on what one works out by hand?
#include "core/flow/round_robin.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "core/engine/random.hpp"

using namespace exanet;

namespace {

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-6); }

}  // namespace

TEST_CASE("an output serves its inputs alike, and what one does not use goes to the others") {
  RoundRobin router;
  router.clear();
  const auto output = router.add_resource(1);
  for (const double most : {5.0, 0.1, 5.0}) {
    router.add_input(most);
    router.ask(output, 1);
  }
  const auto& amounts = router.solve();
  CHECK(amounts[0] == near(0.45));
  CHECK(amounts[1] == near(0.1));
  CHECK(amounts[2] == near(0.45));
}

TEST_CASE("a FIFO with one slow destination is slow as a whole, and what it leaves is for others") {
  // The first input holds equal parts for both outputs; the second wants the first output; the third and the fourth
  // want the second one.
  RoundRobin router;
  router.clear();
  const auto a = router.add_resource(1), b = router.add_resource(1);
  router.add_input(10);
  router.ask(a, 0.5);
  router.ask(b, 0.5);
  router.add_input(10);
  router.ask(a, 1);
  for (int i = 0; i < 2; ++i) {
    router.add_input(10);
    router.ask(b, 1);
  }
  const auto& amounts = router.solve();
  CHECK(amounts[0] == near(2.0 / 3));  // a third of output b is all it gets there, so it sends no more to a
  CHECK(amounts[1] == near(2.0 / 3));
  CHECK(amounts[2] == near(1.0 / 3));
  CHECK(amounts[3] == near(1.0 / 3));
}

TEST_CASE("no space beyond one destination stops a FIFO altogether, and only that FIFO") {
  RoundRobin router;
  router.clear();
  const auto full = router.add_resource(0), other = router.add_resource(1);
  router.add_input(1);
  router.ask(full, 0.1);
  router.ask(other, 0.9);
  router.add_input(3);
  router.ask(other, 1);
  const auto& amounts = router.solve();
  CHECK(amounts[0] == 0);
  CHECK(amounts[1] == near(1));
}

TEST_CASE(
    "of any routers: nothing is over-full, and whoever could send more stands before a full output that gives nobody "
    "more") {
  Random random(7);
  RoundRobin router;
  for (int trial = 0; trial < 300; ++trial) {
    router.clear();
    const std::uint32_t outputs = 2 + random.below(6), inputs = 1 + random.below(8);
    std::vector<double> capacity(outputs), most(inputs), used(outputs);
    std::vector<std::vector<double>> share(inputs, std::vector<double>(outputs));
    for (double& c : capacity) router.add_resource(c = 0.1 + random.unit());
    for (std::uint32_t i = 0; i < inputs; ++i) {
      router.add_input(most[i] = 3 * random.unit());
      for (double& s : share[i]) s = random.below(2) == 0 ? 0 : 0.05 + random.unit();
      const double sum = std::accumulate(share[i].begin(), share[i].end(), 0.0);
      for (std::uint32_t o = 0; o < outputs; ++o)
        if (share[i][o] > 0) router.ask(o, share[i][o] /= sum);
    }
    const auto amounts = router.solve();
    for (std::uint32_t i = 0; i < inputs; ++i)
      for (std::uint32_t o = 0; o < outputs; ++o) used[o] += amounts[i] * share[i][o];
    for (std::uint32_t o = 0; o < outputs; ++o) REQUIRE(used[o] <= capacity[o] * (1 + 1e-9));
    for (std::uint32_t i = 0; i < inputs; ++i) {
      bool held = amounts[i] >= most[i] * (1 - 1e-6);
      for (std::uint32_t o = 0; o < outputs; ++o) {
        if (share[i][o] == 0 || used[o] < capacity[o] * (1 - 1e-3)) continue;
        bool gives_more = false;
        for (std::uint32_t j = 0; j < inputs; ++j)
          gives_more |= amounts[j] * share[j][o] > amounts[i] * share[i][o] * (1 + 1e-3);
        held |= !gives_more;
      }
      CAPTURE(trial);
      CAPTURE(i);
      REQUIRE(held);
    }
  }
}
