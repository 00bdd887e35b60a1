# SPDX-License-Identifier: Apache-2.0
"""Does a program survive a link that is cut and comes back, where its interfaces retransmit, and learn of it where
they do not?"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import warm

from .conftest import Finished, Runner, Stack

CUT = """\
events:
  - at: 20 us
    down: qfdb(0,0,0).F1 F2
    for: 100 us
"""
FAR = "reaction: 1 s\n"  # nothing goes round the link while it is down
ROUND_PS = 256 * 64 * 6400
"""Of the retransmission scan of transfers: 64 cycles of 6.4 ns for each of 256 channels
(docs/gateware/transfers.md)."""
SPREAD = ("--compute", "off", "--map", "round-robin")


END_TO_END = """\
extends: exanest
name: exanest-end-to-end
description: interfaces of constants that retransmit
ni: {reliability: end-to-end}
"""
LOSSY = """\
events:
  - at: 0 s
    lossy: qfdb(0,0,0).F1
    lost_packets: 0.01
"""
TIMEOUT_PS = 100_000_000
"""The first timeout where the machine says none (docs/reference/machine-files.md)."""


def cut(run: Runner, stack: Stack, program: Path, folder: Path, machine: str, text: str, code: int | None = 0) -> Finished:
    options = list(SPREAD)
    if text:
        file = folder / "cut.yaml"
        file.write_text(text)
        options += ["--faults", str(file)]
    return run(stack, 2, [program], machine=machine, options=options, code=code, timeout=120)


def test_interfaces_that_retransmit_hide_a_cut(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> None:
    program = compiled("cut")
    whole = cut(exanet_run, stack, program, tmp_path, "exanest-ni", "")
    broken = cut(exanet_run, stack, program, tmp_path, "exanest-ni", FAR + CUT)
    again = cut(exanet_run, stack, program, tmp_path, "exanest-ni", FAR + CUT)
    assert whole.output.strip() == broken.output.strip() == "wrong 0"
    assert "lost_packets" not in whole.summary
    assert broken.summary["lost_packets"] > 0
    assert broken.summary["failed_operations"] == 0
    waited = broken.summary["virtual_ps"] - whole.summary["virtual_ps"]
    assert 62 * ROUND_PS < waited < 65 * ROUND_PS, "one timeout of a block: 63 rounds where the network keeps order"
    table = pl.read_parquet(broken.folder / "faults.parquet")
    assert table.select("time_ps", "what", "up").rows() == [
        (20_000_000, "qfdb(0,0,0).F1 F2", False),
        (120_000_000, "qfdb(0,0,0).F1 F2", True),
    ]
    assert (broken.folder / "summary.json").read_bytes() == (again.folder / "summary.json").read_bytes()


def test_interfaces_of_constants_report_rank_node_and_time(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    broken = cut(exanet_run, stack, compiled("cut"), tmp_path, "exanest", FAR + CUT, code=None)
    assert broken.code not in (0, 9)
    said = re.search(
        r"what had failed first on the network: rank [01] on node [01](, in MPI_\w+)? at (\d+)\.\d{3} us: "
        r"(send to|receive from) rank [01], \d+ bytes, failed: ",
        broken.errors,
    )
    assert said, broken.errors
    assert 20 <= int(said[2]) < 121
    assert broken.summary["lost_packets"] > 0
    assert broken.summary["failed_operations"] > 0


def test_what_fails_after_the_end_costs_nothing(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> None:
    whole = cut(exanet_run, stack, compiled("cut"), tmp_path, "exanest", "")
    late = cut(exanet_run, stack, compiled("cut"), tmp_path, "exanest", "events:\n  - {at: 1 s, down: links:1:1}\n")
    assert late.output == whole.output
    assert late.summary["virtual_ps"] == whole.summary["virtual_ps"]
    assert late.summary["lost_packets"] == 0


def test_end_to_end_reliability_hides_a_cut_and_lost_packets(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program, machine = compiled("cut"), tmp_path / "machine.yaml"
    machine.write_text(END_TO_END)
    whole = cut(exanet_run, stack, program, tmp_path, str(machine), "")
    assert "retransmitted_packets" not in whole.summary
    for text, least in ((FAR + CUT, TIMEOUT_PS), (LOSSY, TIMEOUT_PS)):
        broken, again = (cut(exanet_run, stack, program, tmp_path, str(machine), text) for _ in range(2))
        assert whole.output.strip() == broken.output.strip() == "wrong 0"
        assert broken.summary["lost_packets"] > 0
        assert broken.summary["failed_operations"] == broken.summary["given_up_packets"] == 0
        assert broken.summary["retransmitted_packets"] >= broken.summary["duplicate_packets"]
        waited = broken.summary["virtual_ps"] - whole.summary["virtual_ps"]
        assert waited > least, "nothing goes again before a timeout"
        assert (broken.folder / "summary.json").read_bytes() == (again.folder / "summary.json").read_bytes()
    late = cut(exanet_run, stack, program, tmp_path, str(machine), "events:\n  - {at: 1 s, down: links:1:1}\n")
    assert late.summary["virtual_ps"] == whole.summary["virtual_ps"]
    assert late.summary["retransmitted_packets"] == 0


IMPAIRED = """\
events:
  - at: 0 s
    impaired: all
    corrupted_packets: 0.01
    duplicated_packets: 0.01
    reordered_packets: 0.01
    delay: 3 us
