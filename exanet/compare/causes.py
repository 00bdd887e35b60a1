# SPDX-License-Identifier: Apache-2.0
"""What probably made one run slower than another: late ranks, slow links, losses, another placement, machine or amount
of work.

Problem: a change of the total says that something is slower, and nearly all of it shows as waiting, of ranks that are
not to blame. Model: each suspect has evidence that does not depend on who waits. A late rank computes longer than the
others do; a slow link is busy longer for each byte; placements, machines and messages differ by themselves. How much
of the difference a suspect can explain is an upper bound, and orders them. Limits: suspects are not verified by another
run; measured computing makes some rank late in every run, which is left out below NOTICEABLE of the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from exanet.compare import options
from exanet.compare.runs import link_name
from exanet.compare.sides import asked, listed
from exanet.quantity import bytes_text, counted, time_text
from exanet.results import Run
from exanet.results.summary import STATES

NOTICEABLE = 0.1
"""Share of the difference from which on something is named."""

MOST = 3
"""Causes that are named."""

MOST_NAMED = 3
"""Ranks, links or keys that one of them names."""

_SLOWER_LINK = 1.05
"""Time for a byte, relative to the same link of the other run; below, framing may make the difference."""

_SAME_PACKETS = 0.05
"""By how much the mean packets of a link may differ; of smaller ones each byte takes longer on any link."""

Suspect = tuple[float, str]
"""The share of the difference that it may explain, and the sentence's end."""


def causes(slow: Run, fast: Run) -> list[str]:
    """What sets the slow run apart, most likely causes first."""
    longer_ps = float(slow.summary["virtual_ps"] - fast.summary["virtual_ps"])
    if longer_ps <= 0:
        return []
    links = [*_slow_links(slow, fast, longer_ps), *_slow_alone(slow, fast, longer_ps)]
    by_links = max((share for share, _ in links), default=0.0)
    found = [
        *_late_ranks(slow, fast, longer_ps),
        *_library(slow, fast, longer_ps),
        *links,
        *_faults(slow, fast),
        *((min(share, max(1 - by_links, NOTICEABLE)), text) for share, text in _placement(slow, fast)),
        *_work(slow, fast),
        *_machine(slow, fast),
        *_request(slow, fast),
    ]
    return [text for share, text in sorted(found, key=lambda suspect: -suspect[0]) if share >= NOTICEABLE][:MOST]


def _late_ranks(slow: Run, fast: Run, longer_ps: float) -> Iterator[Suspect]:
    """Ranks whose computing has grown by more than that of the others; and the growth of all."""
    if len(slow.ranks) != len(fast.ranks) or slow.ranks.is_empty():
        return
    own = pl.col("compute_ps").cast(pl.Float64).alias("own")
    grown = slow.ranks.select("rank", own).with_columns(grown=pl.col("own") - fast.ranks.select(own)["own"])
    usual = float(grown["grown"].median())  # type: ignore[arg-type]
    late = grown.with_columns(late=pl.col("grown") - usual).sort("late", descending=True, maintain_order=True)
    most = float(late["late"][0])
    names = [str(rank) for rank in late.filter(pl.col("late") >= max(most / 2, 1))["rank"]]
    if names and len(names) <= len(late) / 2:
        verb, they = ("is", "it computes") if len(names) == 1 else ("are", "they compute up to")
        who = f"rank{'' if len(names) == 1 else 's'} {listed(names, MOST_NAMED)}"
        yield min(most / longer_ps, 1.0), f"{who} {verb} late: {they} {time_text(most)} longer, and the others wait{_measured(slow)}"
    if usual > 0:
        yield usual / longer_ps, f"ranks compute {time_text(usual)} longer in the median{_measured(slow)}"


def _measured(run: Run) -> str:
    """What is to be said of computing that the host measured."""
    request = run.summary["run"]
    return "" if request.get("compute") == "off" or options.replayed(run) else " (measured computing: it varies from run to run)"


def _library(slow: Run, fast: Run, longer_ps: float) -> Iterator[Suspect]:
    """Time for posting and polling: rather what another cause leads to."""
    means = [float(run.ranks["library_ps"].cast(pl.Float64).mean() or 0.0) for run in (slow, fast)]  # type: ignore[arg-type]
    if means[0] > means[1]:
        text = f"ranks spend {time_text(means[0] - means[1])} more in the communication library on average"
        yield min((means[0] - means[1]) / longer_ps, 0.4), text


