// SPDX-License-Identifier: Apache-2.0
// Carries out what ranks of a node exchange through memory: one event for each message or transfer. Model and limits:
// shared_memory_nic.hpp.
#include "core/nic/shared_memory/shared_memory_nic.hpp"

#include <utility>

#include "core/config/error.hpp"

namespace exanet {
namespace {

class SharedMemoryNic final : public Nic {
 public:
  SharedMemoryNic(std::unique_ptr<Nic> inner, EventQueue& events, const NiConfig& config, NicListener& listener,
                  std::size_t nodes)
      : inner_(std::move(inner)),
        events_(events),
        listener_(listener),
        latency_(config.shared_memory_latency),
        rate_bit_per_s_(config.shared_memory_rate_bit_per_s),
        last_message_(nodes) {
    on_done_ = events_.add_handler([](void* self, Time now, std::uint32_t id,
                                      std::uint64_t) { static_cast<SharedMemoryNic*>(self)->done(id, now); },
                                   this);
  }

  void post(const PacketizerMessage& m) override {
    if (m.src != m.dst || m.copies != 1) return inner_->post(m);
    Time& last = last_message_[m.src];
    last = max(last, events_.now() + cost(latency_ + copying(m.bytes)));
    begin(last, {m.user, kMessage, 0});
  }
  void post(const RdmaTransfer& t) override {
    if (t.src != t.dst || t.copies != 1) return inner_->post(t);
    const Kind kind = t.acknowledged ? kAcknowledged : kTransfer;
    if (t.part == RdmaTransfer::Part::kRequest) return begin(events_.now() + cost(latency_), {t.user, kind, 0});
    if (t.own.process >= copied_.size()) copied_.resize(t.own.process + 1);
    Time& copied = copied_[t.own.process];
    copied = max(copied, events_.now()) + cost(copying(t.bytes));
    begin(copied + cost(latency_), {t.user, kind, 0});
  }
  void doorbell(NodeId node) override { inner_->doorbell(node); }
  void set_zero_cost(bool zero_cost) override {
    zero_cost_ = zero_cost;
    inner_->set_zero_cost(zero_cost);
  }

  bool multicasts() const override { return inner_->multicasts(); }
  bool reduces() const override { return inner_->reduces(); }
  void post(const ReductionPacket& packet) override { inner_->post(packet); }
  bool has_trees() const override { return inner_->has_trees(); }
  void open_tree(NodeId node, std::uint8_t tree, const ReductionPlace& place) override {
    inner_->open_tree(node, tree, place);
  }
  void post(const ReductionCall& call) override { inner_->post(call); }

  const Network& network() const override { return inner_->network(); }
  FaultTarget& links() override { return inner_->links(); }
  std::uint64_t packets() const override { return inner_->packets(); }
  std::uint64_t payload_bytes() const override { return inner_->payload_bytes(); }
  PageStatistics pages() const override { return inner_->pages(); }
  ReliabilityStatistics reliability() const override { return inner_->reliability(); }
  void is_known_dead(NodeId node, NodeId by) override { inner_->is_known_dead(node, by); }
  std::vector<GatewayUse> gateways() const override { return inner_->gateways(); }
  std::uint64_t active() const override { return inner_->active() + active_; }

 private:
  enum Kind : std::uint8_t { kMessage, kTransfer, kAcknowledged };
  struct UnderWay {
    std::uint64_t user;
    Kind kind;
    std::uint32_t next;  // the next record that is not in use
  };

  Time cost(Time time) const { return zero_cost_ ? Time() : time; }
  Time copying(std::uint64_t bytes) const {
    const auto bits = static_cast<unsigned __int128>(bytes) * 8;
    return Time::ps(static_cast<std::int64_t>((bits * 1'000'000'000'000 + rate_bit_per_s_ - 1) / rate_bit_per_s_));
  }

  void begin(Time at, const UnderWay& what) {
    ++active_;
    events_.schedule(at, on_done_, under_way_.add(what));
  }
  void done(std::uint32_t id, Time now) {
    const UnderWay what = under_way_[id];
    under_way_.free(id);
    --active_;
    if (what.kind == kMessage) return listener_.message_completed(what.user, Status::kOk, now);
    listener_.transfer_completed(what.user, Status::kOk, now);
    if (what.kind == kAcknowledged) listener_.transfer_acknowledged(what.user, Status::kOk, now);
  }

  std::unique_ptr<Nic> inner_;
  EventQueue& events_;
  NicListener& listener_;
  const Time latency_;
  const std::uint64_t rate_bit_per_s_;
  bool zero_cost_ = false;
  std::vector<Time> last_message_;  // by node: when the latest one arrives
  std::vector<Time> copied_;  // by process: when it has copied all that it was given
  Pool<UnderWay, &UnderWay::next> under_way_;
  std::uint32_t on_done_ = 0;
  std::uint64_t active_ = 0;
};

}  // namespace

std::unique_ptr<Nic> with_shared_memory(std::unique_ptr<Nic> inner, EventQueue& events, const NiConfig& config,
                                        NicListener& listener, std::size_t nodes) {
  require(config.shared_memory_latency >= Time(), "ni.shared_memory_latency_ps",
          "shared_memory_latency must not be negative");
  require(config.shared_memory_latency == Time() || config.shared_memory_rate_bit_per_s > 0,
          "ni.shared_memory_latency_ps",
          "shared_memory_latency needs a shared_memory_rate: without one, ranks of a node use the interface");
  if (config.shared_memory_rate_bit_per_s == 0) return inner;
  return std::make_unique<SharedMemoryNic>(std::move(inner), events, config, listener, nodes);
}

}  // namespace exanet
