// SPDX-License-Identifier: Apache-2.0
// Carries out address translation: a look-up of each packet's page, walks of tables in memory one at a time, and
// invalidations that wait for what has been looked up. Model and limits: pages.hpp.
#include "core/nic/transfers/pages.hpp"

#include <algorithm>

#include "core/spec/packet.hpp"
#include "core/units/check.hpp"

namespace exanet {

Pages::Pages(EventQueue& events, const TransfersConfig& config, std::size_t nodes)
    : events_(events), cycle_(config.cycle), memory_read_(std::max<Cycle>(config.memory_read, 1)), nodes_(nodes) {
  const auto on = [&](void (*handler)(void*, Time, std::uint32_t, std::uint64_t)) {
    return events.add_handler(handler, this);
  };
  on_start_ = on([](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<Pages*>(its)->start(node); });
  on_read_ = on([](void* its, Time, std::uint32_t node, std::uint64_t) { static_cast<Pages*>(its)->read(node); });
  on_clear_ = on([](void* its, Time, std::uint32_t node, std::uint64_t access) {
    static_cast<Pages*>(its)->clear(node, static_cast<Access>(access));
  });
  on_resume_ = on([](void* its, Time, std::uint32_t node, std::uint64_t access) {
    const User& user = static_cast<Pages*>(its)->users_[access];
    user.resume(user.self, node);
  });
}

void Pages::set_root(NodeId node, std::uint16_t domain, std::uint64_t root) {
  std::vector<std::uint64_t>& roots = nodes_[node].roots;
  if (roots.size() <= domain) roots.resize(domain + 1u);
  roots[domain] = root;
}

std::size_t Pages::place(std::uint16_t domain, std::uint64_t page, std::size_t size) {
  const unsigned bits = kPlaceBits[size];
  return ((page >> kShift[size]) ^ (page >> (kShift[size] + bits)) ^ domain) & ((1u << bits) - 1);
}

bool Pages::look(NodeId node, Access access, std::uint16_t domain, std::uint64_t page, bool needed) {
  lookups_ += needed;
  Way& way = nodes_[node].ways[access];
  way.domain = domain;
  way.page = page;
  way.fault = TransferEnding::kWhole;
  bool hit = false;
  for (std::size_t size = 0; size < kSizes; ++size)
    for (const Known& known : way.known[size][place(domain, page, size)])
      if (known.valid && known.domain == domain && known.page == page >> kShift[size]) {
        way.frame = known.frame << kShift[size] | (page & ((1u << kShift[size]) - 1));
        hit = true;
      }
  return hit;
}

void Pages::walk(NodeId node, Access access, Cycle from) {
  nodes_[node].ways[access].wants = from;
  schedule_start(node, nodes_[node]);
}

void Pages::schedule_start(NodeId node, Node& n) {
  if (n.walking) return;
  Cycle cycle = kUnknown;
  for (const Way& way : n.ways) cycle = std::min(cycle, way.wants);
  if (cycle == kUnknown) return;
  cycle = std::max(cycle, n.idle_from);
  if (cycle >= n.event) return;
  n.event = cycle;
  events_.schedule(time_of(cycle, cycle_), on_start_, node);
}

// All that ask for a walk in the present cycle have said so before: the one behind the last goes first.
void Pages::start(NodeId node) {
  Node& n = nodes_[node];
  if (n.event != now()) return;  // one that is earlier was scheduled behind it
  n.event = kUnknown;
  for (std::uint8_t i = 1; i <= kWays; ++i) {
    const auto way = static_cast<std::uint8_t>((n.way + i) % kWays);
    if (n.ways[way].wants > now()) continue;
    n.way = way;
    break;
  }
  Way& way = n.ways[n.way];
  EXANET_CHECK(way.wants <= now(), "nobody wants a walk", events_.now().ps(), node, n.way);
  way.wants = kUnknown;
  n.walking = true;
  n.level = 0;
  const std::uint64_t root = way.domain < n.roots.size() ? n.roots[way.domain] : 0;
  if (root == 0) return end(node, now() + 2, false, false, 0, 0);
  n.entry = root + 8 * (way.page >> 27 & 511);
  events_.schedule(time_of(now() + 2 + memory_read_, cycle_), on_read_, node);
}

void Pages::read(NodeId node) {
  Node& n = nodes_[node];
  const std::uint64_t value = memory_.entry(memory_.self, node, n.entry);
  spec::NiPage entry;
  entry.raw = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  const bool last = n.level == kLastLevel;
  if (entry.valid() == 0 || entry.leaf() != 0 || last) {
    const bool mapped = entry.valid() != 0 && entry.leaf() != 0 && n.level >= 2;
    return end(node, now() + 1, mapped, entry.writable() != 0, !last ? 2 : entry.wide(), entry.frame());
  }
  n.entry = (entry.frame() << 12) + 8 * (n.ways[n.way].page >> (18 - 9 * n.level) & 511);
  ++n.level;
  events_.schedule(time_of(now() + 1 + memory_read_, cycle_), on_read_, node);
}

// What has been found is the way's in the cycle behind `done`. Nobody looks at what it knows before.
void Pages::end(NodeId node, Cycle done, bool mapped, bool writable, std::size_t size, std::uint64_t frame) {
  Node& n = nodes_[node];
  Way& way = n.ways[n.way];
  ++walks_;
  way.fault = !mapped                       ? TransferEnding::kUnmapped
              : n.way != kRead && !writable ? TransferEnding::kReadOnly
                                            : TransferEnding::kWhole;
  if (way.fault == TransferEnding::kWhole) {
    const std::size_t at = place(way.domain, way.page, size);
    bool& turn = way.turn[size][at];
    way.known[size][at][turn] = {true, way.domain, way.page >> kShift[size], frame >> kShift[size]};
    turn = !turn;
    way.frame = frame >> kShift[size] << kShift[size] | (way.page & ((1u << kShift[size]) - 1));
  } else {
    ++faults_;
  }
  n.walking = false;
  n.idle_from = done + 1;
  schedule_start(node, n);
  const User& user = users_[n.way];
  user.known(user.self, node, done + 1);
}

void Pages::invalidate(NodeId node) {
  Node& n = nodes_[node];
  n.asked = now();
  ++n.to_end;
  for (std::size_t access = 0; access < kWays; ++access) {
    Way& way = n.ways[access];
    if (way.invalidates) continue;
    way.invalidates = true;
    way.held_from = now() + 1;
    settle(node, static_cast<Access>(access));
  }
}

void Pages::settle(NodeId node, Access access) {
  Way& way = nodes_[node].ways[access];
  if (!way.invalidates || way.over != kUnknown) return;
  const Cycle drained = users_[access].drained(users_[access].self, node);
  if (drained == kUnknown) return;
  way.over = std::max({way.held_from, now(), drained});
  events_.schedule(time_of(way.over, cycle_), on_clear_, node, access);
}

// The way is at rest, and what it knows is forgotten. An invalidation that was asked for in this cycle is over in the
// next one.
void Pages::clear(NodeId node, Access access) {
  Node& n = nodes_[node];
  Way& way = n.ways[access];
  way.over = kUnknown;
  // Something was looked up in the cycle of the store, and is under way.
  if (users_[access].drained(users_[access].self, node) > now()) return settle(node, access);
  for (auto& size : way.known)
    for (auto& at : size)
      for (Known& known : at) known.valid = false;
  way.open_from = way.held_from = now() + 1;
  way.invalidates = n.asked == now();
  if (way.invalidates) return settle(node, access);
  events_.schedule(time_of(now() + 1, cycle_), on_resume_, node, access);
  for (const Way& other : n.ways)
    if (other.invalidates) return;
  invalidations_ += n.to_end;
  n.to_end = 0;
}

}  // namespace exanet
