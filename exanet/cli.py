# SPDX-License-Identifier: Apache-2.0
"""The command line."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType
from typing import Annotated

from exanet import lightly

try:  # a Ctrl-C may come while the modules are read
    with lightly.imports():
        import typer

        from exanet import memory
        from exanet.commands import check, karma, machines, run, sweep, validate
        from exanet.commands.sim import group as sim
        from exanet.errors import INTERNAL_STATUS, InputError, InternalError
except KeyboardInterrupt:
    sys.exit(130)

app = typer.Typer(
    name="exanet",
    help="Run unmodified MPI programs on a simulated ExaNet machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"exanet {version('exanet')}")
        raise typer.Exit


_WITH_TABLES = ("run", "sim", "sweep", "validate", "karma")


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    if context.invoked_subcommand in _WITH_TABLES:
        memory.check()


# What follows the first word that is no option belongs to the program, its options too.
app.command(name="run", context_settings={"allow_interspersed_args": False})(run.command)
app.command(name="karma")(karma.command)
app.command(name="machines")(machines.command)
app.command(name="check")(check.command)
app.add_typer(sim.app, name="sim")
app.command(name="sweep")(sweep.command)
app.command(name="validate")(validate.command)


class _CtrlC:
    """Handler of SIGINT that takes a key held down, or pressed twice, for one interrupt: a second would come while the first is served."""

    SERVED_S = 2.0
    """Nothing is heard for so long: enough to end what has been told to stop, and short for somebody who wants to end that, too."""

    def __init__(self) -> None:
        self._deaf_until = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._deaf_until:
            return
        self._deaf_until = now + self.SERVED_S
        raise KeyboardInterrupt


def main() -> None:
    """Entry point: what the user can mend is one message and exit status 2, a defect of exanet's own one and status 70."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _CtrlC())
    try:
        app()
    except InputError as error:
        for message in error.messages:
            print(message if ": error: " in message else f"exanet: error: {message}", file=sys.stderr)
        sys.exit(2)
    except InternalError as error:
        print(f"exanet: internal error: {error}", file=sys.stderr)
        sys.exit(INTERNAL_STATUS)
    except MemoryError:
        print("exanet: error: there is not enough memory for this: raise the limit (ulimit -v), or simulate less at once", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
