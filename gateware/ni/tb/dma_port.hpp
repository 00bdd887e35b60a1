// SPDX-License-Identifier: Apache-2.0
// A second port of a memory, AXI4 of 128 bits for reads and for writes of any bytes. It answers in order, reads and writes each for themselves, a fixed
// time after a burst's address or last beat; ready falls at random, and beats of a read pause, where that is wanted.
#pragma once

#include <doctest/doctest.h>

#include "gateware/ni/tb/axi_memory.hpp"

namespace exanet::gateware {

class DmaPort {
 public:
  DmaPort(AxiMemory& memory, MemoryConfig config) : memory_(memory), config_(config), random_(config.seed + 7919) {}

  std::function<bool(std::uint64_t address)> refuses_read = [](std::uint64_t) { return false; };
  std::uint64_t reads = 0, writes = 0;  // bursts
  std::uint64_t first_read = 0, last_write = 0;  // cycles: the first address of a read was offered; a beat was written

  template <typename Model>
  void drive(Model& model, std::uint64_t cycle) {
    model.m_axi_dma_awready = !stalled();
    model.m_axi_dma_wready = !stalled();
    model.m_axi_dma_arready = !stalled();
    const bool answers = !answers_.empty() && answers_.front().cycle <= cycle;
    model.m_axi_dma_bvalid = answers;
    model.m_axi_dma_bresp = answers && answers_.front().failed ? 2 : 0;
    // A beat that was offered stays until it is taken.
    if (!offers_) offers_ = !data_.empty() && data_.front().cycle <= cycle && !stalled();
    model.m_axi_dma_rvalid = offers_;
    if (!offers_) return;
    const std::uint64_t address = data_.front().address;
    const Line line = memory_.line(address);
    for (unsigned w = 0; w < 4; ++w) model.m_axi_dma_rdata[w] = 0;
    for (unsigned i = 0; i < 16; ++i) model.m_axi_dma_rdata[i / 4] |= std::uint32_t{line[i]} << 8 * (i % 4);
    model.m_axi_dma_rresp = refuses_read(address) ? 2 : 0;
  }

  template <typename Model>
  void sample(const Model& model, std::uint64_t cycle) {
    if (model.m_axi_dma_arvalid && first_read == 0) first_read = cycle;
    if (model.m_axi_dma_rvalid && model.m_axi_dma_rready) data_.pop_front(), offers_ = false;
    if (model.m_axi_dma_arvalid && model.m_axi_dma_arready) {
      const std::uint64_t address = model.m_axi_dma_araddr;
      const unsigned beats = model.m_axi_dma_arlen + 1u;
      CHECK(address / 4096 == (address + 16 * beats - 1) / 4096);
      for (unsigned i = 0; i < beats; ++i) data_.push_back({cycle + config_.latency_cycles, address + 16 * i});
      ++reads;
    }
    if (model.m_axi_dma_bvalid && model.m_axi_dma_bready) answers_.pop_front();
    if (model.m_axi_dma_awvalid && model.m_axi_dma_awready) {
      const std::uint64_t address = model.m_axi_dma_awaddr;
      const unsigned beats = model.m_axi_dma_awlen + 1u;
      CHECK(address / 4096 == (address + 16 * beats - 1) / 4096);
      addresses_.push_back({address, beats});
    }
    if (model.m_axi_dma_wvalid && model.m_axi_dma_wready) {
      Beat beat{{}, model.m_axi_dma_wstrb, model.m_axi_dma_wlast != 0};
      for (unsigned i = 0; i < 16; ++i)
        beat.data[i] = static_cast<std::uint8_t>(model.m_axi_dma_wdata[i / 4] >> 8 * (i % 4));
      beats_.push_back(beat);
    }
    while (!beats_.empty() && !addresses_.empty()) write(cycle);
  }

 private:
  struct Data {
    std::uint64_t cycle, address;
  };
  struct Burst {
    std::uint64_t address;
    unsigned beats;
  };
  struct Beat {
    Line data;
    unsigned strobe;
    bool last;
  };
  struct Answer {
    std::uint64_t cycle;
    bool failed;
  };

  bool stalled() { return config_.stalls > 0 && std::uniform_real_distribution<>{}(random_) < config_.stalls; }

  void write(std::uint64_t cycle) {
    const Beat beat = beats_.front();
    beats_.pop_front();
    const Burst& burst = addresses_.front();
    const std::uint64_t address = burst.address + 16 * at_++;
    failed_ = failed_ || memory_.refuses(address);
    for (unsigned i = 0; i < 16 && !failed_; ++i)
      if (beat.strobe >> i & 1) memory_.set(address + i, beat.data[i]);
    last_write = cycle;
    CHECK(beat.last == (at_ == burst.beats));
    if (!beat.last) return;
    answers_.push_back({cycle + config_.latency_cycles, failed_});
    addresses_.pop_front();
    at_ = 0, failed_ = false;
    ++writes;
  }

  AxiMemory& memory_;
  MemoryConfig config_;
  std::mt19937_64 random_;
  std::deque<Data> data_;
  std::deque<Burst> addresses_;
  std::deque<Beat> beats_;
  std::deque<Answer> answers_;
  std::uint64_t at_ = 0;
  bool offers_ = false, failed_ = false;
};

}  // namespace exanet::gateware
