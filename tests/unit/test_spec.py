# SPDX-License-Identifier: Apache-2.0
"""What is committed about bits is what spec/packet.yaml says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spec_generate", ROOT / "spec/generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_generated_files_are_current() -> None:
    for path, text in generator().outputs().items():
        assert path.read_text() == text, f"{path} is stale: run `python spec/generate.py`"


def test_fields_must_fill_a_layout(tmp_path: Path) -> None:
    text = (ROOT / "spec/packet.yaml").read_text()
    short = tmp_path / "packet.yaml"
    short.write_text(text.replace("{name: pdid, bits: 10,", "{name: pdid, bits: 9,"))
    with pytest.raises(ValueError, match="fields of header have 127 bits"):
        generator().load(short)