def _slow_links(slow: Run, fast: Run, longer_ps: float) -> Iterator[Suspect]:
    """Links that are busy longer for a byte than the same links of the other run."""
    used = [_by_name(run) for run in (slow, fast)]
    both = (
        used[0]
        .join(used[1], on="name", suffix="_fast", maintain_order="left")
        .filter((pl.col("packet_bytes") / pl.col("packet_bytes_fast") - 1).abs() <= _SAME_PACKETS)
        .with_columns(times=pl.col("byte_ps") / pl.col("byte_ps_fast"))
    )
    slower = both.with_columns(more_ps=pl.col("busy_ps") * (1 - 1 / pl.col("times"))).filter(pl.col("times") > _SLOWER_LINK)
    if slower.is_empty():
        return
    slower = slower.sort("more_ps", descending=True, maintain_order=True)
    most_ps, times = float(slower["more_ps"][0]), float(slower["times"][0])
    alike = slower.filter(pl.col("more_ps") >= most_ps / 2)
    first = alike["name"][0]
    if len(alike) > 2:
        what = f"{len(slower)} links are slow, first {first}: it takes"
    else:
        what = f"link {first} is slow: it takes" if len(alike) == 1 else f"links {' and '.join(alike['name'])} are slow: the first takes"
    text = f"{what} {times:.3g} times as long for each byte, {time_text(most_ps)} in all{_blamed(slow, first)}"
    yield min(most_ps / longer_ps, 1.0), text


def _slow_alone(slow: Run, fast: Run, longer_ps: float) -> Iterator[Suspect]:
    """The link that --faults makes slow, and that the fast run does not use; the busiest of these."""
    alone = _by_name(slow).join(_by_name(fast), on="name", how="anti", maintain_order="left").sort("busy_ps", descending=True)
    for link in alone.iter_rows(named=True):
        if by := _blamed(slow, link["name"]):
            text = f"link {link['name']} is slow{by}, and busy for {time_text(link['busy_ps'])}; the other run does not use it"
            yield min(link["busy_ps"] / longer_ps, 1.0), text
            return


def _by_name(run: Run) -> pl.DataFrame:
    used = run.links.filter((pl.col("payload_bytes") > 0) & (pl.col("busy_ps") > 0))
    names = pl.Series("name", [link_name(link) for link in used.iter_rows(named=True)], pl.String)
    busy = pl.col("busy_ps").cast(pl.Float64)
    means = {"packet_bytes": pl.col("payload_bytes") / pl.col("packets"), "byte_ps": busy / pl.col("payload_bytes")}
    return used.select(busy, **means).insert_column(0, names)


def _blamed(run: Run, link: str) -> str:
    """Which fault of --faults made the link slow."""
    faults = run.faults if run.faults is not None else pl.DataFrame({"kind": [], "what": [], "time_ps": []})
    of_link = [row for row in faults.filter(pl.col("kind") == "slow").iter_rows(named=True) if link.startswith(f"{row['what']} ")]
    return f" (--faults makes it slow at {time_text(of_link[0]['time_ps'])})" if of_link else ""


def _faults(slow: Run, fast: Run) -> Iterator[Suspect]:
    """What failed in the slow run alone, by what it cost; links that are slow have a suspect of their own."""
    lost, failed = (slow.summary.get(name, 0) - fast.summary.get(name, 0) for name in ("lost_packets", "failed_operations"))
    if lost > 0 or failed > 0:
        what = [] if slow.faults is None else [str(name) for name in slow.faults["what"].unique(maintain_order=True)]
        by = f" ({listed(what, MOST_NAMED)})" if what else ""
        yield 0.9, f"{counted(lost, 'packet')} more lost and {counted(failed, 'operation')} failed{by}"
        return
    failing = [] if slow.faults is None else slow.faults.filter((pl.col("up") == 0) & (pl.col("kind") != "slow")).rows(named=True)
    of_both = set() if fast.faults is None else set(fast.faults.select("kind", "what").rows())
    said = [f"{row['what']} {STATES[row['kind']][0]}" for row in failing if (row["kind"], row["what"]) not in of_both]
    if said:
        share = 0.7 if _links_passed(slow) > _links_passed(fast) else 0.3
        yield share, f"--faults has {listed(list(dict.fromkeys(said)), MOST_NAMED)}: {_hops(slow, fast)}"


