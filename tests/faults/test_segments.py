# SPDX-License-Identifier: Apache-2.0
"""Are segments of shared memory found that a run leaves, and are those of somebody else at the same time not taken
for its own?"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from conftest import Segments
from host import LIMIT_S, wait_for

MAKE = "import sys\nwith open(sys.argv[1], 'w') as f: f.flush(); sys.stdin.read()"


def leave(segments: Segments, name: str, **environment: str) -> None:
    """A process of that environment makes a segment, lives until it is seen, and leaves it."""
    with subprocess.Popen(
        [sys.executable, "-c", MAKE, f"/dev/shm/{name}"], stdin=subprocess.PIPE, env={**os.environ, **environment}
    ) as process:
        assert wait_for(lambda: segments.looked_at(name), LIMIT_S)
        process.communicate()


def test_own_segments_alone_count() -> None:
    mark = uuid.uuid4().hex
    own, other = f"exanet-test-{mark}-own", f"exanet-test-{mark}-other"
    segments = Segments(mark)
    try:
        leave(segments, own, FAULT_TEST_MARK=mark)
        leave(segments, other)
        segments.close()
        assert segments.left() == {own}
        Path("/dev/shm", own).unlink()
        assert segments.left() == set()
    finally:
        for name in (own, other):
            Path("/dev/shm", name).unlink(missing_ok=True)
