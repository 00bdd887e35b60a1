# SPDX-License-Identifier: Apache-2.0
"""Do runs of two users at the same time on one machine come into each other's way?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import Exanet

NOBODY = 65534
# The other user may still read this Python, which lies in a folder of the first one.
AS_NOBODY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    "--inh-caps=+dac_override,+dac_read_search", "--ambient-caps=+dac_override,+dac_read_search",
)  # fmt: skip


def test_two_users_at_once(exanet: Exanet, fault: str) -> None:
    if os.getuid() != 0 or not shutil.which("setpriv") or subprocess.run([*AS_NOBODY, "true"], capture_output=True).returncode:
        pytest.skip("may not be another user here")
    env = {**os.environ, "FAULT_TEST_MARK": exanet.mark}
    with tempfile.TemporaryDirectory() as made:  # where everybody may look
        theirs = Path(made)
        theirs.chmod(0o755)
        os.chown(theirs, NOBODY, NOBODY)
        program = shutil.copy(fault, theirs)
        runs = []
        for turn in range(2):
            command = [sys.executable, "-m", "exanet", "run", "-q", "-m", "exanest", "-n", "4", "--compute", "off", "--no-report"]
            command += ["-o", f"out{turn}", "--", program, "late", "0"]
            for user, words, folder, home in ((0, (), exanet.folder, {}), (NOBODY, AS_NOBODY, theirs, {"HOME": made})):
                process = subprocess.Popen([*words, *command], cwd=folder, env=env | home, text=True, stderr=subprocess.PIPE)
                runs.append((user, process, folder / f"out{turn}"))
        for user, process, out in runs:
            _, err = process.communicate(timeout=300)
            assert (process.returncode, err) == (0, ""), f"user {user}: {err}"
            assert (out / "summary.json").stat().st_uid == user
