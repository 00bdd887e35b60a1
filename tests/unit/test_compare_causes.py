# SPDX-License-Identifier: Apache-2.0
"""Are likely causes named by their own evidence, and nothing where there is none?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import synthetic_meta, synthetic_run

from exanet import results
from exanet.compare.causes import causes
from exanet.results import Run

MS = 10**9

Change = Callable[[dict[str, Any], dict[str, Any]], None]


def run(folder: Path, *, longer_ps: int, change: Change | None = None) -> Run:
    """The synthetic run, longer by that time, with a change of its results and of what was asked for."""
    given, meta = synthetic_run(), {**synthetic_meta(), "compute": "off"}
    given["summary"]["virtual_ps"] += longer_ps
    if change is not None:
        change(given, meta)
    return results.load(results.write(folder, given, meta))


def late(ranks: dict[int, int], everyone_ps: int = 0) -> Change:
    """These ranks, and everyone, compute longer by that many ps."""

    def change(given: dict[str, Any], meta: dict[str, Any]) -> None:
        given["ranks"]["compute_ps"] = given["ranks"]["compute_ps"] + everyone_ps
        for rank, by_ps in ranks.items():
            given["ranks"]["compute_ps"][rank] += by_ps

    return change


def slow_links(links: list[int], times: int) -> Change:
    def change(given: dict[str, Any], meta: dict[str, Any]) -> None:
        busy = given["links"]["busy_ps"]
        busy[links] = busy[links] * times

    return change


def lost(given: dict[str, Any], meta: dict[str, Any]) -> None:
    end = given["summary"]["virtual_ps"]
    given |= {"lost_packets": 7, "failed_operations": 1}
    given["faults"] = {name: [value] for name, value in (("time_ps", end // 2), ("node", 1), ("port", 0), ("up", 0), ("kind", "state"))}
    given["faults"]["what"] = ["(1) X+"]


def more_messages(given: dict[str, Any], meta: dict[str, Any]) -> None:
    given["summary"]["messages"] *= 2


def moved(given: dict[str, Any], meta: dict[str, Any]) -> None:
    given["ranks"]["node"] = given["ranks"]["node"][::-1].copy()
    given["summary"]["packet_hops"] *= 3
    meta["map"] = "random"


def other_machine(given: dict[str, Any], meta: dict[str, Any]) -> None:
    meta["machine"] = {**meta["machine"], "router": {"latency_cycles": 9}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (late({5: 10 * MS}), ["rank 5 is late: it computes 10.0 ms longer, and the others wait"]),
        (late({5: 10 * MS, 9: 8 * MS}), ["ranks 5, 9 are late: they compute up to 10.0 ms longer, and the others wait"]),
        (
            late({5: 10 * MS}, 2 * MS),
            ["rank 5 is late: it computes 10.0 ms longer, and the others wait", "ranks compute 2.00 ms longer in the median"],
        ),
        (late({}, 9 * MS), ["ranks compute 9.00 ms longer in the median"]),
        (late({5: MS // 2}), []),
        (lost, ["7 packets more lost and 1 operation failed ((1) X+)"]),
        (other_machine, ["the machine differs: router.latency_cycles 9 instead of none"]),
        (None, []),
    ],
)
def test_a_cause_is_named_by_its_own_evidence(tmp_path: Path, change: Change | None, said: list[str]) -> None:
    fast, slow = run(tmp_path / "fast", longer_ps=0), run(tmp_path / "slow", longer_ps=10 * MS, change=change)
    assert causes(slow, fast) == said
    assert causes(fast, slow) == [], "it takes less"


def test_a_placement_is_named_with_what_it_changes(tmp_path: Path) -> None:
    fast, slow = run(tmp_path / "fast", longer_ps=0), run(tmp_path / "slow", longer_ps=10 * MS, change=moved)
    (said,) = causes(slow, fast)
    assert said.startswith("64 of 64 ranks are placed on other nodes (--map random instead of linear): packets take ")
    assert "interface" not in said, "as many ranks share one"


def test_work_is_named_by_messages(tmp_path: Path) -> None:
    fast, slow = run(tmp_path / "fast", longer_ps=0), run(tmp_path / "slow", longer_ps=10 * MS, change=more_messages)
    (said,) = causes(slow, fast)
    assert said.startswith("ranks send 952320 messages of ") and " instead of 476160 of " in said


def test_slow_links_are_counted(tmp_path: Path) -> None:
    fast = run(tmp_path / "fast", longer_ps=0)
    used = [link for link, packets in enumerate(synthetic_run()["links"]["packets"]) if packets > 0]
    most = sorted(used, key=lambda link: -synthetic_run()["links"]["busy_ps"][link])
    one = causes(run(tmp_path / "one", longer_ps=10 * MS, change=slow_links(most[:1], 4)), fast)
    assert len(one) == 1 and " is slow: it takes 4 times as long for each byte" in one[0]
    every = causes(run(tmp_path / "all", longer_ps=10 * MS, change=slow_links(used, 4)), fast)
    assert len(every) == 1 and every[0].startswith(f"{len(used)} links are slow, first ")


def failing(kind: str, link: int) -> Change:
    """That link fails from the first moment on."""

    def change(given: dict[str, Any], meta: dict[str, Any]) -> None:
        node, port = given["links"]["node"][link], given["topology"]["port_name"][link]
        given["faults"] = {name: [value] for name, value in (("time_ps", 0), ("node", 1), ("port", 0), ("up", 0), ("kind", kind))}
        given["faults"]["what"] = [f"{given['topology']['node_name'][node]} {port}"]

    return change


def both(*changes: Change) -> Change:
    return lambda given, meta: [change(given, meta) for change in changes] and None


def unused(links: list[int]) -> Change:
    def change(given: dict[str, Any], meta: dict[str, Any]) -> None:
        for name in ("packets", "payload_bytes", "busy_ps"):
            given["links"][name][links] = 0

    return change


def busiest() -> tuple[int, str]:
    """Its number, and its end's name."""
    links = synthetic_run()["links"]["busy_ps"]
    link = int(links.argmax())
    topology = synthetic_run()["topology"]
    return link, f"{topology['node_name'][synthetic_run()['links']['node'][link]]} {topology['port_name'][link]}"


