"""What figures are drawn from, and that all curves can be told apart without colours."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.compare.invented import LOOKS, REAL, SIMULATED, many

from evidence.strategies import STRATEGIES
from maxentry.compare import figures, metrics
from maxentry.compare.scenario import OURS, Strategy
from maxentry.errors import DataError
from maxentry.plots.style import DARK, INK

FOUR = ("uniform", "maxent", "predictive_variance", "balanced")


def curves_of(*strategies: str, **other):
    runs = [run for s in strategies for run in many(s, 0.7, **other)]
    return metrics.gather(runs)["sim30"]


def test_a_panel_holds_the_mean_and_the_quantiles() -> None:
    curves = curves_of("uniform", "maxent")
    panel = figures.build_panel("sim30", curves)
    labels = ("sim30", "entries measured", "relative Frobenius error")
    assert (panel.title, panel.x_label, panel.y_label) == labels
    line = panel.lines[1]
    errors = np.array([[look.error for look in run.looks] for run in curves["maxent"].runs])
    np.testing.assert_array_equal(line.x, LOOKS)
    np.testing.assert_allclose(line.mean, errors.mean(0))
    assert line.low is not None
    assert line.high is not None
    np.testing.assert_allclose(line.low, np.quantile(errors, 0.25, axis=0))
    np.testing.assert_allclose(line.high, np.quantile(errors, 0.75, axis=0))


def test_errors_of_real_matrices_are_relative_to_their_spread() -> None:
    real = figures.build_panel("jester", curves_of("uniform", identity=REAL))
    assert real.y_label == "RMS error / standard deviation"
    for kind in (REAL, SIMULATED):
        panel = figures.build_panel("a", curves_of("uniform", identity=kind), "coverage")
        assert panel.y_label == "coverage of 90% intervals"


def test_of_many_lines_only_the_foremost_are_shaded() -> None:
    lines = figures.build_panel("sim30", curves_of(*FOUR)).lines
    shaded = {line.strategy.name: line.low is not None for line in lines}
    assert shaded == {"uniform": True, "maxent": True, "predictive_variance": True, "balanced": False}


def test_at_equal_cost_the_curves_go_by_cost() -> None:
    spend = SIMULATED | {"spend": 5.0}
    panel = figures.build_panel("sim30", curves_of("uniform", identity=spend, cost=(1, 2, 3, 4, 5, 6)))
    assert panel.x_label == "share of the budget spent"
    assert panel.logarithmic
    assert (panel.lines[0].x[0], panel.lines[0].x[-1]) == pytest.approx((1 / 6, 1))


def test_coverage_is_drawn_of_those_that_have_intervals() -> None:
    curves = curves_of("uniform") | curves_of("means", coverage=math.nan)
    panel = figures.build_panel("sim30", curves, "coverage")
    assert [line.strategy.name for line in panel.lines] == ["uniform"]
    assert panel.promised == 0.9


def test_no_two_strategies_look_alike_without_colours() -> None:
    styles = [strategy.style for strategy in STRATEGIES]
    assert None not in styles
    assert len({style[1:] for style in styles}) == len(styles)
    assert len({*styles, *figures.STYLES}) == len(styles) + len(figures.STYLES)
    assert {style.color for style in (*styles, *figures.STYLES)} | {INK} <= set(DARK)  # on dark pages, too


def test_strategies_of_others_have_styles_of_their_own() -> None:
    uniform, new, newer = OURS[0], Strategy("new", "new"), Strategy("newer", "newer")
    among = [new, uniform, newer]
    assert [figures.choose_style(s, among) for s in among] == [
        figures.STYLES[0], uniform.style, figures.STYLES[1],
    ]  # fmt: skip


def test_figures_are_written_as_png_and_pdf_the_same_bytes_for_the_same_runs(tmp_path: Path) -> None:
    by = curves_of("uniform", "other", replicates=3)
    stems = [tmp_path / "new" / "fig.of.study", tmp_path / "again"]
    written = []
    for stem in stems:
        panels = [figures.build_panel("a $x^$ & <b>", by, shown) for shown in ("error", "coverage")]
        written.append(figures.save_figure(figures.draw_panels(panels, across=2), stem))
    png, pdf = written[0]
    assert (png.name, pdf.name) == ("fig.of.study.png", "fig.of.study.pdf")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert pdf.read_bytes()[:4] == b"%PDF"
    assert [p.read_bytes() for p in written[0]] == [p.read_bytes() for p in written[1]]


def test_letters_that_the_font_has_not_are_not_warned_of(tmp_path, recwarn: pytest.WarningsRecorder) -> None:
    panel = figures.build_panel("表.csv", curves_of("uniform", replicates=2))
    figures.save_figure(figures.draw_panels([panel], across=1), tmp_path / "a")
    assert [str(w.message) for w in recwarn] == []


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(DataError, match="got none"):
        figures.draw_panels([], across=2)
