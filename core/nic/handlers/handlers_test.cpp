// SPDX-License-Identifier: Apache-2.0
// Do HPUs execute RV32IMAC with the cycles of their manual, in the order that sPIN has for handlers, at the rate that
// their number and the handlers' cycles allow, and are commands kept to the receive's buffer?
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "core/config/error.hpp"
#include "core/nic/handlers/handler_units.hpp"
#include "core/nic/handlers/layout.hpp"
#include "core/units/moving_time.hpp"

using namespace exanet;

namespace {

// Assembled by binutils. Cycles are counted by hand, from CV32E40P's table.
const std::vector<std::uint32_t> kText = {
    // loop, at 0: counts 100 down. li, 100 times addi and bnez, ret: 1 + 100 + 99 * 3 + 1 + 2
    0x06400293, 0xfff28293, 0xfe029ee3, 0x00008067,
    // products, at 0x10: mul, mulh, div, rem of -7 and 3, divu by 0, stored to where the argument's word points:
    // 1 + 1 + 1 + 5 + 33 + 33 + 35 + 1 + (1 + 1) + 4 + 2
    0xff900293, 0x00300313, 0x026283b3, 0x02629e33, 0x0262ceb3, 0x0262ef33, 0x0202dfb3, 0x00052583, 0x0075a023,
    0x01c5a223, 0x01d5a423, 0x01e5a623, 0x01f5a823, 0x00008067,
    // loads, at 0x48: lw, lw that needs it, lw that is not aligned, lbu, add that needs it, ret: 1 + 2 + 2 + 1 + 2 + 2
    0x00052583, 0x0005a603, 0x0025a683, 0x0015c703, 0x00d70733, 0x00008067,
    // atomics, at 0x60: lw, li, amoadd, amomax, lr, sc, sc, three sw, ret: 1 + 1 + 5 * 2 + 3 + 2
    0x00052583, 0x00500293, 0x0055a32f, 0xa055a3af, 0x1005ae2f, 0x1855aeaf, 0x1855af2f, 0x0065a223, 0x01d5a423,
    0x01e5a623, 0x00008067,
    // store, at 0x8c: a command that copies the packet to the beginning of the receive's buffer: 17 cycles
    0x00052583, 0x1b0002b7, 0x01c5a303, 0x0062a023, 0x0205a303, 0x0062a223, 0x0005a303, 0x0062a423, 0x0045a303,
    0x0062a623, 0x0002a823, 0x00008067,
    // short, at 0xbc: compressed instructions that store 16408: 12 of one cycle, a sw that needs a load, c.jr
    0x17fd47a5, 0x86be6705, 0x068a96ba, 0x713d8e9d, 0x4612c236, 0x410c6105, 0x8082c190};
constexpr std::uint32_t kLoop = hpu::kProgramBase, kProducts = kLoop + 0x10, kLoads = kLoop + 0x48,
                        kAtomics = kLoop + 0x60, kStore = kLoop + 0x8c, kShort = kLoop + 0xbc;
constexpr std::uint32_t kBase = 0x10000000;

struct Memory {
  std::array<std::uint32_t, 64> words{};
  HpuCore::Outcome run(std::uint32_t entry, std::uint32_t cycles = 1) {
    words[0] = kBase + 16;
    const HpuCore core(hpu::kProgramBase, kText);
    return core.run(entry, kBase, kBase + 256, 3, {{kBase, 256, reinterpret_cast<std::byte*>(words.data()), cycles}});
  }
};

constexpr std::uint64_t kCopyRate = 1'000'000'000'000'000;  // bit/s: next to nothing
Time copied(std::uint64_t bytes) { return moving_time(bytes, kCopyRate); }

HpuConfig four() {
  HpuConfig hpu;
  hpu.clusters = 2;
  hpu.per_cluster = 2;
  hpu.cycle = Time::ns(1);
  hpu.copy_rate_bit_per_s = kCopyRate;
  hpu.dma_rate_bit_per_s = 8'000'000'000;  // a byte a nanosecond
  hpu.dma_latency = Time::ns(100);
  hpu.program_bytes = 1024;
  hpu.handler_memory_bytes = 1024;
  hpu.scratchpad_bytes = 1024;
  return hpu;
}

HandlerProgram with(std::uint32_t header, std::uint32_t payload, std::uint32_t completion) {
  HandlerProgram program;
  program.text = kText;
  program.header = header;
  program.payload = payload;
  program.completion = completion;
  return program;
}

struct Host final : HandlerHost {
  std::vector<std::byte> buffer = std::vector<std::byte>(64);
  bool read_message(std::uint64_t, std::uint64_t offset, std::byte* to, std::size_t bytes) override {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(offset + i + 1);
    return true;
  }
  bool read_process(std::uint64_t, std::uint64_t, std::byte*, std::size_t) override { return false; }
  bool write_process(std::uint64_t, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
    std::memcpy(buffer.data() + (address - 4096), from, bytes);
    return true;
  }
};

struct Bench {
  Host host;
  HandlerUnits units;
  std::string fault;
  explicit Bench(const HandlerProgram& program, const HpuConfig& hpu = four()) : units(hpu, program, 1, 1024) {
    units.set_host(&host);
    units.set_on_fault([this](const std::string& why) { fault = why; });
  }
  // When the last of so many packets of a message is done with, which come so far apart.
  Time last(std::uint64_t count, std::uint64_t bytes, Time apart) {
    units.begin(1, {.bytes = count * bytes, .host = 4096, .host_bytes = 64});
    Time done;
    for (std::uint64_t i = 0; i < count; ++i)
      done = max(done, units.packet(1, bytes, apart * static_cast<std::int64_t>(i)));
    return done;
  }
};

}  // namespace

