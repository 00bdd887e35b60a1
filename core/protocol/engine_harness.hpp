// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the message engine: ranks whose memory is a byte array and whose completions are a list.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "core/network/exanet/exanet_harness.hpp"
#include "core/network/model.hpp"
#include "core/protocol/atomic_table.h"
#include "core/protocol/engine.hpp"
#include "core/routing/make_topology.hpp"

namespace exanet::testing {

// Every cost differs from every other, so that a sum shows what is in it.
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

inline NetworkConfig steady_fabric() {
  NetworkConfig fabric = published_fabric();
  for (LinkConfig& link : fabric.links) link.pause_every = 0;
  return fabric;
}

struct Done {
  Completion c;
  std::vector<std::byte> payload;
};

inline const CompletionHeader& header(const Completion& c) {
  return std::visit([](const auto& done) -> const CompletionHeader& { return done; }, c);
}

// 0 of what answers no descriptor.
inline std::uint64_t cookie_of(const Completion& c) {
  return std::visit(
      [](const auto& done) -> std::uint64_t {
        if constexpr (requires { done.cookie; })
          return done.cookie;
        else
          return 0;
      },
      c);
}

class Ranks : public Host {
 public:
  static constexpr std::size_t kBytes = 1 << 16;
  static constexpr std::uint64_t kBase = 0x10000;  // of a rank's memory in its own addresses

  Ranks(const TopologySpec& spec, std::vector<NodeId> placement, const NetworkConfig& fabric = steady_fabric(),
        const NiConfig& ni = odd_costs(), const MakeNetwork& make = make_network)
      : config(ni),
        router(fabric.router),
        topology(make_topology(spec)),
        done(placement.size()),
        memory(placement.size(), std::vector<std::byte>(kBytes)),
        engine(queue, *topology, fabric, ni, placement, *this, nic_kind("exanet"), make) {
    engine.set_zero_cost(false);
    for (RankId r = 0; r < placement.size(); ++r) {
      open(r, 0);
      engine.asleep(r, Time());
    }
  }

  void complete(RankId rank, const Completion& c, Payload payload) override {
    // As libexanet does on taking a completion.
    if (const auto* receive = std::get_if<ReceiveCompletion>(&c)) {
      if (!payload.empty()) write(rank, receive->buffer, payload.data(), payload.size());
    }
    done[rank].push_back(Done{c, {payload.begin(), payload.end()}});
  }
  bool inside(std::uint64_t addr, std::size_t bytes) const {
    return addr >= kBase && addr - kBase <= kBytes && bytes <= kBytes - (addr - kBase);
  }
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

