// SPDX-License-Identifier: Apache-2.0
// The Python face of recorded programs: a trace as columns, and its replay on a machine.
#include "core/replay/replay.hpp"

#include <nanobind/stl/map.h>

#include <map>

#include "core/collectives/registry.hpp"
#include "core/replay/communicators.hpp"
#include "exanet/bindings/convert.hpp"
#include "exanet/bindings/run_results.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

// How many messages were longer than their receives, and what the first rank's first one was.
nb::tuple truncated(const ReplayResult& r) {
  std::uint64_t messages = 0;
  std::string first;
  for (const ReplayedRank& rank : r.ranks) {
    if (messages == 0) first = rank.first_truncated;
    messages += rank.truncated;
  }
  return nb::make_tuple(messages, first);
}

// The least size of each one's class.
nb::object size_classes(const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::device::cpu>& sizes) {
  std::vector<std::int64_t> least(sizes.shape(0));
  for (std::size_t i = 0; i < least.size(); ++i)
    least[i] = static_cast<std::int64_t>(least_of_class(size_class(static_cast<std::uint64_t>(sizes(i)))));
  return array(std::move(least));
}

class ReplayFace {
 public:
  ReplayFace(const nb::dict& machine, const nb::list& programs, bool flow_level, bool call_times)
      : programs_(programs_of(programs)),
        loop_(make(machine_of(machine), {.programs = programs_, .flow_level = flow_level, .call_times = call_times},
                   faults_)),
        call_times_(call_times) {}

  Replay& loop() { return *loop_; }

  nb::dict results() const {
    const ReplayResult& r = loop_->result();
    const NetworkStatistics network = network_statistics(loop_->topology(), loop_->network(), r.finished);
    RunStatistics run{loop_->topology(), network, loop_->statistics(), loop_->packets(), loop_->payload_bytes(),
                      r.events,          {}};
    run.gateways = loop_->gateways();
    std::size_t id = 0;
    for (const ReplayProgram& program : programs_) {
      for (const NodeId node : program.placement) {
        const ReplayedRank& rank = r.ranks[id++];
        run.ranks.push_back(
            {node, ps(rank.clock), ps(rank.compute), ps(rank.library), ps(rank.last_call), ps(program.start)});
      }
    }
    nb::dict d = run_results(run);
    nb::dict summary = run_summary(run);
    summary["reductions"] = r.reductions;
    summary["by_messages"] = nb::cast(r.by_messages);
    summary["page_lookups"] = r.pages.lookups;
    summary["page_walks"] = r.pages.walks;
    summary["calls"] = r.calls;
    summary["cpu_s"] = r.cpu_s;
    add_deaths(summary, r.deaths);
    summary["complete"] = true;
    d["summary"] = summary;
    d["mpi_calls"] = mpi_calls(r);
    d["truncated"] = truncated(r);
    if (call_times_) d["call_times"] = call_times(r);
    add_queues(d, r.queues);
    add_faults(d, faults_, r.faults, loop_->topology());
    add_fault_intervals(d, r.fault_intervals);
    add_background(d, r.background);
    return d;
  }

 private:
  static std::vector<ReplayProgram> programs_of(const nb::list& programs) {
    std::vector<ReplayProgram> read;
    for (const nb::handle program : programs) {
      const nb::dict given = nb::cast<nb::dict>(program);
      read.push_back(ConfigReader::read<ReplayProgram>(given, "program", {"collectives"}));
      read.back().collectives = nb::cast<CollectiveChoices>(given["collectives"]);
    }
    return read;
  }

  static std::unique_ptr<Replay> make(const MachineConfig& machine, ReplayConfig config, FaultSchedule& faults) {
    config.faults = faults = machine.faults;
    config.background = machine.background;
    return std::make_unique<Replay>(machine.topology, machine.fabric, machine.ni, config);
  }

  // What is no call of MPI has a small letter.
  static std::string shown_name(std::uint8_t code) {
    const std::string name = trace_call_name(code);
    return trace_form(code) == EXANET_TRACE_OPERATION ? name : "MPI_" + name;
  }

