# SPDX-License-Identifier: Apache-2.0
"""The file that `exanet machines new` writes: a network with a comment on each key, which sim, sweep and check take
as it is."""

from __future__ import annotations

from pathlib import Path

from exanet.errors import InputError
from exanet.machine import htsim
from exanet.machine.schema import NAME

_START = """\
# A network of your own. Check it:     exanet check {file}
# Look at it:                          exanet machines {file} --svg {name}.svg
# Send packets through it:             exanet sim -m {file} --traffic uniform --load 0.1,0.3,0.5
# docs/reference/machine-files.md describes each key and unit. A value alone is your choice. A value from elsewhere names
# its source:  rate: {{value: 100 Gb/s, source: "data sheet, table 3", kind: published}}
# A file with `extends: fat-tree-64` needs only the keys that differ from that machine (`exanet machines` lists them).
name: {name}
description: A fat tree of 64 endpoints

topology:
  kind: fat-tree          # or torus, mesh, dragonfly, hyperx, jellyfish, graph (from a file), ...: docs/topologies.md
  shape: [4, 4, 4]        # its meaning depends on the kind: here the children of a switch by level, endpoints first
  # routing: adaptive     # instead of the topology's own routing: valiant, ugal-l, par, adaptive, up-down
  # rails: 2              # links of each endpoint; each leads into a separate plane of switches

router:                   # each switch has one; without switches, each endpoint
  clock: 1 GHz
  latency: 100 ns         # header in to header out, without contention; in ns or cycles
  # endpoint_latency: 10 ns  # the same for an endpoint behind a switch; default: 3 cycles
  word: 128 bit           # width of the data path: 128 Gb/s at this clock
  header: 1 word
  footer: 1 word
  max_payload: 256 B      # largest payload of a packet
  intra_fifo: 1024 words  # FIFO of a port towards the network interface
  inter_fifo: 1024 words  # FIFO of a port towards a link, divided among its virtual channels; small ones limit throughput
  header_fifo: 128 words
  virtual_channels: 2     # at least as many as routing needs, which `exanet check` prints
  intra_ports: 2

links:                    # one section a kind; most topologies have one kind, a dragonfly has `local` and `global`
  link:
    rate: 100 Gb/s        # in each direction
    word: 64 bit
    pause_every: 0        # words between two idle word times of the line; 0: it is never idle
    framing: 2 words      # words that frame each packet
    latency: 25 ns        # from one router to the next: transceivers, and 5 ns for each metre of cable
  # host:                 # between an endpoint and its switch; keys that it leaves out have the values above
  #   latency: 10 ns
  # level-3:              # from level 2 to the switches of level 3
  #   rate: 400 Gb/s
  #   latency: 150 ns

# Programs (exanet run) and --nic exanet also need `hardware` (the processors) and `ni` (the interface); exanest has both.
"""


def write(text: str, topology: Path | None = None) -> Path:
    """Writes the file `text`, or `text`.yaml, with the network of a topology file of htsim if there is one. Raises
    InputError where there is such a file, or it cannot be."""
    path = Path(text if text.endswith((".yaml", ".yml")) else f"{text}.yaml")
    if not NAME.fullmatch(path.stem):
        raise InputError(f"machines new {text}: a name is of lower-case letters, digits, dots, dashes and underscores, e.g. my-network")
    content = _START.format(name=path.stem, file=path) if topology is None else htsim.machine_text(topology, path.stem)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        raise InputError(f"machines new {text}: {path} is there already; choose another name, or take the file away") from None
    except OSError as error:
        raise InputError(f"machines new {text}: cannot write {path}: {error.strerror}") from None
    return path
