# SPDX-License-Identifier: Apache-2.0
"""Do handlers on the receiving interface give MPI programs the right bytes, at the rate and in the time that their
cycles allow, and are mistakes in them reported?"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Finished, Runner, Stack

PAGE = (Path(__file__).parents[2] / "docs/spin.md").read_text(encoding="utf-8")
PACKET, HEADER = 960, 64  # bytes of a packet
HPUS, LINE = 32, 200.0  # at 1 GHz, and Gb/s
WORDS = 24000 + 7  # of a message: its last packet is shorter
Handled = Callable[..., Finished]

pytestmark = pytest.mark.skipif(not shutil.which("riscv64-linux-gnu-gcc"), reason="handlers need gcc-riscv64-linux-gnu")

COUNTS_DOWN = """#include <spin.h>
SPIN_MATCH(.tag = 7, .source = SPIN_ANY, .destination = 0, .least = 1);
void payload_handler(handler_args_t *args) {
  (void)args;
  __asm__ volatile("li t0, ROUNDS\\n1: addi t0, t0, -1\\nbnez t0, 1b" ::: "t0");
}
"""

COLLECTIVES = """import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
values = np.full(100_000, world.rank + 1.0)
total, root = np.zeros_like(values), np.arange(50_000.0) if world.rank == 0 else np.zeros(50_000)
world.Allreduce(values, total)
world.Bcast(root, root=0)
got = np.zeros(1000)
if world.rank == 1:
    world.Send(values[:1000], dest=0, tag=3)
if world.rank == 0:
    world.Recv(got, source=1, tag=3)
    print((total == 10).all(), (root == np.arange(50_000.0)).all(), got.any())
