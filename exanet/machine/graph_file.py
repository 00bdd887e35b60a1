# SPDX-License-Identifier: Apache-2.0
"""Reads a network's graph from a file: GraphML, as networkx and other tools write it, or a list of edges.

A list of edges has one link a line, two names of routers apart by blanks or a comma; `NAME endpoints NUMBER` gives a router endpoints of
its own. Text behind `#` is ignored. In GraphML a node's data named `endpoints`, or their default, says the same, and direction, weights and
all else are ignored. A router without a number of its own has the machine file's. Errors tell file and line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from exanet.errors import InputError
from exanet.machine.located import printable

_LARGEST = 64 << 20  # bytes


class _Bad(Exception):
    """What is wrong, and in which line."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@dataclass
class Graph:
    """Routers by name with their own number of endpoints (None: the machine's), and links as pairs of their places."""

    endpoints: dict[str, int | None] = field(default_factory=dict)
    links: list[tuple[int, int]] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def router(self, name: str) -> int:
        if name not in self._places:
            self._places[name] = len(self._places)
            self.endpoints[name] = None
        return self._places[name]

    def link(self, a: str, b: str, line: int) -> None:
        if a == b:
            raise _Bad(line, f"router '{a}' is linked to itself; take this link out")
        self.links.append((self.router(a), self.router(b)))

    def own(self, name: str, endpoints: int, line: int) -> None:
        """The router has so many endpoints of its own."""
        self.router(name)
        if self.endpoints[name] not in (None, endpoints):
            raise _Bad(line, f"router '{name}' has {self.endpoints[name]} endpoints already; take one of the two numbers out")
        self.endpoints[name] = endpoints

    def resolve(self, default: int) -> dict[str, Any]:
        """As the simulator takes it, with `default` endpoints where the file gives none."""
        hosts = [default if own is None else own for own in self.endpoints.values()]
        return {"names": list(self.endpoints), "hosts": hosts, "links": [list(link) for link in self.links]}


def read(file: Path) -> Graph:
    """The graph in `file`. Raises InputError, with file and line, on what is no graph."""
    shown = printable(str(file))
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(f"{shown}: error: larger than 64 MiB; give a smaller graph")
        content = file.read_bytes()
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
    return graph


def _edges(text: str) -> Graph:
    graph = Graph()
    for number, line in enumerate(text.split("\n"), 1):
        words = re.split(r"\s*,\s*|\s+", line.partition("#")[0].strip())
        if words == [""]:
            continue
        if len(words) == 3 and words[1] == "endpoints":
            graph.own(words[0], _count(words[2], number), number)
        elif len(words) == 2 and all(words):
            graph.link(words[0], words[1], number)
        else:
            raise _Bad(number, f"'{line.strip()[:60]}' is no link; write two names of routers, or NAME endpoints NUMBER")
    return graph


def _count(text: str, line: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) > 1024:
        raise _Bad(line, f"'{text[:20]}' is no number of endpoints; give a whole number from 0 to 1024")
    return int(text)


_OF_LINKS = ("rate", "bandwidth", "capacity", "speed", "latency", "delay")
"""Attributes of edges that would change the simulation if they were heeded."""


class _Reader:
    """What expat calls while it reads GraphML."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.entity
        self.endpoint_key = ""  # the id under which `endpoints` is declared
        self.in_key = False  # within that declaration
        self.default: int | None = None  # that it gives to nodes that say nothing
        self.node = ""
        self.data: str | None = None
        self.known: set[str] = set()
        self.ends: list[tuple[str, str, int]] = []
        self.found_graph = False

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def entity(self, *_: Any) -> None:
        raise _Bad(self.line, "GraphML needs no entities of its own; take this declaration out")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition(" ")[2]
        if element == "key" and attributes.get("for", "all") in ("node", "all") and attributes.get("attr.name") == "endpoints":
            self.endpoint_key, self.in_key = attributes.get("id", ""), True
        elif element == "key" and attributes.get("for", "all") in ("edge", "all") and attributes.get("attr.name", "").lower() in _OF_LINKS:
            name = attributes["attr.name"]
            raise _Bad(self.line, f"links have no {name} of their own here: say it of all, in links.link of the machine file; take it out")
        elif element == "graph":
            if self.found_graph:
                raise _Bad(self.line, "a second graph; give a file with one graph")
            self.found_graph = True
        elif element == "node":
            self.node = self._attribute(attributes, "id")
            if self.node in self.known:
                raise _Bad(self.line, f"a second node '{self.node}'; give each an id of its own")
            self.known.add(self.node)
            self.graph.router(self.node)
        elif element == "edge":
            self.ends.append((self._attribute(attributes, "source"), self._attribute(attributes, "target"), self.line))
        elif element == "hyperedge":
            raise _Bad(self.line, "a hyperedge; a link joins two routers")
        elif (element == "default" and self.in_key) or (element == "data" and self.node and attributes.get("key") == self.endpoint_key):
            self.data = ""

    def _attribute(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise _Bad(self.line, f"this element has no {name}; add it")
        return attributes[name]

    def text(self, data: str) -> None:
        if self.data is not None:
            self.data += data

    def end(self, name: str) -> None:
        element = name.rpartition(" ")[2]
        if element == "data" and self.data is not None:
            self.graph.own(self.node, _count(self.data.strip(), self.line), self.line)
            self.data = None
        elif element == "default" and self.data is not None:
            self.default, self.data = _count(self.data.strip(), self.line), None
        elif element == "key":
            self.in_key = False
        elif element == "node":
            self.node = ""


def _graphml(content: bytes) -> Graph:
    reader = _Reader()
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        raise _Bad(error.lineno, f"no well-formed XML: {expat.ErrorString(error.code)}") from None
    if not reader.found_graph:
        raise _Bad(1, "there is no <graph> in it; give a GraphML file, or one link a line")
    for a, b, line in reader.ends:  # nodes may stand behind the edges that name them
        for end in (a, b):
            if end not in reader.known:
                raise _Bad(line, f"there is no node '{end}'; an edge names two nodes of the file")
        reader.graph.link(a, b, line)
    reader.graph.endpoints = {name: reader.default if own is None else own for name, own in reader.graph.endpoints.items()}
    return reader.graph