  void open(RankId rank, std::uint16_t ep, EndpointKind kind = EndpointKind::kMessage) {
    EpOpenDescriptor d;
    d.ep = ep;
    d.ep_kind = kind;
    engine.submit(rank, d);
  }
  void close(RankId rank, std::uint16_t ep, Time at) {
    EpCloseDescriptor d;
    d.ep = ep;
    d.time = at;
    engine.submit(rank, d);
  }
  SendDescriptor message(RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t tag,
                         std::uint64_t cookie) const {
    auto d = addressed<SendDescriptor>(to, cookie);
    d.flags = kTagged;
    d.tag = tag;
    d.buffer = addr;
    d.length = len;
    return d;
  }
  void send(RankId from, const SendDescriptor& d) {
    const bool eager = d.length <= config.eager_max_bytes;
    engine.submit(from, d, eager ? Payload(&memory[from][d.buffer - kBase], d.length) : Payload{});
  }
  void send(RankId from, RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t tag,
            std::uint64_t cookie = 0) {
    send(from, message(to, addr, len, tag, cookie));
  }
  ReceiveDescriptor receive_of(RankId from, std::uint64_t addr, std::uint64_t len, std::uint64_t tag,
                               std::uint64_t cookie) const {
    auto d = addressed<ReceiveDescriptor>(from, cookie);
    d.flags = kTagged;
    d.tag = tag;
    d.buffer = addr;
    d.length = len;
    return d;
  }
  void receive(RankId rank, RankId from, std::uint64_t addr, std::uint64_t len, std::uint64_t tag,
               std::uint64_t cookie = 0) {
    engine.submit(rank, receive_of(from, addr, len, tag, cookie));
  }
  // A put or a get.
  template <typename D>
  D one_sided(RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t remote, std::uint64_t key,
              std::uint64_t cookie) const {
    auto d = addressed<D>(to, cookie);
    d.buffer = addr;
    d.length = len;
    d.remote = remote;
    d.key = key;
    return d;
  }
  void put(RankId from, RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t remote, std::uint64_t key,
           std::uint64_t cookie) {
    engine.submit(from, one_sided<PutDescriptor>(to, addr, len, remote, key, cookie));
  }
  void get(RankId from, RankId to, std::uint64_t addr, std::uint64_t len, std::uint64_t remote, std::uint64_t key,
           std::uint64_t cookie) {
    engine.submit(from, one_sided<GetDescriptor>(to, addr, len, remote, key, cookie));
  }
  // Adds to a word of 64 bits.
  AtomicDescriptor sum(RankId to, std::uint64_t remote, std::uint64_t key, std::uint64_t cookie) const {
    auto d = addressed<AtomicDescriptor>(to, cookie);
    d.remote = remote;
    d.key = key;
    d.operation = exanet_op_sum;
    d.datatype = exanet_type_u64;
    d.count = 1;
    return d;
  }
  void atomic(RankId from, const AtomicDescriptor& d, std::uint64_t operand) {
    const Payload payload(reinterpret_cast<const std::byte*>(&operand), exanet_type_bytes(d.datatype));
    engine.submit(from, d, d.operation == exanet_op_read ? Payload{} : payload);
  }
  void share(RankId rank, std::uint64_t key, std::uint64_t first, std::uint64_t bytes, std::uint32_t access) {
    MemRegisterDescriptor d;
    d.key = key;
    d.address = first;
    d.length = bytes;
    d.access = access;
    engine.submit(rank, d);
  }
  void unshare(RankId rank, std::uint64_t key) {
    MemDeregisterDescriptor d;
    d.key = key;
    d.time = queue.now();
    engine.submit(rank, d);
  }

  void run() {
    while (!queue.empty()) queue.run_one();
  }
  // The only completion of that kind and cookie at a rank; fails the test when there is none or another one.
  template <typename C>
  C only(RankId rank, std::uint64_t cookie = 0) const {
    C found;
    int n = 0;
    for (const Done& d : done[rank]) {
      const C* c = std::get_if<C>(&d.c);
      if (!c || cookie_of(d.c) != cookie) continue;
      found = *c;
      ++n;
    }
    CHECK(n == 1);
    return found;
  }
  template <typename C>
  std::size_t count(RankId rank) const {
    std::size_t n = 0;
    for (const Done& d : done[rank]) n += std::holds_alternative<C>(d.c);
    return n;
  }
  void fill(RankId rank, std::uint64_t addr, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i)
      memory[rank][addr - kBase + i] = static_cast<std::byte>(seed * 31 + i * 7 + 1);
  }
  bool same(RankId a, std::uint64_t a_addr, RankId b, std::uint64_t b_addr, std::size_t bytes) const {
    return std::memcmp(&memory[a][a_addr - kBase], &memory[b][b_addr - kBase], bytes) == 0;
  }
  Time network(NodeId src, NodeId dst, std::uint16_t bytes) const {
    return static_cast<const NetworkModel&>(engine.nic().network()).zero_load_latency(src, dst, bytes);
  }
  // Packet handed to the packetizer to message visible in the far mailbox.
  Time control(NodeId src, NodeId dst, std::uint32_t bytes) const {
    return network(src, dst, static_cast<std::uint16_t>(bytes)) + config.mailbox +
           config.mailbox_word * router.words(bytes);
  }

  template <typename D>
  D addressed(RankId peer, std::uint64_t cookie) const {
    D d;
    d.peer.rank = peer;
    d.cookie = cookie;
    d.time = queue.now();
    return d;
  }

  NiConfig config;
  RouterConfig router;
  EventQueue queue;
  std::unique_ptr<Topology> topology;
  std::vector<std::vector<Done>> done;
  std::vector<MessageRecord> records;
  std::vector<std::vector<std::byte>> memory;
  MessageEngine engine;
};

inline const TopologySpec kLine{"mesh", {4}};
// Places in each rank's memory, and the key by which it is shared.
constexpr std::uint64_t A = Ranks::kBase, B = A + 0x4000, C = A + 0x8000, kKey = 42;

}  // namespace exanet::testing
