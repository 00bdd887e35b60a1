# SPDX-License-Identifier: Apache-2.0
"""Are private words refused wherever they stand, and only there?"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PAGE = """# Words for contributors

## Terms

| term | meaning | not | where |
|---|---|---|---|
| report | Says what is wrong. | `told`, `in vain` | |
| space | A buffer's. | `room`, freed | `core/nic`, `pages` |

## Allowed

| word | files | phrases | why |
|---|---|---|---|
| `room` | `pages/house` | | a house has rooms |
| `told` | | `told apart` | ordinary English |
"""


@pytest.fixture(scope="module")
def words() -> Any:
    spec = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["words"] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        ("core/a.cpp", "// It is told.", ["told"]),
        ("core/a.cpp", "kTold told_packets_ mytold", ["told", "told"]),
        ("core/a.cpp", "told twice, told", ["told", "told"]),
        ("core/a.cpp", "bool waits_in_vain(int); // in vain", ["in vain", "in vain"]),
        ("core/a.cpp", "two that are told apart, and told", ["told"]),
        ("core/a.cpp", "int freed, mushroom, room;", []),
        ("core/nic/a.cpp", "int freed, mushroom, room;", ["room"]),
        ("pages/a.md", "No room", ["room"]),
        ("pages/house", "No room", []),
        ("tests/test_room_told.py", "", ["told"]),
    ],
)
def test_a_word_is_found_where_it_is_refused(words: Any, path: str, line: str, found: list[str]) -> None:
    assert [word for word, _ in words.find(words.read_rules(PAGE), path, [line])] == found


def test_an_exception_has_a_reason_and_is_of_a_refused_word(words: Any) -> None:
    with pytest.raises(ValueError, match="a reason"):
        words.read_rules(PAGE.replace("ordinary English", ""))
    with pytest.raises(ValueError, match="said is allowed and nowhere refused"):
        words.read_rules(PAGE.replace("| `told` | |", "| `said` | |"))


def test_no_word_has_come_back() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "words.py"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout
