// SPDX-License-Identifier: Apache-2.0
// Explicit congestion notification with a ramp: the longer the queue, the more of the packets that join it are marked.
//
// Model: RED's marks on the present length of the queue, as DCQCN uses them (Zhu et al., SIGCOMM 2015, figure 5): none
// up to `queue_threshold`, Kmin; then a probability that grows in proportion up to `marking_probability`, Pmax, at
// `queue_threshold_max`, Kmax; all packets beyond. Where the queue also has a limit, data packets that would join one
// as long are dropped, or cut to their headers, which then go before data (Handley et al., Re-architecting datacenter
// networks and stacks for low latency and high performance (NDP), SIGCOMM 2017). A draw is a hash of the seed, the
// output and the number of the packet there, so that it is the same whatever runs beside it and on however many
// threads.
#include <unordered_map>

#include "core/config/error.hpp"
#include "core/engine/random.hpp"
#include "core/network/queue_actions/queue_action.hpp"

namespace exanet {

namespace {

class EcnRamp final : public QueueAction {
 public:
  EcnRamp(std::uint32_t least, std::uint32_t most, double probability, std::uint64_t seed, std::uint32_t limit,
          Verdict beyond)
      : least_(least), most_(most), probability_(probability), seed_(seed), limit_(limit), beyond_(beyond) {}

  Verdict join(const OutputQueue& queue, Packet& packet) override {
    const std::uint64_t output = std::uint64_t{queue.node} << 16 | queue.port;
    const std::uint64_t number = numbers_[output]++;
    if (queue.words >= limit_ && packet.payload_bytes > 0 && (packet.notes & Packet::kTrimmed) == 0) return beyond_;
    if (queue.words <= least_) return Verdict::kPass;
    const double p = queue.words >= most_ ? 1 : probability_ * (queue.words - least_) / (most_ - least_);
    if (p >= 1 || Random(seed_ ^ (number * 0xd1342543de82ef95u), output).unit() < p) packet.notes |= Packet::kCongested;
    return Verdict::kPass;
  }

 private:
  std::uint32_t least_, most_;
  double probability_;
  std::uint64_t seed_;
  std::uint32_t limit_;
  Verdict beyond_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // of the next packet, by output
};

RouterConfig sample(std::int64_t least, std::int64_t most, std::int64_t percent) {
  RouterConfig router;
  router.queue_threshold_words = least;
  router.queue_threshold_max_words = most;
  router.marking_probability_percent = percent;
  return router;
}

RouterConfig limited(std::int64_t least, std::int64_t most, std::int64_t limit) {
  RouterConfig router = sample(least, most, 100);
  router.queue_limit_words = limit;
  return router;
}

template <QueueAction::Verdict kBeyond>
std::unique_ptr<QueueAction> make(const QueueActionSetup& setup) {
  constexpr bool kUnlimited = kBeyond == QueueAction::Verdict::kPass;
  const RouterConfig& router = setup.config.router;
  const auto least =
      require_in_range(router.queue_threshold_words, 1, 1 << 24, "router.queue_threshold_words", "queue_threshold");
  const auto most = require_in_range(router.queue_threshold_max_words, least + 1, 1 << 24,
                                     "router.queue_threshold_max_words", "queue_threshold_max");
  const auto percent = require_in_range(router.marking_probability_percent, 1, 100,
                                        "router.marking_probability_percent", "marking_probability");
  const std::uint32_t limit =
      kUnlimited ? UINT32_MAX
                 : static_cast<std::uint32_t>(require_in_range(router.queue_limit_words, most, 1 << 24,
                                                               "router.queue_limit_words", "queue_limit"));
  return std::make_unique<EcnRamp>(least, most, static_cast<double>(percent) / 100, setup.config.seed, limit, kBeyond);
}

}  // namespace

namespace queue_actions {

QueueActionKind ecn_ramp() {
  return {"ecn-ramp",
          "marks what joins a queue longer than `queue_threshold`, the more of it the longer, all from "
          "`queue_threshold_max` on",
          false,
          {sample(1, 64, 100), sample(8, 100, 1)},
          make<QueueAction::Verdict::kPass>};
}

QueueActionKind ecn_trim() {
  return {"ecn-trim",
          "marks as ecn-ramp does, and cuts what joins a queue of `queue_limit` to its header, which goes before data",
          true,
          {limited(1, 8, 64), limited(8, 100, 100)},
          make<QueueAction::Verdict::kTrimFirst>};
}

QueueActionKind ecn_drop() {
  return {"ecn-drop",
          "marks as ecn-ramp does, and drops what joins a queue of `queue_limit`",
          true,
          {limited(1, 8, 64), limited(8, 100, 100)},
          make<QueueAction::Verdict::kDrop>};
}

}  // namespace queue_actions

}  // namespace exanet
