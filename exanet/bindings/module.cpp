// SPDX-License-Identifier: Apache-2.0
// The Python face of the C++ core: a Simulator that runs ranks, and figures of a machine's shape. Names and units of what comes back are
// those of docs/results.md.
#include <algorithm>
#include <chrono>
#include <memory>

#include "core/network/verilated/verilated_network.hpp"
#include "core/routing/make_topology.hpp"
#include "core/topology/metrics.hpp"
#include "exanet/bindings/convert.hpp"
#include "exanet/mpi_calls.h"
#include "runtime/coordinator/coordinator.hpp"

using namespace nanobind::literals;

namespace exanet {
namespace {

std::uint64_t ps(Time t) { return static_cast<std::uint64_t>(t.ps()); }

struct SimulatorOptions {
  Coordinator::Options coordinator;
  std::string node_library;  // Verilated nodes in place of the model; empty: the model
};

template <typename V>
void visit(SimulatorOptions& o, V&& v) {
  v("compute_factor", o.coordinator.compute_factor, kOptional);
  v("node_library", o.node_library, kOptional);
}

class Simulator {
 public:
  Simulator(const nb::dict& config, const std::vector<NodeId>& placement, const nb::dict& options) {
    const SimulatorOptions o = ConfigReader::read<SimulatorOptions>(options, "");
    MachineConfig machine = machine_of(config);
    if (!o.node_library.empty()) machine.network = make_node_network(o.node_library, machine.topology);
    coordinator_ = std::make_unique<Coordinator>(machine, placement, o.coordinator);
  }

  Coordinator& get() const {
    if (!coordinator_) throw std::runtime_error("the simulator is closed");
    return *coordinator_;
  }

  std::string path() const { return get().region().path(); }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    {
      const nb::gil_scoped_release release;
      get().run();
    }
    wall_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ended_ = true;
  }

  void stop(const std::string& reason) { get().stop(reason); }
  void rank_exited(RankId rank, int status) { get().rank_exited(rank, status); }
  void close() { coordinator_.reset(); }

  nb::dict progress() const {
    const Coordinator::Progress p = get().progress();
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
    for (const auto& [rank, bytes] : get().blocked_sends()) sends.append(nb::make_tuple(rank, bytes));
    nb::dict d;
    d["sends"] = sends;
    d["eager_max_bytes"] = get().region()->eager_max;
    d["envelope_bytes"] = get().region()->envelope_bytes;
    d["packet_limit_bytes"] = kPacketMax;
    return d;
  }

  nb::list rank_states() const {
    const Coordinator& c = get();
    nb::list all;
    const std::uint32_t phase = __atomic_load_n(&c.region()->phase, __ATOMIC_ACQUIRE);
    for (RankId r = 0; r < c.ranks(); ++r) {
      const exn_rank& slot = c.region().rank(r);
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
      d["napping"] = slot.napping != 0;
      d["initialized"] = phase != EXN_FREE || state == EXN_AT_START;
      d["finalized"] = phase == EXN_DONE || state == EXN_AT_FINISH;
      all.append(d);
    }
    return all;
  }

  nb::dict results() const {
    nb::dict d;
    d["summary"] = summary();
    d["ranks"] = ranks();
    d["links"] = links();
    d["pairs"] = pairs();
    d["message_sizes"] = message_sizes();
    d["packet_latency"] = histogram(get().statistics().packet_latency);
    d["message_latency"] = histogram(get().statistics().message_latency);
    d["timeline"] = timeline();
    d["mpi_calls"] = mpi_calls();
    d["messages"] = messages();
    d["messages_dropped"] = get().statistics().dropped.messages;
    d["topology"] = topology();
    return d;
  }

 private:
  std::vector<RankId> all_ranks() const {
    std::vector<RankId> all(get().ranks());
    for (RankId r = 0; r < all.size(); ++r) all[r] = r;
    return all;
  }

  nb::dict summary() const {
    const Coordinator& c = get();
    std::uint64_t end = 0;
    for (const RankId r : all_ranks()) end = std::max(end, ps(c.rank_clock(r)));
    nb::dict d;
    d["virtual_ps"] = end;
    d["events"] = c.events();
    d["packet_hops"] = c.network().packet_hops();
    d["packets"] = c.packets();
    d["payload_bytes"] = c.payload_bytes();
    d["cycles"] = c.network().cycles();
    d["messages"] = c.statistics().total.messages;
    d["bytes"] = c.statistics().total.bytes;
    d["wall_s"] = wall_s_;
    d["rounds"] = c.rounds().rounds;
    d["wakes"] = c.rounds().wakes;
    d["empty_wakes"] = c.rounds().empty_wakes;
    d["complete"] = c.reason().empty();
    d["reason"] = c.reason();
    return d;
  }

