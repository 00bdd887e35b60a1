# SPDX-License-Identifier: Apache-2.0
"""Traffic matrices from files: who sends to whom, and what is no matrix."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from exanet import cli, machine, sim
from exanet.errors import InputError

RING = "torus:4"
ASKED = {"measure_ps": 3_000_000}


def small() -> machine.Machine:
    return sim.variant("torus-512", RING, None, [])


def sent(traffic: str, **spec: object) -> dict[int, int]:
    """Packets by link's source node, and how many endpoints send."""
    point = sim.simulate(small(), offered=0.2, spec=sim.TrafficSpec(traffic=traffic, **{**ASKED, **spec}))  # type: ignore[arg-type]
    used: dict[int, int] = {-1: point["senders"]}
    for node, packets in zip(point["links"]["node"], point["links"]["packets"], strict=True):
        used[int(node)] = used.get(int(node), 0) + int(packets)
    return used


def in_text(folder: Path, text: str) -> str:
    (folder / "m.csv").write_text(text)
    return f"matrix:{folder / 'm.csv'}"


def test_weights_say_who_sends_and_zero_rows_are_silent(tmp_path: Path) -> None:
    # 0 sends to its neighbour 1 alone, 2 to 3: the nodes 1 and 3 put nothing on a link.
    used = sent(in_text(tmp_path, "# from row to column\n0,5,0,0\n0,0,0,0\n\n0,0,0,0.25\n0,0,0,0\n"))
    assert used[-1] == 2
    assert used[0] > 0 and used[2] > 0 and used[1] == used[3] == 0


def test_text_and_numpy_are_the_same(tmp_path: Path) -> None:
    weights = np.array([[0, 1, 2, 3], [1, 0, 0, 0.1], [7, 0, 0, 0], [0, 0, 0, 0]])
    np.save(tmp_path / "m.npy", weights)
    np.save(tmp_path / "i.npy", weights.astype(np.int32))
    np.savetxt(tmp_path / "m.txt", weights)
    np.savetxt(tmp_path / "m.csv", weights, delimiter=", ")
    found = [sent(f"matrix:{tmp_path / name}") for name in ("m.npy", "m.txt", "m.csv")]
    assert found[0] == found[1] == found[2]
    assert sent(f"matrix:{tmp_path / 'i.npy'}")[-1] == 3


def test_rows_are_scaled_to_the_load(tmp_path: Path) -> None:
    even = in_text(tmp_path, "0 1 1 1\n1 0 1 1\n1 1 0 1\n1 1 1 0\n")
    once = sent(even)
    assert once == sent(in_text(tmp_path, "0 9 9 9\n1 0 1 1\n.5 .5 0 .5\n1e5 1e5 1e5 0\n"))
    point = sim.simulate(small(), offered=0.2, spec=sim.TrafficSpec(traffic=even, measure_ps=30_000_000))
    assert point["offered_load"] == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_messages_take_matrices_at_both_levels(tmp_path: Path, level: str) -> None:
    traffic = in_text(tmp_path, "0 1 0 0\n0 0 1 0\n0 0 0 0\n0 0 0 0\n")
    point = sim.simulate(small(), offered=0.0, spec=sim.TrafficSpec(traffic=traffic, level=level, message_bytes=4096))
    assert point["senders"] == point["created"] == point["measured"] == 2


