# SPDX-License-Identifier: Apache-2.0
"""The table of `exanet validate`, without running anything."""

import math
from typing import Any

import pytest

from exanet import optional
from exanet.errors import InputError
from exanet.validate import registry, table
from exanet.validate.fit import line
from exanet.validate.registry import Experiment, Measured, Off, Tolerance, Verdict
from exanet.validate.runner import RunFailed, Runner


def test_every_fact_is_measured_or_says_why_not_and_every_experiment_has_its_fact() -> None:
    rows = registry.experiments()
    assert list(rows) == list(registry.published())
    for row, fact in registry.published().items():
        assert (rows[row].kind == "none") == ("not_reproduced" in fact), row
        assert fact["quantity"] and fact["source"] and "value" in fact, row
        why = fact.get("not_reproduced", "Measured.")
        assert why.endswith(".") and len(why) > 5, f"{row} says in a sentence why it is not reproduced"
        assert ("tolerance" in fact) == ("because" in fact), f"{row} says why it may miss so much"


def test_ids_are_those_of_one_paper_each() -> None:
    of_papers = [row for paper in registry.papers().values() for row in paper.rows]
    assert len(of_papers) == len(set(of_papers)) == len(registry.published()) == 173


def test_only_what_fixes_a_constant_is_calibrated() -> None:
    calibrated = {row.id for row in registry.experiments().values() if row.kind == "calibrated"}
    figures_of_interfaces = {"P03", "P04", "P05", "D12", "E06", "R35"}
    figures_of_links = {"A02", "R01", "R02", "R16", "R37"}
    figures_of_hosts = {"A06", "R04"}  # with GPUs, and with TCP
    assert calibrated == figures_of_interfaces | figures_of_links | figures_of_hosts | {"E26", "E43", "R26", "K22", "K23", "K24", "K25"}


def test_a_row_that_is_not_reproduced_has_its_reason_and_no_verdict_on_a_figure(capsys: pytest.CaptureFixture[str]) -> None:
    row = table.measure(registry.experiments()["E39"], Runner())
    assert (row["verdict"], row["kind"], row["ours"], row["error"]) == ("not reproduced", "none", None, None)
    assert row["remark"].startswith("Files of programs take simulated time")
    assert table.status_of([row]) == 2, "nothing was measured"
    assert table.status_of([row, table.measure(experiment(found=Measured(1.3, "")), Runner())], strict=True) == 0
    table.show([row])
    assert "1 row: 1 not reproduced." in capsys.readouterr().out


def test_several_figures_are_compared_one_by_one() -> None:
    row = Experiment("E15", "structural", lambda runner: Measured((64, 576, 1700), ""), Tolerance(0.0, "counts"))
    found = table.measure(row, Runner())
    assert (found["verdict"], found["error"]) == ("failed", (1700 - 1728) / 1728)
    assert row.verdict(Measured((64, 576, 1728), ""), [64, 576, 1728]) == "passed"
    with pytest.raises(ValueError):
        row.verdict(Measured((64, 576), ""), [64, 576, 1728])


def test_rows_are_chosen_by_id_in_the_table_s_order() -> None:
    assert list(table.select("P05, P03")) == ["P03", "P05"]


def test_what_takes_minutes_is_measured_when_it_is_asked_for() -> None:
    long = {"E32", "E37", "K17", "K18", "K19", "K20", "R22", "R42", "R53", "R54", "R55", "R58", "R59", "R60"}
    assert long == set(table.select(None, True)) - set(table.select(None))
    assert list(table.select("R54")) == ["R54"]


def test_what_stands_beside_has_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    row = table.measure(experiment("beside", found=Measured(3.0, "", text="three")), Runner())
    assert (row["verdict"], row["error"], row["shown"]) == ("beside", None, "three")
    table.show([row])
    assert "1 row: 1 beside, without a verdict." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("only", "message"), [("P3", "did you mean 'P03'?"), ("nothing", "there is no such row"), (" ,", "give ids of rows")]
)
def test_an_unknown_row_is_refused(only: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        table.select(only)
    assert message in refusal.value.messages[0]


def experiment(
    kind: registry.Kind = "predicted",
    tolerance: Tolerance | None = None,
    off: Off | None = None,
    needs: tuple[str, ...] = (),
    found: Measured | None = None,
) -> Experiment:
    def measure(runner: Runner) -> Measured:
        if found is None:
            raise RunFailed("the program did not run")
        return found

    return Experiment("P03", kind, measure, tolerance, off, needs)


@pytest.mark.parametrize(("ours", "verdict"), [(105.0, "passed"), (105.01, "failed"), (95.0, "passed"), (94.99, "failed")])
def test_a_prediction_passes_within_five_percent(ours: float, verdict: Verdict) -> None:
    assert experiment().verdict(Measured(ours, ""), 100) == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(102.0, "passed"), (102.01, "failed")])
