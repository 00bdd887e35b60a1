# SPDX-License-Identifier: Apache-2.0
"""`exanet bridge`: the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from exanet import bounds, lightly, units
from exanet.commands import single
from exanet.commands.options import Background, Output, Quiet
from exanet.errors import InputError
from exanet.units import UnitError

Machine = Annotated[str | None, typer.Option("--machine", "-m", help="The machine: a name (see `exanet machines`) or a file.")]
Taps = Annotated[
    list[str] | None,
    typer.Option(
        "--tap",
        metavar="NODE=NAME[,KEY=VALUE...]",
        help="A network interface on a node of the machine; repeatable. Keys: address, mac, mtu, netns (one that is there, or host; "
        "by default a new one, exanet-NAME). Frames between interfaces of the node 'direct' do not cross the network.",
    ),
]
Slow = Annotated[
    float, typer.Option("--slow", metavar="FACTOR", help="Seconds of the host for a second of the network, for simulators that are slower.")
]
Ring = Annotated[int, typer.Option("--ring", metavar="FRAMES", help="Length of each interface's transmit ring, and of its receive ring.")]
Interrupts = Annotated[
    str, typer.Option("--interrupts", metavar="TIME", help="Time between interrupts of an interface at least (interrupt moderation).")
]
Capture = Annotated[
    Path | None,
    typer.Option("--capture", metavar="FILE.pcap", help="Write what passes each interface into FILE-NAME.pcap, with the network's times."),
]
Clean = Annotated[bool, typer.Option("--clean", help="Only remove what bridges have left that were killed.")]
MOST_RING = 1 << 16


def command(
    machine: Machine = None,
    taps: Taps = None,
    background: Background = None,
    slow: Slow = 1.0,
    ring: Ring = 1024,
    interrupts: Interrupts = "0 ns",
    capture: Capture = None,
    clean: Clean = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Make nodes of a simulated machine network interfaces of Linux, whose frames cross its network in real time.

    Programs in the interfaces' namespaces are ordinary ones: ping, iperf3, servers. Ctrl-C ends the bridge, removes
    interfaces and namespaces, and shows what it has carried.

    \b
    exanet bridge -m torus-2x2x2 --tap 0=tap0 --tap 7=tap1
    ip netns exec exanet-tap0 ping 10.77.0.2
    exanet bridge -m torus-512 --tap 0=a --tap 292=b --slow 1000 --background uniform,load=0.1,bytes=4KiB
    exanet bridge --clean
    """
    with lightly.imports():
        from exanet.bridge import namespaces
        from exanet.bridge import taps as interfaces

    if clean:
        interfaces.check()
        left = namespaces.clean()
        typer.echo(f"removed: {', '.join(left)}" if left else "there is nothing to remove")
        return
    if machine is None:
        raise InputError("-m: name the machine, e.g. -m torus-2x2x2")
    if not 1 <= ring <= MOST_RING:
        raise InputError(f"--ring {ring}: give a length from 1 to {MOST_RING}")
    with lightly.imports():
        from exanet import terminal
        from exanet.bridge import options, results, run
        from exanet.directory import result_directory
        from exanet.machine import load

    described = load(machine)
    found = options.parse(taps or [], run.mtu(described))
    asked = options.Options(machine, found, background, slow, ring, _time(interrupts), capture, tuple(taps or []))
    directory = result_directory("bridge", output, f"exanet-bridge-{described.name}", quiet=quiet)

    def ready() -> None:
        for tap in found:
            where = f"ip netns exec {tap.namespace} ..." if tap.namespace else "the host's namespace"
            typer.echo(f"{tap.name} ({tap.place}): {tap.address or 'no address'}, {where}")
        typer.echo("The bridge is up; Ctrl-C ends it.")

    measured = run.bridge(asked, described, ready)
    directory = results.write(directory, described, asked, measured, fresh=output is None)
    if not quiet:
        results.show(asked, measured, terminal.console(110))
        typer.echo(f"Results: {directory}")


def _time(text: str) -> int:
    try:
        time_ps = units.parse(text, units.TIME)
    except UnitError as error:
        raise InputError(f"--interrupts {text}: {error}") from None
    bounds.time_within("--interrupts", time_ps)
    return time_ps


app = single.app(command)
