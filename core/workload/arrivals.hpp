// SPDX-License-Identifier: Apache-2.0
// Creates the packets of an open loop's sources, each with its time and destination. Nothing of it is stored: a source
// holds the packet at the head of its queue, and draws the next one when that has gone, however long ago it was
// created.
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine/random.hpp"
#include "core/nic/ideal/injection_ports.hpp"
#include "core/units/time.hpp"
#include "core/workload/open_loop.hpp"
#include "core/workload/pattern.hpp"

namespace exanet {

// A node's packets of one class and one queue of its interface. With priorities a node has two sources, with several
// rails one for each, which draw the same packets in the same order and pass over those of the others, so that each has
// a queue of its own and nothing needs to be kept.
struct Source {
  Source(std::uint64_t seed, NodeId from, std::uint8_t its_class, std::uint8_t its_queue)
      : random(seed, from), node(from), own(its_class), queue(its_queue) {}
  bool is_first() const { return own == 0 && queue == 0; }  // of its node's
  Random random;
  Time next;  // creation of the packet at the head of the source's queue
  NodeId node;
  NodeId dst = kNoNode;  // where that goes; none when the source never sends
  std::uint32_t sampled = 0;
  bool in_burst = false;  // the next packet goes where this one goes
  std::uint8_t own;  // its class
  std::uint8_t queue;  // of InjectionPorts
  std::uint8_t priority = 0;  // of the packet at the head
  std::uint32_t turn = 0;  // of rails
  std::uint64_t created = 0;
};

class Arrivals {
 public:
  // `packet_ps` is a packet's time on all links of an endpoint. `ports` outlive the arrivals. Throws ConfigError on a
  // figure of `config` that nothing can be created by.
  Arrivals(const OpenLoopConfig& config, double packet_ps, std::unique_ptr<Pattern> pattern,
           const InjectionPorts& ports);

  std::uint32_t classes() const { return config_.priority_share > 0 ? 2 : 1; }
  // With its first packet; what is created at `end` or later does not matter.
  Source source(NodeId node, std::uint8_t its_class, std::uint8_t its_queue, Time end) const;
  // Goes on to the source's next packet.
  void advance(Source& source, Time end) const;

 private:
  std::int64_t gap_ps(Source& source) const;
  std::uint8_t draw_priority(Source& source) const;
  bool is_own(const Source& source) const {  // the packet at the head
    return source.priority == source.own &&
           (ports_.queues() == 1 || ports_.queue_of(source.node, source.dst) == source.queue);
  }

  OpenLoopConfig config_;
  double packet_ps_;
  std::unique_ptr<Pattern> pattern_;
  const InjectionPorts& ports_;
};

}  // namespace exanet
