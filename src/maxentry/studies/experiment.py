"""One run of a study: a campaign as a user has it, from its first batch to its last, and the error along the way."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign import policy as campaign_policy
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.policy import Batch
from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.errors import NothingToAskError
from maxentry.studies.case import Case, Cell
from maxentry.studies.code import fingerprint
from maxentry.studies.record import Look, Run
from maxentry.studies.sources import Truth
from maxentry.studies.strategies import named
from maxentry.studies.strategies.strategy import Estimates, Estimator, Policy, Strategy

Indices = NDArray[np.int64]

LEVEL = 0.9
INTERVALS = 1000  # entries at which coverage is measured, at most
SAMPLE = 4  # the random stream of these entries


class Turn:
    """The campaign's own policy for the initial entries, then the strategy's."""

    def __init__(self, later: Policy) -> None:
        self.later, self.begun = later, False

    def __call__(self, *args: Any, **options: Any) -> Batch:
        """The batch of whose turn it is."""
        return (self.later if self.begun else campaign_policy.next_batch)(*args, **options)


def run(cell: Cell) -> Run:
    """Ask and tell until the budget is spent."""
    case, strategy = cell.case, named(cell.strategy)
    truth = case.source.truth(cell.seed)
    began = time.perf_counter(), time.process_time()
    turn = None if strategy.policy is None else Turn(strategy.policy(truth, case, cell.seed))
    watch = Watch(truth, case, strategy, cell.seed)
    with _begun(cell, truth, strategy, turn) as campaign:
        for k in range(case.batches + 1):
            n = case.initial if k == 0 else min(case.batch, case.budget - (k - 1) * case.batch)
            more = n == 0 or watch.measure(campaign, n)
            if k == 0:
                _go_on(campaign, strategy, turn)
            if not more or k in case.looked_at():
                watch.look(campaign)
            if not more:
                break
    code = fingerprint(strategy.peer)
    return Run(
        cell.key(code), code, case.name, case.identity(), strategy.name, cell.seed, truth.M.shape,
        int(truth.judged.sum()), truth.scale, tuple(watch.looks),
        time.process_time() - began[1], time.perf_counter() - began[0],
    )  # fmt: skip


def _begun(cell: Cell, truth: Truth, strategy: Strategy, turn: Turn | None) -> Campaign:
    case, measurable = cell.case, ~np.isnan(truth.Y)
    settings: dict[str, Any] = dict(case.model)
    first: str = strategy.start
    if turn is None and strategy.start == "balanced" and strategy.acquisition not in WITHOUT_MODEL:
        first = strategy.acquisition  # whose campaigns begin with a balanced design
    if truth.told is not None:
        i, j = np.nonzero(truth.told & measurable)
        settings["values"] = {"row": i.tolist(), "col": j.tolist(), "value": truth.Y[i, j].tolist()}
    if case.spend is not None and truth.cost is not None:
        settings |= {"costs": truth.cost, "budget": case.spend * float(truth.cost[truth.judged].mean())}
    return Campaign.create(
        "sqlite://", "study", *truth.M.shape, seed=cell.seed, acquisition=first, n_initial=case.initial,
        mask=None if measurable.all() else measurable, policy=turn, **settings,
    )  # fmt: skip


def _go_on(campaign: Campaign, strategy: Strategy, turn: Turn | None) -> None:
    """After the initial entries."""
    if turn is not None:
        turn.begun = True
    elif campaign.settings.acquisition != strategy.acquisition:
        campaign.set(acquisition=strategy.acquisition)


class Watch:
    """Measures, and keeps what is seen on the way."""

    def __init__(self, truth: Truth, case: Case, strategy: Strategy, seed: int) -> None:
        self.truth, self.looks = truth, list[Look]()
        self.estimator = None if strategy.estimator is None else strategy.estimator(truth, case, seed)
        self.rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SAMPLE,)))
        self.asks, self.seconds, self.cpu = 0, 0.0, 0.0
        self.fits, self.owed = strategy.chooses_by_fit, (0.0, 0.0)

    def measure(self, campaign: Campaign, n: int) -> bool:
        """One batch; False if nothing was left to ask for."""
        clock, cpu = time.perf_counter(), time.process_time()
        try:
            asked = campaign.ask(n, frame="columns", progress=False)
        except NothingToAskError:
            return False
        self.asks += 1
        self.seconds += time.perf_counter() - clock + self.owed[0]
        self.cpu += time.process_time() - cpu + self.owed[1]
        self.owed = (0.0, 0.0)
        campaign.tell(asked["id"], self.truth.Y[asked["row"], asked["col"]])
        return True

    def look(self, campaign: Campaign) -> None:
        """The error now."""
        truth, state = self.truth, campaign.state
        measured = np.zeros(truth.M.shape, dtype=bool)
        measured[state.told.rows, state.told.cols] = True
        spent = measured & truth.judged
        i, j = np.nonzero(truth.judged)
        unseen = np.flatnonzero(~measured[i, j])
        sample = self.rng.permutation(unseen)[:INTERVALS]
        clock, cpu = time.perf_counter(), time.process_time()
        found = self._estimates(campaign, i, j, sample)
        if self.fits:  # the next ask will find this fit made, and would have had to make it
            self.owed = time.perf_counter() - clock, time.process_time() - cpu
        squares = (found.mean - truth.M[i, j]) ** 2
        coverage = width = np.nan
        if found.low is not None and found.high is not None and len(sample):
            x = truth.M[i[sample], j[sample]]
            coverage = float(np.mean((found.low <= x) & (x <= found.high)))
            width = float(np.mean(found.high - found.low)) / truth.scale
        asks, cost = max(self.asks, 1), spent.sum() if truth.cost is None else truth.cost[spent].sum()
        self.looks.append(
            Look(
                int(spent.sum()), float(cost), float(np.sqrt(squares.mean())) / truth.scale,
                float(np.sqrt(squares[unseen].mean())) / truth.scale if len(unseen) else 0.0,
                coverage, width, self.seconds / asks, self.cpu / asks,
            )
        )  # fmt: skip
        self.asks, self.seconds, self.cpu = 0, 0.0, 0.0

    def _estimates(self, campaign: Campaign, i: Indices, j: Indices, sample: Indices) -> Estimates:
        """The means of all entries, the intervals of a sample."""
        if self.estimator is not None:
            return _sampled(self.estimator, campaign, i, j, sample)
        posterior = campaign.posterior(progress=False)
        p = posterior.predict(i[sample], j[sample], LEVEL)
        low, high = (p.low, p.high) if self.truth.simulated else (p.new_low, p.new_high)
        return Estimates(posterior.arrays.mean[i, j], low, high)


def _sampled(estimator: Estimator, campaign: Campaign, i: Indices, j: Indices, sample: Indices) -> Estimates:
    found = estimator(campaign.state, i, j, LEVEL)
    low, high = (None if end is None else end[sample] for end in (found.low, found.high))
    return Estimates(found.mean, low, high)
