# SPDX-License-Identifier: Apache-2.0
"""Whether the ranks of a trace fit together: a receive has a message, and all ranks of a communicator call the same
collectives.

Problem: a trace that another tool has written may lack a rank's calls, or have wrong ones, and a replay of it would
come to a halt in the middle. Model: what is certain is compared, by counts: of a pair of ranks, messages by tag that
are received, and those that are sent; of a communicator, each rank's collectives in their order, by root and size. Of
the messages of a pair by one tag, each is compared with its receive. Limits: sizes by rank are not compared, nor are
messages whose receive may take another one, or has no size (0); a receive without blocking counts where all requests of
its rank come to an end; persistent sends count as any number; members of a communicator that call nothing on it are not
missed, except in MPI_COMM_WORLD.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from exanet.errors import InputError
from exanet.quantity import counted
from exanet.trace.folder import Trace
from exanet.trace.layout import CALLS
from exanet.trace.records import COLLECTIVES, EXCHANGES, INITS, MESSAGES, NEIGHBOURS, RECEIVES
from exanet.trace.write import CODES

_COLUMNS = ("rank", "call", "communicator", "peer", "tag", "receive_peer", "receive_tag", "root", "requests", "bytes", "receive_bytes")
_KEYS = (("src", "dst", "communicator", "tag"), ("src", "dst"), ("dst",))
_ADVICE = "the file is incomplete or damaged; write it again"
_LONGER = "MPI cuts it and says so to the receiver, which a trace of another tool does not have; correct the program, and record it again"


def _named(*codes: int) -> list[str]:
    return [f"MPI_{name}" for name, code in CODES.items() if code in codes]


_SENDS = [*_named(*(set(MESSAGES) - set(RECEIVES) - set(INITS)), *EXCHANGES), "send"]
_WAIT_FOR_IT = [*_named(CODES["Recv"], CODES["Mrecv"], *EXCHANGES), "receive"]
_BEGIN_ONE = _named(CODES["Irecv"], CODES["Imrecv"])
_PREPARE = [name for name in _named(*INITS) if name != "MPI_Recv_init"]
_TAKE_ONE = [name for name in (*_WAIT_FOR_IT, *_BEGIN_ONE) if name.startswith("MPI_")]
_UNCERTAIN = ["MPI_Cancel", "MPI_Recv_init", "MPI_Mprobe", "MPI_Improbe"]  # which message a receive of the rank takes
_END = [f"MPI_{name}" for name in CALLS["requests"] if name.startswith(("Wait", "Test"))]
_OF_ALL = _named(*COLLECTIVES, *NEIGHBOURS)


def _either(*names: str) -> list[str]:
    """Calls that block and those that do not."""
    return [*_named(*(CODES[name] for name in names)), *_named(*(CODES[f"I{name.lower()}"] for name in names))]


# Collectives of which all ranks give, or get, the same.
_GIVEN = _either("Bcast", "Scatter", "Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block")
_GOT = _either("Gather", "Allgather", "Allgatherv", "Alltoall")


def check(trace: Trace, source: Path) -> None:
    """Raises InputError, of the file that the trace comes from, where ranks do not fit together."""
    if not trace.about.complete or trace.about.missing:
        return  # a replay refuses it
    calls = trace.calls(*_COLUMNS)
    if wrong := _messages(calls) or _collectives(calls, trace.about.ranks):
        raise InputError(f"{source}: {wrong}: {_ADVICE}")
    if wrong := _too_long(calls):
        raise InputError(f"{source}: {wrong}: {_LONGER}")


def _messages(calls: pl.DataFrame) -> str:
    """What is wrong with the messages; "" if nothing is."""
    call = pl.col("call")
    sent = calls.filter(call.is_in(_SENDS) & (pl.col("peer") >= 0)).select(
        pl.col("rank").alias("src"), pl.col("peer").alias("dst"), "communicator", "tag"
    )
    ended = pl.when(call.is_in(_END)).then(-pl.col("requests")).otherwise(pl.col("requests")).sum()
    all_end = calls.group_by("rank").agg(ended).filter(pl.col("requests") == 0)["rank"].implode()
    waited_for = call.is_in(_WAIT_FOR_IT) | (call.is_in(_BEGIN_ONE) & pl.col("rank").is_in(all_end))
    received = calls.filter(waited_for & (pl.col("receive_peer") >= -1)).select(
        pl.col("receive_peer").alias("src"), pl.col("rank").alias("dst"), "communicator", pl.col("receive_tag").alias("tag")
    )
    persistent = calls.filter(call.is_in(_PREPARE)).select(pl.col("rank").alias("src"), pl.col("peer").alias("dst")).unique()
    for keys in _KEYS:
        known = received.filter(pl.all_horizontal(pl.col(key) >= 0 for key in keys))
        known = known.join(persistent, on=[key for key in keys if key in ("src", "dst")], how="anti")
        counts = (
            known.group_by(keys)
            .agg(pl.len().alias("received"))
            .join(sent.group_by(keys).agg(pl.len().alias("sent")), on=list(keys), how="left")
            .filter(pl.col("received") > pl.col("sent").fill_null(0))
            .sort(keys)
        )
        if len(counts):
            row = counts.row(0, named=True)
            by, tag = f"rank {row['src']}" if "src" in row else "other ranks", f" by tag {row['tag']}" if "tag" in row else ""
            here, there = row["received"], row["sent"] or 0
            messages = f"{counted(here, 'message')} of {by}{tag}"
            return f"rank {row['dst']} waits for {messages}, and {there or 'none'} {'are' if there > 1 else 'is'} sent"
    return ""


def _too_long(calls: pl.DataFrame) -> str:
    """A message that is longer than the receive that takes it; "" if it is not certain that there is one."""
    call, keys = pl.col("call"), ["src", "dst", "communicator", "tag"]
    received = calls.filter(call.is_in(_TAKE_ONE)).select(
        pl.col("receive_peer").alias("src"), pl.col("rank").alias("dst"), "communicator", pl.col("receive_tag").alias("tag"), "call",
        pl.col("receive_bytes").alias("space"),
    )  # fmt: skip
    sent = calls.filter(call.is_in(_SENDS) & (pl.col("peer") >= 0)).select(
        pl.col("rank").alias("src"), pl.col("peer").alias("dst"), "communicator", "tag", "bytes"
    )
    choosy = calls.filter(call.is_in(_UNCERTAIN)).select(pl.col("rank").alias("dst")).unique()
    of_any = received.filter(pl.col("src") == -1).select("dst", "communicator").unique()
    by_any_tag = received.filter(pl.col("tag") == -1).select("src", "dst", "communicator").unique()
    persistent = calls.filter(call.is_in(_PREPARE)).select(pl.col("rank").alias("src"), pl.col("peer").alias("dst")).unique()
    for uncertain in (choosy, of_any, by_any_tag, persistent):
        received = received.join(uncertain, on=uncertain.columns, how="anti", maintain_order="left")
    turn = pl.int_range(pl.len()).over(keys).alias("turn")
    met = received.with_columns(turn).join(sent.with_columns(turn), on=[*keys, "turn"])
    wrong = met.filter((pl.col("space") > 0) & (pl.col("bytes") > pl.col("space"))).sort("dst", "src", "communicator", "tag", "turn")
    if not len(wrong):
        return ""
    row = wrong.row(0, named=True)
    of = f"{row['call']} of rank {row['dst']} from rank {row['src']} by tag {row['tag']}, message {row['turn'] + 1} of these"
    return f"{of}, has space for {row['space']} B, but {row['bytes']} B are sent (MPI_ERR_TRUNCATE)"


def _collectives(calls: pl.DataFrame, ranks: int) -> str:
    """What is wrong with the collectives; "" if nothing is."""
    made = calls.filter(pl.col("call").is_in(_OF_ALL) & ((pl.col("communicator") == 0) | (pl.col("communicator") > 1))).select(
        "rank", "call", "communicator", "root", _size().alias("size")
    )
    made = made.with_columns(turn=pl.int_range(pl.len()).over("communicator", "rank"))
    members = made.group_by("communicator").agg(pl.col("rank").n_unique().alias("members"))
    members = members.with_columns(pl.when(pl.col("communicator") == 0).then(ranks).otherwise("members").alias("members"))
    wrong = (
        made.group_by("communicator", "turn")
        .agg(
            pl.len().alias("callers"),
            pl.col("call").n_unique().alias("kinds"),
            pl.col("root").n_unique().alias("roots"),
            pl.col("size").n_unique().alias("sizes"),
        )
        .join(members, on="communicator")
        .filter((pl.max_horizontal("kinds", "roots", "sizes") > 1) | (pl.col("callers") < pl.col("members")))
        .sort("communicator", "turn")
    )
    if not len(wrong):
        return ""
    number, turn, callers, kinds, roots, _, wanted = wrong.row(0)
    which = f"collective {turn + 1} on communicator {number}"
    met = made.filter((pl.col("communicator") == number) & (pl.col("turn") == turn)).sort("rank")
    first = met.row(0, named=True)
    if kinds > 1:
        other = met.filter(pl.col("call") != first["call"]).row(0, named=True)
        return f"{which} is {first['call']} of rank {first['rank']}, but {other['call']} of rank {other['rank']}"
    if callers < wanted:
        return f"{which}, {first['call']}, is called by {callers} of {wanted} ranks, first by rank {first['rank']}"
    column, unit = ("root", "") if roots > 1 else ("size", " B")
    other = met.filter(pl.col(column) != first[column]).row(0, named=True)
    here, there = (f"{row[column]}{unit} at rank {row['rank']}" for row in (first, other))
    return f"{which}, {first['call']}, has {column} {here}, but {there}"


def _size() -> pl.Expr:
    """Bytes of which all ranks of a collective have the same, 0 of other collectives: at the root of a gather or
    scatter what the others give or get, which may have none itself."""
    given, got, call = pl.col("bytes"), pl.col("receive_bytes"), pl.col("call")
    of_given = pl.when(given > 0).then(given).otherwise(got)
    of_got = pl.when(got > 0).then(got).otherwise(given)
    return pl.when(call.is_in(_GIVEN)).then(of_given).when(call.is_in(_GOT)).then(of_got).otherwise(0)
