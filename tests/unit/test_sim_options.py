# SPDX-License-Identifier: Apache-2.0
"""Options of `exanet sim` that would say nothing in the run that is asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exanet import cli
from exanet.errors import InputError

VALUES = {
    "--rounds": "2",
    "--priority": "0.5",
    "--traffic": "tornado",
    "--measure": "1 ms",
    "--threads": "2",
    "--arrivals": "bernoulli",
    "--warm-up": "1 ms",
    "--pace": "fair",
    "--grain": "5 ns",
    "--sharing": "fifo",
    "--load": "0.5",
    "--message": "1 KiB",
    "--map": "random",
}
JOB = ("--job", "barrier")
FLOW = ("--level", "flow")
MESSAGE = ("--message", "1 KiB")


@pytest.mark.parametrize(
    ("run", "ignored"),
    [
        (JOB, set(VALUES) - {"--map"}),
        ((*JOB, *FLOW), set(VALUES) - {"--map"}),
        ((), {"--rounds", "--pace", "--sharing", "--grain", "--map"}),
        (FLOW, {"--priority", "--arrivals", "--threads", "--pace", "--measure", "--warm-up", "--map"}),
        (MESSAGE, {"--priority", "--arrivals", "--threads", "--sharing", "--grain", "--measure", "--warm-up", "--map"}),
        ((*MESSAGE, "--load", "0.5"), {"--priority", "--arrivals", "--threads", "--rounds", "--sharing", "--grain", "--map"}),
    ],
)
def test_an_option_that_would_say_nothing_is_refused(tmp_path: Path, run: tuple[str, ...], ignored: set[str]) -> None:
    given = [part for option in sorted(ignored) for part in (option, VALUES[option])]
    with pytest.raises(InputError) as refusal:
        CliRunner().invoke(cli.app, ["sim", "-m", "trenz-2x2", "-o", str(tmp_path / "r"), *run, *given], catch_exceptions=False)
    refused = {message.split(" belongs to ")[0] for message in refusal.value.messages}
    assert refused == ignored
    assert list(tmp_path.iterdir()) == []


def test_the_help_of_a_mode_lists_what_it_takes() -> None:
    from exanet import registries

    assert "flows:FILE" in registries.patterns() and "matrix:FILE" in registries.patterns(messages=False)
    assert "flows:FILE" not in registries.patterns(messages=False)


def test_defaults_are_not_refused(tmp_path: Path) -> None:
    for number, run in enumerate((JOB, FLOW, MESSAGE, ("--load", "0.1", "--measure", "5 us"))):
        options = ["sim", "-m", "trenz-2x2", "-q", "-o", str(tmp_path / str(number)), *run]
        assert CliRunner().invoke(cli.app, options, catch_exceptions=False).exit_code == 0


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        (("--load", "0.1", "--measure", "5 us"), "load"),
        (("--load", "0.1", "--measure", "5 us", "--level", "packet"), "load"),
        (("--load", "0.1", "--measure", "5 us", "--level=flow", "--level=packet"), "load"),
        (MESSAGE, "messages"),
        (("--message=1KiB",), "messages"),
        (FLOW, "messages"),
        (("--level=flow",), "messages"),
        (JOB, "jobs"),
        (("--job=barrier", *FLOW), "jobs"),
        (("--topology", "torus:4", "--traffic", "--job"), "load"),  # the value of another option
    ],
)
def test_the_mode_follows_from_the_options(tmp_path: Path, options: tuple[str, ...], mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command with the mode's name does the same."""
    monkeypatch.chdir(tmp_path)
    general = ("-m", "trenz-2x2", "-q", "-o", "r")
    named = tuple(option for option in options if mode != "load" or (not option.startswith("--level") and option != "packet"))
    ran = []
    for words in (("sim", *general, *options), ("sim", mode, *general, *named)):
        done = CliRunner().invoke(cli.app, list(words))
        ran.append((done.exit_code, str(done.exception), (tmp_path / "r/summary.json").read_text() if done.exit_code == 0 else ""))
    assert ran[0] == ran[1]
    assert ran[0][2] or "--job" in ran[0][1]


def test_an_option_of_another_mode_is_refused_with_its_mode(tmp_path: Path) -> None:
    for words, said in [
        (("load", "--level", "flow"), "--level belongs to exanet sim messages: use that mode"),
        (("load", "--job", "barrier"), "--job belongs to exanet sim jobs: use that mode, by --job PROGRAM"),
        (("messages", "--threads", "2"), "--threads belongs to exanet sim load, which sends single packets"),
        (
            ("messages", "--arrivals", "bernoulli"),
            "--arrivals belongs to exanet sim load, which sends single packets: leave it out, or use that mode",
        ),
        (
            ("jobs", "--job", "barrier", "--nic", "exanet", "--packet-bytes", "16"),
            "exanet interfaces send packets of 256 B",
        ),
        (
            ("jobs", "--job", "barrier", "--load", "0.5"),
            "--load belongs to traffic (exanet sim load, exanet sim messages), and jobs have none: leave it out",
        ),
    ]:
        with pytest.raises(InputError, match=re.escape(said)):
            CliRunner().invoke(cli.app, ["sim", words[0], "-m", "trenz-2x2", "-o", str(tmp_path / "r"), *words[1:]], catch_exceptions=False)
    with pytest.raises(
        InputError, match=re.escape("--rounds belongs to exanet sim messages: use that mode, for example by --message SIZE")
    ):
        CliRunner().invoke(cli.app, ["sim", "-m", "trenz-2x2", "--rounds", "4", "-o", str(tmp_path / "r")], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_help_comes_whatever_stands_behind_it() -> None:
    assert "jobs" in CliRunner().invoke(cli.app, ["sim", "--help", "--job", "barrier"], catch_exceptions=False).stdout


def test_what_no_mode_has_is_refused_as_everywhere() -> None:
    for words in (["sim", "-m", "trenz-2x2", "--lod", "0.5"], ["sim", "jib"], ["sim", "-m", "trenz-2x2", "jobs"]):
        assert CliRunner().invoke(cli.app, words).exit_code == 2


def test_each_mode_has_a_page_of_help() -> None:
    for mode in ("load", "messages", "jobs"):
        assert mode in CliRunner().invoke(cli.app, ["sim", "--help"]).stdout
        page = CliRunner().invoke(cli.app, ["sim", mode, "--help"]).stdout
        assert page.count("\n  --") <= 21
    assert "--priority" not in page
    assert "--job" in page


def test_too_little_memory_is_one_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def exhausted() -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "app", exhausted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("exanet: error: there is not enough memory") and said.count("\n") == 1
