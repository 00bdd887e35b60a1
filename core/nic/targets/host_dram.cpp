// SPDX-License-Identifier: Apache-2.0
// Host DRAM: a fixed time to the first word of a read and behind the last word of a write, at any rate and however many
// are under way. The constants are the machine file's `memory_read` and `memory_write`.
#include "core/nic/targets/memory_target.hpp"

namespace exanet {

namespace {

class HostDram final : public MemoryTarget {
 public:
  explicit HostDram(const NiConfig& config) : read_(config.memory_read), write_(config.memory_write) {}
  Time read(const MemoryAccess&, Time at) override { return at + read_; }
  Time write(const MemoryAccess&, Time at) override { return at + write_; }

 private:
  Time read_, write_;
};

NiConfig sample() {
  NiConfig config;
  config.memory_read = Time::ns(121);
  config.memory_write = Time::ns(61);
  return config;
}

}  // namespace

namespace memories {

MemoryKind host_dram() {
  return {"host-dram",
          "the host's memory: `memory_read` and `memory_write` of the machine file, at the rate of the port",
          {sample(), NiConfig()},
          [](const NiConfig& config, std::size_t) -> std::unique_ptr<MemoryTarget> {
            return std::make_unique<HostDram>(config);
          }};
}

}  // namespace memories

}  // namespace exanet
