# SPDX-License-Identifier: Apache-2.0
"""The calls of a DUMPI trace, and what each record of them holds.

Source: the description of the trace file in sst-dumpi's documentation (T.0 to T.8), and the order in which its library
lists calls. A call's number is its place in NAMES. Records have no length of their own, so each call that may stand in
a trace needs its layout; LAYOUTS has them.

Limit: calls of MPI-IO and of other programs (MPI_Comm_spawn and its kin) have no layout, and are refused by name.
"""

from __future__ import annotations

_CALLS = (
    "Send Recv Get_count Bsend Ssend Rsend Buffer_attach Buffer_detach Isend Ibsend Issend Irsend Irecv Wait Test "
    "Request_free Waitany Testany Waitall Testall Waitsome Testsome Iprobe Probe Cancel Test_cancelled Send_init "
    "Bsend_init Ssend_init Rsend_init Recv_init Start Startall Sendrecv Sendrecv_replace Type_contiguous Type_vector "
    "Type_hvector Type_indexed Type_hindexed Type_struct Address Type_extent Type_size Type_lb Type_ub Type_commit "
    "Type_free Get_elements Pack Unpack Pack_size Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv "
    "Alltoall Alltoallv Reduce Op_create Op_free Allreduce Reduce_scatter Scan Group_size Group_rank "
    "Group_translate_ranks Group_compare Comm_group Group_union Group_intersection Group_difference Group_incl "
    "Group_excl Group_range_incl Group_range_excl Group_free Comm_size Comm_rank Comm_compare Comm_dup Comm_create "
    "Comm_split Comm_free Comm_test_inter Comm_remote_size Comm_remote_group Intercomm_create Intercomm_merge "
    "Keyval_create Keyval_free Attr_put Attr_get Attr_delete Topo_test Cart_create Dims_create Graph_create "
    "Graphdims_get Graph_get Cartdim_get Cart_get Cart_rank Cart_coords Graph_neighbors_count Graph_neighbors "
    "Cart_shift Cart_sub Cart_map Graph_map Get_processor_name Get_version Errhandler_create Errhandler_set "
    "Errhandler_get Errhandler_free Error_string Error_class Wtime Wtick Init Finalize Initialized Abort Pcontrol "
    "Close_port Comm_accept Comm_connect Comm_disconnect Comm_get_parent Comm_join Comm_spawn Comm_spawn_multiple "
    "Lookup_name Open_port Publish_name Unpublish_name Accumulate Get Put Win_complete Win_create Win_fence Win_free "
    "Win_get_group Win_lock Win_post Win_start Win_test Win_unlock Win_wait Alltoallw Exscan Add_error_class "
    "Add_error_code Add_error_string Comm_call_errhandler Comm_create_keyval Comm_delete_attr Comm_free_keyval "
    "Comm_get_attr Comm_get_name Comm_set_attr Comm_set_name File_call_errhandler Grequest_complete Grequest_start "
    "Init_thread Is_thread_main Query_thread Status_set_cancelled Status_set_elements Type_create_keyval "
    "Type_delete_attr Type_dup Type_free_keyval Type_get_attr Type_get_contents Type_get_envelope Type_get_name "
    "Type_set_attr Type_set_name Type_match_size Win_call_errhandler Win_create_keyval Win_delete_attr "
    "Win_free_keyval Win_get_attr Win_get_name Win_set_attr Win_set_name Alloc_mem Comm_create_errhandler "
    "Comm_get_errhandler Comm_set_errhandler File_create_errhandler File_get_errhandler File_set_errhandler Finalized "
    "Free_mem Get_address Info_create Info_delete Info_dup Info_free Info_get Info_get_nkeys Info_get_nthkey "
    "Info_get_valuelen Info_set Pack_external Pack_external_size Request_get_status Type_create_darray "
    "Type_create_hindexed Type_create_hvector Type_create_indexed_block Type_create_resized Type_create_struct "
    "Type_create_subarray Type_get_extent Type_get_true_extent Unpack_external Win_create_errhandler "
    "Win_get_errhandler Win_set_errhandler File_open File_close File_delete File_set_size File_preallocate "
    "File_get_size File_get_group File_get_amode File_set_info File_get_info File_set_view File_get_view File_read_at "
    "File_read_at_all File_write_at File_write_at_all File_iread_at File_iwrite_at File_read File_read_all File_write "
    "File_write_all File_iread File_iwrite File_seek File_get_position File_get_byte_offset File_read_shared "
    "File_write_shared File_iread_shared File_iwrite_shared File_read_ordered File_write_ordered File_seek_shared "
    "File_get_position_shared File_read_at_all_begin File_read_at_all_end File_write_at_all_begin "
    "File_write_at_all_end File_read_all_begin File_read_all_end File_write_all_begin File_write_all_end "
    "File_read_ordered_begin File_read_ordered_end File_write_ordered_begin File_write_ordered_end "
    "File_get_type_extent Register_datarep File_set_atomicity File_get_atomicity File_sync File_Test File_Wait "
    "File_Testall File_Waitall File_Testany File_Waitany File_Waitsome File_Testsome"
)
NAMES = _CALLS.split()
"""Of calls, without MPI_, by their numbers; those of MPI-IO's own requests begin with File_ as well."""

