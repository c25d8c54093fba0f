"""The paper as it stands: Algorithm 1 (MaxEnt) with the posterior of Algorithm 2 (BayeSMG), 1,000 sweeps.

Before every choice, and for every estimate, a chain starts from the nuclear-norm estimate, Eq. (nuc), and makes 1,000
sweeps. X is estimated by the mean of the draws, the projections by the means of U U' and V V', gamma2 by the mean of
eta2 over the mean of sigma2. No effects; the rank is fixed.

What the paper leaves open, and what is done here:

* Draws kept: the second 500 sweeps, every fifth of them.
* The penalty of Eq. (nuc): a tenth of the one from which on the estimate is zero. Where its solver does not converge,
  the chain starts from the observed values with zeros elsewhere.
* "Assumed to be normalized with zero mean": simulated values are left as they are. Others are centred by the mean of
  what is observed so far and scaled to the standard deviation that an entry has a priori (`prior_sd`), and the priors
  are those of the simulations. (With unit variance these priors would expect entries 40 times as small, and the
  exact posterior of Jester would be zero everywhere.)
* The rank of real matrices: that of the case, or 5 where it gives none.
* Batches "with large objective values": chosen one by one by Lemma 2, each joined to Omega before the next, with the
  projections as they are (on matrices of over 4,096 entries, with the q1 q2 <= 1,024 leading pairs of eigenvectors).
* Three slips of Algorithm 2 are corrected (`posterior.algorithm2`).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence

from evidence.strategies.rule import Request, as_policy, rank_setting
from maxentry import completion
from maxentry._types import Array, Indices
from maxentry.acquisition import Selection, choose
from maxentry.acquisition.subspace_field import Subspaces, maximise_entropy, mean_projections
from maxentry.belief import Belief
from maxentry.campaign.state import FIT, State, derive_rng
from maxentry.compare.scenario import Case, Estimates, Estimator, Policy, Strategy, Style, Truth
from maxentry.model.likelihood import NoiseLaw
from maxentry.model.priors import Priors
from maxentry.observations import Observations
from maxentry.plots.style import GREY, PURPLE, VERMILLION
from maxentry.posterior import algorithm2
from maxentry.posterior.intervals import quantiles
from maxentry.transform import Transform

SWEEPS = 1000
THIN = 5
RANK = 5  # where a case names none
PENALTY = 0.1  # of the largest that is of use
TOL = 1e-2  # of the start, which the chain leaves anyway
BLOCK = 4096  # entries whose draws are formed at once


class Sampler(NamedTuple):
    """How Algorithm 2 is run."""

    rank: int
    standardise: bool
    sweeps: int = SWEEPS
    thin: int = THIN


class PaperFit(NamedTuple):
    """Draws of (X - center) / scale, and the mean of its sigma2."""

    belief: Belief
    sigma2: float
    center: float
    scale: float


@lru_cache(maxsize=1)  # the next choice and the estimate are of one state
def fit(state: State, sampler: Sampler) -> PaperFit:
    """Algorithm 2 given all that was told."""
    y = Transform.parse(state.settings.transform).forward(state.values)
    center, scale = 0.0, 1.0
    if sampler.standardise:
        center, scale = float(y.mean()), (float(y.std()) or 1.0) / prior_sd(state.shape, sampler.rank)
    y = (y - center) / scale
    rng = derive_rng(state.settings.seed, FIT, len(y))
    data, priors = algorithm2.entry_means(*state.told, y, state.shape), Priors.paper()
    start = algorithm2.init(data, sampler.rank, priors, rng, nuclear_norm_start(data))
    half = sampler.sweeps // 2
    start, _ = algorithm2.sweeps(start, data, priors, half, rng, thin=half)
    _, draws = algorithm2.sweeps(start, data, priors, half, rng, sampler.thin)
    return PaperFit(_belief(draws), float(draws.sigma2.mean()), center, scale)


def prior_sd(shape: tuple[int, int], rank: int) -> float:
    """The standard deviation of an entry under the paper's priors: Var x_ij = E(sigma2) R^2 / (m1 m2)."""
    signal = Priors.paper().signal
    return rank * math.sqrt(signal.scale / (signal.shape - 1) / math.prod(shape))


