// SPDX-License-Identifier: Apache-2.0
// Nodes with network interface, router and links, Verilated, between processors' stores and memories. exanet/karma
// drives them through this C interface as processes and their kernel would: by stores and loads at the interfaces'
// windows and by what is in memory. What goes over each of the interface's ports is written down with its cycle.
#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gateware/ni/tb/ni_network.hpp"

namespace {

using namespace exanet::gateware;

// What was on a port in a cycle; as exanet/karma/interface.py has it.
enum What : std::uint32_t {
  kStore,  // the processors' bus has taken it: address; place: bytes
  kReadAddress,  // memory's port of transfers: address
  kReadData,
  kWriteAddress,  // likewise: address
  kWriteData,
  kWriteAnswer,
  kEntryAddress,  // memory's port of mailboxes, likewise
  kEntryData,
  kEntryAnswer,
  kWalkAddress,
  kWalkData,
  kHeaderIn,  // into the router, at the port `place`
  kFooterIn,
  kHeaderOut,  // out of it
  kFooterOut,
  kLineWord,  // on the line that leaves port `place`
  kSlot,  // place: slot; answered for good, or to be sent again; reason
};
struct Event {
  std::uint64_t cycle;
  std::uint32_t node, what, place, last;  // last: beat of its burst
  std::uint64_t value[2];
};

class Bench {
 public:
  Bench(std::size_t nodes, unsigned line_cycles, const MemoryConfig& memory)
      : network(nodes, {.line = {.latency_cycles = line_cycles},
                        .memory = memory,
                        .watch = [this](std::size_t node, const Vni_node& ports) { watch(node, ports); }}) {}

  // Kinds of events that are written down from now on, a bit each; those before are forgotten.
  void record(std::uint32_t kinds) {
    kinds_ = kinds;
    events.clear();
  }

  std::vector<Event> events;  // before the network, which writes them
  NiNetwork network;

 private:
  void watch(std::size_t n, const Vni_node& m) {
    if (kinds_ == 0) return;
    const auto add = [&](bool happens, What what, std::uint64_t low = 0, std::uint64_t high = 0, unsigned place = 0,
                         bool last = false) {
      if (happens && (kinds_ >> what & 1u) != 0)
        events.push_back({network.cycle(), static_cast<std::uint32_t>(n), what, place, last, {low, high}});
    };
    const auto words = [](const auto& wide, unsigned at) { return wide[at] | std::uint64_t{wide[at + 1]} << 32; };
    const unsigned strobe = m.s_axi_wstrb;
    add(m.s_axi_wvalid && m.s_axi_wready, kStore, m.s_axi_awaddr + static_cast<unsigned>(std::countr_zero(strobe)), 0,
        static_cast<unsigned>(std::popcount(strobe)));
    add(m.m_axi_dma_arvalid && m.m_axi_dma_arready, kReadAddress, m.m_axi_dma_araddr, m.m_axi_dma_arlen + 1u);
    add(m.m_axi_dma_rvalid && m.m_axi_dma_rready, kReadData, words(m.m_axi_dma_rdata, 0), words(m.m_axi_dma_rdata, 2));
    add(m.m_axi_dma_awvalid && m.m_axi_dma_awready, kWriteAddress, m.m_axi_dma_awaddr, m.m_axi_dma_awlen + 1u);
    add(m.m_axi_dma_wvalid && m.m_axi_dma_wready, kWriteData, words(m.m_axi_dma_wdata, 0), words(m.m_axi_dma_wdata, 2),
        0, m.m_axi_dma_wlast);
    add(m.m_axi_dma_bvalid && m.m_axi_dma_bready, kWriteAnswer, m.m_axi_dma_bresp);
    add(m.m_axi_awvalid && m.m_axi_awready, kEntryAddress, m.m_axi_awaddr, m.m_axi_awlen + 1u);
    add(m.m_axi_wvalid && m.m_axi_wready, kEntryData, words(m.m_axi_wdata, 0), words(m.m_axi_wdata, 2), 0,
        m.m_axi_wlast);
    add(m.m_axi_bvalid && m.m_axi_bready, kEntryAnswer, m.m_axi_bresp);
    add(m.m_axi_walk_arvalid && m.m_axi_walk_arready, kWalkAddress, m.m_axi_walk_araddr);
    add(m.m_axi_walk_rvalid && m.m_axi_walk_rready, kWalkData);
    for (unsigned port = 0; port < 3; ++port) {
      add_packet(m.in_o[port], kHeaderIn, kFooterIn, port, add);
      add_packet(m.out_o[port], kHeaderOut, kFooterOut, port, add);
    }
    for (unsigned port = 0; port < 2; ++port)
      add((m.tx_valid_o & m.tx_ready_i) >> port & 1u, kLineWord, m.tx_data_o[port], 0, port);
    add(m.freed_o || m.refused_o, kSlot, m.freed_o, m.reason_o, m.slot_o);
  }
  template <typename Wide, typename Add>
  static void add_packet(const Wide& wide, What header, What footer, unsigned port, const Add& add) {
    exanet::spec::Flit flit;
    for (unsigned w = 0; w < flit.raw.size(); ++w) flit.raw[w] = wide[w];
    const std::uint64_t low = wide[0] | std::uint64_t{wide[1]} << 32, high = wide[2] | std::uint64_t{wide[3]} << 32;
    add(flit.valid() && flit.head(), header, low, high, port);
    add(flit.valid() && flit.tail(), footer, low, high, port, true);
  }

