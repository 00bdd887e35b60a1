# SPDX-License-Identifier: Apache-2.0
"""Runs a bridge until it is interrupted."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from exanet import _core, background, background_traffic
from exanet.bridge import namespaces, taps
from exanet.bridge.options import Options
from exanet.errors import InputError
from exanet.machine import Machine

_NO_NODE = 0xFFFF_FFFF
_SLOWEST = 1e9
_NOTICED = 0.05
"""Share of its time that the simulator may be waited for before that is said."""


def bridge(options: Options, described: Machine, ready: Callable[[], None]) -> dict[str, Any]:
    """Makes the interfaces, calls `ready`, and passes frames until SIGINT or SIGTERM: what was measured.

    Raises InputError on what cannot be had, before anything is made if possible.
    """
    resolved = described.resolve()
    if not 1 <= options.slow <= _SLOWEST:
        raise InputError(f"--slow {options.slow:g}: the network's time goes at most as fast as the host's; give 1 to {_SLOWEST:g}")
    resolved |= background_traffic.resolved(options.background, resolved)
    _check_nodes(options, resolved)
    taps.check()
    for name in namespaces.clean():
        print(f"exanet: removed the network namespace {name}, which a bridge that was killed has left", file=sys.stderr)
    with _Signals() as signals, taps.opened(options.taps) as files:
        try:
            loop = _core.Bridge(resolved, _settings(options, files))
        except _core.ConfigError as error:
            raise InputError(str(error)) from None
        signals.end_by(loop.stop)
        ready()
        with contextlib.suppress(KeyboardInterrupt):
            background.work(loop, _watcher(options.slow), resolved, {"bridge": ", ".join(options.texts)})
        return dict(loop.results())


def mtu(described: Machine) -> int:
    """Of interfaces, as the machine says (`ni.ip_mtu`)."""
    found: int = _core.configuration(described.resolve())["ni"]["ip_mtu_bytes"]
    return found


def _check_nodes(options: Options, resolved: dict[str, Any]) -> None:
    failed = set(_core.failed_endpoints(resolved["topology"])) if resolved["topology"].get("failed") else set()
    for tap in options.taps:
        if tap.node in failed:
            raise InputError(f"--tap {tap.name}: node {tap.node} has failed; take another one")


def _settings(options: Options, files: list[int]) -> dict[str, Any]:
    return {
        "ethernet": {
            "nodes": [_NO_NODE if tap.node is None else tap.node for tap in options.taps],
            "addresses": [tap.mac_number for tap in options.taps],
            "transmit_ring": options.ring,
            "receive_ring": options.ring,
            "interrupt_interval_ps": options.interrupts_ps,
        },
        "files": files,
        "captures": [str(options.capture.with_name(f"{options.capture.stem}-{tap.name}{options.capture.suffix}")) for tap in options.taps]
        if options.capture
        else [],
        "dilation": options.slow,
        "lag_bound_ps": 10_000_000_000,
        "kept_frames": 1_000_000,
    }


def _watcher(slow: float) -> Callable[[float], None]:
    """Says once that the simulator cannot keep up."""
    said = False

    def watch(waited: float) -> None:
        nonlocal said
        if said or waited < _NOTICED:
            return
        said = True
        print(
            f"exanet: the simulator does not keep up: its clock has stood still for {100 * waited:.0f} % of the time so far. "
            f"Times that programs measure are too long by that; try --slow {slow * _factor(waited):.3g}",
            file=sys.stderr,
        )

    return watch


def _factor(waited: float) -> float:
    """Of dilation, at which it would keep up, and more."""
    return 1.5 / max(1 - waited, 0.001)


class _Signals:
    """SIGINT and SIGTERM end the bridge, whenever they come: while it runs, by its results; before, as soon as it would
    begin. Removing what was made is not interrupted."""

    _ENDING = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._came = False
        self._stop: Callable[[], None] | None = None
        self._before: list[Any] = []

    def __enter__(self) -> _Signals:
        self._before = [signal.signal(number, self._hear) for number in self._ENDING]
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in zip(self._ENDING, self._before, strict=True):
            signal.signal(number, handler)

    def end_by(self, stop: Callable[[], None]) -> None:
        """From now on `stop` is what ends it."""
        self._stop = stop
        if self._came:
            stop()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if self._stop is not None:
            self._stop()
