# SPDX-License-Identifier: Apache-2.0
"""Links that sleep while they are idle: what packets wait for them, how long they sleep, and what that saves."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from exanet import cli, machine, replay, sim
from exanet.errors import InputError
from exanet.trace.write import Writer

AFTER_NS, WAKE_NS, IDLE_W, ASLEEP_W = 2000, 700, 5.0, 1.0
BASE = {"cut-through": "bxi-256", "wormhole": "exanest-tor"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(name: str, base: str, *, sleeps: bool = True, topology: str = "{kind: mesh, shape: [4]}") -> str:
    """The file of a machine whose links sleep."""
    link = f"{{sleep_after: {AFTER_NS} ns, wake_time: {WAKE_NS} ns}}" if sleeps else "{}"
    Path(name).write_text(
        f"extends: {base}\nname: {Path(name).stem}\n"
        + (f"topology: {topology}\n" if topology else "")
        + f"links: {{link: {link}}}\npower: {{links: {{link: {{idle: {IDLE_W} W, asleep: {ASLEEP_W} W}}}}}}\n"
    )
    return name


def burst(file: str, *starts_ns: int) -> dict[str, object]:
    """Messages of one packet from node 0 to 3, at these times."""
    lines = [f"0->3 id {number} start {start}000 size 64" for number, start in enumerate(starts_ns, 1)]
    Path("flows.cm").write_text("\n".join(["Nodes 4", f"Connections {len(lines)}", *lines, ""]))
    return sim.simulate(file, offered=0, spec=sim.TrafficSpec(traffic="flows:flows.cm"))


@pytest.mark.parametrize("base", list(BASE.values()), ids=list(BASE))
def test_a_packet_wakes_each_link_of_its_way(base: str) -> None:
    sleeping, awake = written("sleeping.yaml", base), written("awake.yaml", base, sleeps=False)
    for starts, woken in (((0,), 0), ((20_000,), 3), ((0, 1000), 0), ((0, 20_000), 3), ((0, 20_000, 21_000), 3)):
        slow, fast = burst(sleeping, *starts), burst(awake, *starts)
        waited = float(slow["completion_ns"]) - float(fast["completion_ns"])  # type: ignore[arg-type]
        assert waited == pytest.approx(woken * WAKE_NS if starts[-1] != 21_000 else max(0, woken * WAKE_NS - 1000), abs=120), starts
        assert slow["zero_load_ns"] == fast["zero_load_ns"]
        assert "asleep" not in fast["links"]  # type: ignore[operator]


@pytest.mark.parametrize("base", list(BASE.values()), ids=list(BASE))
def test_idle_links_sleep_all_the_time_but_for_the_beginning(base: str) -> None:
    found = burst(written("sleeping.yaml", base), 100_000)
    links, end = found["links"], float(found["completion_ns"])  # type: ignore[arg-type]
    unused = links["packets"] == 0  # type: ignore[index]
    assert unused.sum() == 3  # the other directions
    assert links["asleep"][unused] == pytest.approx((end - AFTER_NS) / end)  # type: ignore[index]
    assert (links["asleep"][~unused] < (end - AFTER_NS) / end).all()  # type: ignore[index]
    used = 6 * IDLE_W - sum(links["asleep"]) * (IDLE_W - ASLEEP_W)  # type: ignore[index]
    assert found["power_w"] == pytest.approx(used)


def test_a_link_may_sleep_whenever_it_is_idle() -> None:
    file = written("eager.yaml", "bxi-256")
    Path(file).write_text(Path(file).read_text().replace(f"sleep_after: {AFTER_NS} ns", "sleep_after: 0 ns"))
    slow, fast = burst(file, 0), burst(written("awake.yaml", "bxi-256", sleeps=False), 0)
    assert float(slow["completion_ns"]) - float(fast["completion_ns"]) == pytest.approx(3 * WAKE_NS, abs=120)  # type: ignore[arg-type]
    unused = slow["links"]["packets"] == 0  # type: ignore[index]
    assert (slow["links"]["asleep"][unused] == 1).all()  # type: ignore[index]


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    written("sleeping.yaml", "exanest-tor", topology="")
    for threads in ("1", "2"):
        words = ["sim", "load", "-m", "sleeping.yaml", "--load", "0.01", "--threads", threads, "-o", threads, "-q"]
        assert CliRunner().invoke(cli.app, words).exit_code == 0
    for name in ("points", "links", "latency", "energy"):
        assert Path(f"1/{name}.parquet").read_bytes() == Path(f"2/{name}.parquet").read_bytes(), name
    links = pl.read_parquet("1/links.parquet")
    assert links["asleep"].max() > 0.5
    assert (links["asleep"] + links["use"]).max() <= 1


def test_a_replay_waits_too_and_its_links_say_how_long_they_slept() -> None:
    with Writer(Path("trace"), 2, {"program": ["one message a millisecond"]}) as streams:
        for rank, stream in enumerate(streams):
            for _ in range(5):
                if rank == 0:
                    stream.message("Send", 1, 64, compute_ps=10**9)
                else:
                    stream.message("Recv", 0, 64)
            stream.end()
    files = (written("sleeping.yaml", "bxi-256", topology=""), written("awake.yaml", "bxi-256", sleeps=False, topology=""))
    slow, fast = (replay.replay(replay.Options(("trace",), file, "round-robin"))[0] for file in files)
    waited_ns = (slow["summary"]["virtual_ps"] - fast["summary"]["virtual_ps"]) / 1e3
    assert waited_ns >= 2 * WAKE_NS  # the last message, over two links
    assert max(slow["links"]["asleep_ps"]) == slow["summary"]["virtual_ps"] - AFTER_NS * 1000
    assert "asleep_ps" not in fast["links"]


def test_the_flow_level_says_that_it_leaves_sleep_out() -> None:
    found = CliRunner().invoke(
        cli.app, ["sim", "messages", "-m", written("sleeping.yaml", "bxi-256", topology=""), "--level", "flow", "-o", "out"]
    )
    assert found.exit_code == 0, found.output
    assert "at flow level links never sleep" in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("links: {inter-qfdb: {sleep_after: 2 us}}", "links sleep between input-queued switches alone"),
        ("links: {inter-qfdb: {wake_time: 2 us}}", "this kind of link never sleeps"),
    ],
)
def test_where_links_cannot_sleep(links: str, message: str) -> None:
    Path("bad.yaml").write_text(f"extends: exanest\nname: bad\n{links}\n")
    with pytest.raises(InputError, match=message):
        machine.load("bad.yaml")


def test_the_page_has_the_figures_of_its_example() -> None:
    page = (Path(__file__).parents[2] / "docs/simulate.md").read_text().split("### Links that sleep\n")[1].split("\n## ")[0]
    Path("sleeping.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    command = page.split("```bash\n")[1].split("```")[0].split()
    assert CliRunner().invoke(cli.app, command[1:]).exit_code == 0
    low, high = pl.read_parquet("sleeping/points.parquet").to_dicts()
    for row, shown in ((low, "| 0.001 | 5.12 kW | {power:.2f} kW | 573 / 573 ns | {p50:.2f} / {p99:.2f} µs |"),
                       (high, "| 0.1 | 5.32 kW | {power:.2f} kW | 573 / 639 ns | {p50_ns:.0f} ns / {p99:.2f} µs |")):  # fmt: skip
        figures = {"power": row["power_w"] / 1e3, "p50": row["latency_p50_ns"] / 1e3, "p99": row["latency_p99_ns"] / 1e3}
        assert shown.format(**figures, p50_ns=row["latency_p50_ns"]) in page
