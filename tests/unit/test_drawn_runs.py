# SPDX-License-Identifier: Apache-2.0
"""Do runs drawn over all topologies, on both levels, end without an internal error; and is it reported when one does
not?"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from exanet import _core

TOOL = Path(__file__).resolve().parents[2] / "tools" / "drawn_runs.py"
sys.path.insert(0, str(TOOL.parent))

import drawn_runs  # noqa: E402


def test_drawn_runs_end() -> None:
    """The first of those that `python tools/drawn_runs.py` carries out."""
    done = subprocess.run([sys.executable, TOOL, "--count", "60", "--jobs", "1"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("60 runs from number 0 on: ")
    assert done.stdout.endswith(" 0 failed\n")
    assert int(done.stdout.split(": ")[1].split(" ended")[0]) >= 25  # the rest is refused


def test_all_topologies_routings_and_traffics_are_drawn() -> None:
    registries = _core.registries()
    cases = [drawn_runs.drawn(number) for number in range(3000)]
    drawn = {key: {str(case.get(key)).split(":")[0] for case in cases} for key in ("topology", "routing", "traffic")}
    for registry, key in (("topologies", "topology"), ("routings", "routing"), ("patterns", "traffic")):
        # nobody draws files
        assert {entry["name"] for entry in registries[registry] if not entry.get("text")} <= drawn[key]


FAILING = """
import os, sys, time
sys.path.insert(0, {tools!r})
import drawn_runs
sys.argv[0] = drawn_runs.__file__ = {me!r}
def carry_out(case):
    if case["seed"] == 3: raise RuntimeError("a check")
    if case["seed"] == 4: os.abort()
    if case["seed"] == 6: time.sleep(1000)
drawn_runs.carry_out = carry_out
sys.exit(drawn_runs.main())
"""


def test_what_fails_dies_or_hangs_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    me = tmp_path / "tool.py"
    me.write_text(FAILING.format(tools=str(TOOL.parent), me=str(me)))
    words = [sys.executable, me, "--first", "2", "--count", "7", "--jobs", "1", "--limit", "3"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    reported = Counter(line.split("\n")[0] for line in done.stdout.split("run ") if line[:1].isdigit())
    assert set(reported) == {"3 failed RuntimeError: a check", "4 ended its process with -6", "6 took too long"}
    assert done.stdout.splitlines()[-1] == "7 runs from number 2 on: 4 ended, 0 refused, 3 failed"
