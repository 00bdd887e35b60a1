# SPDX-License-Identifier: Apache-2.0
"""Counts what the published configuration takes on an UltraScale+ device, with Yosys.

usage: python gateware/synth.py [PART...] [--json] [OPTIONS OF FINDINGS]

Parts are router, link, link-wide, phy, phy-lanes, router-6x1, router-qfdb, router-multicast, tor, tor-input, tor-match, acc-point,
acc-limiter, ni-port, ni-packetizer,
ni-mailbox, ni-messages (both with their two ports), ni-translate, ni-walk, ni-transfers, ni-gather, ni-blocks, ni (all of these
with three ports), ni-lanes
(the arithmetic of reductions), ni-reduce, reduce (with its port), ethernet-encoder, ethernet-decoder, ethernet-tx, ethernet-rx,
registers, link-registers, lofamo and ip. (It needs pyosys, and
minutes for all.)

`ip` is the whole: router, registers, LO|FA|MO's watchdogs, two links and theirs. When it is not asked for but its parts are, their sum is
compared with what was published for the whole. The published "LUT" counts those used as logic and as memory together; the published column
beside it has pairs of LUT and flip-flop, which Yosys does not form, so nothing is compared with it. The block memory of FIFOs, which the
publication counts with the whole, is compared there alone. Each figure that is above the published
one is named. The exit status is 1 when a part takes more than `most` allows: what was published, or where it is above that, what it took
when that was last looked at. With --json the standard output is one JSON object. With --keep what was counted is written down in that
folder, and counted again when a source, Yosys or this file has changed.

Yosys' mapping is an estimate: the published figures are those of the vendor's tool. gateware/timing.py shows the levels of its paths.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import levels
import sources

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = (Path(__file__), Path(sources.__file__))
"""What the netlist of a part depends on beside its sources, and Yosys."""
WIRE_PS = 2000
"""What ABC counts for the wire behind each LUT: so much that a path is short where it has few levels, whatever LUTs they are. With Yosys'
own 300, beside 127 to 642 for a LUT of a 7-series device, it makes a chain of eleven LUTs of a port's CRC in `ni-messages`, of which eight
are enough."""
RAM_LUTS = {"RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "SRL16E": 1, "SRLC32E": 1}


@dataclass(frozen=True)
class Target:
    top: str
    parameters: dict[str, int]
    published: dict[str, float]  # K17 to K20; a link is half of the two published
    above: dict[str, float] = field(default_factory=dict)  # what it may take where that is more than was published

    @property
    def most(self) -> dict[str, float]:
        return self.published | self.above


SHAPE = {"InterPorts": 2, "IntraPorts": 3, "Dimensions": 3}
TARGETS = {
    "router": Target("exanet_router", SHAPE, {"lut": 9599, "ff": 7649}, {"bram36": 89}),
    "link": Target("exanet_link", {}, {"lut": 2626.5, "ff": 2427}, {"bram36": 2}),
    "link-wide": Target("exanet_link", {"LineBits": 128}, {}),
    "phy": Target("exanet_phy", {}, {}),
    "phy-lanes": Target("exanet_phy", {"LineBits": 128, "Lanes": 4}, {}),
    "router-6x1": Target("exanet_router", {"InterPorts": 6, "IntraPorts": 1, "Dimensions": 3}, {}),
    "router-qfdb": Target("exanet_router", {"InterPorts": 5, "IntraPorts": 2, "Dimensions": 3, "Qfdb": 1}, {}),
    "router-multicast": Target("exanet_router", {**SHAPE, "Multicast": 1}, {}),
    "tor": Target("exanet_tor", {}, {}),
    "tor-input": Target("tor_input", {}, {}),
    "tor-match": Target("tor_match", {}, {}),
    "acc-point": Target("acc_point", {}, {}),
    "acc-limiter": Target("acc_limiter", {}, {}),
    "ni-port": Target("ni_port", {}, {}),
    "ni-packetizer": Target("ni_packetizer", {}, {}),
    "ni-mailbox": Target("ni_mailbox", {}, {}),
    "ni-messages": Target("exanet_ni", {}, {}),
    "ni-translate": Target("ni_translate", {}, {}),
    "ni-walk": Target("ni_walk", {}, {}),
    "ni-transfers": Target("ni_transfers", {}, {}),
    "ni-gather": Target("ni_gather", {}, {}),
    "ni-blocks": Target("ni_blocks", {}, {}),
    "ni": Target("exanet_ni", {"Channels": 256}, {}),
    "ni-lanes": Target("ni_reduce_lanes", {}, {}),
    "ni-reduce": Target("ni_reduce", {}, {}),
    "reduce": Target("exanet_reduce", {}, {}),
    "ethernet-encoder": Target("eth_fec_encoder", {}, {}),
    "ethernet-decoder": Target("eth_fec_decoder", {}, {}),
    "ethernet-tx": Target("eth_pcs_tx", {}, {}),
    "ethernet-rx": Target("eth_pcs_rx", {}, {}),
    "registers": Target("node_registers", {}, {"lut": 2468, "ff": 6451}),
    "link-registers": Target("node_registers_link", {}, {}),
    "lofamo": Target("node_lofamo", {}, {}),
    "ip": Target("exanet_ip", SHAPE, {"lut": 17287, "ff": 18954, "bram36": 116.5}),
}
PARTS = {"router": 1, "link": 2, "registers": 1, "link-registers": 2, "lofamo": 1}


def count(cells: dict[str, int]) -> dict[str, float]:
    """Sums a cell histogram into what data sheets list. Wide multiplexers (MUXF7 to 9) come with the LUTs and are not counted."""
    memory = sum(RAM_LUTS[name] * number for name, number in cells.items() if name in RAM_LUTS)
    unknown = [name for name in cells if name.startswith(("RAM", "SRL")) and name not in RAM_LUTS and not name.startswith("RAMB")]
    if unknown:
        raise ValueError(f"cells whose size is not known: {', '.join(unknown)}")
    logic = sum(number for name, number in cells.items() if name in {"LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6", "INV"})
    return {
        "lut": logic + memory,
        "lut_logic": logic,
        "lut_memory": memory,
        "ff": sum(number for name, number in cells.items() if name in {"FDRE", "FDSE", "FDCE", "FDPE"}),
        "bram36": sum(number * (0.5 if "18" in name else 1) for name, number in cells.items() if name.startswith("RAMB")),
    }


def read(top: str, parameters: dict[str, int], extra: Iterable[Path] = ()) -> str:
    """The command of Yosys that reads a part: a listed module, or one in a file of `extra`."""
    given = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    files = [*needed(top, extra), *extra]
    return f"read_slang --threads 1 -DSYNTHESIS --top {top} {given} {' '.join(map(str, files))}"


def needed(top: str, extra: Iterable[Path] = ()) -> list[Path]:
    """Listed sources that a part needs; see read()."""
    return sources.needed(*(extra or [top]))


@contextlib.contextmanager
def stdout_closed() -> Iterator[None]:
    """Nothing goes to the standard output meanwhile: Yosys writes the name of each command there, whatever its options."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def run_yosys(*commands: str) -> None:
    from pyosys import libyosys

    design = libyosys.Design()
    with stdout_closed():
        for command in commands:
            libyosys.run_pass(f"tee -q {command}", design)


