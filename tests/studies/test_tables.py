"""Tables hold what the metrics say, and markdown keeps its form whatever names hold."""

import math

import pytest
from tests.studies.made_runs import REAL, SIMULATED, made, many

from maxentry.studies import metrics, tables, wording
from maxentry.studies.matrices import one_matrix
from maxentry.studies.sources import Part


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


def test_the_papers_sampler_is_to_reach_the_error_of_uniform_judged_by_it() -> None:
    ends = {"uniform": 0.3, "papers_uniform": 0.8, "papers_maxent": 0.6}
    runs = [made([1.0, end], n=(0, 100), strategy=s) for s, end in ends.items()]
    table = tables.reached(metrics.gather(runs))
    assert column(table, "MaxEnt, the paper's sampler") == [
        tables.Field("50 (50 to 50); its uniform 100", "good")
    ]
    assert column(table, "uniform, the paper's sampler")[0].text == "never"


SPEND = {"source": {"kind": "data", "dataset": "oboe-error", "rows": 80, "training": 50}, "spend": 5.0}


def costly() -> metrics.Study:
    runs = [*many("uniform", 0.8, case="plain"), *many("maxent", 0.6, case="plain")]
    costs = {"uniform": (0, 20, 40, 60, 80, 100), "maxent": (0, 2, 4, 6, 8, 90), "oboe": (0, 1, 2, 3, 4, 50)}
    for strategy, cost in costs.items():
        runs += many(strategy, 0.6, case="dear", cost=cost, identity=SPEND)
    return metrics.gather(runs)


def test_cases_by_cost_have_a_table_of_their_own_and_are_in_no_mean() -> None:
    found = {table.heading: table for table in tables.all_tables(costly())}
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
    assert column(table, "error")[1].text == f"{metrics.at_common_cost(by['maxent']).mean():.3f}"
    ratio = metrics.end_ratio(by["maxent"], by["uniform"])
    assert column(table, "ratio to uniform's")[:2] == [
        tables.Field(""), tables.Field(wording.spelled(ratio), "good"),
    ]  # fmt: skip
    assert "sets it for all" in table.note


def test_estimates_of_their_own_are_named_where_ratios_mix_them_with_the_choice() -> None:
    def note(*strategies: str) -> str:
        runs = [run for s in strategies for run in many(s, 0.8, replicates=2)]
        return tables.ratios(metrics.gather(runs), "end", metrics.end_ratio).note

    assert "own" not in note("uniform", "maxent", "top_variance", "leverage")
    mixed = note("uniform", "maxent", "means", "oboe_own", "smurff_variance")
    titles = "; ".join(wording.title(s) for s in ("means", "oboe_own", "smurff_variance"))
    assert f"{titles}. Their figures mix choice and estimate." in mixed
    assert "judged by that sampler too" in note("uniform", "papers_uniform", "papers_maxent")


def part(dataset: str, rows: int | None, cols: int | None, **other: object) -> dict[str, object]:
    return {"source": Part(dataset, rows, cols, **other).identity(), "spend": None}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("identity", "same"),
    [
        (SIMULATED, False),
        ({"source": {"kind": "given", "digest": "x"}}, True),
        (part("jester", 500, 100, how="first"), True),
        (part("movielens-100k", 300, None, how="most active"), True),
        (part("direct-arylation", 100, 40), True),  # all 48 x 36
        (part("sat11", 100, 40), False),  # all columns, but not all rows
        (part("jester", 100, 40), False),
        (part("movielens-1m", 100, 40, busiest=(300, 100)), False),
        (part("movielens-1m", 300, 100, busiest=(300, 100)), True),
        (part("direct-arylation", 100, 40, training=10), False),  # other rows are known each time
    ],
)
def test_which_cases_have_the_same_matrix_in_all_replicates(identity: dict, same: bool) -> None:
    assert one_matrix(identity) == same
    runs = [
        *many("uniform", 0.8, case="a", identity=identity),
        *many("maxent", 0.8, case="a", identity=identity),
    ]
    note = tables.ratios(metrics.gather(runs), "end", metrics.end_ratio).note
    assert ("over designs and chains only" in note) == same


def test_of_several_matrices_those_are_named_that_are_the_same_in_all_replicates() -> None:
    same = part("jester", 500, 100, how="first")
    runs = [*many("uniform", 0.8), *many("uniform", 0.8, case="jester", identity=same)]
    runs += [*many("maxent", 0.8), *many("maxent", 0.8, case="jester", identity=same)]
    assert "the same matrix on jester: the interval there is" in tables.overall(metrics.gather(runs)).note
    assert "the same matrix on jester: the interval there is" in tables.claims_table(runs).note


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
    assert "\\[](x)" in tables.markdown(many("uniform", 0.8, case="![](x)"))  # nothing is fetched
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
