// SPDX-License-Identifier: Apache-2.0
#include "core/nic/handlers/handler_units.hpp"

#include <algorithm>
#include <cstring>

#include "core/config/error.hpp"
#include "core/nic/handlers/layout.hpp"
#include "core/units/moving_time.hpp"

namespace exanet {

namespace {

constexpr const char* kHandlerKinds[] = {"header", "payload", "completion"};

std::int64_t cycles_until(Time from, Time to, Time cycle) {
  return to <= from ? 0 : ((to - from).ps() + cycle.ps() - 1) / cycle.ps();
}

}  // namespace

// The commands of one handler that runs.
class HandlerUnits::Commands final : public HpuDevice {
 public:
  Commands(HandlerUnits& units, Node& node, Process& process, const Active& active, std::uint32_t cluster, Time begins)
      : units_(units), node_(node), process_(process), active_(active), cluster_(cluster), begins_(begins) {}

  std::uint32_t load(std::uint32_t address, std::uint64_t& cycle) override {
    switch (address - hpu::kCommandBase) {
      case hpu::kStart: return static_cast<std::uint32_t>(ends_.size());
      case hpu::kTest: return ends_of(named_) <= now(cycle) ? 1 : 0;
      case hpu::kWait:
        cycle += static_cast<std::uint64_t>(cycles_until(now(cycle), ends_of(named_), units_.hpu_.cycle));
        return 1;
      default: return 0;
    }
  }

  void store(std::uint32_t address, std::uint32_t value, std::uint64_t cycle) override {
    switch (address - hpu::kCommandBase) {
      case hpu::kHostLow: host_ = (host_ & ~std::uint64_t{0xffffffff}) | value; break;
      case hpu::kHostHigh: host_ = (host_ & 0xffffffff) | std::uint64_t{value} << 32; break;
      case hpu::kLocal: local_ = value; break;
      case hpu::kBytes: bytes_ = value; break;
      case hpu::kValueLow: value_ = (value_ & ~std::uint64_t{0xffffffff}) | value; break;
      case hpu::kValueHigh: value_ = (value_ & 0xffffffff) | std::uint64_t{value} << 32; break;
      case hpu::kWait:
      case hpu::kTest: named_ = value; break;
      case hpu::kStart: start(value, now(cycle)); break;
      default: break;
    }
  }

