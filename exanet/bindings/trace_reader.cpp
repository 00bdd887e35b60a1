// SPDX-License-Identifier: Apache-2.0
// The Python face of a trace's records, a call at a time, with collectives as the messages of their algorithms: for
// converters.
#include <nanobind/stl/map.h>

#include <deque>

#include "core/replay/collective_codes.hpp"
#include "core/replay/communicators.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

class TraceReader {
 public:
  TraceReader(const std::vector<std::string>& streams, const CollectiveChoices& choices, const std::string& rules)
      : communicators_(static_cast<std::uint32_t>(streams.size())), choices_(choices), rules_(selection_rules(rules)) {
    check_choices_without_network(choices_);
    for (const std::string& path : streams) {
      const exanet_trace_header& header = streams_.emplace_back(path).header();
      if (header.rank + 1 != streams_.size() || header.ranks != streams.size())
        throw ConfigError("trace", path + ": it is the stream of another rank");
    }
  }

  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // The next call of a rank as a mapping, or None at the end.
  nb::object next(std::uint32_t rank) {
    TraceStream& stream = streams_.at(rank);
    TraceRecord& r = record_;
    if (!stream.next(r)) return nb::none();
    nb::dict d;
    d["call"] = trace_call_name(r.code);
    d["compute_ps"] = r.compute.ps() + r.inside.ps();
    d["request"] = r.request;
    nb::list messages;
    switch (r.form) {
      case EXANET_TRACE_EXCHANGE:
        messages.append(message(rank, r, r.received, false));
        messages.append(message(rank, r, r.message, true));
        break;
      case EXANET_TRACE_MESSAGE: messages.append(message(rank, r, r.message, r.code <= EXANET_TRACE_Rsend_init)); break;
      case EXANET_TRACE_OPERATION:
        if (r.code != EXANET_TRACE_OPERATION_COMPUTE) {
          r.comm = EXANET_TRACE_WORLD;
          messages.append(message(rank, r, r.message, r.code == EXANET_TRACE_OPERATION_SEND));
        }
        d["after"] = nb::cast(r.first);
        d["beside"] = nb::cast(r.second);
        break;
      case EXANET_TRACE_REQUESTS: d["requests"] = nb::cast(r.first); break;
      case EXANET_TRACE_COLLECTIVE: collective(rank, r, d); break;
      case EXANET_TRACE_NEIGHBOURS: neighbours(rank, r, d); break;
      case EXANET_TRACE_CREATE:
        if (!communicators_.add(rank, r)) stream.fail("a communicator of which this rank is no member");
        break;
      default: break;
    }
    if (messages.size() > 0) d["messages"] = messages;
    return std::move(d);
  }

 private:
  Communicator& communicator(std::uint32_t rank, std::uint32_t number) {
    Communicator* found = communicators_.find(rank, number);
    if (found == nullptr)
      streams_[rank].fail("communicator " + std::to_string(number) + " has not been made: the stream is damaged");
    return *found;
  }

  // (sends, peer or -1 for any or -2 for none, tag or -1, bytes, communicator)
  nb::tuple message(std::uint32_t rank, const TraceRecord& r, const TraceMessage& m, bool sends) {
    const std::int64_t peer = m.peer == kAnyPeer ? -1 : m.peer == kNoPeer ? -2 : static_cast<std::int64_t>(m.peer);
    const std::int64_t tag = m.any_tag ? -1 : static_cast<std::int64_t>(m.tag);
    return nb::make_tuple(sends, peer, tag, m.bytes, communicator(rank, r.comm).context);
  }

  // What a peer sends to this rank in a collective, in order: of collectives with sizes by rank as far as this rank
  // knows them.
  std::deque<std::uint64_t> sent_to(const CollectiveCall& call, std::uint8_t code, std::uint32_t peer) const {
    CollectiveCall theirs = call;
    theirs.me = peer;
    const std::uint8_t kind = code >= EXANET_TRACE_Ibarrier ? code - EXANET_TRACE_NONBLOCKING : code;
    if (kind == EXANET_TRACE_Gatherv && !call.received.empty()) theirs.bytes = call.received[peer];
    if (kind == EXANET_TRACE_Scatterv) theirs.sent.assign(call.ranks, call.bytes);
    if ((kind == EXANET_TRACE_Alltoallv || kind == EXANET_TRACE_Alltoallw) && !call.received.empty())
      theirs.sent.assign(call.ranks, call.received[peer]);
    Schedule schedule;
    plan_collective(collective_operation(code), theirs, choices_, rules_, schedule);
    std::deque<std::uint64_t> sizes;
    for (const ScheduledMessage& m : schedule.messages())
      if (m.sends && m.peer == call.me) sizes.push_back(m.bytes);
    return sizes;
  }

  // Lists of (sends, peer, bytes) by stage; with the communicator, and the collective's number there.
  void collective(std::uint32_t rank, const TraceRecord& r, nb::dict& d) {
    Communicator& comm = communicator(rank, r.comm);
    const CollectiveCall call = collective_call(streams_[rank], r, comm);
    Schedule schedule;
    plan_collective(collective_operation(r.code), call, choices_, rules_, schedule);
    std::map<std::uint32_t, std::deque<std::uint64_t>> expected;  // bytes that come, by peer
    nb::list all, stage;
    for (const ScheduledMessage& m : schedule.messages()) {
      std::uint64_t bytes = m.bytes;
      if (!m.sends) {
        const auto [entry, is_new] = expected.try_emplace(m.peer);
        if (is_new) entry->second = sent_to(call, r.code, m.peer);
        bytes = entry->second.empty() ? 0 : entry->second.front();
        if (!entry->second.empty()) entry->second.pop_front();
      }
      stage.append(nb::make_tuple(m.sends, comm.world(m.peer), bytes));
      if (!m.ends_stage) continue;
      all.append(stage);
      stage = nb::list();
    }
    d["stages"] = all;
    d["number"] = comm.collectives++;
    d["communicator"] = comm.context;
    d["waits"] = r.code < EXANET_TRACE_Ibarrier;
  }

  // One stage of messages.
  void neighbours(std::uint32_t rank, const TraceRecord& r, nb::dict& d) {
    Communicator& comm = communicator(rank, r.comm);
    nb::list all, stage;
    const auto append = [&](bool sends, const std::vector<std::uint32_t>& peers,
                            const std::vector<std::uint64_t>& sizes) {
      for (std::size_t i = 0; i < peers.size(); ++i) {
        if (peers[i] == kAnyPeer) streams_[rank].fail("a neighbour is MPI_ANY_SOURCE: the stream is damaged");
        if (peers[i] != kNoPeer && peers[i] != rank) stage.append(nb::make_tuple(sends, peers[i], sizes[i]));
      }
    };
    append(false, r.sources, r.first);
    append(true, r.destinations, r.second);
    if (stage.size() > 0) all.append(stage);
    d["stages"] = all;
    d["number"] = comm.collectives++;
    d["communicator"] = comm.context;
    d["waits"] = waits_for_neighbours(r.code);
  }

  std::deque<TraceStream> streams_;
  TraceRecord record_;
  Communicators communicators_;
  const CollectiveChoices choices_;
  const SelectionRules& rules_;
};

}  // namespace

void bind_trace_reader(nb::module_& m) {
  nb::class_<TraceReader>(m, "TraceReader")
      .def(nb::init<const std::vector<std::string>&, const CollectiveChoices&, const std::string&>(), "streams"_a,
           "collectives"_a, "rules"_a)
      .def("next", &TraceReader::next, "rank"_a);
}

}  // namespace exanet
