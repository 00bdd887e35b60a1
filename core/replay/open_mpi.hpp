// SPDX-License-Identifier: Apache-2.0
// Algorithms of Open MPI that MPICH has not, or has in another form.
//
// Source: what coll/base, coll/tuned and coll/libnbc of Open MPI 4.1.4 do, read from their sources. Its fixed rules name
// no size of segments, so a vector goes whole. Limits: where Open MPI posts a receive one step ahead, it is posted
// with its own step here (the ring), or with those of all children (reductions along trees).
#pragma once

#include "core/replay/schedule.hpp"

namespace exanet {

void barrier_linear(const CollectiveCall& c, Schedule& out);
void barrier_doubling(const CollectiveCall& c, Schedule& out);
void barrier_tree(const CollectiveCall& c, Schedule& out);

void bcast_linear(const CollectiveCall& c, Schedule& out);
void bcast_chain(const CollectiveCall& c, Schedule& out);
void bcast_open_mpi_scatter_doubling(const CollectiveCall& c, Schedule& out);  // an element for each rank
void bcast_knomial(const CollectiveCall& c, Schedule& out);
void bcast_open_mpi_binary(const CollectiveCall& c, Schedule& out);
void bcast_open_mpi_binomial(const CollectiveCall& c, Schedule& out);
void bcast_split_binary(const CollectiveCall& c, Schedule& out);
void bcast_libnbc_binomial(const CollectiveCall& c, Schedule& out);

void reduce_linear(const CollectiveCall& c, Schedule& out);
void reduce_chain(const CollectiveCall& c, Schedule& out);
void reduce_open_mpi_binomial(const CollectiveCall& c, Schedule& out);
void reduce_open_mpi_binary(const CollectiveCall& c, Schedule& out);
void reduce_open_mpi_rabenseifner(const CollectiveCall& c, Schedule& out);
void reduce_libnbc_binomial(const CollectiveCall& c, Schedule& out);
void reduce_libnbc_chain(const CollectiveCall& c, Schedule& out);
void reduce_in_order_binary(const CollectiveCall& c, Schedule& out);

void allreduce_linear(const CollectiveCall& c, Schedule& out);
void allreduce_reduce_bcast(const CollectiveCall& c, Schedule& out);
void allreduce_open_mpi_tree(const CollectiveCall& c, Schedule& out);
void allreduce_open_mpi_rabenseifner(const CollectiveCall& c, Schedule& out);
void reduce_scatter_ring(const CollectiveCall& c, Schedule& out);
void reduce_scatter_by_root(const CollectiveCall& c, Schedule& out);
void reduce_scatterv_by_root(const CollectiveCall& c, Schedule& out);
void reduce_scatter_libnbc(const CollectiveCall& c, Schedule& out);
void scan_linear(const CollectiveCall& c, Schedule& out);

void gather_from_each(const CollectiveCall& c, Schedule& out);
void gather_at_once(const CollectiveCall& c, Schedule& out);
void gather_on_demand(const CollectiveCall& c, Schedule& out);
void scatter_to_each(const CollectiveCall& c, Schedule& out);
void scatter_at_once(const CollectiveCall& c, Schedule& out);

void allgather_linear(const CollectiveCall& c, Schedule& out);
void allgather_neighbours(const CollectiveCall& c, Schedule& out);
void allgather_whole_blocks(const CollectiveCall& c, Schedule& out);
void allgather_by_root(const CollectiveCall& c, Schedule& out);  // allgatherv
void alltoall_linear(const CollectiveCall& c, Schedule& out);
void alltoall_libnbc_linear(const CollectiveCall& c, Schedule& out);
void alltoall_rotation(const CollectiveCall& c, Schedule& out);
void alltoall_open_mpi_in_place(const CollectiveCall& c, Schedule& out);

}  // namespace exanet
