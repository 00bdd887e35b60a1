// SPDX-License-Identifier: Apache-2.0
#include "core/config/names.hpp"

#include <doctest/doctest.h>

using namespace exanet;

TEST_CASE("the name that was meant is the one most alike; none where all are far") {
  const std::vector<std::string> known{"minimal", "up-down", "ugal-l", "ugal-g", "adaptive"};
  for (const auto& [name, meant] : {std::pair{"ugal", "ugal-l"},
                                    {"UGAL-G", ""},
                                    {"ugal_g", "ugal-g"},
                                    {"minimla", "minimal"},
                                    {"adaptiv", "adaptive"},
                                    {"fastest", ""},
                                    {"", ""}})
    CHECK_MESSAGE(nearest(name, known) == meant, name);
  CHECK(nearest(std::string(100, 'm'), {std::string(100, 'm')}).empty());
  CHECK(nearest("ideal", {}).empty());
  CHECK(likeness("", "") == 1);
  CHECK(likeness("abc", "abd") == doctest::Approx(4.0 / 6));
}

TEST_CASE("a refusal names what was meant, and all that there are") {
  CHECK_THROWS_WITH_AS(reject_name("path", "is no routing", "ugal:8", "minimal, ugal-l"),
                       "there is no routing \"ugal:8\" (did you mean \"ugal-l\"?): use one of minimal, ugal-l",
                       ConfigError);
  CHECK_THROWS_WITH_AS(reject_name("path", "is no routing", "fastest", "minimal"),
                       "there is no routing \"fastest\": use one of minimal", ConfigError);
  CHECK_THROWS_WITH_AS(reject_name("path", "is no routing", "x", ""), "there is no routing \"x\": use one of ",
                       ConfigError);
}
