// SPDX-License-Identifier: Apache-2.0
// The Python face of the C++ core: a Simulator that runs ranks, and figures of a machine's shape. Names and units of
// what comes back are those of docs/results.md.
#include <algorithm>
#include <chrono>
#include <memory>

#include "core/network/verilated/verilated_network.hpp"
#include "core/protocol/reduction_tree.hpp"
#include "core/routing/make_topology.hpp"
#include "core/topology/metrics.hpp"
#include "exanet/bindings/convert.hpp"
#include "exanet/bindings/run_results.hpp"
#include "exanet/mpi_calls.h"
#include "runtime/coordinator/remote_run.hpp"

using namespace nanobind::literals;

namespace exanet {
namespace {

#define EXANET_NAME(name) #name,
constexpr const char* kOffloads[] = {EXN_OFFLOADS(EXANET_NAME)};

struct SimulatorOptions {
  Coordinator::Options coordinator;
  std::vector<std::string> offload;  // collectives that go to the interfaces
  std::string node_library;  // Verilated nodes in place of the model; empty: the model
  std::int64_t node_threads = 1;  // that step them
  bool flow_level = false;
  bool hosted = false;  // the host of packed ranks runs the simulator, if it can
};

template <typename V>
void visit(SimulatorOptions& o, V&& v) {
  v("compute_factor", o.coordinator.compute_factor, kOptional);
  v("bcast", o.coordinator.bcast, kOptional);
  v("offload", o.offload, kOptional);
  v("simulates_mpi", o.coordinator.simulates_mpi, kOptional);
  v("collectives", o.coordinator.collectives, kOptional);
  v("rules", o.coordinator.rules, kOptional);
  v("node_library", o.node_library, kOptional);
  v("node_threads", o.node_threads, kOptional);
  v("flow_level", o.flow_level, kOptional);
  v("hosted", o.hosted, kOptional);
}

Order order_of(const nb::dict& config, const std::vector<NodeId>& placement, const SimulatorOptions& options) {
  Order order{machine_of(config), placement, options.coordinator};
  for (std::uint32_t i = 0; i < EXN_OFFLOAD_COUNT; ++i)
    if (std::ranges::find(options.offload, kOffloads[i]) != options.offload.end()) order.options.offloaded |= 1u << i;
  order.machine.flow_level = options.flow_level;
  if (!options.node_library.empty())
    order.machine.network =
        make_node_network(options.node_library, order.machine.topology, static_cast<unsigned>(options.node_threads));
  return order;
}

// A run's simulator: here, or in the host of packed ranks, which is then waited for. Either leaves the same record.
class Simulator {
 public:
  Simulator(const nb::dict& config, const std::vector<NodeId>& placement, const nb::dict& options)
      : Simulator(config, placement, ConfigReader::read<SimulatorOptions>(options, "")) {}

  std::string path() const { return get().path(); }
  std::string order_path() const { return remote_run_ ? remote_run_->path() : ""; }

  // Until the run has ended, wherever it is simulated.
  void run() {
    const auto start = std::chrono::steady_clock::now();
    {
      const nb::gil_scoped_release release;
      if (!remote_run_ || !remote_run_->wait(record_)) {
        get()->where = EXN_APART;
        if (!coordinator_) coordinator_ = make_coordinator();
        coordinator_->run();
        record_ = coordinator_->record();
      }
    }
    wall_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ended_ = true;
  }

  void stop(const std::string& reason) { control().stop(reason); }
  std::string failure() const { return control().failure(); }
  void rank_exited(RankId rank, int status) { control().rank_exited(rank, status); }
  void host_ended() {
    if (remote_run_) remote_run_->left_alone();
  }
  void close() {
    coordinator_.reset();
    remote_run_.reset();
    region_.reset();
  }

  nb::dict progress() const {
    const Control::Progress p = control().progress();
    static constexpr const char* names[] = {"starting", "running", "finishing"};
    nb::dict d;
    d["virtual_ps"] = p.now.ps();
    d["messages"] = p.messages;
    d["packets"] = p.packets;
    d["events"] = p.events;
    d["phase"] = ended_ ? "ended" : names[std::min(p.phase, 2u)];
    d["attached"] = p.attached;
    d["exited"] = p.exited;
    return d;
  }

  // Once the simulator has ended: whose messages wait for a receive because they are too long to be sent eagerly.
  nb::dict blocked_sends() const {
    nb::list sends;
    for (const auto& [rank, bytes] : record_.blocked_sends) sends.append(nb::make_tuple(rank, bytes));
    nb::dict d;
    d["sends"] = sends;
    d["eager_max_bytes"] = get()->eager_max;
    d["envelope_bytes"] = get()->envelope_bytes;
    d["packet_limit_bytes"] = kPacketMax;
    return d;
  }

