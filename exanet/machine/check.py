# SPDX-License-Identifier: Apache-2.0
"""Checks a machine description: first each key by its type and unit, then what no single key shows.

Everything found is reported at once, each problem at the place of the text that caused it, in the order of the file;
what stands in an extended file, where it may follow from the others, comes last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from exanet import _core, lightly, units
from exanet.errors import InputError
from exanet.machine import gpu, hpu
from exanet.machine.constant import Constant, dimension_of
from exanet.machine.located import Located, Mark
from exanet.machine.resolve import described_path, resolve, storages
from exanet.machine.schema import (
    LINK_KINDS,
    ORDERED,
    SWITCHED,
    Link,
    MachineFile,
    NetworkInterface,
    Router,
    constants,
    is_further_kind,
    link_kinds,
    other_routes,
    topology_needs,
)
from exanet.near import nearest
from exanet.units import UnitError

_MAX_NODES = 1 << 22  # the node field of the global address has 22 bits
MOST_CHANNELS = 8
"""Virtual channels of a link."""
_MOST_INPUTS = 1024  # of a router in the simulator
_PACKET_LIMIT = 256  # bytes; the user library's largest packetizer message on any machine (EXANET_PACKET_MAX)
_WORD_LIMITS = (8, 4096)  # bits
_LEAST_CYCLES, _MOST_CYCLES = 3, 1_000_000
_LARGEST_PAYLOAD = 1 << 14  # bytes: jumbo frames; the simulator counts a packet's words, of a byte at least, in 16 bits
_MOST_FRAMING = 1024  # words
_GRANTING = (  # what only an ExaNet router has, and the most that it may be
    ("arbitration", None),
    ("input_gap", "255 cycles"),
    ("output_gap", "255 cycles"),
    ("credit_threshold", "4095 words"),
    ("credit_interval", "65535 cycles"),
)
_MOST_UNPAUSED = 255  # words; a router of the simulator counts them in a byte
_LONGEST_PS = 10**12
_LONGEST_RECEIVE_PS = 2**32 - 1  # cpu_ps of a completion (spec/descriptors.yaml)
_LONGEST_RESULT = 528  # bytes of a reduction's result with its end
_LARGEST = (1 << 31) - 1
_SLIPS: dict[
    str, tuple[int, float, str]
] = {  # by base unit: the least that is no slip, but for none at all, the most, and what to say of others
    "ps": (0, _LONGEST_PS, "is longer than 1 s"),
    **{base: (0, _LARGEST, f"is {{value}} {base}, more than {_LARGEST}") for base in ("bytes", "bits", "words", "cycles", "blocks")},
    "bit_per_s": (10**6, math.inf, "is slower than 1 Mb/s"),
    "hz": (10**6, math.inf, "is slower than 1 MHz"),
    "uw": (0, 10**12, "is more than 1 MW"),
    "fj": (0, 10**12, "is more than 1 mJ"),
    "fj_per_bit": (0, 10**12, "is more than 1 mJ"),
}

Keys = tuple[str | int, ...]  # that lead to a value
Problems = Iterator[tuple[tuple[str, ...], str]]  # the path to blame and a message


def check(
    tree: Located,
    packets: bool = True,
    changes: Mapping[str, Located] | None = None,
    extends: Mark | None = None,
    advice: str = "",
) -> MachineFile:
    """The description in `tree`; without `packets` its routers may be larger than the packet level takes.

    `changes` are the values in it that are not its file's, by dotted name; with a `topology.kind` among them its
    routers get as many virtual channels as routing on that needs. `extends` is the place where the file names the one
    that it extends, to which problems of the latter are put down; `advice` says what to do where keys are missing in a
    file that extends none. Raises InputError with every problem.
    """
    changes = changes or {}
    files = (*(value.mark.file for value in changes.values()), tree.mark.file)

    def messages(problems: set[tuple[Mark, Keys, str]]) -> list[str]:
        """Causes before what follows from them: what is given for this run, the file, what it extends."""

        def rank(problem: tuple[Mark, Keys, str]) -> Any:
            mark, _, text = problem
            return files.index(mark.file) if mark.file in files else len(files), mark, text

        return list(dict.fromkeys(text_of(*problem) for problem in sorted(problems, key=rank)))

    def text_of(mark: Mark, path: Keys, text: str) -> str:
        if extends is None or mark.file in files:
            return mark.error(text)
        return extends.error(f"'{_owner(path)}', inherited from {mark.file}:{mark.line}:{mark.column}: {text}")

    plain = tree.plain()
    with lightly.imports():
        MachineFile.model_rebuild()
    try:
        model = MachineFile.model_validate(plain, strict=False, context={"cycle_ps": _cycle_ps(plain)})
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        missing = extends is None and any(detail["type"] == "missing" for detail in details)
        hint = [tree.mark.error(f"keys are missing; {advice}")] if missing and advice else []
        raise InputError(messages({_problem(tree, detail) for detail in details}) + hint) from None
    problems: set[tuple[Mark, Keys, str]] = {(tree.find(path), path, text) for path, text in _contradictions(model, packets, changes)}
    if problems:
        raise InputError(messages(problems))
    return _widened(model) if "topology.kind" in changes else model


def _cycle_ps(plain: Any) -> int | None:
    """Of the router's clock, in which times may be given; None if it is none, which is reported with it."""
    try:
        clock = plain["router"]["clock"]
        hertz = units.parse(clock["value"] if isinstance(clock, dict) else clock, units.FREQUENCY)
    except (KeyError, TypeError, AttributeError, UnitError):
        return None
    return 10**12 // hertz if hertz and 10**12 % hertz == 0 else None


