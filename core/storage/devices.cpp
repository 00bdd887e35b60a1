// SPDX-License-Identifier: Apache-2.0
// Takes requests to devices through their queues, latencies and transfers (devices.hpp has the model).
#include "core/storage/devices.hpp"

#include <utility>

#include "core/units/moving_time.hpp"

namespace exanet {

Devices::Devices(EventQueue& events, const DeviceTiming& timing, std::function<void(std::uint32_t, Time)> done)
    : events_(events), timing_(timing), done_(std::move(done)) {
  on_latency_ = events_.add_handler([](void* self, Time now, std::uint32_t begun,
                                       std::uint64_t) { static_cast<Devices*>(self)->latency_over(begun, now); },
                                    this);
  on_moved_ = events_.add_handler([](void* self, Time now, std::uint32_t device,
                                     std::uint64_t) { static_cast<Devices*>(self)->moved(device, now); },
                                  this);
}

void Devices::submit(std::uint32_t device, const DeviceRequest& request, Time now) {
  Device& d = devices_[device];
  if (d.served < timing_.queue_depth)
    begin(device, d, request, now);
  else
    d.waiting.push_back(request);
}

void Devices::begin(std::uint32_t number, Device& device, const DeviceRequest& request, Time now) {
  ++device.served;
  std::uint32_t place = static_cast<std::uint32_t>(begun_.size());
  if (free_.empty())
    begun_.emplace_back();
  else
    place = free_.back(), free_.pop_back();
  begun_[place] = {number, request};
  events_.schedule(now + (request.writes ? timing_.write_latency : timing_.read_latency), on_latency_, place);
}

void Devices::latency_over(std::uint32_t begun, Time now) {
  const Begun b = begun_[begun];
  free_.push_back(begun);
  Device& device = devices_[b.device];
  device.ready.push_back(b.request);
  if (device.ready.size() == 1) move_first(b.device, device, now);
}

void Devices::move_first(std::uint32_t number, const Device& device, Time now) {
  const DeviceRequest& request = device.ready.front();
  const std::uint64_t rate = request.writes ? timing_.write_rate_bit_per_s : timing_.read_rate_bit_per_s;
  events_.schedule(now + moving_time(request.bytes, rate), on_moved_, number);
}

void Devices::moved(std::uint32_t number, Time now) {
  Device& device = devices_[number];
  const DeviceRequest over = device.ready.front();
  device.ready.pop_front();
  --device.served;
  if (!device.ready.empty()) move_first(number, device, now);
  if (!device.waiting.empty()) {
    const DeviceRequest next = device.waiting.front();
    device.waiting.pop_front();
    begin(number, device, next, now);
  }
  done_(over.number, now);
}

}  // namespace exanet