TEST_CASE("HPU core: cycles are those of the manual's table") {
  Memory memory;
  CHECK(memory.run(kLoop).cycles == 401);
  CHECK(memory.run(kLoop).instructions == 202);
  CHECK(memory.run(kProducts).cycles == 118);
  CHECK(memory.run(kLoads).cycles == 10);
  CHECK(memory.run(kAtomics).cycles == 17);
  CHECK(memory.run(kShort).cycles == 16);
  CHECK(memory.run(kLoads, 20).cycles == 10 + 5 * 19);  // five accesses: the one that is not aligned counts twice
}

TEST_CASE("HPU core: results are those of the instruction set") {
  Memory memory;
  REQUIRE(memory.run(kProducts).fault.empty());
  CHECK(memory.words[4] == static_cast<std::uint32_t>(-21));
  CHECK(memory.words[5] == 0xffffffff);
  CHECK(memory.words[6] == static_cast<std::uint32_t>(-2));
  CHECK(memory.words[7] == static_cast<std::uint32_t>(-1));
  CHECK(memory.words[8] == 0xffffffff);
  memory.words[4] = 2;
  REQUIRE(memory.run(kAtomics).fault.empty());
  CHECK(memory.words[4] == 5);  // 2 + 5, no less than 5, then 5 stored
  CHECK(memory.words[5] == 2);
  CHECK(memory.words[6] == 0);  // the first conditional store holds, the second does not
  CHECK(memory.words[7] == 1);
  REQUIRE(memory.run(kShort).fault.empty());
  CHECK(memory.words[4] == 16408);
}

TEST_CASE("HPU core: what it cannot execute is a fault") {
  const HpuCore core(hpu::kProgramBase, kText);
  CHECK(core.run(kProducts, 64, 0, 0, {}).fault == "loads 4 B from 0x00000040, where it has no memory");
  CHECK(core.run(hpu::kProgramBase + 4096, 0, 0, 0, {}).fault == "goes to 0x1d001000, where it has no instructions");
  const HpuCore endless(hpu::kProgramBase, {0x0000006f});  // j .
  CHECK(endless.run(hpu::kProgramBase, 0, 0, 0, {}).fault == "does not end within 10000000 instructions");
  const HpuCore illegal(hpu::kProgramBase, {0xffffffff});
  CHECK(illegal.run(hpu::kProgramBase, 0, 0, 0, {}).fault == "has no instruction of RV32IMAC at 0x1d000000");
}

