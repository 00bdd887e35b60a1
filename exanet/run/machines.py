# SPDX-License-Identifier: Apache-2.0
"""What a run needs of its machine: from the cache where its description was read before, otherwise from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exanet import level as levels
from exanet import lightly, spin, storage
from exanet.errors import InputError
from exanet.machine import kept
from exanet.run import gpus, handlers
from exanet.run.options import Options

if TYPE_CHECKING:
    from exanet.machine import Machine


@dataclass(frozen=True)
class OnMachine:
    """A machine for the programs of a run."""

    name: str
    nodes: int
    cores: int  # of a node
    networks: list[list[int]]  # nodes of each network on which ranks may run
    config: dict[str, Any]  # as the simulator takes it, with what the run uses of its storages
    notes: list[str]  # what is known to be wrong with the figures
    environment: dict[str, str]  # for the ranks


def of(options: Options) -> OnMachine:
    """The machine of these options, with what fails on it. Raises InputError."""
    _check(options)
    began_ps = options.attempt.began_ps if options.attempt else 0
    usual = options.level == "packet" and began_ps == 0 and not options.storage and options.handlers is None
    if usual and (found := kept.read(options.machine, options.faults)):
        return OnMachine(found.name, found.nodes, found.cores, [list(range(found.nodes))], found.resolved, found.notes, {})
    before = kept.state(options.machine, options.faults)
    with lightly.imports():
        from exanet.machine import load

    described = load(options.machine, packets=options.level == "packet")
    for what, given in (("--fabric gateware", options.fabric == "gateware"), ("--offload", options.offload)):
        if given:
            described.one_network(what)
    if options.faults is not None:
        from exanet.faults import add

        described = add(described, options.faults, from_ps=began_ps)
    cores = described.cores_for_programs()
    stored, environment = _storages(options, described)
    environment |= gpus.environment(options, described)
    handlers.check(options, described)
    resolved, notes = described.resolve(), levels.caveats_of_programs(options.level, described)
    model = described.model
    if usual and described.other is None and model.gpu is None and model.topology.file is None:
        facts = kept.Facts(described.name, described.nodes, cores, resolved, notes)
        kept.write(options.machine, before, described, facts, options.faults)
    used = resolved | stored | spin.resolved(options.handlers)
    return OnMachine(described.name, described.nodes, cores, described.halves(), used, notes, environment)


def _check(options: Options) -> None:
    """Raises InputError where options do not go together on any machine."""
    if options.fabric == "gateware" and options.level == "flow":
        raise InputError("--level flow: the gateware carries packets; take --fabric model, or leave --level out")
    if options.fabric == "gateware" and options.faults:
        raise InputError("--faults: nothing can fail in Verilated nodes yet; take --fabric model, or leave --faults out")
    if options.fabric == "gateware" and options.background:
        raise InputError("--background: Verilated nodes carry the program alone; take --fabric model, or leave --background out")


def _storages(options: Options, described: Machine) -> tuple[dict[str, Any], dict[str, str]]:
    """The machine's storages that the run uses, as a key of its description, and the variables for its ranks. Raises
    InputError."""
    for other, given in (
        ("--fabric gateware", options.fabric == "gateware"),
        ("--record", options.record is not None),
        ("--timeline", options.timeline),
    ):
        if given and options.storage:
            raise InputError(f"--storage and {other} do not go together yet; leave one of them out")
    mounts = storage.mounts(options.storage, described)
    return storage.resolved(mounts, described), storage.environment(mounts, described)