  nb::list rank_states() const {
    const Region& region = get();
    nb::list all;
    const std::uint32_t phase = __atomic_load_n(&region->phase, __ATOMIC_ACQUIRE);
    for (RankId r = 0; r < region.ranks(); ++r) {
      const exn_rank& slot = region.rank(r);
      const std::uint32_t state = __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE), call = slot.mpi_call;
      nb::dict d;
      d["rank"] = r;
      d["pid"] = slot.pid;
      d["state"] = state == EXN_ABSENT    ? "absent"
                   : state == EXN_RUNNING ? "running"
                   : state == EXN_ENDED   ? "ended"
                                          : "waiting";
      d["clock_ps"] = slot.clock_ps;
      d["mpi_call"] = std::string(call > 0 ? exanet_mpi_call_name(call - 1) : "");
      d["died"] = __atomic_load_n(&slot.died, __ATOMIC_ACQUIRE) != 0;
      d["node"] = order_.placement[r];
      d["timed_sleep"] = slot.timed_sleep != 0;
      d["initialized"] = phase != EXN_FREE || state == EXN_AT_START;
      d["finalized"] = phase == EXN_DONE || state == EXN_AT_FINISH;
      all.append(d);
    }
    return all;
  }

  nb::dict results() const {
    const RunStatistics run = statistics();
    nb::dict d = run_results(run);
    d["summary"] = summary(run);
    d["mpi_calls"] = mpi_calls();
    add_faults(d, order_.machine.faults, record_.faults, *topology_);
    add_fault_intervals(d, record_.fault_intervals);
    add_background(d, record_.background);
    return d;
  }

 private:
  Simulator(const nb::dict& config, const std::vector<NodeId>& placement, const SimulatorOptions& options)
      : order_(order_of(config, placement, options)),
        topology_(make_topology(order_.machine.topology)),
        region_(std::make_unique<Region>(static_cast<std::uint32_t>(placement.size()))),
        coordinator_(make_coordinator()),
        record_(placement.size()) {
    record_.network.links.resize(link_count(*topology_));
    if (!options.hosted) return;
    coordinator_.reset();  // it was made so that what it refuses is known before ranks start
    remote_run_ = std::make_unique<RemoteRun>(*region_, order_);
  }

  std::unique_ptr<Coordinator> make_coordinator() {
    return std::make_unique<Coordinator>(*region_, order_.machine, order_.placement, order_.options);
  }

  Region& get() const {
    if (!region_) throw std::runtime_error("the simulator is closed");
    return *region_;
  }
  Control control() const { return Control(get()); }

  RunStatistics statistics() const {
    RunStatistics run{
        *topology_, record_.network, record_.statistics, record_.packets, record_.payload_bytes, record_.events, {}};
    for (RankId r = 0; r < get().ranks(); ++r) {
      const exn_rank& slot = get().rank(r);
      run.ranks.push_back({order_.placement[r], ps(record_.clocks[r]), slot.compute_ps, slot.library_ps,
                           slot.last_call_ps, 0, slot.clock_reads, slot.clock_reads_ps, slot.segments,
                           slot.segment_bytes, slot.datagrams, slot.dropped_datagrams, slot.storage});
    }
    run.has_storage = !order_.machine.storage.empty();
    run.gateways = record_.gateways;
    return run;
  }

  nb::dict summary(const RunStatistics& run) const {
    const Region& region = get();
    nb::dict d = run_summary(run);
    d["wall_s"] = wall_s_;
    d["reductions"] = record_.reductions;
    d["page_lookups"] = record_.page_lookups;
    d["page_walks"] = record_.page_walks;
    d["rounds"] = record_.rounds;
    d["wakes"] = record_.wakes;
    d["empty_wakes"] = record_.empty_wakes;
    std::uint64_t on_workers = 0;
    for (RankId r = 0; r < region.ranks(); ++r) on_workers += region.rank(r).worker_turns;
    const char* why = region->no_workers;
    d["worker_threads"] = region->workers;
    d["turns_on_workers"] = on_workers;
    d["no_worker_threads"] = nb::bytes(why, ::strnlen(why, sizeof region->no_workers));
    d["hosted"] = region->where == EXN_ENDED_THERE;
    add_deaths(d, record_.deaths);
    if (std::optional<HandlerStatistics> handlers = record_.handlers) {
      nb::dict counts;
      visit(*handlers, [&counts](const char* key, std::uint64_t& count) { counts[key] = count; });
      d["handlers"] = counts;
    }
    d["complete"] = control().reason().empty();
    d["reason"] = control().reason();
    return d;
  }

