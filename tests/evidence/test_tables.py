"""Tables and figures of several matrices hold what the metrics say."""

import math
from dataclasses import replace

import pytest
from tests.compare.invented import REAL, SIMULATED, made, many

from evidence import figures, tables
from evidence.sources import Part
from evidence.strategies import STRATEGIES
from maxentry.compare import metrics
from maxentry.compare.metrics import StudyCurves
from maxentry.compare.report import COVERAGE_NOTE, ResultCell, ResultTable, coverage_cell, time_cell
from maxentry.compare.store import Run


def gather(runs: list[Run]) -> StudyCurves:
    return metrics.gather(runs, STRATEGIES)


def study(**other):
    strategies = (("uniform", 0.8), ("maxent", 0.6), ("balanced", 1.0))
    return gather([run for s, end in strategies for run in many(s, end, **other)])


def column(table: ResultTable, name: str) -> list[ResultCell]:
    return [row[table.header.index(name)] for row in table.rows]


def test_ratios_are_marked_by_their_intervals() -> None:
    found = study()
    table = tables.ratios(found, "end", metrics.end_ratio)
    assert table.header == ("matrix", "MaxEnt", "balanced")
    ratio = metrics.end_ratio(found["sim30"]["maxent"], found["sim30"]["uniform"])
    assert column(table, "MaxEnt") == [
        ResultCell(f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})", "good")
    ]
    assert column(table, "balanced")[0].mark == "bad"


def test_overall_counts_matrices_and_keeps_real_and_simulated_apart() -> None:
    runs = [*many("uniform", 0.8), *many("maxent", 0.8)]
    for case, end in (("a", 0.4), ("b", 0.6), ("c", 1.2)):
        runs += [*many("uniform", 0.8, case=case, identity=REAL)]
        runs += [*many("maxent", end, case=case, identity=REAL)]
    table = tables.overall(gather(runs))
    (row,) = table.rows
    found = gather(runs)
    ends = [metrics.end_ratio(found[c]["maxent"], found[c]["uniform"]).value for c in "abc"]
    assert [f.text for f in row[1:]][:1] == [f"{tables.geometric_mean(ends):.2f} (3)"]
    assert [f.text for f in row[3:6]] == ["2", "1", "1"]
    assert row[6].text == f"{ends[2]:.2f} (c)"


def test_coverage_is_flagged_where_it_is_ever_below_eighty_per_cent() -> None:
    runs = [
        made([1.0] * 3, n=(1, 2, 3), coverage=[0.9, 0.79, 0.92]),
        made([1.0] * 3, n=(1, 2, 3), coverage=[0.9, 0.81, 0.92], strategy="maxent"),
        made([1.0] * 3, n=(1, 2, 3), coverage=math.nan, strategy="means"),
    ]
    table = tables.fields(gather(runs), "Coverage", COVERAGE_NOTE, coverage_cell)
    assert table.header[1:] == ("uniform", "MaxEnt")  # none of a strategy without intervals
    assert column(table, "uniform") == [ResultCell("92% (79%)", "bad")]
    assert column(table, "MaxEnt") == [ResultCell("92% (81%)", "")]


def test_what_it_took_is_given_in_cost_too_where_there_are_costs() -> None:
    spend = SIMULATED | {"spend": 5.0}
    assert [row[0].text for row in tables.entries_to_reach(study()).rows] == ["sim30"]
    table = tables.entries_to_reach(study(identity=spend, cost=(10, 20, 30, 40, 50, 60)))
    assert [row[0].text for row in table.rows] == ["sim30, entries", "sim30, cost"]
    assert [f.text for f in column(table, "uniform")] == ["80", "100%"]
    assert column(table, "balanced")[0].text == "never"


def test_the_papers_sampler_is_to_reach_the_error_of_uniform_judged_by_it() -> None:
    ends = {"uniform": 0.3, "papers_uniform": 0.8, "papers_maxent": 0.6}
    runs = [made([1.0, end], n=(0, 100), strategy=s) for s, end in ends.items()]
    table = tables.entries_to_reach(gather(runs))
    assert column(table, "MaxEnt, the paper's sampler") == [
        ResultCell("50 (50 to 50); its uniform 100", "good")
    ]
    assert column(table, "uniform, the paper's sampler")[0].text == "never"


SPEND = {"source": {"kind": "data", "dataset": "oboe-error", "rows": 80, "training": 50}, "spend": 5.0}


def costly() -> StudyCurves:
    runs = [*many("uniform", 0.8, case="plain"), *many("maxent", 0.6, case="plain")]
    costs = {"uniform": (0, 20, 40, 60, 80, 100), "maxent": (0, 2, 4, 6, 8, 90), "oboe": (0, 1, 2, 3, 4, 50)}
    for strategy, cost in costs.items():
        runs += many(strategy, 0.6, case="dear", cost=cost, identity=SPEND)
    return gather(runs)


