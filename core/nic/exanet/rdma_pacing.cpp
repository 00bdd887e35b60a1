// SPDX-License-Identifier: Apache-2.0
// The RDMA engines under a rate control: packets wait for its allowance; acknowledgements bring back what routers have
// noted of the packets that they cover; control packets go between both ends as acknowledgements do. What of an
// acknowledgement is in no packet of the model, bytes and the time of sending, is kept by number beside it, as an
// interface keeps it by sequence number.
#include "core/nic/exanet/rdma_engine.hpp"
#include "core/topology/multicast.hpp"
#include "core/units/check.hpp"

namespace exanet {

void RdmaEngine::set_pacing(const PacingKind& kind, const PacingSetup& setup) {
  paced_ = std::make_unique<PacedFlows>(kind, setup, nodes_.size());
  on_wake_ = context_.events.add_handler(
      [](void* self, Time now, std::uint32_t node, std::uint64_t) {
        RdmaEngine& engine = *static_cast<RdmaEngine*>(self);
        if (engine.nodes_[node].wake_at != now) return;  // an earlier look came in between
        engine.nodes_[node].wake_at = Time::never();
        engine.port_.request(node, now);
      },
      this);
}

void RdmaEngine::wake(NodeId node, Time at) {
  if (at <= context_.events.now() || at >= nodes_[node].wake_at) return;
  nodes_[node].wake_at = at;
  context_.events.schedule(at, on_wake_, node);
}

bool RdmaEngine::may_send(NodeId node, const Transfer& t, Time now) {
  if (is_multicast(t.dst)) return true;
  const Time at = paced_->may_send(node, t.dst, next_payload(t), now);
  if (at > now && at != Time::never()) wake(node, at);
  return at <= now;
}

void RdmaEngine::note(std::uint32_t id, const Packet& packet, Time injected, Time now) {
  Feedback& seen = paced_transfers_[id].seen;
  seen.bytes += packet.payload_bytes;
  seen.sent = injected;
  seen.notes |= packet.notes;
  seen.stamp = packet.stamp;
  paced_->arrived(packet, now);
  context_.events.schedule(now, on_ready_, packet.dst);  // it may have something to send
}

// The number behind that of a new report on what has come since the last one.
std::uint32_t RdmaEngine::report_on(std::uint32_t id) {
  const Transfer& t = transfers_[id];
  const std::uint32_t number = reports_.add({t.src, t.dst, paced_transfers_[id].seen});
  EXANET_CHECK(number < kMostReports, "more acknowledgements at once than there are numbers for", number, t.src, t.dst);
  paced_transfers_[id].seen = {};
  return number + 1;
}

void RdmaEngine::attach(Packet& ack, std::uint32_t report) const {
  const Feedback& feedback = reports_[report - 1].feedback;
  ack.user |= std::uint64_t{report} << kReportShift;
  ack.notes = static_cast<std::uint8_t>(feedback.notes | Packet::kReport);
  ack.stamp = feedback.stamp;
}

void RdmaEngine::send_report(std::uint32_t report, Time now) {
  const Report& its = reports_[report - 1];
  Packet ack{its.dst, its.src, 0, kRdmaPort, 1, kAckPacket | kNoTransfer};
  attach(ack, report);
  queue_control(ack, now);
}

void RdmaEngine::heard(const Packet& ack, Time now) {
  if ((ack.user & kControl) != 0) {
    paced_->heard(ack.dst, {ack.src, (ack.notes & Packet::kReport) != 0, ack.stamp}, now);
    return void(context_.events.schedule(now, on_ready_, ack.dst));
  }
  const auto report = static_cast<std::uint32_t>(ack.user >> kReportShift) & kMostReports;
  if (report == 0) return;
  Feedback& feedback = reports_[report - 1].feedback;
  feedback.notes = ack.notes & static_cast<std::uint8_t>(~Packet::kReport);
  feedback.stamp = ack.stamp;
  take_report(report, now);
}

// The source of the data knows what it says.
void RdmaEngine::take_report(std::uint32_t number, Time now) {
  const Report report = reports_[number - 1];
  reports_.free(number - 1);
  paced_->acknowledged(report.src, report.dst, report.feedback, now);
  context_.events.schedule(now, on_ready_, report.src);
}

void RdmaEngine::send_control(NodeId node, Time now) {
  while (const std::optional<ControlPacket> control = paced_->control(node, now)) {
    Packet packet{node, control->peer, 0, kRdmaPort, 1, kAckPacket | kNoTransfer | kControl};
    packet.notes = control->report ? Packet::kReport : std::uint8_t{0};
    packet.stamp = control->stamp;
    context_.count(packet);
    nodes_[node].control.push_back(packet);
  }
  wake(node, paced_->wake(node));
}

}  // namespace exanet
