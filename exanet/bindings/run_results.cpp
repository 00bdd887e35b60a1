// SPDX-License-Identifier: Apache-2.0
// Makes columns for Python of what a run of ranks has counted: ranks, links, pairs of ranks, messages and their sizes,
// time line, shape, summary.
//
// Problem: a table may have a row for each pair of ranks, and Python makes a Parquet file of it. Model: each column is
// one NumPy array; pairs and sizes without messages have no row. Limits: a table is in memory twice while it is handed
// over.
#include "exanet/bindings/run_results.hpp"

#include <algorithm>

namespace exanet {

namespace {

void add_storage(nb::dict& d, const std::vector<RankTimes>& ranks) {
  d["storage_reads"] = column(ranks, [](const RankTimes& r) { return r.storage.reads; });
  d["storage_writes"] = column(ranks, [](const RankTimes& r) { return r.storage.writes; });
  d["storage_syncs"] = column(ranks, [](const RankTimes& r) { return r.storage.syncs; });
  d["storage_metadata"] = column(ranks, [](const RankTimes& r) { return r.storage.metadata; });
  d["storage_read_bytes"] = column(ranks, [](const RankTimes& r) { return r.storage.read_bytes; });
  d["storage_written_bytes"] = column(ranks, [](const RankTimes& r) { return r.storage.written_bytes; });
  d["storage_ps"] = column(ranks, [](const RankTimes& r) { return r.storage.time_ps; });
}

nb::dict ranks(const RunStatistics& run) {
  const Statistics& s = run.statistics;
  const auto sent = [&s](RankId r, bool bytes) {
    std::uint64_t sum = 0;
    for (const Statistics::Sent& to : s.sent[r]) sum += bytes ? to.bytes : to.messages;
    return sum;
  };
  std::vector<RankId> all(run.ranks.size());
  for (RankId r = 0; r < all.size(); ++r) all[r] = r;
  nb::dict d;
  d["rank"] = array(all);
  d["node"] = column(run.ranks, [](const RankTimes& r) { return r.node; });
  d["virtual_ps"] = column(run.ranks, [](const RankTimes& r) { return r.virtual_ps; });
  if (std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankTimes& r) { return r.start_ps > 0; }))
    d["start_ps"] = column(run.ranks, [](const RankTimes& r) { return r.start_ps; });
  d["compute_ps"] = column(run.ranks, [](const RankTimes& r) { return r.compute_ps; });
  d["library_ps"] = column(run.ranks, [](const RankTimes& r) { return r.library_ps; });
  d["last_call_ps"] = column(run.ranks, [](const RankTimes& r) { return r.last_call_ps; });
  d["clock_reads"] = column(run.ranks, [](const RankTimes& r) { return r.clock_reads; });
  d["clock_reads_ps"] = column(run.ranks, [](const RankTimes& r) { return r.clock_reads_ps; });
  if (run.has_storage) add_storage(d, run.ranks);
  d["wait_ps"] = column(run.ranks, [](const RankTimes& r) {
    const std::uint64_t busy = r.start_ps + r.compute_ps + r.library_ps + r.storage.time_ps;
    return r.virtual_ps > busy ? r.virtual_ps - busy : std::uint64_t{0};
  });
  d["messages_sent"] = column(all, [&](RankId r) { return sent(r, false); });
  d["bytes_sent"] = column(all, [&](RankId r) { return sent(r, true); });
  d["messages_received"] = column(all, [&](RankId r) { return s.received[r].messages; });
  d["bytes_received"] = column(all, [&](RankId r) { return s.received[r].bytes; });
  d["rma_ops"] = column(all, [&](RankId r) { return s.rma[r].messages; });
  d["rma_bytes"] = column(all, [&](RankId r) { return s.rma[r].bytes; });
  if (std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankTimes& r) { return r.segments > 0; })) {
    d["segments_sent"] = column(run.ranks, [](const RankTimes& r) { return r.segments; });
    d["stream_bytes_sent"] = column(run.ranks, [](const RankTimes& r) { return r.segment_bytes; });
  }
  if (std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankTimes& r) { return r.datagrams > 0; })) {
    d["datagrams_sent"] = column(run.ranks, [](const RankTimes& r) { return r.datagrams; });
    d["datagrams_dropped"] = column(run.ranks, [](const RankTimes& r) { return r.dropped_datagrams; });
  }
  return d;
}

struct LinkRow {
  NodeId node, to;
  std::uint16_t port;
  std::uint8_t link_class;
};

