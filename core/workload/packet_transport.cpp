// SPDX-License-Identifier: Apache-2.0
// Carries the messages of jobs as packets, from interfaces that cost nothing.
//
// Problem: an interface sends a packet of each of its messages in turn, so messages of several steps would share the
// sender's link, which no program that waits for its sends lets happen. Model: a rank is busy until the network has
// taken the last packet of each message of its step. Limits: what the router's FIFO still holds of it is not waited
// for.
#include "core/nic/ideal/ideal_nic.hpp"
#include "core/units/check.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/transport.hpp"

namespace exanet {

namespace {

class PacketTransport final : public MessageTransport, private NicListener {
 public:
  explicit PacketTransport(const TransportSetup& setup)
      : queue_(setup.queue),
        topology_(setup.topology),
        endpoints_(setup.endpoints),
        listener_(setup.listener),
        nic_({setup.queue, setup.topology, setup.network, setup.interface, *this,
              [this](EventQueue& events, const Topology& topology, const NetworkConfig& config, PacketSink sink) {
                auto made = make_network_model({{&events, sink}}, topology, config, {});
                model_ = made.get();
                return made;
              }},
             setup.packet_bytes),
        leaving_(setup.endpoints.size()) {
    nic_.on_injected([](void* self, std::uint64_t user) { static_cast<PacketTransport*>(self)->injected(user); }, this);
    on_resumed_ = queue_.add_handler(
        [](void* self, Time now, std::uint32_t rank, std::uint64_t) {
          auto& transport = *static_cast<PacketTransport*>(self);
          if (transport.leaving_[rank] == 0) transport.listener_.resumed(rank, now);
        },
        this);
  }

  void post(const RankMessage& m) override {
    const std::uint64_t sender = m.awaited ? m.from : kNobody;
    leaving_.at(m.from) += m.awaited;
    nic_.post(IdealMessage{endpoints_[m.from], endpoints_[m.to], m.bytes, sender << 32 | m.id, m.priority});
  }
  void doorbell(std::uint32_t rank) override {
    ringing_ = rank;
    nic_.doorbell(endpoints_[rank]);
    ringing_ = kNobody;
  }
  bool busy(std::uint32_t rank) const override { return leaving_[rank] > 0; }
  void check_done() const override {
    const std::uint64_t in_flight = model_->in_flight();
    const std::string cycle = in_flight == 0 ? "" : model_->deadlock();
    EXANET_CHECK(in_flight == 0 && nic_.active() == 0,
                 cycle.empty() ? "packets or messages are stuck in the network" : cycle.c_str(), queue_.now().ps(),
                 in_flight, nic_.active());
  }
  Totals totals() const override { return {packets_, model_->packet_hops(), packet_ps_}; }
  std::vector<LinkCount> link_counts(Time now) const override { return exanet::link_counts(topology_, *model_, now); }
  const NetworkModel* model() const override { return model_; }
  FaultTarget& links() override { return *model_; }

 private:
  static constexpr std::uint32_t kNobody = 0xffffffffu;

  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t user, Status status, Time now) override {
    const auto message = static_cast<std::uint32_t>(user);
    status == Status::kOk ? listener_.arrived(message, now) : listener_.failed(message, status, now);
  }
  void transfer_acknowledged(std::uint64_t, Status, Time) override {}
  // A rank that rings asks busy() itself. Others go on by an event: the interface is still at work.
  void injected(std::uint64_t user) {
    const auto rank = static_cast<std::uint32_t>(user >> 32);
    if (rank == kNobody || --leaving_[rank] > 0 || rank == ringing_) return;
    queue_.schedule(queue_.now(), on_resumed_, rank);
  }
  void packet_delivered(const Packet&, Time injected, Time now) override {
    ++packets_;
    packet_ps_ += static_cast<double>((now - injected).ps());
  }

  EventQueue& queue_;
  const Topology& topology_;
  const std::vector<NodeId> endpoints_;
  TransportListener& listener_;
  NetworkModel* model_ = nullptr;
  IdealNic nic_;
  std::vector<std::uint32_t> leaving_;  // by rank: awaited messages that the network has not taken altogether
  std::uint32_t on_resumed_ = 0, ringing_ = kNobody;
  std::uint64_t packets_ = 0;
  double packet_ps_ = 0;
};

}  // namespace

std::unique_ptr<MessageTransport> make_packet_transport(const TransportSetup& setup) {
  return std::make_unique<PacketTransport>(setup);
}

}  // namespace exanet