def rows(text: str) -> Callable[[Path], None]:
    return lambda file: file.write_text(text) and None


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("no.csv", lambda file: None, ":1:1: error: cannot be read as a matrix: No such file or directory; give a row of weights"),
        ("a.csv", rows(""), ":1:1: error: 0 rows, but the machine has 4 endpoints"),
        ("a.csv", rows("0 1 1 1\n" * 3), ":3:1: error: 3 rows, but the machine has 4 endpoints"),
        ("a.csv", rows("0,1\n" + "0,0,0,0\n" * 3), ":1:1: error: row 0 has 2 weights, but the machine has 4 endpoints"),
        ("a.csv", rows("a,b,c,d\n" + "0,0,0,0\n" * 3), ":1:1: error: 'a' is no number; give a row of weights for each endpoint, as CSV"),
        ("a.csv", rows("0,1,,0\n" + "0,0,0,0\n" * 3), ":1:1: error: '' is no number"),
        ("a.csv", rows("# x\n0,1,-1,0\n" + "0,0,0,0\n" * 3), ":2:1: error: row 0, to endpoint 2: -1 is no weight"),
        ("a.csv", rows("0,1,nan,0\n" + "0,0,0,0\n" * 3), ":1:1: error: row 0, to endpoint 2: nan is no weight"),
        ("a.csv", rows("0,1,inf,0\n" + "0,0,0,0\n" * 3), ":1:1: error: row 0, to endpoint 2: inf is no weight"),
        ("a.csv", rows("0,1,0,0\n0,2,0,0\n" + "0,0,0,0\n" * 2), ":2:1: error: row 1 has a weight to itself, 2; set it to 0"),
        ("a.csv", rows("0 0 0 0\n" * 4), ":1:1: error: all weights are 0: nobody sends anything"),
        ("a.csv", lambda file: file.write_bytes(b"\xff\xfe\x00"), ":1:1: error: cannot be read as a matrix: it is no such file"),
        ("a.npy", rows("0 0 0 0\n" * 4), ":1:1: error: cannot be read as a matrix: it is no such file"),
        ("a.npy", lambda file: np.save(file, np.ones(4)), ":1:1: error: an array of 1 dimensions of float64"),
        ("a.npy", lambda file: np.save(file, np.array([["a"]])), ":1:1: error: an array of 2 dimensions of <U1"),
        ("a.npy", lambda file: np.save(file, np.ones((4, 4))), ":1:1: error: row 0 has a weight to itself, 1"),
    ],
)
def test_what_is_no_matrix_is_one_message_with_its_place(tmp_path: Path, name: str, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / name)
    with pytest.raises(InputError) as refusal:
        sent(f"matrix:{tmp_path / name}")
    [reported] = refusal.value.messages
    assert reported.startswith(f"{tmp_path / name}{message}"), reported


def test_a_device_is_refused_before_it_is_read() -> None:
    with pytest.raises(InputError, match=r"^/dev/zero:1:1: error: a device, which may have no end"):
        sent("matrix:/dev/zero")


def test_a_name_without_a_file_is_refused() -> None:
    with pytest.raises(InputError, match="matrix:FILE"):
        sent("matrix")


def test_the_command_names_its_folder_after_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    np.savetxt("in/my mix.csv", 1 - np.eye(8))
    done = CliRunner().invoke(
        cli.app, ["sim", "-m", "torus-2x2x2", "--traffic", "matrix:in/my mix.csv", "--load", "0.1", "--measure", "3 us"]
    )
    assert done.exit_code == 0, done.output
    summary = json.loads(Path("exanet-sim-torus-2x2x2-matrix-my-mix-1/summary.json").read_text())
    assert summary["run"]["traffic"] == "matrix:in/my mix.csv"


def test_a_sweep_names_it_from_its_own_folder_and_takes_it_along(tmp_path: Path) -> None:
    from exanet.sweep.plan import read

    np.savetxt(tmp_path / "mix.csv", 1 - np.eye(8))
    file = tmp_path / "s.yaml"
    file.write_text("machine: torus-2x2x2\ntraffic: [uniform, 'matrix:mix.csv']\nload: [0.1]\n")
    uniform, mixed = read(file, {}).runs
    assert mixed.columns["traffic"] == f"matrix:{tmp_path}/mix.csv"
    assert mixed.spec["traffic"].startswith("matrix:[1 1.0,2 1.0,")
    first = mixed.key
    weights = 1 - np.eye(8)
    weights[0, 1] = 2
    np.savetxt(tmp_path / "mix.csv", weights)
    assert read(file, {}).runs[1].key != first and read(file, {}).runs[0].key == uniform.key
    (tmp_path / "mix.csv").write_text("0 1\n1 0\n")
    with pytest.raises(InputError, match=r"s\.yaml:2:20: error: .*mix\.csv:2:1: error: 2 rows, but the machine has 8 endpoints"):
        read(file, {})
