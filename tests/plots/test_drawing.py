"""Every figure is drawn by both libraries, labels as they are; what is missing is named."""

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.plots.examples import EVIL, asked, small

from maxentry import plots
from maxentry.errors import MissingDependencyError, ParameterError
from maxentry.plots import matplotlib as drawing
from maxentry.plots.records import AxisLabels, log_ticks
from maxentry.plots.style import MATPLOTLIB, PLOTLY
from maxentry.wording import shorten

OF_BOTH = [
    "observed", "mean", "sd", "width", "singular_values", "coherence", "calibration", "trace", "rhat", "best",
    "ranking",
]  # fmt: skip
# What is drawn is a record, whatever it is of: each library draws each of them once.
FIGURES = [*((name, "posterior") for name in OF_BOTH), ("next_batch", "campaign"), ("history", "campaign")]


def made(name: str, of: str) -> plots.Plot:
    options = {"points": 2} if name == "history" else {}
    plot: plots.Plot = getattr(plots, name)(small() if of == "posterior" else asked(), **options)
    return plot


def test_every_public_function_is_drawn_here() -> None:
    assert {name for name, _ in FIGURES} == set(plots.__all__) - {"Plot"}


@pytest.mark.parametrize(("name", "of"), FIGURES)
def test_figures_are_drawn_by_matplotlib_without_a_warning(name: str, of: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fig = made(name, of).matplotlib()
        fig.savefig(io.BytesIO(), format="png", dpi=40)
    said = [text.get_text() for text in fig.findobj(lambda x: hasattr(x, "get_text"))]
    assert made(name, of).record.title in said
    assert not any(text.get_parse_math() for text in fig.findobj(_labelled) if "$" in text.get_text())


def _labelled(artist: object) -> bool:
    from matplotlib.text import Text

    return isinstance(artist, Text)


@pytest.mark.parametrize("name", [name for name, _ in FIGURES])
def test_figures_are_drawn_by_plotly_with_labels_escaped(name: str) -> None:
    figure = made(name, "campaign").plotly()
    shown = json.loads(figure.to_json())
    assert shown["data"]
    assert "<script" not in json.dumps(shown)
    assert "</script> &" not in figure.to_html(include_plotlyjs=False)


def test_both_libraries_draw_the_same_numbers() -> None:
    plot = plots.sd(small())
    drawn = plot.matplotlib().axes[0].images[0].get_array()
    np.testing.assert_array_equal(np.asarray(drawn), np.asarray(plot.plotly().data[0].z))
    series = plots.singular_values(small())
    line = series.matplotlib().axes[0].lines[-1]
    np.testing.assert_array_equal(line.get_ydata(), series.plotly().data[0].y)


def test_files_are_written_by_their_ending(tmp_path: Path) -> None:
    plot = plots.mean(small(), unit="% yield")
    assert plot.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert plot.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert "posterior mean (% yield)" in _svg_text(plot.save(tmp_path / "a.svg"))
    with pytest.raises(ParameterError, match=r"\.png, \.pdf, \.svg, \.html, got 'a\.xlsx'"):
        plot.save(tmp_path / "a.xlsx")
    assert plot._repr_png_().startswith(b"\x89PNG")  # type: ignore[union-attr]
    assert repr(plots.observed(small())) == "<Plot: Measured entries (74 of 12 x 9 entries measured (68.5%))>"


def _svg_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")  # text is drawn as shapes, and kept as a comment


def test_an_html_file_needs_nothing_else(tmp_path: Path) -> None:
    text = plots.mean(small()).save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert 'src="http' not in text
    assert EVIL not in text


@pytest.mark.parametrize(("module", "call"), [
    ("matplotlib.figure", lambda plot: plot.matplotlib()),
    ("plotly.graph_objects", lambda plot: plot.plotly()),
])  # fmt: skip
def test_a_missing_library_is_named_with_the_extra(module, call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    plot = plots.mean(small())
    with pytest.raises(MissingDependencyError, match=r"pip install 'maxentry\[plots\]'"):
        call(plot)
    if module.startswith("matplotlib"):
        assert plot._repr_png_() is None


@pytest.mark.process
def test_neither_library_is_loaded_before_it_draws() -> None:
    code = (
        "import sys; from maxentry import plots; plots.mean; plots.Plot; "
        "print([m for m in ('matplotlib', 'plotly', 'numba') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    assert shown.stdout.strip() == "[]"


def test_names_are_shortened_in_the_middle_and_left_out_where_there_is_no_room() -> None:
    assert shorten("short", 18) == "short"
    assert shorten("abcdefghijklmnopqrstuvwxyz", 9) == "abcd…wxyz"
    side = AxisLabels("rows", tuple(map(str, range(100))), 100)
    assert list(side.ticks(200)) == list(range(100))
    assert list(side.ticks(40)) == list(range(0, 100, 3))


def test_every_scale_has_colours_in_both_libraries() -> None:
    assert set(MATPLOTLIB) == set(PLOTLY)
    from matplotlib import colormaps

    for (
        name
    ) in MATPLOTLIB.values():  # from light to dark (or back) without a turn: a print in grey can be read
        r, g, b, _ = colormaps[name](np.linspace(0, 1, 64)).T
        steps = np.diff(0.2126 * r + 0.7152 * g + 0.0722 * b)
        assert (steps > 0).all() or (steps < 0).all()


def test_logarithmic_bars_have_round_numbers() -> None:
    assert log_ticks(0.3, 40) == [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    assert log_ticks(1.1, 1.2) == [1.1, 1.2]
    assert 4 <= len(log_ticks(1e-6, 1e6)) <= 8
    assert all(1e-6 <= x <= 1e6 for x in log_ticks(1e-6, 1e6))
    bar = plots.mean(small(transform="log")).matplotlib().axes[1]
    assert "$" not in "".join(label.get_text() for label in bar.get_yticklabels())


def test_values_beyond_the_colours_are_pointed_at() -> None:
    record = plots.mean(small()).record
    assert drawing._extend(record) == "neither"  # type: ignore[arg-type]
    assert drawing._extend(record._replace(limits=(2.0, 2.1))) == "both"  # type: ignore[arg-type]
