// SPDX-License-Identifier: Apache-2.0
// What the tests of the message engine share: ranks whose memory is a byte array and whose completions are a list.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "core/fabric/fabric_harness.hpp"
#include "core/msg/engine.hpp"

namespace exanet::testing {

// Every cost differs from every other, so that a sum tells what is in it.
inline NiConfig odd_costs() {
  NiConfig ni;
  ni.library_send = Time::ps(101'000);
  ni.library_receive = Time::ps(83'000);
  ni.mpi_send = Time::ps(211'000);
  ni.mpi_receive = Time::ps(197'000);
  ni.store_word = Time::ps(25'600);
  ni.packetizer = Time::ps(31'000);
  ni.mailbox = Time::ps(53'000);
  ni.mailbox_word = Time::ps(6'400);
  ni.mailbox_read = Time::ps(13'300);
  ni.dma_start = Time::ps(97'000);
  ni.dma_completion = Time::ps(41'000);
  ni.memory_read = Time::ps(121'000);
  ni.memory_write = Time::ps(61'000);
  ni.translation = Time::ps(17'000);
  ni.atomic = Time::ps(29'000);
  ni.test_step = Time::ps(100'000);
  return ni;
}

inline FabricConfig steady_fabric() {
  FabricConfig fabric = published_fabric();
  for (LinkConfig& link : fabric.links) link.pause_every = 0;
  return fabric;
}

struct Done {
  Completion c;
  std::vector<std::byte> payload;
};

class Ranks final : public Host {
 public:
  static constexpr std::size_t kBytes = 1 << 16;
  static constexpr std::uint64_t kBase = 0x10000;  // of a rank's memory in its own addresses

  Ranks(const TopologySpec& spec, std::vector<NodeId> placement, const FabricConfig& fabric = steady_fabric(),
        const NiConfig& ni = odd_costs())
      : config(ni), topology(make_topology(spec)), done(placement.size()),
        memory(placement.size(), std::vector<std::byte>(kBytes)), engine(queue, *topology, fabric, ni, placement, *this) {
    engine.set_instant(false);
    for (RankId r = 0; r < placement.size(); ++r) {
      open(r, 0);
      engine.asleep(r, Time());
    }
  }

  void complete(RankId rank, const Completion& c) override {
    Done d{c, {}};
    if (c.payload_bytes > 0) d.payload.assign(c.payload, c.payload + c.payload_bytes);
    // As libexanet does on taking a completion.
    if (c.payload_bytes > 0 && c.kind == CompletionKind::receive) write(rank, c.addr, c.payload, c.payload_bytes);
    d.c.payload = nullptr;
    done[rank].push_back(d);
  }
  bool inside(std::uint64_t addr, std::size_t bytes) const { return addr >= kBase && addr - kBase <= kBytes && bytes <= kBytes - (addr - kBase); }
  bool read(RankId rank, std::uint64_t addr, std::byte* to, std::size_t bytes) override {
    if (!inside(addr, bytes)) return false;
    std::memcpy(to, &memory[rank][addr - kBase], bytes);
    return true;
  }
  bool write(RankId rank, std::uint64_t addr, const std::byte* from, std::size_t bytes) override {
    if (!inside(addr, bytes)) return false;
    std::memcpy(&memory[rank][addr - kBase], from, bytes);
    return true;
  }
  void record(const MessageRecord& m) override { records.push_back(m); }

  void open(RankId rank, std::uint16_t ep, bool raw = false) {
    Command c{};
    c.kind = CommandKind::ep_open;
    c.ep = ep;
    c.raw = raw;
    engine.submit(rank, c);
  }
  void close(RankId rank, std::uint16_t ep, Time at) {
    Command c{};
    c.kind = CommandKind::ep_close;
    c.ep = ep;
    c.time = at;
    engine.submit(rank, c);
  }
  Command message(RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t tag, std::uint64_t cookie) const {
    Command c{};
    c.kind = CommandKind::send;
    c.peer = Address{to, 0};
    c.tagged = true;
    c.tag = tag;
    c.addr = addr;
    c.len = len;
    c.cookie = cookie;
    c.time = queue.now();
    return c;
  }
  void send(RankId from, Command c) {
    if (c.len <= config.eager_max_bytes && c.len > 0) {
      c.payload = &memory[from][c.addr - kBase];
      c.payload_bytes = static_cast<std::uint32_t>(c.len);
    }
    engine.submit(from, c);
  }
  void send(RankId from, RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t tag, std::uint64_t cookie = 0) {
    send(from, message(to, addr, len, tag, cookie));
  }
  Command receive_of(RankId from, std::uint64_t addr, std::uint64_t len, std::uint64_t tag, std::uint64_t cookie) const {
    Command c{};
    c.kind = CommandKind::receive;
    c.peer = Address{from, 0};
    c.tagged = true;
    c.tag = tag;
    c.addr = addr;
    c.len = len;
    c.cookie = cookie;
    c.time = queue.now();
    return c;
  }
  void receive(RankId rank, RankId from, std::uint64_t addr, std::uint64_t len, std::uint64_t tag, std::uint64_t cookie = 0) {
    engine.submit(rank, receive_of(from, addr, len, tag, cookie));
  }
  Command one_sided(CommandKind kind, RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t remote, std::uint64_t key,
                    std::uint64_t cookie) const {
    Command c{};
    c.kind = kind;
    c.peer = Address{to, 0};
    c.addr = addr;
    c.len = len;
    c.tag = remote;
    c.ignore = key;
    c.cookie = cookie;
    c.time = queue.now();
    return c;
  }
  void share(RankId rank, std::uint64_t key, std::uint64_t first, std::uint64_t bytes, std::uint32_t access) {
    Command c{};
    c.kind = CommandKind::mem_register;
    c.ignore = key;
    c.tag = first;
    c.len = bytes;
    c.access = access;
    engine.submit(rank, c);
  }
  void unshare(RankId rank, std::uint64_t key) {
    Command c{};
    c.kind = CommandKind::mem_deregister;
    c.ignore = key;
    c.time = queue.now();
    engine.submit(rank, c);
  }

  void run() {
    while (!queue.empty()) queue.run_one();
  }
  // The only completion of that kind and cookie at a rank; fails the test when there is none or another one.
  Completion only(RankId rank, CompletionKind kind, std::uint64_t cookie = 0) const {
    Completion found;
    int n = 0;
    for (const Done& d : done[rank]) {
      if (d.c.kind != kind || d.c.cookie != cookie) continue;
      found = d.c;
      ++n;
    }
    CHECK(n == 1);
    return found;
  }
  std::size_t count(RankId rank, CompletionKind kind) const {
    std::size_t n = 0;
    for (const Done& d : done[rank]) n += d.c.kind == kind;
    return n;
  }
  void fill(RankId rank, std::uint64_t addr, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i) memory[rank][addr - kBase + i] = static_cast<std::byte>(seed * 31 + i * 7 + 1);
  }
  bool same(RankId a, std::uint64_t a_addr, RankId b, std::uint64_t b_addr, std::size_t bytes) const {
    return std::memcmp(&memory[a][a_addr - kBase], &memory[b][b_addr - kBase], bytes) == 0;
  }
  Time network(NodeId src, NodeId dst, std::uint16_t bytes) const {
    return static_cast<const Fabric&>(engine.interfaces().network()).zero_load_latency(src, dst, bytes);
  }
  // Packet handed to the packetizer to message visible in the far mailbox.
  Time control(NodeId src, NodeId dst, std::uint32_t bytes) const {
    return network(src, dst, static_cast<std::uint16_t>(bytes)) + config.mailbox + config.mailbox_word * ((bytes + 15) / 16);
  }

  NiConfig config;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::vector<std::vector<Done>> done;
  std::vector<MessageRecord> records;
  std::vector<std::vector<std::byte>> memory;
  MessageEngine engine;
};

}  // namespace exanet::testing
