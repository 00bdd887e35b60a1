# SPDX-License-Identifier: Apache-2.0
"""The command line."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, NoReturn

from exanet import lightly

try:  # a Ctrl-C may come while the modules are read
    with lightly.imports():
        import typer

        from exanet import encoding, memory, streams
        from exanet.commands import single
        from exanet.errors import INTERNAL_STATUS, InputError, InternalError
except KeyboardInterrupt:
    sys.exit(130)


class _Commands(MutableMapping[str, Any]):
    """The commands by name; each is read and built when it is first asked for, which takes as long as a small run's
    simulation."""

    MODULES = (
        "run",
        "record",
        "replay",
        "bridge",
        "compare",
        "karma",
        "machines",
        "check",
        "faults",
        "sweep",
        "validate",
        "reproduce",
        "sim.group",
        "trace.group",
    )

    def __init__(self) -> None:
        self._modules = {module.partition(".")[0]: module for module in self.MODULES}
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            with lightly.imports():
                module = import_module(f"exanet.commands.{self._modules[name]}")
            self._built[name] = typer.main.get_command(module.app)
            self._built[name].name = name
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class _Group(single.Group):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()


app = typer.Typer(
    cls=_Group,
    name="exanet",
    help="Run unmodified MPI programs on a simulated ExaNet machine.",
    no_args_is_help=True,
    context_settings=single.SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from exanet.release import version

        print(f"exanet {version()}")
        raise typer.Exit


_WITH_TABLES = ("run", "record", "replay", "bridge", "compare", "trace", "sim", "sweep", "validate", "reproduce", "karma")


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    try:
        os.getcwd()
    except OSError:
        raise InputError("the current folder has been removed; change to one that exists") from None
    if context.invoked_subcommand in _WITH_TABLES:
        memory.check()


class _CtrlC:
    """Handler of SIGINT that takes a key held down, or pressed twice, for one interrupt: a second would come while
    the first is served."""

    SERVED_S = 2.0
    """Nothing is heard for so long: enough to end what has been asked to stop, and short for somebody who wants to
    end that, too."""

    def __init__(self) -> None:
        self._deaf_until = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._deaf_until:
            return
        self._deaf_until = now + self.SERVED_S
        raise KeyboardInterrupt


def _end_interrupted(by: BaseException | None) -> NoReturn:
    """Says so, with what the interrupt `by` says was left, and ends with status 130.

    The interpreter dies of an interrupt that came within exec(), as of dataclasses, though it was served.
    """
    while by is not None and not isinstance(by, KeyboardInterrupt):
        by = by.__context__
    left = by.args if by else ()
    print(": ".join(["exanet: stopped by Ctrl-C", *map(str, left)]), file=sys.stderr)
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(130)


def _run() -> None:
    """Runs the command, until all that it prints is written. Raises SystemExit."""
    try:
        app()
    finally:
        streams.flush()


def main() -> None:
    """Entry point: what the user can mend is one message and exit status 2, a defect of exanet's own one and status
    70."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _CtrlC())
    streams.prepare()
    encoding.adapt_streams()
    try:
        _run()
    except InputError as error:
        for message in error.messages:
            print(message if ": error: " in message else f"exanet: error: {message}", file=sys.stderr)
        sys.exit(2)
    except InternalError as error:
        print(f"exanet: internal error: {error}", file=sys.stderr)
        sys.exit(INTERNAL_STATUS)
    except UnicodeEncodeError as error:
        print(f"exanet: error: {encoding.name_in(error)}: the name is not UTF-8; choose a name in ASCII", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("exanet: error: there is not enough memory for this: raise the limit (ulimit -v), or simulate less at once", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        _end_interrupted(interrupt)
    except SystemExit as end:
        if end.code == 130:  # as Typer ends at an interrupt
            _end_interrupted(end.__context__)
        raise
