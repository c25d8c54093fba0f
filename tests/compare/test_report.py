"""The report of a comparison: its table holds what the metrics say, its page needs nothing else."""

import csv
import json
import math
import os
import platform
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.compare.invented import LOOKS, REAL, SIMULATED, made, many
from tests.pages import Reader

from evidence.strategies import STRATEGIES
from maxentry.compare import metrics, report
from maxentry.compare.report import Picture, ResultCell, ResultTable, StudyPage
from maxentry.compare.scenario import DEFAULT, PLAIN, find_strategy
from maxentry.errors import MaxentryError
from maxentry.plots.matplotlib import new_figure
from maxentry.plots.style import DARK, INK

pytest.importorskip("matplotlib")
GIVEN = {"source": {"kind": "given", "digest": "x"}, "spend": None}
EVIL = "<script>alert('x')</script> & \"co\".csv"


def runs_of(case: str = "my.csv", **other):
    ends = {"uniform": 0.8, "balanced": 1.0, "predictive_variance": 0.6}
    return [run for s, end in ends.items() for run in many(s, end, case=case, identity=GIVEN, **other)]


def column(table: ResultTable, name: str) -> list[ResultCell]:
    return [row[table.header.index(name)] for row in table.rows]


# The table


def test_the_table_has_a_row_for_each_strategy_marked_by_its_interval() -> None:
    by = metrics.gather(runs_of(seconds=0.25))["my.csv"]
    table = report.build_table(by)
    assert [f.text for f in column(table, "strategy")] == [
        "uniform",
        "balanced",
        "predictive variance (default)",
    ]
    ratio = metrics.end_ratio(by["predictive_variance"], by["uniform"])
    assert [f.mark for f in column(table, "error / uniform's")] == ["", "bad", "good"]
    assert column(table, "error / uniform's")[2].text == ratio.text()
    area = metrics.area_ratio(by["balanced"], by["uniform"])
    assert column(table, "area under the curve / uniform's")[1].text == area.text()
    reach = metrics.reach(by["predictive_variance"], by["uniform"])
    reached = column(table, "entries to reach uniform's final error")
    assert [f.text for f in reached[:2]] == ["80", "never"]
    assert reached[2] == ResultCell(f"{reach.median:.0f} ({reach.low:.0f} to {reach.high:.0f})", "good")
    assert column(table, "coverage")[0] == ResultCell("90% (90%)")
    assert column(table, "seconds")[0].text == "0.25 (0.25)"
    assert column(table, "replicates")[0].text == "10"
    assert column(table, "error at the end")[0].text == f"{by['uniform'].at(-1).mean():.3f}"


def test_with_costs_strategies_are_compared_at_one_cost() -> None:
    spend = GIVEN | {"spend": 5.0}
    costs = {"uniform": (0, 20, 40, 60, 80, 100), "maxent": (0, 2, 4, 6, 8, 50)}
    runs = [r for s, cost in costs.items() for r in many(s, 0.6, case="dear", cost=cost, identity=spend)]
    by = metrics.gather(runs)["dear"]
    table = report.build_table(by)
    assert [f.text for f in column(table, "share of the money")] == ["50% (50% to 50%)"] * 2
    assert [f.text for f in column(table, "entries by then")] == ["55", "80"]
    error = metrics.values_at_common_cost(by["uniform"]).mean()
    assert column(table, "error")[0].text == f"{error:.3f}"
    assert column(table, "cost to reach uniform's final error")[0].text == "100%"
    assert "sets it for all" in table.note
    assert "area under the curve / uniform's" not in table.header


def test_coverage_is_flagged_where_it_is_ever_below_eighty_per_cent() -> None:
    runs = [
        made([1.0] * 3, n=(1, 2, 3), coverage=[0.9, 0.79, 0.92]),
        made([1.0] * 3, n=(1, 2, 3), coverage=[0.9, 0.81, 0.92], strategy="maxent"),
        made([1.0] * 3, n=(1, 2, 3), coverage=math.nan, strategy="means"),
    ]
    found = [report.coverage_cell(curves) for curves in metrics.gather(runs)["sim30"].values()]
    assert found == [ResultCell("92% (79%)", "bad"), ResultCell("92% (81%)"), ResultCell("")]


