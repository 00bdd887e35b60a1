# SPDX-License-Identifier: Apache-2.0
"""A browser that a test drives: opens a page, asks it, presses keys, moves the mouse, over the browser's own pipe."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

STARTS_S = 120
WAITS_S = 60
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def _aside(descriptor: int) -> int:
    """The same under a number that the browser's own two do not take."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Driven:
    """A window of `width` x `height` pixels that shows `page`; `said` are the lines of its console."""

    def __init__(self, page: Path, profile: Path, width: int = 1240, height: int = 900) -> None:
        self.said: list[str] = []
        theirs_in, self._to = map(_aside, os.pipe())
        self._from, theirs_out = map(_aside, os.pipe())
        command = ["chromium", *OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"]
        # The browser reads its descriptor 3 and writes to 4.
        shell = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *command]
        self._process = subprocess.Popen(shell, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._read = os.fdopen(self._from, "rb")
        self._number, self._rest = 0, b""
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.call("Page.navigate", url=f"file://{page}")

    def __enter__(self) -> Driven:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(timeout=STARTS_S)
        os.close(self._to)
        self._read.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the DevTools protocol. Fails where it is an error."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters, **({"sessionId": self._session} if self._session else {})}
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._listen(answer)
        assert "error" not in answer, answer["error"]
        result: dict[str, Any] = answer["result"]
        return result

    def ask(self, expression: str) -> Any:
        """The value of a script, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until a script's value is true. Fails where it is not in time, with what the console said."""
        until = time.monotonic() + WAITS_S
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < until, (expression, self.said)
            time.sleep(0.02)

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def processor_s(self) -> float:
        """What all processes of the browser have used of processors."""
        used: dict[int, tuple[int, int]] = {}  # parent, ticks
        for file in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = file.read_text().rpartition(")")[2].split()
                used[int(file.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        own = {self._process.pid}
        while more := {process for process, (parent, _) in used.items() if parent in own} - own:
            own |= more
        return sum(used[process][1] for process in own if process in used) / os.sysconf("SC_CLK_TCK")

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def _listen(self, event: dict[str, Any]) -> None:
        if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(event["params"]))
