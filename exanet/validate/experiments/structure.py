# SPDX-License-Identifier: Apache-2.0
"""Sizes of machines: counts of nodes, cores, memory and links of the machine files, as packaging and topologies have
them."""

from __future__ import annotations

from collections import Counter

from exanet import _core
from exanet.machine import Machine
from exanet.machine.facts import Level, levels, topology_metrics
from exanet.validate.registry import Measured, Off, Reading, Value, experiment
from exanet.validate.runner import RunFailed, Runner

_TEN_LINKS = Off(
    -0.4,
    "a QFDB of the model has two links to others for each of three dimensions, six of the ten that the board has",
)
_TESTBED_BLADES = 12
_FLIT_CONTROL_BITS = 4 + 2
"""For the MAC, and for begin and end (MICPRO'18 section 2.3)."""
_GTH_BITS = 176 + 125.5
"""Of a transceiver's sender and receiver (PG056)."""


def _levels(runner: Runner, name: str) -> dict[str, Level]:
    """Levels of a machine's packaging, which must have as many nodes together as its topology."""
    machine = runner.machine(name)
    found = {level.name: level for level in levels(machine)}
    if not found:
        raise RunFailed(f"{name}: its packaging holds other than its {machine.nodes} nodes")
    return found


def _track(runner: Runner, name: str, what: str) -> Value:
    """Cores, bytes or the like of blade, chassis and rack."""
    found = _levels(runner, name)
    return tuple(getattr(found[level], what) for level in ("blade", "chassis", "rack"))


def _per_unit(level: Level, *what: str) -> tuple[float, ...]:
    """Densities by a level's height."""
    found = level.per_unit()
    if found is None:
        raise RunFailed(f"the height of a {level.name} is not given")
    return tuple(found[key] for key in what)


