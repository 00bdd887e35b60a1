// SPDX-License-Identifier: Apache-2.0
// Reads frames from TAP devices, runs the network to where the host's clock is, and writes what has arrived.
//
// Model: one thread. A frame enters the network at the time at which it is read, one leaves it when its event runs. The
// thread sleeps until the next event is due or a frame comes; it polls where that is sooner than a sleep takes.
// Limits: a frame that has waited in the kernel enters late by that.
#include "runtime/bridge/bridge.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/config/error.hpp"
#include "core/routing/make_topology.hpp"
#include "core/units/check.hpp"
#include "runtime/bridge/capture.hpp"
#include "runtime/bridge/paced_clock.hpp"

namespace exanet {

namespace {

constexpr std::int64_t kSleepNs = 60'000;  // less is polled: about what a wake-up takes
constexpr std::int64_t kLongestSleepNs = 20'000'000;  // so soon stop() is heard
constexpr std::size_t kEventsAtOnce = 1024, kFramesAtOnce = 64;  // until the other side is looked at
constexpr std::size_t kLongest = kMostFrame + 1;

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

std::int64_t host_ns() { return clock_ns(CLOCK_MONOTONIC); }

// No rank uses the library: nothing completes, and no memory is asked for.
class NoHost final : public Host {
  void complete(RankId rank, const Completion&, Payload) override {
    EXANET_CHECK(false, "a completion for a rank of a bridge", rank, 0, 0);
  }
  bool read(RankId, std::uint64_t, std::byte*, std::size_t) override { return false; }
  bool write(RankId, std::uint64_t, const std::byte*, std::size_t) override { return false; }
  void record(const MessageRecord&) override {}
};

}  // namespace

class Bridge::State final : private FrameReceiver {
 public:
  State(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface,
        const std::optional<BackgroundConfig>& background, const BridgeConfig& c)
      : config(c),
        topology(make_topology(spec)),
        engine(queue, *topology, network, interface, {0}, host, nic_kind("exanet")),
        ethernet(queue, engine, topology->endpoint_count(), with(c.ethernet, interface.dma_completion), *this),
        on_send(queue.add_handler([](void* self, Time now, std::uint32_t device,
                                     std::uint64_t slot) { static_cast<State*>(self)->hand_over(device, slot, now); },
                                  this)) {
    engine.set_zero_cost(false);
    require(c.files.size() == ethernet.devices(), "files", "each device has one");
    require(c.dilation >= 1, "slow", "a second of the network takes at least one of the host");
    for (const std::string& path : c.captures) captures.push_back(std::make_unique<Capture>(path));
    for (const int file : c.files) polled.push_back({file, POLLIN, 0});
    if (background) {
      traffic.emplace(queue, engine, *topology, spec, network, *background, [] { return true; });
      result.background.emplace();
    }
  }

  void run(const std::atomic<bool>& stopped, std::atomic<double>& behind) {
    const std::int64_t start = host_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    clock.emplace(config.dilation, config.lag_bound.ps() / 1000, start);
    if (traffic) traffic->start();
    std::int64_t flushed = start;
    while (!stopped.load(std::memory_order_relaxed)) {
      take_frames();
      const bool caught_up = advance(clock->at(host_ns()));
      const std::int64_t now = host_ns();
      if (!caught_up) clock->keep(queue.now(), now);
      behind.store(static_cast<double>(clock->waited_ns()) / static_cast<double>(now - start + 1),
                   std::memory_order_relaxed);
      if (now - flushed > 1'000'000'000) {
        flush();
        flushed = now;
      }
      if (caught_up) sleep();
    }
    flush();
    if (traffic) result.background = traffic->record();
    result.finished = queue.now();
    result.wall_ns = host_ns() - start;
    result.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    result.waited_ns = clock->waited_ns();
    result.events = queue.processed();
    result.packets = engine.nic().packets();
  }

  static EthernetConfig with(EthernetConfig ethernet, Time completion) {
    ethernet.completion = completion;
    return ethernet;
  }

