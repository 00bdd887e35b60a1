// SPDX-License-Identifier: Apache-2.0
// A simulated network between network interfaces of Linux: frames come from TAP devices, and go to them when the
// network brings them, as the host's clock goes.
//
// Contract: run() until stop(), from any thread; the interfaces' files are non-blocking and stay the caller's. What the
// kernel itself takes for a frame is on neither side counted: devices on no node show it (core/ethernet/fabric.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ethernet/fabric.hpp"
#include "core/network/config.hpp"
#include "core/nic/config.hpp"
#include "core/topology/topology.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/background_traffic.hpp"

namespace exanet {

struct BridgeConfig {
  EthernetConfig ethernet;
  std::vector<int> files;  // of the interfaces, as `ethernet` has devices
  std::vector<std::string> captures;  // files for what passes each; empty: none
  double dilation = 1;  // seconds of the host for a second of the network
  Time lag_bound = Time::us(10'000);  // in the host's time
  std::uint32_t kept_frames = 1'000'000;  // rows of frames that are kept, the first ones
};

template <typename V>
void visit(BridgeConfig& c, V&& v) {
  v("ethernet", c.ethernet);
  v("files", c.files);
  v("captures", c.captures);
  v("dilation", c.dilation);
  v("lag_bound_ps", c.lag_bound);
  v("kept_frames", c.kept_frames);
}

struct CarriedFrame {
  std::uint32_t from, to, bytes;
  Time sent, arrived, taken;
  std::int64_t lag_ns;  // when the host got it, after that was due
};

struct BridgeResult {
  Time finished;  // of the network
  std::int64_t wall_ns = 0, cpu_ns = 0, waited_ns = 0;  // waited: for a simulator that was behind
  Histogram lag;  // ps
  std::int64_t lag_sum_ns = 0, lag_most_ns = 0;
  std::uint64_t delivered = 0, refused = 0;  // refused: by the interface, as one that is down
  std::uint64_t events = 0, packets = 0;
  std::vector<CarriedFrame> frames;
  std::optional<BackgroundRecord> background;
};

class Bridge {
 public:
  // Throws ConfigError on what cannot be built.
  Bridge(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface,
         const std::optional<BackgroundConfig>& background, const BridgeConfig& config);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  bool run();  // throws ConfigError where an interface or a capture is gone
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  // Host's time that the clock has waited for the simulator, as a share of all; at any time, from any thread.
  double progress() const { return behind_.load(std::memory_order_relaxed); }

  const BridgeResult& result() const;
  const EthernetFabric& ethernet() const;

 private:
  class State;
  std::atomic<bool> stopped_{false};
  std::atomic<double> behind_{0};
  std::unique_ptr<State> state_;
};

}  // namespace exanet
