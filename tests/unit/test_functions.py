# SPDX-License-Identifier: Apache-2.0
"""Is every Python function of the project short enough to be read at a glance?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("exanet", "spec", "tools", "gateware", "bench", "examples", "docs", "tests")
MOST_LINES = 70
"""From the line of `def` to the last one, signature and docstring included."""


def long_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, first line and number of lines of each function that is too long."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES:
                yield node.name, node.lineno, lines


def sources() -> list[Path]:
    return [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")) if "build" not in file.parts]


def test_no_function_is_longer_than_a_page() -> None:
    files = sources()
    assert len(files) > 200 and all(any(file.is_relative_to(ROOT / folder) for file in files) for folder in FOLDERS)
    found = [f"{file.relative_to(ROOT)}:{line}: {name}: {n}" for file in files for name, line, n in long_functions(file.read_text())]
    assert found == []


@pytest.mark.parametrize("head", ["def planted():", "async def planted():", "class Planted:\n    def planted(self):"])
def test_a_function_of_one_line_too_many_is_found(head: str) -> None:
    indent = "    " * (head.count("\n") + 1)
    whole = f'{head}\n{indent}"""Counted, too."""' + f"\n{indent}pass" * (MOST_LINES - 2)
    first = 1 + head.count("\n")
    assert list(long_functions(whole)) == []
    assert list(long_functions(f"{whole}\n{indent}pass")) == [("planted", first, MOST_LINES + 1)]
