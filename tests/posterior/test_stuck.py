"""Chains left in a mode without mass are annealed again; where modes are all alike none is lost."""

import numpy as np
import pytest

from maxentry import Observations, Priors, Sampling, complete
from maxentry.kernels import gibbs as kernel
from maxentry.model.likelihood import GAUSSIAN
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import Chain, ChainRun, drop_stuck_chains
from maxentry.posterior.diagnostics import find_stuck_chains
from maxentry.posterior.draws import DrawStore
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
    return prepare(Observations.of(Y), True, GAUSSIAN, True, None)


def test_a_chain_with_far_more_noise_is_left_out_with_its_draws():
    run = drop_stuck_chains(run_with_noise([1.0, 1.1, 5.0, 0.9]), data_of(0.9))
    assert run.places == (0, 1, 3)
    assert len(run.chains) == 3
    assert run.buffers.left[:, 0, 0, 0].tolist() == [0.0, 1.0, 3.0]
    assert run.buffers.scalars.shape[0] == 3


def test_a_chain_that_gets_out_of_such_a_mode_while_draws_are_stored_is_stuck():
    """Half of its draws have no weight: R-hat of X at 30 x 20 was 1.02 to 1.03 for one such chain of 32."""
    eta = np.ones((8, 12))
    eta[5, :3] = 3.0
    eta[6, -3:] = 3.0  # the end of a chain is judged by all of it: nothing leaves the mode with all the mass
    assert find_stuck_chains(eta**2, np.full(8, 2), 300, (30, 20), True).tolist() == [
        c == 5 for c in range(8)
    ]
    assert not find_stuck_chains(eta**2, np.full(8, 2), 170, (30, 20), True).any()  # worth few nats


def test_with_a_noise_for_each_line_both_the_common_noise_and_that_of_a_typical_measurement_must_be_larger():
    eta, typical = np.ones((8, 12)), np.ones(8)
    eta[2:] = 1.3
    typical[[0, 2, 3]] = 1.3, 1.3, 1.1
    stuck = find_stuck_chains(eta[:3] ** 2, np.full(3, 2), 300, (30, 20), True, typical[:3] ** 2)
    assert not stuck.any()  # the median chain is as noisy
    eta[4:] = 1.0
    stuck = find_stuck_chains(eta**2, np.full(8, 2), 300, (30, 20), True, typical**2)
    assert stuck.tolist() == [c == 2 for c in range(8)]
    assert not find_stuck_chains(eta**2, np.full(8, 2), 300, (30, 20), True).any()  # with one noise for all


def test_with_a_noise_for_each_column_no_chain_is_left_that_calls_a_component_noise():
    """Its other columns have as little noise as ever: 4 of 16 chains of this table lacked a component, and a third
    of the squared error came of them."""
    rng = np.random.default_rng([1, 7])
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 40))
    X = X + rng.standard_normal((120, 1)) + rng.standard_normal(40)
    rng.random(40)
    Y = X + 0.3 * rng.standard_normal(X.shape)
    known = rng.random(X.shape) < 0.4
    plan = Sampling(chains=16, anneal=100, settle=100, draws=8, thin=8)
    fit = complete(
        np.where(known, Y, np.nan), 2, noise="columns", sampling=plan, seed=0, progress=False, threads=1
    )
    draws, squares = fit.draws, []
    for c in range(draws.eta2.shape[0]):
        mean = np.mean(
            [draws.mu[c, s] + draws.row[c, s][:, None] + draws.col[c, s] + draws.left[c, s] @ draws.right[c, s].T
             for s in range(plan.draws)], axis=0,
        )  # fmt: skip
        squares.append(np.mean((mean - Y)[~known] ** 2))
    assert max(squares) < 2 * np.median(squares)  # of those that lacked one: seven times


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


