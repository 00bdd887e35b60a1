# SPDX-License-Identifier: Apache-2.0
"""What is there under the name of a conversion's target stays, unless it is said to be replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli
from exanet.errors import InputError
from exanet.trace import convert, folder, parts
from exanet.trace.write import Writer

SCHEDULE = "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 0\n}\nrank 1 {\nrecv 8b from 0 tag 0\n}\n"


def recorded(directory: Path) -> Path:
    with Writer(directory, 1, {"program": ["mine"]}) as (stream,):
        stream.end()
    return directory


def content(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place.parent)): file.read_bytes() for file in [place, *place.rglob("*")] if file.is_file()}


def run(*words: object) -> int:
    return CliRunner().invoke(cli.app, ["trace", "convert", *map(str, words)], catch_exceptions=False).exit_code


def test_a_trace_stays_where_a_schedule_becomes_one_of_its_name(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "u")
    (tmp_path / "u.goal").write_text(SCHEDULE)
    before = content(trace)
    with pytest.raises(InputError, match="u: a trace is there already; choose another name, or replace it by --overwrite"):
        run(tmp_path / "u.goal", trace)
    assert content(trace) == before
    assert run(tmp_path / "u.goal", trace, "--overwrite") == 0
    assert folder.load(trace).about.ranks == 2


@pytest.mark.parametrize("name", ["out.txt", "out.goal", "out.bin", "out.json", "out.paje", "out.simgrid"])
def test_what_a_trace_was_converted_to_stays(name: str, tmp_path: Path) -> None:
    trace, target = recorded(tmp_path / "trace"), tmp_path / name
    assert run(trace, target) == 0
    before = content(target)
    with pytest.raises(InputError, match=f"{name}: an? (file|archive) of this name is there already; .* --overwrite"):
        run(trace, target)
    assert content(target) == before
    assert run(trace, target, "--overwrite") == 0
    assert content(target) == before


def test_an_empty_folder_is_filled_and_a_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "u.goal").write_text(SCHEDULE)
    (tmp_path / "u").mkdir()
    convert.convert(tmp_path / "u.goal", tmp_path / "u", {})
    (tmp_path / "t.simgrid").mkdir()
    convert.convert(tmp_path / "u.goal", tmp_path / "v", {})
    convert.convert(recorded(tmp_path / "t"), tmp_path / "t.simgrid", {})
    (tmp_path / "file").write_text("mine")
    (tmp_path / "file.simgrid").write_text("mine")
    with pytest.raises(InputError, match=r"file: it is a file, and a GOAL schedule .* becomes a trace, which is a folder; name one"):
        convert.convert(tmp_path / "u.goal", tmp_path / "file", {}, overwrite=True)
    with pytest.raises(InputError, match=r"file\.simgrid: it is a file; choose another folder"):
        convert.convert(tmp_path / "t", tmp_path / "file.simgrid", {}, overwrite=True)
    assert (tmp_path / "file").read_text() == (tmp_path / "file.simgrid").read_text() == "mine"


def test_a_target_that_cannot_be_is_named_and_not_what_is_made_beside_it(tmp_path: Path) -> None:
    (tmp_path / "u.goal").write_text(SCHEDULE)
    with pytest.raises(InputError, match=r"TO /proc/out: No such file or directory; choose another place"):
        convert.convert(tmp_path / "u.goal", "/proc/out", {})


def test_folders_for_a_trace_go_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "u.goal").write_text(SCHEDULE.replace("recv", "receive"))
    with pytest.raises(InputError, match="is not understood"):
        convert.convert(tmp_path / "u.goal", tmp_path / "a/b/out", {})
    assert [path.name for path in tmp_path.iterdir()] == ["u.goal"]
    (tmp_path / "u.goal").write_text(SCHEDULE)
    convert.convert(tmp_path / "u.goal", tmp_path / "a/b/out", {})
    assert folder.load(tmp_path / "a/b/out").about.ranks == 2


def test_commands_that_replace_an_earlier_trace_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = recorded(tmp_path / "trace")
    for write in (lambda target: parts.cut(trace, target, 0, None), lambda target: parts.merge([trace, trace], target), recorded):
        target = tmp_path / "part"
        write(target)
        assert "replaced" not in capsys.readouterr().err
        write(target)
        assert capsys.readouterr().err == f"exanet: -o {target}: the earlier trace there is replaced when the new one is whole\n"
        for file in target.iterdir():
            file.unlink()
        target.rmdir()
