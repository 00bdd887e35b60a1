// SPDX-License-Identifier: Apache-2.0
// The Python face of synthetic traffic, and what a machine's description needs to know of a topology.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/lofamo/notice.hpp"
#include "core/network/fault_driver.hpp"
#include "core/network/registry.hpp"
#include "core/routing/make_topology.hpp"
#include "core/routing/registry.hpp"
#include "core/topology/metrics.hpp"
#include "core/workload/open_loop.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

// One measurement: a machine, a pattern, a load.
class Traffic {
 public:
  Traffic(const nb::dict& machine, const nb::dict& options)
      : Traffic(machine_of(machine), ConfigReader::read<OpenLoopConfig>(options, "")) {}

  OpenLoop& loop() { return loop_; }

  nb::dict results() const {
    const OpenLoopResult& r = loop_.result();
    nb::dict d;
    d["senders"] = r.senders;
    loads(d, r);
    d["accepted"] = r.accepted;
    d["saturated"] = r.wanted_window > Time() ? nb::none() : nb::cast(r.saturated);
    d["wanted_window_ns"] = static_cast<double>(r.wanted_window.ps()) * 1e-3;
    d["warm_up_ns"] = ns(r.warm_up);
    d["settled"] = r.settled;
    d["latency_ns"] = r.latency_ns;
    d["latency_error_ns"] = r.latency_error_ns ? nb::cast(*r.latency_error_ns) : nb::none();
    d["network_latency_ns"] = r.network_latency_ns;
    d["zero_load_ns"] = r.zero_load_ns;
    latencies(d, r);
    d["overtaken"] = r.overtaken;
    d["overtaken_ns"] = ns(r.latest);
    d["packets"] = r.packets;
    d["packet_hops"] = r.packet_hops;
    d["events"] = r.events;
    d["cpu_s"] = r.cpu_s;
    d["longest_cpu_s"] = r.longest_cpu_s;
    d["memory_bytes"] = r.memory_bytes;
    d["latency"] = histogram(r.latency);
    d["links"] = links(r.links);
    d["sources"] = flows(r.of_source, false);
    if (!r.of_pair.empty()) d["pairs"] = flows(r.of_pair, true);
    nb::list classes;
    for (const PriorityResult& of : r.of_priority) classes.append(row(of));
    d["classes"] = classes;
    add_faults(d, faults_, r.faults, loop_.topology());
    if (!r.delivered_in.empty()) {
      nb::dict intervals;
      std::vector<Time> begins;
      begins.reserve(r.delivered_in.size());
      for (std::size_t i = 0; i < r.delivered_in.size(); ++i)
        begins.push_back(r.interval * static_cast<std::int64_t>(i));
      intervals["begin_ns"] = column(begins, [](Time begin) { return ns(begin); });
      intervals["delivered_packets"] = column(r.delivered_in, [](std::uint64_t packets) { return packets; });
      intervals["lost_packets"] = column(r.lost_in, [](std::uint64_t packets) { return packets; });
      d["intervals"] = intervals;
      d["interval_ns"] = ns(r.interval);
    }
    d["first_watched"] = r.first_watched;
    if (r.watched > 0) d["queued"] = array(std::vector<std::uint32_t>(r.queued), r.watched);  // [sample][router]
    if (!r.link_use.empty()) d["link_use"] = array(std::vector<float>(r.link_use), r.links.size());  // [sample][link]
    return d;
  }

 private:
  // Rows of sources or pairs as columns. The latency of those of which nothing has arrived is not a number.
  nb::dict flows(const std::vector<FlowResult>& rows, bool pairs) const {
    const auto or_nan = [](const FlowResult& f, double value) { return f.measured > 0 ? value : std::nan(""); };
    nb::dict d;
    d["source"] = column(rows, [](const FlowResult& f) { return f.src; });
    if (pairs) d["destination"] = column(rows, [](const FlowResult& f) { return f.dst; });
    d["created"] = column(rows, [](const FlowResult& f) { return f.created; });
    d["accepted"] = column(rows, [](const FlowResult& f) { return f.accepted; });
    d["measured"] = column(rows, [](const FlowResult& f) { return f.measured; });
    d["latency_ns"] = column(rows, [&](const FlowResult& f) { return or_nan(f, f.latency_ns); });
    d["latency_most_ns"] = column(rows, [&](const FlowResult& f) { return or_nan(f, ns(f.most)); });
    return d;
  }

  static nb::dict row(const PriorityResult& of) {
    nb::dict d;
    d["created"] = of.created;
    d["measured"] = of.measured;
    d["offered_load"] = of.offered_load;
    d["accepted_load"] = of.accepted_load;
    d["latency_ns"] = of.latency_ns;
    d["network_latency_ns"] = of.network_latency_ns;
    percentiles(d, "latency", of.latency);
    return d;
  }

