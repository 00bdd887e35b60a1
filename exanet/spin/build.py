# SPDX-License-Identifier: Apache-2.0
"""Compiles handlers for the HPUs, by Debian's cross compiler, and makes of them what the simulator takes.

The memory map is that of core/nic/handlers/layout.hpp. Instructions are those of RV32IMAC: the compiler's
`-march=rv32imac`, without a library. PULP's compiler has loops whose branch takes no cycle; Debian's has not, and
unrolls loops instead.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from exanet.errors import InputError
from exanet.spin import elf

COMPILER = "riscv64-linux-gnu-gcc"
_PROGRAM, _MEMORY = 0x1D000000, 0x1C000000
_ANY = 0xFFFFFFFF
_HANDLERS = ("header", "payload", "completion")
_SCRIPT = f"""\
SECTIONS {{
  .text {_PROGRAM:#x} : {{ *(.text .text.*) }}
  .data {_MEMORY:#x} : {{ *(.spin.match) *(.rodata .rodata.* .srodata .srodata.* .data .data.* .sdata .sdata.*) . = ALIGN(4); }}
  .bss : {{ *(.sbss .sbss.* .bss .bss.* COMMON) . = ALIGN(4); }}
  /DISCARD/ : {{ *(.comment .eh_frame .riscv.attributes .note*) }}
}}
"""
_COMPILE = (
    "-march=rv32imac", "-mabi=ilp32", "-O3", "-funroll-loops",
    "-std=gnu11", "-ffreestanding", "-fno-pic", "-fno-pie", "-fno-stack-protector",
    "-fno-tree-loop-distribute-patterns", "-msmall-data-limit=0", "-mcmodel=medany", "-Wall",
    "-nostdlib", "-static", "-no-pie", "-Wl,-e,0", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments",
)  # fmt: skip


def program(source: Path) -> dict[str, Any]:
    """The handlers of a file in C, as the simulator takes them. Raises InputError."""
    if not source.is_file():
        raise InputError(f"--handlers {source}: there is no such file; give one, or {', '.join(shipped())} of the package")
    if source.suffix != ".c":
        raise InputError(f"--handlers {source}: give a file in C, whose name ends in .c (docs/spin.md)")
    if shutil.which(COMPILER) is None:
        raise InputError(f"--handlers {source}: {COMPILER} is missing: it compiles handlers; apt-get install gcc-riscv64-linux-gnu")
    with tempfile.TemporaryDirectory(prefix="exanet-handlers-") as scratch:
        script, made = Path(scratch) / "handlers.ld", Path(scratch) / "handlers"
        script.write_text(_SCRIPT, encoding="utf-8")
        include = Path(__file__).parent / "include"
        command = [COMPILER, *_COMPILE, f"-I{include}", str(source), "-o", str(made), f"-Wl,-T,{script}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"--handlers {source}: {COMPILER} fails:\n{done.stderr.strip()[-3000:]}")
        return _taken(source, elf.read(made))


def shipped() -> list[str]:
    """Names of the handlers that come with the package."""
    return sorted(path.stem for path in (Path(__file__).parent / "handlers").glob("*.c"))


def _taken(source: Path, executable: elf.Executable) -> dict[str, Any]:
    handlers = {name: executable.symbols.get(f"{name}_handler", 0) for name in _HANDLERS}
    if not any(handlers.values()):
        raise InputError(f"--handlers {source}: it defines none of {', '.join(f'{name}_handler' for name in _HANDLERS)}")
    sections = executable.sections
    ends = [section.address + section.size for name in (".data", ".bss") if (section := sections.get(name)) and section.size]
    data = sections[".data"].content if ".data" in sections else b""
    return {
        "text": _words(sections[".text"].content),
        "data": _words(data),
        "memory_bytes": max(ends, default=_MEMORY) - _MEMORY,
        **handlers,
        **_match(executable.symbols.get("spin_match"), data),
    }


def _match(address: int | None, data: bytes) -> dict[str, int]:
    """What SPIN_MATCH says; of a file without it, every message."""
    if address is None:
        return {"tag": _ANY, "source": _ANY, "destination": _ANY, "least_bytes": 1}
    tag, sender, destination, least = struct.unpack_from("<4I", data, address - _MEMORY)
    return {"tag": tag, "source": sender, "destination": destination, "least_bytes": max(least, 1)}


def _words(content: bytes) -> list[int]:
    padded = content + bytes(-len(content) % 4)
    return list(struct.unpack(f"<{len(padded) // 4}I", padded))
