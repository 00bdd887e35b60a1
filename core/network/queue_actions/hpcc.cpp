// SPDX-License-Identifier: Apache-2.0
// The utilisation of links, stamped into packets: the largest on their way.
//
// Problem: HPCC's sources compute how loaded each link is from what each router stamps: its queue, the bytes that it
// has sent, the time. A stamp here is one word. Model: the router computes it, as in HPCC with PINT (Ben Basat et al.,
// PINT: Probabilistic In-band Network Telemetry, SIGCOMM 2020, section 3.3), and a packet keeps the largest: u =
// qlen/(B T) + txRate/B, and U moves towards u by tau/T, with tau the time since the last packet, T at most. T is
// `hpcc_round_trip`; txRate/B is the share of tau for which the line was busy, framing included. A stamp counts in
// 2^-20.
//
// Limits: the stamp is exact, where PINT compresses it to 8 bits.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/network/queue_actions/output_rates.hpp"
#include "core/network/queue_actions/queue_action.hpp"

namespace exanet {

namespace {

class Hpcc final : public QueueAction {
 public:
  explicit Hpcc(const QueueActionSetup& setup)
      : rates_(setup.config, setup.topology), trip_(static_cast<double>(setup.config.router.hpcc_round_trip.ps())) {}

  Verdict join(const OutputQueue& queue, Packet& packet) override {
    Output& output = outputs_[std::uint64_t{queue.node} << 16 | queue.port];
    const double elapsed = std::min(static_cast<double>((queue.now - output.last).ps()), trip_);
    if (elapsed > 0) {
      const double packet_ps = static_cast<double>(rates_.packet_time(queue.node, queue.port).ps());
      const double queued = packet_ps * queue.words / rates_.payload_words() / trip_;
      const double busy = static_cast<double>((queue.link.busy - output.busy).ps());
      const double sent = std::min(busy / static_cast<double>((queue.now - output.last).ps()), 1.0);
      output.load += elapsed / trip_ * (queued + sent - output.load);
      output.last = queue.now;
      output.busy = queue.link.busy;
    }
    packet.stamp = std::max(packet.stamp, static_cast<std::uint64_t>(std::llround(std::ldexp(output.load, 20))));
    return Verdict::kPass;
  }

 private:
  struct Output {
    Time last, busy;
    double load = 0;  // U
  };
  OutputRates rates_;
  double trip_;  // ps
  std::unordered_map<std::uint64_t, Output> outputs_;
};

RouterConfig sample(Time trip) {
  RouterConfig router;
  router.hpcc_round_trip = trip;
  return router;
}

}  // namespace

namespace queue_actions {

QueueActionKind hpcc() {
  return {"hpcc",
          "stamps packets with the largest utilisation of a link on their way, for HPCC",
          false,
          {sample(Time::us(13)), sample(Time::us(2))},
          [](const QueueActionSetup& setup) -> std::unique_ptr<QueueAction> {
            require(setup.config.router.hpcc_round_trip > Time(), "router.hpcc_round_trip_ps",
                    "hpcc_round_trip is 0: with 'queue_action: hpcc' give a little more than the longest round trip");
            return std::make_unique<Hpcc>(setup);
          }};
}

}  // namespace queue_actions

}  // namespace exanet
