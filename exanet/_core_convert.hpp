// SPDX-License-Identifier: Apache-2.0
// From Python's description of a machine to the core's, and from the core's rows to NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/fabric/fabric.hpp"
#include "core/topology/topology.hpp"
#include "core/units/histogram.hpp"
#include "core/workload/link_use.hpp"

namespace exanet {

namespace nb = nanobind;

inline std::int64_t number(const nb::dict& d, const char* key) {
  if (!d.contains(key)) throw std::invalid_argument(std::string("machine: '") + key + "' is missing");
  return nb::cast<std::int64_t>(d[key]);
}

inline std::int64_t number_or(const nb::dict& d, const char* key, std::int64_t otherwise) { return d.contains(key) ? number(d, key) : otherwise; }

inline Time time_of(const nb::dict& d, const char* key) { return Time::ps(number(d, key)); }

inline TopologySpec topology_spec(const nb::dict& t) {
  TopologySpec spec{nb::cast<std::string>(t["kind"]), nb::cast<std::vector<std::uint32_t>>(t["shape"])};
  if (t.contains("order")) spec.order = nb::cast<std::vector<std::uint32_t>>(t["order"]);
  if (t.contains("routing")) spec.routing = nb::cast<std::string>(t["routing"]);
  if (t.contains("failed")) spec.failed = nb::cast<std::vector<std::string>>(t["failed"]);
  if (t.contains("graph")) {
    const nb::dict g = nb::cast<nb::dict>(t["graph"]);
    spec.graph.names = nb::cast<std::vector<std::string>>(g["names"]);
    spec.graph.hosts = nb::cast<std::vector<std::uint32_t>>(g["hosts"]);
    spec.graph.links = nb::cast<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(g["links"]);
  }
  return spec;
}

inline TopologySpec topology_of(const nb::dict& config) { return topology_spec(nb::cast<nb::dict>(config["topology"])); }

inline SwitchConfig switch_of(const nb::dict& s) {
  const auto text = [&](const char* key) { return nb::cast<std::string>(s[key]); };
  SwitchConfig made;
  made.switching = text("switching") == "wormhole" ? SwitchConfig::Switching::kWormhole : SwitchConfig::Switching::kCutThrough;
  made.queues = text("queues") == "fifo" ? SwitchConfig::Queues::kFifo : SwitchConfig::Queues::kVirtualOutput;
  made.arbitration = text("arbitration") == "islip"            ? SwitchConfig::Arbitration::kIslip
                     : text("arbitration") == "fixed-priority" ? SwitchConfig::Arbitration::kFixedPriority
                                                               : SwitchConfig::Arbitration::kRoundRobin;
  made.flow_control = text("flow_control") == "pause" ? SwitchConfig::FlowControl::kPause : SwitchConfig::FlowControl::kCredits;
  made.shared_buffer = text("buffer") == "shared";
  made.speed_up_percent = number(s, "speed_up_percent");
  made.classes = number(s, "classes");
  if (s.contains("weights")) made.weights = nb::cast<std::vector<std::int64_t>>(s["weights"]);
  made.iterations = number_or(s, "iterations", 1);
  made.slot_cycles = number_or(s, "slot_cycles", 0);
  made.output_fifo_words = number_or(s, "output_fifo_words", 0);
  made.pause_words = number_or(s, "pause_words", 0);
  made.resume_words = number_or(s, "resume_words", 0);
  made.pause_frame_words = number_or(s, "pause_frame_words", 0);
  return made;
}

inline FabricConfig fabric_of(const nb::dict& config) {
  FabricConfig fabric;
  const nb::dict r = nb::cast<nb::dict>(config["router"]);
  RouterConfig& router = fabric.router;
  router.cycle = time_of(r, "cycle_ps");
  router.latency_cycles = number(r, "latency_cycles");
  router.word_bits = number(r, "word_bits");
  router.header_words = number(r, "header_words");
  router.footer_words = number(r, "footer_words");
  router.max_payload_bytes = number(r, "max_payload_bytes");
  router.intra_fifo_words = number(r, "intra_fifo_words");
  router.inter_fifo_words = number(r, "inter_fifo_words");
  router.header_fifo_words = number(r, "header_fifo_words");
  router.virtual_channels = number(r, "virtual_channels");
  router.intra_ports = number(r, "intra_ports");
  router.input_gap_cycles = number_or(r, "input_gap_cycles", 0);
  router.output_gap_cycles = number_or(r, "output_gap_cycles", 0);
  const std::string arbitration = r.contains("arbitration") ? nb::cast<std::string>(r["arbitration"]) : "round-robin";
  router.fixed_priority = arbitration == "fixed-priority";
  router.links_first = arbitration == "links-first";
  if (r.contains("switch")) fabric.input_queued = switch_of(nb::cast<nb::dict>(r["switch"]));
  for (const nb::handle item : nb::cast<nb::list>(config["links"])) {
    const nb::dict l = nb::cast<nb::dict>(item);
    LinkConfig link;
    link.word_bits = number(l, "word_bits");
    link.word_time = time_of(l, "word_time_ps");
    link.pause_every = number(l, "pause_every");
    link.framing_words = number(l, "framing_words");
    link.latency = time_of(l, "latency_ps");
    fabric.links.push_back(link);
  }
  return fabric;
}

template <typename T>
nb::object array(std::vector<T> values, std::size_t columns = 0) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (columns == 0) return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner));
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {kept->size() / columns, columns}, owner));
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
  return d;
}

inline double ns(Time t) { return static_cast<double>(t.ps()) * 1e-3; }

// A latency's percentiles: `prefix`_p50_ns, ...
inline void percentiles(nb::dict& d, const std::string& prefix, const Histogram& h) {
  for (const auto& [name, share] : {std::pair{"_p50_ns", 0.5}, {"_p90_ns", 0.9}, {"_p99_ns", 0.99}, {"_p999_ns", 0.999}})
    d[(prefix + name).c_str()] = static_cast<double>(h.quantile(share)) * 1e-3;
}

// The Python class of a measurement that runs in a thread of its own: run() without Python's lock, stop() and progress() from any thread.
// Contract: Face::loop() has these three, Face::results() what was measured.
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

void bind_traffic(nb::module_& m);  // _core_traffic.cpp
void bind_jobs(nb::module_& m);     // _core_jobs.cpp
void bind_messages(nb::module_& m);  // _core_messages.cpp

}  // namespace exanet
