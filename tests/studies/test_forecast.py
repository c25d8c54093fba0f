"""How long a study will take, and how it is said."""

from dataclasses import replace

import pytest
from tests.studies.test_store import made

from maxentry.studies.case import Case, Cell
from maxentry.studies.forecast import Forecast
from maxentry.studies.meter import Lines, duration, meter
from maxentry.studies.sources import Simulated

CASE = Case("a", Simulated((8, 6), 1), 8, 2, 20, looks=3)


def took(cell: Cell, seconds: float):
    sizes = {"initial": cell.case.initial, "batch": cell.case.batch, "budget": cell.case.budget}
    looks = {"looks": cell.case.looks}
    return replace(
        made("x"), case=cell.case.name, strategy=cell.strategy, wall_s=seconds, identity=sizes | looks
    )


def test_without_experience_more_to_do_takes_longer() -> None:
    forecast = Forecast()
    active, by_chance = Cell(CASE, "maxent", 0), Cell(CASE, "uniform", 0)
    large = Cell(replace(CASE, budget=200), "maxent", 0)
    assert forecast.seconds(by_chance) < forecast.seconds(active) < forecast.seconds(large)


def test_with_experience_it_takes_what_its_like_took() -> None:
    forecast = Forecast([took(Cell(CASE, "maxent", 0), 30.0), took(Cell(CASE, "maxent", 1), 50.0)])
    assert forecast.seconds(Cell(CASE, "maxent", 2)) == 40.0
    # Of another kind: as much slower as there is more to do. 11 posteriors of 28 entries took 40 s.
    other = Cell(replace(CASE, name="b", budget=40), "maxent", 0)
    assert forecast.seconds(other) == pytest.approx(40.0 * (21 * 48) / (11 * 28))


def test_a_strategy_of_an_older_version_does_no_harm() -> None:
    assert Forecast([took(Cell(CASE, "forgotten", 0), 3.0)]).seconds(Cell(CASE, "uniform", 0)) > 0


def test_what_is_left_is_shared_but_not_below_the_longest() -> None:
    forecast = Forecast([took(Cell(CASE, "maxent", 0), 30.0), took(Cell(CASE, "uniform", 0), 4.0)])
    cells = [Cell(CASE, "maxent", 1), Cell(CASE, "uniform", 1), Cell(CASE, "uniform", 2)]
    assert forecast.left(cells, 1) == 38.0
    assert forecast.left(cells, 2) == 30.0
    assert forecast.left([], 2) == 0.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "0 s"), (89, "89 s"), (200, "3 min"), (3600, "1 h 0 min"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_off_a_terminal_it_is_silent_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    for enabled in (None, False):
        with meter(3, enabled) as seen:
            seen.show(1, 0.3, 5.0)
    assert capsys.readouterr() == ("", "")
    with meter(3, True) as seen:
        seen.show(0, 0.0, None)
        seen.show(1, 0.3, 5.0)  # too soon for another line
        seen.show(3, 1.0, 0.0)
    assert capsys.readouterr().err.splitlines() == [
        "maxentry: 0 of 3 runs done",
        "maxentry: 3 of 3 runs done",
    ]


def test_lines_say_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    Lines(5).show(2, 0.4, 125.0)
    assert capsys.readouterr().err == "maxentry: 2 of 5 runs done, about 2 min left\n"
