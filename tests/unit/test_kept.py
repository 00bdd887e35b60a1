# SPDX-License-Identifier: Apache-2.0
"""Machines kept in the cache folder: they are what their descriptions say, and nothing older."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from exanet import machine
from exanet.errors import InputError
from exanet.machine import kept
from exanet.run import machines
from exanet.run.options import Attempt, Options

_OWN = "extends: exanest\nname: own\ndescription: One of the tests.\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/exanet/machines"


def _of(name: str | Path, **options: object) -> machines.OnMachine:
    return machines.of(Options(str(name), 2, ("true",), **options))  # type: ignore[arg-type]


def _entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir()) if cache.is_dir() else []


@pytest.mark.parametrize("name", machine.names())
def test_a_kept_machine_is_what_its_description_says(name: str, cache: Path) -> None:
    try:
        first = _of(name)
    except InputError:  # a network alone
        assert _entries(cache) == []
        return
    model = machine.load(name).model
    found = kept.read(name)
    assert (found is not None) == (model.gpu is None and model.gateway is None and model.topology.file is None)
    second = _of(name)
    assert second == first
    assert json.dumps(second.config) == json.dumps(first.config)
    assert list(map(type, second.config.values())) == list(map(type, first.config.values()))


def test_a_known_machine_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _of("exanest")
    monkeypatch.setattr(machine, "load", lambda *_, **__: pytest.fail("it is read"))
    assert _of("exanest") == before


def test_a_file_of_another_text_is_another_machine(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(_OWN)
    assert _of(file).name == "own"
    assert kept.read(str(file)) is not None
    file.write_text(_OWN.replace("name: own", "name: two"))
    assert _of(file).name == "two"
    file.write_text(_OWN.replace("name: own", "nmae: own"))
    with pytest.raises(InputError, match="did you mean 'name'"):
        _of(file)
    assert len(_entries(cache)) == 2


@pytest.mark.parametrize("changed", ["bases", "code", "text"])
def test_an_entry_of_other_files_is_not_used(changed: str, tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(_OWN)
    _of(file)
    (place,) = _entries(cache)
    entry = json.loads(place.read_text())
    assert entry["bases"][0][0].endswith("exanest.yaml")
    entry[changed] = {"bases": [[entry["bases"][0][0], "other"]], "code": entry["code"][1:], "text": "other"}[changed]
    place.write_text(json.dumps(entry))
    assert kept.read(str(file)) is None
    _of(file)
    assert kept.read(str(file)) is not None


def test_a_file_that_extends_another_by_its_path_is_read_each_time(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "base.yaml").write_text(_OWN)
    (tmp_path / "own.yaml").write_text("extends: base.yaml\nname: third\n")
    assert _of(tmp_path / "own.yaml").name == "third"
    assert _entries(cache) == []


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}", b"[]", b'{"text": 1}'])
def test_a_damaged_entry_is_written_again(content: bytes, cache: Path) -> None:
    before = _of("exanest")
    (place,) = _entries(cache)
    place.write_bytes(content)
    assert kept.read("exanest") is None
    assert _of("exanest") == before
    assert kept.read("exanest") is not None


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert _of("exanest").name == "exanest"
    assert kept.read("exanest") is None


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(_OWN)

    def load(*given: Any, **options: Any) -> machine.Machine:
        try:
            return real(*given, **options)
        finally:
            file.write_text(_OWN.replace("name: own", "name: other"))

    real = machine.load
    monkeypatch.setattr(machine, "load", load)
    assert _of(file).name == "own"
    assert _entries(cache) == []


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", absent)
    assert _of("exanest").name == "exanest"
    assert kept.read("exanest") is None


def test_a_description_that_comes_through_a_pipe_is_read_once(tmp_path: Path, cache: Path) -> None:
    pipe = tmp_path / "own.yaml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(_OWN))
    writer.start()
    assert _of(pipe).name == "own"
    writer.join()
    assert _entries(cache) == []


_CUT = "events:\n  - {at: 5 us, down: links:1:1, for: 1 us}\n"


def test_a_file_of_faults_is_part_of_what_is_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cut.yaml"
    file.write_text(_CUT)
    whole, failing = _of("exanest"), _of("exanest", faults=str(file))
    assert "faults" not in whole.config
    assert failing.config["faults"]["events"][0]["at_ps"] == 5_000_000
    assert len(_entries(cache)) == 2
    with monkeypatch.context() as known:
        known.setattr(machine, "load", lambda *_, **__: pytest.fail("it is read"))
        assert _of("exanest", faults=str(file)) == failing
        assert _of("exanest") == whole
    file.write_text(_CUT.replace("5 us", "6 us"))
    assert _of("exanest", faults=str(file)).config["faults"]["events"][0]["at_ps"] == 6_000_000
    file.write_text(_CUT.replace("down", "dwon"))
    with pytest.raises(InputError, match="--faults: the name of the file is empty"):
        _of("exanest", faults="")
    for _ in range(2):  # what has errors is not kept
        with pytest.raises(InputError, match=r"cut\.yaml:2"):
            _of("exanest", faults=str(file))


def test_a_program_that_goes_on_later_reads_its_faults_anew(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "dies.yaml"
    file.write_text("events:\n  - {at: 5 us, host: nodes:1:1}\n")
    first = _of("exanest", faults=str(file))
    later = _of("exanest", faults=str(file), attempt=Attempt(number=2, began_ps=3_000_000, nodes=()))
    assert (first.config["faults"]["events"][0]["at_ps"], later.config["faults"]["events"][0]["at_ps"]) == (5_000_000, 2_000_000)
    assert len(_entries(cache)) == 1


def test_what_a_run_changes_is_not_taken_from_the_cache(cache: Path) -> None:
    _of("exanest")
    flow = _of("exanest", level="flow")
    assert any("flow level" in note for note in flow.notes)
    with pytest.raises(InputError, match="has no storage"):
        _of("exanest", storage=("/tmp=nvme",))
    with pytest.raises(InputError, match="have no HPUs"):
        _of("exanest", handlers="")
    assert len(_entries(cache)) == 1


def test_the_oldest_entries_are_removed(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_ENTRIES", 2)
    for number in range(3):
        file = tmp_path / "own.yaml"
        file.write_text(_OWN + f"# {number}\n")
        _of(file)
    assert len(_entries(cache)) == 2
    assert kept.read(str(tmp_path / "own.yaml")) is not None
