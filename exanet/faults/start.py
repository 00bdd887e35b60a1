# SPDX-License-Identifier: Apache-2.0
"""The file that `exanet faults new` writes: an example with a comment on each key, of a machine's own links."""

from __future__ import annotations

from pathlib import Path

from exanet import _core
from exanet.errors import InputError
from exanet.machine import Machine

_START = """\
# What fails in a run on {machine}, and when. docs/faults.md describes the file.
# Check it:   exanet faults check {file} -m {machine}
# Use it:     exanet run, replay, sim load, sim messages and sim jobs take --faults {file}
# Times are virtual and have units. docs/topologies.md describes the names of nodes and links, e.g. "{link}".

reaction: 10 us              # time until routes by tables avoid a link that is down; adaptive routing avoids it at once
# lofamo:                    # on a torus or mesh, in place of constants: LO|FA|MO's watchdogs and facts
#   period: 1 ms             # of the watchdogs
#   master: "{node}"         # the node that decides; or `service`, the latency of a network to a master outside
#   policy: reroute          # or report, or exclude

events:
  - at: 100 us               # a link is cut, and works again
    down: "{link}"
    for: 100 us              # without this key the link stays down until an event with `up`
  - at: 1 ms                 # a flapping link: it goes down 5 times, for a quarter of each period
    down: "{other}"
    for: 5 us
    period: 20 us
    count: 5
  - at: 2 ms                 # a node fails with all of its links
    down: "{node}"
  - at: 3 ms
    up: "{node}"
  # - at: 4 ms               # a link loses single packets, drawn from a seed
  #   lossy: "{link}"
  #   bit_errors: 1e-9       # or lost_packets: 0.001, the share of packets
  #   for: 1 ms
  # - at: 4 ms               # a link loses half of its lanes
  #   slow: "{link}"
  #   rate: 0.5
  # - at: 5 ms               # random links fail: their number, and a seed
  #   down: links:2:1

# drawn:                     # failures of all links (or nodes), at a mean rate
#   - what: links
#     mtbf: 100 ms           # mean time between a repair and the next failure of a link
#     repair: 50 us          # mean time until it works again
#     until: 10 ms
#     seed: 1
"""


def write(text: str, described: Machine) -> Path:
    """Writes the file `text`, or `text`.yaml, for the machine. Raises InputError where there is one, or it cannot
    be."""
    path = Path(text if text.endswith((".yaml", ".yml")) else f"{text}.yaml")
    content = example(described, str(path))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise InputError(f"faults new {text}: {path} is there already; choose another name, or take the file away") from None
    except (OSError, ValueError) as error:
        raise InputError(f"faults new {text}: cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
    return path


def example(described: Machine, file: str) -> str:
    """The text for links of the machine: between routers where there are two of these."""
    drawing = _core.topology_drawing(described.resolve())
    names = [str(name) for name in drawing["node_name"]]
    ends = [tuple(int(end) for end in pair) for pair in drawing["links"]]
    switches = len(names) > drawing["endpoints"]
    first_router = int(drawing["endpoints"]) if switches else 0
    found = [f"{names[near]} {port}" for (near, far), port in zip(ends, drawing["port_name"], strict=True) if first_router <= near < far]
    if not found:
        raise InputError(f"faults new: {described.name} has no links between routers; choose a larger machine")
    return _START.format(machine=described.name, file=file, link=found[0], other=found[len(found) // 2], node=names[-1])
