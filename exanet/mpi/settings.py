# SPDX-License-Identifier: Apache-2.0
"""Settings that send each MPI through the simulated network, and only through it.

Ranks of a run share one real host. Whatever an MPI would move through real shared memory there moves in no virtual
time, so every such path is closed: MPICH is set so that no two ranks are local to each other; Open MPI's shared-memory
components are left out by name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from exanet.errors import InputError
from exanet.mpi import elf
from exanet.mpi.detect import Mpi

# Variables of an outer launcher or batch system. Its ranks and nodes are not ours, and an MPI that finds them believes
# that they are.
_FOREIGN = ("PMI_", "PMIX_", "OMPI_COMM_", "OMPI_UNIVERSE", "ORTE_", "PRTE_", "HYDRA_", "MPIEXEC_", "SLURM_", "PBS_", "LSB_", "EXANET_")

_BESIDE = {
    "libexanet-sessions.so": b"MPI_Session_init\0",
    "libexanet-lists.so": b"MPI_Gatherv_c\0",
    "libexanet-persistent.so": b"MPI_Barrier_init\0",
    "libexanet-tolerance.so": b"MPIX_Comm_revoke\0",
}
"""Wrappers of functions that not every MPI has, by one of them."""

_SHMEM = "libexanet-shmem.so"
"""The wrappers of OpenSHMEM."""

_SOCKETS = "libexanet-sockets.so"
"""TCP sockets over the simulated network."""

_GPU = "libexanet-gpu.so"
"""Memory, copies and streams of the machine's GPUs."""

_MPICH = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "MPIR_CVAR_NOLOCAL": "1",
    # Cells for messages between ranks of a host, which have 1 MiB of each rank written at its start. There are none.
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS": "1",
    "MPIR_CVAR_ENABLE_GPU": "0",
    # A barrier over a part of the ranks is not in version 1.1 of PMI.
    "MPIR_CVAR_PMI_DISABLE_GROUP": "1",
}

_OPEN_MPI = {
    "pml": "cm",
    "mtl": "ofi",
    "coll": "^sm,han,monitoring",
    "sharedfp": "^sm",
    # In virtual time a yield costs nothing where a rank has one thread, and shows that a thread waits where it has
    # several.
    "mpi_yield_when_idle": "1",
}

_OPEN_MPI_4 = {
    "mtl_ofi_provider_include": "exanet",
    "btl": "self",
    "osc": "pt2pt",
    "orte_base_help_aggregate": "0",
    "btl_base_warn_component_unused": "0",
}

# Where the user asks for it: Open MPI's own protocols over the provider's messages, puts and gets. mtl/ofi of Open MPI
# 4 crashes or stops in some calls that these pass (docs/virtual-time.md), and osc/pt2pt has no windows with
# MPI_THREAD_MULTIPLE. btl/ofi ends the program when osc/rdma asks it for an atomic operation that it does not know.
_OPEN_MPI_4_OB1 = {
    "pml": "ob1",
    "btl": "self,ofi",
    "btl_ofi_mode": "2",
    "btl_ofi_provider_include": "exanet",
    "osc": "rdma",
    "osc_rdma_network_max_amo": "0",
}

# osc/sm has windows whose processes all share a node, which here is a rank with itself (runtime/clock/locality.c). Open
# MPI 4's fails on one rank and not on the other where they do not.
_OPEN_MPI_5 = {
    "opal_common_ofi_provider_include": "exanet",
    "btl": "self,ofi",
    "osc": "rdma,sm",
    "btl_ofi_mode": "2",
    "smsc": "^cma,knem,xpmem",
}

