"""Leverage-score sampling in two phases (Chen, Bhojanapalli, Sanghavi and Ward, Coherent matrix completion, ICML 2014;
Completing any low-rank matrix, provably, JMLR 2015).

Phase 1 samples uniformly. The best rank-r approximation U D V' of the matrix that has the observed values, and zeros
where nothing is observed, gives estimated leverage scores

    mu_i = (m1/r) |U' e_i|^2,    nu_j = (m2/r) |V' e_j|^2,

and phase 2 samples the rest without replacement, with probabilities proportional to mu_i + nu_j. The scores are those
of phase 1 to the end. (The factor r log^2(m1 + m2) / min(m1, m2) of their probabilities is the same for all entries.)

What is different here: the share of phase 1 is the case's (theirs is a parameter); values are centred by their mean
before the zeros are filled in, where the matrix is not simulated, since otherwise the scores would be those of the
pattern of what is observed; only available entries can be drawn; costs are ignored, as by them; the rank is the
case's, or 5; and the estimate is the campaign's posterior, not their nuclear-norm minimisation.
"""

from __future__ import annotations

import numpy as np

from evidence.strategies.rule import Request, as_policy, build_choice, find_candidates, rank_setting
from maxentry._types import Array
from maxentry.acquisition import Problem, Selection
from maxentry.belief import Entries
from maxentry.compare.scenario import Case, Policy, Strategy, Style, Truth
from maxentry.plots.style import ORANGE
from maxentry.transform import Transform

RANK = 5  # where a case names none


def leverage_scores(zero_filled: Array, r: int) -> tuple[Array, Array]:
    """Return mu and nu of the best approximation of rank r."""
    U, d, Vt = np.linalg.svd(zero_filled, full_matrices=False)
    r = min(r, int(np.count_nonzero(d > 1e-12 * d.max(initial=0.0))))
    if r == 0:
        return np.ones(len(zero_filled)), np.ones(zero_filled.shape[1])
    (m1, m2) = zero_filled.shape
    return m1 / r * (U[:, :r] ** 2).sum(1), m2 / r * (Vt[:r] ** 2).sum(0)


def draw_entries(mu: Array, nu: Array, problem: Problem, n: int, rng: np.random.Generator) -> Selection:
    """Draw n available entries without replacement, each in proportion to mu_i + nu_j among those left.

    The n greatest of log p + Gumbel noise are such a sample (Efraimidis and Spirakis 2006), in the order drawn.
    """
    i, j = find_candidates(problem)
    with np.errstate(divide="ignore"):
        keys = np.log(mu[i] + nu[j]) + rng.gumbel(size=len(i))
    drawn = np.argsort(-keys, kind="stable")[:n]
    return build_choice(problem, Entries(i[drawn], j[drawn]))


def fill_zeros(request: Request, n: int, centre: bool) -> Array:
    """Return the zero-filled matrix of the first n measurements, or of all that there are."""
    state = request.state
    y = Transform.parse(state.settings.transform).forward(state.values[:n])
    i, j = state.told.rows[:n], state.told.cols[:n]
    filled = np.zeros(state.shape)
    filled[i, j] = y - (y.mean() if centre else 0.0)
    return filled


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    r = rank_setting(case.model, RANK)
    first = case.initial + (0 if truth.told is None else int((truth.told & ~np.isnan(truth.Y)).sum()))

    def rule(request: Request) -> Selection:
        mu, nu = leverage_scores(fill_zeros(request, first, centre=not truth.simulated), r)
        return draw_entries(mu, nu, request.problem, request.n, request.rng)

    return as_policy(rule, "leverage scores")


LEVERAGE = Strategy(
    "leverage",
    "leverage scores, two phases",
    start="uniform",
    policy=_policy,
    style=Style(ORANGE, "dashed", ">"),
)
