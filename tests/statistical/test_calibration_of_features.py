"""Simulation-based calibration of sweeps with features: ranks of the truth among posterior draws are uniform.

A state comes from the prior, and measurements of all rows but the last. The sampler starts elsewhere, where chains of
`complete` begin. In the negative control it has another prior of rho.
"""

import numpy as np
import pytest
from tests.posterior.test_link_geweke import PRIOR, PRIORS, make_model
from tests.reference import link_slow as slow
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import gibbs as kernel
from maxentry.kernels.link import RHO
from maxentry.model import link as link_model
from maxentry.model.likelihood import GAUSSIAN
from maxentry.observations import Observations
from maxentry.posterior import gibbs

SHAPE, RANK, P, TABLES = (12, 6), 1, (3, 2), 250
WARM_UP, DRAWS, THIN = 400, 19, 60
UNITS = gibbs.Units(0.0, 1.0)


def posterior_draws(told, bases, rng):
    """Statistics of draws of the compiled sampler, (DRAWS, statistics)."""
    data = gibbs.prepare(told, True, GAUSSIAN, False, UNITS, bases)
    state, hyper = gibbs.init(data, RANK, PRIORS, rng), gibbs.hyperparameters(PRIORS)
    (m1, m2), n = SHAPE, state.scalars.size
    buffers = gibbs.DrawBuffers(
        *(np.empty((DRAWS, *part)) for part in ((m1, RANK), (m2, RANK), (m1,), (m2,), (n,)))
    )
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))
    state = gibbs.step(state, data, RANK, hyper, rng, np.ones(WARM_UP), nothing, 0)
    gibbs.step(state, data, RANK, hyper, rng, np.ones(DRAWS * THIN), buffers, THIN)
    X = np.einsum("sir,sjr->sij", buffers.left, buffers.right)
    X += buffers.row[:, :, None] + buffers.col[:, None] + buffers.scalars[:, kernel.MU, None, None]
    return summarise(X, buffers.scalars[:, kernel.ETA2], *buffers.scalars[:, list(RHO)].T)


def summarise(X, eta2, *rho):
    """Entries, the last row of which has no measurement, their mean and spread, and the variances."""
    return np.column_stack(
        [X[:, 0, 0], X[:, 1, 2], X[:, -1, 0], X[:, -1].mean(1), X.mean((1, 2)), X.var((1, 2)), eta2, *rho]
    )


def ranks(seed):
    """Ranks of the truth among posterior draws, spread over (0, 1): (TABLES, statistics)."""
    rng, (m1, m2) = np.random.default_rng(seed), SHAPE
    i, j = np.divmod(np.arange((m1 - 1) * m2), m2)
    found = []
    for _ in range(TABLES):
        model, bases = make_model(SHAPE, RANK, P, True, rng)
        s = slow.prior_draw(model, rng)
        y = slow.measure(s, i, j, model, rng)
        draws = posterior_draws(Observations(SHAPE, i, j, y), bases, rng)
        truth = summarise(slow.matrix(s, model)[None], *([x] for x in (s.eta2, s.rows.rho, s.cols.rho)))[0]
        found.append(((draws < truth).sum(axis=0) + rng.random(truth.size)) / (DRAWS + 1))
    return np.array(found)


def smallest(u):
    """The smallest p-value of uniform ranks, times their number."""
    return min(ks(column, lambda t: t) for column in u.T) * u.shape[1]


@pytest.fixture(autouse=True)
def narrow_prior(monkeypatch):
    """A prior of which tables can be simulated."""
    monkeypatch.setattr(link_model, "PRIOR", PRIOR)


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    assert smallest(ranks(seed=1)) > ACCEPT


@pytest.mark.slow
def test_negative_control_another_prior_of_rho_fails(monkeypatch):
    monkeypatch.setattr(link_model, "PRIOR", PRIOR._replace(scale=4 * PRIOR.scale))
    assert smallest(ranks(seed=2)) < REJECT
