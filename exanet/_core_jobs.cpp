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

  bool run() {
    const nb::gil_scoped_release release;
    return loop_.run();
  }
  void stop() { loop_.stop(); }
  double progress() const { return loop_.progress(); }

  nb::dict results() const {
    const ClosedLoopResult& r = loop_.result();
    nb::dict d;
    d["finished_ns"] = static_cast<double>(r.finished.ps()) * 1e-3;
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
    return d;
  }

 private:
  static nb::dict row(const JobResult& job) {
    nb::dict d;
    d["ranks"] = job.ranks;
    d["finished_ns"] = static_cast<double>(job.finished.ps()) * 1e-3;
    d["first_finished_ns"] = static_cast<double>(job.first_finished.ps()) * 1e-3;
    d["messages"] = job.messages;
    d["bytes"] = job.bytes;
    d["message_ns"] = job.message_ns;
    d["message_p50_ns"] = static_cast<double>(job.message.quantile(0.5)) * 1e-3;
    d["message_p99_ns"] = static_cast<double>(job.message.quantile(0.99)) * 1e-3;
    d["fairness"] = job.fairness;
    d["message"] = histogram(job.message);
    d["endpoints"] = array(job.endpoints);
    return d;
  }

  static nb::dict links(const std::vector<ClosedLoopResult::Link>& rows) {
    using Link = ClosedLoopResult::Link;
    nb::dict d;
    d["node"] = column(rows, [](const Link& l) { return l.node; });
    d["port"] = column(rows, [](const Link& l) { return l.port; });
    d["to_node"] = column(rows, [](const Link& l) { return l.to_node; });
    d["link_class"] = column(rows, [](const Link& l) { return l.link_class; });
    d["use"] = column(rows, [](const Link& l) { return l.use; });
    return d;
  }

  static ClosedLoopConfig config_of(const nb::dict& options) {
    ClosedLoopConfig c;
    c.mapping = nb::cast<std::string>(options["mapping"]);
    c.seed = nb::cast<std::uint64_t>(options["seed"]);
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
      c.jobs.push_back(job);
    }
    return c;
  }

  ClosedLoop loop_;
};

}  // namespace

void bind_jobs(nb::module_& m) {
  nb::class_<Jobs>(m, "Jobs")
      .def(nb::init<const nb::dict&, const nb::dict&>(), "machine"_a, "options"_a)
      .def("run", &Jobs::run)
      .def("stop", &Jobs::stop)
      .def("progress", &Jobs::progress)
      .def("results", &Jobs::results);
  m.def("program_names", &program_names);
  m.def("mapping_names", &mapping_names);
}

}  // namespace exanet
