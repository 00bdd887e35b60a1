// SPDX-License-Identifier: Apache-2.0
// The Python face of messages, at packet level and at flow level, and of flows that the caller names one by one.
#include "core/flow/flow_simulator.hpp"
#include "core/flow/fluid_simulator.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/flow_sizes.hpp"
#include "core/workload/message_run.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

class MessagesFace {
 public:
  MessagesFace(const nb::dict& machine, const nb::dict& options, bool packets) {
    auto config = ConfigReader::read<MessageConfig>(options, "");
    const MachineConfig m = machine_of(machine);
    config.faults = faults_ = m.faults;
    config.interface = m.ni;
    if (!faults_.empty()) topology_ = make_topology(following(m.topology, faults_));
    run_ =
        packets ? make_packet_messages(m.topology, m.fabric, config) : make_flow_messages(m.topology, m.fabric, config);
  }

  MessageRun& loop() { return *run_; }

  nb::dict results() const {
    const MessageResult& r = run_->result();
    nb::dict d;
    d["senders"] = r.senders;
    loads(d, r);
    d["saturated"] = r.wanted_window > Time() ? nb::none() : nb::cast(r.saturated);
    d["wanted_window_ns"] = static_cast<double>(r.wanted_window.ps()) * 1e-3;
    d["completion_ns"] = r.completion_ns;
    d["latency_ns"] = r.latency_ns;
    d["zero_load_ns"] = r.zero_load_ns;
    d["slowdown"] = r.slowdown;
    ratios(d, r.slowdowns);
    d["mean_message_bytes"] = r.mean_bytes;
    d["mean_message_packets"] = r.mean_packets;
    latencies(d, r);
    d["events"] = r.events;
    d["work"] = r.work;
    d["cpu_s"] = r.cpu_s;
    d["memory_bytes"] = r.memory_bytes;
    d["latency"] = histogram(r.latency);
    d["links"] = links(r.links);
    nb::list sizes;
    for (const SizeClass& of : r.of_size) sizes.append(row(of));
    if (!r.of_size.empty()) d["sizes"] = sizes;
    if (!r.flows.empty()) d["flows"] = flows(r.flows);
    if (r.samples) add_samples(d, *r.samples);
    if (topology_) add_faults(d, faults_, r.faults, *topology_);
    return d;
  }

 private:
  static nb::dict row(const SizeClass& of) {
    nb::dict d;
    d["most_bytes"] = of.most_bytes == ~std::uint64_t{0} ? nb::none() : nb::cast(of.most_bytes);
    d["created"] = of.created;
    d["measured"] = of.measured;
    d["latency_ns"] = of.latency_ns;
    percentiles(d, "latency", of.latency);
    d["slowdown"] = of.slowdown;
    ratios(d, of.slowdowns);
    return d;
  }

  static nb::list flows(const std::vector<FlowRow>& rows) {
    nb::list list;
    for (const FlowRow& f : rows) {
      nb::dict d;
      d["src"] = f.src;
      d["dst"] = f.dst;
      d["messages"] = f.messages;
      d["arrived"] = f.arrived;
      d["bytes"] = f.bytes;
      d["start_ns"] = f.start_ns;
      d["end_ns"] = f.end_ns;
      d["gbps"] = f.gbps;
      d["share_gbps"] = f.share_gbps < 0 ? nb::none() : nb::cast(f.share_gbps);
      d["victim"] = f.share_gbps < 0 ? nb::none() : nb::cast(f.victim);
      d["slowdown"] = f.slowdown;
      d["packets"] = f.packets;
      d["marks"] = f.marks;
      d["fabric_ns"] = f.fabric_ns;
      d["fabric_p99_ns"] = f.fabric_p99_ns;
      list.append(d);
    }
    return list;
  }

  // [interval][router] and [interval][link] as a point of packets has them, with the interval beside; and a table of
  // flows.
  static void add_samples(nb::dict& d, const MessageSamples& s) {
    using Sample = MessageSamples::FlowSample;
    d["sample_ns"] = ns(s.interval);
    d["first_watched"] = s.first_watched;
    if (s.watched > 0 && !s.queued.empty()) d["queued"] = array(std::vector<std::uint32_t>(s.queued), s.watched);
    if (!s.link_use.empty()) d["link_use"] = array(std::vector<float>(s.link_use), s.links);
    const double gbps = 8e3 / static_cast<double>(s.interval.ps());
    nb::dict flows;
    flows["begin_ns"] = column(s.flows, [&](const Sample& f) { return ns(s.interval * f.interval); });
    flows["src"] = column(s.flows, [](const Sample& f) { return f.src; });
    flows["dst"] = column(s.flows, [](const Sample& f) { return f.dst; });
    flows["gbps"] = column(s.flows, [&](const Sample& f) { return static_cast<double>(f.bytes) * gbps; });
    if (s.shares) flows["share_gbps"] = column(s.flows, [&](const Sample& f) { return f.share_bytes * gbps; });
    flows["packets"] = column(s.flows, [](const Sample& f) { return f.packets; });
    flows["marks"] = column(s.flows, [](const Sample& f) { return f.marks; });
    d["flow_rates"] = flows;
  }

