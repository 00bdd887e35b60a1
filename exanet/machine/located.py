# SPDX-License-Identifier: Apache-2.0
"""YAML in which every value knows its file, line and column.

A user's file is read as the tree that the YAML composer makes, before any object is built from it: the composer keeps
the position of every scalar and key, cannot be made to run code by a tag, and leaves numbers as they were written. The
tree is then plain data beside its marks, so that whoever checks it can say where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import implicit_resolvers

from exanet.errors import InputError
from exanet.machine.finding import LARGEST_BYTES
from exanet.near import nearest

_MAX_NODES = 50_000  # aliases can make a small file describe an enormous tree
_MAX_DEPTH = 50


def printable(text: str) -> str:
    """`text` without line breaks and control characters, so that a hostile file cannot draw on the terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


@dataclass(frozen=True, order=True)
class Mark:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def error(self, what: str) -> str:
        """One message as every checker prints it: one line, whatever of the file it quotes."""
        return f"{self.file}:{self.line}:{self.column}: error: {printable(what)}"


@dataclass
class Located:
    """A value with its place; `keys` are the places of a mapping's keys."""

    value: Any  # dict[str, Located], list[Located], or a scalar
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)

    def plain(self) -> Any:
        """The value without its marks."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: tuple[str | int, ...], *, key: bool = False) -> Mark:
        """The place of the value at `path` (of its key if `key`), or of the innermost part of the path that exists."""
        here, mark = self, self.mark
        for step in path:
            if isinstance(here.value, dict) and step in here.value:
                mark = here.keys[str(step)] if key else here.value[step].mark
                here = here.value[step]
            elif isinstance(here.value, list) and isinstance(step, int) and step < len(here.value):
                here = here.value[step]
                mark = here.mark
            else:
                break
        return mark


def problem(tree: Located, detail: Any, owner: Any, whole: str) -> tuple[Mark, str]:
    """An error of pydantic: where, and what is wrong. `owner` is the model of the key, `whole` says what a file is."""
    path, kind = tuple(detail["loc"]), detail["type"]
    last = str(path[-1]) if path else ""
    keys = {field.alias or name: field for name, field in owner.model_fields.items()}
    if kind == "extra_forbidden":
        meant = nearest(last, list(keys))
        advice = f"did you mean '{meant}'?" if meant else f"known keys: {', '.join(keys)}"
        return tree.find(path, key=True), f"unknown key '{last}'; {advice}"
    if kind == "missing":
        meaning = f"; {keys[last].description}" if keys[last].description else ""
        return tree.find(path[:-1]), f"'{last}' is missing{meaning}"
    text = str(detail["msg"])
    if kind in ("model_type", "model_attributes_type"):
        text = "expected a mapping" if path else whole
    return tree.find(path), f"'{last}': {text[0].lower()}{text[1:]}" if last and not isinstance(path[-1], int) else text


def values(plain: Mapping[str, Any], origin: str) -> dict[str, Located]:
    """Values that come from no file, each at the place `origin`; lists, too."""

    def at(value: Any) -> Located:
        return Located([at(part) for part in value] if isinstance(value, list) else value, Mark(origin))

    return {name: at(value) for name, value in plain.items()}


def read(path: Path, shown: str | None = None) -> Located:
    """The file's tree; `shown` is the name to use in messages.

    Raises:
        InputError: the file cannot be read, is not YAML, is empty, or is too large.
    """
    name = shown or str(path)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{name}: error: cannot be read: {error.strerror or error}") from None
    return parse(data, name)


def parse(data: bytes, name: str) -> Located:
    """As read(), from the file's bytes."""
    start = Mark(name)
    if len(data) > LARGEST_BYTES:
        raise InputError(start.error(f"the file is larger than {LARGEST_BYTES} bytes; a description is a few kilobytes"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(Mark(name, line).error("the file is not UTF-8 text; save it as UTF-8")) from None
    try:
        root = _compose(text)
    except YAMLError as error:
        raise InputError(_syntax(error, start)) from None
    except RecursionError:
        raise InputError(start.error(f"the file is nested too deeply; use at most {_MAX_DEPTH} levels")) from None
    # the composer meets hostile text with more than its own errors; all of them mean the same to a user
    except Exception as error:
        raise InputError(start.error(f"the file is not readable as YAML: {error}")) from None
    if root is None:
        raise InputError(start.error("the file is empty; write a description in it"))
    return _Builder(name).build(root, 0)


def parse_list(option: str, text: str) -> Located:
    """The values of an option, with commas between them. Raises InputError."""
    parsed = parse(f"[{text}]".encode(), option)
    assert isinstance(parsed.value, list)
    return parsed


if yaml.__with_libyaml__:

    class _Composer(yaml.CBaseLoader):
        """The tree by libyaml, fifty times as fast as ruamel.yaml; what a plain word is as there, by YAML 1.2."""

    for _versions, _tag, _expression, _first in implicit_resolvers:
        if (1, 2) in _versions:
            _Composer.add_implicit_resolver(_tag, _expression, _first)


def _compose(text: str) -> Any:
    """The tree's root, or None. What libyaml refuses, ruamel.yaml reads, or says what is wrong with it. Raises its
    errors."""
    if yaml.__with_libyaml__:
        try:
            return _Composer(text).get_single_node()
        except Exception:  # whatever it is, it comes again below
            pass
    return YAML(typ="safe", pure=True).compose(text)


def _syntax(error: YAMLError, start: Mark) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    place = Mark(start.file, mark.line + 1, mark.column + 1) if mark is not None else start
    return place.error(f"not valid YAML: {' '.join(str(what).split())}; check the indentation, quotes and brackets here")


class _Builder:
    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0

    def build(self, node: Any, depth: int) -> Located:
        mark = self._mark(node)
        self.count += 1
        if depth > _MAX_DEPTH or self.count > _MAX_NODES:
            limits = f"{_MAX_DEPTH} levels and {_MAX_NODES} values"
            raise InputError(mark.error(f"the file is nested too deeply or too large; use at most {limits}"))
        if node.id == "mapping":
            return self._mapping(node, mark, depth)
        if node.id == "sequence":
            return Located([self.build(child, depth + 1) for child in node.value], mark)
        return Located(_scalar(node), mark)

    def _mapping(self, node: Any, mark: Mark, depth: int) -> Located:
        values: dict[str, Located] = {}
        keys: dict[str, Mark] = {}
        for key, value in node.value:
            place = self._mark(key)
            if key.id != "scalar":
                raise InputError(place.error("a key must be a plain word, not a list or a mapping"))
            if key.value in values:
                raise InputError(place.error(f"'{key.value}' is given twice (first on line {keys[key.value].line}); keep one"))
            values[key.value] = self.build(value, depth + 1)
            keys[key.value] = place
        return Located(values, mark, keys)

    def _mark(self, node: Any) -> Mark:
        return Mark(self.name, node.start_mark.line + 1, node.start_mark.column + 1)


def _scalar(node: Any) -> Any:
    kind, text = str(node.tag).rpartition(":")[2], str(node.value)
    try:
        if kind == "int":
            return int(text.replace("_", ""), 0) if len(text) < 30 else text
        if kind == "float":
            return float(text.replace("_", ""))
    except ValueError:
        return text
    if kind == "bool":
        return text.lower() == "true"
    return None if kind == "null" else text
