"""What figures are drawn from, and that all of them can be told apart without colours."""

import math

import numpy as np
import pytest
from tests.studies.made_runs import LOOKS, REAL, SIMULATED, made, many

from maxentry.errors import DataError
from maxentry.plots.style import DARK, INK
from maxentry.studies import drawing, figures, metrics
from maxentry.studies.strategies import STRATEGIES
from maxentry.studies.styles import OTHERS, STYLES, style
from maxentry.studies.verdict import NOT_ACTIVE, PAIRS

FOUR = ("uniform", "maxent", "predictive_variance", "balanced")


def by(*strategies: str, **other):
    runs = [run for s in strategies for run in many(s, 0.7, **other)]
    return metrics.gather(runs)["sim30"]


def test_a_panel_holds_the_mean_and_the_quantiles() -> None:
    curves = by("uniform", "maxent")
    panel = figures.panel("sim30", curves)
    assert (panel.title, panel.x_label, panel.y_label) == (
        "sim30",
        "entries measured",
        "relative Frobenius error",
    )
    line = panel.lines[1]
    errors = np.array([[look.error for look in run.looks] for run in curves["maxent"].runs])
    np.testing.assert_array_equal(line.x, LOOKS)
    np.testing.assert_allclose(line.mean, errors.mean(0))
    assert line.low is not None
    np.testing.assert_allclose(line.low, np.quantile(errors, 0.25, axis=0))


def test_errors_of_real_matrices_are_relative_to_their_spread() -> None:
    assert figures.panel("jester", by("uniform", identity=REAL)).y_label == "RMS error / standard deviation"
    for kind in (REAL, SIMULATED):
        assert (
            figures.panel("a", by("uniform", identity=kind), "coverage").y_label
            == "coverage of 90% intervals"
        )


def test_letters_that_the_font_has_not_are_not_warned_of(tmp_path, recwarn: pytest.WarningsRecorder) -> None:
    figures.compare_figure(many("uniform", 0.7, case="表.csv", replicates=2), tmp_path / "a")
    assert [str(w.message) for w in recwarn] == []


def test_of_many_lines_only_the_foremost_are_shaded() -> None:
    shaded = {line.strategy: line.low is not None for line in figures.panel("sim30", by(*FOUR)).lines}
    assert shaded == {"uniform": True, "maxent": True, "predictive_variance": True, "balanced": False}


def test_at_equal_cost_the_curves_go_by_cost() -> None:
    spend = SIMULATED | {"spend": 5.0}
    panel = figures.panel("sim30", by("uniform", identity=spend, cost=(1, 2, 3, 4, 5, 6)))
    assert panel.x_label == "share of the budget spent"
    assert panel.logarithmic
    assert (panel.lines[0].x[0], panel.lines[0].x[-1]) == pytest.approx((1 / 6, 1))


def test_coverage_is_drawn_of_those_that_have_intervals() -> None:
    curves = by("uniform") | by("means", coverage=math.nan)
    panel = figures.panel("sim30", curves, "coverage")
    assert [line.strategy for line in panel.lines] == ["uniform"]
    assert panel.promised == 0.9


def test_bars_are_the_ratios_of_all_but_uniform() -> None:
    study = {"sim30": by(*FOUR), "no uniform": by("maxent")}
    rows = figures.bars(study)
    assert list(rows) == ["sim30"]
    assert [bar.strategy for bar in rows["sim30"]] == list(FOUR[1:])
    ratio = metrics.end_ratio(study["sim30"]["maxent"], study["sim30"]["uniform"])
    assert rows["sim30"][0].ratio == ratio


def test_the_foremost_begin_with_uniform_the_default_and_the_papers() -> None:
    curves = by("balanced", "other", "maxent", "uniform", "predictive_variance")
    assert figures.foremost(curves, 4) == ["uniform", "predictive_variance", "maxent", "other"]
    few = figures.foremost_of_each({"a": curves, "b": by("oboe")}, None)
    assert [list(shown) for shown in few.values()] == [[*figures.foremost(curves)], ["oboe"]]


def test_names_are_moved_apart_in_order_and_stay_within() -> None:
    placed = drawing.apart([0.5, 0.51, 0.1, 0.99], 0.1, 0.0, 1.0)
    assert np.all(np.diff(np.sort(placed)) >= 0.1 - 1e-12)
    assert np.argsort(placed).tolist() == np.argsort([0.5, 0.51, 0.1, 0.99]).tolist()
    assert min(placed) >= 0
    assert max(placed) <= 1
    assert drawing.apart([0.2, 0.8], 0.1, 0.0, 1.0) == [0.2, 0.8]  # those that do not overlap stay
    assert drawing.apart([], 0.1, 0.0, 1.0) == []


def test_no_two_strategies_look_alike_without_colours() -> None:
    looks = [(look.dashes, look.marker) for look in STYLES.values()]
    assert len(set(looks)) == len(looks)
    assert len({(look.color, look.dashes, look.marker) for look in (*STYLES.values(), *OTHERS)}) == len(
        STYLES
    ) + len(OTHERS)


def test_all_colours_have_one_for_dark_pages() -> None:
    assert {look.color for look in (*STYLES.values(), *OTHERS)} <= set(DARK)
    assert INK in DARK


def test_strategies_of_others_have_styles_of_their_own() -> None:
    among = ["new", "uniform", "newer"]
    assert style("new", among) == OTHERS[0]
    assert style("newer", among) == OTHERS[1]
    assert style("uniform", among) == STYLES["uniform"]


def test_names_in_reports_are_names_of_strategies() -> None:
    assert set(STYLES) | set(NOT_ACTIVE) | {name for pair in PAIRS for name in pair[1:]} <= set(STRATEGIES)
    assert {pair.uniform for pair in PAIRS} <= set(NOT_ACTIVE)


@pytest.mark.parametrize(
    "figure",
    [figures.paper_figure, figures.suite_figure, figures.compare_figure, figures.coverage_figure,
     figures.ratio_figure],
)  # fmt: skip
def test_figures_are_written_as_png_and_pdf(figure, tmp_path) -> None:
    runs = [run for s in ("uniform", "maxent") for run in many(s, 0.7, case="a $x^$ & <b>", replicates=3)]
    png, pdf = figure(runs, tmp_path / "new" / "fig.of.study")
    assert (png.name, pdf.name) == ("fig.of.study.png", "fig.of.study.pdf")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert pdf.read_bytes()[:4] == b"%PDF"


def test_the_same_runs_give_the_same_bytes(tmp_path) -> None:
    runs = many("uniform", 0.7, replicates=2)
    first, second = (figures.paper_figure(runs, tmp_path / name) for name in ("a", "b"))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_nothing_to_draw_is_said_and_nothing_to_compare_is_no_figure(tmp_path) -> None:
    with pytest.raises(DataError, match="none"):
        figures.paper_figure([], tmp_path / "a")
    alone = [made([1.0], n=[1], coverage=math.nan)]
    assert figures.ratio_figure(alone, tmp_path / "a") == []
    assert figures.coverage_figure(alone, tmp_path / "a") == []