def _placement(slow: Run, fast: Run) -> Iterator[Suspect]:
    """Ranks on other nodes; what that changes is how far packets go, and how many ranks share an interface."""
    if len(slow.ranks) != len(fast.ranks) or _asked(slow, "machine.topology.") != _asked(fast, "machine.topology."):
        return
    moved = int((slow.ranks["node_name"] != fast.ranks["node_name"]).sum())
    if not moved:
        return
    maps = [run.summary["run"].get("map") for run in (slow, fast)]
    by = f" (--map {maps[0]} instead of {maps[1]})" if None not in maps and maps[0] != maps[1] else ""
    shared = [int(run.ranks["node"].value_counts()["count"].max()) for run in (slow, fast)]  # type: ignore[arg-type]
    why = _hops(slow, fast)
    if shared[0] > shared[1]:
        crowded = f"up to {counted(shared[0], 'rank')} share a node's interface instead of {shared[1]}"
        near = _links_passed(slow) < _links_passed(fast)
        why = f"{crowded}, although {why}" if near else f"{why}, and {crowded}"
    yield 0.8, f"{moved} of {counted(len(slow.ranks), 'rank')} are placed on other nodes{by}: {why}"


def _work(slow: Run, fast: Run) -> Iterator[Suspect]:
    """More messages or bytes."""
    messages, sent = ([float(run.summary[name]) for run in (slow, fast)] for name in ("messages", "message_bytes"))
    share = max((abs(own / other - 1) if other else 1.0) if own != other else 0.0 for own, other in (messages, sent))
    if share:
        counts = f"{messages[0]:.0f} messages of {bytes_text(sent[0])} in all instead of {messages[1]:.0f} of {bytes_text(sent[1])}"
        yield min(share, 0.6), f"ranks send {counts}"


def _machine(slow: Run, fast: Run) -> Iterator[Suspect]:
    """Another topology, or other keys of the machine; those that follow from a plan of faults, or say that links are
    faster, are of no interest."""
    own, other = (_asked(run, "machine.") for run in (slow, fast))
    differ = [key for key in own | other if own.get(key) != other.get(key) and key != "name"]
    differ = [key for key in differ if not _faster(key, own.get(key), other.get(key))]
    if any(key.startswith("topology.") for key in differ):
        names = [f"{keys['name']} ({keys['topology.kind']})" for keys in (own, other)]
        yield 0.7, f"the topology is another, {names[0]} instead of {names[1]}: {_hops(slow, fast)}"
    elif differ and not any(key.startswith("faults") for key in differ):
        yield 0.5, f"the machine differs: {listed(_instead(differ, own, other), MOST_NAMED)}"


def _faster(key: str, own: str | None, other: str | None) -> bool:
    """Whether a key says that links take less time."""
    return key.startswith("links.") and key.endswith("_ps") and None not in (own, other) and float(own or 0) < float(other or 0)


def _request(slow: Run, fast: Run) -> Iterator[Suspect]:
    """Other options of the run."""
    differ = list(options.differing(slow, fast))
    if differ:
        share = 0.75 if differ[0][0] in options.TRAFFIC else 0.45
        yield share, f"the run was asked for differently: {listed([f'{option} {values}' for option, values in differ], MOST_NAMED)}"
    elif not options.alike(slow, fast):
        how = ("replayed from a trace", "run")
        own, other = how if options.replayed(slow) else reversed(how)
        yield 0.2, f"the program is {own} instead of {other}"


def _asked(run: Run, part: str) -> dict[str, str]:
    return {key.removeprefix(part): text for key, text in asked(run.summary).items() if key.startswith(part)}


def _instead(keys: list[str], own: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return [f"{key} {own.get(key, 'none')} instead of {other.get(key, 'none')}" for key in keys]


def _hops(slow: Run, fast: Run) -> str:
    own, other = (_links_passed(run) for run in (slow, fast))
    return f"packets take {own:.2f} hops each instead of {other:.2f}"


def _links_passed(run: Run) -> float:
    return float(run.summary["packet_hops"] / max(run.summary["packets"], 1))
