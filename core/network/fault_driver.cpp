// SPDX-License-Identifier: Apache-2.0
#include "core/network/fault_driver.hpp"

#include <utility>
#include <vector>

namespace exanet {

FaultDriver::FaultDriver(FaultTarget& network, Topology& topology, FaultPlan plan, Time reaction)
    : network_(network),
      topology_(topology),
      plan_(std::move(plan)),
      reaction_(reaction),
      states_(topology),
      followed_(topology) {
  for (const FaultChange& change : plan_.changes())
    if (change.lossy) set_loss(change, LinkLoss(), Time());  // whoever cannot says so now
}

Time FaultDriver::next() const {
  const auto& changes = plan_.changes();
  const Time change = done_ < changes.size() ? changes[done_].at : Time::never();
  const Time routes = topology_.follows() && noticed_ < done_ ? changes[noticed_].at + reaction_ : Time::never();
  return min(change, routes);
}

void FaultDriver::apply(Time now) {
  const auto& changes = plan_.changes();
  for (; done_ < changes.size() && changes[done_].at <= now; ++done_)
    if (changes[done_].lossy)
      set_loss(changes[done_], changes[done_].loss, now);
    else
      change(changes[done_], now);
  bool routes_change = false;
  for (; topology_.follows() && noticed_ < done_ && changes[noticed_].at + reaction_ <= now; ++noticed_) {
    if (changes[noticed_].lossy) continue;
    followed_.change(topology_, changes[noticed_].node, changes[noticed_].port, changes[noticed_].up);
    routes_change = true;
  }
  if (!routes_change) return;
  network_.before_routes_change();
  topology_.follow(followed_);
}

void FaultDriver::run_on(EventQueue& events) {
  events_ = &events;
  event_ = events.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t) {
        FaultDriver& driver = *static_cast<FaultDriver*>(self);
        driver.apply(now);
        if (driver.next() != Time::never()) driver.events_->schedule(driver.next(), driver.event_, 0);
      },
      this);
  if (next() != Time::never()) events.schedule(max(next(), events.now()), event_, 0);
}

// Reports to the network the links that work now and did not, or the reverse.
void FaultDriver::change(const FaultChange& change, Time now) {
  const bool whole = change.port == LinkStates::kNode;
  const std::uint16_t first = whole ? 0 : change.port,
                      end = whole ? topology_.port_count(change.node) : static_cast<std::uint16_t>(first + 1);
  std::vector<bool> worked;
  for (std::uint16_t port = first; port < end; ++port) worked.push_back(states_.works(topology_, change.node, port));
  states_.change(topology_, change.node, change.port, change.up);
  for (std::uint16_t port = first; port < end; ++port) {
    const bool works = states_.works(topology_, change.node, port);
    if (works != worked[port - first]) network_.set_link({change.node, port}, works, now);
  }
}

void FaultDriver::set_loss(const FaultChange& change, const LinkLoss& loss, Time now) {
  const bool whole = change.port == LinkStates::kNode;
  const std::uint16_t first = whole ? 0 : change.port,
                      end = whole ? topology_.port_count(change.node) : static_cast<std::uint16_t>(first + 1);
  for (std::uint16_t port = first; port < end; ++port)
    if (topology_.neighbour(change.node, port).node != kNoNode) network_.set_loss({change.node, port}, loss, now);
}

}  // namespace exanet
