"""A run is what a user's campaign would have done, and its looks are the errors worked out by hand."""

import dataclasses
import json

import numpy as np
import pytest

from evidence.sources import Simulated
from maxentry import Campaign
from maxentry.campaign import policy
from maxentry.compare import runner
from maxentry.compare.runner import LEVEL, run_cell
from maxentry.compare.scenario import LAW, Case, Cell, Estimates, Given, Strategy, find_strategy
from maxentry.compare.store import Run
from maxentry.errors import ParameterError

pytestmark = pytest.mark.usefixtures("short_fits")
PAPER = (("rank", 2), ("effects", False), ("priors", "paper"))
CASE = Case("small", Simulated((8, 7), 2), 10, 4, 8, looks=2, model=PAPER)


def play(strategy: str, seed: int, case: Case = CASE) -> Run:
    return run_cell(Cell(case, find_strategy(strategy), seed))


def timeless(made: Run) -> list[tuple]:
    return [look[:6] for look in made.looks]


def by_hand(strategy: str, seed: int) -> list[tuple]:
    """The campaign as in the README: ask, measure, tell."""
    truth = CASE.source.truth(seed)
    with Campaign.create(
        "sqlite://", "by hand", 8, 7, seed=seed, acquisition=strategy, n_initial=10, **dict(PAPER)
    ) as c:
        looks = []
        for k, n in enumerate((10, 4, 4)):
            batch = c.ask(n, frame="columns", progress=False)
            c.tell(batch["id"], truth.Y[batch["row"], batch["col"]])
            if k != 1:
                looks.append((c.posterior(progress=False), c.state.told))
    found = []
    for posterior, told in looks:
        unseen = np.ones((8, 7), dtype=bool)
        unseen[told.rows, told.cols] = False
        residual, scale = posterior.mean - truth.M, np.linalg.norm(truth.M)
        low, high = posterior.interval(LEVEL)
        inside = (low <= truth.M) & (high >= truth.M)
        alone = np.sqrt(np.mean(residual[unseen] ** 2)) / (scale / np.sqrt(56))
        width = np.mean((high - low)[unseen]) / (scale / np.sqrt(56))
        n = 56 - unseen.sum()
        found.append((n, n, np.linalg.norm(residual) / scale, alone, inside[unseen].mean(), width))
    return found


@pytest.mark.parametrize("strategy", ["uniform", "maxent"])
def test_a_run_is_the_campaign_of_a_user(strategy):
    made = play(strategy, 1)
    np.testing.assert_allclose(np.array(timeless(made)), np.array(by_hand(strategy, 1)), rtol=1e-9)
    assert made.shape == (8, 7)
    assert made.known == 56


def test_the_same_cell_gives_the_same_run_and_another_seed_another():
    one, again, other = (play("uniform", seed) for seed in (1, 1, 2))
    assert timeless(one) == timeless(again)
    assert one.key == again.key != other.key
    assert timeless(one) != timeless(other)


def test_balanced_then_uniform_starts_as_the_active_ones_do():
    active, start, uniform = (play(s, 3) for s in ("maxent", "balanced_uniform", "uniform"))
    assert timeless(active)[0] == timeless(start)[0] != timeless(uniform)[0]
    assert timeless(active)[1] != timeless(start)[1]


def test_a_run_survives_json():
    made = play("uniform", 1)
    again = Run.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False)))
    assert again == made


def test_only_known_entries_are_asked_for_and_judged():
    rng = np.random.default_rng(0)
    M = np.add.outer(rng.normal(size=9), rng.normal(size=8))
    M[rng.random(M.shape) < 0.3] = np.nan
    made = play("uniform", 0, Case("holes", Given(M), 9, 9, 200, looks=4, model=(("rank", 0),)))
    assert made.known == np.sum(~np.isnan(M))
    assert made.looks[-1].n == made.known  # all there is, then it stops
    assert made.looks[-1].error_unobserved == 0
    assert made.looks[-1].error < made.looks[0].error


def test_costs_end_a_campaign_and_are_counted():
    rng = np.random.default_rng(0)
    M, cost = rng.normal(size=(10, 9)), rng.uniform(1, 9, size=(10, 9))
    case = Case("costs", Given(M, cost), 10, 5, 80, looks=20, model=(("rank", 0),), spend=40.0)
    made = play("uniform", 0, case)
    assert made.by_cost
    assert 30 * cost.mean() < made.looks[-1].cost <= 40 * cost.mean()
    assert made.looks[-1].n < 90


class Nothing:
    """An estimator that knows nothing but the middle, with intervals that hold everything or nothing."""

    def __init__(self, half: float) -> None:
        self.half = half

    def __call__(self, state, rows, cols, level):
        mean = np.zeros(len(rows))
        return Estimates(mean, mean - self.half, mean + self.half)


@pytest.mark.parametrize(("half", "coverage"), [(1e9, 1.0), (0.0, 0.0)])
def test_a_strategy_may_bring_its_own_rule_and_estimate(half, coverage):
    asked = []

    def rule(state, n, now, **options):
        asked.append(len(state.told.rows))
        return policy.next_batch(state, n, now, **options)

    mine = Strategy("mine", "mine", policy=lambda *_: rule, estimator=lambda *_: Nothing(half))
    made = run_cell(Cell(CASE, mine, 1))
    assert asked == [10, 14]  # not the initial entries
    assert [look.coverage for look in made.looks] == [coverage, coverage]
    assert made.looks[0].error == pytest.approx(1.0)  # the scale is that of the matrix around zero
    assert (made.strategy, made.law) == ("mine", LAW)


def test_unknown_strategies_and_senseless_cases_are_refused():
    with pytest.raises(ParameterError, match="expected one of the strategies"):
        find_strategy("best")
    with pytest.raises(ParameterError, match="batch to be at least 1"):
        Case("no", CASE.source, 3, 0, 3)


def test_looks_include_the_first_and_the_last():
    case = Case("c", CASE.source, 3, 2, 9, looks=3)
    assert case.batches == 5
    assert case.look_after() == {0, 2, 5}
    assert runner.LEVEL == 0.9


def test_a_budget_that_batches_do_not_divide_is_not_overshot():
    made = play("uniform", 1, dataclasses.replace(CASE, batch=5, budget=8))
    assert made.looks[-1].n == 10 + 8


def test_the_time_of_an_ask_has_its_fit_in_it_however_often_one_looks(monkeypatch):
    """A look makes the fit that the next ask needs, and is charged to it; uniform needs none."""
    clock = iter(range(10**6))
    monkeypatch.setattr(runner.time, "perf_counter", lambda: float(next(clock)))
    always = dataclasses.replace(CASE, looks=4)
    choosing, uniform = (play(s, 1, always).looks[-1].seconds for s in ("predictive_variance", "uniform"))
    assert choosing > uniform
