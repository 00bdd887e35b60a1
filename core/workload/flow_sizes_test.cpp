// SPDX-License-Identifier: Apache-2.0
#include "core/workload/flow_sizes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

using namespace exanet;

TEST_CASE("flow sizes grow with their share, and their mean is that of what is drawn") {
  for (const std::string& name : flow_size_names()) {
    CAPTURE(name);
    const FlowSizes& sizes = flow_sizes(name);
    constexpr int kDraws = 1'000'000;
    double sum = 0;
    std::uint64_t last = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::uint64_t bytes = sizes.at((i + 0.5) * 100 / kDraws);
      REQUIRE(bytes >= std::max<std::uint64_t>(last, 1));
      sum += static_cast<double>(last = bytes);
    }
    CHECK(sum / kDraws == doctest::Approx(sizes.mean_bytes()).epsilon(1e-3));
  }
}

TEST_CASE("flow sizes are those of the table at its points") {
  CHECK(flow_sizes("web-search").at(53) == 80'000);
  CHECK(flow_sizes("web-search").at(100) == 30'000'000);
  CHECK(flow_sizes("hadoop").at(65) == 1715);  // between 1000 at 60 and 2000 at 67
  CHECK_THROWS_WITH_AS(flow_sizes("mail"), doctest::Contains("use one of"), std::invalid_argument);
}
