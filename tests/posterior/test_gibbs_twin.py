"""Whole sweeps of the compiled sampler against its slow twin: the same data, the same law."""

import numpy as np
import pytest
from tests.reference import gibbs_slow as slow
from tests.reference.chains import z_between
from tests.reference.gibbs_compiled import Compiled
from tests.reference.gibbs_slow import Model, State

from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.priors import HalfCauchy, InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs

PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)
WIDE = Priors(InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), HalfCauchy(0.3), HalfCauchy(2.0), 0.5)
PASS, FAIL = 4.0, 6.0  # largest |z| of a right sampler; a wrong one must exceed FAIL

MODELS = {
    "plain": Model((6, 5), 2, PRIORS),
    "effects": Model((6, 5), 1, PRIORS, effects=True),
    "effects, rank 2": Model((6, 5), 2, PRIORS, effects=True),
    "half-Cauchy": Model((6, 5), 1, WIDE, effects=True),
    "half-Cauchy, rank 2": Model((6, 5), 2, WIDE, effects=True),
    "effects, student": Model((6, 5), 1, PRIORS, effects=True, nu_grid=gibbs.NU_GRID),
    "tempered": Model((6, 5), 2, PRIORS, effects=True, beta=0.3),
    "student, tempered": Model((6, 5), 1, PRIORS, nu_grid=gibbs.NU_GRID, beta=0.5),
    "rank 0, student": Model((6, 5), 0, PRIORS, effects=True, nu_grid=gibbs.NU_GRID),
    "effects, columns": Model((6, 5), 1, PRIORS, effects=True, nu_grid=gibbs.LINE_NU_GRID, noise="columns"),
}
MISTAKE = {
    "plain": "sigma2 shape",
    "effects": "replicates once",
    "effects, rank 2": "slope forgotten",
    "half-Cauchy": "tail forgotten",
    "half-Cauchy, rank 2": "slope forgotten",
    "effects, student": "rss unweighted",
    "tempered": "beta forgotten",
    "student, tempered": "wishart df",
    "rank 0, student": "tau2 shape",
    "effects, columns": "line once",
}


def quantities(states):
    s = State(*(np.array(field) for field in zip(*states, strict=True)))
    parts = [s.X.reshape(len(s.mu), -1), s.mu, s.r, s.c, np.log(s.eta2), np.log(s.sigma2), np.log(s.tau2_row)]
    values = np.column_stack([*parts, np.log(s.tau2_col), np.log(np.minimum(s.nu, 1e6)), np.log(s.w)])
    aligned = [s.p, s.q, s.r + s.p, s.c + s.q, (s.r + s.p) ** 2, np.log(s.s2_row), np.log(s.s2_col)]
    aligned += [(s.p**2).sum(axis=1), (s.q**2).sum(axis=1)]
    values = np.column_stack([values, np.log(s.eta2) ** 2, s.X[:, 0, 0] ** 2, s.X[:, 5, 4] ** 2, *aligned])
    return values[:, np.ptp(values, axis=0) > 0]


def compare(name, n, seed, mistakes=()):
    """Largest |z| between the compiled chain (5 n sweeps) and the slow twin (n sweeps) on the same data."""
    model, rng = MODELS[name], np.random.default_rng(seed)
    flat = rng.permutation(30)[:15]
    i, j = np.divmod(np.sort(np.append(flat, [flat[0], flat[0], flat[1]])), 5)
    start = State(*(field[0] for field in slow.prior_draws(1, model, i, j, rng)))
    y = slow.measure(start._replace(eta2=0.1), i, j, 1.0, rng)
    compiled, state = Compiled(model, start, i, j, rng), start
    fast, twin = [compiled(y) for _ in range(5 * n)][n // 2 :: 3], []
    for _ in range(n):
        state = slow.sweep(state, i, j, y, model, rng, mistakes)
        twin.append(state)
    return np.abs(z_between(quantities(fast), quantities(twin[n // 10 :]))).max()


def test_the_compiled_chain_and_the_slow_twin_agree():
    assert compare("effects, rank 2", 1_500, seed=8) < PASS


@pytest.mark.slow
def test_negative_control_a_twin_with_a_mistake_does_not_agree():
    assert compare("effects, rank 2", 1_500, seed=8, mistakes=("slope forgotten",)) > FAIL


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_long_chains_of_every_model_agree_with_the_slow_twin(name):
    # Effects of rank 1 mix slowly, so that errors of shorter chains are taken too small: 4.4 with 12,000.
    assert compare(name, 36_000 if name == "effects" else 12_000, seed=9) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_negative_control_every_model_shows_its_mistake(name):
    assert compare(name, 6_000, seed=10, mistakes=(MISTAKE[name],)) > FAIL


@pytest.mark.parametrize("effects", [False, True])
def test_a_component_that_vanished_comes_back(effects):
    """Given L alone its strength would change by a few per cent a sweep."""
    rng, (m1, m2, R, N) = np.random.default_rng(11), (300, 200, 3, 6_000)
    U, V = rng.standard_normal((m1, R)), rng.standard_normal((m2, R))
    i, j = np.divmod(rng.permutation(m1 * m2)[:N], m2)
    y = (U @ V.T)[i, j] + 0.3 * rng.standard_normal(N)
    data = gibbs.prepare(Observations((m1, m2), i, j, y), effects, GAUSSIAN, False, None)
    start = gibbs.init(data, R, PRIORS, rng)
    for array, factors in ((start.left, U), (start.right, V)):
        array[:] = 0.0
        array[:, :R] = factors
    start.left[:, 0] = 1e-3 * rng.standard_normal(m1)
    start.right[:, 0] = 1e-2 * rng.standard_normal(m2)
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))
    hyper = gibbs.hyperparameters(PRIORS)
    end = gibbs.step(start, data, R, hyper, rng, np.ones(150), nothing, 0)
    strengths = np.linalg.svd(end.left[:, :R] @ end.right[:, :R].T, compute_uv=False)[:R]
    assert strengths[-1] > 0.5 * np.sqrt(m1 * m2)
