"""What is said in words is what the figures say, and turns when they turn."""

import pytest
from tests.studies.made_runs import REAL, SIMULATED, many

from maxentry.studies import metrics, verdict
from maxentry.studies.metrics import Interval


@pytest.mark.parametrize(
    ("low", "high", "effect"),
    [(0.8, 0.9, "helps"), (0.9, 1.0, "no difference shown"), (0.9, 1.1, "no difference shown"),
     (1.01, 1.1, "harms"), (float("nan"), float("nan"), "unknown")],
)  # fmt: skip
def test_an_interval_with_one_in_it_shows_no_difference(low: float, high: float, effect: str) -> None:
    assert verdict.effect(Interval((low + high) / 2, low, high, 5)) == effect


def compared(end: float, **other) -> str:
    uniform = many("uniform", 0.8, **other)
    return verdict.sentence([*uniform, *many("predictive_variance", end, **other)])


def test_the_sentence_says_yes_with_how_much_and_how_soon() -> None:
    said = compared(0.6)
    assert said.startswith(
        "Yes, active sampling would have helped: after 80 entries the error of predictive variance"
    )
    study = metrics.gather([*many("uniform", 0.8), *many("predictive_variance", 0.6)])["sim30"]
    ratio = metrics.end_ratio(study["predictive_variance"], study["uniform"])
    assert f"is {ratio.value:.2f} of uniform sampling's" in said
    assert f"(90% interval {ratio.low:.2f} to {ratio.high:.2f}, 10 replicates)" in said
    took = metrics.to_reach(study["predictive_variance"], study["uniform"])
    assert f"after {took.median:.0f} entries instead of 80 (median)" in said
    assert said.endswith(".")
    assert said.count(". ") == 0  # one sentence


def test_the_sentence_says_no_when_it_is_worse_and_when_nothing_is_shown() -> None:
    assert compared(1.0).startswith("No, active sampling would have done worse than measuring at random")
    none = compared(0.8, noise=0.05)
    assert none.startswith("No gain from active sampling is shown")
    assert "contains 1" in none


def test_one_replicate_cannot_tell() -> None:
    assert compared(0.4, replicates=1).startswith("One replicate cannot tell")


def test_at_equal_cost_the_sentence_speaks_of_cost() -> None:
    spend = REAL | {"spend": 5.0}
    said = compared(0.6, identity=spend, cost=(3, 4, 5, 6, 7, 8))
    assert "at the same cost the error" in said
    assert "of the cost (median)" in said


def test_without_both_there_is_nothing_to_say() -> None:
    assert verdict.sentence(many("uniform", 0.8)).startswith("There are no runs of both")
    assert verdict.sentence([]).startswith("There are no runs of both")
    apart = [*many("uniform", 0.8, replicates=1), *many("predictive_variance", 0.8, replicates=2)[1:]]
    assert verdict.sentence(apart).startswith("There are no replicates")


def test_cases_without_gain_are_found_and_no_others() -> None:
    runs = []
    for case, end in (("gain", 0.6), ("none", 0.8), ("worse", 0.95)):
        runs += [*many("uniform", 0.8, case=case), *many("maxent", end, case=case, noise=0.03)]
    found = verdict.without_gain(metrics.gather(runs), "maxent")
    assert [(f.case, f.effect) for f in found] == [("none", "no difference shown"), ("worse", "harms")]


def test_random_designs_are_not_active() -> None:
    study = metrics.gather([*many("uniform", 0.8), *many("balanced", 0.8), *many("maxent", 0.8)])
    assert verdict.active(study) == ["maxent"]


def paper(start: float, sim: float, real: float, chosen: str = "maxent", uniform: str = "uniform"):
    """Uniform goes from 1 to 0.9 everywhere."""
    runs = []
    for case, kind, end in (("sim30", SIMULATED, sim), ("jester", REAL, real)):
        runs += many(uniform, 0.9, case=case, identity=kind)
        runs += many(chosen, end, start=start, case=case, identity=kind)
    return runs


def judged(runs, claim: int) -> dict[str, str]:
    text = list(verdict.CLAIMS)[claim]
    return {row.figure: row.judgement for row in verdict.claims(runs) if row.claim == text}


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


def test_the_papers_own_sampler_is_judged_against_uniform_with_the_same_estimate() -> None:
    rows = verdict.claims(paper(0.95, 0.7, 0.6, "papers_maxent", "papers_uniform"))
    assert {row.pair for row in rows} == {"MaxEnt, the paper's sampler"}
    assert verdict.claims(paper(0.95, 0.7, 0.6, "papers_maxent", "uniform")) == []
