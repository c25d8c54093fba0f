"""Tables hold what the metrics say, and markdown keeps its form whatever names hold."""

import math

from tests.studies.made_runs import REAL, SIMULATED, made, many

from maxentry.studies import metrics, tables, wording


def study(**other):
    strategies = (("uniform", 0.8), ("maxent", 0.6), ("balanced", 1.0))
    return metrics.gather([run for s, end in strategies for run in many(s, end, **other)])


def column(table: tables.Table, name: str) -> list[tables.Field]:
    return [row[table.header.index(name)] for row in table.rows]


def test_ratios_are_marked_by_their_intervals() -> None:
    found = study()
    table = tables.ratios(found, "end", metrics.end_ratio)
    assert table.header == ("matrix", "MaxEnt", "balanced")
    ratio = metrics.end_ratio(found["sim30"]["maxent"], found["sim30"]["uniform"])
    assert column(table, "MaxEnt") == [
        tables.Field(f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})", "good")
    ]
    assert column(table, "balanced")[0].mark == "bad"


def test_overall_counts_matrices_and_keeps_real_and_simulated_apart() -> None:
    runs = [*many("uniform", 0.8), *many("maxent", 0.8)]
    for case, end in (("a", 0.4), ("b", 0.6), ("c", 1.2)):
        runs += [*many("uniform", 0.8, case=case, identity=REAL)]
        runs += [*many("maxent", end, case=case, identity=REAL)]
    table = tables.overall(metrics.gather(runs))
    (row,) = table.rows
    found = metrics.gather(runs)
    ends = [metrics.end_ratio(found[c]["maxent"], found[c]["uniform"]).value for c in "abc"]
    assert [f.text for f in row[1:]][:1] == [f"{metrics.geometric_mean(ends):.2f} (3)"]
    assert [f.text for f in row[3:6]] == ["2", "1", "1"]
    assert row[6].text == f"{ends[2]:.2f} (c)"


def test_coverage_is_flagged_where_it_is_ever_below_eighty_per_cent() -> None:
    runs = [
        made([1.0] * 3, n=(1, 2, 3), coverage=[0.9, 0.79, 0.92]),
        made([1.0] * 3, n=(1, 2, 3), coverage=[0.9, 0.81, 0.92], strategy="maxent"),
        made([1.0] * 3, n=(1, 2, 3), coverage=math.nan, strategy="means"),
    ]
    table = tables.coverage(metrics.gather(runs))
    assert table.header[1:] == ("uniform", "MaxEnt")  # none of a strategy without intervals
    assert column(table, "uniform") == [tables.Field("92% (79%)", "bad")]
    assert column(table, "MaxEnt") == [tables.Field("92% (81%)", "")]


def test_what_it_took_is_given_in_cost_too_where_there_are_costs() -> None:
    spend = SIMULATED | {"spend": 5.0}
    assert [row[0].text for row in tables.reached(study()).rows] == ["sim30"]
    table = tables.reached(study(identity=spend, cost=(10, 20, 30, 40, 50, 60)))
    assert [row[0].text for row in table.rows] == ["sim30, entries", "sim30, cost"]
    assert [f.text for f in column(table, "uniform")] == ["80", "100%"]
    assert column(table, "balanced")[0].text == "never"


def test_times_are_of_one_ask() -> None:
    assert column(tables.times(study(seconds=0.25)), "MaxEnt")[0].text == "0.25 (0.25)"


def test_errors_say_how_many_replicates_and_entries() -> None:
    runs = [*many("uniform", 0.8, replicates=3), *many("maxent", 0.8, replicates=2)]
    (row,) = tables.errors(metrics.gather(runs)).rows
    assert [f.text for f in row[:3]] == ["sim30", "2 to 3", "30 to 80"]


def test_markdown_has_a_row_for_every_row_and_no_name_breaks_it() -> None:
    text = tables.markdown(
        [*many("uniform", 0.8, case="a|b\n<script>"), *many("maxent", 0.6, case="a|b\n<script>")]
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert "<script>" not in text
    assert all(line.endswith("|") for line in rows)
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({line.replace("\\|", "").count("|") for line in block.splitlines()}) == 1


def test_tables_without_rows_are_left_out() -> None:
    only = tables.all_tables(metrics.gather(many("maxent", 0.6)))
    assert [table.heading for table in only] == [
        "Error at the end",
        "Coverage of 90% intervals",
        "Time for a step",
    ]
    assert tables.markdown([]) == "\n"


def test_claims_are_a_table() -> None:
    runs = []
    for case, kind in (("sim30", SIMULATED), ("jester", REAL)):
        runs += [
            *many("uniform", 0.8, case=case, identity=kind),
            *many("maxent", 0.6, case=case, identity=kind),
        ]
    table = tables.claims_table(runs)
    assert table.header[-1] == "found"
    assert {f.text for f in column(table, "judgement")} == {"holds", "within chance"}


def test_numbers_are_written_with_as_many_digits_as_tell() -> None:
    assert [wording.share(x) for x in (0.914, 0.0031, math.inf, math.nan)] == ["91%", "0.31%", "never", ""]
    assert [wording.count(x) for x in (1234.5, 5.678, math.inf)] == ["1,234", "5.68", "never"]
    assert [wording.seconds(x) for x in (0.01234, 3.21, 123.4)] == ["0.012", "3.2", "123"]
    assert wording.title("predictive_variance") == "predictive variance (default)"
    assert wording.title("somebodys_rule") == "somebodys rule"
