# SPDX-License-Identifier: Apache-2.0
"""Committed files about bits say what spec/packet.yaml and spec/descriptors.yaml say."""

import importlib
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "spec"))


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_generated_files_are_current() -> None:
    for path, text in module("generate").outputs().items():
        assert path.read_text() == text, f"{path} is stale: run `python spec/generate.py`"


def test_fields_must_fill_a_layout(tmp_path: Path) -> None:
    text = (ROOT / "spec/packet.yaml").read_text()
    short = tmp_path / "packet.yaml"
    short.write_text(text.replace("{name: pdid, bits: 10,", "{name: pdid, bits: 9,"))
    with pytest.raises(ValueError, match="fields of header have 127 bits"):
        module("layouts").load(short)


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = (ROOT / "spec/descriptors.yaml").read_text()
    assert old in text
    path = tmp_path / "descriptors.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("{name: count, bits: 32,", "{name: count, bits: 24,", "atomic_descriptor.count has 24 bits at bit 448: no aligned integer"),
        ("{name: slots, bits: 8,", "{name: slots, bits: 16,", "descriptor_header.slots has 16 bits at bit 8: no aligned integer"),
        ("{name: reserved, bits: 56,", "{name: reserved, bits: 48,", "fields of ep_open_descriptor have 184 bits, not whole words"),
        ("{name: ep_kind, bits: 8,", "{name: ep_kind, bits: 16,", "ep_kind has 16 bits, its enum endpoint_kind another number"),
        ("{name: access, bits: 32,", "{name: access, bits: 64,", "access has 64 bits, its flags access another number"),
    ],
)
def test_records_are_structures_of_aligned_integers(old: str, new: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=error):
        module("records").load_records(changed(tmp_path, old, new))


def test_a_new_flag_is_one_line(tmp_path: Path) -> None:
    line = '      - {name: tagged, meaning: "'
    path = changed(tmp_path, line, '      - {name: traced, meaning: "noted"}\n' + line)
    records, emit = module("records").load_records(path), module("emit_records")
    assert "#define EXANET_TRACED 128u" in emit.c(records)
    assert "kTraced = 128;" in emit.cpp(records)
    assert "logic traced;" in emit.system_verilog(records)
    assert "| 0x080 | traced | noted |" in emit.markdown(records)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_the_c_header_stands_alone_and_keeps_its_layout(tmp_path: Path) -> None:
    source = tmp_path / "alone.c"
    source.write_text('#include "exanet/descriptors.h"\nint main(void) { return 0; }\n')
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{ROOT / 'runtime/include'}", source]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