  static nb::dict mpi_calls(const ReplayResult& r) {
    CallTable table;
    for (std::uint32_t code = 0; code < 256; ++code) table.names.append(shown_name(static_cast<std::uint8_t>(code)));
    for (std::uint32_t i = 0; i < r.ranks.size(); ++i) {
      for (std::uint32_t code = 0; code < r.ranks[i].calls.size(); ++code) {
        const ReplayedCall& figures = r.ranks[i].calls[code];
        if (figures.calls == 0 || code == EXANET_TRACE_COMMUNICATOR || code == EXANET_TRACE_UNRECORDED) continue;
        table.add(i, code, figures.calls, ps(figures.time));
      }
    }
    return table.as_dict();
  }

  // A row for each call of the recorded programs, by rank and in order.
  static nb::dict call_times(const ReplayResult& r) {
    std::vector<std::uint32_t> rank;
    std::vector<std::uint8_t> call;
    std::vector<std::uint64_t> began, took;
    for (std::uint32_t i = 0; i < r.ranks.size(); ++i) {
      for (const TimedCall& each : r.ranks[i].times) {
        rank.push_back(i);
        call.push_back(each.code);
        began.push_back(ps(each.began));
        took.push_back(ps(each.ended - each.began));
      }
    }
    nb::dict d;
    d["rank"] = array(std::move(rank));
    d["call"] = array(std::move(call));
    d["begin_ps"] = array(std::move(began));
    d["took_ps"] = array(std::move(took));
    return d;
  }

  FaultSchedule faults_;
  const std::vector<ReplayProgram> programs_;
  std::unique_ptr<Replay> loop_;
  const bool call_times_;
};

// The calls of one rank as columns. Peers are world ranks, -1 for any and -2 for none; so are tags, -1 for any.
class TraceTables {
 public:
  explicit TraceTables(std::uint32_t ranks) : ranks_(ranks), communicators_(ranks) {}

  nb::dict read(const std::string& path) {
    TraceStream stream(path);
    columns_ = {};
    started_ = {};
    persistent_.clear();
    TraceRecord r;
    Time clock;
    nb::list unrecorded;
    const RankId rank = stream.header().rank;
    if (rank >= ranks_)
      throw ConfigError("trace", path + ": it is of rank " + std::to_string(rank) + " of " +
                                     std::to_string(stream.header().ranks) + ", and there are " +
                                     std::to_string(ranks_) + "; record the program anew");
    windows_.clear();
    while (stream.next(r)) {
      if (r.form == EXANET_TRACE_WINDOW) windows_[r.window] = r.comm;
      if (r.form == EXANET_TRACE_CREATE && !communicators_.add(rank, r))
        stream.fail("a communicator of which this rank is no member");
      if (r.form == EXANET_TRACE_NAME) unrecorded.append(r.name);
      clock += r.compute;
      const std::int64_t started = start(r);
      add(rank, r, clock);
      columns_.bytes.back() += started;
      clock += r.took;
    }
    nb::dict d;
    d["rank"] = rank;
    d["ranks"] = stream.header().ranks;
    d["mpi"] = stream.header().mpi;
    d["complete"] = stream.complete();
    d["unrecorded"] = unrecorded;
    d["started"] = started();
    d["columns"] = columns();
    return d;
  }

 private:
  struct Columns {
    std::vector<std::uint8_t> call;
    std::vector<std::int64_t> begin, took, compute, inside, communicator, peer, tag, bytes, receive_peer, receive_tag,
        receive_bytes, root, requests;
  };

  // The sends that calls of MPI_Start and MPI_Startall have begun, a row each.
  struct Started {
    std::vector<std::int64_t> call, peer, bytes;  // call: its row among the rank's columns
  };

  // Bytes of the persistent sends that the record begins.
  std::int64_t start(const TraceRecord& r) {
    if (r.code >= EXANET_TRACE_Send_init && r.code <= EXANET_TRACE_Rsend_init) persistent_[r.request] = r.message;
    if (r.code == EXANET_TRACE_Recv_init) persistent_.erase(r.request);
    std::int64_t bytes = 0;
    if (r.code != EXANET_TRACE_Start && r.code != EXANET_TRACE_Startall) return bytes;
    for (const std::uint64_t request : r.first) {
      const auto found = persistent_.find(static_cast<std::uint32_t>(request));
      if (found == persistent_.end() || found->second.peer == kNoPeer) continue;
      const auto size = static_cast<std::int64_t>(found->second.bytes);
      started_.call.push_back(static_cast<std::int64_t>(columns_.call.size()));
      started_.peer.push_back(peer_of(found->second));
      started_.bytes.push_back(size);
      bytes += size;
    }
    return bytes;
  }

