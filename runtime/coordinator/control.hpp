// SPDX-License-Identifier: Apache-2.0
// What is said of a run while it goes on, by whichever process: that it is to stop, and why; that a rank has ended;
// what has failed; how far it is. All of it lies in the shared region, so the simulator and who watches over the run
// need not be one process.
#pragma once

#include <cstdint>
#include <string>

#include "core/units/time.hpp"
#include "runtime/coordinator/region.hpp"

namespace exanet {

class Control {
 public:
  explicit Control(const Region& region) : region_(region) {}

  void stop(const std::string& reason);  // the first reason counts
  bool stopping() const { return __atomic_load_n(&region_->stopping, __ATOMIC_ACQUIRE) != 0; }
  std::string reason() const;  // empty: none
  void failed(const std::string& what);  // an operation, on the network: the first one is remembered; simulator
  std::string failure() const;  // empty: none
  void rank_exited(std::uint32_t rank, int status);  // negative: killed by that signal; the first end counts
  std::uint32_t exited() const { return __atomic_load_n(&region_->exited, __ATOMIC_ACQUIRE); }

  struct Progress {
    Time now;
    std::uint64_t messages, packets, events;
    std::uint32_t phase, attached, exited;
  };
  Progress progress() const;

 private:
  void call();

  const Region& region_;
};

}  // namespace exanet
