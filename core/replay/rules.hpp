// SPDX-License-Identifier: Apache-2.0
// Which algorithm an MPI library takes for a collective by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/replay/schedule.hpp"

namespace exanet {

// Contract: `select` names an algorithm that is there (algorithms.hpp) and can carry the call out, for each call of more
// than one rank. It may look only at what all ranks know alike.
struct SelectionRules {
  const char* name;  // as --rules calls it
  const char* library;  // whose they are
  const char* (*select)(std::uint8_t code, const CollectiveCall& call, bool waits);  // `code`: of the blocking call
  // What making a communicator sends: on the one that it is made from (of MPI_Comm_create_group on the new one), and
  // then on the new one.
  void (*agree)(std::uint8_t code, bool reorders, const CollectiveCall& parent, Schedule& out);
  void (*announce)(const CollectiveCall& made, Schedule& out);
  // Whether it begins a collective whose vectors and blocks are empty: then it sends messages without data.
  bool (*begins_empty)(std::uint8_t code, bool waits);
  bool has_windows;  // one-sided calls are replayed as it makes them
};

const std::vector<SelectionRules>& all_selection_rules();
// Throws ConfigError, saying what there is, on a name that is unknown.
const SelectionRules& selection_rules(const std::string& name);

const char* select_as_mpich(std::uint8_t code, const CollectiveCall& call, bool waits);
const char* select_as_open_mpi(std::uint8_t code, const CollectiveCall& call, bool waits);
bool mpich_begins_empty(std::uint8_t code, bool waits);
bool open_mpi_begins_empty(std::uint8_t code, bool waits);
void agree_as_mpich(std::uint8_t code, bool reorders, const CollectiveCall& parent, Schedule& out);
void agree_as_open_mpi(std::uint8_t code, bool reorders, const CollectiveCall& parent, Schedule& out);
void announce_as_mpich(const CollectiveCall& made, Schedule& out);
void announce_as_open_mpi(const CollectiveCall& made, Schedule& out);

}  // namespace exanet