TEST_CASE("HPUs: the rate is the less of the line's and HPUs x bytes / cycles") {
  Bench fast(with(0, kLoop, 0)), slow(with(0, kLoop, 0));
  CHECK(fast.last(400, 1000, Time::ns(50)) ==
        copied(1000) + Time::ns(3 * 50 + 100 * 401));  // four HPUs, of which the last begins with the fourth packet
  CHECK(slow.last(400, 1000, Time::ns(200)) == copied(1000) + Time::ns(399 * 200 + 401));
  CHECK(fast.units.statistics().payload_cycles == 400 * 401);
}

TEST_CASE("HPUs: what a packet waits for is in its time") {
  HpuConfig hpu = four();
  hpu.dispatch = Time::ns(25);
  hpu.copy_rate_bit_per_s = 8'000'000'000;
  hpu.start_cycles = 22;
  hpu.cold_cycles = 49;
  Bench bench(with(0, kLoop, 0), hpu);
  CHECK(bench.last(1, 64, Time()) == Time::ns(25 + 64 + 22 + 49 + 401));
}

TEST_CASE("HPUs: the header handler is first, the completion handler last") {
  Bench bench(with(kLoop, kLoop, kLoop));
  CHECK(bench.last(4, 16, Time()) == Time::ns(3 * 401));
  CHECK(bench.units.statistics().headers == 1);
  CHECK(bench.units.statistics().payloads == 4);
  CHECK(bench.units.statistics().completions == 1);
  CHECK(bench.units.end(1, true, Time::ns(3000)));
  CHECK(bench.units.statistics().most_packet_bytes == 64);
}

TEST_CASE("HPUs: a command ends a packet, and is kept to the receive's buffer") {
  Bench bench(with(0, kStore, 0));
  CHECK(bench.last(1, 64, Time()) == copied(64) + Time::ns(15 + 64 + 100));  // it begins in the 15th cycle
  CHECK(bench.host.buffer[63] == std::byte{64});
  CHECK(bench.units.end(1, true, Time::ns(1000)));
  bench.last(1, 65, Time());
  CHECK(
      bench.fault ==
      "the payload handler of a message from rank 0 to rank 0 has a command on 65 B that are not all in the receive's "
      "buffer of 64 B");
  CHECK(!bench.units.end(1, true, Time::ns(1000)));
}

TEST_CASE("HPUs: a message that has not come as packets is handled at its end") {
  Bench bench(with(0, kStore, 0));
  bench.units.begin(7, {.bytes = 32, .host = 4096, .host_bytes = 64});
  CHECK(bench.units.end(7, true, Time()));
  CHECK(bench.host.buffer[31] == std::byte{32});
}

TEST_CASE("HPUs: messages are matched by ranks, tag and size, and none of a library's own") {
  HandlerProgram program = with(0, kLoop, 0);
  program.tag = 7;
  program.destination = 1;
  program.least_bytes = 100;
  const HandlerUnits units(four(), program, 1, 1024);
  CHECK(units.takes(0, 1, 7, 100));
  CHECK(units.takes(5, 1, (std::uint64_t{3} << 32) + 7, 100));  // a communicator's number is above
  CHECK(!units.takes(0, 1, 7, 99));
  CHECK(!units.takes(0, 2, 7, 100));
  CHECK(!units.takes(0, 1, 8, 100));
  CHECK(!units.takes(0, 1, 0x80000007, 100));
}

TEST_CASE("HPUs: handlers that do not fit are rejected") {
  HpuConfig hpu = four();
  hpu.program_bytes = 64;
  CHECK_THROWS_AS(HandlerUnits(hpu, with(0, kLoop, 0), 1, 1024), ConfigError);
  HandlerProgram large = with(0, kLoop, 0);
  large.memory_bytes = 2048;
  CHECK_THROWS_AS(HandlerUnits(four(), large, 1, 1024), ConfigError);
  CHECK_THROWS_AS(HandlerUnits(four(), with(0, kLoop, 0), 1, 65536), ConfigError);
}
