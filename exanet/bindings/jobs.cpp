// SPDX-License-Identifier: Apache-2.0
// The Python face of jobs: programs of communication that run to their end.
#include "core/config/names.hpp"
#include "core/lofamo/notice.hpp"
#include "core/routing/make_topology.hpp"
#include "core/workload/closed_loop.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

class Jobs {
 public:
  Jobs(const nb::dict& machine, const nb::dict& options) : Jobs(machine_of(machine), config_of(options)) {}

  ClosedLoop& loop() { return loop_; }

  nb::dict results() const {
    const ClosedLoopResult& r = loop_.result();
    nb::dict d;
    d["finished_ns"] = ns(r.finished);
    d["packets"] = r.packets;
    d["packet_hops"] = r.packet_hops;
    d["mean_hops"] = r.mean_hops;
    d["packet_latency_ns"] = r.packet_ns;
    d["page_lookups"] = r.pages.lookups;
    d["page_walks"] = r.pages.walks;
    d["events"] = r.events;
    d["cpu_s"] = r.cpu_s;
    nb::list jobs;
    for (const JobResult& job : r.jobs) jobs.append(row(job));
    d["jobs"] = jobs;
    d["links"] = links(r.links);
    add_queues(d, r.queues);
    add_faults(d, faults_, r.faults, loop_.topology());
    return d;
  }

 private:
  static nb::dict row(const JobResult& job) {
    nb::dict d;
    d["ranks"] = job.ranks;
    d["finished_ns"] = ns(job.finished);
    d["first_finished_ns"] = ns(job.first_finished);
    d["messages"] = job.messages;
    d["bytes"] = job.bytes;
    d["accepted_gbps"] = job.finished > Time() ? static_cast<double>(job.bytes) * 8 / ns(job.finished) : 0.0;
    d["message_ns"] = job.message_ns;
    percentiles(d, "message", job.message);
    d["fairness"] = job.fairness;
    d["message"] = histogram(job.message);
    d["endpoints"] = array(job.endpoints);
    return d;
  }

  // Each job has a seed of its own.
  static ClosedLoopConfig config_of(const nb::dict& options) {
    auto c = ConfigReader::read<ClosedLoopConfig>(options, "");
    for (std::size_t j = 0; j < c.jobs.size(); ++j) c.jobs[j].program.seed = c.seed + j;
    return c;
  }

  Jobs(const MachineConfig& machine, ClosedLoopConfig config)
      : faults_(machine.faults),
        loop_(following(machine.topology, machine.faults), machine.fabric, with_interface(machine, config)) {}

  static const ClosedLoopConfig& with_interface(const MachineConfig& machine, ClosedLoopConfig& config) {
    config.interface = machine.ni;
    if (machine.faults.empty()) return config;
    const auto shape = make_topology(following(machine.topology, machine.faults));
    config.faults = plan_of(machine.faults, *shape);
    config.noticed = lofamo::notice(machine.faults, config.faults, *shape);
    return config;
  }

  const FaultSchedule faults_;
  ClosedLoop loop_;
};

}  // namespace

void bind_jobs(nb::module_& m) {
  bind_measurement<Jobs>(m, "Jobs").def(nb::init<const nb::dict&, const nb::dict&>(), "machine"_a, "options"_a);
  m.def("program_names", &program_names);
  m.def("mapping_names", &mapping_names);
  m.def("nearest", &nearest, "name"_a, "known"_a);
  m.def(
      "map_jobs",
      [](const nb::dict& topology, const std::string& mapping, const std::vector<std::uint32_t>& ranks,
         std::uint64_t seed, const std::vector<NodeId>& taken) {
        return map_jobs(mapping, ranks, *make_topology(topology_spec(topology)), seed, taken);
      },
      "topology"_a, "mapping"_a, "ranks"_a, "seed"_a, "taken"_a);
}

}  // namespace exanet
