# SPDX-License-Identifier: Apache-2.0
"""Shows a page that the program wrote in a browser, without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

MISSING = shutil.which("chromium") is None
needs_browser = pytest.mark.skipif(MISSING, reason="chromium is not installed")


def in_browser(page: Path, width: int = 1240) -> str:
    """The page's elements when its script has run in a window of `width` pixels. Fails when the browser's console
    says anything."""
    options = [f"--window-size={width},1000"]
    options += ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent}/profile", "--virtual-time-budget=2000"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--dump-dom", f"file://{page}"]
    done = subprocess.run(["chromium", *options], capture_output=True, text=True, timeout=600)
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    return done.stdout


def charts(elements: str) -> int:
    """How many charts have been drawn."""
    return len(re.findall(r'class="chart[^"]*"[^>]*_echarts_instance_="[^>]*>\s*<div[^>]*>\s*<canvas', elements))
