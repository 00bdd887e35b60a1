# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/extend.md: how few files an extension touches, and what Python makes of it. Their C++ is a test of the build's."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "extend"
PATCHES = sorted(EXAMPLES.glob("*.patch"))


def applier() -> ModuleType:
    spec = importlib.util.spec_from_file_location("apply", EXAMPLES / "apply.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_an_extension_touches_four_files_at_most_and_applies(patch: Path, tmp_path: Path) -> None:
    module = applier()
    touched = module.touched(patch)
    assert 1 <= len(touched) <= 4
    module.apply(ROOT, tmp_path / "patched", [patch])
    found = {str(file.relative_to(tmp_path / "patched")) for file in (tmp_path / "patched").rglob("*") if file.is_file()}
    assert found == set(touched)
    assert patch.name in (ROOT / "docs" / "extend.md").read_text()


def test_there_is_an_example_of_each() -> None:
    assert {patch.stem for patch in PATCHES} == {"topology", "routing", "pattern"}


def test_a_machine_file_may_name_the_new_topology(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "exanet", tmp_path / "exanet", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    applier().apply(ROOT, tmp_path / "patched", [EXAMPLES / "topology.patch"])
    shutil.copytree(tmp_path / "patched" / "exanet", tmp_path / "exanet", dirs_exist_ok=True)
    code = (
        "from exanet.machine_schema import Topology, LINK_KINDS\n"
        "Topology.model_validate({'kind': 'star', 'shape': {'value': [16], 'source': 'x', 'kind': 'chosen'}})\n"
        "print(LINK_KINDS['star'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.stdout.strip() == "('link',)", done.stderr
