// SPDX-License-Identifier: Apache-2.0
// The actions on one figure of a queue, how many words wait in it: marks, trims or drops at a threshold, and a stamp.
//
// Explicit congestion notification (ECN): a packet that joins a queue of the threshold or more is marked, and stays so.
// The threshold is one step, as DCTCP's K (Alizadeh et al., SIGCOMM 2010); a ramp with a probability is another action.
// Trimming cuts it to its header, as NDP does (Handley et al., SIGCOMM 2017); dropping loses it. Both leave
// acknowledgements and other packets without data alone. The stamp is the deepest queue on the way.
#include <algorithm>

#include "core/config/error.hpp"
#include "core/network/queue_actions/queue_action.hpp"

namespace exanet {

namespace {

class Ecn final : public QueueAction {
 public:
  explicit Ecn(std::uint32_t threshold) : threshold_(threshold) {}
  Verdict join(const OutputQueue& queue, Packet& packet) override {
    if (queue.words >= threshold_) packet.notes |= Packet::kCongested;
    return Verdict::kPass;
  }

 private:
  std::uint32_t threshold_;
};

template <QueueAction::Verdict kVerdict>
class Cut final : public QueueAction {
 public:
  explicit Cut(std::uint32_t threshold) : threshold_(threshold) {}
  Verdict join(const OutputQueue& queue, Packet& packet) override {
    const bool data = packet.payload_bytes > 0 && (packet.notes & Packet::kTrimmed) == 0;
    return data && queue.words >= threshold_ ? kVerdict : Verdict::kPass;
  }

 private:
  std::uint32_t threshold_;
};

class Depth final : public QueueAction {
 public:
  Verdict join(const OutputQueue& queue, Packet& packet) override {
    packet.stamp = std::max<std::uint64_t>(packet.stamp, queue.words);
    return Verdict::kPass;
  }
};

RouterConfig sample(std::int64_t threshold) {
  RouterConfig router;
  router.queue_threshold_words = threshold;
  return router;
}

template <class Action>
QueueActionKind at_threshold(const char* name, const char* help, bool discards) {
  return {
      name, help, discards, {sample(1), sample(64)}, [](const QueueActionSetup& setup) -> std::unique_ptr<QueueAction> {
        return std::make_unique<Action>(require_in_range(setup.config.router.queue_threshold_words, 1, 1 << 24,
                                                         "router.queue_threshold_words", "queue_threshold"));
      }};
}

}  // namespace

namespace queue_actions {

QueueActionKind ecn() { return at_threshold<Ecn>("ecn", "marks what joins a queue of `queue_threshold`", false); }
QueueActionKind trim() {
  return at_threshold<Cut<QueueAction::Verdict::kTrim>>("trim", "cuts what joins such a queue to its header", true);
}
QueueActionKind drop() {
  return at_threshold<Cut<QueueAction::Verdict::kDrop>>("drop", "drops what joins such a queue", true);
}
QueueActionKind depth() {
  return {"depth",
          "stamps packets with the words of the deepest queue on their way",
          false,
          {RouterConfig()},
          [](const QueueActionSetup&) -> std::unique_ptr<QueueAction> { return std::make_unique<Depth>(); }};
}

}  // namespace queue_actions

}  // namespace exanet