  Traffic(const MachineConfig& machine, const OpenLoopConfig& config)
      : faults_(machine.faults), loop_(machine.topology, machine.fabric, with_faults(machine, config)) {}

  static OpenLoopConfig with_faults(const MachineConfig& machine, OpenLoopConfig config) {
    config.faults = machine.faults;
    return config;
  }

  const FaultSchedule faults_;
  OpenLoop loop_;
};

// Checks a description; raises ValueError with advice on a shape that its kind does not take.
nb::dict topology_needs(const nb::dict& topology) {
  const std::unique_ptr<Topology> t = make_topology(topology_spec(topology));
  nb::dict d;
  d["endpoints"] = t->endpoint_count();
  d["nodes"] = t->node_count();
  d["virtual_channels"] = t->virtual_channels();
  std::uint32_t ports = 0;
  for (NodeId n = 0; n < t->node_count(); ++n) ports = std::max<std::uint32_t>(ports, t->port_count(n));
  d["ports"] = ports;
  d["rails"] = t->rails();
  return d;
}

// Checks a schedule of faults on a machine: how many changes it makes, and the virtual channels that routes around them
// need. Throws ConfigError on events that name nothing.
nb::dict fault_needs(const nb::dict& machine) {
  const MachineConfig config = machine_of(machine);
  const std::unique_ptr<Topology> t = make_topology(following(config.topology, config.faults));
  nb::dict d;
  const FaultPlan plan = plan_of(config.faults, *t);
  lofamo::check_notice(config.faults, plan, *t);
  d["changes"] = plan.changes().size();
  d["virtual_channels"] = t->virtual_channels();
  return d;
}

// Where nodes stand and links lead, links in the order of a run's results.
nb::dict topology_drawing(const nb::dict& machine) {
  const std::unique_ptr<Topology> t = make_topology(topology_of(machine));
  std::vector<float> position;
  std::vector<NodeId> ends;
  nb::list names, ports, classes;
  for (NodeId n = 0; n < t->node_count(); ++n) {
    float xyz[3];
    t->position(n, xyz);
    position.insert(position.end(), xyz, xyz + 3);
    names.append(t->node_name(n));
    for (std::uint16_t p = 0; p < t->port_count(n); ++p) {
      const NodeId to = t->neighbour(n, p).node;
      if (to == kNoNode) continue;
      ends.insert(ends.end(), {n, to});
      ports.append(t->port_name(n, p));
      classes.append(t->link_class(n, p));
    }
  }
  nb::dict d;
  d["endpoints"] = t->endpoint_count();
  d["node_name"] = names;
  d["position"] = array(std::move(position), 3);
  d["links"] = array(std::move(ends), 2);
  d["port_name"] = ports;
  d["link_class"] = classes;
  return d;
}

// Of a topology's own routes; with `channels` above 0, packets that ask for a higher virtual channel than there are get
// the highest.
std::vector<Channel> cycle_on(const Topology& t, std::uint8_t channels, const CheckProgress& progress) {
  if (channels == 0) return find_dependency_cycle(t, {}, progress);
  const auto route = [&](NodeId at, NodeId dst) {
    const Hop hop = t.next_hop(at, dst);
    return Hop{hop.port, std::min<std::uint8_t>(hop.vc, static_cast<std::uint8_t>(channels - 1))};
  };
  return find_dependency_cycle(t, route, progress);
}