  nb::dict ranks() const {
    const Coordinator& c = get();
    const Statistics& s = c.statistics();
    const auto sent = [&s](RankId r, bool bytes) {
      std::uint64_t sum = 0;
      for (std::size_t to = 0; to < s.n; ++to)
        sum += bytes ? s.pairs[r * s.n + to].bytes : s.pairs[r * s.n + to].messages;
      return sum;
    };
    const auto slot = [&c](RankId r) -> const exn_rank& { return c.region().rank(r); };
    const std::vector<RankId> all = all_ranks();
    nb::dict d;
    d["rank"] = array(all);
    d["node"] = column(all, [&](RankId r) { return c.placement()[r]; });
    d["virtual_ps"] = column(all, [&](RankId r) { return ps(c.rank_clock(r)); });
    d["compute_ps"] = column(all, [&](RankId r) { return static_cast<std::uint64_t>(slot(r).compute_ps); });
    d["library_ps"] = column(all, [&](RankId r) { return static_cast<std::uint64_t>(slot(r).library_ps); });
    d["wait_ps"] = column(all, [&](RankId r) {
      const std::uint64_t busy = slot(r).compute_ps + slot(r).library_ps, clock = ps(c.rank_clock(r));
      return clock > busy ? clock - busy : std::uint64_t{0};
    });
    d["messages_sent"] = column(all, [&](RankId r) { return sent(r, false); });
    d["bytes_sent"] = column(all, [&](RankId r) { return sent(r, true); });
    d["messages_received"] = column(all, [&](RankId r) { return s.received[r].messages; });
    d["bytes_received"] = column(all, [&](RankId r) { return s.received[r].bytes; });
    d["rma_ops"] = column(all, [&](RankId r) { return s.rma[r].messages; });
    d["rma_bytes"] = column(all, [&](RankId r) { return s.rma[r].bytes; });
    return d;
  }

  struct LinkRow {
    NodeId node, to;
    std::uint16_t port;
    std::uint8_t link_class;
  };
  std::vector<LinkRow> link_rows() const {
    const Topology& t = get().topology();
    std::vector<LinkRow> rows;
    for (NodeId n = 0; n < t.node_count(); ++n) {
      for (std::uint16_t p = 0; p < t.port_count(n); ++p) {
        const PortRef to = t.neighbour(n, p);
        if (to.node != kNoNode) rows.push_back({n, to.node, p, t.link_class(n, p)});
      }
    }
    return rows;
  }

  nb::dict links() const {
    const Network& f = get().network();
    const std::vector<LinkRow> rows = link_rows();
    const auto stats = [&f](const LinkRow& l) -> const LinkStats& { return f.link_stats(l.node, l.port); };
    nb::dict d;
    d["node"] = column(rows, [](const LinkRow& l) { return l.node; });
    d["port"] = column(rows, [](const LinkRow& l) { return l.port; });
    d["link_class"] = column(rows, [](const LinkRow& l) { return l.link_class; });
    d["to_node"] = column(rows, [](const LinkRow& l) { return l.to; });
    d["packets"] = column(rows, [&](const LinkRow& l) { return stats(l).packets; });
    d["payload_bytes"] = column(rows, [&](const LinkRow& l) { return stats(l).payload_bytes; });
    d["busy_ps"] = column(rows, [&](const LinkRow& l) { return ps(stats(l).busy); });
    d["waited_ps"] = column(rows, [&](const LinkRow& l) { return ps(stats(l).waited); });
    return d;
  }

  nb::dict pairs() const {
    const Statistics& s = get().statistics();
    std::vector<std::uint32_t> src, dst;
    std::vector<std::uint64_t> messages, bytes;
    for (std::size_t i = 0; i < s.pairs.size(); ++i) {
      if (s.pairs[i].messages == 0) continue;
      src.push_back(static_cast<std::uint32_t>(i / s.n));
      dst.push_back(static_cast<std::uint32_t>(i % s.n));
      messages.push_back(s.pairs[i].messages);
      bytes.push_back(s.pairs[i].bytes);
    }
    nb::dict d;
    d["src"] = array(std::move(src));
    d["dst"] = array(std::move(dst));
    d["messages"] = array(std::move(messages));
    d["bytes"] = array(std::move(bytes));
    return d;
  }

