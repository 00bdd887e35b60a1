# SPDX-License-Identifier: Apache-2.0
"""The libraries that are preloaded into programs for another processor: built on first use, by the cross compiler of
that processor, into the cache folder. They are found again by what they are made of: sources and compiler."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from exanet.directory import built
from exanet.errors import InputError

_RANK = ("lib", "provider", "clock", "collectives", "record", "simulated")
_BESIDE = ("sessions", "lists", "persistent")
"""Folders of runtime/, as in runtime/package.cmake: libexanet-fi.so, and libraries that some MPIs need beside it."""
_COMPILE = ("-std=gnu11", "-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden", "-ftls-model=initial-exec")
_DEBIAN = {"aarch64": "arm64"}
"""Debian's names of processors, where they are other ones."""
_LIBFABRIC = Path("/usr/include/rdma/fabric.h")


def sources() -> Path:
    """The folder that `runtime/` and `core/` lie in. Raises InputError when this installation has none."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "guest", here.parent):
        if (folder / "runtime/include/exanet").is_dir():
            return folder
    raise InputError(f"{here / 'guest'} is missing: install the package again (pip install .)")


def libraries(architecture: str) -> Path:
    """The folder of libexanet-fi.so and its companions for that processor; built when there is none yet. Raises
    InputError when the compiler is missing or fails."""
    compiler = f"{architecture}-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        raise InputError(
            f"{compiler} is missing: it builds what is preloaded into the program; apt-get install gcc-{architecture}-linux-gnu"
        )
    if subprocess.run([compiler, "-E", "-include", "stdlib.h", "-x", "c", "/dev/null"], capture_output=True, check=False).returncode:
        package = f"libc6-dev-{_DEBIAN.get(architecture, architecture)}-cross"
        raise InputError(f"{compiler} finds no headers of a C library for its processor; apt-get install {package}")
    if not _LIBFABRIC.is_file():
        raise InputError(f"{_LIBFABRIC} is missing: apt-get install libfabric-dev")
    root = sources()

    def build(scratch: Path, folder: Path) -> None:
        # The headers of libfabric alone: the host's others are for the host's processor.
        headers = scratch / "headers"
        headers.mkdir()
        (headers / "rdma").symlink_to(_LIBFABRIC.parent)
        common = [compiler, *_COMPILE, f"-I{root}", f"-I{root / 'runtime/include'}", f"-I{headers}"]
        rank = str(folder / "libexanet-fi.so")
        _compile([*common, *_files(root, _RANK), "-o", rank, "-ldl", "-lpthread", "-Wl,--as-needed", "-latomic"])
        for name in _BESIDE:
            beside = str(folder / f"libexanet-{name}.so")
            _compile([*common, *_files(root, (name,)), "-o", beside, f"-L{folder}", "-lexanet-fi", "-Wl,-rpath,$ORIGIN"])

    return built(f"cpu-{architecture}-{_key(root, compiler)}", f"the libraries for {architecture} (once; about 15 s)", build)


def _files(root: Path, folders: Sequence[str]) -> list[str]:
    found = (path for folder in folders for path in (root / "runtime" / folder).glob("*.c"))
    return sorted(str(path) for path in found if not path.name.endswith("_test.c"))


def _key(root: Path, compiler: str) -> str:
    digest = hashlib.sha256()
    for folder in ("runtime", "core"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    digest.update(repr([version, _COMPILE, _RANK, _BESIDE]).encode())
    return digest.hexdigest()[:16]


def _compile(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{command[0]} fails: {done.stderr.strip()[-1500:]}")
