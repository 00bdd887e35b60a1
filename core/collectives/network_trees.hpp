// SPDX-License-Identifier: Apache-2.0
// Trees of a broadcast that know the network: each unit of it (a node, a switch, a group of switches) is entered once.
//
// Problem: a tree by numbers of ranks sends the same data over a link between two groups many times. Model: units are
// nested: ranks of a node, nodes of a switch, switches that reach each other without links of the last kind (a
// dragonfly's groups), and all. Between the units of a level the data goes along a binary tree, one message a unit,
// from the rank to the nearest one, by hops. Local link first (LLF): a unit is covered before anything leaves it, and
// what leaves it is sent by those of its ranks that have the least to send. Global link first (GLF): the rank that a
// unit is entered by sends on to other units of the highest level first, then to those of the next.
//
// Source: the names and the order of links are RED-SEA's (D1.4, section 12.2); its trees are not published, so these
// are ours.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/collectives/collective.hpp"
#include "core/protocol/context.hpp"
#include "core/topology/topology.hpp"

namespace exanet {

enum class LinkOrder : std::uint8_t { local_first, global_first };

struct NetworkTree {
  std::uint32_t root = 0;
  LinkOrder order = LinkOrder::local_first;
  std::vector<std::uint32_t> parent;  // by rank of the communicator; of the root itself
  std::vector<std::vector<std::uint32_t>> children;  // in the order in which they are sent to
};

// A broadcast whose packets the network copies: it reaches one rank of each node, the leaders, and these send it on to
// the others of their node.
struct BroadcastGroup {
  std::uint32_t number = 0;  // of the group of all leaders but the root
  std::vector<std::uint32_t> leaders;  // by rank of the communicator, the root first
  std::vector<std::uint32_t> leader_of;  // by rank: its place in `leaders`
};

// How a program's ranks send to several at once.
struct Multicasts {
  std::uint64_t eager_max_bytes;  // what is longer takes that the others are ready
  // The number of the group of these ranks of the program, for messages from `root`.
  std::function<std::uint32_t(std::uint32_t root, const std::vector<std::uint32_t>& members)> add_group;
};

// Why a machine may have none.
inline constexpr const char* kNoMulticasts =
    "bcast by \"hardware\" takes routers that copy packets: at packet level, ExaNet routers of at most 16 ports, "
    "those to the interface counted, in a dragonfly, fat tree, torus, mesh or qfdb-torus with its own routing, "
    "one rail and nothing failed, and interfaces without 'messages: gateware'; choose another algorithm or machine";

// Those of a program whose rank 0 is `first` to the message library. Contract: all that is given outlives it, and the
// topology multicasts.
Multicasts make_multicasts(Topology& topology, const std::vector<NodeId>& placement, RankId first,
                           const NiConfig& interface, std::function<std::uint32_t(RankGroup)> add_group);

// How interfaces reduce for a program's ranks.
struct InterfaceReductions {
  std::uint64_t longest_bytes;  // of a vector
  // Opens a tree for ranks of the program, if there is space for one.
  std::function<std::optional<std::uint32_t>(const std::vector<std::uint32_t>& members)> open;
};

// The units of the network in which a program's ranks are.
class RankPlaces {
 public:
  // `multicasts`: where the network copies packets; `reductions`: where interfaces reduce.
  RankPlaces(const Topology& topology, const std::vector<NodeId>& placement, std::optional<Multicasts> multicasts = {},
             std::optional<InterfaceReductions> reductions = {});

  const std::optional<Multicasts>& multicasts() const { return multicasts_; }
  // A reference that holds. Contract: multicasts().
  const BroadcastGroup& broadcast_group(const CollectiveCall& call);

  // The interfaces' tree of a communicator for vectors of so many bytes, the same for all its ranks; none where they
  // have not one.
  std::optional<std::uint32_t> reduction_tree(const CollectiveCall& call, std::uint64_t bytes);
  // A rank's call that was to go by units goes by messages: why, and how often so far.
  void add_by_messages(const CollectiveCall& call, const char* collective, std::uint64_t bytes, bool unit_has_it);
  const std::map<std::string, std::uint64_t>& by_messages() const { return by_messages_; }

  // The tree of a broadcast. The last one of each communicator is kept: a reference holds until the next call.
  const NetworkTree& tree(LinkOrder order, const CollectiveCall& call);

 private:
  static constexpr int kLevels = 4;  // ranks of a node, of a switch, of a group of switches, and all
  using Ranks = std::vector<std::uint32_t>;

  std::uint32_t unit(int level, std::uint32_t rank) const;
  std::vector<Ranks> units(const Ranks& ranks, int level, std::uint32_t head) const;
  void cover(const Ranks& ranks, int level, std::uint32_t head);
  void link(std::uint32_t from, std::uint32_t to);
  std::uint32_t nearest(const Ranks& among, std::uint32_t to) const;
  std::uint32_t least_loaded(const Ranks& among, std::uint32_t to) const;
  std::uint32_t hops(std::uint32_t from, std::uint32_t to) const;
  NodeId node(std::uint32_t rank) const;

  const Topology& topology_;
  const std::vector<NodeId>& placement_;  // by rank of the program
  std::vector<std::uint32_t> switch_of_, group_of_;  // by endpoint
  std::optional<Multicasts> multicasts_;
  std::optional<InterfaceReductions> reductions_;
  std::map<const void*, std::optional<std::uint32_t>> trees_of_units_;  // by a communicator's members
  std::map<std::string, std::uint64_t> by_messages_;  // calls of ranks, by the reason
  std::map<std::pair<const void*, std::uint32_t>, BroadcastGroup> groups_;  // by a communicator's members, and root
  std::map<const void*, NetworkTree> trees_;  // by a communicator's members
  NetworkTree* made_ = nullptr;  // the one that is being made
  const std::vector<std::uint64_t>* members_ = nullptr;  // of its communicator
};

}  // namespace exanet
