# SPDX-License-Identifier: Apache-2.0
"""Reads a network's graph from a file: GraphML, as networkx and other tools write it, or a list of edges.

A list of edges has one link a line, two names of routers apart by blanks or a comma, and the link's kind behind them
where it is not the usual one; `NAME endpoints NUMBER` gives a router endpoints of its own. Text behind `#` is ignored.
In GraphML a node's data named `endpoints` and an edge's named `link_kind`, or their defaults, say the same; weights and
all else are ignored. A router without a number of its own has the machine file's. Errors name file and line.

Links are duplex. Two directed edges, one each way, are one link, and so is a directed edge alone, unless such edges
close a ring that leads round one way only: no description of duplex links has one, so it is refused.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from exanet.errors import InputError
from exanet.machine.located import printable

_LARGEST = 64 << 20  # bytes


class _Bad(Exception):
    """A defect of the file, and its line."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@dataclass
class Graph:
    """Routers by name with their own number of endpoints (None: the machine's), and links as pairs of their places."""

    endpoints: dict[str, int | None] = field(default_factory=dict)
    links: list[tuple[int, int]] = field(default_factory=list)
    # by the place of a link that is of no usual kind; and its line
    kinds: dict[int, tuple[str, int]] = field(default_factory=dict)
    file: str = ""
    _places: dict[str, int] = field(default_factory=dict)

    def router(self, name: str) -> int:
        if name not in self._places:
            self._places[name] = len(self._places)
            self.endpoints[name] = None
        return self._places[name]

    def link(self, a: str, b: str, line: int, kind: str = "") -> None:
        if a == b:
            raise _Bad(line, f"router '{a}' is linked to itself; take this link out")
        if kind not in ("", "link"):
            self.kinds[len(self.links)] = kind, line
        self.links.append((self.router(a), self.router(b)))

    def own(self, name: str, endpoints: int, line: int) -> None:
        """The router has so many endpoints of its own."""
        self.router(name)
        if self.endpoints[name] not in (None, endpoints):
            raise _Bad(line, f"router '{name}' has {self.endpoints[name]} endpoints already; take one of the two numbers out")
        self.endpoints[name] = endpoints

    def resolve(self, default: int, described: Sequence[str]) -> dict[str, Any]:
        """As the simulator takes it, with `default` endpoints where the file gives none; `described` are kinds of links
        beyond the usual.

        Raises InputError on one that is not described.
        """
        hosts = [default if own is None else own for own in self.endpoints.values()]
        out = {"names": list(self.endpoints), "hosts": hosts, "links": [list(link) for link in self.links]}
        for kind, line in self.kinds.values():
            if kind not in described:
                what = f"a link of the kind '{printable(kind[:40])}', which the machine file does not describe: add it to 'links' there"
                raise InputError(f"{self.file}:{line}: error: {what}")
        place = {"": 0, **{name: number for number, name in enumerate(described, 1)}}
        kinds = [place[self.kinds.get(number, ("", 0))[0]] for number in range(len(self.links))]
        return {**out, "kinds": kinds} if self.kinds else out


def read(file: Path) -> Graph:
    """The graph in `file`. Raises InputError, with file and line, on what is no graph."""
    shown = printable(str(file))
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST + 1)  # devices and pipes have no size
        if len(content) > _LARGEST:
            raise InputError(f"{shown}: error: larger than 64 MiB; give a smaller graph")
        text = content.decode()
    except OSError as error:
        raise InputError(f"{shown}: error: cannot be read: {error.strerror}; give a file of links, or GraphML") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{shown}:{line}: error: not UTF-8 text; give a file of links, or GraphML") from None
    try:
        graph = _graphml(content) if text.lstrip("\ufeff \t\r\n").startswith("<") else _edges(text)
    except _Bad as bad:
        raise InputError(f"{shown}:{bad.line}: error: {printable(str(bad))}") from None
    if not graph.endpoints:
        raise InputError(f"{shown}: error: there is no router in it; give one link a line, e.g. 'a b'")
    graph.file = shown
    return graph


def _edges(text: str) -> Graph:
    graph = Graph()
    for number, line in enumerate(text.split("\n"), 1):
        words = re.split(r"\s*,\s*|\s+", line.partition("#")[0].strip())
        if words == [""]:
            continue
        if len(words) == 3 and words[1] == "endpoints":
            graph.own(words[0], _count(words[2], number), number)
        elif len(words) in (2, 3) and all(words):
            graph.link(words[0], words[1], number, *words[2:])
        else:
            what = "write two names of routers, and the link's kind if it has one, or NAME endpoints NUMBER"
            raise _Bad(number, f"'{line.strip()[:60]}' is no link; {what}")
    return graph


def _count(text: str, line: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) > 1024:
        raise _Bad(line, f"'{text[:20]}' is no number of endpoints; give a whole number from 0 to 1024")
    return int(text)


_OF_LINKS = ("rate", "bandwidth", "capacity", "speed", "latency", "delay")
"""Attributes of edges that would change the simulation if they were heeded."""


