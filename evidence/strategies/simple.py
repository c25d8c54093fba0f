"""Three simple strategies to compare with.

top_variance: the n entries of greatest posterior variance, without a joint batch: what most people would do first. The
posterior is the campaign's own, so the only difference from `predictive_variance` is that no entry of a batch knows of
the others. With batches of one, both choose alike.

cheapest: the cheapest entries first, whatever they tell. Without it, a rule that weighs information by cost could look
good only because it is thrifty.

means: row and column means, without a low-rank part, on uniform's entries from a uniform start. The estimate is the
additive fit mu + r_i + c_j by penalised least squares, `model.effects.row_column_means` with its ridges of 1: a mean of
k values is shrunk about k/(k + 1) of the way. It has no intervals.
"""

from __future__ import annotations

import numpy as np

from evidence.strategies.rule import Request, as_policy, build_choice, find_candidates
from maxentry._types import Array, Indices
from maxentry.acquisition import Problem, Selection
from maxentry.acquisition.draw_field import DrawField
from maxentry.belief import Belief, Entries
from maxentry.campaign import fits
from maxentry.campaign.state import State
from maxentry.compare.scenario import Case, Estimates, Estimator, Policy, Strategy, Style, Truth
from maxentry.model.effects import row_column_means
from maxentry.plots.style import GREY, PURPLE
from maxentry.transform import Transform


def choose_largest(score: Array, problem: Problem, n: int) -> Selection:
    """Return the n available entries of greatest score per cost; of equals, those that come first by position."""
    i, j = find_candidates(problem)
    per_cost = score[i, j] / problem.costs.at(i, j)
    most = np.argsort(-per_cost, kind="stable")[:n]
    return build_choice(problem, Entries(i[most], j[most]), score[i[most], j[most]])


def choose_top_variance(belief: Belief, problem: Problem, n: int) -> Selection:
    """Return the n entries whose draws vary most, by 1/2 log(1 + v / eta2) per cost."""
    m1, m2 = belief.shape
    field = DrawField.from_belief(belief)
    gain = 0.5 * np.log1p(field.variances(np.arange(m1), np.arange(m2)) / field.eta2)
    return choose_largest(gain, problem, n)


def _top_variance_policy(truth: Truth, case: Case, seed: int) -> Policy:
    def rule(request: Request) -> Selection:
        posterior = fits.fit_posterior(request.state, request.cache, progress=False)
        return choose_top_variance(posterior.belief, request.problem, request.n)

    return as_policy(rule, "top variance")


def choose_cheapest(request: Request) -> Selection:
    """Return the n entries that cost least; equals in random order."""
    i, j = find_candidates(request.problem)
    shuffled = request.rng.permutation(len(i))
    cost = request.problem.costs.at(i[shuffled], j[shuffled])
    least = shuffled[np.argsort(cost, kind="stable")[: request.n]]
    return build_choice(request.problem, Entries(i[least], j[least]))


def _cheapest_policy(truth: Truth, case: Case, seed: int) -> Policy:
    return as_policy(choose_cheapest, "cheapest")


def estimate_means(state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
    """Return mu + r_i + c_j, fitted on the scale of the model, in the user's units."""
    transform = Transform.parse(state.settings.transform)
    i, j = (index.astype(np.intp) for index in state.told)
    effects = row_column_means(i, j, transform.forward(state.values), state.shape)
    return Estimates(transform.inverse(effects.at(rows, cols)))


def _means_estimator(truth: Truth, case: Case, seed: int) -> Estimator:
    return estimate_means


TOP_VARIANCE = Strategy(
    "top_variance",
    "greatest variances, no joint batch",
    policy=_top_variance_policy,
    fits=True,
    style=Style(PURPLE, "solid", "X"),
)
CHEAPEST = Strategy(
    "cheapest",
    "cheapest first",
    policy=_cheapest_policy,
    learns=False,
    needs=("cost",),
    style=Style(GREY, "solid", "P"),
)
MEANS = Strategy(
    "means",
    "row and column means",
    start="uniform",
    estimator=_means_estimator,
    style=Style(GREY, "dotted", "x"),
)
