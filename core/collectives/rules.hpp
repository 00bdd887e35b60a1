// SPDX-License-Identifier: Apache-2.0
// Which algorithm an MPI library takes for a collective by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/collectives/schedule.hpp"

namespace exanet {

// What those agree on who make a communicator.
enum class Creation : std::uint8_t {
  alike,  // of the same members as the one that it is made from, or of some of them that all know
  by_colour,  // each says where it belongs: splits, and topologies that reorder
  by_type,  // MPI_Comm_split_type
  by_group,  // MPI_Comm_create_group: among its members alone
};

// Contract: `select` names an algorithm that is there (registry.hpp) and can carry the call out, for each call of more
// than one rank. It may look only at what all ranks know alike.
struct SelectionRules {
  const char* name;  // as --rules calls it
  const char* library;  // whose they are
  const char* (*select)(Collective collective, const CollectiveCall& call, bool waits);
  // What making a communicator sends: on the one that it is made from (of MPI_Comm_create_group on the new one), and
  // then on the new one.
  void (*agree)(Creation creation, const CollectiveCall& parent, Schedule& out);
  void (*announce)(const CollectiveCall& made, Schedule& out);
  // Whether it begins a collective whose vectors and blocks are empty: then it sends messages without data.
  bool (*begins_empty)(Collective collective, bool waits);
  bool has_windows;  // one-sided calls are replayed as it makes them
};

const std::vector<SelectionRules>& all_selection_rules();
// Throws ConfigError, saying what there is, on a name that is unknown.
const SelectionRules& selection_rules(const std::string& name);

const char* select_as_mpich(Collective collective, const CollectiveCall& call, bool waits);
const char* select_as_open_mpi(Collective collective, const CollectiveCall& call, bool waits);
bool mpich_begins_empty(Collective collective, bool waits);
bool open_mpi_begins_empty(Collective collective, bool waits);
void agree_as_mpich(Creation creation, const CollectiveCall& parent, Schedule& out);
void agree_as_open_mpi(Creation creation, const CollectiveCall& parent, Schedule& out);
void announce_as_mpich(const CollectiveCall& made, Schedule& out);
void announce_as_open_mpi(const CollectiveCall& made, Schedule& out);

}  // namespace exanet
