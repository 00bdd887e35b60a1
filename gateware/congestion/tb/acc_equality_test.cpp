// SPDX-License-Identifier: Apache-2.0
// ACC's contention point and rate limiter, and their models: the same outputs in each cycle of drawn events.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

#include "Vacc_limiter.h"
#include "Vacc_point.h"
#include "core/network/queue_actions/contention_point.hpp"
#include "core/nic/pacing/rate_limiter.hpp"
#include "gateware/tb/long.hpp"
#include "verilated.h"

using namespace exanet;
using namespace exanet::gateware;

namespace {

// Anything up to `most`, often a small number, a power of two or one next to it, or the largest.
std::uint64_t drawn(std::mt19937_64& random, std::uint64_t most) {
  const std::uint64_t power = std::uint64_t{1} << random() % 28;
  switch (random() % 4) {
    case 0: return std::min(most, power + random() % 3 - 1);
    case 1: return random() % (std::min<std::uint64_t>(most, power) + 1);
    case 2: return most - random() % std::min<std::uint64_t>(most + 1, 4);
    default: return random() % (most + 1);
  }
}

template <typename Model>
void clock(Model& model) {
  for (const CData level : {CData{0}, CData{1}}) {
    model.clk_i = level;
    model.eval();
  }
}

// A point with a link of so many steps, and its model.
class Points {
 public:
  Points(std::uint64_t capacity, std::uint64_t seed) : random_(seed), capacity_(capacity), share_(capacity) {
    point_.capacity_i = static_cast<IData>(capacity);
    point_.rst_ni = 0;
    clock(point_);
    point_.rst_ni = 1;
    clock(point_);
  }
  ~Points() { point_.final(); }

  // Until so many FRPs have come; `busy` of 256 cycles bring one, pulses are up to `apart` cycles apart.
  void run(std::uint64_t events, unsigned busy, unsigned apart) {
    std::uint64_t left = 1 + random_() % apart;
    for (const std::uint64_t until = passed + events; passed < until;) {
      step(--left == 0, random_() % 256 < busy);
      if (left == 0) left = 1 + random_() % apart;
    }
  }

  std::uint64_t passed = 0, pulses = 0, shares = 0, wrong = 0;

 private:
  // A cycle of both. What the source offers and the next stage takes is drawn; an offer stays until it is taken.
  void step(bool pulse, bool offers) {
    if (!point_.frp_valid_i && offers) offer();
    point_.pulse_i = pulse;
    point_.frp_ready_i = random_() % 8 != 0;
    point_.clk_i = 0;
    point_.eval();
    // The model's cycle.
    if (evaluates_ > 0 && --evaluates_ == 0) {
      const std::uint64_t before = share_.share();
      share_.take();
      shares += share_.share() != before;
    }
    wrong += point_.share_o != share_.share();
    wrong += point_.frp_valid_o != held_.has_value() || (held_ && point_.explicit_o != *held_);
    if (held_ && point_.frp_ready_i) held_.reset();
    wrong += point_.frp_ready_o != !held_.has_value();
    if (pulse) {
      share_.pulse();
      evaluates_ = FairShare::kEvaluationCycles;
      ++pulses;
      odd_ = !odd_;
    }
    if (point_.frp_valid_i && point_.frp_ready_o) {
      FlowRatePacket packet{point_.rate_i, point_.explicit_i, false, point_.ends_i != 0, point_.odd_i != 0};
      share_.pass(packet);
      held_ = packet.explicit_rate;
      ++passed;
    }
    const bool taken = point_.frp_valid_i && point_.frp_ready_o;
    point_.clk_i = 1;
    point_.eval();
    if (taken) point_.frp_valid_i = 0;
  }
  void offer() {
    const std::uint64_t share = share_.share();
    point_.frp_valid_i = 1;
    // About the share as a flow that is bound here has it, below, or anything.
    const std::uint64_t near = share - std::min(share, share / 256) + random_() % (share / 128 + 3);
    const std::uint64_t rate =
        random_() % 2 == 0 ? near : drawn(random_, random_() % 2 == 0 ? share : FlowRatePacket::kMost);
    point_.rate_i = static_cast<IData>(std::min(rate, FlowRatePacket::kMost));
    point_.explicit_i =
        static_cast<IData>(random_() % 2 == 0 ? FlowRatePacket::kMost : drawn(random_, FlowRatePacket::kMost));
    point_.odd_i = odd_ != (random_() % 16 == 0);
    point_.ends_i = random_() % 8 == 0;
  }

  std::mt19937_64 random_;
  std::uint64_t capacity_;
  FairShare share_;
  VerilatedContext context_;
  Vacc_point point_{&context_};
  std::optional<std::uint64_t> held_;  // in the register
  std::int64_t evaluates_ = 0;  // cycles until the share is there
  bool odd_ = false;
};

}  // namespace

