# SPDX-License-Identifier: Apache-2.0
"""Broadcasts along trees that know the network, alone and beside molecular dynamics under three mappings.

python examples/broadcast_trees.py trees                      # RED-SEA D1.4, figure 49: binary tree, GLF, LLF, hardware
python examples/broadcast_trees.py interference -o beside      # figure 52: blocks of nodes, switches and nodes in turn

Both traces are written, not recorded (exanet/trace/written.py). That of molecular dynamics stands for GROMACS, whose
own is not published.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from exanet import replay, results
from exanet.directory import result_directory
from exanet.errors import InputError
from exanet.progress import share_done
from exanet.results import programs, report
from exanet.trace import rules
from exanet.trace.written import GRID, broadcasts, molecular_dynamics

MAPPINGS = {"round-robin": "blocks", "switch": "switches", "node": "nodes"}

# By what is asked: bytes of a broadcast, how many, and their algorithms.
DEFAULTS = {"trees": (1_000_000, 100, "binary,GLF,LLF,hardware"), "interference": (25_000, 500, "LLF,hardware")}


def trees(machine: str, ranks: int, count: int, size: int, algorithms: Sequence[str]) -> dict[str, float]:
    """Prints and returns the milliseconds that the broadcasts take, by algorithm."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        trace = broadcasts(Path(folder) / "broadcasts", ranks, count, size)
        for algorithm in algorithms:
            options = replay.Options((trace,), machine, mapping="round-robin", collectives={"bcast": algorithm})
            with share_done(algorithm, False) as progress:
                measured, _ = replay.replay(options, progress)
            found[algorithm] = measured["summary"]["virtual_ps"] * 1e-9
            against = found[algorithms[0]] / found[algorithm]
            print(f"{algorithm:<14}{found[algorithm]:>10.2f} ms{against:>8.2f} times as fast as {algorithms[0]}", flush=True)
    return found


def interference(
    machine: str, count: int, size: int, steps: int, algorithms: Sequence[str], output: Path | None = None
) -> dict[tuple[str, str], list[float]]:
    """Prints and returns how much the two slow each other, by algorithm and mapping.

    The results of each case, with a page, are left in a folder of its own below `output`.
    """
    found = {}
    ranks = math.prod(GRID)
    cases = [(algorithm, mapping, unit) for algorithm in algorithms for mapping, unit in MAPPINGS.items()]
    places = [result_directory("run", output / f"{algorithm}-{unit}") if output else None for algorithm, _, unit in cases]
    print(f"{'broadcasts by':<15}{'in turn':<10}{'broadcasts':>14}{'slow-down':>11}{'dynamics':>14}{'slow-down':>11}")
    with tempfile.TemporaryDirectory() as folder:
        traces = (broadcasts(Path(folder) / "broadcasts", ranks, count, size), molecular_dynamics(Path(folder) / "dynamics", steps))
        for (algorithm, mapping, unit), place in zip(cases, places, strict=True):
            options = replay.Options(traces, machine, mapping=mapping, collectives={"bcast": algorithm}, alone=True)
            with share_done(f"{algorithm}, {unit}", False) as progress:
                measured, meta = replay.replay(options, progress)
            rows = measured["programs"]
            found[algorithm, mapping] = [row["slowdown"] for row in rows]
            shown = "".join(f"{row['took_ps'] * 1e-9:>11.2f} ms{row['slowdown']:>11.3f}" for row in rows)
            print(f"{algorithm:<15}{unit:<10}{shown}", flush=True)
            if place is None:
                continue
            for row, trace in zip(rows, traces, strict=True):
                row["name"] = trace.name  # without the temporary folder that it stands in
            kept = meta | {"trace": [trace.name for trace in traces], "program": ["broadcasts and dynamics"]}
            report.write(results.write(place, measured, kept, tables=programs.tables(measured, kept)))
    return found


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': give a whole number from 1")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=tuple(DEFAULTS))
    parser.add_argument("--machine", default="dragonfly-342", help="name or file (default: dragonfly-342)")
    parser.add_argument("--ranks", type=_positive, default=342, help="of trees, one a node (default: 342)")
    parser.add_argument("--broadcasts", type=_positive, help="one after the other (default: 100; of interference 500)")
    parser.add_argument("--message", type=_positive, help="bytes of each (default: 1 MB; of interference 25 KB)")
    parser.add_argument("--steps", type=_positive, default=20, help="of molecular dynamics (default: 20)")
    parser.add_argument("--algorithms", help="of the broadcasts (default: binary,GLF,LLF,hardware; of interference LLF,hardware)")
    parser.add_argument("-o", "--output", type=Path, help="of interference: a folder for the results of each, with a page that draws them")
    given = parser.parse_args()
    size, count, algorithms = DEFAULTS[given.what]
    size, count = given.message or size, given.broadcasts or count
    if given.what == "trees" and given.output is not None:
        parser.error("-o: trees leave no results but what they print; leave it out")
    try:
        chosen = [
            algorithm for name in (given.algorithms or algorithms).split(",") for algorithm in rules.choices(f"bcast={name}").values()
        ]
        if given.what == "trees":
            trees(given.machine, given.ranks, count, size, chosen)
        else:
            interference(given.machine, count, size, given.steps, chosen, given.output)
    except InputError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
