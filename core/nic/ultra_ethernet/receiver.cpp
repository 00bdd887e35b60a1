// SPDX-License-Identifier: Apache-2.0
// The destination's side of interfaces that acknowledge packets: what has come, what is said of it, completions, and
// the credits that a receiver grants. Model and limits: ultra_ethernet_nic.hpp.
#include <algorithm>

#include "core/nic/ultra_ethernet/packet_words.hpp"
#include "core/nic/ultra_ethernet/ultra_ethernet_nic.hpp"
#include "core/units/check.hpp"

namespace exanet {

namespace {

constexpr std::uint64_t kBytesPerAcknowledgement = 16'384;  // uet-htsim, uec
constexpr std::uint32_t kBitmap = 64;  // packets

}  // namespace

void UltraEthernetNic::delivered(const Packet& packet, Time injected, Time now) {
  const bool trimmed = (packet.notes & Packet::kTrimmed) != 0;
  if (!trimmed) listener_.packet_delivered(packet, injected, now);
  switch (PacketWords::kind(packet)) {
    case PacketWords::kData: return data(packet, now);
    case PacketWords::kReport: return acknowledged(PacketWords::report(packet), now);
    case PacketWords::kCredit: break;
  }
  paced_->heard(packet.dst, {packet.src, true, packet.stamp}, now);
  std::uint32_t index = 0;
  context_of(packet.dst, packet.src, index);
  take_turn(index);
  pump(packet.dst, now);
}

void UltraEthernetNic::data(const Packet& packet, Time now) {
  const std::uint32_t index = PacketWords::context(packet), number = PacketWords::number(packet);
  Context& c = contexts_[index];
  const bool trimmed = (packet.notes & Packet::kTrimmed) != 0, marked = (packet.notes & Packet::kCongested) != 0;
  if (paced_) paced_->arrived(packet, now);
  const bool there = number < c.expected || (number - c.expected < c.beyond.size() && c.beyond[number - c.expected]);
  if (trimmed || there) {
    statistics_.duplicates += !trimmed;
    answer(c, index, packet, trimmed && !there, marked && !trimmed);
    if (!trimmed) c.unacknowledged = 0;
  } else {
    const bool first = c.received == 0;
    c.unacknowledged += packet.payload_bytes;
    c.received += packet.payload_bytes;
    const bool asks = PacketWords::asks(packet);
    c.asked |= asks;
    const bool fills = number == c.expected;
    take(c, number, now);
    const bool whole = fills && c.gaps == 0 && c.asked;
    if (whole) c.asked = false;
    if (marked || asks || first || whole || c.unacknowledged >= kBytesPerAcknowledgement) {
      answer(c, index, packet, false, marked || asks);
      c.unacknowledged = 0;
    }
  }
  grant_credits(packet.dst, now);
  pump(packet.dst, now);
}

bool UltraEthernetNic::take(Context& c, std::uint32_t number, Time now) {
  if (number < c.expected) return false;
  const std::uint32_t place = number - c.expected;
  if (place < c.beyond.size() && c.beyond[place]) return false;
  if (place >= c.beyond.size()) c.beyond.resize(place + 1);
  c.beyond[place] = true;
  ++c.gaps;
  const Sent& sent = c.sent[number - c.base];
  if (sent.last && descriptors_[sent.descriptor].kind == Kind::kRequest) complete(sent.descriptor, now);
  while (!c.beyond.empty() && c.beyond.front()) {
    c.beyond.pop_front();
    --c.gaps;
    const Sent& next = c.sent[c.expected++ - c.base];
    if (next.last && descriptors_[next.descriptor].kind != Kind::kRequest) complete(next.descriptor, now);
  }
  return true;
}

void UltraEthernetNic::complete(std::uint32_t descriptor, Time now) {
  const Descriptor d = descriptors_[descriptor];
  if (d.kind == Kind::kMessage) return listener_.message_completed(d.user, d.status, now);
  listener_.transfer_completed(d.user, d.status, now);
}

// Says what has come; of a trimmed packet that it has not. The bitmap ends with the packet, or begins with it.
void UltraEthernetNic::answer(Context& c, std::uint32_t index, const Packet& packet, bool trimmed, bool from_number) {
  const std::uint32_t number = PacketWords::number(packet);
  const std::uint32_t earliest = number < kBitmap ? 0 : number - (kBitmap - 1);
  Report report{};
  report.context = index;
  report.cumulative = c.expected;
  report.base = from_number ? number : std::max(earliest, c.expected + 1);
  report.number = number;
  for (std::uint32_t i = 0; i < kBitmap && !trimmed; ++i) {
    const std::uint32_t one = report.base + i;
    const bool has = one < c.expected || (one - c.expected < c.beyond.size() && c.beyond[one - c.expected]);
    report.bitmap |= std::uint64_t{has} << i;
  }
  report.received = c.received;
  report.entropy = packet.entropy;
  report.marked = (packet.notes & Packet::kCongested) != 0;
  report.trimmed = trimmed;
  report.last_hop = (packet.notes & Packet::kLastHop) != 0;
  Packet out{c.dst, c.src, 0, 0, 1, PacketWords::report(reports_.add(report))};
  out.notes = Packet::kReport;
  if (c.entropies) out.entropy = packet.entropy;
  queue_control(c.dst, out);
}

void UltraEthernetNic::grant_credits(NodeId node, Time now) {
  if (!paced_) return;
  while (const std::optional<ControlPacket> control = paced_->control(node, now)) {
    Packet out{node, control->peer, 0, 0, 1, PacketWords::credit()};
    out.notes = Packet::kReport;
    out.stamp = control->stamp;
    queue_control(node, out);
  }
  wake(node, paced_->wake(node));
}

void UltraEthernetNic::queue_control(NodeId node, const Packet& packet) {
  ++packets_;
  nodes_[node].control.push_back(packet);
}

}  // namespace exanet
