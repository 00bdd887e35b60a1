# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays in the memory of simulated GPUs, for programs with mpi4py (docs/gpu.md).

They are ordinary arrays: mpi4py passes them on as they are, and MPI knows by their addresses where they lie. The
program computes with them on the host, and says how long the GPU takes. It works in programs that run on a machine with
GPUs (`exanet run -m quong`).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

_DEFAULT = 4  # cudaMemcpyDefault: the addresses say where both ends are


class GpuError(RuntimeError):
    """There is no GPU, no memory left, or an array of another kind than a call takes."""


@cache
def _library() -> ctypes.CDLL:
    own = ctypes.CDLL(None)
    if not hasattr(own, "exanet_gpu_alloc"):
        raise GpuError("no GPU is simulated here: run the program on a machine that has some, e.g. exanet run -m quong")
    own.exanet_gpu_alloc.restype = ctypes.c_void_p
    own.exanet_gpu_alloc.argtypes = [ctypes.c_size_t]
    own.exanet_gpu_free.argtypes = [ctypes.c_void_p]
    own.exanet_gpu_compute.argtypes = [ctypes.c_double]
    own.exanet_gpu_kernel_end.argtypes = [ctypes.c_double]
    own.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    own.cudaGetErrorString.restype = ctypes.c_char_p
    return own


def _check(status: int) -> None:
    if status != 0:
        raise GpuError(_library().cudaGetErrorString(status).decode())


def count() -> int:
    """GPUs of the rank's node."""
    found = ctypes.c_int()
    _library().cudaGetDeviceCount(ctypes.byref(found))
    return found.value


def select(device: int) -> None:
    """Makes a GPU of the node, counted from 0, the current one. Raises GpuError."""
    _check(_library().cudaSetDevice(device))


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = "float64") -> NDArray[Any]:
    """An array in the current GPU's memory, which is freed with its last view. Raises GpuError."""
    import numpy as np

    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    address = _library().exanet_gpu_alloc(max(size, 1))
    if not address:
        _check(_library().cudaGetLastError())
    memory = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(memory, _library().exanet_gpu_free, address)
    return np.frombuffer(memoryview(memory), dtype=kind).reshape(shape)


def array(host: np.ndarray[Any, Any]) -> NDArray[Any]:
    """A copy in the current GPU's memory; the rank waits for it. Raises GpuError."""
    made = empty(host.shape, host.dtype)
    copy(made, host)
    return made


def copy(to: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """Copies between host and GPU, or within a GPU, as cudaMemcpy does. Raises GpuError."""
    if to.nbytes != source.nbytes or not (to.flags.c_contiguous and source.flags.c_contiguous):
        raise GpuError("a copy takes two contiguous arrays of the same size")
    _check(_library().cudaMemcpy(to.ctypes.data, source.ctypes.data, to.nbytes, _DEFAULT))


def compute(seconds: float) -> None:
    """Launches a kernel that takes so long; the rank goes on."""
    _library().exanet_gpu_compute(seconds)


@contextmanager
def kernel(seconds: float) -> Iterator[None]:
    """As compute(); what the rank computes in the block in the kernel's place counts as no time of its own."""
    own = _library()
    own.exanet_gpu_kernel_begin()
    try:
        yield
    finally:
        own.exanet_gpu_kernel_end(seconds)


def synchronize() -> None:
    """Waits until the current GPU has done all that it was given."""
    _check(_library().cudaDeviceSynchronize())
