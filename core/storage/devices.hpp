// SPDX-License-Identifier: Apache-2.0
// Devices that store: what a request to one takes.
//
// Model: a device serves as many requests at once as its queue is deep; the others wait in the order in which they
// came. Each takes the latency, side by side, and then its bytes at the device's rate, one request after the other. So
// a request alone takes its latency and its bytes over the rate, and many together take the longer of both.
//
// Limits: a request is moved whole before the next one's bytes; there is no cache in the device, no erasing of blocks,
// and no difference between near and far addresses.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "core/engine/event_queue.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct DeviceTiming {
  Time read_latency, write_latency;
  std::uint64_t read_rate_bit_per_s, write_rate_bit_per_s;
  std::uint32_t queue_depth;
};

struct DeviceRequest {
  bool writes = false;
  std::uint64_t bytes = 0;
  std::uint32_t number = 0;  // of whoever asks
};

// All devices of one kind. Each exists from its first request on.
class Devices {
 public:
  // `done(number, now)`: that request is over. `events` outlives this.
  Devices(EventQueue& events, const DeviceTiming& timing, std::function<void(std::uint32_t, Time)> done);
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  void submit(std::uint32_t device, const DeviceRequest& request, Time now);

 private:
  struct Device {
    std::deque<DeviceRequest> waiting;  // for a place in the queue
    std::deque<DeviceRequest> ready;  // for their bytes; the first one's move
    std::uint32_t served = 0;
  };
  struct Begun {  // its latency runs
    std::uint32_t device;
    DeviceRequest request;
  };

  void begin(std::uint32_t number, Device& device, const DeviceRequest& request, Time now);
  void latency_over(std::uint32_t begun, Time now);
  void move_first(std::uint32_t number, const Device& device, Time now);
  void moved(std::uint32_t number, Time now);

  EventQueue& events_;
  const DeviceTiming timing_;
  const std::function<void(std::uint32_t, Time)> done_;
  std::map<std::uint32_t, Device> devices_;
  std::vector<Begun> begun_;
  std::vector<std::uint32_t> free_;
  std::uint32_t on_latency_, on_moved_;
};

}  // namespace exanet
