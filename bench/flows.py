# SPDX-License-Identifier: Apache-2.0
"""Times the flow level against SimGrid's: flows that begin together on a torus, a random permutation, until the last
has ended.

Rates are flows a second of user CPU time of the simulation alone; reading the flows and building the network are left
out on both sides. Messages are of unequal size, so that each end is an event of its own; in the `-equal` rows of equal
size. SimGrid runs its plain max-min model (bench/flows.cpp). 4096 flows of unequal size take it too long for a
benchmark, so that row stands beside its rate with 2048.

`python flows.py FILE` is our side of it.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from common import HERE, Failure, execute, tool

TORI = {512: (8, 8, 8), 2048: (16, 16, 8), 4096: (16, 16, 16)}
ROWS = {
    "flows-512": (512, 512),
    "flows-2048": (2048, 2048),
    "flows-4096": (4096, 2048),
    "flows-equal-2048": (2048, 2048),
    "flows-equal-4096": (4096, 4096),
}
"""Number of flows on our side, and on SimGrid's."""

PACKET_BYTES = 256
# payload of a link of torus-512: 38 link words a packet, a pause for 32 words
LINK_BYTES_PER_S = PACKET_BYTES / (38 * 33 / 32 * 6.4e-9)


def write_flows(path: Path, count: int, equal: bool) -> None:
    draw = random.Random(1)
    to = list(range(count))
    for i in range(count - 1, 0, -1):  # a permutation without a fixed point (Sattolo 1986)
        j = draw.randrange(i)
        to[i], to[j] = to[j], to[i]
    lines = [" ".join(map(str, (*TORI[count], LINK_BYTES_PER_S)))]
    lines += [f"{src} {dst} {1_000_000 if equal else draw.randrange(500_000, 1_500_000)}" for src, dst in enumerate(to)]
    path.write_text("\n".join(lines) + "\n")


def parse(output: str) -> tuple[float, float]:
    """Flows a second, and when they ended on average, in simulated seconds."""
    for line in output.splitlines():
        words = line.split()
        if len(words) == 5 and words[0] == "flows":
            return int(words[1]) / max(float(words[2]), 1e-9), float(words[4])
    raise Failure(f"the program printed no timing:\n{output}")


def compare(core: int, repeats: int, wanted: list[str], folder: Path) -> Iterator[dict[str, object]]:
    """A row for each number of flows, as bench/run.py writes them."""
    names = [name for name in ROWS if not wanted or any(name.startswith(beginning) for beginning in wanted)]
    if not names:
        return
    compiler = [tool("c++", "a C++ compiler"), "-std=c++17", "-O2", str(HERE / "flows.cpp"), "-o", "flows-simgrid", "-lsimgrid"]
    execute(compiler, cwd=folder)
    pinned = ["taskset", "-c", str(core)]
    for name in names:
        mine: list[float] = []
        theirs: list[float] = []
        ends: list[tuple[float, float]] = []
        for count in set(ROWS[name]):
            write_flows(folder / f"flows-{count}", count, "equal" in name)
        own, peer = (f"flows-{count}" for count in ROWS[name])
        for _ in range(repeats):
            rate, end = parse(execute([*pinned, sys.executable, str(HERE / "flows.py"), own], cwd=folder))
            peer_run = ["sh", "-c", f"./flows-simgrid --log=root.thresh:warning < {peer}"]
            peer_rate, peer_end = parse(execute([*pinned, *peer_run], cwd=folder))
            mine.append(rate)
            theirs.append(peer_rate)
            ends.append((end, peer_end))
        ours, other = statistics.median(mine), statistics.median(theirs)
        if own == peer and abs(ends[0][0] / ends[0][1] - 1) > 0.05:
            raise Failure(f"{name}: flows end after {ends[0][0]} s here and {ends[0][1]} s in SimGrid: these are not the same flows")
        figures = {"ours": round(ours, 1), "unit": "flows/s", "peer": f"SimGrid CM02, {peer}", "peer_value": round(other, 1)}
        yield {"name": name, **figures, "ratio": round(ours / other, 1)}


def run(path: Path) -> None:
    """Our side: the same flows, one by one, on a torus of torus-512's routers and links."""
    from exanet import _core, machine

    header, *rows = (line.split() for line in path.read_text().splitlines())
    described = machine.load("torus-512").resolve()
    described["topology"]["shape"] = [int(side) for side in header[:3]]
    flows = _core.Flows(described, PACKET_BYTES, 1000)
    for src, dst, size in rows:
        flows.add(int(src), int(dst), int(size), 0, [])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    flows.run()
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    ended = flows.results()["finished_ps"] * 1e-12
    print(f"flows {len(rows)} {spent:.6f} {ended.max():.9f} {ended.mean():.9f}")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
