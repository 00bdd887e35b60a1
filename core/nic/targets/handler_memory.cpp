// SPDX-License-Identifier: Apache-2.0
// The memory of an interface's HPUs: a packet that is written there is done with when its handlers are
// (core/nic/handlers). Nothing reads from it.
#include "core/nic/handlers/handler_units.hpp"
#include "core/nic/targets/memory_target.hpp"

namespace exanet {

namespace {

class HandlerMemory final : public MemoryTarget {
 public:
  explicit HandlerMemory(std::shared_ptr<HandlerUnits> units) : units_(std::move(units)) {}
  Time read(const MemoryAccess&, Time at) override { return at; }
  Time write(const MemoryAccess& access, Time at) override {
    return units_ ? units_->packet(access.transfer, access.bytes, at) : at;
  }
  bool streams() const override { return false; }

 private:
  std::shared_ptr<HandlerUnits> units_;  // null: the run has no handlers
};

}  // namespace

namespace memories {

MemoryKind handlers() {
  return {"handlers",
          "the memory of an interface's HPUs, whose handlers take each packet",
          {NiConfig()},
          [](const NiConfig& config, std::size_t) -> std::unique_ptr<MemoryTarget> {
            return std::make_unique<HandlerMemory>(config.handlers);
          }};
}

}  // namespace memories

}  // namespace exanet
