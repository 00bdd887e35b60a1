# SPDX-License-Identifier: Apache-2.0
"""`exanet machines`: which machines there are, and everything about one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from exanet import lightly
from exanet.commands import single
from exanet.errors import InputError


def command(
    name: Annotated[
        str | None, typer.Argument(help="A machine's name or file; by default all machines are listed. `new` writes a new machine file.")
    ] = None,
    file: Annotated[str | None, typer.Argument(metavar="[NEW]", help="After `new`: the new machine's name; the file is NEW.yaml.")] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="KIND:SHAPE", help="Replace the topology, e.g. by mesh:8,4,2.")
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the network as an SVG picture in this file.")] = None,
    network: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="After `new`: take the network from a topology file of htsim (*.topo).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """List the machines, or describe one: size, memory, links, diameter, bisection, and every constant with its source.

    `exanet machines new NAME` writes NAME.yaml, a machine file to start from, with a comment on each key.
    """
    if name == "new":
        return _begin(file, network, topology is not None or svg is not None or as_json)
    if network is not None:
        raise InputError(f"--from {network} is of a new machine: exanet machines new NAME --from {network}")
    if file is not None:
        raise InputError(f"machines {name} {file}: describe one machine at a time; to begin a new one: exanet machines new {file}")
    with lightly.imports():
        from exanet import machine
        from exanet.machine import facts, tables
        from exanet.machine.variant import variant

    if name is None:
        if topology is not None or svg is not None:
            raise InputError("--topology and --svg are of one machine: say which, e.g. exanet machines torus-512 --svg torus.svg")
        rows = [facts.facts(machine.load(shipped)) for shipped in machine.names()]
        return typer.echo(json.dumps(rows, indent=2)) if as_json else tables.show_all(rows)
    described = variant(name, topology, None, [], packets=False)
    if svg is not None:
        from exanet.files import write_whole
        from exanet.results import picture

        if not svg.parent.is_dir():
            raise InputError(f"{svg}: there is no folder {svg.parent}; make it first")
        write_whole(svg, picture.svg(described.name, described.resolve()).encode())
    data = facts.details(described)
    slow = described.slow_router()
    if slow is not None:
        typer.echo(f"warning: {described.name}: {slow}", err=True)
    if as_json:
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        tables.show(described, data)


def _begin(name: str | None, network: Path | None, more: bool) -> None:
    from exanet.machine import start

    if name is None or more:
        raise InputError("machines new takes the new machine's name, and --from at most, e.g. exanet machines new my-network")
    path = start.write(name, network)
    if network is not None:
        return typer.echo(f"{path} is written. To go on: exanet check {path}; exanet sim messages -m {path} --traffic flows:FILE")
    typer.echo(f"{path} is written. To go on: exanet check {path}; exanet sim -m {path} --load 0.1,0.3,0.5")


app = single.app(command)