def test_estimates_of_their_own_are_named_where_ratios_mix_them_with_the_choice() -> None:
    known = {s.name: s for s in STRATEGIES}

    def note(*names: str) -> str:
        return report.estimates_note(known[name] for name in names)

    assert note("uniform", "maxent", "top_variance", "leverage") == ""
    titles = "; ".join(known[s].title for s in ("means", "oboe_own", "smurff_variance"))
    mixed = note("uniform", "maxent", "means", "oboe_own", "smurff_variance")
    assert f"{titles}. Their numbers mix choice and estimate." in mixed
    assert "judged by that sampler" in note("uniform", "papers_uniform", "papers_maxent")


def test_numbers_are_written_with_as_many_digits_as_tell() -> None:
    assert [report.share_text(x) for x in (0.914, 0.0031, math.inf, math.nan)] == [
        "91%",
        "0.31%",
        "never",
        "",
    ]
    assert [report.count_text(x) for x in (1234.5, 5.678, math.inf)] == ["1,234", "5.68", "never"]
    assert [report.seconds_text(x) for x in (0.01234, 3.21, 123.4)] == ["0.012", "3.2", "123"]


def test_markdown_has_a_row_for_every_row_and_no_name_breaks_it() -> None:
    evil = [ResultCell("a|b\n<script>"), ResultCell("![](x)", "bad")]
    text = ResultTable(
        "T", "note", ("x", "y"), (tuple(evil), (ResultCell("c"), ResultCell("1", "good")))
    ).markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[2:] == ["| a\\|b &lt;script> | !\\[](x) (!) |", "| c | **1** |"]
    assert text.startswith("## T\n\nnote\n\n")


# Figures

FOUR = ("uniform", "maxent", "predictive_variance", "balanced")


def curves_of(*strategies: str, **other):
    runs = [run for s in strategies for run in many(s, 0.7, **other)]
    return metrics.gather(runs)["sim30"]


def test_a_panel_holds_the_mean_and_the_quantiles() -> None:
    curves = curves_of("uniform", "maxent")
    panel = report.build_panel("sim30", curves)
    labels = ("sim30", "entries measured", "relative Frobenius error")
    assert (panel.title, panel.x_label, panel.y_label) == labels
    line, band = panel.series[2:]
    errors = np.array([[look.error for look in run.looks] for run in curves["maxent"].runs])
    np.testing.assert_array_equal(line.x, LOOKS)
    np.testing.assert_allclose(line.y, errors.mean(0))
    assert (line.name, line.kind, band.name, band.kind) == ("MaxEnt", "line", "", "band")
    np.testing.assert_allclose([band.low, band.high], np.quantile(errors, [0.25, 0.75], axis=0))


def test_errors_of_real_matrices_are_relative_to_their_spread() -> None:
    real = report.build_panel("jester", curves_of("uniform", identity=REAL))
    assert real.y_label == "RMS error / standard deviation"
    for kind in (REAL, SIMULATED):
        panel = report.build_panel("a", curves_of("uniform", identity=kind), "coverage")
        assert panel.y_label == "coverage of 90% intervals"


def test_of_many_lines_only_the_foremost_are_shaded() -> None:
    series = report.build_panel("sim30", curves_of(*FOUR)).series
    lines, bands = ({s.color for s in series if s.kind == kind} for kind in ("line", "band"))
    assert len(lines) == 4
    assert lines - bands == {find_strategy("balanced").style.color}


def test_at_equal_cost_the_curves_go_by_cost() -> None:
    spend = SIMULATED | {"spend": 5.0}
    panel = report.build_panel("sim30", curves_of("uniform", identity=spend, cost=(1, 2, 3, 4, 5, 6)))
    assert panel.x_label == "share of the budget spent"
    assert panel.log_shares
    assert (panel.series[0].x[0], panel.series[0].x[-1]) == pytest.approx((1 / 6, 1))


