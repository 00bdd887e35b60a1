// SPDX-License-Identifier: Apache-2.0
// The Python face of the bridge between TAP devices.
#include "runtime/bridge/bridge.hpp"

#include "exanet/bindings/convert.hpp"
#include "exanet/bindings/run_results.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

class BridgeFace {
 public:
  BridgeFace(const nb::dict& machine, const nb::dict& options)
      : BridgeFace(machine_of(machine), ConfigReader::read<BridgeConfig>(options, "")) {}

  Bridge& loop() { return loop_; }

  nb::dict results() const {
    const BridgeResult& r = loop_.result();
    nb::dict d;
    d["devices"] = devices();
    d["pairs"] = pairs();
    d["frames"] = frames(r.frames);
    nb::dict summary;
    summary["virtual_ps"] = r.finished.ps();
    summary["delivered"] = r.delivered;
    summary["refused"] = r.refused;
    summary["packets"] = r.packets;
    summary["events"] = r.events;
    summary["wall_s"] = static_cast<double>(r.wall_ns) * 1e-9;
    summary["cpu_s"] = static_cast<double>(r.cpu_ns) * 1e-9;
    summary["waited_s"] = static_cast<double>(r.waited_ns) * 1e-9;
    summary["lag_ns"] = r.delivered > 0 ? static_cast<double>(r.lag_sum_ns) / static_cast<double>(r.delivered) : 0.0;
    percentiles(summary, "lag", r.lag);
    summary["lag_most_ns"] = static_cast<double>(r.lag_most_ns);
    d["summary"] = summary;
    add_background(d, r.background);
    return d;
  }

 private:
  BridgeFace(const MachineConfig& machine, const BridgeConfig& config)
      : loop_(machine.topology, machine.fabric, machine.ni, machine.background, config) {}

  nb::dict devices() const {
    const EthernetFabric& ethernet = loop_.ethernet();
    std::vector<DeviceCounts> rows;
    rows.reserve(ethernet.devices());
    for (std::uint32_t device = 0; device < ethernet.devices(); ++device) rows.push_back(ethernet.counts(device));
    nb::dict d;
    d["sent"] = column(rows, [](const DeviceCounts& c) { return c.sent; });
    d["sent_bytes"] = column(rows, [](const DeviceCounts& c) { return c.sent_bytes; });
    d["received"] = column(rows, [](const DeviceCounts& c) { return c.received; });
    d["received_bytes"] = column(rows, [](const DeviceCounts& c) { return c.received_bytes; });
    d["transmit_drops"] = column(rows, [](const DeviceCounts& c) { return c.transmit_drops; });
    d["receive_drops"] = column(rows, [](const DeviceCounts& c) { return c.receive_drops; });
    d["lost"] = column(rows, [](const DeviceCounts& c) { return c.lost; });
    d["malformed"] = column(rows, [](const DeviceCounts& c) { return c.malformed; });
    d["unaddressed"] = column(rows, [](const DeviceCounts& c) { return c.unaddressed; });
    d["interrupts"] = column(rows, [](const DeviceCounts& c) { return c.interrupts; });
    return d;
  }

  // A row for each pair that has exchanged frames, by sender.
  nb::list pairs() const {
    const EthernetFabric& ethernet = loop_.ethernet();
    nb::list rows;
    for (std::uint32_t from = 0; from < ethernet.devices(); ++from) {
      for (std::uint32_t to = 0; to < ethernet.devices(); ++to) {
        const PairCounts& pair = ethernet.pair(from, to);
        if (pair.frames == 0) continue;
        nb::dict d;
        d["from"] = from;
        d["to"] = to;
        d["frames"] = pair.frames;
        d["bytes"] = pair.bytes;
        d["latency_least_ns"] = static_cast<double>(pair.least_ps) * 1e-3;
        d["latency_ns"] = static_cast<double>(pair.latency_ps) / static_cast<double>(pair.frames) * 1e-3;
        percentiles(d, "latency", pair.latency);
        d["latency_most_ns"] = static_cast<double>(pair.most_ps) * 1e-3;
        rows.append(d);
      }
    }
    return rows;
  }

  static nb::dict frames(const std::vector<CarriedFrame>& rows) {
    nb::dict d;
    d["from"] = column(rows, [](const CarriedFrame& f) { return f.from; });
    d["to"] = column(rows, [](const CarriedFrame& f) { return f.to; });
    d["bytes"] = column(rows, [](const CarriedFrame& f) { return f.bytes; });
    d["sent_ps"] = column(rows, [](const CarriedFrame& f) { return f.sent.ps(); });
    d["arrived_ps"] = column(rows, [](const CarriedFrame& f) { return f.arrived.ps(); });
    d["taken_ps"] = column(rows, [](const CarriedFrame& f) { return f.taken.ps(); });
    d["lag_ns"] = column(rows, [](const CarriedFrame& f) { return f.lag_ns; });
    return d;
  }

  Bridge loop_;
};

}  // namespace

void bind_bridge(nb::module_& m) {
  bind_measurement<BridgeFace>(m, "Bridge").def(nb::init<const nb::dict&, const nb::dict&>(), "machine"_a, "options"_a);
}

}  // namespace exanet