def fit_with_effects(**options):
    X, Y = matrix_with_effects(2)
    posterior = complete(Y, 2, seed=0, progress=False, **options)
    eta2 = posterior.draws.eta2.mean(axis=1)
    error = np.sqrt(np.mean((posterior.mean - X)[np.isnan(Y)] ** 2))
    return posterior, int((eta2 > 4 * np.median(eta2)).sum()), error


def test_stuck_chains_are_annealed_again_and_none_is_left(monkeypatch):
    """Where aligned effects are annealed too, a slot of the frame carries an effect in several of 32 chains."""
    watch = (list(range(20)), list(range(20)))
    with monkeypatch.context() as no_net:
        no_net.setattr(chains, "drop_stuck_chains", lambda run, data: run)
        posterior, stuck, error = fit_with_effects(watch=watch)
    assert (len(posterior.chains), stuck) == (32, 0)
    assert error < 0.03
    sampling = posterior.sampling
    assert posterior.watched.count.tolist() == [sampling.draws * sampling.thin] * 32
    assert np.allclose(posterior.watched.mean, np.diag(posterior.mean), atol=0.03)
    monkeypatch.setattr(chains, "anneal_again", lambda run, *rest, **options: run)  # the control
    fewer, _, _ = fit_with_effects()
    assert len(fewer.chains) <= 29
    assert f"{32 - len(fewer.chains)} left out" in repr(fewer)
    monkeypatch.setattr(chains, "drop_stuck_chains", lambda run, data: run)
    _, stuck, spoilt = fit_with_effects()
    assert stuck >= 3
    assert spoilt > 3 * error


def test_chains_are_annealed_again_in_a_store_as_in_memory(tmp_path, monkeypatch):
    plain, _, _ = fit_with_effects()
    zeros, places = DrawStore.zeros, []
    monkeypatch.setattr(DrawStore, "zeros", lambda self, *rest: places.append(self) or zeros(self, *rest))
    stored, stuck, _ = fit_with_effects(store=tmp_path / "fit")
    assert (len(stored.chains), stuck) == (32, 0)
    assert np.array_equal(plain.draws.left, stored.draws.left)
    assert np.array_equal(plain.draws.eta2, stored.draws.eta2)
    assert places == []  # none of the draws was in memory
    assert not (tmp_path / "fit" / "aside").exists()


def test_the_plain_path_ends_where_the_posterior_begins():
    """At beta = 1 the ridge is zero; on the way there are no aligned effects, and they come back after it."""
    _, Y = matrix_with_effects(0)
    data = prepare(Observations.of(Y), True, GAUSSIAN, True, None)
    priors = Priors.weak(data.shape, 2)
    state = gibbs.init(data, 2, priors, np.random.default_rng(0))
    nothing = DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))

    def sweep(state, betas, plain):
        rng = np.random.default_rng(1)
        return gibbs.step(
            state, data, 2, gibbs.hyperparameters(priors), rng, np.array(betas), nothing, 0, plain=plain
        )  # fmt: skip

    cold = sweep(state, [0.01, 0.1], True)
    assert not cold.left[:, 3].any()
    assert not cold.right[:, 3].any()
    warm = sweep(cold, [1.0] * 20, False)
    assert warm.left[:, 3].any()
    alone = prepare(Observations.of(Y), False, GAUSSIAN, True, None)
    state, data = gibbs.init(alone, 2, priors, np.random.default_rng(0)), alone
    assert np.array_equal(sweep(state, [1.0], True).left, sweep(state, [1.0], False).left)
    assert not np.array_equal(sweep(state, [0.5], True).left, sweep(state, [0.5], False).left)


def test_an_interrupt_of_the_second_annealing_keeps_the_other_chains(monkeypatch):
    run_chains = chains.run_chains

    def interrupt(*args, plain=False, **options):
        if plain:
            raise KeyboardInterrupt
        return run_chains(*args, **options)

    monkeypatch.setattr(chains, "run_chains", interrupt)
    posterior, _, _ = fit_with_effects()
    assert posterior.interrupted
    assert 20 < len(posterior.chains) < 32