def test_what_is_structural_passes_within_its_own_tolerance(ours: float, verdict: Verdict) -> None:
    assert experiment("structural", Tolerance(0.02, "why")).verdict(Measured(ours, ""), 100) == verdict


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(70.0, "off"), (71.0, "off"), (69.0, "off"), (71.01, "failed"), (68.99, "failed"), (130.0, "failed"), (96.0, "passed")],
)
def test_what_is_off_stays_off_by_as_much_as_is_known(ours: float, verdict: Verdict) -> None:
    assert experiment(off=Off(-0.3, "why")).verdict(Measured(ours, ""), 100) == verdict


def test_a_row_that_is_off_says_why_and_fails_once_it_is_off_by_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    off = Off(-0.3, "the boards were slower")
    known = table.measure(experiment(off=off, found=Measured(0.91, "measured")), Runner())
    changed = table.measure(experiment(off=off, found=Measured(0.8, "measured")), Runner())
    assert (known["verdict"], known["cause"]) == ("off", "the boards were slower")
    assert (changed["verdict"], changed["cause"]) == ("failed", "was known to be off by -30.0%: what has changed since?")
    table.show([known, changed])
    shown = capsys.readouterr().out
    assert "P03 measured Off: the boards were slower" in shown
    assert "2 rows: 1 off, 1 failed." in shown
    assert table.status_of([known]) == 0
    assert table.status_of([known, changed]) == 1


@pytest.mark.parametrize("holds", [True, False])
def test_a_shape_passes_if_it_holds(holds: bool) -> None:
    row = table.measure(experiment("shape", found=Measured(0.9, "", holds=holds, text="R² = 0.9")), Runner())
    assert (row["verdict"], row["error"], row["shown"]) == ("passed" if holds else "failed", None, "R² = 0.9")


def test_a_failed_run_fails_its_row_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    row = table.measure(experiment(), Runner())
    assert (row["verdict"], row["ours"], row["remark"]) == ("failed", None, "the program did not run")
    table.show([row])
    shown = capsys.readouterr().out
    assert "no result" in shown
    assert "1 row: 1 failed." in shown


def test_without_its_tool_a_row_is_skipped_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(optional.importlib.util, "find_spec", lambda name: None)
    rows = [table.measure(registry.experiments()[name], Runner()) for name in ("K17", "K09")]
    assert [(row["verdict"], row["ours"], row["error"]) for row in rows] == [("skipped", None, None)] * 2
    assert rows[0]["remark"] == ("Yosys is not installed: it counts the gateware's resources; pip install '.[synth]' in the source folder")
    assert rows[1]["remark"].startswith("Verilator is not installed: ")
    table.show(rows)
    shown = capsys.readouterr().out
    assert "2 rows: 2 skipped." in shown
    assert "pip install '.[synth]'" in shown
    assert "no result" not in shown and "failed" not in shown
    passed = table.measure(experiment(found=Measured(1.3, "")), Runner())
    assert table.status_of(rows) == 2, "nothing could be measured"
    assert table.status_of([*rows, passed]) == 0


def test_every_tool_that_a_row_needs_is_known_and_each_is_needed() -> None:
    needed = {name for row in registry.experiments().values() for name in row.needs}
    assert needed == set(optional.TOOLS) - {"otf2"}, "that one is for converting traces"


def test_off_and_tolerances_belong_to_their_kinds() -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("P06", {"kind": "structural"}),  # whose fact has no tolerance
        ("P06", {"kind": "calibrated"}),
        ("E15", {"kind": "predicted"}),  # whose fact has one
        ("E39", {"kind": "shape"}),  # whose fact says that it is not reproduced
        ("P09", {"kind": "shape", "off": Off(-0.3, "why")}),
        ("P06", {"kind": "predicted", "off": Off(-0.05, "no need")}),
    ]
    for row, given in wrong:
        with pytest.raises(ValueError, match=row):
            registry.experiment(row, **given)


def test_a_row_shows_published_ours_and_error(capsys: pytest.CaptureFixture[str]) -> None:
    table.show([table.measure(experiment(found=Measured(1.313, "why")), Runner())])
    shown = capsys.readouterr().out
    assert "1.3 us" in shown
    assert "1.313 us" in shown
    assert "+1.0 %" in shown
    assert "P03 why" in shown


def test_line_through_exact_points() -> None:
    fitted = line([1, 2, 3], [5, 7, 9])
    assert math.isclose(fitted.slope, 2) and math.isclose(fitted.intercept, 3) and math.isclose(fitted.r2, 1)


def test_line_explains_nothing_of_a_zigzag() -> None:
    assert line([1, 2, 3, 4], [1, -1, -1, 1]).r2 == 0
