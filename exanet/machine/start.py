# SPDX-License-Identifier: Apache-2.0
"""The file that `exanet machines new` writes: a network with a comment on each key, which sim, sweep and check take
as it is."""

from __future__ import annotations

from pathlib import Path

from exanet.errors import InputError
from exanet.machine.schema import NAME

_START = """\
# A network of your own. Check it:     exanet check {file}
# Look at it:                          exanet machines {file} --svg {name}.svg
# Send packets through it:             exanet sim -m {file} --traffic uniform --load 0.1,0.3,0.5
# Every key and unit: docs/reference/machine-files.md. A value alone is your choice; one from elsewhere says so:
#   rate: {{value: 100 Gb/s, source: "data sheet, table 3", kind: published}}
# To say only what differs from another machine: extends: fat-tree-64 (`exanet machines` lists them).
name: {name}
description: A fat tree of 64 endpoints

topology:
  kind: fat-tree          # docs/simulate.md has them all: torus, mesh, dragonfly, hyperx, jellyfish, graph (from a file), ...
  shape: [4, 4, 4]        # what its numbers mean depends on the kind: here children of a switch by level, endpoints first
  # routing: adaptive     # other routes than the topology's own: valiant, ugal-l, par, adaptive, up-down
  # rails: 2              # links of each endpoint into the network, each into a plane of switches of its own

router:                   # of each switch; where there are none, of each endpoint
  clock: 1 GHz
  latency: 100 ns         # header in to header out, without contention; in ns or cycles
  # endpoint_latency: 10 ns  # the same of an endpoint that hangs on a switch; 3 cycles if not said
  word: 128 bit           # data path: with the clock, 128 Gb/s
  header: 1 word
  footer: 1 word
  max_payload: 256 B      # of a packet
  intra_fifo: 1024 words  # of a port towards the endpoint's own interface
  inter_fifo: 1024 words  # of a port towards a link, divided among its virtual channels: less holds packets back
  header_fifo: 128 words
  virtual_channels: 2     # as many as routing needs, or more; `exanet check` says how many that are
  intra_ports: 2

links:                    # by kind, which the topology says: most have one, a dragonfly `local` and `global`
  link:
    rate: 100 Gb/s        # in each direction
    word: 64 bit
    pause_every: 0        # words between pauses of the line; 0: it never pauses
    framing: 2 words      # around each packet
    latency: 25 ns        # from one router to the next: transceivers, and 5 ns a metre of cable
  # host:                 # of an endpoint to its switch; what it leaves out is as above
  #   latency: 10 ns
  # level-3:              # up to the switches of level 3
  #   rate: 400 Gb/s
  #   latency: 150 ns

# For programs (exanet run) and --nic exanet: `hardware`, the processors, and `ni`, the interface with its times; exanest has both.
"""


def write(text: str) -> Path:
    """Writes the file `text`, or `text`.yaml. Raises InputError where there is one, or it cannot be."""
    path = Path(text if text.endswith((".yaml", ".yml")) else f"{text}.yaml")
    if not NAME.fullmatch(path.stem):
        raise InputError(f"machines new {text}: a name is of lower-case letters, digits, dots, dashes and underscores, e.g. my-network")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_START.format(name=path.stem, file=path))
    except FileExistsError:
        raise InputError(f"machines new {text}: {path} is there already; choose another name, or take the file away") from None
    except OSError as error:
        raise InputError(f"machines new {text}: cannot write {path}: {error.strerror}") from None
    return path