def test_a_link_that_only_the_slow_run_uses_may_be_slow(tmp_path: Path) -> None:
    link, name = busiest()
    fast = run(tmp_path / "fast", longer_ps=0, change=unused([link]))
    slow = run(tmp_path / "slow", longer_ps=10 * MS, change=both(failing("slow", link), moved))
    first, second = causes(slow, fast)
    assert first.startswith(f"link {name} → ") and " is slow (--faults makes it slow at 0 s), and busy for " in first
    assert second.startswith("64 of 64 ranks are placed on other nodes")


def test_a_link_that_is_down_is_named_with_the_way_around_it(tmp_path: Path) -> None:
    link, name = busiest()
    fast = run(tmp_path / "fast", longer_ps=0)

    def around(given: dict[str, Any], meta: dict[str, Any]) -> None:
        given["summary"]["packet_hops"] *= 2

    (said,) = causes(run(tmp_path / "slow", longer_ps=10 * MS, change=both(failing("state", link), around)), fast)
    assert said.startswith(f"--faults has {name} down: packets take ")
    same = run(tmp_path / "same", longer_ps=0, change=failing("state", link))
    assert causes(run(tmp_path / "both", longer_ps=10 * MS, change=failing("state", link)), same) == []


def test_links_that_are_faster_make_nothing_slower(tmp_path: Path) -> None:
    def links(name: str, word_ps: int) -> Change:
        def change(given: dict[str, Any], meta: dict[str, Any]) -> None:
            meta["machine_name"] = name
            meta["machine"] = {**meta["machine"], "name": name, "links": [{"name": "inter", "word_time_ps": word_ps}]}

        return change

    slow_links, fast_links = links("a", 64000), links("b", 6400)
    slow = run(tmp_path / "slow", longer_ps=10 * MS, change=both(fast_links, moved))
    (said,) = causes(slow, run(tmp_path / "fast", longer_ps=0, change=slow_links))
    assert said.startswith("64 of 64 ranks are placed on other nodes (--map random instead of linear): ")
    slower = run(tmp_path / "slower", longer_ps=10 * MS, change=slow_links)
    differs = "the machine differs: links.inter.word_time_ps 64000 instead of 6400"
    assert causes(slower, run(tmp_path / "usual", longer_ps=0, change=fast_links)) == [differs]


