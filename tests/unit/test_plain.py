# SPDX-License-Identifier: Apache-2.0
"""Values of options that are converted without pydantic are those that Typer makes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from exanet.commands import plain, single

VALUES = ["7", "-7", "007", "1_000", "1.5", "-0.25", "1e3", ".5", "nan", " 7", "7 ", "", "x", "true", "9" * 30, "٣", "/", "missing", "é"]


def _command(kind: Any, default: Any) -> Any:
    def command(value: Annotated[kind, typer.Option("--value")] = default) -> None:  # type: ignore[valid-type]
        print(type(value).__name__, repr(value))

    command.__annotations__["value"] = Annotated[kind, typer.Option("--value")]
    command.__doc__ = "A command."
    return command


def _shown(kind: Any, default: Any, words: list[str]) -> tuple[int, str]:
    done = CliRunner().invoke(single.app(_command(kind, default)), words)
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (int, 3),
        (float, 1),
        (float, 0.5),
        (str, "a"),
        (str | None, None),
        (Path | None, None),
        (list[str] | None, None),
        (bool, False),
    ],
)
def test_each_value_is_what_typer_makes_of_it(kind: Any, default: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [[], *([["--value", text] for text in VALUES] if kind is not bool else [["--value"]])]
    ours = [_shown(kind, default, words) for words in given]
    monkeypatch.setattr(single, "convert_plainly", lambda parameters: None)
    assert ours == [_shown(kind, default, words) for words in given]
    assert any(status == 0 for status, _ in ours)


def test_a_path_that_cannot_be_read_goes_to_typer(tmp_path: Path) -> None:
    info = typer.models.OptionInfo()
    assert plain._converted(str(tmp_path), Path, info) == tmp_path
    closed = typer.models.OptionInfo(exists=True)
    assert plain._converted(str(tmp_path), Path, closed) is plain._NOT_PLAIN


def test_a_command_line_is_read_without_pydantic() -> None:
    code = "import sys\nfrom exanet.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    words = ["run", "-m", "exanest", "-n", "2", "--seed", "3", "--map", "linear", "--mpi", "unknown", "--", "/bin/true"]
    done = subprocess.run([sys.executable, "-P", "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--mpi unknown" in done.stderr
    assert {"pydantic", "polars", "numpy", "yaml", "rich", "importlib.metadata"} & set(done.stderr.splitlines()[-1].split()) == set()