FUNCTION_ENTER, FUNCTION_EXIT, END = len(NAMES) + 1, len(NAMES) + 2, len(NAMES) + 3
"""Marks of the program's own functions, and of the stream's end."""

_LAYOUTS = """
Send Bsend Ssend Rsend: count:i type:w peer:i tag:i comm:w
Recv: count:i type:w peer:i tag:i comm:w status:S
Isend Ibsend Issend Irsend Irecv Send_init Bsend_init Ssend_init Rsend_init Recv_init: count:i type:w peer:i tag:i comm:w request:i
Get_count Get_elements: status:S type:w count:i
Buffer_attach Buffer_detach: size:i
Wait: request:i status:S
Test Request_get_status: request:i flag:i status:S
Request_free Cancel Start Grequest_complete Grequest_start: request:i
Waitany: count:i requests:A index:i status:S
Testany: count:i requests:A index:i flag:i status:S
Waitall: count:i requests:A status:S
Testall: count:i requests:A flag:i status:S
Waitsome Testsome: count:i requests:A done:i indices:A status:S
Iprobe: peer:i tag:i comm:w flag:i status:S
Probe: peer:i tag:i comm:w status:S
Test_cancelled: status:S flag:i
Startall: count:i requests:A
Sendrecv: count:i type:w peer:i tag:i count2:i type2:w peer2:i tag2:i comm:w status:S
Sendrecv_replace: count:i type:w peer:i tag:i peer2:i tag2:i comm:w status:S
Type_contiguous: count:i old:w new:w
Type_vector Type_hvector Type_create_hvector: count:i block:i stride:i old:w new:w
Type_indexed Type_hindexed Type_create_hindexed: count:i blocks:A places:A old:w new:w
Type_create_indexed_block: count:i block:i places:A old:w new:w
Type_struct Type_create_struct: count:i blocks:A places:A olds:T new:w
Type_create_resized: old:w lb:i extent:i new:w
Type_create_subarray: dims:i sizes:A subsizes:A starts:A order:b old:w new:w
Type_create_darray: size:i rank:i dims:i sizes:A kinds:B args:A grid:A order:b old:w new:w
Type_dup: old:w new:w
Type_match_size: class:b size:i new:w
Address Get_address: address:i
Type_extent Type_size Type_lb Type_ub: type:w size:i
Type_get_extent Type_get_true_extent: type:w lb:i extent:i
Type_commit Type_free: type:w
Type_get_envelope: type:w a:i b:i c:i combiner:b
Type_get_contents: a:i b:i c:i type:w d:i e:i f:i g:A h:A olds:T
Type_create_keyval Type_free_keyval Comm_create_keyval Comm_free_keyval Win_create_keyval Win_free_keyval: key:w
Keyval_create Keyval_free: key:w
Attr_put Attr_delete: comm:w key:i
Attr_get: comm:w key:i flag:i
Comm_set_attr Comm_delete_attr: comm:w key:w
Comm_get_attr: comm:w key:w flag:i
Type_set_attr Type_delete_attr: type:w key:w
Type_get_attr: type:w key:w flag:i
Type_set_name: type:w name:c
Type_get_name: type:w name:c size:i
Comm_set_name: comm:w name:c
Comm_get_name: comm:w name:c size:i
Pack: count:i type:w size:i from:i to:i comm:w
Unpack: size:i from:i to:i count:i type:w comm:w
Pack_size: count:i type:w comm:w size:i
Barrier Comm_free Comm_disconnect: comm:w
Bcast: count:i type:w root:i comm:w
Gather Scatter: me:i count:i type:w root:i comm:w ?count2:i ?type2:w
Gatherv: me:i size:i count:i type:w root:i comm:w ?counts:A ?places:A type2:w
Scatterv: me:i size:i type2:w count:i type:w root:i comm:w ?counts:A ?places:A
Allgather Alltoall: count:i type:w count2:i type2:w comm:w
Allgatherv: size:i count:i type:w counts:A places:A type2:w comm:w
Alltoallv: size:i counts:A places:A type:w counts2:A places2:A type2:w comm:w
Alltoallw: size:i counts:A places:A types:T counts2:A places2:A type2s:T comm:w
Reduce: count:i type:w op:b root:i comm:w
Allreduce Scan Exscan: count:i type:w op:b comm:w
Reduce_scatter: size:i counts:A type:w op:b comm:w
Op_create: commutes:i op:b
Op_free: op:b
Group_size Group_rank: group:w size:i
Group_translate_ranks: group:w count:i ranks:A group2:w ranks2:A
Group_compare: group:w group2:w result:b
Comm_group Comm_remote_group: comm:w group:w
Group_union Group_intersection Group_difference: group:w group2:w new:w
Group_incl Group_excl: group:w count:i ranks:A new:w
Group_range_incl Group_range_excl: group:w count:i ranges:M new:w
Group_free: group:w
Comm_size Comm_rank Comm_remote_size Comm_test_inter: comm:w size:i
Comm_compare: comm:w comm2:w result:b
Comm_dup: comm:w new:w
Comm_create: comm:w group:w new:w
Comm_split: comm:w color:i key:i new:w
Intercomm_create: comm:w leader:i comm2:w leader2:i tag:i new:w
Intercomm_merge: comm:w high:i new:w
Comm_get_parent: comm:w
Topo_test: comm:w kind:b
Cart_create: comm:w dims:i sizes:A periods:A reorder:i new:w
Dims_create: nodes:i dims:i given:A sizes:A
Graph_create: edges:i comm:w nodes:i index:A to:A reorder:i new:w
Graphdims_get: comm:w nodes:i edges:i
Graph_get: edges:i nodes:i comm:w a:i b:i index:A to:A
Graph_neighbors_count: comm:w rank:i count:i
Graph_neighbors: count:i comm:w rank:i most:i ranks:A
Graph_map: edges:i comm:w nodes:i index:A to:A rank:i
Cartdim_get: comm:w dims:i
Cart_get: dims:i comm:w most:i sizes:A periods:A place:A
Cart_rank: dims:i comm:w place:A rank:i
Cart_coords: dims:i comm:w rank:i most:i place:A
Cart_shift: comm:w direction:i by:i peer:i peer2:i
Cart_sub: dims:i comm:w kept:A new:w
Cart_map: comm:w dims:i sizes:A periods:A rank:i
Get_processor_name: name:c size:i
Get_version: version:i subversion:i
Errhandler_create Errhandler_free Comm_create_errhandler Win_create_errhandler File_create_errhandler: handler:w
Errhandler_set Errhandler_get Comm_set_errhandler Comm_get_errhandler: comm:w handler:w
Win_set_errhandler Win_get_errhandler: win:w handler:w
Comm_call_errhandler: comm:w code:i
Error_string: code:i text:c size:i
Error_class Add_error_code: code:i class:i
Add_error_class: class:i
Add_error_string: code:i text:c
Wtime Wtick Finalize Free_mem:
Init: arguments:C
Init_thread: arguments:C asked:b given:b
Initialized Finalized Is_thread_main: flag:i
Query_thread: level:b
Abort: comm:w code:i
Accumulate: count:i type:w peer:i place:i count2:i type2:w op:b win:w
Get Put: count:i type:w peer:i place:i count2:i type2:w win:w
Win_create: size:i unit:i info:w comm:w win:w
Win_fence: assertion:b win:w
Win_free Win_complete Win_wait: win:w
Win_test: win:w flag:i
Win_lock: kind:b peer:i assertion:b win:w
Win_unlock: peer:i win:w
Win_post Win_start: group:w assertion:b win:w
Win_get_group: win:w group:w
Status_set_cancelled: status:S flag:i
Status_set_elements: status:S type:w count:i
Alloc_mem: size:i info:w
Info_create Info_free: info:w
Info_dup: info:w new:w
Info_delete: info:w key:c
Info_set: info:w key:c value:c
Info_get: info:w key:c length:i value:c flag:i
Info_get_nkeys: info:w count:i
Info_get_nthkey: info:w n:i key:c
Info_get_valuelen: info:w key:c length:i flag:i
"""


def _layouts() -> dict[str, tuple[tuple[str, str, bool], ...]]:
    found = {}
    for line in _LAYOUTS.strip().splitlines():
        calls, _, fields = line.partition(":")
        layout = tuple((field.lstrip("?")[:-2], field[-1], field.startswith("?")) for field in fields.split())
        found.update(dict.fromkeys(calls.split(), layout))
    return found


LAYOUTS = _layouts()
"""Name, kind and condition of a call's fields. Kinds: i a number of 32 bits, w one of 16 (a handle), b one of 8; A, T
and B lists of these; M a list of lists A; c letters, C a list of them; S statuses, where the record says so. Fields
with a condition are there where the rank (`me`) is the root. Numbers are big-endian, and lists begin with their
length."""
