// SPDX-License-Identifier: Apache-2.0
// Admission at an injection port: the packets that no network takes, and the calls that are due to a network interface
// whose packets were refused.
#pragma once

#include <cstdint>
#include <utility>

#include "core/network/network.hpp"
#include "core/network/timing.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

// Payload words of a packet that is handed over at `now`, which has been checked to come from and go to an endpoint, or
// to a box where the network has `multicast`, and to be no longer than any may be.
inline std::uint32_t checked_payload_words(const Packet& packet, std::uint32_t endpoints, std::uint32_t intra_ports,
                                           const RouterTiming& router, Time now, bool multicast = false) {
  EXANET_CHECK(packet.src < endpoints && (packet.dst < endpoints || (multicast && is_multicast(packet.dst))) &&
                   packet.intra_port < intra_ports,
               "packet from or to nowhere", now.ps(), packet.src, packet.dst);
  const std::uint32_t words = router.payload_words(packet.payload_bytes);
  EXANET_CHECK(words <= router.most_payload_words, "payload above the maximum", now.ps(), packet.payload_bytes,
               packet.src);
  return words;
}

// Numbers the packets that an injection port takes at one time (draw_of()).
class Numbering {
 public:
  std::uint16_t next(Time now) {
    number_ = now == last_ ? static_cast<std::uint16_t>(number_ + 1) : std::uint16_t{0};
    last_ = now;
    return number_;
  }

 private:
  Time last_ = Time::never();
  std::uint16_t number_ = 0;
};

// Calls ready() as often as packets of this class have been refused.
inline void call_ready(const PacketSink& sink, std::uint32_t refused, NodeId node, std::uint8_t intra_port,
                       std::uint8_t priority, Time now) {
  for (std::uint32_t i = 0; i < refused && sink.ready != nullptr; ++i)
    sink.ready(sink.self, node, intra_port, priority, now);
}

// Calls ready() for the classes whose largest refused packet fits by now, priority packets first. Contract of `Port`:
// refused[] counts refused packets by class, need[] is the size of the largest of them; fits(priority, need) is asked
// when the calls of the class before have been made.
template <typename Port, typename Fits>
void offer_space(const PacketSink& sink, Port& port, NodeId node, std::uint8_t intra_port, Time now, Fits fits) {
  for (const std::uint8_t priority : {std::uint8_t{1}, std::uint8_t{0}}) {
    if (port.refused[priority] == 0 || !fits(priority, port.need[priority])) continue;
    const std::uint32_t calls = std::exchange(port.refused[priority], 0u);
    port.need[priority] = 0;
    call_ready(sink, calls, node, intra_port, priority, now);
  }
}

}  // namespace exanet
