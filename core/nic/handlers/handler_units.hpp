// SPDX-License-Identifier: Apache-2.0
// The HPUs of all interfaces: run the handlers of messages on their packets, and say when each packet is done with.
//
// Problem: sPIN executes a header handler once for a message, then a payload handler for each packet, and a completion
// handler at the end, on the cores of the receiving interface. Model, after PsPIN (core/nic/hpu.hpp):
// - A packet whose last word has come is copied into a cluster's memory and waits for an HPU there: one of the
//   message's cluster if any is idle, otherwise the HPU that is idle first. It runs to the handler's end.
// - Payload handlers begin when the header handler is done, the completion handler when all payload handlers are. A
//   handler is done when it has returned and its commands to host memory have ended.
// - Instructions are executed one by one (rv32.hpp), on the packet's own bytes, so that cycles depend on the data.
// - Commands of a node go one after the other at `dma_rate`, and take `dma_latency` beside.
// - Each process has scratchpads and handler memory of its own, which last from message to message.
//
// Contract: packets of a message come in the order of its bytes, each byte once. Handlers are executed at the call,
// in the order of calls: what two handlers do to one word is in that order, even where their times overlap.
//
// Limits: packet memory is never short (most_packet_bytes() says what was needed); a cluster's memory and its copies
// carry any number of packets at once; the network does not wait for handlers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/nic/handlers/rv32.hpp"
#include "core/nic/hpu.hpp"
#include "core/topology/topology.hpp"
#include "core/units/time.hpp"

namespace exanet {

struct HandledMessage {
  NodeId node = 0;  // where it arrives
  std::uint32_t process = 0, source = 0, tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t host = 0, host_bytes = 0;  // the buffer of its receive
};

// The bytes of messages and of processes.
class HandlerHost {
 public:
  virtual ~HandlerHost() = default;
  virtual bool read_message(std::uint64_t message, std::uint64_t offset, std::byte* to, std::size_t bytes) = 0;
  // Of the process that receives it.
  virtual bool read_process(std::uint64_t message, std::uint64_t address, std::byte* to, std::size_t bytes) = 0;
  virtual bool write_process(std::uint64_t message, std::uint64_t address, const std::byte* from,
                             std::size_t bytes) = 0;
};

struct HandlerStatistics {
  std::uint64_t messages = 0, packets = 0, bytes = 0;
  std::uint64_t headers = 0, payloads = 0, completions = 0;  // handlers that have run
  std::uint64_t cycles = 0, instructions = 0;  // of all handlers, with what starting them takes
  std::uint64_t payload_cycles = 0;
  std::uint64_t dma_bytes = 0;
  std::uint64_t most_packet_bytes = 0;  // of a node, in packet memory at once
  std::uint64_t first_ps = 0, last_packet_ps = 0;  // first packet's arrival, and when the last one was done with ...
  std::uint64_t last_ps = 0;  // ... and the last message
};

template <typename V>
void visit(HandlerStatistics& s, V&& v) {
  v("messages", s.messages);
  v("packets", s.packets);
  v("bytes", s.bytes);
  v("headers", s.headers);
  v("payloads", s.payloads);
  v("completions", s.completions);
  v("cycles", s.cycles);
  v("instructions", s.instructions);
  v("payload_cycles", s.payload_cycles);
  v("dma_bytes", s.dma_bytes);
  v("most_packet_bytes", s.most_packet_bytes);
  v("first_ps", s.first_ps);
  v("last_packet_ps", s.last_packet_ps);
  v("last_ps", s.last_ps);
}

class HandlerUnits {
 public:
  // Throws ConfigError where the handlers or a packet do not fit into the HPUs' memories.
  HandlerUnits(const HpuConfig& hpu, const HandlerProgram& program, std::size_t nodes, std::uint32_t max_packet_bytes);

  void set_host(HandlerHost* host) { host_ = host; }
  // Called with a sentence on the first handler that cannot go on.
  void set_on_fault(std::function<void(const std::string&)> on_fault) { on_fault_ = std::move(on_fault); }

  bool takes(std::uint32_t source, std::uint32_t destination, std::uint64_t tag, std::uint64_t bytes) const;

  void begin(std::uint64_t message, const HandledMessage& what);
  // The next packet, whose last word comes at `at`. Returns when it is done with; with the last one, the message.
  Time packet(std::uint64_t message, std::uint64_t bytes, Time at);
  // False: a handler could not go on. What has not come as packets runs at `at`, unless the message has failed.
  bool end(std::uint64_t message, bool arrived, Time at);

  const HandlerStatistics& statistics() const { return statistics_; }

 private:
  class Commands;
  struct Hpu {
    Time free;
  };
  struct Cluster {
    std::vector<std::byte> own;  // of its HPUs
    std::uint32_t warm = 0;  // a bit for each kind of handler that has run
  };
  struct Node {
    std::vector<Hpu> hpus;
    std::vector<Cluster> clusters;
    Time dma_free;
    std::priority_queue<std::pair<Time, std::uint64_t>, std::vector<std::pair<Time, std::uint64_t>>, std::greater<>>
        packets;  // that are not done with: until when, and their bytes
    std::uint64_t packet_bytes = 0;
  };
  struct Process {
    std::vector<std::byte> memory;
    std::vector<std::vector<std::byte>> scratchpads;
  };
  struct Active {
    HandledMessage what;
    std::uint64_t message = 0;
    std::uint32_t number = 0;
    std::uint64_t came = 0;
    Time header_done, done;
    bool failed = false;
  };
  enum Kind : std::uint32_t { kHeader, kPayload, kCompletion };

  Time run(Active& active, Kind kind, std::uint32_t entry, std::uint64_t offset, std::uint64_t bytes, Time ready);
  std::uint32_t choose(const Node& node, std::uint32_t preferred, Time ready) const;
  void prepare(Node& node, Active& active, std::uint32_t hpu, std::uint64_t offset, std::uint64_t bytes);
  // `device`: null where it does not count.
  std::vector<HpuRegion> regions(Node& node, Process& process, std::uint32_t cluster, HpuDevice* device) const;
  // nullptr: these bytes are in none of a handler's memories.
  std::byte* own_memory(Node& node, Process& process, std::uint32_t cluster, std::uint32_t address,
                        std::uint64_t bytes) const;
  Process& process(std::uint32_t number);
  void keep(Node& node, std::uint64_t bytes, Time at, Time until);
  void fault(Active& active, Kind kind, const std::string& why);

  const HpuConfig hpu_;
  const HandlerProgram program_;
  const HpuCore core_;
  HandlerHost* host_ = nullptr;
  std::function<void(const std::string&)> on_fault_ = [](const std::string&) {};
  std::vector<Node> nodes_;
  std::map<std::uint32_t, Process> processes_;
  std::unordered_map<std::uint64_t, Active> active_;
  std::uint32_t begun_ = 0;
  HandlerStatistics statistics_;
};

}  // namespace exanet