def test_smaller_packets_make_no_link_slow(tmp_path: Path) -> None:
    def smaller(given: dict[str, Any], meta: dict[str, Any]) -> None:
        for name in ("packets", "busy_ps"):
            given["links"][name] = given["links"][name] * 2

    fast, slow = run(tmp_path / "fast", longer_ps=0), run(tmp_path / "slow", longer_ps=10 * MS, change=smaller)
    assert causes(slow, fast) == []


def test_measured_computing_is_said_to_vary(tmp_path: Path) -> None:
    def measured(given: dict[str, Any], meta: dict[str, Any]) -> None:
        late({5: 10 * MS})(given, meta)
        meta["compute"] = "measured"

    said = causes(run(tmp_path / "slow", longer_ps=10 * MS, change=measured), run(tmp_path / "fast", longer_ps=0))
    assert said[0].endswith("the others wait (measured computing: it varies from run to run)")


RECORDED = {"compute": "off", "mpi": "MPICH"}
REPLAY = {"trace": "t", "compute": "1 of the recorded", "mpi": "MPICH, replayed", "rules": ["mpich"], "collectives": {}}
REPLAY |= {"recorded": RECORDED}
RUN = {"fabric": "model", "compute": "off", "mpi": "MPICH"}


@pytest.mark.parametrize(
    ("slow", "fast", "said"),
    [
        ({"rules": ["open-mpi"]}, {}, "the run was asked for differently: rules open-mpi instead of mpich"),
        (
            {"collectives": {"allreduce": "ring", "bcast": "LLF"}},
            {},
            "the run was asked for differently: collectives allreduce=ring,bcast=LLF instead of none",
        ),
        ({}, {"collectives": {"allreduce": "ring"}}, "the run was asked for differently: collectives none instead of allreduce=ring"),
        ({"jobs": ["alltoall:ranks=4"]}, {}, "the run was asked for differently: jobs alltoall:ranks=4 instead of none"),
        (
            {"recorded": {"compute": "measured"}, "compute": "2 of the recorded"},
            {"recorded": {"compute": "measured"}},
            "the run was asked for differently: compute 2 of the recorded instead of 1 of the recorded",
        ),
        ({"compute": "2 of the recorded"}, {}, None),  # of nothing
        ({"start_ps": 10**8}, {}, "the run was asked for differently: start 100 µs instead of none"),
        ({"collectives": {"allreduce": "ring"}}, RUN, "the run was asked for differently: collectives allreduce=ring instead of none"),
        (RUN, {"rules": ["open-mpi"]}, "the run was asked for differently: rules mpich instead of open-mpi"),
        (RUN | {"fabric": "gateware"}, {}, "the run was asked for differently: fabric gateware instead of model"),
        (RUN | {"compute": "2"}, {}, "the run was asked for differently: compute 2 instead of 1 of the recorded"),
        (
            {"mpi": "Open MPI, replayed", "rules": ["open-mpi"], "recorded": {"compute": "2"}},
            RUN | {"compute": "2", "mpi": "Open MPI 4"},
            "the program is replayed from a trace instead of run",
        ),
        (RUN | {"mpi_calls": "simulated"}, {}, "the program is run instead of replayed from a trace"),
        (RUN | {"mpi_calls": "simulated"}, RUN, "the run was asked for differently: mpi_calls simulated instead of library"),
    ],
)
def test_options_are_named_by_what_they_stand_for(tmp_path: Path, slow: dict[str, Any], fast: dict[str, Any], said: str | None) -> None:
    def asked(options: dict[str, Any]) -> Change:
        return lambda given, meta: meta.update(options if "fabric" in options else REPLAY | options)

    runs = [run(tmp_path / name, longer_ps=(name == "slow") * 10 * MS, change=asked(of)) for name, of in (("slow", slow), ("fast", fast))]
    assert causes(*runs) == [said] * bool(said)
