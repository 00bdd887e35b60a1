// SPDX-License-Identifier: Apache-2.0
// State of an open loop between its events: sources, parts that run on a thread each, and the measured window. For
// open_loop.cpp, which runs it, and open_loop_summary.cpp, which makes statistics of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/windows.hpp"
#include "core/network/fault_driver.hpp"
#include "core/network/model.hpp"
#include "core/nic/ideal/injection_ports.hpp"
#include "core/workload/arrivals.hpp"
#include "core/workload/link_use.hpp"
#include "core/workload/open_loop.hpp"
#include "core/workload/overtaking.hpp"
#include "core/workload/tally.hpp"

namespace exanet {

struct OpenLoop::State {
  struct Delivery {
    Packet packet;
    Time injected, tail;
  };

  // The nodes that one thread runs.
  struct alignas(64) Part {
    State* all = nullptr;
    EventQueue queue;
    std::uint32_t arrival = 0;
    Tally tally;
    Overtaking overtaking;
    std::vector<Delivery> early;  // what the network has reported before this step's end, and is delivered after it

    void offer(std::uint32_t source_index, Time now);
    void advance(Source& source);
    void delivered(const Packet& packet, Time injected_at, Time tail);
    void deliver_early();
    void lost(const Packet& packet, Time now);
    void count_in(std::vector<std::uint64_t>& intervals, Time at) const;
  };

  State(const TopologySpec& spec, const NetworkConfig& fabric_config, const OpenLoopConfig& c);

  std::vector<Partition> fabric_parts();
  std::vector<EventQueue*> queues();
  NetworkConfig with_priority(NetworkConfig fabric_config) const;
  static void on_ready(void* self, NodeId node, std::uint8_t intra_port, std::uint8_t priority, Time now);
  static void on_delivered(void* self, const Packet& packet, Time injected, Time tail);
  static void on_lost(void* self, const Packet& packet, Status why, Time now);

  // Between steps everything stands as at that time: what has been delivered until then has been counted, and nothing
  // else.
  void run_until(Time to);
  bool in_window(Time t) const { return t >= begin && t < end; }
  Tally total() const;
  // Whether none of the packets that were created and taken by the network in the window is in flight any more.
  bool all_arrived() const;
  // Looks at the start-up after each of its steps. Once it is over, the window begins there and then.
  bool settled();
  NodeId first_watched() const { return topology->switched() ? topology->endpoint_count() : 0; }
  void watch();
  // Counts packets that sources have created but the network has not taken, up to the window's end.
  void count_left_behind();
  OpenLoopResult summarize();  // once, at the end
  void summarize_faults(const Tally& t, OpenLoopResult& r) const;
  double to_one_packet_ps() const;
  void judge_saturation(const Tally& t, double window_ps, OpenLoopResult& r) const;

  OpenLoopConfig config;
  std::unique_ptr<Topology> topology;
  double packet_ps;  // on all links of an endpoint together
  double full_load = 1;  // from which on a sender has more than its links, or its port into its router, carry
  InjectionPorts ports;
  Arrivals arrivals;
  std::vector<std::uint8_t> part_of;
  std::vector<Part> parts;
  std::uint32_t classes;  // of sources at each node and queue
  std::unique_ptr<NetworkModel> model;
  NetworkModel& fabric;
  std::optional<FaultDriver> faults;
  Time interval;  // with faults: of OpenLoopResult
  Windows windows;
  Time begin, end, stop_at, step_end;
  std::vector<Source> sources;  // by node, queue and class
  std::uint32_t senders = 0, samples_each = 0, sample_stride = 1;
  std::vector<LinkCount> before, after;  // of the window
  std::vector<double> start_up;  // mean latency of what was delivered in each step before the window
  std::uint32_t samples = 0;
  std::vector<std::uint32_t> queued;
  std::vector<float> link_use;
  std::optional<LinkMeter> meter;  // where there are not too many links
};

}  // namespace exanet