std::vector<LinkRow> link_rows(const Topology& t) {
  std::vector<LinkRow> rows;
  for (NodeId n = 0; n < t.node_count(); ++n) {
    for (std::uint16_t p = 0; p < t.port_count(n); ++p) {
      const PortRef to = t.neighbour(n, p);
      if (to.node != kNoNode) rows.push_back({n, to.node, p, t.link_class(n, p)});
    }
  }
  return rows;
}

bool slept(const std::vector<LinkCount>& links) {
  return std::any_of(links.begin(), links.end(), [](const LinkCount& l) { return l.asleep > Time(); });
}

nb::dict link_table(const RunStatistics& run) {
  const std::vector<LinkRow> rows = link_rows(run.topology);
  const std::vector<LinkCount>& stats = run.network.links;
  const auto ps = [](Time t) { return static_cast<std::uint64_t>(t.ps()); };
  nb::dict d;
  d["node"] = column(rows, [](const LinkRow& l) { return l.node; });
  d["port"] = column(rows, [](const LinkRow& l) { return l.port; });
  d["link_class"] = column(rows, [](const LinkRow& l) { return l.link_class; });
  d["to_node"] = column(rows, [](const LinkRow& l) { return l.to; });
  d["packets"] = column(stats, [](const LinkStats& l) { return l.packets; });
  d["payload_bytes"] = column(stats, [](const LinkStats& l) { return l.payload_bytes; });
  d["busy_ps"] = column(stats, [&](const LinkStats& l) { return ps(l.busy); });
  d["waited_ps"] = column(stats, [&](const LinkStats& l) { return ps(l.waited); });
  if (slept(stats)) d["asleep_ps"] = column(stats, [&](const LinkCount& l) { return ps(l.asleep); });
  return d;
}

nb::dict pairs(const Statistics& s) {
  std::vector<std::uint32_t> src, dst;
  std::vector<std::uint64_t> messages, bytes;
  for (RankId from = 0; from < s.n; ++from) {
    for (const Statistics::Sent& to : s.sent[from]) {
      src.push_back(from);
      dst.push_back(to.dst);
      messages.push_back(to.messages);
      bytes.push_back(to.bytes);
    }
  }
  nb::dict d;
  d["src"] = array(std::move(src));
  d["dst"] = array(std::move(dst));
  d["messages"] = array(std::move(messages));
  d["bytes"] = array(std::move(bytes));
  return d;
}

nb::dict message_sizes(const Statistics& s) {
  std::vector<std::uint64_t> lower, upper, messages, bytes;
  for (std::size_t i = 0; i < s.sizes.size(); ++i) {
    if (s.sizes[i].messages == 0) continue;
    lower.push_back(least_of_class(i));
    upper.push_back(most_of_class(i));
    messages.push_back(s.sizes[i].messages);
    bytes.push_back(s.sizes[i].bytes);
  }
  nb::dict d;
  d["lower_bytes"] = array(std::move(lower));
  d["upper_bytes"] = array(std::move(upper));
  d["messages"] = array(std::move(messages));
  d["bytes"] = array(std::move(bytes));
  return d;
}

