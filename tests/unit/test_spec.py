# SPDX-License-Identifier: Apache-2.0
"""Committed files say what spec/packet.yaml, spec/descriptors.yaml and spec/trace.yaml say."""

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


def changed(tmp_path: Path, old: str, new: str, name: str = "descriptors.yaml") -> Path:
    text = (ROOT / "spec" / name).read_text()
    assert old in text
    path = tmp_path / name
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
    assert "| 0x080 | traced | noted |" in emit.markdown(records)["descriptors"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("Ssend: 3,", "Ssend: 2,", "codes are bytes other than 0, each of one call"),
        ("Iexscan: 76", "Iexscan: 77", "the codes of nonblocking collectives lie 20 behind those of the blocking ones"),
        ("{name: found, kind: truth,", "{name: found, kind: lie,", "probe.found is of the kind lie, which there is not"),
        ("{name: found, kind: truth,", "{name: tag, kind: truth,", "probe has two fields of one name"),
        ("kind: peer, list: counted, cpp: sources", "kind: peer, list: rest, cpp: sources", "neighbours has a list to the record's end"),
        ("as_many_as: sources", "as_many_as: others", "neighbours has a list that must be as long as none of its fields"),
    ],
)
def test_records_of_traces_contradict_themselves_nowhere(old: str, new: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=error):
        module("traces").load_traces(changed(tmp_path, old, new, "trace.yaml"))


def test_a_new_field_of_a_trace_is_one_line(tmp_path: Path) -> None:
    line = '      - {name: found, kind: truth, cpp: found, meaning: "1: there was one"}\n'
    path = changed(tmp_path, line, line + '      - {name: looks, kind: bytes, cpp: send_bytes, meaning: "so many"}\n', "trace.yaml")
    traces, emit = module("traces").load_traces(path), module("emit_traces")
    assert "  exanet_stream_put(fields->found);\n  exanet_stream_put(fields->looks);" in emit.c_fields(traces)
    assert '!= 0;\n    r.send_bytes = s.number_below(std::uint64_t{1} << 47, "a size");\n  }' in emit.cpp_fields(traces)
    assert '        Field("found", "number", 2),\n        Field("looks", "number", 140737488355328),' in emit.python(traces)
    assert "| `looks` | [bytes](#kinds-of-fields) | so many |" in emit.markdown(traces)


def test_a_layout_that_no_page_shows_is_found(tmp_path: Path) -> None:
    path = changed(tmp_path, "layouts: [header, footer,", "layouts: [header,", "packet.yaml")
    with pytest.raises(ValueError, match="each has to be on one page"):
        module("emit_packet").markdown(*module("layouts").load(path))


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_the_c_header_stands_alone_and_keeps_its_layout(tmp_path: Path) -> None:
    source = tmp_path / "alone.c"
    source.write_text('#include "exanet/descriptors.h"\nint main(void) { return 0; }\n')
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{ROOT / 'runtime/include'}", source]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