_FALSE = {"0", "no", "false", "off", ""}
"""What MPICH takes for off, in lower case."""

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""Where Open MPI looks for its folder, in this order; then /tmp (opal_tmp_directory())."""


def environment(
    mpi: Mpi, *, region: str, status: str, library: Path, base: Mapping[str, str] | None = None, sockets: bool = False, gpus: bool = False
) -> dict[str, str]:
    """The environment of all ranks (and of mpirun): the user's own, plus what the simulated network and the MPI
    need."""
    own = os.environ if base is None else base
    env = {name: value for name, value in own.items() if not name.startswith(_FOREIGN)}
    env |= {"EXANET_NI": region, "EXANET_STATUS": status, "EXANET_LIBRARY": str(library)}
    names = elf.read(mpi.library.resolve()).strings if mpi.library else b""
    beside = [_SHMEM] if mpi.shmem else []
    beside += [_SOCKETS] if sockets else []
    beside += [_GPU] if gpus else []
    if beside := beside + [file for file, symbol in _BESIDE.items() if symbol in names]:
        env["EXANET_BESIDE"] = ":".join(beside)
    if mpi.kind == "libfabric":
        env["EXANET_BEGINS"] = "libfabric"  # virtual time, with the first operation
    if sockets and mpi.kind == "none":
        env["EXANET_BEGINS"] = "sockets"  # likewise, with the first socket
    if mpi.search:
        env["LD_LIBRARY_PATH"] = ":".join(part for part in (env.get("LD_LIBRARY_PATH", ""), str(mpi.search)) if part)
    # One core a rank, as the machine has them: a program that starts threads does so because it was asked to.
    env.setdefault("OMP_NUM_THREADS", "1")
    return env | _forced(mpi, own)


def _forced(mpi: Mpi, own: Mapping[str, str]) -> dict[str, str]:
    """What an MPI or OpenSHMEM needs so that it uses the simulated network and no other, whatever the user's own
    environment says."""
    return _forced_mpi(mpi, own) | ({"SHMEM_OFI_PROVIDER": "exanet"} if mpi.shmem else {})


def _forced_mpi(mpi: Mpi, own: Mapping[str, str]) -> dict[str, str]:
    if mpi.kind == "mpich":
        return _MPICH
    if mpi.kind != "openmpi":
        return {}
    settings = _OPEN_MPI | (_OPEN_MPI_4 if mpi.version < 5 else _OPEN_MPI_5)
    if mpi.version < 5 and own.get("OMPI_MCA_pml") == "ob1":
        settings |= _OPEN_MPI_4_OB1
    forced = {f"OMPI_MCA_{name}": value for name, value in settings.items()}
    # The key-value store of Open MPI's launcher, in its own memory rather than in shared files.
    forced["PMIX_MCA_gds"] = "hash"
    if mpi.version >= 5:
        forced |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_prte_silence_shared_fs": "1"}
    return forced


def replaced(mpi: Mpi, base: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each setting of the user's that the run replaces. Raises InputError for one that no run can
    obey."""
    own = os.environ if base is None else base
    for prefix in ("MPIR_CVAR", "MPICH", "MPIR_PARAM") if mpi.kind == "mpich" else ():
        name = f"{prefix}_ASYNC_PROGRESS"
        if own.get(name, "").lower() not in _FALSE:
            raise InputError(
                f"{name}={own[name]}: MPICH's thread for progress polls for ever, and in virtual time a rank that polls is one that waits; "
                "unset it for this run"
            )
    forced = _forced(mpi, own)
    return [f"{name}={own[name]} is replaced by {forced[name]}" for name in sorted(forced) if own.get(name, forced[name]) != forced[name]]


def waits_for_progress(mpi: Mpi, base: Mapping[str, str] | None = None) -> bool:
    """Whether a rank that waits in a call leaves what others want of its windows undone (mtl/ofi with osc/pt2pt)."""
    own = os.environ if base is None else base
    return mpi.kind == "openmpi" and _forced(mpi, own).get("OMPI_MCA_osc") == "pt2pt"


def check_temporary_folder() -> None:
    """Raises InputError where Open MPI could not make the folder of its session."""
    named = next((name for name in _TEMPORARY if os.environ.get(name)), None)
    place = os.environ[named] if named else "/tmp"
    folder = Path(place).absolute()
    there = next(one for one in (folder, *folder.parents) if one.exists())  # it makes what is missing
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError as error:
        said = f"{named}, {place}," if named else place
        raise InputError(f"Open MPI takes a folder for its files, and {said} cannot be written: {error.strerror}; set TMPDIR") from None


def mpirun_command(mpi: Mpi, ranks: int) -> list[str]:
    """mpirun and its options, up to the program."""
    command = [str(mpi.launcher), "-n", str(ranks), "--bind-to", "none"]
    if mpi.version < 5:
        command += ["--oversubscribe"]
    else:
        command += ["--map-by", ":OVERSUBSCRIBE"]
    if os.geteuid() == 0:
        command += ["--allow-run-as-root"]
    return command
