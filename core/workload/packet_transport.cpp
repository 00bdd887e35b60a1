// SPDX-License-Identifier: Apache-2.0
// Carries the messages of jobs as packets, from interfaces that cost nothing.
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
             setup.packet_bytes) {}

  void post(const RankMessage& m) override {
    nic_.post(IdealMessage{endpoints_[m.from], endpoints_[m.to], m.bytes, m.id, m.priority});
  }
  void doorbell(std::uint32_t rank) override { nic_.doorbell(endpoints_[rank]); }
  void check_done() const override {
    const std::uint64_t in_flight = model_->in_flight();
    const std::string cycle = in_flight == 0 ? "" : model_->deadlock();
    EXANET_CHECK(in_flight == 0 && nic_.active() == 0,
                 cycle.empty() ? "packets or messages are stuck in the network" : cycle.c_str(), queue_.now().ps(),
                 in_flight, nic_.active());
  }
  Totals totals() const override { return {packets_, model_->packet_hops(), packet_ps_}; }
  std::vector<LinkStats> link_counts() const override { return exanet::link_counts(topology_, *model_); }
  const NetworkModel* model() const override { return model_; }
  FaultTarget& links() override { return *model_; }

 private:
  void message_completed(std::uint64_t, Status, Time) override {}
  void transfer_completed(std::uint64_t user, Status status, Time now) override {
    const auto message = static_cast<std::uint32_t>(user);
    status == Status::kOk ? listener_.arrived(message, now) : listener_.failed(message, status, now);
  }
  void transfer_acknowledged(std::uint64_t, Status, Time) override {}
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
  std::uint64_t packets_ = 0;
  double packet_ps_ = 0;
};

}  // namespace

std::unique_ptr<MessageTransport> make_packet_transport(const TransportSetup& setup) {
  return std::make_unique<PacketTransport>(setup);
}

}  // namespace exanet