def _widened(model: MachineFile) -> MachineFile:
    """The machine, with as many virtual channels as routing on its shape needs."""
    needed, channels = topology_needs(model).virtual_channels, model.router.virtual_channels
    if needed <= channels.value or other_routes(model):
        return model
    wider = type(channels)(value=needed, source=f"what routing on a {model.topology.kind} of this shape needs", kind="derived")
    return model.model_copy(update={"router": model.router.model_copy(update={"virtual_channels": wider})})


def _problem(tree: Located, detail: Any) -> tuple[Mark, Keys, str]:
    """Where, of which key, and what is wrong."""
    path: Keys = detail["loc"]
    mark, text = _locate(tree, detail, path)
    return mark, path, text


def _locate(tree: Located, detail: Any, path: Keys) -> tuple[Mark, str]:
    kind, last = detail["type"], str(path[-1]) if path else ""
    if kind == "extra_forbidden":
        return tree.find(path, key=True), _unknown(last, path[:-1])
    if kind == "missing":
        return tree.find(path[:-1], key=True), f"'{last}' is missing{_inside(path[:-1])}; {_how(path)}"
    mark = tree.find(path)
    if kind in ("model_type", "model_attributes_type"):
        return mark, f"'{_owner(path)}' takes a mapping; {_how(path)}" if path else "a machine description is a mapping of keys to values"
    if kind == "literal_error":
        known = detail["ctx"]["expected"].replace(" or ", ", ")
        meant = nearest(str(detail["input"]), known.replace("'", "").split(", "))
        return mark, f"'{last}' must be one of {known}" + (f"; did you mean '{meant}'?" if meant else "")
    if kind == "exanet":
        return mark, f"'{_owner(path)}': {detail['msg']}"
    text = _WRONG_TYPES.get(kind, str(detail["msg"]))
    if kind in _WRONG_TYPES:
        text += _example(path)
    if kind == "string_pattern_mismatch":
        text = "use lower-case letters, digits, dots, dashes and underscores, at most 63, starting with a letter or digit"
    return mark, f"'{_owner(path)}': {text[0].lower() + text[1:]}"


