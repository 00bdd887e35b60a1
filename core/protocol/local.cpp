// SPDX-License-Identifier: Apache-2.0
// Descriptors that stay at their own rank. What opens something (endpoint, region, receive) counts at once, so that
// whatever is posted after it finds it; what looks or closes waits for its time, so that it sees what has arrived by
// then.
#include <variant>

#include "core/protocol/state_machine.hpp"

namespace exanet {
namespace {

class Local final : public StateMachine {
 public:
  explicit Local(Context& context) : StateMachine(context) {
    on_execute_ = context.events.add_handler(
        [](void* self, Time, std::uint32_t id, std::uint64_t) { static_cast<Local*>(self)->execute(id); }, this);
  }

  std::vector<DescriptorKind> kinds() const override {
    using enum DescriptorKind;
    return {kEpOpen, kEpClose, kMemRegister, kMemDeregister, kReceive, kPeek, kCancel};
  }

  bool submit(RankId rank, const DescriptorHeader& d, Payload) override {
    switch (d.kind) {
      case DescriptorKind::kEpOpen: context_.matching.open(rank, d.ep, as<EpOpenDescriptor>(d).ep_kind); return true;
      case DescriptorKind::kMemRegister: {
        const auto& r = as<MemRegisterDescriptor>(d);
        context_.memory[rank].add(r.key, r.address, r.length, r.access);
        return true;
      }
      case DescriptorKind::kReceive: context_.matching.post(rank, as<ReceiveDescriptor>(d)); return true;
      case DescriptorKind::kPeek: later(rank, as<PeekDescriptor>(d)); return true;
      case DescriptorKind::kCancel: later(rank, as<CancelDescriptor>(d)); return true;
      case DescriptorKind::kEpClose: later(rank, as<EpCloseDescriptor>(d)); return true;
      case DescriptorKind::kMemDeregister: {
        const auto& r = as<MemDeregisterDescriptor>(d);
        later(rank, Deregistration{r, context_.memory[rank].serial(r.key)});
        return true;
      }
      default: return false;
    }
  }

 private:
  // A key may name another region by the time of its deregistration: the serial number says which one was meant.
  struct Deregistration : MemDeregisterDescriptor {
    Deregistration(const MemDeregisterDescriptor& d, std::uint64_t region)
        : MemDeregisterDescriptor(d), serial(region) {}
    std::uint64_t serial;
  };
  struct Waiting {
    RankId rank = 0;
    std::variant<PeekDescriptor, CancelDescriptor, EpCloseDescriptor, Deregistration> d;
  };

  template <typename D>
  static const D& as(const DescriptorHeader& d) {
    return static_cast<const D&>(d);
  }

  template <typename D>
  void later(RankId rank, const D& d) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(waiting_.size()));
      waiting_.emplace_back();
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    waiting_[id] = Waiting{rank, d};
    ++context_.live;
    const Time now = context_.events.now();
    context_.events.schedule(context_.zero_cost ? now : max(now, d.time), on_execute_, id);
  }

  void execute(std::uint32_t id) {
    const Waiting waiting = waiting_[id];
    carry_out(waiting);
    free_.push_back(id);
    --context_.live;
  }

  void carry_out(const Waiting& waiting) {
    const RankId rank = waiting.rank;
    if (const auto* peek = std::get_if<PeekDescriptor>(&waiting.d))
      context_.matching.peek(rank, *peek);
    else if (const auto* cancel = std::get_if<CancelDescriptor>(&waiting.d))
      context_.matching.cancel(rank, *cancel);
    else if (const auto* close = std::get_if<EpCloseDescriptor>(&waiting.d))
      context_.matching.close(rank, close->ep);
    else if (const auto* gone = std::get_if<Deregistration>(&waiting.d))
      context_.memory[rank].remove(gone->key, gone->serial);
  }

  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> free_;
  std::uint32_t on_execute_;
};

}  // namespace

std::unique_ptr<StateMachine> make_local(Context& context) { return std::make_unique<Local>(context); }

}  // namespace exanet