  nb::dict started() {
    nb::dict d;
    d["call"] = array(std::move(started_.call));
    d["peer"] = array(std::move(started_.peer));
    d["bytes"] = array(std::move(started_.bytes));
    return d;
  }

  static std::int64_t peer_of(const TraceMessage& m) {
    return m.peer == kAnyPeer ? -1 : m.peer == kNoPeer ? -2 : static_cast<std::int64_t>(m.peer);
  }
  static std::int64_t tag_of(const TraceMessage& m) { return m.any_tag ? -1 : static_cast<std::int64_t>(m.tag); }
  static std::int64_t sum(const std::vector<std::uint64_t>& list) {
    std::uint64_t all = 0;
    for (const std::uint64_t bytes : list) all += bytes;
    return static_cast<std::int64_t>(all);
  }

  // Of a collective: what the rank gives and gets, and its root, -1 without one. A record may have sizes that mean
  // nothing at the rank, as the program gave them.
  struct Part {
    std::int64_t given = 0, got = 0, root = -1;
  };

  Part part(RankId rank, const TraceRecord& r) {
    Part p{static_cast<std::int64_t>(r.send_bytes) + sum(r.first),
           static_cast<std::int64_t>(r.receive_bytes) + sum(r.second)};
    const Communicator* comm = communicators_.find(rank, r.comm);
    if (comm == nullptr) return p;
    const bool is_root = comm->me == r.root;
    switch (r.code >= EXANET_TRACE_Ibarrier ? r.code - EXANET_TRACE_NONBLOCKING : r.code) {
      case EXANET_TRACE_Bcast:
      case EXANET_TRACE_Reduce: p.root = r.root; break;
      case EXANET_TRACE_Scatter:
      case EXANET_TRACE_Scatterv: p = {is_root ? p.given : 0, p.got, r.root}; break;
      case EXANET_TRACE_Gather:
      case EXANET_TRACE_Gatherv: p = {p.given, is_root ? p.got : 0, r.root}; break;
      case EXANET_TRACE_Reduce_scatter_block: p.given = static_cast<std::int64_t>(r.receive_bytes * comm->ranks); break;
      case EXANET_TRACE_Reduce_scatter:
        p.given = p.got;
        if (comm->me < r.second.size()) p.got = static_cast<std::int64_t>(r.second[comm->me]);
        break;
      default: break;
    }
    return p;
  }

  std::int64_t communicator(RankId rank, std::uint32_t number) {
    const Communicator* known = communicators_.find(rank, number);
    return known == nullptr ? -1 : static_cast<std::int64_t>(known->context);
  }

  void add(RankId rank, const TraceRecord& r, Time begin) {
    static const TraceMessage none;
    const bool collective = r.form == EXANET_TRACE_COLLECTIVE,
               receives = (r.code >= EXANET_TRACE_Recv && r.code <= EXANET_TRACE_Imrecv) ||
                          r.code == EXANET_TRACE_OPERATION_RECEIVE;
    const bool messages = r.form == EXANET_TRACE_MESSAGE || r.form == EXANET_TRACE_EXCHANGE ||
                          r.form == EXANET_TRACE_PROBE || r.code == EXANET_TRACE_OPERATION_SEND ||
                          r.code == EXANET_TRACE_OPERATION_RECEIVE;
    const TraceMessage& sent = messages && !receives && r.form != EXANET_TRACE_PROBE ? r.message : none;
    const bool accesses = r.form == EXANET_TRACE_ACCESS, neighbours = r.form == EXANET_TRACE_NEIGHBOURS,
               puts = accesses && r.send_bytes > 0, gets = accesses && r.receive_bytes > 0,
               synchronises = r.form == EXANET_TRACE_SYNCHRONISE;
    const TraceMessage& received = r.form == EXANET_TRACE_EXCHANGE ? r.received
                                   : messages && &sent == &none    ? r.message
                                                                   : none;
    const Part of_collective = collective ? part(rank, r) : Part{};
    Columns& c = columns_;
    c.call.push_back(r.code);
    c.begin.push_back(begin.ps());
    c.took.push_back(r.took.ps());
    c.compute.push_back(r.compute.ps());
    c.inside.push_back(r.inside.ps());
    c.communicator.push_back(communicator(rank, communicator_number(r)));
    c.peer.push_back(puts || synchronises ? peer_of(r.message) : peer_of(sent));
    c.tag.push_back(tag_of(sent));
    c.bytes.push_back(neighbours   ? sum(r.second)
                      : collective ? of_collective.given
                      : accesses   ? static_cast<std::int64_t>(r.send_bytes)
                                   : static_cast<std::int64_t>(sent.bytes));
    c.receive_peer.push_back(gets ? peer_of(r.message) : peer_of(received));
    c.receive_tag.push_back(tag_of(received));
    c.receive_bytes.push_back(neighbours   ? sum(r.first)
                              : collective ? of_collective.got
                              : accesses   ? static_cast<std::int64_t>(r.receive_bytes)
                                           : static_cast<std::int64_t>(received.bytes));
    c.root.push_back(of_collective.root);
    c.requests.push_back(r.form == EXANET_TRACE_REQUESTS
                             ? static_cast<std::int64_t>(r.first.size())
                             : (messages || collective || neighbours || accesses) && r.request != 0);
  }