  nb::dict mpi_calls() const {
    CallTable table;
    for (const char* name : exanet_mpi_call_names) table.names.append(name);
    for (RankId r = 0; r < get().ranks(); ++r) {
      for (std::uint32_t i = 0; i < EXANET_MPI_CALL_COUNT; ++i) {
        const exn_mpi_profile& p = get().rank(r).mpi[i];
        if (p.calls == 0) continue;
        table.add(r, i, p.calls, p.time_ps);
      }
    }
    return table.as_dict();
  }

  Order order_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Region> region_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<RemoteRun> remote_run_;
  RunRecord record_;
  double wall_s_ = 0;
  bool ended_ = false;
};

nb::dict topology_metrics(const nb::dict& config) {
  const std::unique_ptr<Topology> t = make_topology(topology_of(config));
  const std::uint64_t links = link_count(*t);
  // Each source costs a look at every link: very large networks get fewer, so that a description takes a second at
  // most.
  const Distances far =
      distances(*t, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(30'000'000 / (links + 1), 16, 1024)));
  nb::dict d;
  d["nodes"] = t->endpoint_count();
  d["switches"] = t->node_count() - t->endpoint_count();
  d["links"] = links / 2;
  d["diameter"] = far.diameter;
  d["average_hops"] = far.mean;
  d["bisection_links"] = bisection_links(*t);
  return d;
}

using Step = std::pair<NodeId, std::uint16_t>;  // a node and the port by which a message leaves it

std::vector<Step> steps(const Topology& t, NodeId src, NodeId dst) {
  if (src >= t.endpoint_count() || dst >= t.endpoint_count()) throw std::invalid_argument("no such node");
  std::vector<Step> found;
  for (NodeId at = src; at != dst; at = t.neighbour(at, found.back().second).node)
    found.emplace_back(at, t.next_hop(at, dst).port);
  return found;
}

// Nodes that a message between two endpoints crosses links between, source and destination included, in the order of
// the routing function.
std::vector<NodeId> route(const nb::dict& config, NodeId src, NodeId dst) {
  const std::unique_ptr<Topology> t = make_topology(topology_of(config));
  std::vector<NodeId> path;
  for (const auto& [node, port] : steps(*t, src, dst)) path.push_back(node);
  path.push_back(dst);
  return path;
}

// The same of many pairs, each with the ports.
std::vector<std::vector<Step>> routes(const nb::dict& config, const std::vector<std::pair<NodeId, NodeId>>& pairs) {
  const std::unique_ptr<Topology> t = make_topology(topology_of(config));
  std::vector<std::vector<Step>> found;
  found.reserve(pairs.size());
  for (const auto& [src, dst] : pairs) found.push_back(steps(*t, src, dst));
  return found;
}

}  // namespace
}  // namespace exanet

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using exanet::Simulator;
  nb::class_<Simulator>(m, "Simulator")
      .def(nb::init<const nb::dict&, const std::vector<exanet::NodeId>&, const nb::dict&>(), "config"_a, "placement"_a,
           "options"_a)
      .def_prop_ro("path", &Simulator::path)
      .def_prop_ro("order_path", &Simulator::order_path)
      .def("run", &Simulator::run)
      .def("stop", &Simulator::stop, "reason"_a)
      .def("failure", &Simulator::failure)
      .def("rank_exited", &Simulator::rank_exited, "rank"_a, "status"_a)
      .def("host_ended", &Simulator::host_ended)
      .def("progress", &Simulator::progress)
      .def("blocked_sends", &Simulator::blocked_sends)
      .def("rank_states", &Simulator::rank_states)
      .def("results", &Simulator::results)
      .def("close", &Simulator::close);
  exanet::bind_awareness(m);
  exanet::bind_bridge(m);
  exanet::bind_interfaces(m);
  exanet::bind_configuration(m);
  exanet::bind_traffic(m);
  exanet::bind_jobs(m);
  exanet::bind_messages(m);
  exanet::bind_registries(m);
  exanet::bind_replay(m);
  exanet::bind_trace_reader(m);
  m.attr("reduction_branches") =
      exanet::ReductionTree::kBranches;  // of a unit: ranks of its node, and nodes below and above
  m.def("offloadable",
        [] { return std::vector<std::string>(std::begin(exanet::kOffloads), std::end(exanet::kOffloads)); });
  m.def("topology_metrics", &exanet::topology_metrics, "config"_a);
  m.def("route", &exanet::route, "config"_a, "src"_a, "dst"_a);
  m.def("routes", &exanet::routes, "config"_a, "pairs"_a);
}
