"""What is said in words is what the figures say, and turns when they turn."""

import pytest
from tests.studies.made_runs import REAL, SIMULATED, many

from maxentry.studies import metrics, verdict
from maxentry.studies.metrics import Interval
from maxentry.studies.paper import FIGURES
from maxentry.studies.record import Run
from maxentry.studies.wording import spelled, title


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


def test_few_replicates_are_said_to_be_few() -> None:
    assert "4 replicates, which are few)" in compared(0.6, replicates=4)
    assert "5 replicates)" in compared(0.6, replicates=5)
    runs = [run for run in paper(1.0, 0.7, 0.9) if run.seed < 4]
    assert judged(runs, 1)["sim30"] == "within chance"
    said = [row.numbers for row in verdict.claims(runs) if row.figure == "sim30"]
    assert any("4 replicates are too few for a quantile" in numbers for numbers in said)


def test_where_nothing_is_predicted_that_is_the_reason() -> None:
    reason = "; no structure was found, for the errors are as large as the spread of the values."
    noise = [*many("uniform", 1.02, identity=REAL), *many("predictive_variance", 1.02, identity=REAL)]
    assert verdict.sentence(noise).endswith(reason)
    worse = [*many("uniform", 1.02, identity=REAL), *many("predictive_variance", 1.3, identity=REAL)]
    assert verdict.sentence(worse).endswith(reason)
    assert reason not in compared(0.8, identity=REAL)


def test_ends_near_one_are_written_so_that_the_side_is_seen() -> None:
    assert spelled(Interval(1.002, 0.9966, 1.008, 5)) == "1.002 (0.997 to 1.008)"
    assert spelled(Interval(0.9, 0.85, 0.95, 5)) == "0.90 (0.85 to 0.95)"


def test_one_replicate_cannot_tell() -> None:
    assert compared(0.4, replicates=1).startswith("One replicate cannot tell")


def test_at_equal_cost_the_sentence_speaks_of_cost() -> None:
    spend = REAL | {"spend": 5.0}
    said = compared(0.6, identity=spend, cost=(3, 4, 5, 6, 7, 8))
    assert "at the same cost the error" in said
    assert "of the cost (median)" in said


def test_what_does_not_choose_is_called_by_its_name() -> None:
    runs = [*many("uniform", 0.8), *many("balanced", 0.6)]
    assert verdict.sentence(runs, "balanced").startswith("Yes, balanced would have helped: after 80 entries")
    worse = [*many("uniform", 0.8), *many("balanced", 1.0)]
    assert verdict.sentence(worse, "balanced").startswith("No, balanced would have done worse than measuring")


@pytest.mark.parametrize(("end", "does"), [(0.6, "done better"), (1.0, "done worse")])
@pytest.mark.parametrize("strategy", ["means", "smurff_variance"])
def test_another_estimate_is_not_taken_for_a_choice(strategy: str, end: float, does: str) -> None:
    said = verdict.sentence([*many("uniform", 0.8), *many(strategy, end)], strategy)
    name = title(strategy)
    begin = (
        f"{name[:1].upper()}{name[1:]}, judged by another estimate than uniform sampling, would have {does}: "
    )
    assert said.startswith(begin)
    assert "would have helped" not in said
    assert "active" not in said


def test_the_papers_sampler_is_compared_with_uniform_judged_by_it() -> None:
    runs = [*many("uniform", 0.9), *many("papers_uniform", 0.6), *many("papers_maxent", 0.8)]
    said = verdict.sentence(
        runs, "papers_maxent"
    )  # better than uniform judged by our posterior, but not by its own
    assert said.startswith("No, active sampling would have done worse")
    assert "of uniform sampling's, judged by the same estimate, (90%" in said
    assert verdict.sentence([*many("uniform", 0.9), *many("papers_maxent", 0.8)], "papers_maxent").startswith(
        "There are no runs of both"
    )


@pytest.mark.parametrize(
    ("strategies", "subject"),
    [
        (["uniform", "balanced", "predictive_variance"], "predictive_variance"),
        (["uniform", "maxent", "predictive_variance"], "maxent"),
        (["uniform", "balanced"], "balanced"),
        (["uniform", "papers_uniform", "means"], "papers_uniform"),
        (["uniform"], "uniform"),
    ],
)
def test_what_a_comparison_is_about(strategies: list[str], subject: str) -> None:
    assert verdict.subject(strategies) == subject


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
    rows = [row for row in verdict.claims(runs) if row.claim == text]
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


def begun_apart(batch: int = 10) -> list[Run]:
    """On real data the start is much better, and after it nothing is gained: the end is better all the same."""
    real = REAL | {"batch": batch}
    runs = [*many("uniform", 0.9), *many("maxent", 0.8), *many("uniform", 0.9, case="jester", identity=real)]
    return [*runs, *many("maxent", 0.6, start=0.7, case="jester", identity=real)]


def test_a_better_start_is_no_growth_whatever_the_ratio_at_the_end() -> None:
    runs = begun_apart()
    by = metrics.gather(runs)
    ends = [metrics.end_ratio(by[c]["maxent"], by[c]["uniform"]) for c in ("jester", "sim30")]
    assert ends[0].high < ends[1].low
    assert judged(runs, 3)["jester"] != "holds"


def test_growth_is_given_with_the_ratio_at_the_end_and_the_batches() -> None:
    (row,) = [r for r in verdict.claims(begun_apart(150)) if r.claim == list(verdict.CLAIMS)[3]]
    by = metrics.gather(begun_apart(150))["jester"]
    ratio = spelled(metrics.end_ratio(by["maxent"], by["uniform"]))
    assert f", ratio at the end {ratio}, batches of 150; against sim30: gap grows by" in row.numbers


def test_what_all_say_names_the_figures_and_how_each_is_judged() -> None:
    text = list(verdict.CLAIMS)[1]
    (row,) = [r for r in verdict.claims(paper(1.0, 0.7, 0.9)) if r.claim == text and r.figure == "all 2"]
    assert (row.numbers, row.judgement) == ("holds on 1 (sim30); does not hold on 1 (jester)", "depends")


def test_variants_of_one_figure_are_said_to_be() -> None:
    plain = FIGURES["jester"].panels[1].case.name
    found = {case: ("", "holds") for case in ("sim30", "jester", plain)}
    numbers, judgement = verdict.together(found)  # type: ignore[arg-type]
    assert judgement == "holds"
    assert numbers.endswith("variants of one figure are counted apart: jester (2)")


def test_where_errors_grow_by_measuring_it_is_said_with_the_gap() -> None:
    runs = [*many("uniform", 1.3), *many("maxent", 1.1)]
    said = [row.numbers for row in verdict.claims(runs)]
    assert [("uniform's own error grows, from 1.000 to 1." in s) for s in said] == [False, True, True]


def test_cases_by_cost_without_gain_are_said_to_be_at_one_cost() -> None:
    spend = REAL | {"spend": 5.0}
    runs = [*many("uniform", 0.8, identity=spend), *many("maxent", 0.9, identity=spend)]
    assert [f.case for f in verdict.without_gain(metrics.gather(runs), "maxent")] == ["sim30, at one cost"]


def test_the_papers_own_sampler_is_judged_against_uniform_with_the_same_estimate() -> None:
    rows = verdict.claims(paper(0.95, 0.7, 0.6, "papers_maxent", "papers_uniform"))
    assert {row.pair for row in rows} == {"MaxEnt, the paper's sampler"}
    assert verdict.claims(paper(0.95, 0.7, 0.6, "papers_maxent", "uniform")) == []