nb::dict timeline(const Statistics& s) {
  const Timeline& t = s.timeline;
  const std::size_t bins = t.bins_used();
  const auto cut = [&](const std::vector<std::uint64_t>& table) {
    std::vector<std::uint64_t> values;
    values.reserve(s.n * bins);
    for (RankId r = 0; r < s.n; ++r) {
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

nb::dict messages(const Statistics& s) {
  const auto& m = s.messages;
  const auto ps = [](Time t) { return static_cast<std::uint64_t>(t.ps()); };
  nb::dict d;
  d["src"] = column(m, [](const MessageRecord& r) { return r.src; });
  d["dst"] = column(m, [](const MessageRecord& r) { return r.dst; });
  d["bytes"] = column(m, [](const MessageRecord& r) { return r.bytes; });
  d["tag"] = column(m, [](const MessageRecord& r) { return r.tag; });
  d["protocol"] = column(m, [](const MessageRecord& r) { return static_cast<std::uint8_t>(r.protocol); });
  d["posted_ps"] = column(m, [&](const MessageRecord& r) { return ps(r.posted); });
  d["delivered_ps"] = column(m, [&](const MessageRecord& r) { return ps(r.delivered); });
  return d;
}

// What messages and ranks have waited for, of which the critical path is made: a row of `taken_ps` for each message.
nb::dict waits(const Statistics& s) {
  const auto& each = s.timeline.each();
  nb::dict d;
  d["rank"] = column(each, [](const Timeline::Wait& w) { return w.rank; });
  d["from_ps"] = column(each, [](const Timeline::Wait& w) { return w.from.ps(); });
  d["to_ps"] = column(each, [](const Timeline::Wait& w) { return w.to.ps(); });
  d["taken_ps"] = column(s.messages, [](const MessageRecord& r) { return r.taken.ps(); });
  d["dropped"] = s.timeline.dropped();
  return d;
}

nb::dict gateway_table(const std::vector<GatewayUse>& gateways) {
  const auto ps = [](Time t) { return static_cast<std::uint64_t>(t.ps()); };
  nb::dict d;
  d["first_node"] = column(gateways, [](const GatewayUse& g) { return g.first; });
  d["second_node"] = column(gateways, [](const GatewayUse& g) { return g.second; });
  d["messages_from_first"] = column(gateways, [](const GatewayUse& g) { return g.from_first.packets; });
  d["messages_from_second"] = column(gateways, [](const GatewayUse& g) { return g.from_second.packets; });
  d["bytes_from_first"] = column(gateways, [](const GatewayUse& g) { return g.from_first.payload_bytes; });
  d["bytes_from_second"] = column(gateways, [](const GatewayUse& g) { return g.from_second.payload_bytes; });
  d["busy_ps"] = column(gateways, [&](const auto& g) { return ps(g.from_first.busy + g.from_second.busy); });
  d["waited_ps"] =
      column(gateways, [&](const GatewayUse& g) { return ps(g.from_first.waited + g.from_second.waited); });
  d["longest_wait_ps"] = column(gateways, [&](const GatewayUse& g) { return ps(g.longest_wait); });
  d["most_queue"] = column(gateways, [](const GatewayUse& g) { return g.most_queue; });
  d["most_queue_bytes"] = column(gateways, [](const GatewayUse& g) { return g.most_queue_bytes; });
  return d;
}

nb::dict topology_table(const Topology& t) {
  std::vector<float> position;
  nb::list names, ports;
  for (NodeId n = 0; n < t.node_count(); ++n) {
    float xyz[3];
    t.position(n, xyz);
    position.insert(position.end(), xyz, xyz + 3);
    names.append(t.node_name(n));
  }
  for (const LinkRow& l : link_rows(t)) ports.append(t.port_name(l.node, l.port));
  nb::dict d;
  d["nodes"] = t.node_count();
  d["node_name"] = names;
  d["position"] = array(std::move(position), 3);
  d["port_name"] = ports;
  return d;
}

}  // namespace

nb::dict run_summary(const RunStatistics& run) {
  std::uint64_t end = 0;
  for (const RankTimes& rank : run.ranks) end = std::max(end, rank.virtual_ps);
  nb::dict d;
  d["virtual_ps"] = end;
  d["events"] = run.events;
  d["packet_hops"] = run.network.packet_hops;
  d["packets"] = run.packets;
  d["payload_bytes"] = run.payload_bytes;
  d["cycles"] = run.network.cycles;
  d["messages"] = run.statistics.total.messages;
  d["bytes"] = run.statistics.total.bytes;
  return d;
}

void add_deaths(nb::dict& summary, const std::vector<RankDeath>& deaths) {
  if (deaths.empty()) return;
  nb::list dead;
  for (const RankDeath& death : deaths) {
    nb::dict d;
    d["rank"] = death.rank;
    d["node"] = death.node;
    d["time_ps"] = death.at.ps();
    dead.append(d);
  }
  summary["dead_ranks"] = dead;
}

nb::dict CallTable::as_dict() {
  nb::dict d;
  d["names"] = names;
  d["rank"] = array(std::move(rank));
  d["call"] = array(std::move(call));
  d["calls"] = array(std::move(calls));
  d["time_ps"] = array(std::move(time_ps));
  return d;
}

nb::dict run_results(const RunStatistics& run) {
  const Statistics& s = run.statistics;
  nb::dict d;
  d["ranks"] = ranks(run);
  d["links"] = link_table(run);
  d["pairs"] = pairs(s);
  d["message_sizes"] = message_sizes(s);
  d["packet_latency"] = histogram(s.packet_latency);
  d["message_latency"] = histogram(s.message_latency);
  d["timeline"] = timeline(s);
  d["messages"] = messages(s);
  d["messages_dropped"] = s.dropped.messages;
  d["waits"] = waits(s);
  d["topology"] = topology_table(run.topology);
  if (!run.gateways.empty()) d["gateways"] = gateway_table(run.gateways);
  return d;
}

}  // namespace exanet
