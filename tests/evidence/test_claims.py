"""The paper's claims turn when the runs turn."""

from tests.compare.invented import REAL, SIMULATED, many

from evidence.claims import CLAIMS, PAIRS, build_claims_table, judge_claims
from evidence.strategies import get_strategy
from maxentry.compare import metrics
from maxentry.compare.store import Run


def paper(start: float, sim: float, real: float, chosen: str = "maxent", uniform: str = "uniform"):
    """Uniform goes from 1 to 0.9 everywhere."""
    runs = []
    for case, kind, end in (("sim30", SIMULATED, sim), ("jester", REAL, real)):
        runs += many(uniform, 0.9, case=case, identity=kind)
        runs += many(chosen, end, start=start, case=case, identity=kind)
    return runs


def judged(runs, claim: int) -> dict[str, str]:
    text = list(CLAIMS)[claim]
    rows = [row for row in judge_claims(runs) if row.claim == text]
    return {row.figure.split(" ")[0]: row.judgement for row in rows}


def test_a_better_start() -> None:
    assert judged(paper(0.95, 0.7, 0.6), 0) == {"sim30": "holds", "jester": "holds", "all": "holds"}
    assert judged(paper(1.05, 0.7, 0.6), 0)["all"] == "does not hold"
    assert judged(paper(1.0, 0.7, 0.6), 0)["all"] == "within chance"


def test_uniforms_mean_above_the_quantile() -> None:
    assert judged(paper(1.0, 0.7, 0.9), 1) == {"sim30": "holds", "jester": "does not hold", "all": "depends"}


def test_a_growing_gap() -> None:
    assert judged(paper(1.0, 0.7, 0.7), 2)["all"] == "holds"
    assert (
        judged(paper(0.8, 0.85, 0.85), 2)["all"] == "does not hold"
    )  # it begins with 0.2 and shrinks to 0.05
    assert judged(paper(1.0, 0.9, 0.9), 2)["all"] == "within chance"


def test_more_on_real_data() -> None:
    assert judged(paper(1.0, 0.8, 0.6), 3) == {"jester": "holds"}
    assert judged(paper(1.0, 0.6, 0.8), 3) == {"jester": "does not hold"}
    assert judged(paper(1.0, 0.7, 0.7), 3) == {"jester": "within chance"}
    assert judged([r for r in paper(1.0, 0.7, 0.7) if r.case == "jester"], 3) == {}
    alone = [run for run in paper(1.0, 0.8, 0.6) if run.seed == 0]
    assert judged(alone, 3) == {"jester": "within chance"}  # one replicate


def begun_apart() -> list[Run]:
    """On real data the start is much better, and after it nothing is gained: the end is better all the same."""
    runs = [*many("uniform", 0.9), *many("maxent", 0.8), *many("uniform", 0.9, case="jester", identity=REAL)]
    return [*runs, *many("maxent", 0.6, start=0.7, case="jester", identity=REAL)]


def test_a_better_start_is_no_growth_whatever_the_ratio_at_the_end() -> None:
    runs = begun_apart()
    by = metrics.gather(runs)
    ends = [metrics.end_ratio(by[c]["maxent"], by[c]["uniform"]) for c in ("jester", "sim30")]
    assert ends[0].high < ends[1].low
    assert judged(runs, 3)["jester"] != "holds"


def test_what_all_say_counts_the_figures_by_judgement() -> None:
    text = list(CLAIMS)[1]
    (row,) = [r for r in judge_claims(paper(1.0, 0.7, 0.9)) if r.claim == text and r.figure == "all 2"]
    assert (row.found, row.judgement) == ("holds on 1, does not hold on 1", "depends")


def test_growth_on_real_data_is_given_with_that_of_the_simulations() -> None:
    (row,) = [r for r in judge_claims(begun_apart()) if r.claim == list(CLAIMS)[3]]
    assert row.found.startswith("gap grows by ")
    assert "; against sim30 by 0." in row.found


def test_four_replicates_are_too_few_for_a_quantile() -> None:
    runs = [run for run in paper(1.0, 0.7, 0.9) if run.seed < 4]
    assert judged(runs, 1)["sim30"] == "within chance"
    said = [row.found for row in judge_claims(runs) if row.figure == "sim30"]
    assert any("4 replicates are too few for a quantile" in found for found in said)


def test_claims_are_a_table() -> None:
    table = build_claims_table(judge_claims(paper(1.0, 0.6, 0.6)))
    assert table.header == ("claim", "chosen by", "figure", "judgement", "found")
    marks = {row[3].text: row[3].mark for row in table.rows}
    assert marks == {"holds": "good", "within chance": "even"}


def test_pairs_are_of_strategies_and_their_baselines() -> None:
    for pair in PAIRS:
        assert get_strategy(pair.chosen).baseline == pair.uniform
        assert not get_strategy(pair.uniform).active


def test_where_errors_grow_by_measuring_it_is_said_with_the_gap() -> None:
    runs = [*many("uniform", 1.3), *many("maxent", 1.1)]
    said = [row.found for row in judge_claims(runs)]
    assert [("uniform's own error grows, from 1.000 to 1." in s) for s in said] == [False, True, True]


def test_the_papers_own_sampler_is_judged_against_uniform_with_the_same_estimate() -> None:
    rows = judge_claims(paper(0.95, 0.7, 0.6, "papers_maxent", "papers_uniform"))
    assert {row.chosen_by for row in rows} == {"MaxEnt, the paper's sampler"}
    assert judge_claims(paper(0.95, 0.7, 0.6, "papers_maxent", "uniform")) == []
