"""Chains left in a mode without mass are not pooled with the others; where modes are all alike none is lost."""

import numpy as np
import pytest

from maxentry import Observations, Priors, complete
from maxentry.kernels import gibbs as kernel
from maxentry.posterior import chains, gibbs
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


def matrix_with_effects(seed, shape=(30, 20), rank=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    X = X + rng.standard_normal((shape[0], 1)) + rng.standard_normal(shape[1])
    Y = X + 0.01 * rng.standard_normal(shape)
    return X, np.where(rng.random(shape) < 0.5, Y, np.nan)


def fit_all_chains(Y, **options):
    posterior = complete(Y, 2, seed=0, progress=False, **options)
    return posterior, float(np.median(posterior.draws.eta2)), posterior.draws.eta2.mean(axis=1)


def test_annealing_leaves_no_chain_in_a_mode_without_mass(monkeypatch):
    """With aligned effects on the way, a slot of the frame would carry an effect in several of 32 chains."""
    monkeypatch.setattr(chains, "drop_stuck_chains", lambda run, data: run)
    X, Y = matrix_with_effects(1)
    posterior, middle, each = fit_all_chains(Y)
    assert len(posterior.chains) == 32
    assert (each > 4 * middle).sum() == 0
    error = np.sqrt(np.mean((posterior.mean - X)[np.isnan(Y)] ** 2))
    assert error < 0.03
    step = gibbs.step  # the control: annealing as at beta = 1, with the aligned part and without the ridge
    monkeypatch.setattr(gibbs, "step", lambda *args: step(*args[:10]))
    before, middle, each = fit_all_chains(Y)
    assert (each > 4 * middle).sum() >= 3
    assert np.sqrt(np.mean((before.mean - X)[np.isnan(Y)] ** 2)) > 3 * error


def test_a_stuck_chain_does_not_spoil_an_exact_matrix(monkeypatch):
    """A chain that is stopped half-way is left out and counted; pooled, it would spoil the estimate."""
    X, Y = matrix_with_effects(1)
    step = gibbs.step

    def lose_a_component(state, data, rank, *rest):
        state = step(state, data, rank, *rest)
        if rest[5] > 0 and rest[1].bit_generator.state["state"]["inc"] == first:  # draws of the first chain
            for array in (rest[4].left, rest[4].right):
                array[..., 0] = 0.0
            rest[4].scalars[:, kernel.ETA2] = 1.0
        return state

    seed = np.random.SeedSequence(0).spawn(2)[1].spawn(32)[0]
    first = np.random.PCG64(seed).state["state"]["inc"]
    monkeypatch.setattr(gibbs, "step", lose_a_component)
    posterior, _, _ = fit_all_chains(Y)
    assert len(posterior.chains) == 31
    assert "1 left out" in repr(posterior)
    assert np.sqrt(np.mean((posterior.mean - X)[np.isnan(Y)] ** 2)) < 0.03


def test_the_path_of_annealing_ends_where_the_posterior_begins():
    """At beta = 1 the ridge is zero; on the way there are no aligned effects, and they come back after it."""
    _, Y = matrix_with_effects(0)
    data = prepare(Observations.of(Y), True, "gaussian", True, None)
    priors = Priors.weak(data.shape, 2)
    state = gibbs.init(data, 2, priors, np.random.default_rng(0))
    nothing = DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))

    def sweep(state, betas, annealing):
        rng = np.random.default_rng(1)
        return gibbs.step(
            state, data, 2, gibbs.hyperparameters(priors), rng, np.array(betas), nothing, 0, annealing=annealing
        )  # fmt: skip

    cold = sweep(state, [0.01, 0.1], True)
    assert not cold.left[:, 3].any()
    assert not cold.right[:, 3].any()
    warm = sweep(cold, [1.0] * 20, False)
    assert warm.left[:, 3].any()
    alone = prepare(Observations.of(Y), False, "gaussian", True, None)
    state, data = gibbs.init(alone, 2, priors, np.random.default_rng(0)), alone
    assert np.array_equal(sweep(state, [1.0], True).left, sweep(state, [1.0], False).left)
    assert not np.array_equal(sweep(state, [0.5], True).left, sweep(state, [0.5], False).left)
