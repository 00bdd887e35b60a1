# SPDX-License-Identifier: Apache-2.0
"""Programs that broadcast as their MPI does not (`exanet run --collective bcast=...`): along other trees, and by
copies of routers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from host import tried

from exanet import replay, results

from .conftest import PROGRAMS, Runner, Stack

CHOICES = ("--compute", "off", "--map", "round-robin", "--collective")


def test_every_rank_has_what_the_root_had(exanet_run: Runner, stack: Stack) -> None:
    tree = "LLF" if stack.name == "mpich" else "knomial"
    done = exanet_run(stack, 5, [stack.python, PROGRAMS / "broadcasts.py"], options=(*CHOICES, f"bcast={tree}"))
    assert int(done.line("broadcasts")[0]) > 90


@pytest.mark.parametrize("mapping", ["round-robin", "linear"])
def test_routers_copy_to_every_rank(exanet_run: Runner, stack: Stack, mapping: str) -> None:
    """Several ranks on a node, communicators, types, errors and threads; on a torus and on a dragonfly."""
    machine = "dragonfly-342" if stack.name == "openmpi4" else "exanest"
    options = ("--compute", "off", "--map", mapping, "--collective", "bcast=hardware")
    done = exanet_run(stack, 6, [stack.python, PROGRAMS / "broadcasts.py"], machine=machine, options=options)
    assert int(done.line("broadcasts")[0]) > 90


@pytest.mark.parametrize("count", tried([1, 7, 5000], [7, 5000]))
def test_routers_copy_what_is_packed(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], count: int) -> None:
    """Elements with gaps, which nothing is written to, from other ranks than 0; eager ones, and longer."""
    for root in ("0", "2"):
        done = exanet_run(stack, 3, [compiled("gaps"), str(count), root], options=(*CHOICES, "bcast=hardware"))
        assert done.line("gaps") == [str(count)]


def test_the_messages_are_those_of_a_replay(exanet_run: Runner, stack: Stack, compiled: Callable[[str], Path], tmp_path: Path) -> None:
    """From whom, to whom, and when, of each to the picosecond; short and long ones, the root going round."""
    for tree in tried(("LLF", "GLF", "linear", "binomial-doubling", "hardware"), ("GLF", "hardware")):
        trace = tmp_path / tree
        for size in ("24", "3000"):
            options = (*CHOICES, f"bcast={tree}", "--record", str(trace / size))
            done = exanet_run(stack, 12, [compiled("broadcasts"), size, "5", "roots"], options=options)
            found, meta = replay.replay(replay.Options((trace / size,), "exanest", "round-robin", collectives={"bcast": tree}))
            keys = ["src", "dst", "bytes", "posted_ps", "delivered_ps"]
            there = results.load(done.folder).messages.select(keys).sort(keys)
            here = results.to_tables(found, meta["machine"])["messages"].select(keys).sort(keys)
            ready = 5 * 11 if tree == "hardware" and size == "3000" else 0  # of no bytes, before what is long
            assert len(there) == 5 * 11 + ready and here.equals(there)
            assert found["summary"]["virtual_ps"] == done.summary["virtual_ps"]
            assert done.summary["run"]["collectives"] == {"bcast": tree}


def test_by_default_the_library_broadcasts(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """The binomial tree of MPICH sends between other ranks than that which knows the network."""
    program = [mpich.python, "-c", "from mpi4py import MPI; import numpy; MPI.COMM_WORLD.Bcast(numpy.zeros(100))"]
    pairs = []
    for choice in ((), ("--collective", "bcast=binomial"), ("--collective", "bcast=LLF")):
        done = exanet_run(mpich, 8, program, options=("--compute", "off", "--map", "random", *choice))
        pairs.append(results.load(done.folder).messages.filter(pl.col("bytes") == 800).select("src", "dst").sort("src", "dst"))
    assert len(pairs[0]) == 7 and pairs[0].equals(pairs[1]) and not pairs[0].equals(pairs[2])


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("bcast=magic", "bcast has no algorithm 'magic'; give bcast= one of binomial, binary, binomial-doubling, LLF, GLF"),
        ("bcast=scatter-ring", "replays alone broadcast by 'scatter-ring'; give bcast= one of"),
        ("bcast=", "bcast has no algorithm; give bcast= one of"),
        ("allreduce=ring", "with --mpi-calls library only the broadcast can be chosen; give bcast= one of"),
    ],
)
def test_what_cannot_be_chosen(exanet_run: Runner, given: str, what: str) -> None:
    failed = exanet_run(None, 2, ["true"], options=("--collective", given), code=2)
    assert f"error: --collective {given}: {what}" in failed.errors and not failed.folder.exists()


def test_persistent_broadcasts_stay_with_the_library(exanet_run: Runner, stack: Stack) -> None:
    """Beside others, which do not."""
    program = """
from mpi4py import MPI
import numpy
world, data, other = MPI.COMM_WORLD, numpy.zeros(100), numpy.zeros(100)
try:
    request = world.Bcast_init(data, root=1)
except NotImplementedError:  # Open MPI 4 has another name
    request = None
for turn in range(3):
    if world.rank == 1:
        data[:], other[:] = turn + 1, -turn
    if request is not None:
        request.Start()
        request.Wait()
        assert (data == turn + 1).all()
    world.Bcast(other, root=1)
    assert (other == -turn).all()
print("done", world.rank)
"""
    for way in ("LLF", "hardware"):
        done = exanet_run(stack, 4, [stack.python, "-c", program], options=(*CHOICES, f"bcast={way}"))
        assert len(done.output.split("done")) == 5


def test_where_routers_do_not_copy(exanet_run: Runner, mpich: Stack, compiled: Callable[[str], Path]) -> None:
    options = ("--collective", "bcast=hardware", "--level", "flow")
    failed = exanet_run(mpich, 2, [compiled("broadcasts")], options=options, code=2)
    assert 'error: bcast by "hardware" takes routers that copy packets' in failed.errors and not failed.folder.exists()


def test_a_program_without_mpi_has_no_broadcast(exanet_run: Runner) -> None:
    failed = exanet_run(None, 2, ["true"], options=("--mpi", "none", "--collective", "bcast=LLF"), code=2)
    assert "error: --collective: a program without MPI has no MPI_Bcast; leave the option out" in failed.errors
