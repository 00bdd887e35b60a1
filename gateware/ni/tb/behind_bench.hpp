// SPDX-License-Identifier: Apache-2.0
// Nodes whose processors keep messages behind transfers, for what is seen of that from outside.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "gateware/ni/tb/transfer_traffic.hpp"

namespace exanet::gateware {

using Reason = spec::NackReason;
inline constexpr unsigned kBox = 3, kOther = 4, kClosedBox = 5, kOne = 6;
inline constexpr std::uint64_t kRings = 0x60'0000'0000, kBadOwn = 0x1f'0000'0000, kBadTarget = 0x2f'0000'0000,
                               kBadEnd = 0x3f'0000'0000;
inline constexpr unsigned kLog = 12;
inline std::uint64_t ring(unsigned box) { return kRings + 0x1'0000'0000 * box; }
inline unsigned code(Reason r) { return static_cast<unsigned>(r); }

using Tokens = std::vector<std::uint64_t>;

struct Bench : NiNetwork {
  explicit Bench(std::size_t nodes = 2, NiNetworkConfig config = {}, bool two = false)
      : NiNetwork(nodes, config, two), turn(nodes), seen(nodes) {
    for (std::size_t n = 0; n < nodes; ++n) setup(n);
    run_until_stored();
  }
  void setup(std::size_t n) {
    for (unsigned c = 0; c < kContexts; ++c) open_context(n, c, kDomain);
    open_mailbox(n, kBox, kDomain, ring(kBox), kLog);
    open_mailbox(n, kOther, kDomain + 1, ring(kOther), kLog);
    open_mailbox(n, kOne, kDomain, ring(kOne), 0);
    node(n).memory->refuses = [](std::uint64_t a) {
      return a >> 32 == kBadTarget >> 32 || a >> 32 == kBadEnd >> 32 || a >> 32 == kBadOwn >> 32;
    };
    node(n).dma->refuses_read = [](std::uint64_t a) { return a >> 32 == kBadOwn >> 32 || a >> 32 == kBadTarget >> 32; };
    turn[n].fill(0);
  }
  // A message with a token; returns its slot if all goes well.
  unsigned put(std::size_t n, unsigned c, std::size_t to, unsigned box, unsigned length, std::uint64_t token,
               bool behind = true) {
    for (unsigned at = 0; at < length; at += 16) {
      Store s{0, page(c) + at, {}, 0xffff};
      for (unsigned i = at; i < std::min(at + 16, length); ++i)
        s.data[i - at] = i < 8 ? static_cast<std::uint8_t>(token >> 8 * i) : static_cast<std::uint8_t>(token * 7 + i);
      store(n, s);
    }
    send(n, c, node(to).dcid, box, length, 0, behind);
    return turn[n][c]++ % 4;
  }
  static spec::Transfer naming(spec::Transfer t, unsigned slot) {
    t.set_message(1);
    t.set_message_slot(slot);
    return t;
  }
  spec::Transfer none(unsigned slot, unsigned token = 4000, bool notify = false) {
    auto t = naming(transfer_of(kOwn, kTarget, 0, node(0).dcid, token), slot);
    t.set_notify(notify);
    return t;
  }
  std::uint64_t wait_end(std::size_t n, unsigned token, std::uint64_t most = 4'000'000) {
    for (std::uint64_t i = 0; end_of(*node(n).memory, token).done() == 0; ++i) {
      REQUIRE(i < most);
      step();
    }
    return end_of(*node(n).memory, token).failure();
  }
  // Tokens that have come to a mailbox since the last look.
  std::vector<std::uint64_t> come(std::size_t n, unsigned box = kBox) {
    auto& r = seen[n].try_emplace(box, ring(box), box == kOne ? 0 : kLog).first->second;
    std::vector<std::uint64_t> out;
    while (auto m = r.poll(*node(n).memory)) {
      std::uint64_t t = 0;
      for (unsigned i = 0; i < 8 && i < m->bytes.size(); ++i) t |= std::uint64_t{m->bytes[i]} << 8 * i;
      for (unsigned i = 8; i < m->bytes.size(); ++i) CHECK(m->bytes[i] == static_cast<std::uint8_t>(t * 7 + i));
      out.push_back(t);
    }
    return out;
  }
  std::vector<std::array<unsigned, kContexts>> turn;
  std::vector<std::map<unsigned, MailboxReader>> seen;
};

}  // namespace exanet::gateware
