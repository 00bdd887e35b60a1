// SPDX-License-Identifier: Apache-2.0
// Carries the messages of jobs through the message library over interfaces with costs, as a rank of an MPI program
// would that does nothing else: in each step it posts its receives, sends, and then waits for all of both.
//
// A rank's processor does one thing after another. Sends cost it what libexanet charges (the library's time and the
// stores), completions what their consumption costs; what the engine itself charges (matching, starting a read) comes
// from there. A message belongs to a step of its receiver: that is its tag, and whoever sends it, the receive takes it.
//
// Limits: messages have no contents; between steps a rank polls, computing or not.
#include <algorithm>

#include "core/config/error.hpp"
#include "core/protocol/engine.hpp"
#include "core/protocol/failure.hpp"
#include "core/units/check.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/transport.hpp"

namespace exanet {

namespace {

class LibraryTransport final : public MessageTransport, private Host {
 public:
  explicit LibraryTransport(const TransportSetup& setup)
      : queue_(setup.queue),
        topology_(setup.topology),
        config_(setup.interface),
        listener_(setup.listener),
        endpoints_(setup.endpoints),
        ranks_(setup.endpoints.size()),
        engine_(setup.queue, setup.topology, setup.network, setup.interface, setup.endpoints, *this, setup.nic,
                [this](EventQueue& events, const Topology& topology, const NetworkConfig& config, PacketSink sink) {
                  auto made = make_network_model({{&events, sink}}, topology, config, {});
                  model_ = made.get();
                  return made;
                }) {
    engine_.set_zero_cost(false);
    engine_.on_packet([](void* self, Time latency) { static_cast<LibraryTransport*>(self)->count(latency); }, this);
    for (RankId rank = 0; rank < ranks_.size(); ++rank) {
      EpOpenDescriptor open;
      open.ep_kind = EndpointKind::kMessage;
      engine_.submit(rank, open);
    }
    on_completion_ = queue_.add_handler(
        [](void* self, Time now, std::uint32_t rank, std::uint64_t entry) {
          static_cast<LibraryTransport*>(self)->consume(rank, Time::ps(static_cast<std::int64_t>(entry >> 32)),
                                                        static_cast<std::uint32_t>(entry), now);
        },
        this);
    on_consumed_ = queue_.add_handler(
        [](void* self, Time now, std::uint32_t rank, std::uint64_t what) {
          static_cast<LibraryTransport*>(self)->consumed(rank, static_cast<std::uint32_t>(what), now);
        },
        this);
  }

  void begin_step(std::uint32_t rank, std::uint64_t step, std::uint32_t receives, Time now) override {
    Rank& r = ranks_[rank];
    engine_.awake(rank);
    r.clock = max(r.clock, now);
    for (std::uint32_t i = 0; i < receives; ++i) {
      ReceiveDescriptor d;
      d.flags = kTagged;
      d.time = r.clock;
      d.peer = Address{kAnyRank, 0};
      d.tag = step;
      d.length = ~std::uint64_t{0} >> 1;
      engine_.submit(rank, d);
    }
  }

  void post(const RankMessage& m) override {
    Rank& r = ranks_[m.from];
    const bool eager = m.bytes <= config_.eager_max_bytes;
    const ProcessorCosts& costs = engine_.costs(m.from);
    r.clock += costs.send_cpu() + costs.store(costs.ni.envelope_bytes + (eager ? m.bytes : 0));
    SendDescriptor d;
    d.flags = kTagged | kHasData | (eager ? kSilent : 0);
    d.time = r.clock;
    d.peer = Address{m.to, 0};
    d.tag = m.step;
    d.length = m.bytes;
    d.data = m.id;
    contents_.resize(std::max<std::size_t>(contents_.size(), eager ? m.bytes : 0));
    r.sends_due += !eager;  // an eager one is over once it is stored
    engine_.submit(m.from, d, eager ? Payload(contents_.data(), m.bytes) : Payload{});
  }