_WRONG_TYPES = {"list_type": "expected a list", "dict_type": "expected a mapping", "string_type": "expected a text"}


def _example(path: Keys) -> str:
    """How the value at `path` may be written, if its key says so."""
    owner = _type_at(path[:-1])
    known = owner.model_fields.get(str(path[-1])) if owner else None
    return f", e.g. {path[-1]}: {known.examples[0]}" if known is not None and known.examples else ""


def _owner(path: Keys) -> str:
    return ".".join(str(step) for step in path if step != "value")


def _inside(path: Keys) -> str:
    return f" in '{_owner(path)}'" if path else ""


def _unknown(key: str, parent: Keys) -> str:
    owner = _type_at(parent)
    known = list(owner.model_fields) if owner else []
    if not parent:
        known.append("extends")
    meant = nearest(key, known)
    shown = key if len(key) <= 60 else key[:57] + "..."
    advice = f"did you mean '{meant}'?" if meant else f"known keys: {', '.join(known)}"
    return f"unknown key '{shown}'{_inside(parent)}; {advice}"


def _how(path: Keys) -> str:
    """How to write what `path` names."""
    kind = _type_at(path)
    if kind is not None and issubclass(kind, Constant):
        dimension = dimension_of(kind)
        example = dimension.example if dimension else "[4, 4, 2]" if path[-1] == "shape" else "2"
        return f"give this machine's own value; an example of its form, no value to take: {path[-1]}: {example}"
    if path == ("links",):
        return f"give it the kinds of links that the topology has, each with the keys {', '.join(Link.model_fields)}"
    if kind is not None:
        needed = [key for key, field in kind.model_fields.items() if field.is_required()]
        return f"give it the keys {', '.join(needed or kind.model_fields)}"
    return "a constant is a value alone, or a mapping with value, source and kind" if path[-1] in ("value", "source", "kind") else "add it"


def is_constant(path: Sequence[str]) -> bool:
    """Whether the key at `path` is a constant."""
    kind = _type_at(tuple(path))
    return kind is not None and issubclass(kind, Constant)


def keys_at(path: Sequence[str]) -> list[str]:
    """Keys that the schema has in the section at `path`; none in what is no section, or has keys that a file names,
    as kinds of links."""
    owner = _type_at(tuple(path))
    return list(owner.model_fields) if owner is not None else []


def may_stand_alone(path: Sequence[str]) -> bool:
    """Whether a file that has no key at `path` may be given it alone: a constant, or a section of which no key is
    needed."""
    kind = _type_at(tuple(path)) if path[-1] in keys_at(path[:-1]) else None
    return kind is not None and (issubclass(kind, Constant) or not any(key.is_required() for key in kind.model_fields.values()))


def _type_at(path: Keys) -> type[BaseModel] | None:
    """The model that describes the value at `path`, if a model does."""
    here: Any = MachineFile
    for step in path:
        if get_origin(here) in (dict, list):
            here = get_args(here)[-1]
        elif isinstance(here, type) and issubclass(here, BaseModel) and step in here.model_fields:
            here = here.model_fields[str(step)].annotation
            options = [arg for arg in get_args(here) if isinstance(arg, type) and issubclass(arg, BaseModel)]
            if get_origin(here) not in (dict, list) and options:
                here = options[0]
        else:
            return None
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _contradictions(model: MachineFile, packets: bool, changes: Mapping[str, Located]) -> Problems:
    found = [
        *_topology_problems(model),
        *_router_problems(model, packets, "topology.kind" in changes),
        *_link_problems(model),
        *_interface_problems(model),
        *_power_problems(model),
        *_sleep_problems(model),
        *gpu.problems(model),
        *hpu.problems(model),
    ]
    yield from found
    slips = list(_slips(model))
    if not found and not slips:
        if packets:
            yield from _switch_problems(model, changes)
            if model.router.switch is None and resolve(model)["router"].get("queue_action", "none") != "none":
                yield from _refused(_core.check_switch, model)
        if model.ni is not None:
            yield from _refused(_core.check_interface, model)
        if model.storage:
            yield from _refused(lambda resolved: _core.check_storages(resolved | {"storage": storages(model)}), model)
    yield from slips


