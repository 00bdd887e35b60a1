# SPDX-License-Identifier: Apache-2.0
"""Does every key of a resolved description reach the simulator's configuration, and is what would not reach it
refused with its path?"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from exanet import _core, background_traffic, machine
from exanet.machine.devices import Gpu, Hpu, Storage
from exanet.machine.resolve import described_path, resolved_key
from exanet.machine.schema import Link, NetworkInterface, Router, Switch

SHIPPED = ("exanest", "torus-512", "exanest-tor", "bxi-256", "fat-tree-64")
PYTHON_ALONE = ("name", "cores_per_node", "power")
KEYS: dict[str, dict[str, Any]] = _core.configuration_keys()

Path = tuple[str | int, ...]


def at(part: Any, path: Path) -> Any:
    for step in path:
        part = part[step]
    return part


def everything() -> dict[str, Any]:
    """A resolved machine in which every optional key is said."""
    resolved = copy.deepcopy(machine.load("exanest").resolve())
    graph = {"names": ["a", "b"], "hosts": [1, 2], "links": [[0, 1]], "kinds": [1]}
    resolved["topology"] |= {
        "order": [0, 1, 2], "routing": "valiant", "failed": ["links:1:1"], "graph": graph, "link_kinds": ["host"],
        "rails": 2, "arrangement": "palmtree", "network_names": ["first", "second"], "gateways": [[0, 1]],
    }  # fmt: skip
    resolved["ni"] |= {"gateway": {}, "gpu": {}, "hpu": {}}
    resolved["router"]["switch"] = {}
    resolved["links"][0] |= {"sleep_after_ps": 1, "wake_time_ps": 1}
    event = {"what": "links:1:1", "at_ps": 0, "up": False, "kind": "lossy", "lost_packets": 0.5, "bit_errors": 0.25, "seed": 1}
    event |= {"rate": 0.5, "corrupted_packets": 0.25, "duplicated_packets": 0.25, "reordered_packets": 0.25, "delay_ps": 1, "lasts_ps": 1}
    drawn = {"links": True, "between_ps": 1, "repair_ps": 1, "seed": 1, "until_ps": 1}
    lofamo = {"period_ps": 10**9, "policy": "reroute", "master": "", "service_ps": 0, "line_ps": 0, "seed": 1}
    resolved["faults"] = {"events": [event], "drawn": [drawn], "reaction_ps": 0, "detection_ps": 0, "lofamo": lofamo}
    resolved |= background_traffic.resolved("uniform,load=0.1", resolved)
    handlers = {"text": [1], "data": [2], "memory_bytes": 4, "header": 1, "payload": 2, "completion": 3}
    resolved["handlers"] = handlers | {"tag": 7, "source": 0, "destination": 1, "least_bytes": 64}
    resolved["storage"] = [{"name": "central", "servers": [1], "behind": "none"}]
    for key, described in KEYS.items():
        *section, name = key.split(".")
        if section[0] in ("router", "ni"):
            at(resolved, tuple(section)).setdefault(name, described["default"])
        elif section[0] == "storage":
            resolved["storage"][0].setdefault(name, described["default"])
    resolved["networks"] = [copy.deepcopy({key: resolved[key] for key in ("router", "links")})]
    return resolved


MACHINES = {
    **{name: machine.load(name).resolve() for name in SHIPPED},
    "all keys": everything(),
}


def leaves(part: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of all values; a list of values is one."""
    if isinstance(part, dict):
        for key, child in part.items():
            yield from leaves(child, (*path, key))
    elif isinstance(part, list) and part and isinstance(part[0], dict):
        for number, child in enumerate(part):
            yield from leaves(child, (*path, number))
    else:
        yield path