TEST_CASE("congestion: contention point and model agree in each cycle") {
  const std::uint64_t events = given("EXANET_ACC_EVENTS", in_full() ? 1'000'000 : 100'000);
  std::mt19937_64 random{1};
  std::uint64_t passed = 0, pulses = 0, shares = 0;
  const std::uint64_t capacities[] = {1, 2, 99'000, 990'000, 7'920'000, FlowRatePacket::kMost};
  for (const std::uint64_t capacity : capacities)
    for (const unsigned apart : {100u, 400u, 3125u}) {  // the first interrupts evaluations
      CAPTURE(capacity);
      CAPTURE(apart);
      Points points{capacity, random()};
      points.run(events / 18 + 1, random() % 2 == 0 ? 32 : 256, apart);
      CHECK(points.wrong == 0);
      passed += points.passed;
      pulses += points.pulses;
      shares += points.shares;
    }
  MESSAGE(passed << " flow-rate packets, " << pulses << " pulses, " << shares << " changes of a share");
  CHECK(passed >= events);
  CHECK(shares > events / 500);
}

TEST_CASE("congestion: a contention point's counts end at their largest values") {
  // 70,000 FRPs in one period: more than 16 bits count, and rates whose sum no 28 bits hold.
  for (const std::uint64_t capacity : {std::uint64_t{100'000}, FlowRatePacket::kMost}) {
    Points points{capacity, 3};
    points.run(70'000, 256, 200'000);
    points.run(100, 256, 100);
    CHECK(points.wrong == 0);
  }
}

namespace {

constexpr std::uint64_t kByteCost = 12'500;  // 8 bit over 100 kbit/s x 6.4 ns

// A limiter and its model.
class Limiters {
 public:
  explicit Limiters(std::uint64_t seed) : random_(seed) {
    limiter_.rst_ni = 0;
    clock(limiter_);
    limiter_.rst_ni = 1;
  }
  ~Limiters() { limiter_.final(); }

  // A flow of so many cycles. The port's rate is that of a real link, or anything.
  void flow(std::int64_t cycles, bool waits, bool rises) {
    const std::uint64_t full =
        random_() % 2 == 0 ? 100'000 * (1 + random_() % 80) : 1 + drawn(random_, FlowRatePacket::kMost - 1);
    const AccRate::Setup setup{full, 1 + drawn(random_, full - 1), waits, rises ? 1 + drawn(random_, full - 1) : 0};
    limiter_.full_i = static_cast<IData>(setup.full);
    limiter_.first_i = static_cast<IData>(setup.first);
    limiter_.waits_i = waits;
    limiter_.rise_i = static_cast<IData>(setup.rise);
    limiter_.begin_i = 1;
    limiter_.answer_i = limiter_.sent_i = 0;
    clock(limiter_);
    limiter_.begin_i = 0;
    rate_.emplace(setup);
    timing_ = {};
    for (const std::int64_t until = now_ + cycles; now_ < until; ++now_) step();
  }

  std::uint64_t packets = 0, answers = 0, wrong = 0;

 private:
  void step() {
    timing_.set_rate(rate_->paid_rate(), now_);
    const bool may = timing_.next(now_) == now_;
    limiter_.clk_i = 0;
    limiter_.eval();
    wrong +=
        limiter_.may_send_o != may || limiter_.rate_o != rate_->rate() || limiter_.paid_rate_o != rate_->paid_rate();
    const bool sends = may && random_() % 4 != 0, hears = random_() % 64 == 0;
    limiter_.sent_i = sends;
    limiter_.bytes_i = static_cast<SData>(random_() % 8 == 0 ? random_() % 8192 : 1 + random_() % 16);
    limiter_.answer_i = hears;
    limiter_.initial_i = random_() % 2 == 0;
    limiter_.explicit_i = static_cast<IData>(drawn(random_, FlowRatePacket::kMost));
    if (sends) timing_.sent(limiter_.bytes_i * kByteCost, now_);
    if (hears) rate_->answered({0, limiter_.explicit_i, limiter_.initial_i != 0});
    packets += sends;
    answers += hears;
    limiter_.eval();
    limiter_.clk_i = 1;
    limiter_.eval();
  }

  std::mt19937_64 random_;
  VerilatedContext context_;
  Vacc_limiter limiter_{&context_};
  std::optional<AccRate> rate_;
  RateLimiter timing_;
  std::int64_t now_ = 0;
};

}  // namespace

TEST_CASE("congestion: rate limiter and model agree in each cycle") {
  const std::uint64_t events = given("EXANET_ACC_EVENTS", in_full() ? 1'000'000 : 100'000);
  Limiters limiters{2};
  for (unsigned flow = 0; limiters.packets + limiters.answers < events; ++flow)
    limiters.flow(5000, flow % 2 == 0, flow % 3 == 0);
  MESSAGE(limiters.packets << " packets, " << limiters.answers << " answers");
  CHECK(limiters.packets > events / 4);
  CHECK(limiters.wrong == 0);
}
