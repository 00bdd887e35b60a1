// SPDX-License-Identifier: Apache-2.0
// Which flow-rate packets does a source of ACC send, and when does a flow end?
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/nic/pacing/pacing.hpp"

using namespace exanet;

namespace {

struct AccSource {
  explicit AccSource(PacingParameters::AccMessages messages, std::uint32_t rise = 0) {
    PacingSetup setup = pacing_kind("acc").samples[0];
    setup.parameters.acc_messages = messages;
    setup.parameters.acc_rise_percent = rise;
    pacing = pacing_kind("acc").make(setup, 0);
  }
  std::vector<FlowRatePacket> sent(Time now) {
    std::vector<FlowRatePacket> packets;
    while (const auto packet = pacing->control(now)) packets.push_back(FlowRatePacket::of(packet->stamp));
    return packets;
  }
  std::uint64_t rate(Time now) { return pacing->allowance(1, now).bits_per_second; }
  std::unique_ptr<Pacing> pacing;
};

using Messages = PacingParameters::AccMessages;

}  // namespace

TEST_CASE("ACC: a flow's packets at its begin, with each period and at its end, by acc_messages") {
  for (const Messages messages : {Messages::kPeriods, Messages::kBegins, Messages::kBeginsAndEnds}) {
    AccSource source(messages);
    source.rate(Time::us(5));
    CHECK(source.sent(Time::us(5)).size() == (messages == Messages::kPeriods ? 0 : 1));
    const Time period = source.pacing->wake();
    CHECK((period > Time::us(20) && period < Time::us(21)));  // once the points have their shares
    CHECK(source.sent(period).size() == 1);
    // A flow that may send nothing for periods has not ended.
    CHECK(source.sent(source.pacing->wake()).size() == 1);
    CHECK(source.sent(source.pacing->wake()).size() == 1);
    source.pacing->ended(1, Time::us(65));
    const auto last = source.sent(Time::us(65));
    CHECK(last.size() == (messages == Messages::kBeginsAndEnds ? 1 : 0));
    for (const FlowRatePacket& packet : last) CHECK((packet.ends && packet.odd));
    CHECK(source.sent(source.pacing->wake()).empty());
    CHECK(source.pacing->wake() == Time::never());
  }
}

TEST_CASE("ACC: with Wait-to-rise a rate grows by increments that double") {
  AccSource source(Messages::kBegins, 5);
  const std::uint64_t full = source.rate(Time::us(5));
  const auto answer = [&](std::uint64_t rate) {
    source.pacing->heard({1, true, FlowRatePacket{1, rate / FlowRatePacket::kStep}.stamp()}, Time::us(6));
    return source.rate(Time::us(6)) * 100 / full;
  };
  CHECK(answer(full / 10) == 10);
  CHECK(answer(full) == 15);
  CHECK(answer(full) == 25);
  CHECK(answer(full) == 45);
  CHECK(answer(full / 10) == 10);
  CHECK(answer(full) == 15);
}
