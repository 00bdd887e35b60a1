# SPDX-License-Identifier: Apache-2.0
"""The tools behind `make test`: are parts run in order, side by side, within their limits; is what passed tried
again when it must be; is what is left outside found, and is it ours?"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

import pytest
from host import gone, wait_for

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import core_tests  # noqa: E402
import gateware_tests  # noqa: E402
import leftovers  # noqa: E402
import once  # noqa: E402
import parts  # noqa: E402
import passed  # noqa: E402
import schedule  # noqa: E402
import tidy  # noqa: E402
import times  # noqa: E402
from schedule import Outcome, Part  # noqa: E402


def run(folder: Path, *parts: Part, processors: int = 2) -> tuple[dict[str, str], str]:
    said: list[str] = []
    outcomes = schedule.run(parts, processors=processors, folder=folder, environment=os.environ, said=said.append)
    return {outcome.name: outcome.result for outcome in outcomes}, "\n".join(said)


def test_what_needs_a_failed_part_is_left_out_and_the_rest_runs(tmp_path: Path) -> None:
    results, said = run(
        tmp_path,
        Part("good", "echo fine"),
        Part("bad", "echo what is wrong; false; echo too far"),
        Part("after", "true", needs=("good",)),
        Part("never", "true", needs=("bad",)),
        Part("nor", "true", needs=("never",)),
    )
    assert results == {"good": "passed", "bad": "failed", "after": "passed", "never": "left out", "nor": "left out"}
    assert "what is wrong" in said and "too far" not in said and "fine" not in said
    assert (tmp_path / "good.log").read_text() == "fine\n"


def test_as_many_at_a_time_as_there_are_processors(tmp_path: Path) -> None:
    def noted(number: int) -> str:
        """A command that notes its beginning and its end, and ends once so many have begun; what is started too
        early has time to."""
        note = tmp_path / "note"
        begun = f"[ $(grep -c begun {note}) -ge {number} ]"
        return f"echo begun >>{note}; until {begun}; do sleep 0.02; done; sleep 0.3; echo ended >>{note}"

    def most() -> int:
        """How many ran at the same time, by their notes."""
        steps = [1 if line == "begun" else -1 for line in (tmp_path / "note").read_text().split()]
        (tmp_path / "note").unlink()
        return max(accumulate(steps))

    results, _ = run(tmp_path / "logs", *(Part(f"one-{i}", noted(2), limit_s=300) for i in range(5)))
    assert set(results.values()) == {"passed"}, "the first two run beside each other"
    assert most() == 2
    run(tmp_path / "logs", Part("all", f"{noted(1)}; echo $JOBS", share=1), Part("other", noted(1)), processors=4)
    assert (tmp_path / "logs/all.log").read_text() == "4\n"
    assert most() == 1


def test_a_part_past_its_limit_is_killed_with_what_it_started(tmp_path: Path) -> None:
    note, began = tmp_path / "pid", time.monotonic()
    for limit_s in (1, 4, 16, 64):  # a busy host may not get as far as the note at once
        results, said = run(tmp_path, Part("hung", f"sleep 1000 & echo $! > {note}.new; mv {note}.new {note}; wait", limit_s=limit_s))
        assert results == {"hung": "timed out"}
        assert f"killed: it may take {limit_s} s" in said
        if note.exists():
            break
    assert time.monotonic() - began < 500
    assert gone(int(note.read_text()))


def test_what_a_part_leaves_running_elsewhere_is_killed_and_reported(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    results, said = run(tmp_path, Part("litter", f"setsid sleep 1000 & echo $! >{note}; sleep 0.5"))
    assert results == {"litter": "passed"}
    assert "litter: left running, killed:" in said and "sleep 1000" in said
    assert gone(int(note.read_text()))


def test_no_part_runs_past_the_limit_of_all(tmp_path: Path) -> None:
    said: list[str] = []
    parts = [Part("hung", "sleep 1000"), Part("behind", "true")]
    outcomes = schedule.run(parts, processors=1, folder=tmp_path, environment=os.environ, limit_s=1, said=said.append)
    assert [(outcome.name, outcome.result) for outcome in outcomes] == [("hung", "timed out"), ("behind", "left out")]
    shown = "\n".join(said)
    assert "hung: past its limit; it runs\n" in shown and "sleep 1000" in shown and "no time is left for all" in shown


def test_a_test_that_passes_at_its_second_try_is_reported(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pathlib\ndef test_it(tmp_path_factory):\n"
        "    there = pathlib.Path(__file__).with_name('there')\n"
        "    if not there.exists():\n        there.touch()\n        assert False, 'flaky'\n"
        "def test_never():\n    assert False\n"
    )
    words = ["pytest", "-raR", "--reruns", "1", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    (tmp_path / "log").write_text(done.stdout)
    assert done.returncode == 1 and "1 failed, 1 passed, 2 rerun" in done.stdout
    names = [line.split()[0].rpartition("/")[2] for line in parts.again(tmp_path / "log")]
    assert names == ["test_it.py::test_it", "test_it.py::test_never"]


def test_processor_time_is_that_of_all_descendants(tmp_path: Path) -> None:
    spin = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.5: pass'"
    (outcome,) = schedule.run(
        [Part("spin", f"({spin}) & ({spin}); wait")], processors=1, folder=tmp_path, environment=os.environ, said=lambda line: None
    )
    assert 1.0 <= outcome.cpu_s < 1.0 + 2 * outcome.wall_s


def test_the_table_has_the_longest_first_with_its_last_time_and_the_sum() -> None:
    outcomes = [Outcome("short", "passed", 1, 2), Outcome("long", "failed", 10, 5), Outcome("middle", "passed", 5, 5)]
    lines = schedule.table(outcomes, wall_s=11, before={"middle": {"wall_s": 7, "cpu_s": 6}}, most=2).splitlines()
    words = [line.split() for line in lines[1:]]
    assert words == [["long", "10.0", "5.0", "failed"], ["middle", "5.0", "5.0", "6.0"], ["all", "11.0", "12.0"]]


def test_the_slowest_tests_are_kept_and_shown_beside_the_last_run(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(
        '<testsuites><testsuite><testcase classname="tests.unit.test_a" name="test_b[1]" time="2.5"/></testsuite></testsuites>'
    )
    (tmp_path / "core.log").write_text("[doctest] run\n3.250000 s: links: a packet\nof 3.0 s: not a test\n0.500000 s: other\n")
    tests = times.of_tests(tmp_path, ["unit", "core", "absent"])
    assert tests == [("core: links: a packet", 3.25), ("unit: test_a::test_b[1]", 2.5), ("core: other", 0.5)]
    kept = tmp_path / "times.json"
    assert times.read(kept) == {}
    times.write(kept, {"unit": {"wall_s": 4.0, "cpu_s": 3.0}}, tests)
    times.write(kept, {"core": {"wall_s": 5.0, "cpu_s": 4.0}}, tests[:1])
    before = times.read(kept)
    assert set(before["parts"]) == {"unit", "core"} and len(before["tests"]) == 1
    lines = times.slowest([("core: links: a packet", 4.0), ("unit: new", 1.0)], before).splitlines()
    assert [line.split() for line in lines[1:]] == [["4.0", "3.2", "core:", "links:", "a", "packet"], ["1.0", "unit:", "new"]]


def test_parts_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="two parts a"):
        schedule.check([Part("a", "true"), Part("a", "true")])
    with pytest.raises(ValueError, match="part a needs b, which must stand before it"):
        schedule.check([Part("a", "true", needs=("b",)), Part("b", "true")])


def test_the_parts_of_make_test_can_be_and_cover_all_tests() -> None:
    schedule.check(parts.PARTS)
    recorded = [f" {Path(check.tests).parent}" for check in once.CHECKS.values() if check.tests]
    commands = " ".join([*(part.command for part in parts.PARTS), *recorded])
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    assert folders and all(f" {folder}" in commands for folder in folders)
    assert [part.name for part in parts.chosen(["gateware-tests"])] == ["package", "gateware-build", "gateware-tests"]
    with pytest.raises(SystemExit, match="no part pytests"):
        parts.chosen(["pytests"])


def test_a_sixth_of_the_slow_tests_is_drawn_from_the_commit_and_all_are_in_some_commits() -> None:
    named = [line for line in (ROOT / "tests/slow.txt").read_text().splitlines() if not line.startswith("#")]
    assert named == sorted(set(named))
    for name in named:
        file, _, function = name.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE), f"tests/slow.txt: there is no {name}"
    commits = [set().union(*(passed.drawn_of([name], name, str(commit), 6) for name in named)) for commit in range(60)]
    assert set().union(*commits) == set(named)
    assert 0.15 < sum(map(len, commits)) / 60 / len(named) < 0.185


@pytest.mark.parametrize("number", [1, 2, 6, 7, 20])
def test_of_the_cases_of_a_slow_test_a_sixth_is_drawn_and_each_as_often(number: int) -> None:
    cases, commits = [f"test[{case}]" for case in range(number)], range(1200)
    drawn = [passed.drawn_of(cases, "test", str(commit), 6) for commit in commits]
    assert {len(found) for found in drawn} <= {number // 6, -(-number // 6)}
    assert all(150 <= sum(case in found for found in drawn) <= 250 for case in cases)


def test_each_published_figure_has_a_finding_of_its_own_if_it_runs(tmp_path: Path) -> None:
    check = once.CHECKS["validation"]
    collect = [sys.executable, *check.command[:-1], "--collect-only", "-q", f"--basetemp={tmp_path / 'b'}", check.tests]
    own = {name: value for name, value in os.environ.items() if not name.startswith("EXANET_TEST_")}
    found = subprocess.run(collect, cwd=ROOT, env=own, capture_output=True, text=True, check=True).stdout.splitlines()
    assert check.each() == [line for line in found if "::" in line]
    assert len({check.key(test) for test in check.each()}) == len(check.each()) > 10
    assert once.CHECKS["cocotb"].each() == [""]


def test_slow_tests_all_run_where_nothing_is_drawn(tmp_path: Path) -> None:
    """By hand all are collected, in `make test` some; marked ones in `make test-long` alone."""
    collect = [sys.executable, "-P", "-m", "pytest", "--collect-only", "-q", "tests/mpi/test_edges.py", "tests/mpi/test_notebooks.py"]
    found = {}
    for drawn in ("", "1"):
        done = subprocess.run(
            [*collect, f"--basetemp={tmp_path / 'b'}"],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != "EXANET_TEST_LONG"} | {"EXANET_TEST_DRAWN": drawn},
            capture_output=True,
            text=True,
            check=True,
        )
        found[drawn] = {line for line in done.stdout.splitlines() if "::" in line}
    assert found["1"] <= found[""] and any("test_notebooks" in name for name in found[""])
    assert {name for name in found[""] if "test_edges" in name} == {name for name in found["1"] if "test_edges" in name}


def test_tests_of_verilated_gateware_run_again_when_one_of_their_sources_changes() -> None:
    check = once.CHECKS["verilated"]
    marked = [
        path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.verilated" in path.read_text() and path != Path(__file__)
    ]
    files = {str(path.relative_to(ROOT)) for path in marked}
    assert len(files) == 4 and all(name.startswith(check.sources) for name in files)
    assert all((ROOT / source).exists() for source in check.sources)


def test_a_finding_is_kept_until_something_changes(tmp_path: Path) -> None:
    source = tmp_path / "a.sv"
    source.write_text("module a;")
    kept = passed.Kept(tmp_path / "kept")

    def key(**changed: object) -> str:
        return passed.key(**{"files": [source], "distributions": ["pytest"], "arguments": ("depth", 2)} | changed)  # type: ignore[arg-type]

    first = key()
    assert kept.find(first) is None
    kept.keep(first, "PASS")
    assert kept.find(key()) == "PASS"
    assert kept.find(key(arguments=("depth", 3))) is None
    assert kept.find(key(distributions=["pytest", "hypothesis"])) is None
    source.write_text("module b;")
    assert kept.find(key()) is None
    source.write_text("module a;")
    assert kept.find(key()) == "PASS"
    assert passed.Kept(None).find(first) is None


def test_a_recorded_finding_holds_elsewhere_but_for_a_drawn_tenth(tmp_path: Path) -> None:
    record, keys = tmp_path / "recorded.json", [passed.key(files=[], arguments=number) for number in range(400)]
    writing = passed.Kept(record=record)
    with ThreadPoolExecutor(4) as pool:  # proofs run side by side
        list(pool.map(lambda key: writing.keep(key, "PASS"), keys))
    again = {seed: {key for key in keys if passed.Kept(recorded=record, seed=seed).find(key) is None} for seed in ("one", "other")}
    assert all(20 <= len(found) <= 60 for found in again.values()) and again["one"] != again["other"]
    assert passed.Kept(recorded=record, seed="one").find(passed.key(files=[], arguments=400)) is None
    for group in ("ni_node", "exanet_router", "exanet_link"):  # drawn together
        assert len({passed.Kept(recorded=record, seed="one").find(key, group) for key in keys[:30]}) == 1
    assert 20 <= sum(passed.Kept(recorded=record, seed="one").find(keys[0], str(group)) is None for group in range(400)) <= 60
    (drawn, *_), folder = sorted(again["one"]), tmp_path / "kept"
    passed.Kept(folder).keep(drawn, "PASS")  # was looked at again in this checkout: holds
    assert passed.Kept(folder, recorded=record, seed="one").find(drawn) == "PASS"


def test_a_key_is_the_same_in_another_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for checkout in (tmp_path / "a", tmp_path / "b"):
        (checkout / "gateware").mkdir(parents=True)
        (checkout / "gateware/a.sv").write_text("module a;")
        monkeypatch.setattr(passed, "ROOT", checkout)
        keys.add(passed.key(files=[checkout / "gateware/a.sv"]))
    assert len(keys) == 1


def test_comments_of_hardware_may_change_where_they_are_ignored(tmp_path: Path) -> None:
    source = tmp_path / "a.sv"

    def key(text: str, ignoring_comments: bool = True) -> str:
        source.write_text(text)
        return passed.key(files=[source], ignoring_comments=ignoring_comments)

    one = 'assign a = b;  // first\n/* two\nlines */ assign c = "// no comment";\n'
    other = 'assign a = b;  // reported, and why\n/* other\ntwo */ assign c = "// no comment";\n'
    assert key(one) == key(other) != key(other.replace("no comment", "text"))
    assert key(one) != key(one.replace("a = b", "a = d")) and key(one) != key("\n" + one)
    assert key(one, False) != key(other, False)


def test_the_gatewares_tests_run_again_when_what_they_follow_from_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("core", "gateware", "tools", "tests"):
        kept = [file for file in (ROOT / folder).rglob("*.*") if file.suffix in (".sv", ".cpp", ".hpp", ".h", ".f", ".vlt", ".sh", ".txt")]
        for file in kept:
            copy = tmp_path / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    for module in (gateware_tests, core_tests, passed):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(gateware_tests, "GATEWARE", tmp_path / "gateware")
    monkeypatch.setattr(gateware_tests.sources, "ROOT", tmp_path)
    monkeypatch.setattr(gateware_tests.sources, "LIST", tmp_path / "gateware/files.f")

    def changed(name: str, text: str) -> set[str]:
        """Tests whose keys are others when that is written behind a file."""
        found = []
        for addition in ("", text):
            (tmp_path / name).write_text((tmp_path / name).read_text() + addition)
            for cached in (gateware_tests.includes, gateware_tests.hardware, core_tests.sources, core_tests._next_to):
                cached.cache_clear()
            found.append({test.name: gateware_tests.key(test) for test in gateware_tests.tests(tmp_path / "gateware")})
        return {name for name in found[0] if found[0][name] != found[1][name]}

    everything = {file.name for file in gateware_tests.tests()}
    equality = changed("core/nic/transfers/transfer_sender.cpp", "int x;")
    assert {name for name in everything if name.endswith("equality_test.cpp")} <= equality < everything
    assert changed("gateware/common/rtl/exanet_pkg.sv", "module x; endmodule") > equality - {"acc_equality_test.cpp"}
    assert changed("gateware/node/rtl/node_watchdog.sv", "module x; endmodule") == {
        "lofamo_test.cpp",
        "lofamo_equality_test.cpp",
        "phy_test.cpp",
    }
    of_transfers = changed("gateware/ni/rtl/ni_transfers.sv", "module x; endmodule")
    assert {"transfers_equality_test.cpp", "pages_test.cpp"} <= of_transfers
    assert not {"lofamo_test.cpp", "credit_test.cpp"} & of_transfers
    assert changed("gateware/ni/rtl/ni_transfers.sv", "// only a comment") == set()
    assert changed("gateware/ni/tb/pages_test.cpp", "int x;") == {"pages_test.cpp"}
    assert {"pages_test.cpp", "messages_test.cpp"} <= changed("gateware/ni/tb/axi_memory.hpp", "int x;") < everything
    assert changed("core/nic/transfers/interfaces_test.cpp", "int x;") == set()
    assert changed("core/replay/replay.cpp", "int x;") == set()


def test_the_cores_tests_run_again_when_what_they_depend_on_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "core/a/a.hpp": "",
        "core/a/a.cpp": '#include "core/a/a.hpp"\n',
        "core/a/a_test.cpp": '#include "core/c/c.hpp"\n',
        "core/b/registry.cpp": '#include "core/a/a.hpp"\n',
        "core/b/b_test.cpp": "",
        "core/b/kind/kind.cpp": "",
        "core/b/kind/kind_test.cpp": "",
        "core/c/c.hpp": "",
        "core/c/c.cpp": "",
        "CMakeLists.txt": "",
        "tests/tests.cmake": "",
        "tests/doctest_main.cpp": "",
        "examples/pingpong.c": "",
        "examples/extend/one.patch": "",
        "runtime/rank.c": "",
        "spec/registers.rdl": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for module in (core_tests, passed):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(core_tests, "BUILT_BY", [tmp_path / name for name in ("CMakeLists.txt", "tests/tests.cmake")])
    monkeypatch.setattr(core_tests.folders, "__defaults__", (tmp_path / "core",))

    def changed(name: str) -> set[str]:
        found = []
        for text in ("", "int x;"):
            (tmp_path / name).write_text(texts[name] + text)
            core_tests.sources.cache_clear()
            core_tests._next_to.cache_clear()
            found.append(dict(core_tests.parts()))
        (tmp_path / name).write_text(texts[name])
        return {part for part in found[0] if found[0][part] != found[1][part]}

    whole = {"extended", "runtime"}
    assert changed("core/a/a.cpp") == {"core/a", "core/b"} | whole
    assert changed("core/b/registry.cpp") == {"core/b"} | whole
    assert changed("core/b/kind/kind.cpp") == {"core/b", "core/b/kind"} | whole
    assert changed("core/c/c.cpp") == {"core/a"} | whole, "which its test includes"
    assert changed("core/b/b_test.cpp") == {"core/b"} | whole
    assert changed("runtime/rank.c") == whole
    assert changed("examples/extend/one.patch") == {"extended"}
    assert changed("tests/tests.cmake") == {"core/a", "core/b", "core/b/kind"} | whole


def test_modules_of_the_gatewares_tests_are_those_that_are_verilated() -> None:
    verilated = set(re.findall(r"exanet_verilate\((\w+)", (ROOT / "gateware/CMakeLists.txt").read_text())) | {
        "nodes_3d",
        "nodes_interfaces",
    }
    needed = set().union(*map(gateware_tests.modules, gateware_tests.tests()))
    assert {"ni_node", "exanet_node", "nodes_3d"} <= needed <= verilated
    alone = [
        file for name in gateware_tests.ALONE for file in ROOT.glob(f"{name}*.cpp" if name.endswith("/") else name.replace(".hpp", ".cpp"))
    ]
    assert not [file for file in alone if not file.name.endswith("_test.cpp")], "tests of the gateware alone have no sources of the core"


def test_options_of_findings_are_taken_from_a_command_line(tmp_path: Path) -> None:
    kept, words = passed.take(["router", "--keep", str(tmp_path), "--json", "--recorded", str(tmp_path / "none.json")])
    assert words == ["router", "--json"]
    kept.keep("key", 1)
    assert passed.take(["--keep", str(tmp_path)])[0].find("key") == 1
    with pytest.raises(SystemExit, match="--record needs a path"):
        passed.take(["router", "--record"])


def test_what_is_left_is_distinguished_from_what_others_make(tmp_path: Path) -> None:
    hold = "import sys\nfile = open(sys.argv[1], 'w')\nsys.stdin.read()"

    def holder(name: str, **variable: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", hold, str(tmp_path / name)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | variable)

    (tmp_path / "before").touch()
    watch = leftovers.Watch([tmp_path, tmp_path / "none"], "TOOLS_TEST=ours")
    ours, others, busy = holder("ours", TOOLS_TEST="ours"), holder("others", TOOLS_TEST="theirs"), holder("busy", TOOLS_TEST="ours")
    assert wait_for(lambda: {tmp_path / "ours", tmp_path / "busy"} <= watch._ours)
    for process in (ours, others):
        process.communicate()
    assert watch.close() == ([tmp_path / "ours"], [tmp_path / "others"])
    busy.communicate()


def test_clang_tidy_looks_again_when_something_that_is_included_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    (tmp_path / "core").mkdir()
    (tmp_path / "core/a.cpp").write_text('#include <vector>\n#include "core/a.hpp"\n')
    (tmp_path / "core/a.hpp").write_text('#include "b.hpp"\n#include "a.hpp"\n')
    (tmp_path / "core/b.hpp").write_text("")
    (tmp_path / "core/a_test.cpp").write_text("")
    database = tmp_path / "compile_commands.json"
    database.write_text(json.dumps([{"file": str(tmp_path / f"core/{name}.cpp"), "command": "g++"} for name in ("a", "a_test")]))
    assert list(tidy.units(database)) == [tmp_path / "core/a.cpp"]
    assert {path.name for path in tidy.included(tmp_path / "core/a.cpp")} == {"a.cpp", "a.hpp", "b.hpp"}


def test_clang_tidy_looks_at_a_folder_that_is_compiled_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    source, folder, database = tmp_path / "core/a.cpp", tmp_path / "build/Unity/unity_core.cxx", tmp_path / "compile_commands.json"
    for file in (source, folder):
        file.parent.mkdir(parents=True)
    source.write_text("")
    folder.write_text(f'#include "{source}"\n')
    database.write_text(json.dumps([{"file": str(folder), "command": "g++"}]))
    assert list(tidy.units(database)) == [folder]
    assert tidy.sources(folder) == [source]
    assert tidy.included(folder) == {folder, source}
