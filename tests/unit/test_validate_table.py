# SPDX-License-Identifier: Apache-2.0
"""The table of `exanet validate`, without running anything."""

import math

import pytest

from exanet.errors import InputError
from exanet.validate import command, registry
from exanet.validate.fit import line
from exanet.validate.registry import Experiment, Measured
from exanet.validate.runner import RunFailed, Runner


def test_every_fact_is_reproduced_and_every_experiment_has_its_fact() -> None:
    assert list(registry.experiments()) == list(registry.published())


def test_only_what_fixes_a_constant_is_calibrated() -> None:
    assert {row.id for row in registry.experiments().values() if row.kind == "calibrated"} == {"P03", "P04", "P05", "A02"}


def test_rows_are_chosen_by_id_in_the_table_s_order() -> None:
    assert list(command.select("P05, P03")) == ["P03", "P05"]


def test_what_takes_minutes_is_measured_when_it_is_asked_for() -> None:
    assert {"R53", "R54", "R55"} == set(command.select(None, True)) - set(command.select(None))
    assert list(command.select("R54")) == ["R54"]


def test_what_stands_beside_has_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    row = command.measure(experiment("beside", found=Measured(3.0, "", text="three")), Runner())
    assert (row["passed"], row["error"], row["shown"]) == (None, None, "three")
    command.show([row])
    assert "0 of 0 rows with a verdict" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("only", "message"), [("P3", "did you mean 'P03'?"), ("nothing", "there is no such row"), (" ,", "give ids of rows")]
)
def test_an_unknown_row_is_refused(only: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        command.select(only)
    assert message in refusal.value.messages[0]


def experiment(
    kind: registry.Kind = "predicted", tolerance: float = 0.02, points: bool = False, found: Measured | None = None
) -> Experiment:
    def measure(runner: Runner) -> Measured:
        if found is None:
            raise RunFailed("the program did not run")
        return found

    return Experiment("P03", kind, tolerance, points, measure)


@pytest.mark.parametrize(("ours", "passes"), [(1.02, True), (1.0201, False), (0.98, True), (0.9799, False)])
def test_a_share_is_allowed_up_to_its_tolerance(ours: float, passes: bool) -> None:
    assert experiment().passes(Measured(ours, ""), 1) is passes


@pytest.mark.parametrize(("ours", "passes"), [(84.0, True), (84.01, False), (80.0, True), (79.99, False)])
def test_points_are_allowed_up_to_their_tolerance(ours: float, passes: bool) -> None:
    assert experiment(tolerance=2.0, points=True).passes(Measured(ours, ""), 82) is passes


@pytest.mark.parametrize("holds", [True, False])
def test_a_shape_passes_if_it_holds(holds: bool) -> None:
    row = command.measure(experiment("shape", found=Measured(0.9, "", holds=holds, text="R² = 0.9")), Runner())
    assert (row["passed"], row["error"], row["shown"]) == (holds, None, "R² = 0.9")


def test_a_failed_run_fails_its_row_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    row = command.measure(experiment(), Runner())
    assert (row["passed"], row["ours"], row["remark"]) == (False, None, "the program did not run")
    command.show([row])
    shown = capsys.readouterr().out
    assert "no result" in shown
    assert "FAIL" in shown
    assert "0 of 1 rows" in shown


def test_a_row_shows_published_ours_and_error(capsys: pytest.CaptureFixture[str]) -> None:
    command.show([command.measure(experiment(found=Measured(1.313, "why")), Runner())])
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