"""


@pytest.fixture
def handled(exanet_run: Runner, stack: Stack, compiled: Callable[..., Path]) -> Handled:
    """Runs programs/handlers.c on two nodes of a machine with HPUs, with these handlers if any."""
    program = compiled("handlers")

    def run(
        handlers: str,
        mode: str,
        words: int = WORDS,
        rounds: int = 2,
        more: tuple[str, ...] = (),
        machine: str = "pspin",
        code: int | None = 0,
    ) -> Finished:
        options = ("--compute", "off", "--map", "round-robin", *(("--handlers", handlers) if handlers else ()), *more)
        return exanet_run(stack, 2, [program, mode, str(words), str(PACKET), str(rounds)], machine=machine, options=options, code=code)

    return run


@pytest.mark.every_mpi
@pytest.mark.parametrize("name", ["copy", "unpack", "reduce", "histogram", "filter"])
def test_a_receive_gets_what_handlers_make_of_its_message(handled: Handled, name: str) -> None:
    done = handled(name, name)
    assert done.line(name)[0] == "right"
    found = done.summary["handlers"]
    assert (found["messages"], found["bytes"]) == (2, 2 * 4 * WORDS)
    assert found["payloads"] == found["packets"] == 2 * -(-4 * WORDS // PACKET)


def test_short_messages_are_handled_and_others_pass_by(handled: Handled) -> None:
    assert handled("unpack", "unpack", words=2).line("unpack")[0] == "right", "2 words would go with their envelope"
    plain, beside = handled("", "copy"), handled("histogram", "copy", words=8)
    assert "handlers" not in plain.summary
    assert beside.line("copy")[0] == "right", "the histogram takes messages from 4 KiB on"
    assert beside.summary["handlers"]["messages"] == 0


@pytest.mark.every_mpi
def test_collectives_and_what_a_library_sends_itself_pass_by(exanet_run: Runner, stack: Stack, tmp_path: Path) -> None:
    """The handlers take every message and move nothing."""
    (tmp_path / "none.c").write_text("#include <spin.h>\nvoid payload_handler(handler_args_t *args) { (void)args; }\n", encoding="utf-8")
    (tmp_path / "collectives.py").write_text(COLLECTIVES, encoding="utf-8")
    options = ("--map", "round-robin", "--compute", "off", "--handlers", "none.c")
    done = exanet_run(stack, 4, [stack.python, "collectives.py"], machine="pspin", options=options, cwd=tmp_path)
    assert done.output == "True True False\n"
    assert done.summary["handlers"]["messages"] == 1


@pytest.mark.parametrize("rounds", [40, 400, 1200])
def test_the_rate_is_that_of_the_line_or_of_the_units(handled: Handled, tmp_path: Path, rounds: int) -> None:
    source = tmp_path / "counts.c"
    source.write_text(COUNTS_DOWN.replace("ROUNDS", str(rounds)), encoding="utf-8")
    found = handled(str(source), "untouched", words=240 * 2000, rounds=1).summary["handlers"]
    cycles = 22 + 1 + 4 * rounds - 2 + 2  # starting; li, the loop, ret
    assert found["cycles_per_packet"] == pytest.approx(cycles, abs=0.2), "four clusters have each begun once"
    closed = min(LINE * PACKET / (PACKET + HEADER), HPUS * PACKET * 8 / cycles)
    assert found["gbit_per_s"] == pytest.approx(closed, rel=0.03)


def test_the_same_run_takes_the_same_time(handled: Handled) -> None:
    first, second = (handled("histogram", "histogram") for _ in range(2))
    assert first.output == second.output
    assert first.summary["handlers"] == second.summary["handlers"]


def test_slower_units_take_longer(handled: Handled) -> None:
    fast, slow = (handled("reduce", "reduce", machine=machine).summary["handlers"] for machine in ("pspin", "fpspin"))
    assert fast["gbit_per_s"] > 20 * slow["gbit_per_s"]


def test_lost_packets_are_sent_again_or_fail_the_message(handled: Handled, tmp_path: Path) -> None:
    (tmp_path / "map").write_text("0\n4\n", encoding="utf-8")
    (tmp_path / "faults.yaml").write_text("events:\n  - {lossy: 'links:16:1', lost_packets: 0.2, at: 0 ns}\n", encoding="utf-8")
    (tmp_path / "again.yaml").write_text("extends: pspin\nname: again\nni: {reliability: end-to-end}\n", encoding="utf-8")
    more = ("--map", str(tmp_path / "map"), "--faults", str(tmp_path / "faults.yaml"))
    done = handled("histogram", "histogram", machine=str(tmp_path / "again.yaml"), more=more)
    assert done.line("histogram")[0] == "right" and done.summary["lost_packets"] > 100
    failed = handled("histogram", "histogram", more=more, code=None)
    assert failed.code != 0 and "failed: " in failed.errors


@pytest.mark.parametrize("dies", ["host0", "host1"])
@pytest.mark.parametrize("at", [2, 6, 30])
def test_a_host_that_dies_fails_the_message_at_the_other_end(handled: Handled, tmp_path: Path, dies: str, at: int) -> None:
    (tmp_path / "faults.yaml").write_text(f"detection: 100 us\nevents:\n  - {{host: {dies}, at: {at} us}}\n", encoding="utf-8")
    done = handled("histogram", "histogram", words=240000, more=("--faults", str(tmp_path / "faults.yaml")), code=None)
    assert done.code != 0 and "failed: a node that it needs is down" in done.errors


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("*(volatile int *)0x40 = 1;", "the payload handler of a message from rank 1 to rank 0 stores 4 B to 0x00000040"),
        ('for (;;) __asm__ volatile("");', "does not end within 10000000 instructions"),
        (
            "spin_cmd_t c; spin_dma_to_host(spin_host_address(args->task) + 1, (uint32_t)args->task->pkt_mem, 960, true, &c);",
            "receive's buffer",
        ),
    ],
)
def test_a_handler_that_cannot_go_on_ends_the_run(handled: Handled, tmp_path: Path, body: str, said: str) -> None:
    source = tmp_path / "wrong.c"
    source.write_text(
        f"#include <spin.h>\nSPIN_MATCH(7, SPIN_ANY, SPIN_ANY, 1);\nvoid payload_handler(handler_args_t *args) {{ (void)args; {body} }}\n"
    )
    done = handled(str(source), "copy", words=240, rounds=1, code=None)
    assert done.code != 0 and said in done.errors


def test_what_cannot_be_is_refused(handled: Handled, tmp_path: Path) -> None:
    empty, broken = tmp_path / "empty.c", tmp_path / "broken.c"
    empty.write_text("int other;\n")
    broken.write_text("void payload_handler(void) { return 1 }\n")
    for source, more, machine, said in (
        ("copy", (), "exanest", "the interfaces of 'exanest' have no HPUs"),
        ("none.c", (), "pspin", "there is no such file; give one, or copy, filter, histogram, reduce, unpack of the package"),
        (str(empty), (), "pspin", "it defines none of header_handler, payload_handler, completion_handler"),
        (str(broken), (), "pspin", "riscv64-linux-gnu-gcc fails"),
        ("copy", ("--level", "flow"), "pspin", "--level flow and --handlers do not go together"),
    ):
        done = handled(source, "copy", machine=machine, more=more, code=2)
        assert said in done.errors, done.errors


def test_the_tutorial_gives_what_it_says(exanet_run: Runner, mpich: Stack, tmp_path: Path) -> None:
    """Runs the handlers, the program and the command of docs/spin.md."""
    handlers, program = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)[0], re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    (tmp_path / "largest.c").write_text(handlers, encoding="utf-8")
    (tmp_path / "largest.py").write_text(program, encoding="utf-8")
    said = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
    options = ("--map", "round-robin", "--compute", "off", "--handlers", "largest.c")
    done = exanet_run(mpich, 2, [mpich.python, "largest.py"], machine="pspin", options=options, cwd=tmp_path)
    assert done.output == said