def _links_of_a_board(machine: Machine) -> dict[int, int]:
    """Links of QFDB 0 to others, by the QFDB that each leads to, in one direction."""
    found = _core.topology_drawing(machine.resolve())
    board = _levels_nodes(machine)
    ends = [(int(node) // board, int(neighbour) // board) for node, neighbour in found["links"]]
    return dict(Counter(there for here, there in ends if here == 0 and there != 0))


def _levels_nodes(machine: Machine) -> int:
    """Nodes of the smallest level of packaging, a QFDB."""
    return int(machine.model.packaging[0].holds.value)


@experiment("E13", kind="structural", off=_TEN_LINKS)
def board_bandwidth(runner: Runner) -> Measured:
    """Links that leave a QFDB of the prototype's topology, at the rate of machines/exanest-mezzanine.yaml."""
    links = sum(_links_of_a_board(runner.machine("exanest")).values())
    rate = runner.machine("exanest-mezzanine").model.links["inter-qfdb"].rate.value / 1e9
    return Measured(links * rate / 8, f"{links} links of {rate:g} Gb/s leave a QFDB")


@experiment("E14", kind="structural")
def mezzanine_edges(runner: Runner) -> Measured:
    """Links between neighbouring QFDBs of machines/exanest-mezzanine.yaml, and their rate."""
    machine = runner.machine("exanest-mezzanine")
    edges = _links_of_a_board(machine)
    if len(set(edges.values())) != 1:
        raise RunFailed(f"the edges of a QFDB have {sorted(edges.values())} links")
    rate = machine.model.links["inter-qfdb"].rate.value / 1e9
    after = float(machine.link_rate("inter-qfdb")) / 1e9
    return Measured((next(iter(edges.values())), rate), f"each of {len(edges)} edges of a QFDB; {after:.2f} Gb/s after the code's pauses")


@experiment("E15", kind="structural")
def track_1_cores(runner: Runner) -> Measured:
    return Measured(_track(runner, "track-1", "cores"), "machines/track-1.yaml")


@experiment("E16", kind="structural")
def track_1_memory(runner: Runner) -> Measured:
    found = _levels(runner, "track-1")
    return Measured(tuple(found[level].memory_bytes / 10**9 for level in ("blade", "chassis", "rack")), "machines/track-1.yaml")


@experiment("E17", kind="structural")
def track_1_fpgas(runner: Runner) -> Measured:
    return Measured(_track(runner, "track-1", "fpgas"), "machines/track-1.yaml")


@experiment("E18", kind="structural")
def track_1_density(runner: Runner) -> Measured:
    found, what = _levels(runner, "track-1"), ("cores", "memory_gb", "fpgas")
    chassis = _per_unit(found["chassis"], *what)
    return Measured(
        _per_unit(found["rack"], *what),
        f"by the rack's {found['rack'].height_u} U, which are derived from the cores; by a chassis of {found['chassis'].height_u} U "
        f"{', '.join(f'{value:.1f}' for value in chassis)}",
        readings=(Reading("the text's 210 GB, by a chassis", chassis, (chassis[0], 210, chassis[2])),),
    )


@experiment("E19", kind="structural")
def track_2_cores(runner: Runner) -> Measured:
    return Measured(_track(runner, "track-2", "cores"), "machines/track-2.yaml")


@experiment("E20", kind="structural")
def track_2_density(runner: Runner) -> Measured:
    found = _levels(runner, "track-2")
    rack = found["rack"]
    cores, fpgas, memory = _per_unit(rack, "cores", "fpgas", "memory_gb")
    boards = rack.nodes // found["QFDB"].nodes
    assert rack.height_u is not None
    return Measured((boards / rack.height_u, cores, fpgas, memory), f"machines/track-2.yaml, {boards} QFDBs in {rack.height_u} U")


@experiment("E42", kind="structural")
def final_prototype(runner: Runner) -> Measured:
    machine = runner.machine("exanest")
    return Measured(topology_metrics(machine)["nodes"] / _levels_nodes(machine), "nodes of machines/exanest.yaml's topology, four a QFDB")


@experiment("E43", kind="calibrated")
def board_memory(runner: Runner) -> Measured:
    machine = runner.machine("trenz-2x2")
    memory = machine.memory_bytes
    assert memory is not None
    return Measured(memory / machine.nodes / 10**9, f"{memory / 10**9:g} GB on {machine.nodes} boards; fixes trenz-2x2's memory_per_node")


@experiment("P01", kind="structural")
def prototype_scale(runner: Runner) -> Measured:
    machine = runner.machine("exanest")
    memory = machine.memory_bytes
    assert memory is not None
    ours = (topology_metrics(machine)["nodes"], memory / 10**12)
    return Measured(ours, "machines/exanest.yaml; SSDs are not modelled", readings=(Reading("the abstract at arXiv", ours, (256, 4)),))


@experiment("P02", kind="structural")
def prototype_nodes(runner: Runner) -> Measured:
    machine = runner.machine("exanest")
    holds = [package.holds.value for package in machine.model.packaging]
    return Measured((*reversed(holds), topology_metrics(machine)["nodes"]), "packaging of machines/exanest.yaml, and nodes of its topology")


@experiment("R25", kind="structural")
def testbed(runner: Runner) -> Measured:
    """As many nodes and cores as the published 12 blades have, with blades as machines/exanest-blade.yaml has them."""
    machine = runner.machine("exanest-blade")
    nodes, cores = topology_metrics(machine)["nodes"], machine.cores
    assert cores is not None
    return Measured(
        _TESTBED_BLADES * nodes,
        f"{_TESTBED_BLADES} blades of {nodes} MPSoCs with {cores // nodes} cores each; the source calls its 192 cores",
        readings=(Reading("as cores, which the source calls them", _TESTBED_BLADES * cores, 192),),
    )


@experiment("D16", kind="structural")
def balanced_dragonflies(runner: Runner) -> Measured:
    machines = [runner.machine(name) for name in ("dragonfly-342", "dragonfly-114582")]
    shapes = ", ".join(f"h = {machine.model.topology.shape.value[0]}" for machine in machines)
    return Measured(tuple(machine.nodes for machine in machines), f"topologies of the shipped machines, {shapes}")


@experiment("E21", kind="structural")
def rack_switch_flit(runner: Runner) -> Measured:
    """The word of machines/exanest-tor.yaml, and the published control bits, of which the machine has none."""
    word = runner.machine("exanest-tor").model.links["link"].word.value
    return Measured(
        word + _FLIT_CONTROL_BITS, f"{word} bits of data; with control bits a link has {word / (word + _FLIT_CONTROL_BITS):.1%} left"
    )


@experiment("D13", kind="structural")
def transceiver_delay(runner: Runner) -> Measured:
    """The published bit times at the rate of the Trenz boards' link."""
    machine = runner.machine("trenz-2x2")
    link = machine.model.links["link"]
    return Measured(_GTH_BITS / link.rate.value * 1e9, f"{_GTH_BITS} bit times; the link's latency is {link.latency.value / 1000:g} ns")
