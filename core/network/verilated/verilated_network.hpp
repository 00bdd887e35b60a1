// SPDX-License-Identifier: Apache-2.0
// A network whose packets cross Verilated routers and links: the other side of core/network/network.hpp.
//
// The gateware lives in a shared library (core/spec/node_library.h) that knows cycles alone; here cycles become virtual
// time. Cycle k lasts from k to k + 1 clock periods, from virtual time 0 on. A packet that an interface hands over at a
// time t is on its port's wire, header first, from the first edge that is not before t; all that happens at an edge has
// happened before the edge is simulated. While nothing is under way no cycle is simulated: a network at rest stays as
// it is.
//
// Limits: meshes, tori and tori of QFDBs of up to three dimensions, links of one width and a whole number of cycles
// long. For how long a packet stood at a router cannot be seen from outside, so LinkStats::waited stays 0; nor which
// packet was discarded, so in_flight() counts it on.
#pragma once

#include <string>

#include "core/network/network.hpp"

namespace exanet {

// `library`: the file, built for this machine's router (exanet/gateware/fabric.py). Throws std::invalid_argument when
// it cannot be loaded or does not fit. As many `threads` step its nodes; what happens when does not depend on it.
MakeNetwork make_node_network(std::string library, TopologySpec spec, unsigned threads = 1);

}  // namespace exanet
