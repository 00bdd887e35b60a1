# SPDX-License-Identifier: Apache-2.0
"""Keeps how long the parts of `make test` and their slowest tests took, in build/times.json, so that the next run is
shown beside it.

Times of tests come from what the parts leave in their folder: NAME.xml (pytest's JUnit report) and NAME.log (doctest's
`--duration`).
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MOST = 50
_DOCTEST = re.compile(r"^(?:\d+: )?([0-9]+\.[0-9]+) s: (.+)$", re.MULTILINE)


def of_tests(folder: Path, names: Iterable[str]) -> list[tuple[str, float]]:
    """The slowest tests of these parts, "part: test" with seconds, the slowest first. A part that left nothing has
    none."""
    found: list[tuple[str, float]] = []
    for name in names:
        report, log = folder / f"{name}.xml", folder / f"{name}.log"
        if report.exists():
            for case in xml.parse(report).iter("testcase"):
                test = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
                found.append((f"{name}: {test}", float(case.get("time", 0))))
        elif log.exists():
            found += [(f"{name}: {test}", float(took)) for took, test in _DOCTEST.findall(log.read_text(errors="replace"))]
    return sorted(found, key=lambda test: (-test[1], test[0]))[:MOST]


def read(path: Path) -> dict[str, Any]:
    """What was kept there, or nothing where there is no such file or it cannot be read."""
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


def write(path: Path, parts: dict[str, dict[str, float]], tests: list[tuple[str, float]]) -> None:
    """Replaces the file whole. Parts that did not run keep the times that they had."""
    kept = {**read(path).get("parts", {}), **parts}
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps({"parts": kept, "tests": [{"test": test, "s": took} for test, took in tests]}, indent=1) + "\n")
    beside.rename(path)


def slowest(tests: list[tuple[str, float]], before: dict[str, Any], most: int = 10) -> str:
    """The slowest tests, one a line, with what each took the last time where it was among the slowest."""
    took = {entry["test"]: float(entry["s"]) for entry in before.get("tests", [])}
    lines = [f"{'test s':>9}{'before':>9}  slowest tests"]
    lines += [f"{s:9.1f}{f'{took[test]:9.1f}' if test in took else '':>9}  {test}" for test, s in tests[:most]]
    return "\n".join(lines)