def _topology_problems(model: MachineFile) -> Problems:
    kind, shape = model.topology.kind, model.topology.shape.value
    if (kind == "graph") != (model.topology.file is not None):
        if kind == "graph":
            yield ("topology",), "a graph needs 'file', which describes it; add it, e.g. file: network.graphml"
        else:
            yield ("topology", "file"), "only a graph takes 'file'; take it out, or set kind: graph"
        return
    if model.topology.file is not None:
        try:
            Path(model.topology.file).open("rb").close()
        except (OSError, ValueError) as error:  # the latter of what can be no file's name
            why = getattr(error, "strerror", None) or "no file can have that name"
            yield ("topology", "file"), f"{model.topology.file} cannot be read: {why}; give a file of links, or GraphML"
            return
    if model.topology.order is not None and kind not in ORDERED:
        yield ("topology", "order"), f"a {kind} has no order of dimensions; take it out"
    if kind == "qfdb-torus" and len(shape) != 3:
        yield ("topology", "shape", "value"), f"a qfdb-torus has 3 dimensions, e.g. [4, 4, 2]; this shape has {len(shape)}"
    else:
        try:
            nodes = topology_needs(model).nodes
            if nodes > _MAX_NODES:
                yield (
                    ("topology", "shape", "value"),
                    f"this shape has {nodes} nodes, and the global address reaches {_MAX_NODES}; make it smaller",
                )
        except _core.ConfigError as error:
            yield from _problems_of(error)
    if model.hardware is not None and not 1 <= model.hardware.cores_per_node.value <= 4096:
        yield ("hardware", "cores_per_node"), "must be from 1 to 4096"
    wanted = LINK_KINDS[kind]
    for name in model.links:
        if name not in wanted and not is_further_kind(kind, name):
            known = ", ".join(wanted if kind not in SWITCHED else (*wanted, "host", "level-2", "level-3", "..."))
            yield ("links", name), f"a {kind} has no links of the kind '{name}' (it has {known}); take it out, or set it to null"
    for name in wanted:
        if name not in model.links:
            yield ("links",), f"a {kind} needs links of the kind '{name}'; add it"


def _refused(look: Callable[[dict[str, Any]], None], model: MachineFile) -> Problems:
    """What the simulator itself refuses of the machine when it looks at a part, such as figures beside the
    gateware's own cycles."""
    try:
        look(resolve(model))
    except _core.ConfigError as error:
        yield from _problems_of(error)


def _problems_of(error: _core.ConfigError) -> Problems:
    """The problems of the simulator's refusal, each with the key of the file that its path comes from."""
    for path, text in error.problems:
        keys = described_path(path)
        yield (*keys, "value") if keys in (("topology", "shape"), ("topology", "rails")) else keys, text


