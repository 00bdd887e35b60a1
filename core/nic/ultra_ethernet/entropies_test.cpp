// SPDX-License-Identifier: Apache-2.0
// Does each load balancing choose entropies as its rules say, the same for the same seed?
#include "core/nic/ultra_ethernet/entropies.hpp"

#include <doctest/doctest.h>

#include <set>

#include "core/config/error.hpp"

using namespace exanet;

TEST_CASE("entropies: rounds take each one once; a seed repeats, another flow differs") {
  for (const char* name : {"oblivious", "bitmap", "mixed"}) {
    CAPTURE(std::string(name));
    const auto one = entropies_kind(name).make(16, 3, 5), again = entropies_kind(name).make(16, 3, 5),
               other = entropies_kind(name).make(16, 3, 6);
    bool differs = false;
    for (int round = 0; round < 4; ++round) {
      std::set<std::uint16_t> seen;
      for (int i = 0; i < 16; ++i) {
        const std::uint16_t entropy = one->next(Time());
        CHECK((entropy >= 1 && entropy <= 16));
        CHECK(again->next(Time()) == entropy);
        differs |= other->next(Time()) != entropy;
        seen.insert(entropy);
      }
      CHECK(seen.size() == 16);
    }
    CHECK(differs);
  }
}

TEST_CASE("entropies: a bitmap skips one once for a mark, four times for a trimmed packet") {
  const auto bitmap = entropies_kind("bitmap").make(8, 1, 1);
  for (const auto& [heard, rounds] :
       {std::pair{Entropies::Heard::kMarked, 1}, std::pair{Entropies::Heard::kTrimmed, 4}}) {
    bitmap->feedback(3, heard, Time());
    // Packets until it comes again: each round without it has seven.
    int packets = 0;
    while (bitmap->next(Time()) != 3) REQUIRE(++packets < 100);
    CHECK(packets >= 7 * (rounds - 1));
    CHECK(packets <= 7 * rounds + 7);
    while (packets++ % 7 != 0) bitmap->next(Time());
  }
}

TEST_CASE("entropies: REPS recycles unmarked ones once each, the oldest first, and goes round them after a timeout") {
  const auto reps = entropies_kind("reps").make(1024, 1, 1);
  for (const std::uint16_t entropy : {11, 12, 13}) reps->feedback(entropy, Entropies::Heard::kGood, Time());
  reps->feedback(14, Entropies::Heard::kMarked, Time());
  for (const std::uint16_t entropy : {11, 12, 13}) CHECK(reps->next(Time()) == entropy);
  std::set<std::uint16_t> drawn;
  for (int i = 0; i < 20; ++i) drawn.insert(reps->next(Time()));
  CHECK(drawn.size() > 15);  // at random again
  // Ten good ones: the ring keeps the last eight.
  for (std::uint16_t entropy = 21; entropy <= 30; ++entropy) reps->feedback(entropy, Entropies::Heard::kGood, Time());
  reps->feedback(1, Entropies::Heard::kTimeout, Time::us(1));
  std::multiset<std::uint16_t> frozen;
  for (int i = 0; i < 16; ++i) frozen.insert(reps->next(Time::us(2)));
  for (std::uint16_t entropy = 23; entropy <= 30; ++entropy) CHECK(frozen.count(entropy) == 2);
  // 10 ms later it explores with 16 random ones, then recycles what has come since.
  reps->feedback(40, Entropies::Heard::kGood, Time::us(10'002));
  for (int i = 0; i < 16; ++i) reps->next(Time::us(10'003));
  CHECK(reps->next(Time::us(10'004)) == 40);
}

TEST_CASE("entropies: mixed recycles all good ones, and has a bitmap for the rest") {
  const auto mixed = entropies_kind("mixed").make(64, 1, 1);
  for (std::uint16_t entropy = 1; entropy <= 20; ++entropy) mixed->feedback(entropy, Entropies::Heard::kGood, Time());
  for (std::uint16_t entropy = 1; entropy <= 20; ++entropy) CHECK(mixed->next(Time()) == entropy);
}

TEST_CASE("entropies: an unknown name is rejected with those that there are") {
  CHECK((entropies_kind("none").make == nullptr));
  CHECK_THROWS_AS(entropies_kind("luck"), ConfigError);
}
