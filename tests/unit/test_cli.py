# SPDX-License-Identifier: Apache-2.0
"""Is help had by -h at every level, with examples, and are commands completed by the shell? Is progress seen in a
pipe?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli, progress
from exanet.sweep.run import _Progress


def exanet(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "exanet", *words], env=os.environ | environment, cwd="/", capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("command", [(), ("run",), ("sim", "load"), ("trace",), ("sweep",)])
def test_h_is_help(command: tuple[str, ...]) -> None:
    short, long = exanet(*command, "-h"), exanet(*command, "--help")
    assert (short.returncode, short.stdout) == (0, long.stdout)
    assert short.stdout.startswith("Usage: exanet")


def test_help_of_run_ends_with_examples() -> None:
    lines = exanet("run", "-h").stdout.rstrip().splitlines()
    assert "  Examples:" in lines and all(line.startswith("    exanet run -m ") for line in lines[lines.index("  Examples:") + 1 :])


@pytest.mark.parametrize(
    ("words", "completed"),
    [("exanet re", {"record", "replay", "reproduce"}), ("exanet run --fabric-", {"--fabric-threads"})],
)
def test_the_shell_completes(words: str, completed: set[str]) -> None:
    done = exanet(COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1), _EXANET_COMPLETE="complete_bash")
    assert set(done.stdout.split()) == completed


def test_signs_that_the_encoding_lacks_are_replaced(tmp_path: Path) -> None:
    words = ("sim", "-m", "trenz-2x2", "--load", "0.1", "--measure", "5us", "-o")
    plain = exanet(*words, str(tmp_path / "plain"), PYTHONIOENCODING="ascii")
    assert (plain.returncode, plain.stderr) == (0, "")
    whole = exanet(*words, str(tmp_path / "whole"), PYTHONIOENCODING="utf-8")
    assert " ns" in plain.stdout and "±" in whole.stdout
    assert plain.stdout.isascii() and "+/-" in plain.stdout


@pytest.mark.parametrize("command", [("sim", "--load", "0.1"), ("sweep", "--load", "0.1")])
def test_a_name_that_is_not_utf_8_under_the_locale_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = exanet(*command, "-m", "trenz-2x2", "-o", str(tmp_path / "größe"), **ascii_locale)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "the name is not UTF-8 under this locale; choose a name in ASCII" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_program_in_the_machines_place_is_said(tmp_path: object) -> None:
    done = exanet("run", "-m", "exanet", "-n", "2", "--", "true")
    assert "there is no machine 'exanet'" in done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "exanet", "run", "-m", "ring.py", "-n", "2", "--", "python", "ring.py"],
        cwd=_with_file(str(tmp_path), "ring.py"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "the program follows --" in done.stderr


def _with_file(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), "w") as file:
        file.write("print()\n")
    return folder


def test_progress_is_seen_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for quiet in (False, True):
        with progress.share_done("jobs", quiet) as show:
            for share in (0.1, 0.2, 0.3):
                now[0] += 3
                show(share)
    assert capsys.readouterr().err == "exanet: jobs, 20%\n"


def test_what_is_left_of_a_sweep_is_known_when_each_worker_has_made_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = _Progress(40, False)
    shown(0, 0, lambda: 10)
    for done in (1, 9, 10):
        now[0] += 10
        shown(done, 0, lambda: 10)
    lines = capsys.readouterr().err.splitlines()
    assert ["left" in line for line in lines][-3:] == [False, False, True]
    assert lines[-1].endswith("about 90 s left")


@pytest.mark.parametrize("words", ["run -m exanest -np 4 -- true", "trace extrapolate t -np 4 -o o"])
def test_the_option_of_mpiexec_is_answered(words: str) -> None:
    ended = CliRunner().invoke(cli.app, words.split())
    assert ended.exit_code == 2
    assert "for 4 ranks write -n 4" in " ".join(ended.output.split())


@pytest.mark.parametrize(
    ("words", "missing", "said"),
    [
        ("run ./p -m exanest -n 4", "'--machine' / '-m'", " -m stands behind the program"),
        ("run -m exanest ./p --ranks=4", "'--ranks' / '-n'", " --ranks=4 stands behind the program"),
        ("run -n 4 ./p", "'--machine' / '-m'", ""),
        ("sim --load 0.1", "'--machine' / '-m'", ""),
    ],
)
def test_an_option_behind_the_program_is_said(words: str, missing: str, said: str) -> None:
    ended = CliRunner().invoke(cli.app, words.split())
    assert ended.exit_code == 2
    after = " ".join(ended.output.split()).partition(f"Missing option {missing}.")[2]
    assert after.startswith(said) if said else not after
