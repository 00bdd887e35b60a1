# SPDX-License-Identifier: Apache-2.0
"""Do the package's files have one encoding, whatever the locale's?

Python opens a text file in the encoding of the locale unless it is given one. A file with µ, or with a name with
letters beyond ASCII, then cannot be read in the C locale, or is read as something else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "exanet"
TEXT = {"read_text": 0, "write_text": 1}
"""Methods of Path, and which of their positional arguments is the encoding."""
NO_TEXT = ("os", "self", "journal")
"""Whose `open` opens no file of text: os.open, and a journal of bytes."""


def without_encoding(text: str) -> Iterator[int]:
    """Lines with a call that opens a text file in the locale's encoding."""
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "encoding" in given:
            continue
        if isinstance(call.func, ast.Attribute):
            name, mode_at = call.func.attr, 0
            if isinstance(call.func.value, ast.Name) and call.func.value.id in NO_TEXT:
                continue
        elif isinstance(call.func, ast.Name):
            name, mode_at = call.func.id, 1
        else:
            continue
        if name in TEXT and len(call.args) <= TEXT[name]:
            yield call.lineno
        elif name == "open":
            mode = given.get("mode") or (call.args[mode_at] if len(call.args) > mode_at else ast.Constant("r"))
            # A mode that is no constant, and what is no mode, as in Server.open(rank), are not files of text.
            if isinstance(mode, ast.Constant) and isinstance(mode.value, str) and "b" not in mode.value:
                yield call.lineno


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("p.read_text()", True),
        ("p.read_text('utf-8')", False),
        ("p.read_text(errors='replace')", True),
        ("p.write_text(text)", True),
        ("p.write_text(text, encoding='utf-8')", False),
        ("p.open()", True),
        ("p.open('w')", True),
        ("p.open('rb')", False),
        ("open(p)", True),
        ("open(p, 'wb')", False),
        ("open(p, mode='a')", True),
        ("os.open(p, os.O_RDONLY)", False),
    ],
)
def test_a_call_without_encoding_is_found(line: str, found: bool) -> None:
    assert bool(list(without_encoding(line))) == found


def test_the_package_gives_each_text_file_an_encoding() -> None:
    found = [
        f"{file.relative_to(SOURCES.parent)}:{line}: error: a text file is opened in the locale's encoding; give encoding='utf-8'"
        for file in sorted(SOURCES.rglob("*.py"))
        for line in without_encoding(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)