"""


def test_end_to_end_reliability_hides_packets_that_come_wrong_twice_or_late(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program, machine = compiled("cut"), tmp_path / "machine.yaml"
    machine.write_text(END_TO_END)
    impaired, again = (cut(exanet_run, stack, program, tmp_path, str(machine), IMPAIRED) for _ in range(2))
    assert impaired.output.strip() == "wrong 0"
    assert impaired.summary["corrupted_packets"] > 0
    assert impaired.summary["duplicate_packets"] > 0
    assert impaired.summary["retransmitted_packets"] >= impaired.summary["corrupted_packets"] > 0
    assert impaired.summary["failed_operations"] == impaired.summary["given_up_packets"] == 0
    for name in ("summary.json", "fault_costs.parquet"):
        assert (impaired.folder / name).read_bytes() == (again.folder / name).read_bytes()


def test_corrupted_packets_fail_their_operations_where_nothing_retransmits(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    text = "events:\n  - {at: 0 s, impaired: all, corrupted_packets: 0.05}\n"
    broken = cut(exanet_run, stack, compiled("cut"), tmp_path, "exanest", text, code=None)
    assert broken.code not in (0, 9)
    assert "a packet of it arrived with wrong bits, and nothing retransmits it" in broken.errors


def test_a_node_whose_interface_stops_learns_of_it_and_so_do_others(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    text = "events:\n  - {at: 20 us, interface: 'qfdb(0,0,0).F1'}\n"
    broken = cut(exanet_run, stack, compiled("cut"), tmp_path, "exanest", text, code=None)
    assert broken.code not in (0, 9)
    assert "failed: a node that it needs is down" in broken.errors


def test_what_a_cut_costs_is_counted_between_changes(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    program, machine = compiled("cut"), tmp_path / "machine.yaml"
    machine.write_text(END_TO_END)
    broken = cut(exanet_run, stack, program, tmp_path, str(machine), FAR + CUT)
    costs = pl.read_parquet(broken.folder / "fault_costs.parquet")
    assert costs["from_ps"].to_list() == [0, 20_000_000, 120_000_000]
    assert costs["to_ps"].to_list() == [20_000_000, 120_000_000, broken.summary["virtual_ps"]]
    assert costs["lost_packets"].sum() == costs["lost_packets"][1] == broken.summary["lost_packets"] > 0
    assert costs["retransmitted_packets"].sum() == broken.summary["retransmitted_packets"]
    assert costs["retransmitted_packets"][0] == 0
    # Both ranks wait while the link is cut, but for what was on its way.
    assert 0.9 * 200_000_000 < costs["waited_ps"][1] <= 200_000_000


def test_end_to_end_reliability_gives_up_what_never_comes(
    exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    machine = tmp_path / "machine.yaml"
    machine.write_text(END_TO_END.replace("end-to-end}", "end-to-end, retransmission_timeout: 20 us, retransmission_tries: 3}"))
    gone = FAR + CUT.replace("    for: 100 us\n", "")
    broken = cut(exanet_run, stack, compiled("cut"), tmp_path, str(machine), gone, code=None)
    assert broken.code not in (0, 9)
    assert "failed: it was given up after its last retransmission timed out" in broken.errors
    assert broken.summary["given_up_packets"] > 0
    assert 20e6 * 15 < broken.summary["virtual_ps"] < 20e6 * 64


def test_a_replay_draws_what_its_run_drew(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path], tmp_path: Path) -> None:
    """Each packet of a node has its number in both, as long as ranks do not post at the same time."""
    program, machine, faults = compiled("cut"), tmp_path / "machine.yaml", tmp_path / "faults.yaml"
    machine.write_text(END_TO_END)
    faults.write_text("events:\n  - {at: 0 s, impaired: all, corrupted_packets: 0.05, duplicated_packets: 0.01, seed: 4}\n")
    drawn = ("--map", "round-robin", "--faults", str(faults))
    run = exanet_run(stack, 2, [program, "apart"], machine=str(machine), options=("--compute", "off", *drawn, "--record", "trace"))
    words = ["replay", "trace", "-m", str(machine), *drawn, "-q", "--no-report", "-o", "replayed"]
    done = warm.exanet(words, dict(os.environ), tmp_path, 120)
    assert done.returncode == 0, done.stderr
    replayed = json.loads((tmp_path / "replayed" / "summary.json").read_text())
    assert run.summary["corrupted_packets"] > 100
    for key in ("virtual_ps", "packets", "corrupted_packets", "retransmitted_packets", "duplicate_packets"):
        assert replayed[key] == run.summary[key], key
