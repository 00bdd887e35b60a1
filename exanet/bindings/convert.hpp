// SPDX-License-Identifier: Apache-2.0
// From Python's description of a machine to the core's, and from the core's rows to NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/topology/topology.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/queue_samples.hpp"
#include "exanet/bindings/configuration.hpp"
#include "runtime/coordinator/coordinator.hpp"

namespace exanet {

namespace nb = nanobind;

// Reads a machine's description, all of it. Throws ConfigError. The keys that Python alone reads are named here. A
// network alone has no `ni`, and whoever simulates its interfaces has refused it before.
inline MachineConfig machine_of(const nb::dict& machine) {
  nb::dict whole;
  if (!machine.contains("ni")) whole["ni"] = ConfigWriter::write(NiConfig());
  whole.update(machine);
  return ConfigReader::read<MachineConfig>(whole, "", {"name", "cores_per_node", "power"});
}

inline TopologySpec topology_spec(const nb::dict& topology) {
  return ConfigReader::read<TopologySpec>(topology, "topology");
}

// Reads the topology alone of a machine's description.
inline TopologySpec topology_of(const nb::dict& machine) {
  return topology_spec(nb::cast<nb::dict>(machine["topology"]));
}

template <typename T>
nb::object array(std::vector<T> values, std::size_t columns = 0) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (columns == 0) return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner));
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size() / columns, columns}, owner));
}

// Adds `queued` ([sample][router]), the first router of it, and the time that it covers; nothing where nothing was
// watched.
inline void add_queues(nb::dict& d, const QueueTable& queues) {
  if (queues.queued.empty()) return;
  d["first_watched"] = queues.first_watched;
  d["watched_ps"] = queues.sample.ps() * static_cast<std::int64_t>(queues.queued.size() / queues.watched);
  d["queued"] = array(std::vector<std::uint32_t>(queues.queued), queues.watched);
}

template <typename Row, typename Get>
nb::object column(const std::vector<Row>& rows, Get get) {
  using T = std::decay_t<decltype(get(rows.front()))>;
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(get(row));
  return array(std::move(values));
}

inline nb::dict histogram(const Histogram& h) {
  std::vector<double> lower, upper;
  std::vector<std::uint64_t> count;
  for (std::uint32_t i = 0; i < h.counts().size(); ++i) {
    if (h.counts()[i] == 0) continue;
    lower.push_back(static_cast<double>(Histogram::lower(i)) * 1e-3);
    upper.push_back(static_cast<double>(Histogram::lower(i + 1)) * 1e-3);
    count.push_back(h.counts()[i]);
  }
  nb::dict d;
  d["lower_ns"] = array(std::move(lower));
  d["upper_ns"] = array(std::move(upper));
  d["count"] = array(std::move(count));
  return d;
}

// Rows of links as columns.
inline nb::dict links(const std::vector<LinkUse>& rows) {
  nb::dict d;
  d["node"] = column(rows, [](const LinkUse& l) { return l.node; });
  d["port"] = column(rows, [](const LinkUse& l) { return l.port; });
  d["to_node"] = column(rows, [](const LinkUse& l) { return l.to_node; });
  d["link_class"] = column(rows, [](const LinkUse& l) { return l.link_class; });
  d["packets"] = column(rows, [](const LinkUse& l) { return l.packets; });
  d["payload_bytes"] = column(rows, [](const LinkUse& l) { return l.payload_bytes; });
  d["use"] = column(rows, [](const LinkUse& l) { return l.use; });
  if (std::any_of(rows.begin(), rows.end(), [](const LinkUse& l) { return l.asleep > 0; }))
    d["asleep"] = column(rows, [](const LinkUse& l) { return l.asleep; });
  return d;
}

// Adds to the table `faults` who came to know of each change, and when (-1: nobody). Without LO|FA|MO nothing.
inline void add_awareness(nb::dict& table, const std::vector<FaultAwareness>& rows) {
  if (rows.empty()) return;
  const auto known = [](Time at) { return at == Time::never() ? -1 : at.ps(); };
  table["detected_ps"] = column(rows, [&](const FaultAwareness& a) { return known(a.detected); });
  table["first_known_ps"] = column(rows, [&](const FaultAwareness& a) { return known(a.first); });
  table["master_known_ps"] = column(rows, [&](const FaultAwareness& a) { return known(a.master); });
  table["all_known_ps"] = column(rows, [&](const FaultAwareness& a) { return known(a.last); });
  table["unaware_nodes"] = column(rows, [](const FaultAwareness& a) { return std::int64_t{a.unaware}; });
}