  Time all_end() const {
    Time last;
    for (const Time end : ends_) last = max(last, end);
    return last;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  Time now(std::uint64_t cycle) const { return begins_ + units_.hpu_.cycle * static_cast<std::int64_t>(cycle); }
  Time ends_of(std::uint32_t number) const { return number == 0 || number > ends_.size() ? Time() : ends_[number - 1]; }

  void start(std::uint32_t kind, Time at) {
    std::byte value[8];
    std::memcpy(value, &value_, sizeof value);
    const bool is_value = kind == hpu::kValueToHost;
    const std::uint32_t bytes = is_value ? 8 : bytes_;
    std::byte* local = is_value ? value : units_.own_memory(node_, process_, cluster_, local_, bytes);
    const HandledMessage& what = active_.what;
    if (kind > hpu::kValueToHost) return reject_command("begins a command that there is not");
    if (local == nullptr)
      return reject_command("has a command on " + std::to_string(bytes) + " B that are in none of its memories");
    if (host_ < what.host || host_ - what.host > what.host_bytes || bytes > what.host_bytes - (host_ - what.host))
      return reject_command("has a command on " + std::to_string(bytes) +
                            " B that are not all in the receive's buffer of " + std::to_string(what.host_bytes) + " B");
    HandlerHost& host = *units_.host_;
    const bool moved = kind == hpu::kFromHost ? host.read_process(active_.message, host_, local, bytes)
                                              : host.write_process(active_.message, host_, local, bytes);
    if (!moved) return reject_command("has a command on memory that its process has not mapped");
    node_.dma_free = max(node_.dma_free, at) + moving_time(bytes, units_.hpu_.dma_rate_bit_per_s);
    ends_.push_back(node_.dma_free + units_.hpu_.dma_latency);
    units_.statistics_.dma_bytes += bytes;
  }
  void reject_command(const std::string& why) {
    if (wrong_.empty()) wrong_ = why;
    ends_.push_back({});
  }

  HandlerUnits& units_;
  Node& node_;
  Process& process_;
  const Active& active_;
  const std::uint32_t cluster_;
  const Time begins_;
  std::uint64_t host_ = 0, value_ = 0;
  std::uint32_t local_ = 0, bytes_ = 0, named_ = 0;
  std::vector<Time> ends_;  // of its commands, by number less one
  std::string wrong_;
};

HandlerUnits::HandlerUnits(const HpuConfig& hpu, const HandlerProgram& program, std::size_t nodes,
                           std::uint32_t max_packet_bytes)
    : hpu_(hpu), program_(program), core_(hpu::kProgramBase, program.text), nodes_(nodes) {
  if (hpu.clusters == 0 || hpu.clusters > hpu::kMostClusters || hpu.per_cluster == 0 || hpu.per_cluster > 64)
    reject("ni.hpu.clusters", "an interface has 1 to 16 clusters of 1 to 64 HPUs");
  if (max_packet_bytes > hpu::kMostPacket) reject("router.max_payload_bytes", "HPUs take packets of 9 KiB at most");
  if (program.text.size() * 4 > hpu.program_bytes)
    reject("ni.hpu.program_bytes", "the handlers have " + std::to_string(program.text.size() * 4) +
                                       " B of instructions, and HPUs have memory for " +
                                       std::to_string(hpu.program_bytes) + " B");
  if (program.memory_bytes > hpu.handler_memory_bytes)
    reject("ni.hpu.handler_memory_bytes", "the handlers have " + std::to_string(program.memory_bytes) +
                                              " B of variables, and HPUs have memory for " +
                                              std::to_string(hpu.handler_memory_bytes) + " B");
  if (hpu.scratchpad_bytes > hpu::kClusterStep - hpu.per_cluster * hpu::kOwnBytes)
    reject("ni.hpu.scratchpad_bytes", "a cluster's memory has 4 MiB at most, of which each HPU takes 16 KiB");
  for (Node& node : nodes_) {
    node.hpus.resize(hpu.count());
    node.clusters.resize(hpu.clusters);
    for (Cluster& cluster : node.clusters) cluster.own.resize(std::size_t{hpu.per_cluster} * hpu::kOwnBytes);
  }
}

bool HandlerUnits::takes(std::uint32_t source, std::uint32_t destination, std::uint64_t tag,
                         std::uint64_t bytes) const {
  const auto any = [](std::uint32_t wanted, std::uint32_t is) {
    return wanted == HandlerProgram::kAny || wanted == is;
  };
  // A library's tag has the program's in its low half, of which no program sets the highest bit.
  return bytes >= program_.least_bytes && (tag & 0x80000000) == 0 && any(program_.source, source) &&
         any(program_.destination, destination) && any(program_.tag, static_cast<std::uint32_t>(tag));
}

HandlerUnits::Process& HandlerUnits::process(std::uint32_t number) {
  Process& own = processes_[number];
  if (own.scratchpads.empty()) {
    own.memory.resize(hpu_.handler_memory_bytes);
    if (!program_.data.empty())
      std::memcpy(own.memory.data(), program_.data.data(), std::min(own.memory.size(), program_.data.size() * 4));
    own.scratchpads.assign(hpu_.clusters, std::vector<std::byte>(hpu_.scratchpad_bytes));
  }
  return own;
}

void HandlerUnits::begin(std::uint64_t message, const HandledMessage& what) {
  active_[message] = {.what = what, .message = message, .number = begun_++, .header_done = {}, .done = {}};
  ++statistics_.messages;
}

bool HandlerUnits::end(std::uint64_t message, bool arrived, Time at) {
  Active& active = active_.at(message);
  // In a phase without costs nothing has come as packets.
  while (arrived && active.came < active.what.bytes)
    packet(message, std::min<std::uint64_t>(active.what.bytes - active.came, 1024), at);
  const bool well = !active.failed;
  active_.erase(message);
  return well;
}

Time HandlerUnits::packet(std::uint64_t message, std::uint64_t bytes, Time at) {
  Active& active = active_.at(message);
  Node& node = nodes_[active.what.node];
  const std::uint64_t offset = active.came;
  active.came += bytes;
  if (statistics_.packets == 0) statistics_.first_ps = static_cast<std::uint64_t>(at.ps());
  ++statistics_.packets;
  statistics_.bytes += bytes;
  Time done = at;
  const Time there = at + hpu_.dispatch + moving_time(bytes, hpu_.copy_rate_bit_per_s);
  if (offset == 0 && program_.header != 0)
    done = active.header_done = run(active, kHeader, program_.header, offset, bytes, there);
  if (program_.payload != 0)
    done = run(active, kPayload, program_.payload, offset, bytes, max(there, active.header_done));
  active.done = max(active.done, done);
  statistics_.last_packet_ps = std::max(statistics_.last_packet_ps, static_cast<std::uint64_t>(done.ps()));
  keep(node, bytes, at, done);
  if (active.came == active.what.bytes && program_.completion != 0)
    active.done = done = run(active, kCompletion, program_.completion, offset, 0, active.done);
  statistics_.last_ps = std::max(statistics_.last_ps, static_cast<std::uint64_t>(done.ps()));
  return done;
}

void HandlerUnits::keep(Node& node, std::uint64_t bytes, Time at, Time until) {
  while (!node.packets.empty() && node.packets.top().first <= at) {
    node.packet_bytes -= node.packets.top().second;
    node.packets.pop();
  }
  node.packets.emplace(until, bytes);
  node.packet_bytes += bytes;
  statistics_.most_packet_bytes = std::max(statistics_.most_packet_bytes, node.packet_bytes);
}

// One of the message's cluster that is idle; else the one that is idle first, of those the first from there on.
std::uint32_t HandlerUnits::choose(const Node& node, std::uint32_t preferred, Time ready) const {
  const std::uint32_t count = hpu_.count(), first = preferred * hpu_.per_cluster;
  std::uint32_t best = first;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t hpu = (first + i) % count;
    if (i < hpu_.per_cluster && node.hpus[hpu].free <= ready) return hpu;
    if (max(node.hpus[hpu].free, ready) < max(node.hpus[best].free, ready)) best = hpu;
  }
  return best;
}

std::byte* HandlerUnits::own_memory(Node& node, Process& process, std::uint32_t cluster, std::uint32_t address,
                                    std::uint64_t bytes) const {
  for (const HpuRegion& region : regions(node, process, cluster, nullptr)) {
    const std::uint32_t offset = address - region.base;
    if (offset < region.bytes && bytes <= region.bytes - offset) return region.data + offset;
  }
  return nullptr;
}

std::vector<HpuRegion> HandlerUnits::regions(Node& node, Process& process, std::uint32_t cluster,
                                             HpuDevice* device) const {
  const std::uint32_t own = hpu_.per_cluster * hpu::kOwnBytes;
  std::vector<HpuRegion> made;
  const auto base = [](std::uint32_t c) { return hpu::kClusterBase + c * hpu::kClusterStep; };
  made.push_back({base(cluster), own, node.clusters[cluster].own.data(), 1});
  made.push_back({base(cluster) + own, hpu_.scratchpad_bytes, process.scratchpads[cluster].data(), 1});
  if (device != nullptr) made.push_back({hpu::kCommandBase, hpu::kCommandBytes, nullptr, 1, device});
  made.push_back({hpu::kHandlerMemoryBase, hpu_.handler_memory_bytes, process.memory.data(), hpu_.far_cycles});
  for (std::uint32_t c = 0; c < hpu_.clusters; ++c) {
    if (c == cluster) continue;
    made.push_back({base(c) + own, hpu_.scratchpad_bytes, process.scratchpads[c].data(), hpu_.far_cycles});
  }
  return made;
}

// Puts the handler's arguments and its packet into the memory of its HPU.
void HandlerUnits::prepare(Node& node, Active& active, std::uint32_t hpu, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint32_t cluster = hpu / hpu_.per_cluster, inside = hpu % hpu_.per_cluster;
  const std::uint32_t base = hpu::kClusterBase + cluster * hpu::kClusterStep, own = base + inside * hpu::kOwnBytes;
  const HandledMessage& what = active.what;
  hpu::Arguments arguments{.task = own + hpu::kTaskAt,
                           .hpu = hpu,
                           .cluster = cluster,
                           .hpu_of_cluster = inside,
                           .packet = own + hpu::kPacketAt,
                           .packet_bytes = static_cast<std::uint32_t>(bytes),
                           .packet_offset = static_cast<std::uint32_t>(offset),
                           .message = active.number,
                           .message_bytes = static_cast<std::uint32_t>(what.bytes),
                           .source = what.source,
                           .tag = what.tag,
                           .host_low = static_cast<std::uint32_t>(what.host),
                           .host_high = static_cast<std::uint32_t>(what.host >> 32),
                           .host_bytes = static_cast<std::uint32_t>(what.host_bytes),
                           .handler_memory = hpu::kHandlerMemoryBase,
                           .handler_memory_bytes = hpu_.handler_memory_bytes,
                           .scratchpad_bytes = hpu_.scratchpad_bytes,
                           .clusters = hpu_.clusters,
                           .scratchpads = {}};
  for (std::uint32_t c = 0; c < hpu_.clusters; ++c)
    arguments.scratchpads[c] = hpu::kClusterBase + c * hpu::kClusterStep + hpu_.per_cluster * hpu::kOwnBytes;
  std::byte* memory = node.clusters[cluster].own.data() + std::size_t{inside} * hpu::kOwnBytes;
  std::memcpy(memory, &arguments, sizeof arguments);
  if (bytes > 0 && !host_->read_message(active.message, offset, memory + hpu::kPacketAt, bytes)) active.failed = true;
}

Time HandlerUnits::run(Active& active, Kind kind, std::uint32_t entry, std::uint64_t offset, std::uint64_t bytes,
                       Time ready) {
  if (active.failed) return ready;
  Node& node = nodes_[active.what.node];
  const std::uint32_t hpu = choose(node, active.number % hpu_.clusters, ready), cluster = hpu / hpu_.per_cluster;
  Cluster& own = node.clusters[cluster];
  std::uint64_t cycles = hpu_.start_cycles;
  if ((own.warm >> kind & 1) == 0) cycles += hpu_.cold_cycles;
  own.warm |= 1u << kind;
  const Time taken = max(node.hpus[hpu].free, ready);
  const Time begins = taken + hpu_.cycle * static_cast<std::int64_t>(cycles);
  prepare(node, active, hpu, offset, bytes);
  if (active.failed) return ready;
  Process& owner = process(active.what.process);
  Commands commands(*this, node, owner, active, cluster, begins);
  const std::uint32_t stack =
      hpu::kClusterBase + cluster * hpu::kClusterStep + (hpu % hpu_.per_cluster + 1) * hpu::kOwnBytes;
  const std::uint32_t argument = stack - hpu::kOwnBytes;
  HpuCore::Outcome outcome = core_.run(entry, argument, stack, hpu, regions(node, owner, cluster, &commands));
  if (outcome.fault.empty()) outcome.fault = commands.wrong();
  if (!outcome.fault.empty()) fault(active, kind, outcome.fault);
  cycles += outcome.cycles;
  const Time end = taken + hpu_.cycle * static_cast<std::int64_t>(cycles);
  node.hpus[hpu].free = end;
  ++(kind == kHeader ? statistics_.headers : kind == kPayload ? statistics_.payloads : statistics_.completions);
  statistics_.cycles += cycles;
  if (kind == kPayload) statistics_.payload_cycles += cycles;
  statistics_.instructions += outcome.instructions;
  return max(end, commands.all_end());
}

void HandlerUnits::fault(Active& active, Kind kind, const std::string& why) {
  active.failed = true;
  on_fault_("the " + std::string(kHandlerKinds[kind]) + " handler of a message from rank " +
            std::to_string(active.what.source) + " to rank " + std::to_string(active.what.process) + " " + why);
}

}  // namespace exanet