def test_coverage_is_drawn_of_those_that_have_intervals() -> None:
    curves = curves_of("uniform") | curves_of("means", coverage=math.nan)
    panel = report.build_panel("sim30", curves, "coverage")
    assert [line.name for line in panel.series] == ["uniform", ""]
    assert panel.series[1].y.tolist() == [0.9, 0.9]


def test_no_two_strategies_look_alike_without_colours() -> None:
    styles = [strategy.style for strategy in STRATEGIES]
    assert len({style[1:] for style in (*styles, PLAIN)}) == len(styles) + 1
    assert {style.color for style in styles} | {INK} <= set(DARK)  # on dark pages, too


def test_figures_are_written_as_png_and_pdf_the_same_bytes_for_the_same_runs(tmp_path: Path) -> None:
    by = curves_of("uniform", "other", replicates=3)
    stems = [tmp_path / "new" / "fig.of.study", tmp_path / "again"]
    written = []
    for stem in stems:
        panels = [report.build_panel("a $x^$ & <b>", by, shown) for shown in ("error", "coverage")]
        written.append(report.save_figure(report.draw_panels(panels, across=2), stem))
    png, pdf = written[0]
    assert (png.name, pdf.name) == ("fig.of.study.png", "fig.of.study.pdf")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert pdf.read_bytes()[:4] == b"%PDF"
    assert [p.read_bytes() for p in written[0]] == [p.read_bytes() for p in written[1]]


def test_letters_that_the_font_has_not_are_not_warned_of(tmp_path, recwarn: pytest.WarningsRecorder) -> None:
    panel = report.build_panel("表.csv", curves_of("uniform", replicates=2))
    report.save_figure(report.draw_panels([panel], across=1), tmp_path / "a")
    # Of the drawing alone: what another test left open may be collected, and warned of, at any time.
    assert [str(w.message) for w in recwarn if issubclass(w.category, UserWarning)] == []


# The page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> report.Outputs:
    folder = tmp_path_factory.mktemp("report") / "new"
    return report.write_comparison(runs_of(coverage=0.7), folder, DEFAULT, "Yes, it would.")


@pytest.fixture(scope="module")
def text(written: report.Outputs) -> str:
    return written.page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(text: str) -> Reader:
    return Reader(text)


def test_the_folder_holds_figures_page_tables_and_raw_results(written: report.Outputs) -> None:
    names = {path.name for path in written.page.parent.iterdir()}
    assert names == {"runs.parquet", "report.html", "tables.md", "curves.png", "curves.pdf"}
    tables = written.tables.read_text()
    assert tables.startswith("Yes, it would.\n\n## Strategies\n")
    assert "| predictive variance (default) | 10 | 0.6" in tables


def test_the_page_is_whole_and_needs_nothing_else(read: Reader, text: str) -> None:
    assert text.startswith("<!DOCTYPE html>")
    assert read.open == []
    assert "script" not in read.tags
    assert [ref for ref in read.references if not ref.startswith("#")] == ["runs.parquet"]
    assert len(read.ids) == len(set(read.ids))
    assert {ref.lstrip("#") for ref in read.references if ref.startswith("#")} <= set(read.ids)


def test_figures_are_well_formed_and_scale(text: str) -> None:
    [figure] = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    root = ElementTree.fromstring(figure)
    assert "viewBox" in root.attrib
    assert root.attrib["role"] == "img"
    assert not {"width", "height"} & set(root.attrib)


def test_colours_come_from_the_style_sheet_in_the_dark(text: str) -> None:
    assert "var(--c-1a1a1a, #1a1a1a)" in text
    assert "--c-1a1a1a:" in text[: text.index("</style>")]
    assert re.findall(r'style="[^"]*(?<!, )#[0-9a-f]{6}', text) == []


def test_what_must_be_seen_is_marked(text: str) -> None:
    assert re.search(r'<td class="bad">✗ 70% <small>\(70%\)</small>', " ".join(text.split()))
    assert re.search(r'<td class="good">✓ 0\.\d\d <small>', " ".join(text.split()))