// Adds the table `faults` of what has failed and come back, and the numbers of packets and operations that this has
// cost. Nothing of a run without a schedule.
inline void add_faults(nb::dict& d, const FaultSchedule& schedule, const FaultRecord& record, const Topology& shape) {
  if (schedule.empty()) return;
  nb::list names;
  for (const FaultChange& c : record.changes)
    names.append(c.port == LinkStates::kNode ? shape.node_name(c.node)
                                             : shape.node_name(c.node) + " " + shape.port_name(c.node, c.port));
  nb::dict table;
  table["time_ps"] = column(record.changes, [](const FaultChange& c) { return c.at.ps(); });
  table["node"] = column(record.changes, [](const FaultChange& c) { return std::int64_t{c.node}; });
  table["port"] =
      column(record.changes, [](const FaultChange& c) { return c.port == LinkStates::kNode ? -1 : int{c.port}; });
  table["up"] = column(record.changes, [](const FaultChange& c) { return std::uint8_t{c.up}; });
  nb::list kinds;
  for (const FaultChange& c : record.changes) kinds.append(name_of(c.kind));
  table["kind"] = kinds;
  table["what"] = names;
  add_awareness(table, record.awareness);
  d["faults"] = table;
  d["lost_packets"] = record.lost;
  d["failed_operations"] = record.failed;
  if (!record.reliability.retransmits) return;
  d["retransmitted_packets"] = record.reliability.retransmissions;
  d["duplicate_packets"] = record.reliability.duplicates;
  d["corrupted_packets"] = record.reliability.corrupted;
  d["given_up_packets"] = record.reliability.given_up;
}

// Adds the table `fault_intervals` of what came about between changes.
inline void add_fault_intervals(nb::dict& d, const std::vector<FaultInterval>& rows) {
  if (rows.empty()) return;
  nb::dict table;
  table["from_ps"] = column(rows, [](const FaultInterval& i) { return i.begin.ps(); });
  table["lost_packets"] = column(rows, [](const FaultInterval& i) { return i.lost; });
  table["retransmitted_packets"] = column(rows, [](const FaultInterval& i) { return i.retransmitted; });
  table["failed_operations"] = column(rows, [](const FaultInterval& i) { return i.failed; });
  table["waited_ps"] = column(rows, [](const FaultInterval& i) { return i.waited.ps(); });
  d["fault_intervals"] = table;
}

inline double ns(Time t) { return static_cast<double>(t.ps()) * 1e-3; }
inline std::uint64_t ps(Time t) { return static_cast<std::uint64_t>(t.ps()); }

// A latency's percentiles: `prefix`_p50_ns, ...
inline void percentiles(nb::dict& d, const std::string& prefix, const Histogram& h) {
  for (const auto& [name, share] :
       {std::pair{"_p50_ns", 0.5}, {"_p90_ns", 0.9}, {"_p99_ns", 0.99}, {"_p999_ns", 0.999}})
    d[(prefix + name).c_str()] = static_cast<double>(h.quantile(share)) * 1e-3;
}

// Adds `background`: what traffic beside programs has sent, and how long it took.
inline void add_background(nb::dict& d, const std::optional<BackgroundRecord>& record) {
  if (!record) return;
  nb::dict table;
  table["messages"] = record->messages;
  table["bytes"] = record->bytes;
  table["arrived"] = record->arrived;
  table["arrived_bytes"] = record->arrived_bytes;
  table["failed"] = record->failed;
  const double mean_ps =
      record->arrived > 0 ? static_cast<double>(record->latency_ps) / static_cast<double>(record->arrived) : 0;
  table["latency_ns"] = mean_ps * 1e-3;
  percentiles(table, "latency", record->latency);
  d["background"] = table;
}

// The figures that packets and messages have alike, from the result of either.
template <typename Result>
void loads(nb::dict& d, const Result& r) {
  d["offered_load"] = r.offered_load;
  d["accepted_load"] = r.accepted_load;
  d["offered_gbps"] = r.offered_gbps;
  d["accepted_gbps"] = r.accepted_gbps;
  d["created"] = r.created;
  d["measured"] = r.measured;
}

template <typename Result>
void latencies(nb::dict& d, const Result& r) {
  d["latency_least_ns"] = r.measured > 0 ? ns(r.least) : 0.0;
  percentiles(d, "latency", r.latency);
  d["latency_most_ns"] = ns(r.most);
  d["mean_hops"] = r.mean_hops;
  d["fairness"] = r.fairness;
}

// The Python class of a measurement that runs in a thread of its own: run() without Python's lock, stop() and
// progress() from any thread. Contract: Face::loop() has these three, Face::results() what was measured.
template <typename Face>
nb::class_<Face> bind_measurement(nb::module_& m, const char* name) {
  return nb::class_<Face>(m, name)
      .def("run",
           [](Face& face) {
             const nb::gil_scoped_release release;
             return face.loop().run();
           })
      .def("stop", [](Face& face) { face.loop().stop(); })
      .def("progress", [](Face& face) { return face.loop().progress(); })
      .def("results", &Face::results);
}

void bind_awareness(nb::module_& m);  // awareness.cpp
void bind_bridge(nb::module_& m);  // bridge.cpp
void bind_interfaces(nb::module_& m);  // interfaces.cpp
void bind_configuration(nb::module_& m);  // configuration.cpp
void bind_traffic(nb::module_& m);  // traffic.cpp
void bind_jobs(nb::module_& m);  // jobs.cpp
void bind_messages(nb::module_& m);  // messages.cpp
void bind_registries(nb::module_& m);  // registries.cpp
void bind_replay(nb::module_& m);  // replay.cpp
void bind_trace_reader(nb::module_& m);  // trace_reader.cpp

}  // namespace exanet
