# SPDX-License-Identifier: Apache-2.0
"""Options of `exanet sim` that would say nothing in the run that is asked for."""

from __future__ import annotations

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
    refused = {message.split(" is of ")[0] for message in refusal.value.messages}
    assert refused == ignored
    assert list(tmp_path.iterdir()) == []


def test_defaults_are_not_refused(tmp_path: Path) -> None:
    for number, run in enumerate((JOB, FLOW, MESSAGE, ("--load", "0.1", "--measure", "5 us"))):
        options = ["sim", "-m", "trenz-2x2", "-q", "-o", str(tmp_path / str(number)), *run]
        assert CliRunner().invoke(cli.app, options, catch_exceptions=False).exit_code == 0
