// SPDX-License-Identifier: Apache-2.0
// Carries the messages of jobs at flow level, in step with the event queue in which the jobs' ranks go on: flows move
// up to the next event, and an arrival is an event. Rates are max-min fair; of an interface's messages those of one
// step move together, and one that is handed over later begins behind what already stands in the router's FIFO
// (FlowSimulator). A rank is busy until its endpoint's FIFOs hold all that is left of its step's awaited messages. A
// flow that is lost with a link is a message that has failed. Links count what arrives, by the route that the topology
// has then.
#include <algorithm>

#include "core/flow/flow_simulator.hpp"
#include "core/units/check.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/transport.hpp"

namespace exanet {

namespace {

class FlowTransport final : public MessageTransport, private FaultTarget {
 public:
  explicit FlowTransport(const TransportSetup& setup)
      : topology_(setup.topology),
        network_(setup.topology, setup.network, setup.packet_bytes),
        flows_(network_, Time::ns(1)),
        queue_(setup.queue),
        endpoints_(setup.endpoints),
        listener_(setup.listener),
        packet_bytes_(setup.packet_bytes),
        next_start_(setup.topology.endpoint_count()),
        leaving_(setup.endpoints.size()),
        watches_(network_.sender_count()),
        stats_(network_.link_count()) {
    event_ = queue_.add_handler([](void* self, Time now, std::uint32_t flow,
                                   std::uint64_t) { static_cast<FlowTransport*>(self)->arrive(flow, now); },
                                this);
    on_vacancy_ = queue_.add_handler([](void* self, Time now, std::uint32_t sender,
                                        std::uint64_t) { static_cast<FlowTransport*>(self)->vacate(sender, now); },
                                     this);
  }

  void post(const RankMessage& m) override {
    const NodeId src = endpoints_[m.from];
    flows_.add(src, endpoints_[m.to], m.bytes, max(max(queue_.now(), flows_.now()), next_start_[src]));
    sent_.push_back({src, endpoints_[m.to], m.bytes, m.id});
    if (m.awaited) watch(network_.sender_of(src, endpoints_[m.to]), m.from);
  }
  // Messages sent from now on, be it at the same time, are behind those sent before.
  void doorbell(std::uint32_t rank) override {
    Time& next = next_start_[endpoints_[rank]];
    next = max(max(queue_.now(), flows_.now()), next) + Time::ps(1);
  }
  bool busy(std::uint32_t rank) const override { return leaving_[rank] > 0; }
  void advance() override;
  void check_done() const override {
    EXANET_CHECK(flows_.done(), "flows have not arrived", flows_.now().ps(), flows_.finished_count(), sent_.size());
    flows_.check_conserved();
  }
  Totals totals() const override { return {packets_, packet_hops_, 0}; }
  std::vector<LinkCount> link_counts(Time now) const override;  // of messages that have arrived
  FaultTarget& links() override { return *this; }

 private:
  struct Sent {
    NodeId src, dst;
    std::uint64_t bytes;
    std::uint32_t message;
  };
  struct Watch {  // of a sender for which a rank waits
    bool on = false;
    std::uint32_t rank = 0;
    Time due = Time::never();  // as far as is known
  };

  // Flows stand where the queue does: advance() has taken them to its next event.
  void set_link(PortRef link, bool up, Time) override {
    network_.set_link(link, up);
    links_changed();
  }
  void set_rate(PortRef link, std::uint32_t rate, Time) override {
    network_.set_rate(link, rate);
    links_changed();
  }
  void set_interface(NodeId endpoint, bool up, Time) override {
    network_.set_endpoint(endpoint, up);
    links_changed();
  }
  void links_changed() {
    flows_.links_changed();
    schedule_arrivals();
  }
  Time schedule_arrivals();
  void arrive(FlowId flow, Time now);
  void watch(std::uint32_t sender, std::uint32_t rank);
  void vacate(std::uint32_t sender, Time now);

  const Topology& topology_;
  FlowNetwork network_;
  FlowSimulator flows_;
  EventQueue& queue_;
  const std::vector<NodeId> endpoints_;
  TransportListener& listener_;
  std::uint16_t packet_bytes_;
  std::uint32_t event_ = 0, on_vacancy_ = 0;
  std::vector<Sent> sent_;  // by flow
  std::vector<Time> next_start_;  // by endpoint: of what it sends next, at the earliest
  std::vector<std::uint32_t> leaving_;  // by rank: senders for which it waits
  std::vector<Watch> watches_;  // by sender
  std::vector<LinkStats> stats_;  // by resource
  std::vector<ResourceId> path_;
  std::uint64_t packets_ = 0, packet_hops_ = 0;
};

void FlowTransport::advance() {
  // Ranks that go on at the same moment send at the same moment: rates are found once for all of them.
  Time next = queue_.empty() ? Time::never() : queue_.next_time();
  if (next <= flows_.now()) return;
  while (flows_.step(next)) next = min(next, schedule_arrivals());
}

// Those that are known since the last call, or losses; returns when the first of them is.
Time FlowTransport::schedule_arrivals() {
  Time first = Time::never();
  for (const FlowId flow : flows_.take_arrivals()) {
    const Time at = max(flows_.finished(flow), flows_.now());
    queue_.schedule(at, event_, flow);
    first = min(first, at);
  }
  for (const auto& [sender, at] : flows_.take_vacancies()) {
    watches_[sender].due = at;
    queue_.schedule(at, on_vacancy_, sender);
    first = min(first, at);
  }
  return first;
}

void FlowTransport::watch(std::uint32_t sender, std::uint32_t rank) {
  if (watches_[sender].on) return;
  watches_[sender] = {true, rank, Time::never()};
  flows_.watch(sender, true);
  ++leaving_[rank];
}

// Rates may have changed since this event was scheduled: another one is due then.
void FlowTransport::vacate(std::uint32_t sender, Time now) {
  Watch& watch = watches_[sender];
  if (!watch.on || watch.due != now) return;
  watch.on = false;
  flows_.watch(sender, false);
  if (--leaving_[watch.rank] == 0) listener_.resumed(watch.rank, now);
}

void FlowTransport::arrive(FlowId flow, Time now) {
  const Sent sent = sent_[flow];
  if (flows_.status(flow) != Status::kOk) return listener_.failed(sent.message, flows_.status(flow), now);
  const std::uint64_t packets = std::max<std::uint64_t>((sent.bytes + packet_bytes_ - 1) / packet_bytes_, 1);
  network_.route(sent.src, sent.dst, path_);
  for (std::size_t hop = 1; hop + 1 < path_.size(); ++hop) {
    LinkStats& stats = stats_[path_[hop]];
    stats.packets += packets;
    stats.payload_bytes += sent.bytes;
    const double busy_ps = network_.volume_bits(sent.bytes) * 1e18 / static_cast<double>(network_.capacity(path_[hop]));
    stats.busy = stats.busy + Time::ps(static_cast<std::int64_t>(busy_ps));
  }
  packets_ += packets;
  packet_hops_ += packets * (path_.size() - 2);
  listener_.arrived(sent.message, now);
}

std::vector<LinkCount> FlowTransport::link_counts(Time) const {
  std::vector<LinkCount> counts;
  each_link(topology_, [&](NodeId node, std::uint16_t port, NodeId) {
    counts.push_back({stats_[network_.link(node, port)], Time()});
  });
  return counts;
}

}  // namespace

std::unique_ptr<MessageTransport> make_flow_transport(const TransportSetup& setup) {
  return std::make_unique<FlowTransport>(setup);
}

}  // namespace exanet