def _router_problems(model: MachineFile, packets: bool, reshaped: bool) -> Problems:
    router = model.router
    if router.clock.value == 0:
        yield ("router", "clock"), "must be above zero, e.g. 156.25 MHz"
    elif 10**12 % router.clock.value:
        yield ("router", "clock"), "its period is not a whole number of picoseconds; choose another frequency, e.g. 156.25 MHz (6400 ps)"
    yield from _word_problems(("router", "word"), router.word.value)
    if not 16 <= router.max_payload.value <= _LARGEST_PAYLOAD:
        yield ("router", "max_payload"), f"must be from 16 B to {_LARGEST_PAYLOAD} B"
    channels, bits = router.virtual_channels.value, router.max_payload.value * 8
    # Bulk leaves space for a priority packet. Switches have lanes for their classes, and say themselves how deep those
    # must be.
    packets_each, many = (1, "one packet") if router.switch is not None else (2, "two packets")
    if router.intra_fifo.value * router.word.value < bits * packets_each:
        yield ("router", "intra_fifo"), f"must hold at least {many} of max_payload; make it deeper"
    whole = router.switch is None or router.switch.switching == "cut-through"
    if whole and router.inter_fifo.value // max(channels, 1) * router.word.value < bits * packets_each:
        least = -(-bits * packets_each // router.word.value) * channels
        yield ("router", "inter_fifo"), f"must hold {many} of max_payload for each virtual channel; make it deeper: {least} words or more"
    if router.switch is None and router.header_fifo.value < 4 * router.header.value * channels:
        yield ("router", "header_fifo"), "must hold two headers of each class, bulk and priority, for each virtual channel; make it deeper"
    for name, words, least, most in (("header", router.header, 1, 64), ("footer", router.footer, 0, 64)):
        if not least <= words.value <= most:
            yield ("router", name), f"must be from {least} to {most} words"
    if router.switch is None and router.header.value == 1 and router.latency.value < _LEAST_CYCLES:
        yield ("router", "latency"), f"must be at least {_LEAST_CYCLES} cycles, one before the grant and two after it"
    if router.latency.value > _MOST_CYCLES:
        yield ("router", "latency"), f"must be at most {_MOST_CYCLES} cycles"
    least = 1 if router.kind == "input-queued" else _LEAST_CYCLES
    if router.endpoint_latency is not None and not least <= router.endpoint_latency.value <= _MOST_CYCLES:
        yield ("router", "endpoint_latency"), f"must be from {least} to {_MOST_CYCLES} cycles"
    yield from _channel_problems(model, packets, reshaped)
    if not 2 <= router.intra_ports.value <= 8:
        yield ("router", "intra_ports"), "must be from 2 (packetizer and RDMA) to 8"
    yield from _granting_problems(router)


def _granting_problems(router: Router) -> Problems:
    """Of how an ExaNet router grants its outputs; an input-queued one has keys of its own for that."""
    for key, most in _GRANTING:
        given = getattr(router, key)
        if given is not None and router.kind == "input-queued":
            own = "set it in 'switch', and " if key == "arbitration" else ""
            yield ("router", key), f"only an exanet router takes '{key}', and this one is input-queued; {own}take it out, or set it to null"
        elif isinstance(given, Constant) and most is not None and given.value > int(most.split()[0]):
            yield ("router", key), f"must be at most {most}"


def _switch_problems(model: MachineFile, changes: Mapping[str, Located]) -> Problems:
    """Of an input-queued switch. Keys of another flow control or arbitration than that of its `changes` may be left
    in its file."""
    switch = model.router.switch
    if (model.router.kind == "input-queued") != (switch is not None):
        if switch is None:
            yield ("router", "kind"), "an input-queued router needs 'switch'; add it, or take 'kind' out"
        else:
            yield ("router", "switch"), "only an input-queued router takes 'switch'; set 'kind: input-queued', or take it out"
    if switch is None or model.router.kind != "input-queued":
        return
    pauses = ("pause", "resume", "pause_frame")
    if switch.flow_control != "pause" and "router.switch.flow_control" not in changes:
        for key in pauses:
            if getattr(switch, key) is not None:
                yield ("router", "switch", key), f"only 'flow_control: pause' takes '{key}'; set that, or take it out"
    if switch.iterations is not None and switch.arbitration != "islip" and "router.switch.arbitration" not in changes:
        yield ("router", "switch", "iterations"), "only 'arbitration: islip' takes 'iterations'; set that, or take it out"
    if switch.flow_control == "pause":
        missing = [key for key in pauses if getattr(switch, key) is None]
        for key in missing:
            yield ("router", "switch", "flow_control"), f"'flow_control: pause' needs '{key}' in 'router.switch'; add it"
        if missing:
            return
    yield from _refused(_core.check_switch, model)


def _channel_problems(model: MachineFile, packets: bool, reshaped: bool) -> Problems:
    channels, own = model.router.virtual_channels.value, model.router.intra_ports.value
    try:
        needs = topology_needs(model)
    except (ValueError, InputError):
        return  # reported with the shape, or the graph's file
    if model.router.endpoint_latency is not None and needs.nodes == needs.endpoints and not reshaped:
        yield (
            ("router", "endpoint_latency"),
            f"the endpoints of a {model.topology.kind} are routers themselves and have its 'latency'; take it out, or set it to null",
        )
    if other_routes(model) or reshaped:
        channels = max(channels, needs.virtual_channels)
    if not needs.virtual_channels <= channels <= MOST_CHANNELS:
        yield (
            ("router", "virtual_channels"),
            f"must be from {needs.virtual_channels} to {MOST_CHANNELS}: with fewer, routing on this {model.topology.kind} "
            "is not free of deadlock",
        )
    elif packets and needs.ports * channels + own > _MOST_INPUTS:
        yield (
            ("topology", "shape") if reshaped else ("router", "virtual_channels"),
            f"a router with {needs.ports} ports of {channels} channels each, and {own} intra-tile ports, has more inputs than the "
            f"{_MOST_INPUTS} that are supported; use fewer channels or a shape with fewer ports",
        )


def _link_problems(model: MachineFile) -> Problems:
    for name, link in model.links.items():
        if link.framing.value > _MOST_FRAMING:
            yield ("links", name, "framing"), f"must be at most {_MOST_FRAMING} words"
        if link.pause_every.value == 1 or link.pause_every.value > _MOST_UNPAUSED:
            yield ("links", name, "pause_every"), f"must be from 2 to {_MOST_UNPAUSED} words; 0 for a link that never pauses"
        yield from _word_problems(("links", name, "word"), link.word.value)
        if link.rate.value == 0:
            yield (
                ("links", name, "rate"),
                "must be above zero, e.g. 10 Gb/s; list a link that carries nothing in topology.failed",
            )
        elif (link.word.value * 10**12) % link.rate.value:
            yield (
                ("links", name, "rate"),
                f"{link.word.value} bit do not take a whole number of picoseconds; {_words_for(link.rate.value)}",
            )


def _words_for(rate: int) -> str:
    """What to say of a rate with which a word takes no whole number of picoseconds: the shortest word that does."""
    bits = math.lcm(rate // math.gcd(rate, 10**12), 8)
    if bits > _WORD_LIMITS[1]:
        return "choose another rate"
    return f"choose another rate, or a word of {bits} bit or a multiple of that"


def _word_problems(path: tuple[str, ...], bits: int) -> Problems:
    if bits % 8 or not _WORD_LIMITS[0] <= bits <= _WORD_LIMITS[1]:
        yield path, f"a word is a whole number of bytes, from {_WORD_LIMITS[0]} bit to {_WORD_LIMITS[1]} bit"


def _interface_problems(model: MachineFile) -> Problems:
    if model.ni is None:
        return
    ni, payload = model.ni, model.router.max_payload.value
    largest = min(_PACKET_LIMIT, payload)
    if not 1 <= ni.packet_max.value <= largest:
        yield ("ni", "packet_max"), f"must be from 1 B to {largest} B (the user library's and the router's largest packet)"
    elif ni.envelope.value + ni.eager_max.value > ni.packet_max.value:
        yield ("ni", "eager_max"), f"envelope and eager payload together exceed packet_max ({ni.packet_max.value} B); make one smaller"
    if not payload <= ni.dma_block.value <= 1 << 24:
        yield ("ni", "dma_block"), f"must be from one packet's payload ({payload} B) to 16 MiB"
    if not 1 <= ni.dma_window.value <= 65536:
        yield ("ni", "dma_window"), "must be from 1 to 65536 blocks"
    if ni.clock.value and 10**12 % ni.clock.value:
        yield ("ni", "clock"), "its period is not a whole number of picoseconds; choose another frequency, e.g. 156.25 MHz (6400 ps), or 0"
    missing = [key for key in ("reduction_trees", "reduction", "reduction_word") if getattr(ni, key) is None]
    if 0 < len(missing) < 3:
        yield (
            ("ni",),
            f"a reduction unit needs 'reduction_trees', 'reduction' and 'reduction_word' together; add {', '.join(missing)}",
        )
    if ni.reduction_trees is not None and not 1 <= ni.reduction_trees.value <= 1 << 16:
        yield ("ni", "reduction_trees"), "must be from 1 to 65536"
    costs = {"mailbox_read": ni.mailbox_read.value * -(-max(ni.packet_max.value, _LONGEST_RESULT) // 64)}
    costs |= {key: getattr(ni, key).value for key in ("library_receive", "mpi_receive")}
    if sum(costs.values()) > _LONGEST_RECEIVE_PS and all(getattr(ni, key).value <= _LONGEST_PS for key in costs):
        yield (
            ("ni", max(costs, key=lambda key: costs[key])),
            "makes receiving a message take longer than 4.29 ms (mpi_receive + library_receive + mailbox_read for each 64 bytes of it); "
            "is its unit right?",
        )
    if ni.test_step.value == 0:
        yield ("ni", "test_step"), "must be above zero: otherwise virtual time would stand still while a program polls"
    yield from _socket_problems(ni)


def _socket_problems(ni: NetworkInterface) -> Problems:
    """Of the segments of `--sockets fabric`."""
    mtu = ni.ip_mtu.value if ni.ip_mtu is not None else 1500
    if not 576 <= mtu <= 65535:
        yield ("ni", "ip_mtu"), "must be from 576 B to 65535 B, as that of IP"
    if ni.ip_encapsulation is not None and ni.ip_encapsulation.value > 1 << 16:
        yield ("ni", "ip_encapsulation"), "must be at most 64 KiB"
    if ni.ip_window is not None and not mtu <= ni.ip_window.value <= 1 << 21:
        yield ("ni", "ip_window"), f"must be from a segment ({mtu} B) to 2 MiB, which the host's own sockets hold"
    if ni.ip_send is not None and ni.ip_send.value == 0:
        yield ("ni", "ip_send"), "must be above zero: a segment takes the host some time"
    if ni.ip_receive is not None and ni.ip_receive.value > _LONGEST_RECEIVE_PS:
        yield ("ni", "ip_receive"), "is longer than 4.29 ms; is its unit right?"


def _sleep_problems(model: MachineFile) -> Problems:
    for name, link in model.links.items():
        sleeps = link.sleep_after is not None
        if sleeps and model.router.kind != "input-queued":
            yield (
                ("links", name, "sleep_after"),
                "links sleep between input-queued switches alone, and this router's are ExaNet's; take it out, or set it to null",
            )
        if link.wake_time is not None and link.wake_time.value > 0 and not sleeps:
            yield ("links", name, "wake_time"), "this kind of link never sleeps; add 'sleep_after', or take it out"


def _power_problems(model: MachineFile) -> Problems:
    wanted = link_kinds(model)
    for name in model.power.links if model.power is not None else ():
        if name not in wanted:
            yield (
                ("power", "links", name),
                f"a {model.topology.kind} has no links of the kind '{name}' (it has {', '.join(wanted)}); take it out",
            )


def _slips(model: MachineFile) -> Problems:
    """Figures that no machine has, and that would overflow the simulator's arithmetic: slips of the unit."""
    for name, constant in constants(model):
        if not name.startswith(("router.", "links.", "ni.", "power.")) or not isinstance(constant.value, int):
            continue
        dimension = dimension_of(type(constant))
        least, most, what = _SLIPS.get(dimension.base if dimension else "", (0, math.inf, ""))
        if constant.value != 0 and not least <= constant.value <= most:
            yield tuple(name.split(".")), f"{what.format(value=constant.value)}; is its unit right?"
