/* SPDX-License-Identifier: Apache-2.0
 * Sources: the headers of MPICH 5.0 and of Open MPI 4.1 and 5.0. */
#define _GNU_SOURCE
#include "runtime/record/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct exanet_mpi_library exanet_mpi;

static const struct exanet_mpi_library mpich = {.kind = EXANET_TRACE_MPICH,
                                                .handle_bytes = 4,
                                                .any_source = -2,
                                                .process_null = -1,
                                                .any_tag = -1,
                                                .in_place = -1,
                                                .world = 0x44000000,
                                                .self = 0x44000001,
                                                .no_communicator = 0x04000000,
                                                .byte = 0x4c00010d,
                                                .no_type = 0x0c000000,
                                                .errors_return = 0x54000001,
                                                .no_op = 0x5800000e,
                                                .status_ignore = 1,
                                                .status_source = 8,
                                                .status_tag = 12,
                                                .graph = 1,
                                                .cartesian = 2,
                                                .lock_exclusive = 234,
                                                .mode_nocheck = 1024};
static const struct exanet_mpi_library open_mpi = {.kind = EXANET_TRACE_OPEN_MPI,
                                                   .handle_bytes = 8,
                                                   .any_source = -1,
                                                   .process_null = -2,
                                                   .any_tag = -1,
                                                   .in_place = 1,
                                                   .status_source = 0,
                                                   .status_tag = 4,
                                                   .graph = 2,
                                                   .cartesian = 1,
                                                   .lock_exclusive = 1,
                                                   .mode_nocheck = 1};

static bool is_standard_abi(const void *function) {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == NULL) return false;
  return strstr(info.dli_fname, "libmpi_abi") != NULL;
}

void *exanet_mpi_object(const char *name, void *(*find)(const char *name)) {
  void *seen = dlsym(RTLD_DEFAULT, name);
  return seen != NULL ? seen : find(name);
}

bool exanet_mpi_functions(void *(*find)(const char *name), const struct exanet_wanted *wanted) {
  bool all = true;
  for (; wanted->name != NULL; wanted++) {
    void *function = find(wanted->name);
    memcpy(wanted->to, &function, sizeof function);
    all = all && (function != NULL || strcmp(wanted->name + strlen(wanted->name) - 2, "_c") == 0);
  }
  return all;
}

const char *exanet_mpi_find_out(void *(*find)(const char *name)) {
  void *world = exanet_mpi_object("ompi_mpi_comm_world", find);
  exanet_mpi = world != NULL ? open_mpi : mpich;
  if (world != NULL) {
    exanet_mpi.world = (uint64_t)(uintptr_t)world;
    exanet_mpi.self = (uint64_t)(uintptr_t)exanet_mpi_object("ompi_mpi_comm_self", find);
    exanet_mpi.no_communicator = (uint64_t)(uintptr_t)exanet_mpi_object("ompi_mpi_comm_null", find);
    exanet_mpi.byte = (uint64_t)(uintptr_t)exanet_mpi_object("ompi_mpi_byte", find);
    exanet_mpi.no_type = (uint64_t)(uintptr_t)exanet_mpi_object("ompi_mpi_datatype_null", find);
    exanet_mpi.no_op = (uint64_t)(uintptr_t)exanet_mpi_object("ompi_mpi_op_no_op", find);
    exanet_mpi.errors_return = (uint64_t)(uintptr_t)exanet_mpi_object("ompi_mpi_errors_return", find);
  }
  const struct exanet_wanted wanted[] = {
      {"PMPI_Bcast", &exanet_mpi.bcast},
      {"PMPI_Type_size", &exanet_mpi.type_size},
      {"PMPI_Op_commutative", &exanet_mpi.op_commutative},
      {"PMPI_Comm_size", &exanet_mpi.comm_size},
      {"PMPI_Comm_rank", &exanet_mpi.comm_rank},
      {"PMPI_Comm_remote_size", &exanet_mpi.comm_remote_size},
      {"PMPI_Comm_test_inter", &exanet_mpi.comm_test_inter},
      {"PMPI_Comm_group", &exanet_mpi.comm_group},
      {"PMPI_Comm_remote_group", &exanet_mpi.comm_remote_group},
      {"PMPI_Group_translate_ranks", &exanet_mpi.group_translate_ranks},
      {"PMPI_Group_size", &exanet_mpi.group_size},
      {"PMPI_Type_get_extent", &exanet_mpi.type_extent},
      {"PMPI_Type_get_true_extent", &exanet_mpi.type_true_extent},
      {"PMPI_Topo_test", &exanet_mpi.topo_test},
      {"PMPI_Cartdim_get", &exanet_mpi.cartdim_get},
      {"PMPI_Cart_shift", &exanet_mpi.cart_shift},
      {"PMPI_Graph_neighbors_count", &exanet_mpi.graph_neighbors_count},
      {"PMPI_Graph_neighbors", &exanet_mpi.graph_neighbors},
      {"PMPI_Dist_graph_neighbors_count", &exanet_mpi.dist_graph_neighbors_count},
      {"PMPI_Dist_graph_neighbors", &exanet_mpi.dist_graph_neighbors},
      {"PMPI_Group_free", &exanet_mpi.group_free},
      {0},
  };
  if (!exanet_mpi_functions(find, wanted)) return "its MPI library lacks functions that the recorder asks";
  return is_standard_abi((void *)exanet_mpi.type_size) ? "its MPI library has the standard's binary interface "
                                                         "(libmpi_abi); use one linked to MPICH's or Open MPI's own"
                                                       : NULL;
}