def with_value(resolved: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(resolved)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def without(resolved: dict[str, Any], path: Path) -> dict[str, Any]:
    changed = copy.deepcopy(resolved)
    del at(changed, path[:-1])[path[-1]]
    return changed


def listed(path: Path) -> str:
    """The path as the list of keys has it."""
    return ".".join("*" if isinstance(step, int) else step for step in path)


def named(resolved: dict[str, Any], path: Path) -> str:
    """The path as errors have it."""
    return ".".join(str(at(resolved, path[: i + 1]).get("name", step)) if isinstance(step, int) else step for i, step in enumerate(path))


def another(value: Any, choices: list[str] | None) -> Any:
    if choices:
        return next(choice for choice in choices if choice != value)
    if isinstance(value, list):
        return [*value[:-1], another(value[-1], None)] if value else [1]
    if isinstance(value, bool):
        return not value
    return value / 2 if isinstance(value, float) else value + 1 if isinstance(value, int) else f"{value}x"


def read_keys(resolved: dict[str, Any]) -> list[Path]:
    return [path for path in leaves(resolved) if path[0] not in PYTHON_ALONE]


def refused(resolved: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(_core.ConfigError) as error:
        _core.configuration(resolved)
    assert isinstance(error.value, ValueError)
    return list(error.value.problems)


@pytest.mark.parametrize("name", MACHINES)
def test_another_value_changes_the_configuration_at_its_key_alone(name: str) -> None:
    resolved = MACHINES[name]
    before = _core.configuration(resolved)
    for path in read_keys(resolved):
        value = another(at(resolved, path), KEYS[listed(path)].get("choices"))
        after = _core.configuration(with_value(resolved, path, value))
        assert at(after, path) == value != at(before, path), path
        assert [other for other in leaves(after) if at(after, other) != at(before, other)] == [path]


@pytest.mark.parametrize("name", MACHINES)
def test_what_python_alone_reads_changes_nothing(name: str) -> None:
    resolved = MACHINES[name]
    before = _core.configuration(resolved)
    assert not set(before) & set(PYTHON_ALONE)
    assert _core.configuration({key: value for key, value in resolved.items() if key not in PYTHON_ALONE}) == before


def test_the_machines_here_have_every_key_that_there_is() -> None:
    assert {listed(path) for resolved in MACHINES.values() for path in read_keys(resolved)} == set(KEYS)


@pytest.mark.parametrize("name", MACHINES)
def test_the_configuration_is_a_description_of_itself(name: str) -> None:
    configuration = _core.configuration(MACHINES[name])
    assert _core.configuration(configuration) == configuration
    # lists of mappings, where there is nothing
    empty = {"faults.events", "faults.drawn", "storage", "networks", "networks.*.networks", "topology.networks", "ni.networks"}
    assert {listed(path) for path in leaves(configuration)} - empty <= set(KEYS)


@pytest.mark.parametrize("name", MACHINES)
def test_a_key_that_nothing_reads_is_refused(name: str) -> None:
    resolved = MACHINES[name]
    for section in sorted({path[:-1] for path in read_keys(resolved)} | {()}, key=str):
        [(path, text)] = refused(with_value(resolved, (*section, "mailbux"), 1))
        assert path == named(resolved, (*section, "mailbux"))
        assert text == f"'{path}' is a key that nothing reads: take it out"


@pytest.mark.parametrize("name", MACHINES)
def test_a_missing_key_is_refused_or_has_its_default(name: str) -> None:
    resolved = MACHINES[name]
    for path in read_keys(resolved):
        fewer = without(resolved, path)
        if KEYS[listed(path)]["optional"]:
            assert at(_core.configuration(fewer), path) == KEYS[listed(path)]["default"]
            continue
        problems = refused(fewer)
        if path[-1] == "name":  # then its number names the link or storage
            assert [text for _, text in problems] == [f"'{'.'.join(map(str, path))}' is missing"]
        else:
            assert problems == [(named(resolved, path), f"'{named(resolved, path)}' is missing")]


def test_all_problems_are_reported_at_once_each_with_its_path() -> None:
    resolved = everything()
    resolved["router"] |= {"latency_cycles": "4", "arbitration": "oldest"}
    resolved["ni"] |= {"packet_max_bytes": 1 << 32, "atomic_ps": 1.5}
    resolved["links"][1]["pause_every"] = True
    resolved["topology"]["shape"] = "4x4"
    del resolved["router"]["switch"]["classes"]
    assert refused(resolved) == [
        ("topology.shape", "'topology.shape' is not a list of such values as it takes"),
        ("router.latency_cycles", "'router.latency_cycles' is not a whole number from -9223372036854775808 to 9223372036854775807"),
        ("router.arbitration", "'router.arbitration' is none of round-robin, links-first, fixed-priority"),
        ("router.switch.classes", "'router.switch.classes' is missing"),
        ("links.inter-qfdb.pause_every", "'links.inter-qfdb.pause_every' is not a whole number from "
         "-9223372036854775808 to 9223372036854775807"),
        ("ni.packet_max_bytes", "'ni.packet_max_bytes' is not a whole number from 0 to 4294967295"),
        ("ni.atomic_ps", "'ni.atomic_ps' is not a whole number from -9223372036854775808 to 9223372036854775807"),
    ]  # fmt: skip


_DERIVED = ("intra_header_fifo_words",)
"""Not of files: intra-tile ports keep their FIFOs where faults give a router further virtual channels."""


@pytest.mark.parametrize(
    ("section", "model"),
    [
        ("router", Router),
        ("router.switch", Switch),
        ("links.*", Link),
        ("ni", NetworkInterface),
        ("ni.gpu", Gpu),
        ("ni.hpu", Hpu),
        ("storage.*", Storage),
    ],
)
def test_files_and_configuration_have_the_same_keys(section: str, model: type[BaseModel]) -> None:
    here = {"kind", "switch"} if model is Router else set()
    of_files = {resolved_key(model, key) for key in model.model_fields} - here
    assert of_files == {key.rpartition(".")[2] for key in KEYS if key.rpartition(".")[0] == section} - {"name", *_DERIVED}


def test_every_key_leads_back_to_a_key_of_the_file() -> None:
    for key in KEYS:
        if key.startswith("topology.graph."):
            assert described_path(key) == ("topology", "file")
        elif key == "topology.link_kinds":
            assert described_path(key) == ("links",)
        elif key.startswith(("faults.", "background.", "handlers.")):
            assert described_path(key) == (), "it comes from a file of faults, from --background or from --handlers"
        elif key in ("links.*.name", "storage.*.name"):
            assert described_path(key) == (key.partition(".")[0], "*")
        elif key.startswith("networks."):
            assert described_path(key) == ("gateway", "network"), "it comes from the other machine's file"
        elif key.startswith(("topology.network_names", "topology.gateways", "ni.gateway.")):
            assert described_path(key)[0] == "gateway" and len(described_path(key)) == 2
        elif key.startswith(("ni.gpu.", "ni.hpu.")):
            assert described_path(key)[0] == key.split(".")[1] and len(described_path(key)) == 2
        elif key.rpartition(".")[2] in _DERIVED:
            assert described_path(key) == ("router",)
        else:
            assert len(described_path(key)) == key.count(".") + 1, key
    assert described_path("links.link.word_time_ps") == ("links", "link", "rate")
    assert described_path("router.switch.pause_words") == ("router", "switch", "pause")
    assert described_path("ni.clock_ps") == ("ni", "clock")
    assert described_path("ni.gateway.rate_bit_per_s") == ("gateway", "rate")
    assert described_path("topology.gateways") == ("gateway", "nodes")
    assert described_path("ni.gpu.peer_read_rate_bit_per_s") == ("gpu", "peer_read_rate")


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [("patern", "uniform", "patern"), ("threads", -1, "threads"), ("load", "much", "load")],
)
def test_options_of_a_measurement_are_read_the_same_way(key: str, value: Any, path: str) -> None:
    from exanet import sim

    options = sim.packet_options(sim.TrafficSpec(), 0.1, 256, 1)
    with pytest.raises(_core.ConfigError) as error:
        _core.Traffic(MACHINES["torus-512"], options | {key: value})
    assert [found for found, _ in error.value.problems] == [path]
