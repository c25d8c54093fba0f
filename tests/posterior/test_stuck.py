"""Chains left in a mode without mass are not pooled with the others; where modes are all alike none is lost."""

import numpy as np
import pytest

from maxentry import Observations, Sampling, complete
from maxentry.kernels import gibbs as kernel
from maxentry.posterior import chains
from maxentry.posterior.chains import Chain, ChainRun, drop_stuck_chains
from maxentry.posterior.gibbs import DrawBuffers, GibbsState, prepare


def run_with_noise(eta, rank=1, shape=(30, 20)):
    """A run of chains of one draw each, of which only the noise matters here."""
    n = len(eta)
    scalars = np.zeros((n, 1, kernel.N_SCALARS))
    scalars[:, 0, kernel.ETA2] = np.square(eta)
    arrays = (np.arange(n, dtype=float).reshape(n, 1, 1, 1) * np.ones((1, 1, m, rank)) for m in shape)
    state = GibbsState(np.zeros((shape[0], rank)), np.zeros((shape[1], rank)), np.zeros(8), np.zeros(0))
    kept = DrawBuffers(*arrays, np.zeros((n, 1, shape[0])), np.zeros((n, 1, shape[1])), scalars)
    return ChainRun(tuple(Chain(rank, state, {}) for _ in range(n)), kept, tuple(range(n)))


def data_of(share, shape=(30, 20)):
    rng = np.random.default_rng(0)
    Y = np.where(rng.random(shape) < share, rng.normal(size=shape), np.nan)
    return prepare(Observations.of(Y), True, "gaussian", True, None)


def test_a_chain_with_far_more_noise_is_left_out_with_its_draws():
    run = drop_stuck_chains(run_with_noise([1.0, 1.1, 5.0, 0.9]), data_of(0.9))
    assert run.places == (0, 1, 3)
    assert len(run.chains) == 3
    assert run.buffers.left[:, 0, 0, 0].tolist() == [0.0, 1.0, 3.0]
    assert run.buffers.scalars.shape[0] == 3


@pytest.mark.parametrize(
    ("eta", "share"),
    [([1.0, 1.1, 1.9, 0.9], 0.9), ([1.0, 1.0, 0.01, 1.0], 0.9), ([1.0, 1.1, 5.0, 0.9], 0.1)],
    ids=[
        "within a factor of two",
        "less noise is not stuck",
        "fewer values than parameters: every mode may count",
    ],
)
def test_other_chains_stay(eta, share):
    assert drop_stuck_chains(run_with_noise(eta), data_of(share)).places == (0, 1, 2, 3)


def test_chains_are_judged_beside_those_of_their_own_rank():
    low, high = run_with_noise([5.0, 5.0]), run_with_noise([1.0, 1.0])
    kept = DrawBuffers(*(np.concatenate(pair) for pair in zip(low.buffers, high.buffers, strict=True)))
    mixed = tuple(c._replace(rank=r) for c, r in zip(low.chains + high.chains, (0, 0, 1, 1), strict=True))
    assert len(drop_stuck_chains(ChainRun(mixed, kept, (0, 1, 2, 3)), data_of(0.9)).chains) == 4


def test_a_stuck_chain_does_not_spoil_an_exact_matrix(monkeypatch):
    """Seed 0 leaves one of 32 chains stuck; pooled, it would make the error many times larger."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    Y = np.where(rng.random(X.shape) < 0.5, X, np.nan)
    plan = Sampling(chains=32, anneal=150, settle=150, draws=12, thin=12)

    def fit():
        posterior = complete(Y, 2, effects=False, sampling=plan, seed=0)
        return posterior, np.sqrt(np.mean((posterior.mean - X)[np.isnan(Y)] ** 2))

    cleaned, error = fit()
    assert len(cleaned.chains) == 31
    assert "1 left out" in repr(cleaned)
    assert error < 0.002
    monkeypatch.setattr(chains, "drop_stuck_chains", lambda run, data: run)
    assert fit()[1] > 5 * error  # the control