def mapped(target: Target) -> dict[str, Any]:
    """The part as Yosys maps it to the device: the module that it writes as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        netlist = Path(folder) / "netlist.json"
        run_yosys(
            read(target.top, target.parameters),
            "scratchpad -set abc9.verify false",  # ABC's proof that its own mapping is right does not end on wide parities
            f"scratchpad -set synth_xilinx.abc9.W {WIRE_PS}",
            f"synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {target.top}",
            f"write_json {netlist}",
        )
        modules = json.loads(netlist.read_text())["modules"]
    (module,) = (value for value in modules.values() if "top" in value["attributes"])
    return dict(module)


@dataclass(frozen=True)
class Counted:
    resources: dict[str, float]
    levels: levels.Levels


def count_both(target: Target) -> Counted:
    module = mapped(target)
    return Counted(count(Counter(cell["type"] for cell in module["cells"].values())), levels.count_levels(module))


def synthesise(target: Target) -> Counted:
    """Counts in a process of its own: what Yosys finds depends on what it has mapped before."""
    with multiprocessing.get_context("fork").Pool(1) as process:
        return process.apply(count_both, (target,))


def kept_or_synthesised(name: str, kept: Any) -> Counted:
    """Counts that `kept` (a passed.Kept) holds of an earlier run on the same sources, or those of synthesise(), which are then kept."""
    import passed

    target = TARGETS[name]
    files = [*needed(target.top), *SCRIPTS, Path(levels.__file__)]
    key = passed.key(
        files=files, distributions=["pyosys"], arguments=(target.top, sorted(target.parameters.items())), ignoring_comments=True
    )
    found = kept.find(key)
    if found is not None:
        print(f"{name}: not counted again, nothing that it depends on has changed", file=sys.stderr)
        return Counted(found["resources"], {int(depth): number for depth, number in found["levels"].items()})
    counted = synthesise(target)
    kept.keep(key, {"resources": counted.resources, "levels": counted.levels})
    return counted


def counted(words: list[str], names: Iterable[str]) -> dict[str, Counted] | None:
    """The parts that a command line names, or all of `names`. Says so and returns None where it names another."""
    kept = None
    if {"--keep", "--recorded", "--record"} & set(words):  # the installed package counts for itself, without tools/
        sys.path.insert(0, str(ROOT / "tools"))
        import passed

        kept, words = passed.take(words)
    wanted = [name for name in words if not name.startswith("-")] or list(names)
    if unknown := [name for name in wanted if name not in names]:
        print(f"error: {', '.join(unknown)}: there is no such part; give some of {', '.join(names)}", file=sys.stderr)
        return None
    return {name: kept_or_synthesised(name, kept) if kept else synthesise(TARGETS[name]) for name in wanted}


def whole(results: dict[str, dict[str, float]]) -> dict[str, float]:
    """The sum of the parts of the whole IP."""
    return {key: sum(times * results[part][key] for part, times in PARTS.items()) for key in results["router"]}


def above(results: dict[str, dict[str, float]]) -> list[str]:
    """Parts that take more than was published, in words."""
    return [
        f"{name} takes {found[key]:g} {key}, published are {value:g}"
        for name, found in results.items()
        for key, value in TARGETS[name].published.items()
        if found[key] > value
    ]


def exceeded(results: dict[str, dict[str, float]]) -> list[str]:
    """Parts that take more than they may, in words."""
    return [
        f"{name} takes {found[key]:g} {key}, more than the {most:g} that it may"
        for name, found in results.items()
        for key, most in TARGETS[name].most.items()
        if found[key] > most
    ]


def main() -> int:
    words = sys.argv[1:]
    found = counted(words, TARGETS)
    if found is None:
        return 2
    results = {name: one.resources for name, one in found.items()}
    if "ip" not in results and set(PARTS) <= set(results):
        results["ip"] = whole(results)
    if "--json" in words:
        print(json.dumps({name: {"ours": ours, "published": TARGETS[name].published} for name, ours in results.items()}))
        return 0
    print(f"{'':16}{'':12}{'ours':>8}{'published':>11}")
    for name, resources in results.items():
        for key, value in resources.items():
            published = TARGETS[name].published.get(key)
            print(f"{name:16}{key:12}{value:>8g}{'' if published is None else f'{published:>11g}'}")
    for line in above(results):
        print(f"above: {line}")
    for line in exceeded(results):
        print(f"error: {line}", file=sys.stderr)
    return 1 if exceeded(results) else 0


if __name__ == "__main__":
    sys.exit(main())
