# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/extend.md: how few places an extension takes. That they work is a test of the build's
(CMakeLists.txt)."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import exanet

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "extend"
PATCHES = sorted(EXAMPLES.glob("*.patch"))


def applier() -> ModuleType:
    spec = importlib.util.spec_from_file_location("apply", EXAMPLES / "apply.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MOST_PLACES = {
    "topology": 2, "routing": 2, "pattern": 1, "collective": 1, "switch": 4, "constant": 3, "libfabric": 5, "pacing": 2, "target": 2,
    "rail_policy": 1, "trace_format": 1, "fault": 2,
}  # fmt: skip
"""Files that a thing may take, new or changed: not its test, nor what is generated. A constant takes two, and the
one that charges it."""


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_an_extension_takes_no_more_places_than_it_may(patch: Path) -> None:
    module = applier()
    places = module.places(patch)
    assert 1 <= len(places) <= MOST_PLACES[patch.stem], places
    assert len(module.touched(patch)) - len(places) <= 2, "of a thing in core and runtime, a test of each"


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_an_extension_applies_to_what_it_says_and_is_described(patch: Path, tmp_path: Path) -> None:
    module = applier()
    touched = module.touched(patch)
    module.apply(ROOT, tmp_path / "patched", [patch])
    found = {str(file.relative_to(tmp_path / "patched")) for file in (tmp_path / "patched").rglob("*") if file.is_file()}
    assert set(touched) <= found
    if not any(name.startswith("spec/") for name in touched):
        assert found == set(touched)
    page = (ROOT / "docs" / "extend.md").read_text()
    assert patch.name in page
    for name in module.places(patch):
        assert f"`{name}`" in page, "every place is described"


def test_there_is_an_example_of_each() -> None:
    assert {patch.stem for patch in PATCHES} == set(MOST_PLACES)


def test_all_extensions_apply_together(tmp_path: Path) -> None:
    module = applier()
    module.apply(ROOT, tmp_path / "patched", PATCHES)
    touched = {name for patch in PATCHES for name in module.touched(patch)}
    assert [name for name in sorted(touched) if not (tmp_path / "patched" / name).is_file()] == []


def test_a_new_constant_is_a_key_of_the_configuration_and_compiles_where_it_is_charged(tmp_path: Path) -> None:
    patched = tmp_path / "patched"
    applier().apply(ROOT, patched, [EXAMPLES / "constant.patch"])
    (tmp_path / "keys.cpp").write_text(
        '#include <cstdio>\n#include "core/nic/config.hpp"\n'
        "struct Keys {\n"
        "  template <typename T> void operator()(const char* key, T&, exanet::Optional = {}) { std::puts(key); }\n};\n"
        "int main() { exanet::NiConfig config; visit(config, Keys()); }\n"
    )
    compiler = ["c++", "-std=c++20", f"-I{patched}", f"-I{ROOT}"]
    subprocess.run([*compiler, "-o", tmp_path / "keys", tmp_path / "keys.cpp"], check=True)
    keys = subprocess.run([tmp_path / "keys"], capture_output=True, text=True, check=True).stdout.split()
    assert "atomic_lock_ps" in keys
    charged = next(name for name in applier().places(EXAMPLES / "constant.patch") if name.endswith(".cpp"))
    subprocess.run([*compiler, f"-I{ROOT / 'runtime/include'}", "-fsyntax-only", patched / charged], check=True)


def test_a_new_constant_is_read_from_a_machine_file_and_refused_by_a_simulator_without_it(tmp_path: Path) -> None:
    shutil.copytree(Path(exanet.__file__).parent, tmp_path / "exanet", ignore=shutil.ignore_patterns("__pycache__", "hdl"))
    applier().apply(ROOT, tmp_path / "patched", [EXAMPLES / "constant.patch"])
    shutil.copytree(tmp_path / "patched" / "exanet", tmp_path / "exanet", dirs_exist_ok=True)
    (tmp_path / "m.yaml").write_text("extends: exanest\nname: m\nni: {atomic_lock: {value: 5 ns, source: test, kind: chosen}}\n")
    code = (
        "import json\nfrom exanet import _core, machine\nfrom exanet.errors import InputError\n"
        "assert 'atomic_lock_ps' not in machine.load('exanest').resolve()['ni']\n"
        "try: machine.load('m.yaml')\n"
        "except InputError as error: reported = error.messages\n"
        "_core.check_interface = lambda described: None\n"
        "print(json.dumps([machine.load('m.yaml').resolve()['ni']['atomic_lock_ps'], reported]))\n"
    )
    environment = {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment)
    refused = "m.yaml:3:19: error: 'ni.atomic_lock_ps' is a key that nothing reads: take it out"
    assert json.loads(done.stdout or "null") == [5000, [refused]], done.stderr


def test_a_new_trace_format_is_written_and_named_by_help_pages_and_messages(tmp_path: Path) -> None:
    shutil.copytree(Path(exanet.__file__).parent, tmp_path / "exanet", ignore=shutil.ignore_patterns("__pycache__", "hdl"))
    applier().apply(ROOT, tmp_path / "patched", [EXAMPLES / "trace_format.patch"])
    shutil.copytree(tmp_path / "patched" / "exanet", tmp_path / "exanet", dirs_exist_ok=True)
    code = (
        "import pathlib\nfrom exanet.errors import InputError\nfrom exanet.trace import convert, formats, written\n"
        "written.broadcasts(pathlib.Path('trace'), 2, 3, 64)\n"
        "assert convert.convert(pathlib.Path('trace'), pathlib.Path('trace.csv'), {}) == {}\n"
        "assert 'exanet trace convert trace trace.csv' in formats.help_text() and 'FILE.csv' in formats.page()\n"
        "try: convert.convert(pathlib.Path('trace'), pathlib.Path('trace.xyz'), {})\n"
        "except InputError as error: assert '.csv' in error.messages[0]\n"
        "print(pathlib.Path('trace.csv').read_text().count('MPI_Bcast'))\n"
    )
    environment = {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "6", done.stderr
