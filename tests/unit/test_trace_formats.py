# SPDX-License-Identifier: Apache-2.0
"""Every format of the registry: it is written whole or not at all, what it reads comes back, and help, pages and
messages name it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli
from exanet.errors import InputError
from exanet.trace import convert, folder, formats
from exanet.trace.formats import Format
from exanet.trace.write import Writer

ROOT = Path(__file__).parents[2]
ALL = formats.formats()
WRITTEN = {name: each for name, each in ALL.items() if each.write}
READ = {name: each for name, each in ALL.items() if each.read}


def needs(name: str) -> None:
    if name == "otf2":
        pytest.importorskip("_otf2")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    with Writer(tmp_path / "trace", 4, {"program": ["ring"]}) as streams:
        for rank, stream in enumerate(streams):
            stream.message("Irecv", (rank - 1) % 4, 700, tag=3, request=1, compute_ps=2_000)
            stream.message("Isend", (rank + 1) % 4, 700, tag=3, request=2)
            stream.wait(1, 2)
            stream.collective("Allreduce", 64, element=8, compute_ps=5_000)
            stream.end()
    return tmp_path / "trace"


def left(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir())


@pytest.mark.parametrize("name", WRITTEN)
def test_a_trace_is_written_and_what_was_there_is_replaced_where_that_is_said(name: str, trace: Path, tmp_path: Path) -> None:
    needs(name)
    target = tmp_path / f"out{ALL[name].suffix}"
    for again in (False, True):
        assert convert.convert(trace, target, {}, overwrite=again) == {}
        assert left(tmp_path) == sorted([target.name, "trace"])
    assert target.is_dir() is ALL[name].is_folder
    if name in READ:
        for place in [target, *(target.glob(f"*{ALL[name].suffix}") if target.is_dir() else ())]:
            opened = formats.of_source(place)
            assert opened is not None and opened[0].source == ALL[name].source


@pytest.mark.parametrize("name", [name for name in READ if name in WRITTEN])
def test_what_is_read_has_the_messages_that_were_written(name: str, trace: Path, tmp_path: Path) -> None:
    needs(name)
    target = tmp_path / f"out{ALL[name].suffix}"
    convert.convert(trace, target, {})
    assert convert.convert(target, tmp_path / "back", {}) == {}
    back = folder.load(tmp_path / "back")
    assert back.about.ranks == 4 and back.about.complete
    sent = back.calls().filter(folder.pl.col("call").is_in(["MPI_Isend", "send"]))
    assert sent["bytes"].to_list().count(700) == 4


@pytest.mark.parametrize("name", WRITTEN)
def test_a_format_that_fails_leaves_nothing(name: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / f"out{ALL[name].suffix}"

    def broken(given: folder.Trace, place: Path, choices: formats.Choices) -> formats.LeftOut:
        (place / "half" if place.is_dir() else place).write_text("half")
        raise OSError(28, "No space left on device", str(place))

    monkeypatch.setattr(formats, "of_target", lambda target: Format(**{**vars(ALL[name]), "write": broken}))
    with pytest.raises(InputError, match=f"{target.name}: No space left on device"):
        convert.convert(trace, target, {})
    assert left(tmp_path) == ["trace"]


@pytest.mark.parametrize("name", [name for name, each in ALL.items() if each.is_schedule])
def test_a_schedule_of_a_recording_that_is_not_whole_is_refused(name: str, tmp_path: Path) -> None:
    with Writer(tmp_path / "half", 1, {}) as streams:
        streams[0].call("unrecorded", *b"MPI_Isendrecv")
        streams[0].end()
    with pytest.raises(InputError, match="it calls MPI_Isendrecv, which is not recorded"):
        convert.convert(tmp_path / "half", tmp_path / f"out{ALL[name].suffix}", {})


def test_names_and_suffixes_are_of_one_format_each() -> None:
    assert len({each.suffix for each in WRITTEN.values()} - {""}) == len(WRITTEN) and not {*ALL} - {*READ, *WRITTEN}
    assert sum(each.takes_any for each in READ.values()) == 1
    assert all(each.source for each in READ.values())


def suffixes() -> Iterator[str]:
    yield from (each.suffix for each in WRITTEN.values())


def test_help_pages_and_messages_name_every_format(trace: Path, tmp_path: Path) -> None:
    help_page = CliRunner().invoke(cli.app, ["trace", "convert", "--help"], env={"COLUMNS": "300"}).output
    committed = (ROOT / "docs/reference/trace-formats.md").read_text()
    assert committed == formats.page(), "run: python -m exanet.trace.formats > docs/reference/trace-formats.md"
    with pytest.raises(InputError) as said:
        convert.convert(trace, tmp_path / "out.csv5", {})
    for suffix in suffixes():
        assert f"exanet trace convert trace trace{suffix}" in help_page
        assert suffix in said.value.messages[0]


def test_the_registry_is_read_without_what_does_the_work() -> None:
    """Help pages ask it for names, and take no quarter of a second for tables."""
    code = "import sys\nfrom exanet.trace import formats\nformats.help_text()\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "polars", "exanet.results", "exanet.trace.folder", "_otf2"} & set(done.stdout.split()) == set()
