// SPDX-License-Identifier: Apache-2.0
// The Python face of jobs: programs of communication that run to their end.
#include "core/workload/closed_loop.hpp"
#include "exanet/_core_convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

class Jobs {
 public:
  Jobs(const nb::dict& machine, const nb::dict& options) : loop_(topology_of(machine), fabric_of(machine), config_of(options)) {}

  ClosedLoop& loop() { return loop_; }

  nb::dict results() const {
    const ClosedLoopResult& r = loop_.result();
    nb::dict d;
    d["finished_ns"] = ns(r.finished);
    d["packets"] = r.packets;
    d["packet_hops"] = r.packet_hops;
    d["mean_hops"] = r.mean_hops;
    d["packet_latency_ns"] = r.packet_ns;
    d["events"] = r.events;
    d["cpu_s"] = r.cpu_s;
    nb::list jobs;
    for (const JobResult& job : r.jobs) jobs.append(row(job));
    d["jobs"] = jobs;
    d["links"] = links(r.links);
    if (!r.queued.empty()) {
      d["first_watched"] = r.first_watched;
      d["watched_ps"] = r.sample.ps() * static_cast<std::int64_t>(r.queued.size() / r.watched);
      d["queued"] = array(std::vector<std::uint32_t>(r.queued), r.watched);  // [sample][router]
    }
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

  static ClosedLoopConfig config_of(const nb::dict& options) {
    ClosedLoopConfig c;
    c.mapping = nb::cast<std::string>(options["mapping"]);
    c.seed = nb::cast<std::uint64_t>(options["seed"]);
    c.flow_level = nb::cast<bool>(options["flow_level"]);
    c.packet_bytes = nb::cast<std::uint16_t>(options["packet_bytes"]);
    for (const nb::handle item : nb::cast<nb::list>(options["jobs"])) {
      const nb::dict d = nb::cast<nb::dict>(item);
      JobConfig job;
      job.program.name = nb::cast<std::string>(d["program"]);
      job.program.ranks = nb::cast<std::uint32_t>(d["ranks"]);
      job.program.bytes = nb::cast<std::uint64_t>(d["bytes"]);
      job.program.pause = time_of(d, "pause_ps");
      job.program.seed = c.seed + c.jobs.size();
      job.rounds = nb::cast<std::uint64_t>(d["rounds"]);
      job.priority = nb::cast<std::uint8_t>(d["priority"]);
      c.jobs.push_back(job);
    }
    return c;
  }

  ClosedLoop loop_;
};

}  // namespace

void bind_jobs(nb::module_& m) {
  bind_measurement<Jobs>(m, "Jobs").def(nb::init<const nb::dict&, const nb::dict&>(), "machine"_a, "options"_a);
  m.def("program_names", &program_names);
  m.def("mapping_names", &mapping_names);
}

}  // namespace exanet
