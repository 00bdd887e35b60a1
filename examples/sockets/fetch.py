# SPDX-License-Identifier: Apache-2.0
"""Fetches each file of a folder from the web server of rank 0, and says how long that took in virtual time."""

import socket
import sys
import time
import urllib.request
from pathlib import Path

socket.create_connection(("rank0", 8000)).close()  # virtual time begins, and the server is there
for file in sorted(Path(sys.argv[1]).iterdir()):
    start = time.monotonic()
    with urllib.request.urlopen(f"http://rank0:8000/{file.name}") as answer:
        size = len(answer.read())
    print(f"{file.name} {size} bytes {1e6 * (time.monotonic() - start):.1f} us", flush=True)