  nb::dict message_sizes() const {
    const auto& sizes = get().statistics().sizes;
    std::vector<std::uint64_t> lower, upper, messages, bytes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].messages == 0) continue;
      lower.push_back(i == 0 ? 0 : (std::uint64_t{1} << (i - 1)) + 1);
      upper.push_back(std::uint64_t{1} << i);
      messages.push_back(sizes[i].messages);
      bytes.push_back(sizes[i].bytes);
    }
    nb::dict d;
    d["lower_bytes"] = array(std::move(lower));
    d["upper_bytes"] = array(std::move(upper));
    d["messages"] = array(std::move(messages));
    d["bytes"] = array(std::move(bytes));
    return d;
  }

  nb::dict timeline() const {
    const Timeline& t = get().statistics().timeline;
    const std::size_t bins = t.bins_used();
    const auto cut = [&](const std::vector<std::uint64_t>& table) {
      std::vector<std::uint64_t> values;
      values.reserve(get().ranks() * bins);
      for (RankId r = 0; r < get().ranks(); ++r) {
        const auto row = table.begin() + static_cast<std::ptrdiff_t>(r * Timeline::kBins);
        values.insert(values.end(), row, row + static_cast<std::ptrdiff_t>(bins));
      }
      return array(std::move(values), std::max<std::size_t>(bins, 1));
    };
    nb::dict d;
    d["bin_ps"] = t.bin().ps();
    d["wait_ps"] = cut(t.waits_ps());
    d["sent_bytes"] = cut(t.sent_bytes());
    return d;
  }

  nb::dict mpi_calls() const {
    std::vector<std::uint32_t> rank, call;
    std::vector<std::uint64_t> calls, time;
    nb::list names;
    for (const char* name : exanet_mpi_call_names) names.append(name);
    for (RankId r = 0; r < get().ranks(); ++r) {
      for (std::uint32_t i = 0; i < EXANET_MPI_CALL_COUNT; ++i) {
        const exn_mpi_profile& p = get().region().rank(r).mpi[i];
        if (p.calls == 0) continue;
        rank.push_back(r);
        call.push_back(i);
        calls.push_back(p.calls);
        time.push_back(p.time_ps);
      }
    }
    nb::dict d;
    d["names"] = names;
    d["rank"] = array(std::move(rank));
    d["call"] = array(std::move(call));
    d["calls"] = array(std::move(calls));
    d["time_ps"] = array(std::move(time));
    return d;
  }

  nb::dict messages() const {
    const auto& m = get().statistics().messages;
    nb::dict d;
    d["src"] = column(m, [](const MessageRecord& r) { return r.src; });
    d["dst"] = column(m, [](const MessageRecord& r) { return r.dst; });
    d["bytes"] = column(m, [](const MessageRecord& r) { return r.bytes; });
    d["tag"] = column(m, [](const MessageRecord& r) { return r.tag; });
    d["protocol"] = column(m, [](const MessageRecord& r) { return static_cast<std::uint8_t>(r.protocol); });
    d["posted_ps"] = column(m, [](const MessageRecord& r) { return ps(r.posted); });
    d["delivered_ps"] = column(m, [](const MessageRecord& r) { return ps(r.delivered); });
    return d;
  }

  nb::dict topology() const {
    const Topology& t = get().topology();
    std::vector<float> position;
    nb::list names, ports;
    for (NodeId n = 0; n < t.node_count(); ++n) {
      float xyz[3];
      t.position(n, xyz);
      position.insert(position.end(), xyz, xyz + 3);
      names.append(t.node_name(n));
    }
    for (const LinkRow& l : link_rows()) ports.append(t.port_name(l.node, l.port));
    nb::dict d;
    d["nodes"] = t.node_count();
    d["node_name"] = names;
    d["position"] = array(std::move(position), 3);
    d["port_name"] = ports;
    return d;
  }

  std::unique_ptr<Coordinator> coordinator_;
  double wall_s_ = 0;
  bool ended_ = false;
};

nb::dict topology_metrics(const nb::dict& config) {
  const std::unique_ptr<Topology> t = make_topology(topology_of(config));
  std::uint64_t links = 0;
  for (NodeId n = 0; n < t->node_count(); ++n) {
    for (std::uint16_t p = 0; p < t->port_count(n); ++p) links += t->neighbour(n, p).node != kNoNode;
  }
  // Each source costs a look at every link: very large networks get fewer, so that a description takes a second at most.
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

// Nodes that a message between two endpoints crosses links between, source and destination included, in the order of the routing function.
std::vector<NodeId> route(const nb::dict& config, NodeId src, NodeId dst) {
  const std::unique_ptr<Topology> t = make_topology(topology_of(config));
  if (src >= t->endpoint_count() || dst >= t->endpoint_count()) throw std::invalid_argument("no such node");
  std::vector<NodeId> path{src};
  while (path.back() != dst) path.push_back(t->neighbour(path.back(), t->next_hop(path.back(), dst).port).node);
  return path;
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
      .def("run", &Simulator::run)
      .def("stop", &Simulator::stop, "reason"_a)
      .def("rank_exited", &Simulator::rank_exited, "rank"_a, "status"_a)
      .def("progress", &Simulator::progress)
      .def("blocked_sends", &Simulator::blocked_sends)
      .def("rank_states", &Simulator::rank_states)
      .def("results", &Simulator::results)
      .def("close", &Simulator::close);
  exanet::bind_configuration(m);
  exanet::bind_traffic(m);
  exanet::bind_jobs(m);
  exanet::bind_messages(m);
  exanet::bind_registries(m);
  m.def("topology_metrics", &exanet::topology_metrics, "config"_a);
  m.def("route", &exanet::route, "config"_a, "src"_a, "dst"_a);
}
