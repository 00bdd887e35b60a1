# SPDX-License-Identifier: Apache-2.0
"""TAP interfaces in network namespaces, for as long as a bridge runs.

The interfaces are not persistent: they vanish with the process that has them open, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from exanet.bridge import namespaces
from exanet.bridge.options import Tap
from exanet.errors import InputError

DEVICE = Path("/dev/net/tun")

# Of linux/if_tun.h.
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000


def check() -> None:
    """Raises InputError where interfaces cannot be made."""
    if not DEVICE.exists():
        raise InputError(
            f"there is no {DEVICE}: load the kernel's module (modprobe tun), or give a container the device (--device {DEVICE})"
        )
    if os.geteuid() != 0:
        raise InputError("network interfaces and namespaces take root's rights: run exanet bridge as root, e.g. with sudo")


@contextlib.contextmanager
def opened(taps: Sequence[Tap]) -> Iterator[list[int]]:
    """Makes namespaces and interfaces: the interfaces' files. At the end all are gone. Raises InputError."""
    made: list[str] = []
    files: list[int] = []
    try:
        for tap in taps:
            if tap.netns is None:
                namespaces.create(tap.namespace)
                made.append(tap.namespace)
            elif tap.namespace and not namespaces.exists(tap.namespace):
                raise InputError(
                    f"--tap {tap.name}: there is no network namespace {tap.namespace}; make it with: ip netns add {tap.namespace}"
                )
            files.append(_open(tap, f"exanet{os.getpid() % 1000000}.{len(files)}"))
        yield files
    finally:
        for file in files:
            os.close(file)
        for name in made:
            namespaces.remove(name)


def _open(tap: Tap, first_name: str) -> int:
    """Opens the interface under a name that no other has here, and moves it to its namespace under its own."""
    try:
        file = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{DEVICE}: {error.strerror}: network interfaces cannot be made here") from None
    try:
        fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", first_name.encode(), _IFF_TAP | _IFF_NO_PI))
        if tap.namespace:
            namespaces.ip("link", "set", "dev", first_name, "netns", tap.namespace, "name", tap.name)
        else:
            namespaces.ip("link", "set", "dev", first_name, "name", tap.name)
        inside = ("-n", tap.namespace) if tap.namespace else ()
        namespaces.ip(*inside, "link", "set", "dev", tap.name, "address", tap.mac, "mtu", str(tap.mtu))
        namespaces.ip(*inside, "link", "set", "dev", tap.name, "up")
        if tap.address:
            nodad = ("nodad",) if ":" in tap.address else ()
            namespaces.ip(*inside, "address", "add", tap.address, "dev", tap.name, *nodad)
    except OSError as error:
        os.close(file)
        hint = ": it takes the right CAP_NET_ADMIN" if error.errno == errno.EPERM else ""
        raise InputError(f"the interface {tap.name} cannot be made: {error.strerror}{hint}") from None
    except BaseException:
        os.close(file)
        raise
    return file