// The proof, or the counter-example, that packets never wait for each other in a cycle: `cycle` lists channels as
// (node, port, channel). A network with too many pairs of ends is looked at in miniatures, where it has some: how many
// nodes those have that were looked at is `miniatures`. `progress`, if it is no None, is called with the share done.
nb::dict check(const nb::dict& topology, std::uint8_t channels, const nb::object& progress) {
  const std::unique_ptr<Topology> t = make_topology(topology_spec(topology));
  if (channels > 0 && t->routing() != nullptr)
    throw ConfigError("channels", "fewer channels can be tried on a topology's own routes only: leave the routing out");
  const std::vector<NodeId> ends = representative_endpoints(*t);
  constexpr double kMost = 2e9;  // pairs, some minutes
  const bool small = static_cast<double>(ends.size()) * static_cast<double>(ends.size()) <= kMost;
  const auto miniatures = small ? std::vector<std::unique_ptr<Topology>>() : t->miniatures();
  if (!small && miniatures.empty())
    throw ConfigError(
        "topology.shape",
        std::to_string(ends.size()) + " ends of ways are too many to look at each pair of them: check a smaller shape");
  std::vector<const Topology*> subjects;
  subjects.reserve(miniatures.size() + 1);
  for (const auto& miniature : miniatures) subjects.push_back(miniature.get());
  if (small) subjects.push_back(t.get());
  nb::list named, looked_at;
  for (const Topology* subject : subjects) {
    const auto report = [&](double share) {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress(share);
    };
    std::vector<Channel> cycle;
    {
      const nb::gil_scoped_release release;
      cycle = cycle_on(*subject, channels, report);
    }
    looked_at.append(subject->node_count());
    for (const Channel& c : cycle)
      named.append(nb::make_tuple(subject->node_name(c.node), subject->port_name(c.node, c.port), c.vc));
    if (!cycle.empty()) break;
  }
  nb::dict d;
  d["virtual_channels"] = channels > 0 ? std::min(channels, t->virtual_channels()) : t->virtual_channels();
  d["links"] = link_count(*t);  // each direction for itself
  d["pairs"] = static_cast<std::uint64_t>(ends.size()) * (ends.size() - 1);
  d["cycle"] = named;
  d["miniatures"] = miniatures.empty() ? nb::list() : looked_at;
  return d;
}

// The same for each state of links that a machine's faults reach, in the order of time: routes that follow states of
// links are proved anew for each, those that never change once, for a router's outputs that are down only take channels
// away. Of the first state with a cycle `cycle` lists the channels, and `at_ps` is its time.
nb::dict check_faults(const nb::dict& machine, std::uint8_t channels, const nb::object& progress) {
  const MachineConfig config = machine_of(machine);
  const std::unique_ptr<Topology> t = make_topology(following(config.topology, config.faults));
  if (channels > 0 && !t->follows())
    throw ConfigError("channels", "fewer channels can be tried on a topology's own routes only: leave the routing out");
  const std::vector<FaultState> states =
      reached_states(lofamo::notice(config.faults, plan_of(config.faults, *t), *t).routes, *t);
  nb::list named;
  std::size_t checked = 0;
  Time at;
  for (const FaultState& state : states) {
    const auto report = [&](double share) {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress.is_none()) progress((static_cast<double>(checked) + share) / static_cast<double>(states.size()));
    };
    std::vector<Channel> cycle;
    {
      const nb::gil_scoped_release release;
      if (t->follows()) t->follow(state.links);
      cycle = cycle_on(*t, channels, report);
    }
    ++checked;
    at = state.at;
    for (const Channel& c : cycle)
      named.append(nb::make_tuple(t->node_name(c.node), t->port_name(c.node, c.port), c.vc));
    if (!cycle.empty() || !t->follows()) break;
  }
  const std::size_t ends = representative_endpoints(*t).size();
  nb::dict d;
  d["virtual_channels"] = channels > 0 ? std::min(channels, t->virtual_channels()) : t->virtual_channels();
  d["links"] = link_count(*t);
  d["pairs"] = static_cast<std::uint64_t>(ends) * (ends - 1);
  d["states"] = states.size();
  d["follows"] = t->follows();
  d["at_ps"] = at.ps();
  d["cycle"] = named;
  return d;
}

std::vector<NodeId> failed_endpoints(const nb::dict& topology) {
  const std::unique_ptr<Topology> t = make_topology(topology_spec(topology));
  std::vector<NodeId> failed;
  for (NodeId e = 0; e < t->endpoint_count(); ++e)
    if (!t->alive(e)) failed.push_back(e);
  return failed;
}

// Raises ConfigError, of the key to blame, where no such switches can be built.
void check_switch(const nb::dict& machine) {
  const MachineConfig config = machine_of(machine);
  check_network(config.fabric, *make_topology(config.topology));
}

}  // namespace

void bind_traffic(nb::module_& m) {
  bind_measurement<Traffic>(m, "Traffic").def(nb::init<const nb::dict&, const nb::dict&>(), "machine"_a, "options"_a);
  m.def("traffic_patterns", &pattern_names);
  m.def("topology_drawing", &topology_drawing, "machine"_a);
  m.def("routing_names", &routing_names);
  m.def("failed_endpoints", &failed_endpoints, "topology"_a);
  m.def("check", &check, "topology"_a, "channels"_a = 0, "progress"_a = nb::none());
  m.def("check_faults", &check_faults, "machine"_a, "channels"_a = 0, "progress"_a = nb::none());
  m.def("check_switch", &check_switch, "machine"_a);
  m.def("fault_needs", &fault_needs, "machine"_a);
  m.def("topology_needs", &topology_needs, "topology"_a);
}

}  // namespace exanet