def test_cases_by_cost_have_a_table_of_their_own_and_are_in_no_mean() -> None:
    found = {table.heading: table for table in tables.build_tables(costly())}
    for heading in (
        "Over all matrices",
        "Error at the end",
        "Area under the error curve, as a ratio to uniform's",
    ):
        assert "dear" not in str(found[heading])
    table = found["Where entries have costs: errors at one cost"]
    assert [[f.text for f in row[:4]] for row in table.rows] == [
        ["dear", "uniform", "50% (50% to 50%)", "55"],
        ["dear", "MaxEnt", "50% (50% to 50%)", "75"],
        ["dear", "Oboe's rule", "50% (50% to 50%)", "80"],
    ]
    by = costly()["dear"]
    assert column(table, "error")[1].text == f"{metrics.values_at_common_cost(by['maxent']).mean():.3f}"
    ratio = metrics.end_ratio(by["maxent"], by["uniform"])
    assert column(table, "ratio to uniform's")[:2] == [
        ResultCell(""), ResultCell(ratio.text(), "good"),
    ]  # fmt: skip
    assert "sets it for all" in table.note


def part(dataset: str, rows: int | None, cols: int | None, **other: object) -> dict[str, object]:
    return {"source": Part(dataset, rows, cols, **other).identity(), "spend": None}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("identity", "whole", "same"),
    [
        (SIMULATED, (30, 30), False),
        ({"source": {"kind": "given", "digest": "x"}}, (9, 9), True),
        (part("jester", 500, 100, how="first"), (7200, 100), True),
        (part("movielens-100k", 300, None, how="most active"), (943, 1682), True),
        (part("direct-arylation", 100, 40), (48, 36), True),  # all 48 x 36
        (part("sat11", 100, 40), (300, 18), False),  # all columns, but not all rows
        (part("jester", 100, 40), (7200, 100), False),
        (part("movielens-1m", 100, 40, busiest=(300, 100)), (300, 100), False),
        (part("movielens-1m", 300, 100, busiest=(300, 100)), (300, 100), True),
        (part("direct-arylation", 100, 40, training=10), (48, 36), False),  # other rows are known each time
    ],
)
def test_which_cases_have_the_same_matrix_in_all_replicates(
    identity: dict, whole: tuple[int, int], same: bool
) -> None:
    source = identity["source"]
    shape = tuple(
        min(n or size, size) for n, size in zip((source.get("rows"), source.get("cols")), whole, strict=True)
    )
    runs = [
        replace(run, shape=shape)
        for strategy in ("uniform", "maxent")
        for run in many(strategy, 0.8, case="a", identity=identity)
    ]
    assert tables.has_one_matrix(runs[0]) == same
    note = tables.ratios(gather(runs), "end", metrics.end_ratio).note
    assert ("over designs and chains only" in note) == same


def test_of_several_matrices_those_are_named_that_are_the_same_in_all_replicates() -> None:
    same = part("jester", 500, 100, how="first")
    runs = [*many("uniform", 0.8), *many("uniform", 0.8, case="jester", identity=same)]
    runs += [*many("maxent", 0.8), *many("maxent", 0.8, case="jester", identity=same)]
    assert "the same matrix on jester: the interval there is" in tables.overall(gather(runs)).note


def test_times_are_of_one_ask() -> None:
    assert (
        column(tables.fields(study(seconds=0.25), "Time", "", time_cell), "MaxEnt")[0].text == "0.25 (0.25)"
    )


def test_errors_say_how_many_replicates_and_entries() -> None:
    runs = [*many("uniform", 0.8, replicates=3), *many("maxent", 0.8, replicates=2)]
    (row,) = tables.errors(gather(runs)).rows
    assert [f.text for f in row[:3]] == ["sim30", "2 to 3", "30 to 80"]


def test_tables_without_rows_are_left_out() -> None:
    only = tables.build_tables(gather(many("maxent", 0.6)))
    assert [table.heading for table in only] == [
        "Error at the end",
        "Coverage of 90% intervals",
        "Time for a step",
    ]
    assert tables.build_tables({}) == []


def test_cases_without_gain_are_listed_and_no_others() -> None:
    runs = []
    for case, end in (("gain", 0.6), ("none", 0.8), ("worse", 0.95)):
        runs += [*many("uniform", 0.8, case=case), *many("maxent", end, case=case, noise=0.03)]
    (row,) = tables.without_gain(gather([*runs, *many("balanced", 0.95, case="gain")])).rows
    assert row[0].text == "MaxEnt"
    assert row[1].text.startswith("none ")
    assert row[2].text.startswith("worse ")
    assert "gain" not in str(row)


# Figures


def test_the_foremost_begin_with_uniform_the_default_and_the_papers() -> None:
    names = ("balanced", "other", "top_variance", "maxent", "uniform", "predictive_variance")
    curves = gather([run for name in names for run in many(name, 0.7, replicates=2)])["sim30"]
    assert figures.choose_foremost(curves, 4) == ["uniform", "predictive_variance", "maxent", "top_variance"]
    assert set(figures.choose_foremost(curves)) == set(names)


def test_ratios_are_drawn_of_all_but_uniform() -> None:
    drawing = figures.draw_ratios(study())
    assert drawing is not None
    (axes,) = drawing.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["sim30"]
    assert [text.get_text() for text in drawing.legends[0].get_texts()] == ["MaxEnt", "balanced"]
    ratios = metrics.compare_to_baseline(study()["sim30"])
    points = {float(line.get_xdata()[0]) for line in axes.lines if len(line.get_xdata()) == 1}
    assert points == {ratio.value for ratio in ratios.values()}


def test_nothing_to_show_is_no_figure() -> None:
    alone = gather([made([1.0], n=[1], coverage=math.nan)])
    assert figures.draw_ratios(alone) is None
    assert figures.draw_curves(alone, "coverage") is None
    assert figures.draw_curves({}) is None