def nuclear_norm_start(data: algorithm2.EntryMeans) -> Array:
    """X_0: Eq. (nuc) at a tenth of the largest useful penalty, or the observed values among zeros."""
    i, j = (index.astype(np.int32) for index in np.nonzero(data.counts))
    observed = Observations(data.mean.shape, i, j, data.mean[i, j])
    top = completion.largest_penalty(observed)
    try:
        found = completion.nuclear_norm(observed, PENALTY * top if top > 0 else 1.0, tol=TOL)
        return np.asarray(found.matrix())
    except ArpackNoConvergence:
        return data.mean


def _belief(draws: algorithm2.Algorithm2Draws) -> Belief:
    (S, m1, _), m2 = draws.A.shape, draws.V.shape[1]
    return Belief(draws.A, draws.V, np.zeros((S, m1)), np.zeros((S, m2)), np.zeros(S), draws.eta2)


# Choosing


def choose_entries(request: Request, sampler: Sampler) -> Selection:
    """The next entries by Lemma 2, greedily."""
    posterior = fit(request.state, sampler)

    def subspaces(belief: Belief, most: int) -> Subspaces:
        return mean_projections(belief, most)._replace(sigma2=posterior.sigma2)

    criterion = partial(maximise_entropy, subspaces)
    return choose(criterion, posterior.belief, request.problem, request.n, rng=request.rng)


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    sampler = build_sampler(truth, case)
    return as_policy(lambda request: choose_entries(request, sampler), "the paper's MaxEnt")


# Estimating


def estimate_entries(
    found: PaperFit, transform: Transform, i: Indices, j: Indices, level: float, noisy: bool
) -> Estimates:
    """Means of the draws, and intervals of the entries, or (noisy) of measurements of them."""
    mean, low, high = np.empty(len(i)), np.empty(len(i)), np.empty(len(i))
    noise = NoiseLaw(found.belief.noise_var, None).stratified()[:, :, None] if noisy else np.zeros((1, 1, 1))
    for start in range(0, len(i), BLOCK):
        part = slice(start, start + BLOCK)
        x = found.belief.at(i[part], j[part])
        mean[part] = transform.inverse(found.center + found.scale * x).mean(0)
        values = transform.inverse(found.center + found.scale * (x + noise))
        low[part], high[part] = quantiles(values.reshape(-1, x.shape[1]), level)
    return Estimates(mean, low, high)


def _estimator(truth: Truth, case: Case, seed: int) -> Estimator:
    sampler = build_sampler(truth, case)

    def estimate(state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
        transform = Transform.parse(state.settings.transform)
        return estimate_entries(fit(state, sampler), transform, rows, cols, level, noisy=not truth.simulated)

    return estimate


def build_sampler(truth: Truth, case: Case) -> Sampler:
    """With the case's rank; the values of simulations are in the units of the priors already."""
    return Sampler(rank_setting(case.model, RANK), standardise=not truth.simulated)


PAPERS_MAXENT = Strategy(
    "papers_maxent",
    "MaxEnt, the paper's sampler",
    policy=_policy,
    estimator=_estimator,
    fits=True,
    baseline="papers_uniform",
    style=Style(VERMILLION, "dashdot", "D"),
)
PAPERS_UNIFORM = Strategy(
    "papers_uniform",
    "uniform, the paper's sampler",
    start="uniform",
    estimator=_estimator,
    style=Style(GREY, "dashed", "d"),
)
PAPERS_BALANCED = Strategy(
    "papers_balanced",
    "balanced, then uniform, the paper's sampler",
    estimator=_estimator,
    baseline="papers_uniform",
    style=Style(PURPLE, "dotted", "d"),
)
PAPERS_OWN = (PAPERS_MAXENT, PAPERS_UNIFORM, PAPERS_BALANCED)
