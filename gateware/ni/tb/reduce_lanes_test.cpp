// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a reduction unit, bit by bit against the host's.
#include <doctest/doctest.h>

#include <deque>

#include "Vreduce_lanes.h"
#include "gateware/ni/tb/reduce_reference.hpp"
#include "gateware/tb/long.hpp"
#include "verilated.h"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// The lanes of 128 bits, with words that go in and come out a cycle each.
class Lanes {
 public:
  ~Lanes() { model_.final(); }

  void push(ReduceType type, ReduceOperation operation, const Bytes& a, const Bytes& b, bool first = false) {
    model_.first_i = first;
    model_.operation_i = static_cast<CData>(operation);
    model_.element_i = static_cast<CData>(type);
    for (unsigned w = 0; w < 4; ++w) {
      std::memcpy(&model_.a_i[w], &a[4 * w], 4);
      std::memcpy(&model_.b_i[w], &b[4 * w], 4);
    }
    Bytes sum = a;
    if (first)
      sum = b;
    else
      combine(type, operation, sum, b);
    wanted_.push_back({sum, a, b, type, operation});
    for (CData level : {0, 1}) {
      model_.clk_i = level;
      model_.eval();
    }
    if (wanted_.size() < kLatency) return;
    Bytes got(16);
    for (unsigned w = 0; w < 4; ++w) std::memcpy(&got[4 * w], &model_.data_o[w], 4);
    ++checked_;
    if (got != wanted_.front().sum) {
      ++wrong_;
      const Wanted& w = wanted_.front();
      const auto text = [](const Bytes& bytes) {
        std::uint64_t halves[2];
        std::memcpy(halves, bytes.data(), 16);
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%016lx %016lx", halves[1], halves[0]);
        return std::string(buffer);
      };
      if (wrong_ < 5)
        FAIL_CHECK("element " << static_cast<int>(w.type) << ", operation " << static_cast<int>(w.operation) << ": "
                              << text(w.a) << " and " << text(w.b) << " gave " << text(got) << " for " << text(w.sum));
    }
    wanted_.pop_front();
  }
  std::uint64_t checked() const { return checked_; }
  std::uint64_t wrong() const { return wrong_; }

 private:
  static constexpr std::size_t kLatency = 8;
  struct Wanted {
    Bytes sum, a, b;
    ReduceType type;
    ReduceOperation operation;
  };
  VerilatedContext context_;
  Vreduce_lanes model_{&context_};
  std::deque<Wanted> wanted_;
  std::uint64_t checked_ = 0, wrong_ = 0;
};

// b becomes what nearly cancels a, or is half of its last bit away: where sums lose many bits, and where they are
// rounded.
template <typename Bits>
void near(Bytes& b, const Bytes& a, unsigned fraction_bits, std::mt19937_64& random) {
  for (std::size_t i = 0; i < 16; i += sizeof(Bits)) {
    Bits x;
    std::memcpy(&x, &a[i], sizeof x);
    constexpr unsigned kTop = 8 * sizeof(Bits) - 1;
    Bits y;
    switch (random() % 3) {
      case 0: y = (x ^ Bits{1} << kTop) + static_cast<Bits>(random() % 5) - 2; break;
      case 1: y = static_cast<Bits>(x - (static_cast<Bits>(fraction_bits + random() % 4) << fraction_bits)); break;
      default: y = static_cast<Bits>((x ^ Bits{1} << kTop) - (static_cast<Bits>(random() % 3) << fraction_bits)); break;
    }
    std::memcpy(&b[i], &y, sizeof y);
  }
}

}  // namespace

TEST_CASE("reductions: each operation on each type is the host's, bit by bit") {
  const std::uint64_t words = given("EXANET_REDUCE_WORDS", 4000);
  std::mt19937_64 random(given("EXANET_REDUCE_SEED", 1));
  Lanes lanes;
  std::uint64_t pushed = 0;
  for (std::uint64_t i = 0; i < words; ++i)
    for (const ReduceType type : kTypes)
      for (const ReduceOperation operation : kOperations) {
        if (!is_legal(type, operation)) continue;
        const Bytes a = random_vector(type, 16, random);
        Bytes b = random_vector(type, 16, random);
        if (is_float(type) && random() % 2) {
          if (bytes_of(type) == 4)
            near<std::uint32_t>(b, a, 23, random);
          else
            near<std::uint64_t>(b, a, 52, random);
        }
        lanes.push(type, operation, a, b, random() % 16 == 0);
        ++pushed;
      }
  const Bytes zeros(16);
  for (int i = 0; i < 7; ++i) lanes.push(ReduceType::kInt32, ReduceOperation::kSum, zeros, zeros);
  CHECK(lanes.checked() == pushed);
  CHECK(lanes.wrong() == 0);
  MESSAGE(pushed << " words");
}

TEST_CASE("reductions: every pair of edges of floats") {
  std::mt19937_64 random(2);
  const auto edges = [](unsigned exponent_bits, unsigned fraction_bits) {
    std::vector<std::uint64_t> values;
    const std::uint64_t most = (std::uint64_t{1} << exponent_bits) - 1, ones = (std::uint64_t{1} << fraction_bits) - 1;
    for (const std::uint64_t exponent :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, most / 2, most / 2 + 1, most / 2 + fraction_bits,
          most / 2 + fraction_bits + 1, most / 2 + fraction_bits + 2, most - 1, most})
      for (const std::uint64_t fraction :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, ones / 2, ones / 2 + 1, ones - 1, ones})
        for (std::uint64_t sign : {0, 1})
          values.push_back(sign << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction);
    return values;
  };
  Lanes lanes;
  const auto all = [&](ReduceType type, const std::vector<std::uint64_t>& values) {
    for (const std::uint64_t x : values)
      for (const std::uint64_t y : values)
        for (const ReduceOperation operation : {ReduceOperation::kSum, ReduceOperation::kMin, ReduceOperation::kMax}) {
          Bytes a(16), b(16);
          const unsigned width = bytes_of(type);
          for (unsigned i = 0; i < 16; i += width) {
            std::memcpy(&a[i], &x, width);
            std::memcpy(&b[i], &y, width);
          }
          lanes.push(type, operation, a, b);
        }
  };
  all(ReduceType::kFloat32, edges(8, 23));
  all(ReduceType::kFloat64, edges(11, 52));
  CHECK(lanes.checked() > 100'000);
  CHECK(lanes.wrong() == 0);
}
