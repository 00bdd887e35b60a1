// SPDX-License-Identifier: Apache-2.0
// Kinds of links beyond those that a topology distinguishes by itself: `host`, between an endpoint and its switch;
// `level-N`, up to a switch of level N, so many links from the nearest endpoint; or whatever a graph's file calls its
// edges. Each has a rate, latency and framing of its own in NetworkConfig::links, where `host` comes first (a load of 1
// fills a link of each sender), then the topology's own kinds, then the others in their order. Routes do not depend on
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/topology/topology.hpp"

namespace exanet {

// By node, the classes of its ports.
using LinkClasses = std::vector<std::vector<std::uint8_t>>;

// Of a topology of which nothing has failed. Throws ConfigError on a kind of which there is no link.
LinkClasses link_classes(const Topology& topology, const TopologySpec& spec);

// `inner` with these classes in place of its own.
std::unique_ptr<Topology> with_link_classes(std::unique_ptr<Topology> inner, LinkClasses classes);

// The same of all planes of a topology with rails, whose planes have these.
LinkClasses on_all_rails(LinkClasses classes, std::uint32_t endpoints, std::uint32_t rails);

}  // namespace exanet