  std::uint32_t kinds_ = 0;
};

std::string said;  // why the last call failed

template <typename Do>
int guarded(Do&& what) {
  try {
    what();
    return 0;
  } catch (const std::exception& error) {
    said = error.what();
    return 1;
  }
}
NiNetwork& network_of(void* bench) { return static_cast<Bench*>(bench)->network; }

}  // namespace

#define EXANET_EXPORT extern "C" __attribute__((visibility("default")))

// Functions that return an int: 0: done; 1: not, and interface_error says why.
EXANET_EXPORT void* interface_open(unsigned nodes, unsigned line_cycles, unsigned memory_cycles, unsigned reads) {
  Bench* bench = nullptr;
  guarded([&] { bench = new Bench(nodes, line_cycles, {.latency_cycles = memory_cycles, .reads = reads}); });
  return bench;
}
EXANET_EXPORT void interface_close(void* bench) { delete static_cast<Bench*>(bench); }
EXANET_EXPORT const char* interface_error() { return said.c_str(); }

// Up to 16 bytes of a line, which are offered behind what was stored before.
EXANET_EXPORT void interface_store(void* bench, unsigned node, std::uint32_t address, const std::uint8_t* data,
                                   std::uint32_t strobe) {
  Store store{0, address, {}, strobe};
  std::copy_n(data, store.data.size(), store.data.begin());
  network_of(bench).store(node, store);
}
EXANET_EXPORT std::uint64_t interface_stores(void* bench, unsigned node) {
  return network_of(bench).node(node).stores.size();
}
EXANET_EXPORT int interface_load(void* bench, unsigned node, std::uint32_t address, std::uint64_t* words) {
  return guarded([&] { std::copy_n(network_of(bench).load(node, address).begin(), 2, words); });
}
EXANET_EXPORT int interface_run(void* bench, std::uint64_t cycles) {
  return guarded([&] { network_of(bench).run(cycles); });
}
// Until all stores have been taken and had their effect.
EXANET_EXPORT int interface_settle(void* bench) {
  return guarded([&] { network_of(bench).run_until_stored(); });
}
EXANET_EXPORT std::uint64_t interface_cycle(void* bench) { return network_of(bench).cycle(); }
// Until a byte of a node's memory at one of these addresses has these bits.
EXANET_EXPORT int interface_wait(void* bench, unsigned node, const std::uint64_t* addresses, std::uint64_t count,
                                 unsigned mask, unsigned value, std::uint64_t most) {
  return guarded([&] {
    NiNetwork& network = network_of(bench);
    const AxiMemory& memory = *network.node(node).memory;
    const auto come = [&](std::uint64_t address) { return (memory.get(address) & mask) == value; };
    for (std::uint64_t i = 0; std::none_of(addresses, addresses + count, come); ++i) {
      expect(i < most, "what was waited for in memory has not come");
      network.step();
    }
  });
}
EXANET_EXPORT void interface_get(void* bench, unsigned node, std::uint64_t address, std::uint8_t* bytes,
                                 std::uint64_t count) {
  const AxiMemory& memory = *network_of(bench).node(node).memory;
  for (std::uint64_t i = 0; i < count; ++i) bytes[i] = memory.get(address + i);
}
EXANET_EXPORT void interface_set(void* bench, unsigned node, std::uint64_t address, const std::uint8_t* bytes,
                                 std::uint64_t count) {
  AxiMemory& memory = *network_of(bench).node(node).memory;
  for (std::uint64_t i = 0; i < count; ++i) memory.set(address + i, bytes[i]);
}
EXANET_EXPORT void interface_record(void* bench, std::uint32_t kinds) { static_cast<Bench*>(bench)->record(kinds); }
// How many events there are; copies as many of them as `capacity`.
EXANET_EXPORT std::uint64_t interface_recorded(const void* bench, Event* events, std::uint64_t capacity) {
  const std::vector<Event>& all = static_cast<const Bench*>(bench)->events;
  std::copy_n(all.begin(), std::min<std::size_t>(capacity, all.size()), events);
  return all.size();
}
