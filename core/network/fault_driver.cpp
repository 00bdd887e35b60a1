// SPDX-License-Identifier: Apache-2.0
#include "core/network/fault_driver.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/config/error.hpp"

namespace exanet {

namespace {

constexpr Time kHeldStep = Time::us(1);  // after which it looks whether it may go on
constexpr std::size_t kMostKinds = 60;  // of links, those at other rates included

// Kinds of links that are slower stand behind those of the machine.
NetworkConfig with_rates(NetworkConfig network, const std::vector<double>& rates) {
  const std::size_t kinds = network.links.size();
  if (kinds * (rates.size() + 1) > kMostKinds)
    throw ConfigError("faults", "slow links have " + std::to_string(rates.size()) +
                                    " different rates: on this machine there are at most " +
                                    std::to_string(kMostKinds / std::max<std::size_t>(kinds, 1) - 1));
  for (const double rate : rates)
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      LinkConfig slow = network.links[kind];
      slow.word_time = Time::ps(static_cast<std::int64_t>(std::ceil(static_cast<double>(slow.word_time.ps()) / rate)));
      network.links.push_back(slow);
    }
  network.slow_rates = rates.size();
  return network;
}

// Each link that a change is about, by one end.
template <typename Visit>
void each_link_of(const Topology& shape, const FaultChange& change, Visit visit) {
  const bool whole = change.port == LinkStates::kNode;
  const std::uint16_t first = whole ? 0 : change.port,
                      end = whole ? shape.port_count(change.node) : static_cast<std::uint16_t>(first + 1);
  for (std::uint16_t port = first; port < end; ++port)
    if (shape.neighbour(change.node, port).node != kNoNode) visit(PortRef{change.node, port});
}

}  // namespace

NetworkConfig failing(NetworkConfig network, const FaultSchedule& schedule) {
  network.links_fail = network.links_fail || !schedule.empty();
  std::set<double> rates;
  for (const FaultEvent& event : schedule.events) {
    if (event.kind == FaultKind::kRate && !event.up) rates.insert(event.rate);
    network.impairs = network.impairs || event.kind == FaultKind::kImpairment;
  }
  return with_rates(std::move(network), {rates.begin(), rates.end()});
}

NetworkConfig failing(NetworkConfig network, const FaultPlan& plan) {
  network.links_fail = network.links_fail || !plan.empty();
  network.impairs = network.impairs || plan.impairs();
  return with_rates(std::move(network), plan.rates());
}

FaultDriver::FaultDriver(FaultTarget& network, Topology& topology, FaultPlan plan, NoticedFaults noticed)
    : network_(network),
      topology_(topology),
      plan_(std::move(plan)),
      noticed_(std::move(noticed)),
      held_(topology),
      followed_(topology),
      rates_(plan_.rates()) {
  for (FaultChange change : plan_.changes()) {
    if (change.kind == FaultKind::kState) continue;
    // Whoever cannot says so now, and nothing changes.
    if (change.kind == FaultKind::kImpairment) apply(change, Time());
    change.up = true;
    apply(change, Time());
  }
}

Time FaultDriver::next() const {
  const auto& changes = plan_.changes();
  const Time change = done_ < changes.size() ? changes[done_].at : Time::never();
  const Time routes =
      topology_.follows() && known_ < noticed_.routes.size() ? noticed_.routes[known_].at : Time::never();
  return min(change, routes);
}

void FaultDriver::apply(Time now) {
  const auto& changes = plan_.changes();
  if (count_ && done_ < changes.size() && changes[done_].at <= now) {
    totals_.push_back(count_(now));
    totals_.back().begin = now;
  }
  for (; done_ < changes.size() && changes[done_].at <= now; ++done_) apply(changes[done_], now);
  bool routes_change = false;
  for (; topology_.follows() && known_ < noticed_.routes.size() && noticed_.routes[known_].at <= now; ++known_) {
    if (noticed_.routes[known_].kind != FaultKind::kState) continue;
    followed_.change(noticed_.routes[known_]);
    routes_change = true;
  }
  if (!routes_change) return;
  network_.before_routes_change();
  topology_.follow(followed_.links());
}

FaultRecord FaultDriver::record(std::uint64_t lost, std::uint64_t failed,
                                const ReliabilityStatistics& reliability) const {
  const auto end = static_cast<std::ptrdiff_t>(done_);
  FaultRecord record;
  record.lost = lost;
  record.failed = failed;
  record.reliability = reliability;
  record.changes = {plan_.changes().begin(), plan_.changes().begin() + end};
  if (!noticed_.awareness.empty()) record.awareness = {noticed_.awareness.begin(), noticed_.awareness.begin() + end};
  return record;
}

std::vector<FaultInterval> FaultDriver::intervals(Time end) const {
  std::vector<FaultInterval> found;
  FaultInterval before;
  for (std::size_t i = 0; count_ && i <= totals_.size(); ++i) {
    FaultInterval until = i < totals_.size() ? totals_[i] : count_(end);
    if (i == totals_.size()) until.begin = end;
    if (until.begin > before.begin)
      found.push_back({before.begin, until.lost - before.lost, until.retransmitted - before.retransmitted,
                       until.failed - before.failed, until.waited - before.waited});
    before = until;
  }
  return found;
}

void FaultDriver::run_on(EventQueue& events) {
  events_ = &events;
  event_ = events.add_handler(
      [](void* self, Time now, std::uint32_t, std::uint64_t) {
        FaultDriver& driver = *static_cast<FaultDriver*>(self);
        if (now < driver.held_until_) return driver.events_->schedule(now + kHeldStep, driver.event_, 0);
        driver.apply(now);
        if (driver.next() != Time::never()) driver.events_->schedule(driver.next(), driver.event_, 0);
      },
      this);
  if (next() != Time::never()) events.schedule(max(next(), events.now()), event_, 0);
}

void FaultDriver::apply(const FaultChange& change, Time now) {
  if (change.kind == FaultKind::kState) return change_state(change, now);
  held_.change(change);
  switch (change.kind) {
    case FaultKind::kState: return;
    case FaultKind::kLoss:
      return each_link_of(topology_, change, [&](PortRef link) { network_.set_loss(link, held_.loss(link), now); });
    case FaultKind::kRate:
      return each_link_of(topology_, change, [&](PortRef link) { network_.set_rate(link, rate_of(link), now); });
    case FaultKind::kInterface:
    case FaultKind::kHost: return network_.set_interface(change.node, held_.interface_works(change.node), now);
    case FaultKind::kImpairment: return network_.set_impairment(change.node, held_.impairment(change.node), now);
  }
}

// As FaultTarget::set_rate() takes it.
std::uint32_t FaultDriver::rate_of(PortRef link) const {
  const double rate = held_.rate(link);
  if (rate == 1) return 0;
  return static_cast<std::uint32_t>(std::ranges::lower_bound(rates_, rate) - rates_.begin()) + 1;
}

// Reports to the network the links that work now and did not, or the reverse.
void FaultDriver::change_state(const FaultChange& change, Time now) {
  std::vector<bool> worked;
  each_link_of(topology_, change,
               [&](PortRef link) { worked.push_back(states().works(topology_, link.node, link.port)); });
  held_.change(change);
  std::size_t at = 0;
  each_link_of(topology_, change, [&](PortRef link) {
    const bool works = states().works(topology_, link.node, link.port);
    if (works != worked[at++]) network_.set_link(link, works, now);
  });
}

}  // namespace exanet