  // 0: the call is on none.
  std::uint32_t communicator_number(const TraceRecord& r) const {
    switch (r.form) {
      case EXANET_TRACE_MESSAGE:
      case EXANET_TRACE_EXCHANGE:
      case EXANET_TRACE_PROBE:
      case EXANET_TRACE_COLLECTIVE:
      case EXANET_TRACE_NEIGHBOURS:
      case EXANET_TRACE_WINDOW: return r.comm;
      case EXANET_TRACE_OPERATION: return r.code == EXANET_TRACE_OPERATION_COMPUTE ? 0 : EXANET_TRACE_WORLD;
      case EXANET_TRACE_CREATE: return r.made;
      case EXANET_TRACE_ACCESS:
      case EXANET_TRACE_SYNCHRONISE: {
        const auto found = windows_.find(r.window);
        return found == windows_.end() ? 0 : found->second;
      }
      default: return 0;
    }
  }

  nb::dict columns() {
    Columns& c = columns_;
    nb::dict d;
    d["call"] = array(std::move(c.call));
    d["begin_ps"] = array(std::move(c.begin));
    d["took_ps"] = array(std::move(c.took));
    d["compute_ps"] = array(std::move(c.compute));
    d["inside_ps"] = array(std::move(c.inside));
    d["communicator"] = array(std::move(c.communicator));
    d["peer"] = array(std::move(c.peer));
    d["tag"] = array(std::move(c.tag));
    d["bytes"] = array(std::move(c.bytes));
    d["receive_peer"] = array(std::move(c.receive_peer));
    d["receive_tag"] = array(std::move(c.receive_tag));
    d["receive_bytes"] = array(std::move(c.receive_bytes));
    d["root"] = array(std::move(c.root));
    d["requests"] = array(std::move(c.requests));
    return d;
  }

  const std::uint32_t ranks_;
  Communicators communicators_;
  Columns columns_;
  Started started_;
  std::map<std::uint32_t, std::uint32_t> windows_;  // communicators, by window
  std::map<std::uint32_t, TraceMessage> persistent_;  // sends, by request
};

}  // namespace

void bind_replay(nb::module_& m) {
  bind_measurement<ReplayFace>(m, "Replay")
      .def(nb::init<const nb::dict&, const nb::list&, bool, bool>(), "machine"_a, "programs"_a, "flow_level"_a = false,
           "call_times"_a = false);
  nb::class_<TraceTables>(m, "TraceTables")
      .def(nb::init<std::uint32_t>(), "ranks"_a)
      .def("read", &TraceTables::read, "path"_a);
  m.def("size_classes", &size_classes, "sizes"_a, nb::sig("def size_classes(sizes: Any) -> Any"));
  m.def("collective_algorithms", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const CollectiveAlgorithm& algorithm : collective_algorithms())
      all.emplace_back(algorithm.collective, algorithm.name);
    return all;
  });
  m.def("program_broadcasts", [] {
    std::vector<std::string> all;
    for (const CollectiveAlgorithm& algorithm : collective_algorithms())
      if (algorithm.for_programs) all.emplace_back(algorithm.name);
    return all;
  });
  m.def("network_algorithms", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const CollectiveAlgorithm& algorithm : collective_algorithms())
      if (algorithm.knows_network) all.emplace_back(algorithm.collective, algorithm.name);
    return all;
  });
  m.def("selection_rules", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const SelectionRules& rules : all_selection_rules()) all.emplace_back(rules.name, rules.library);
    return all;
  });
}

}  // namespace exanet