class _Reader:
    """Handlers that expat calls while it reads GraphML."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.entity
        self.keys: dict[str, str] = {}  # `endpoints` and `link_kind` by the ids under which they are declared
        self.in_key = ""  # the one within whose declaration this is
        self.default: int | None = None  # endpoints of nodes that say nothing
        self.default_kind = ""  # of edges that say nothing
        self.node = ""
        self.edge = False  # within one, the last of `edges`
        self.data: str | None = None
        self.data_is = ""  # a value of keys
        self.known: set[str] = set()
        self.edges: list[tuple[str, str, int]] = []
        self.all_directed = False  # edges that say nothing
        self.directed: set[int] = set()  # places of edges
        self.kinds: dict[int, str] = {}  # by the place of an edge
        self.found_graph = False

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def entity(self, *_: Any) -> None:
        raise _Bad(self.line, "GraphML needs no entities of its own; take this declaration out")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition(" ")[2]
        of, key = attributes.get("for", "all"), attributes.get("attr.name", "")
        if element == "key" and (key, of) in (("endpoints", "node"), ("endpoints", "all"), ("link_kind", "edge"), ("link_kind", "all")):
            self.keys[attributes.get("id", "")] = self.in_key = key
        elif element == "key" and of in ("edge", "all") and key.lower() in _OF_LINKS:
            say = "say it of all, in links.link of the machine file, or of a kind of links, which an edge names by its data 'link_kind'"
            raise _Bad(self.line, f"links have no {key} of their own here: {say}; take it out")
        elif element == "graph":
            if self.found_graph:
                raise _Bad(self.line, "a second graph; give a file with one graph")
            self.found_graph = True
            self.all_directed = attributes.get("edgedefault") == "directed"
        elif element == "node":
            self.node = self._attribute(attributes, "id")
            if self.node in self.known:
                raise _Bad(self.line, f"a second node '{self.node}'; give each an id of its own")
            self.known.add(self.node)
            self.graph.router(self.node)
        elif element == "edge":
            if attributes.get("directed", "true" if self.all_directed else "false") in ("true", "1"):
                self.directed.add(len(self.edges))
            self.edges.append((self._attribute(attributes, "source"), self._attribute(attributes, "target"), self.line))
            self.edge = True
        elif element == "hyperedge":
            raise _Bad(self.line, "a hyperedge; a link joins two routers")
        elif element == "default" and self.in_key:
            self.data, self.data_is = "", self.in_key
        elif element == "data":
            says = self.keys.get(attributes.get("key", ""), "")
            # of the graph itself nothing is heeded
            if (says == "endpoints" and self.node) or (says == "link_kind" and self.edge):
                self.data, self.data_is = "", says

    def _attribute(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise _Bad(self.line, f"this element has no {name}; add it")
        return attributes[name]

    def text(self, data: str) -> None:
        if self.data is not None:
            self.data += data

    def end(self, name: str) -> None:
        element = name.rpartition(" ")[2]
        if element in ("data", "default") and self.data is not None:
            self._take(self.data.strip(), element == "default")
            self.data = None
        elif element == "key":
            self.in_key = ""
        elif element == "node":
            self.node = ""
        elif element == "edge":
            self.edge = False

    def _take(self, said: str, of_all: bool) -> None:
        """Attributes given for a node, an edge, or all of them."""
        if self.data_is == "endpoints" and of_all:
            self.default = _count(said, self.line)
        elif self.data_is == "endpoints":
            self.graph.own(self.node, _count(said, self.line), self.line)
        elif of_all:
            self.default_kind = said
        else:
            self.kinds[len(self.edges) - 1] = said


def _graphml(content: bytes) -> Graph:
    reader = _Reader()
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        raise _Bad(error.lineno, f"no well-formed XML: {expat.ErrorString(error.code)}") from None
    if not reader.found_graph:
        raise _Bad(1, "there is no <graph> in it; give a GraphML file, or one link a line")
    for a, b, line in reader.edges:  # nodes may stand behind the edges that name them
        for end in (a, b):
            if end not in reader.known:
                raise _Bad(line, f"there is no node '{end}'; an edge names two nodes of the file")
    backward = _second_ways(reader)
    for number, (a, b, line) in enumerate(reader.edges):
        if number not in backward:
            reader.graph.link(a, b, line, reader.kinds.get(number, reader.default_kind))
    reader.graph.endpoints = {name: reader.default if own is None else own for name, own in reader.graph.endpoints.items()}
    return reader.graph


def _second_ways(reader: _Reader) -> set[int]:
    """Places of the directed edges that are the other direction of an earlier one. Raises _Bad on a ring of edges
    without such a one."""
    alone: dict[tuple[str, str, str], list[int]] = {}  # by both ends and the link's kind
    second = set()
    for number in sorted(reader.directed):
        a, b, _ = reader.edges[number]
        kind = reader.kinds.get(number, reader.default_kind)
        if other := alone.get((b, a, kind)):
            other.pop(0)
            second.add(number)
        else:
            alone.setdefault((a, b, kind), []).append(number)
    one_way: dict[str, set[str]] = {}
    for (a, b, _), numbers in alone.items():
        if numbers and a != b:  # a link to itself is refused as that
            one_way.setdefault(a, set()).add(b)
    try:
        graphlib.TopologicalSorter(one_way).prepare()
    except graphlib.CycleError as error:
        ring = error.args[1][::-1]  # a node precedes the one that it follows there
        line = next(line for a, b, line in reader.edges if (a, b) == (ring[0], ring[1]))
        shown = " -> ".join(ring if len(ring) <= 6 else [*ring[:5], "...", ring[-1]])
        say = "links are duplex: give an edge each way, or one undirected edge for each link"
        raise _Bad(line, f"directed edges lead round one way only, {shown}: {say}") from None
    return second
