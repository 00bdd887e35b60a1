// SPDX-License-Identifier: Apache-2.0
// Priority flow control: a receiver pauses a lane when it holds so many words, and lets it go on when it holds few
// enough. A pause is felt at the sender a packet, a pause frame and the link's latency later, since a frame goes
// between packets; until then words come in, for which the lane has headroom: pause_headroom_words() says how many, and
// a machine with less is refused.
#include <algorithm>

#include "core/network/cut_through/state.hpp"
#include "core/units/check.hpp"

namespace exanet {

using namespace cut_through_state;

void Part::fill(Time now, std::uint32_t port, std::uint8_t lane, std::int32_t words) {
  Filling& filling = net_.fillings_[port];
  filling.words[lane] += words;
  filling.most = std::max(filling.most, filling.words[lane]);
  EXANET_CHECK(filling.words[lane] <= net_.lane_words_, "a packet came in for which there is no space", now.ps(), port,
               lane);
  if (filling.words[lane] >= net_.config_.pause_words && (net_.ports_[port].pausing >> lane & 1) == 0)
    send_pause(now, port, lane, true);
}

void Part::drain(Time now, std::uint32_t port, std::uint8_t lane, std::int32_t words) {
  net_.fillings_[port].words[lane] -= words;
  if (net_.fillings_[port].words[lane] <= net_.config_.resume_words && (net_.ports_[port].pausing >> lane & 1) != 0)
    send_pause(now, port, lane, false);
}

void Part::send_pause(Time now, std::uint32_t port, std::uint8_t lane, bool pause) {
  Port& receiver = net_.ports_[port];
  receiver.pausing = static_cast<std::uint8_t>(receiver.pausing ^ 1u << lane);
  pauses_sent_ += pause;
  events_.schedule(now + net_.pause_delay_[net_.ports_[receiver.far].link_class], pause_event_, receiver.far,
                   std::uint64_t{lane} << 1 | pause);
}

void Part::receive_pause(Time now, std::uint32_t port, std::uint8_t lane, bool pause) {
  Port& sender = net_.ports_[port];
  const auto bit = static_cast<std::uint8_t>(1u << lane);
  sender.paused = static_cast<std::uint8_t>(pause ? sender.paused | bit : sender.paused & ~bit);
  link_changes(port, now);
  if (!pause) wake(net_.node_of_[port], now);
}

}  // namespace exanet
