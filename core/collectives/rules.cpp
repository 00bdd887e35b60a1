// SPDX-License-Identifier: Apache-2.0
#include "core/collectives/rules.hpp"

#include "core/config/names.hpp"

namespace exanet {

const std::vector<SelectionRules>& all_selection_rules() {
  static const std::vector<SelectionRules> all{
      {"mpich", "MPICH 5.0", select_as_mpich, agree_as_mpich, announce_as_mpich, mpich_begins_empty, true},
      {"open-mpi", "Open MPI 4.1", select_as_open_mpi, agree_as_open_mpi, announce_as_open_mpi, open_mpi_begins_empty,
       false},
  };
  return all;
}

const SelectionRules& selection_rules(const std::string& name) {
  std::string known;
  for (const SelectionRules& rules : all_selection_rules()) {
    if (name == rules.name) return rules;
    known.append(known.empty() ? "" : ", ").append(rules.name);
  }
  reject_name("rules", "are no rules", name, known);
}

}  // namespace exanet
