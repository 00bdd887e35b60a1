// SPDX-License-Identifier: Apache-2.0
// A second port of a memory, AXI4 of 128 bits for reads and for writes of any bytes. It answers in order, reads and
// writes each for themselves, a fixed time after a burst's address or last beat; ready falls at random, and beats of a
// read pause, where that is wanted.
#pragma once

#include "gateware/ni/tb/axi_memory.hpp"

namespace exanet::gateware {

class DmaPort {
 public:
  DmaPort(AxiMemory& memory, MemoryConfig config)
      : memory_(memory), config_(config), random_(config.seed + 7919), writes_(config.latency_cycles) {}

  std::function<bool(std::uint64_t address)> refuses_read = [](std::uint64_t) { return false; };
  std::uint64_t first_read = 0, last_write = 0;  // cycles: the first address of a read was offered; a beat was written
  std::vector<WrittenBeat> ends;  // the last beat of each burst
  std::function<void(std::uint64_t address)> on_read = [](std::uint64_t) {};  // of the first line
  std::function<void(const WrittenBeat& end)> on_burst = [](const WrittenBeat&) {};  // its bytes are in memory
  std::size_t unanswered(std::uint64_t begin, std::uint64_t end) const { return writes_.unanswered(begin, end); }

  template <typename Model>
  void drive(Model& model, std::uint64_t cycle) {
    model.m_axi_dma_awready = !stalled();
    model.m_axi_dma_wready = !stalled();
    model.m_axi_dma_arready = !stalled() && (config_.reads == 0 || reads_ < config_.reads);
    writes_.answer(cycle, model.m_axi_dma_bvalid, model.m_axi_dma_bresp);
    // A beat that was offered stays until it is taken.
    if (!offers_) offers_ = !data_.empty() && data_.front().cycle <= cycle && !stalled();
    model.m_axi_dma_rvalid = offers_;
    if (!offers_) return;
    const std::uint64_t address = data_.front().address;
    const Line line = memory_.line(address);
    for (unsigned w = 0; w < 4; ++w) model.m_axi_dma_rdata[w] = 0;
    for (unsigned i = 0; i < 16; ++i) model.m_axi_dma_rdata[i / 4] |= std::uint32_t{line[i]} << 8 * (i % 4);
    // A slave's error, or the decoder's.
    model.m_axi_dma_rresp = refuses_read(address) ? static_cast<CData>(2 + (address >> 4) % 2) : CData{0};
  }

  template <typename Model>
  void sample(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_dma_arvalid && first_read == 0) first_read = cycle;
    if (model.m_axi_dma_rvalid && model.m_axi_dma_rready) {
      reads_ -= data_.front().last;
      data_.pop_front();
      offers_ = false;
    }
    if (model.m_axi_dma_arvalid && model.m_axi_dma_arready) {
      const std::uint64_t address = model.m_axi_dma_araddr;
      const unsigned beats = model.m_axi_dma_arlen + 1u;
      expect(address / 4096 == (address + 16 * beats - 1) / 4096, "a burst crosses 4 KiB");
      on_read(address);
      for (unsigned i = 0; i < beats; ++i)
        data_.push_back({cycle + config_.latency_cycles, address + 16 * i, i + 1 == beats});
      ++reads_;
    }
    if (model.m_axi_dma_bvalid && model.m_axi_dma_bready) writes_.answered();
    if (model.m_axi_dma_awvalid && model.m_axi_dma_awready)
      writes_.address(model.m_axi_dma_awaddr, model.m_axi_dma_awlen + 1u);
    if (model.m_axi_dma_wvalid && model.m_axi_dma_wready)
      writes_.beat(model.m_axi_dma_wdata, model.m_axi_dma_wstrb, model.m_axi_dma_wlast);
    writes_.write(cycle, memory_, [&](const WrittenBeat& beat) {
      last_write = cycle;
      if (!beat.last) return;
      ends.push_back(beat);
      on_burst(beat);
    });
  }

 private:
  struct Data {
    std::uint64_t cycle, address;
    bool last;
  };

  bool stalled() { return config_.stalls > 0 && std::uniform_real_distribution<>{}(random_) < config_.stalls; }

  AxiMemory& memory_;
  MemoryConfig config_;
  std::mt19937_64 random_;
  AxiWrites writes_;
  std::deque<Data> data_;
  unsigned reads_ = 0;  // that were taken and not given whole
  bool offers_ = false;
};

}  // namespace exanet::gateware