  static void ratios(nb::dict& d, const Histogram& thousandths) {
    for (const auto& [name, share] : {std::pair{"slowdown_p50", 0.5}, {"slowdown_p99", 0.99}})
      d[name] = static_cast<double>(thousandths.quantile(share)) * 1e-3;
  }

  std::unique_ptr<MessageRun> run_;
  FaultSchedule faults_;
  std::unique_ptr<Topology> topology_;  // whose names things that fail have
};

// Flows with their ends, sizes, earliest starts and dependencies; begins and arrivals come back in picoseconds.
class NamedFlows {
 public:
  NamedFlows(const nb::dict& machine, std::uint16_t packet_bytes, std::int64_t grain_ps, bool fluid)
      : NamedFlows(machine_of(machine), packet_bytes, grain_ps, fluid) {}
  NamedFlows(const MachineConfig& machine, std::uint16_t packet_bytes, std::int64_t grain_ps, bool fluid)
      : topology_(make_topology(machine.topology)),
        network_(*topology_, machine.fabric, packet_bytes),
        owned_(fluid ? std::unique_ptr<Flows>(std::make_unique<FluidSimulator>(network_))
                     : std::make_unique<FlowSimulator>(network_, Time::ps(grain_ps))),
        flows_(*owned_) {}

  void add(std::uint32_t src, std::uint32_t dst, std::uint64_t bytes, std::int64_t start_ps,
           const std::vector<std::uint32_t>& after) {
    if (src >= topology_->endpoint_count() || dst >= topology_->endpoint_count() || src == dst)
      throw std::invalid_argument("flow " + std::to_string(count_) + " goes from " + std::to_string(src) + " to " +
                                  std::to_string(dst) + ": give two different endpoints below " +
                                  std::to_string(topology_->endpoint_count()));
    if (bytes < 1 || bytes > std::uint64_t{1} << 50 || start_ps < 0)
      throw std::invalid_argument("flow " + std::to_string(count_) +
                                  ": give at least 1 byte and a start of 0 or later");
    for (const std::uint32_t earlier : after)
      if (earlier >= count_)
        throw std::invalid_argument("flow " + std::to_string(count_) + " waits for flow " + std::to_string(earlier) +
                                    ": a flow waits for flows before it in the list");
    flows_.add(src, dst, bytes, Time::ps(start_ps));
    for (const std::uint32_t earlier : after) flows_.after(count_, earlier);
    ++count_;
  }

  NamedFlows& loop() { return *this; }
  bool run() {
    while (!stopped_.load(std::memory_order_relaxed))
      if (!flows_.step(Time::never())) {
        flows_.check_conserved();
        return true;
      }
    return false;
  }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  double progress() const { return 0; }

  nb::dict results() const {
    std::vector<std::int64_t> begun, finished;
    for (FlowId f = 0; f < count_; ++f)
      begun.push_back(flows_.begun(f).ps()), finished.push_back(flows_.finished(f).ps());
    nb::dict d;
    d["begun_ps"] = array(std::move(begun));
    d["finished_ps"] = array(std::move(finished));
    return d;
  }

 private:
  std::unique_ptr<Topology> topology_;
  FlowNetwork network_;
  std::unique_ptr<Flows> owned_;
  Flows& flows_;
  FlowId count_ = 0;
  std::atomic<bool> stopped_{false};
};

}  // namespace

void bind_messages(nb::module_& m) {
  m.def("flow_size_names", &flow_size_names);
  bind_measurement<MessagesFace>(m, "Messages")
      .def(nb::init<const nb::dict&, const nb::dict&, bool>(), "machine"_a, "options"_a, "packets"_a);
  bind_measurement<NamedFlows>(m, "Flows")
      .def(nb::init<const nb::dict&, std::uint16_t, std::int64_t, bool>(), "machine"_a, "packet_bytes"_a, "grain_ps"_a,
           "fluid"_a = false)
      .def("add", &NamedFlows::add, "src"_a, "dst"_a, "bytes"_a, "start_ps"_a, "after"_a);
}

}  // namespace exanet