def test_settings_and_versions_are_there_and_nothing_of_the_machine(read: Reader) -> None:
    said = ("numpy", "maxentry", "Python", "1 (30 runs)", "Raw results", '"kind": "given"')
    for words in (*said, "30 runs: 1 matrix, 3 strategies", "Would active sampling help on my.csv?"):
        assert words in " ".join(read.text.split())
    for machine in (str(Path.home()), platform.node(), os.getcwd(), platform.release()):
        assert machine not in read.text


def test_rows_of_the_same_name_share_it() -> None:
    rows = tuple((ResultCell(name), ResultCell(str(k))) for k, name in enumerate("aab"))
    text = report.render_page(StudyPage("x", [ResultTable("T", "", ("name", "k"), rows)]), [])
    assert re.findall(r'<th scope="row">(.*?)</th>', text) == ["a", "", "b"]


@pytest.mark.usefixtures("undrawn")
def test_a_users_names_are_text(tmp_path: Path) -> None:
    outputs = report.write_comparison(runs_of(EVIL), tmp_path, DEFAULT, EVIL, EVIL)
    text = outputs.page.read_text(encoding="utf-8")
    read = Reader(text)
    assert "script" not in read.tags
    assert read.open == []
    assert EVIL in read.text
    for figure in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ElementTree.fromstring(figure)


def test_nothing_is_warned_of(tmp_path: Path) -> None:
    spend = REAL | {"spend": 5.0}
    runs = many("uniform", 0.8, case="c", identity=spend, cost=(1, 2, 3, 4, 5, 6), replicates=2)
    runs += many("means", 0.8, case="c", identity=spend, coverage=math.nan, replicates=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report.write_comparison(runs, tmp_path, DEFAULT, "")


def test_a_page_of_nothing_is_a_page() -> None:
    assert Reader(report.render_page(StudyPage("x", []), [])).open == []


# Files


@pytest.mark.usefixtures("undrawn")
def test_reports_are_never_torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of a report replaces the old one at once: stopped there, the old one is as it was."""
    report.write_comparison(runs_of(replicates=2), tmp_path, DEFAULT, "One.")
    old = {path: path.read_bytes() for path in tmp_path.iterdir()}
    replaced = []

    def stop(part: Path, path: Path) -> None:
        replaced.append(path.name)
        raise OSError("stopped")

    monkeypatch.setattr("maxentry._io.os.replace", stop)
    figure = new_figure(1, 1)
    writers = (
        lambda: report.save_figure(figure, tmp_path / "curves"),
        lambda: report.write_report(StudyPage("x", []), [], tmp_path, []),
    )
    for write in writers:
        with pytest.raises(MaxentryError):
            write()
    assert replaced == ["curves.png", "runs.parquet"]
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_raw_results_have_a_row_for_every_look(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    runs = [made([0.9, 0.5], n=(5, 9), coverage=[math.nan, 0.9], seed=seed) for seed in (0, 1)]
    (tmp_path / "runs.csv").write_text("of an earlier report")
    path = report.write_raw(runs, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name] == ["runs.parquet"]
    found = parquet.read_table(path).to_pylist()
    assert [(row["seed"], row["n"], row["coverage"]) for row in found] == [
        (0, 5, None), (0, 9, 0.9), (1, 5, None), (1, 9, 0.9),
    ]  # fmt: skip
    assert tuple(found[0]) == report.COLUMNS
    assert json.loads(found[0]["settings"]) == SIMULATED


def test_without_pyarrow_raw_results_are_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxentry.tables.parquet.find_spec", lambda name: None)
    (tmp_path / "runs.parquet").write_text("of an earlier report")
    path = report.write_raw([made([0.9, 0.5], n=(5, 9), coverage=[math.nan, 0.9])], tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name] == ["runs.csv"]
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert [(row["n"], row["coverage"], row["error"]) for row in rows] == [
        ("5", "", "0.9"),
        ("9", "0.9", "0.5"),
    ]


def test_a_picture_is_not_a_table() -> None:
    page = StudyPage("x", [Picture("Curves", "of everything", new_figure(1, 1))])
    text = report.render_page(page, [])
    assert "<table>" not in text
    assert text.count("<svg") == 1
