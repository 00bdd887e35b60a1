// SPDX-License-Identifier: Apache-2.0
// Do messages that handlers take go without the receiver's processor, each step in its time, and do they complete as
// others where their receive is late, too short, or none?
#include <doctest/doctest.h>

#include <cerrno>

#include "core/nic/handlers/handler_units.hpp"
#include "core/nic/handlers/layout.hpp"
#include "core/protocol/engine_harness.hpp"

using namespace exanet;
using testing::A;
using testing::B;
using testing::kLine;
using testing::Ranks;

namespace {

// A payload handler that copies its packet to the beginning of the receive's buffer (core/nic/handlers): the command
// begins in its 15th cycle.
const std::vector<std::uint32_t> kStore = {0x00052583, 0x1b0002b7, 0x01c5a303, 0x0062a023, 0x0205a303, 0x0062a223,
                                           0x0005a303, 0x0062a423, 0x0045a303, 0x0062a623, 0x0002a823, 0x00008067};
const Time kDispatch = Time::ns(25), kLatency = Time::ns(100);

NiConfig with_handlers() {
  NiConfig ni = testing::odd_costs();
  HpuConfig hpu;
  hpu.cycle = Time::ns(1);
  hpu.dispatch = kDispatch;
  hpu.copy_rate_bit_per_s = hpu.dma_rate_bit_per_s = 8'000'000'000;  // a byte a nanosecond
  hpu.dma_latency = kLatency;
  hpu.program_bytes = hpu.handler_memory_bytes = hpu.scratchpad_bytes = 1024;
  HandlerProgram program;
  program.text = kStore;
  program.payload = hpu::kProgramBase;
  program.tag = 5;
  ni.handlers = std::make_shared<HandlerUnits>(hpu, program, 8, 256);
  return ni;
}

struct Handled : Ranks {
  Handled() : Ranks(kLine, {0, 2}, testing::steady_fabric(), with_handlers()) {}
};

}  // namespace

TEST_CASE("a message that handlers take: envelope, read request, data, handler, acknowledgement, each in its time") {
  for (const std::uint64_t len : {8u, 32u, 200u}) {
    Handled ranks;
    const NiConfig& ni = ranks.config;
    ranks.fill(0, A, len, 3);
    ranks.receive(1, 0, B, 4096, 5, 77);
    ranks.send(0, 1, A, len, 5, 88);
    ranks.run();
    const Time request = ni.packetizer + ranks.control(0, 2, 32);
    const Time read = request + ni.packetizer + ni.dma_start + ranks.network(2, 0, 0) + ni.memory_write;
    const Time own = len <= ni.eager_max_bytes ? Time() : ni.translation + ni.memory_read;  // it is in the descriptor
    const Time there = read + ni.dma_start + own + ranks.network(0, 2, static_cast<std::uint16_t>(len));
    const Time bytes = Time::ns(static_cast<std::int64_t>(len));
    const Time handled = there + kDispatch + bytes + Time::ns(15) + bytes + kLatency;
    const auto done = ranks.only<ReceiveCompletion>(1, 77);
    CHECK(done.time == handled + ni.dma_completion);
    CHECK((done.status == 0 && done.length == len && done.tag == 5));
    CHECK(ranks.same(0, A, 1, B, len));
    CHECK(ranks.engine.operations() == 0);
    if (len > ni.eager_max_bytes) CHECK(ranks.only<SendCompletion>(0, 88).time > done.time);
  }
}

TEST_CASE("a message that handlers take waits for its receive") {
  Handled ranks;
  ranks.fill(0, A, 200, 3);
  ranks.send(0, 1, A, 200, 5, 88);
  ranks.run();
  CHECK(ranks.done[1].empty());
  ranks.receive(1, 0, B, 4096, 5, 77);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(1, 77).status == 0);
  CHECK(ranks.same(0, A, 1, B, 200));
  CHECK(ranks.only<SendCompletion>(0, 88).status == 0);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("a receive that is too short gets what fits, and ends with that") {
  Handled ranks;
  ranks.fill(0, A, 200, 3);
  ranks.receive(1, 0, B, 64, 5, 77);
  ranks.send(0, 1, A, 200, 5, 88);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(1, 77).status == -EMSGSIZE);
  CHECK(ranks.same(0, A, 1, B, 64));
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("a handled message to an endpoint that is closed fails at its sender") {
  Handled ranks;
  ranks.close(1, 0, Time());
  ranks.run();
  ranks.fill(0, A, 200, 3);
  ranks.send(0, 1, A, 200, 5, 88);
  ranks.run();
  CHECK(ranks.only<SendCompletion>(0, 88).status == -ECONNREFUSED);
  CHECK(ranks.engine.operations() == 0);
}

TEST_CASE("messages with other tags pass handlers by") {
  Handled ranks;
  ranks.fill(0, A, 200, 3);
  ranks.receive(1, 0, B, 4096, 6, 77);
  ranks.send(0, 1, A, 200, 6, 88);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(1, 77).status == 0);
  CHECK(ranks.config.handlers->statistics().messages == 0);
}

TEST_CASE("without costs a message is handled all the same") {
  Handled ranks;
  ranks.fill(0, A, 200, 3);
  ranks.receive(1, 0, B, 4096, 5, 77);
  ranks.send(0, 1, A, 200, 5, 88);
  while (ranks.config.handlers->statistics().messages == 0) ranks.queue.run_one();
  ranks.engine.set_zero_cost(true);
  ranks.run();
  CHECK(ranks.only<ReceiveCompletion>(1, 77).status == 0);
  CHECK(ranks.same(0, A, 1, B, 200));
  CHECK(ranks.config.handlers->statistics().payloads == 1);
}