  // The rank polls from its present clock on; what it has stored until then is on its way.
  void doorbell(std::uint32_t rank) override {
    Rank& r = ranks_[rank];
    engine_.asleep(rank, r.clock);
    if (r.clock > queue_.now()) {
      ++r.working;
      queue_.schedule(r.clock, on_consumed_, rank, kPosted);
    }
  }
  bool busy(std::uint32_t rank) const override { return ranks_[rank].sends_due > 0 || ranks_[rank].working > 0; }

  void check_done() const override {
    require(failure_.empty(), "", failure_);
    const std::uint64_t in_flight = model_->in_flight();
    const std::string cycle = in_flight == 0 ? "" : model_->deadlock();
    EXANET_CHECK(in_flight == 0 && engine_.operations() == 0,
                 cycle.empty() ? "packets or messages are stuck in the network" : cycle.c_str(), queue_.now().ps(),
                 in_flight, engine_.operations());
  }
  Totals totals() const override { return {packets_, model_->packet_hops(), packet_ps_}; }
  PageStatistics pages() const override { return engine_.nic().pages(); }
  ReliabilityStatistics reliability() const override { return engine_.nic().reliability(); }
  std::vector<LinkCount> link_counts(Time now) const override { return exanet::link_counts(topology_, *model_, now); }
  const NetworkModel* model() const override { return model_; }
  FaultTarget& links() override { return engine_.links(); }

 private:
  struct Rank {
    Time clock;
    std::uint32_t sends_due = 0;  // not yet acknowledged
    std::uint32_t working = 0;  // completions that its processor has begun to consume, or sends that it posts
  };
  // In place of a message's number: what the processor has done then.
  static constexpr std::uint32_t kPosted = 0xffffffffu, kSent = 0xfffffffeu;

  // Host
  void complete(RankId rank, const Completion& completion, Payload) override {
    const auto& header = std::visit([](const auto& c) -> const CompletionHeader& { return c; }, completion);
    if (header.status != 0) {
      if (failure_.empty())
        failure_ = "the simulation cannot go on: at " + in_microseconds(queue_.now()) + ", rank " +
                   std::to_string(rank) + " on node " + std::to_string(endpoints_[rank]) + ": " +
                   failure_of(completion);
      return;
    }
    const auto* receive = std::get_if<ReceiveCompletion>(&completion);
    const std::uint64_t what = receive != nullptr ? receive->data : kSent;
    queue_.schedule(max(queue_.now(), header.time), on_completion_, rank, std::uint64_t{header.cpu_ps} << 32 | what);
  }
  bool read(RankId, std::uint64_t, std::byte*, std::size_t) override { return true; }
  bool write(RankId, std::uint64_t, const std::byte*, std::size_t) override { return true; }
  void record(const MessageRecord&) override {}

  void count(Time latency) {
    ++packets_;
    packet_ps_ += static_cast<double>(latency.ps());
  }

  // The completion is there: the processor consumes it once it has done what came before.
  void consume(RankId rank, Time cost, std::uint32_t what, Time now) {
    Rank& r = ranks_[rank];
    r.clock = max(max(r.clock, now), engine_.busy_until(rank)) + cost;
    engine_.asleep(rank, r.clock);
    ++r.working;
    queue_.schedule(r.clock, on_consumed_, rank, what);
  }

  void consumed(RankId rank, std::uint32_t what, Time now) {
    Rank& r = ranks_[rank];
    --r.working;
    if (what < kSent) return listener_.arrived(what, now);
    r.sends_due -= what == kSent;
    listener_.resumed(rank, now);
  }

  EventQueue& queue_;
  const Topology& topology_;
  const NiConfig config_;
  TransportListener& listener_;
  const std::vector<NodeId> endpoints_;  // by rank
  std::vector<Rank> ranks_;
  std::vector<std::byte> contents_;  // of eager messages
  NetworkModel* model_ = nullptr;
  MessageEngine engine_;
  std::uint32_t on_completion_ = 0, on_consumed_ = 0;
  std::uint64_t packets_ = 0;
  double packet_ps_ = 0;
  std::string failure_;  // the first
};

}  // namespace

std::unique_ptr<MessageTransport> make_library_transport(const TransportSetup& setup) {
  return std::make_unique<LibraryTransport>(setup);
}

}  // namespace exanet