  const BridgeConfig config;
  EventQueue queue;
  const std::unique_ptr<Topology> topology;
  NoHost host;
  MessageEngine engine;
  EthernetFabric ethernet;
  std::optional<BackgroundTraffic> traffic;
  BridgeResult result;

 private:
  // Whether all that is due by `until` has happened.
  bool advance(Time until) {
    for (std::size_t i = 0; i < kEventsAtOnce; ++i) {
      if (queue.run_one_before(until)) continue;
      queue.run_until(max(queue.now(), until - Time::ps(1)));
      return true;
    }
    return false;
  }

  void take_frames() {
    for (std::uint32_t device = 0; device < polled.size(); ++device) {
      for (std::size_t i = 0; i < kFramesAtOnce; ++i) {
        const ssize_t length = ::read(polled[device].fd, buffer.data(), buffer.size());
        if (length < 0) {
          if (errno == EAGAIN || errno == EINTR) break;
          if (errno == EIO) break;  // the interface is down
          throw ConfigError("tap", "interface " + std::to_string(device) + " is gone: " + std::strerror(errno));
        }
        const Time now = max(queue.now(), clock->at(host_ns()));
        queue.schedule(now, on_send, device, put(length));
      }
    }
  }

  std::uint64_t put(ssize_t length) {
    std::vector<std::byte> frame(buffer.begin(), buffer.begin() + length);
    if (unused.empty()) {
      waiting.push_back(std::move(frame));
      return waiting.size() - 1;
    }
    const std::uint64_t slot = unused.back();
    unused.pop_back();
    waiting[slot] = std::move(frame);
    return slot;
  }

  void hand_over(std::uint32_t device, std::uint64_t slot, Time now) {
    std::vector<std::byte> frame = std::move(waiting[slot]);
    unused.push_back(slot);
    if (!captures.empty()) captures[device]->add(frame, now);
    ethernet.send(device, std::move(frame), now);
  }

  void received(const Frame& frame, Time now) override {
    const std::int64_t lag_ns = std::max<std::int64_t>(host_ns() - clock->due_ns(now), 0);
    if (!captures.empty()) captures[frame.to]->add(*frame.bytes, now);
    if (::write(polled[frame.to].fd, frame.bytes->data(), frame.bytes->size()) < 0) ++result.refused;
    ++result.delivered;
    result.lag.add(lag_ns * 1000);
    result.lag_sum_ns += lag_ns;
    result.lag_most_ns = std::max(result.lag_most_ns, lag_ns);
    if (result.frames.size() < config.kept_frames)
      result.frames.push_back({frame.from, frame.to, static_cast<std::uint32_t>(frame.bytes->size()), frame.sent,
                               frame.arrived, now, lag_ns});
  }

  void sleep() {
    std::int64_t left = kLongestSleepNs;
    if (const Time next = queue.next_time(); next != Time::never())
      left = std::min(left, clock->due_ns(next) - host_ns());
    if (left < kSleepNs) return;
    // Until shortly before the next event.
    const timespec wait{0, left == kLongestSleepNs ? left : left - kSleepNs};
    ::ppoll(polled.data(), polled.size(), &wait, nullptr);
  }

  void flush() {
    for (const auto& capture : captures) capture->flush();
  }

  std::uint32_t on_send;
  std::optional<PacedClock> clock;
  std::vector<pollfd> polled;
  std::vector<std::unique_ptr<Capture>> captures;
  std::vector<std::vector<std::byte>> waiting;  // frames that have been read, until they are handed over
  std::vector<std::uint64_t> unused;
  std::array<std::byte, kLongest> buffer;
};

Bridge::Bridge(const TopologySpec& spec, const NetworkConfig& network, const NiConfig& interface,
               const std::optional<BackgroundConfig>& background, const BridgeConfig& config)
    : state_(std::make_unique<State>(spec, network, interface, background, config)) {}

Bridge::~Bridge() = default;

bool Bridge::run() {
  state_->run(stopped_, behind_);
  return true;
}

const BridgeResult& Bridge::result() const { return state_->result; }
const EthernetFabric& Bridge::ethernet() const { return state_->ethernet; }

}  // namespace exanet
