"""The rank is chosen by what it predicts: stacking is an optimum, additive data get 0, low rank is found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import Observations, complete
from maxentry.errors import RankError
from maxentry.posterior import rank as module
from maxentry.posterior.rank import PSEUDO_COUNT, RankChoice, choose, log_predictive, stacking_weights


def slow_weights(log_density):
    """The slow twin: the same objective by SciPy's general optimiser."""
    K, _ = log_density.shape
    density = np.exp(log_density - log_density.max(0))

    def loss(w):
        return -np.log(w @ density).sum() - PSEUDO_COUNT / K * np.log(w).sum()

    found = minimize(
        loss, np.full(K, 1 / K), method="SLSQP", bounds=[(1e-9, 1)] * K,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-13, "maxiter": 1000},
    )  # fmt: skip
    return found.x


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 80), st.floats(0.01, 3.0), st.integers(0, 2**32 - 1))
def test_stacking_finds_the_optimum(K, n, spread, seed):
    log_density = (
        spread * np.random.default_rng(seed).normal(size=(K, n)) - 700
    )  # also where exp() underflows
    weights = stacking_weights(log_density)
    assert weights.sum() == pytest.approx(1.0)
    assert np.all(weights > 0)
    np.testing.assert_allclose(weights, slow_weights(log_density), atol=2e-3)


def test_stacking_goes_to_the_better_model_and_mixes_complements():
    better = np.array([[-1.0] * 200, [-3.0] * 200])
    assert stacking_weights(better)[0] > 0.98
    halves = np.array([[-1.0, -9.0] * 100, [-9.0, -1.0] * 100])
    np.testing.assert_allclose(stacking_weights(halves), 0.5, atol=1e-3)


weights = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6).filter(lambda w: sum(w) > 0.1)


@given(weights, st.integers(1, 64))
def test_all_chains_are_allotted_in_proportion(w, n):
    share = np.array(w) / sum(w)
    ranks = tuple(range(len(w)))
    allotted = RankChoice(ranks, (0.0,) * len(w), tuple(share), 10).allot(n)
    assert len(allotted) == n
    kept = np.where(share < module.LEAST_SHARE, 0.0, share)
    counts = np.bincount(allotted, minlength=len(w))
    assert np.all(np.abs(counts - n * kept / kept.sum()) < 1)
    assert np.all(counts[kept == 0] == 0)


@pytest.mark.parametrize("nu", [None, 4.0])
def test_log_predictive_is_the_mean_density_over_draws(nu):
    rng = np.random.default_rng(0)
    x, y, eta2 = rng.normal(size=(7, 5)), rng.normal(size=5), rng.gamma(2.0, size=7)
    sd = np.sqrt(eta2)[:, None]
    law = stats.norm(x, sd) if nu is None else stats.t(nu, x, sd)
    given_nu = None if nu is None else np.full(7, nu)
    np.testing.assert_allclose(log_predictive(x, y, eta2, given_nu), np.log(law.pdf(y).mean(0)))


# The ladder


def tried(scores, shape=(40, 40), effects=True):
    """The ranks tried where each rank's mean score is `scores(rank)`."""
    observations = Observations.of(np.random.default_rng(0).normal(size=shape))

    def score(train, test, rank, seed):
        return scores(rank) + 0.1 * np.random.default_rng(rank).normal(size=test.n)

    return choose(observations, effects, score, np.random.SeedSequence(0))


def test_the_ladder_climbs_while_it_pays_and_stops_at_half_the_shorter_side():
    assert tried(lambda r: float(r)).ranks == (0, 1, 2, 4, 8, 16)
    assert tried(lambda r: float(r), shape=(40, 12)).ranks == (0, 1, 2, 4)
    assert tried(lambda r: float(r), effects=False).ranks == (1, 2, 4, 8, 16)
    assert tried(lambda r: -float(r)).ranks == (0, 1, 2, 4)
    assert tried(lambda r: -abs(r - 4.0)).ranks == (0, 1, 2, 4, 8)
    assert tried(lambda r: -abs(r - 4.0)).best == 4


def test_every_observation_is_held_out_once_and_replicates_go_together():
    rows, cols = np.tile([0, 1, 2, 3], 6), np.tile([0, 1, 2], 8)
    observations = Observations((4, 3), rows, cols, np.arange(24.0))
    held = []
    for train, test in module._folds(observations, np.random.default_rng(0)):
        assert train.n + test.n == 24
        assert not set(zip(train.rows, train.cols, strict=True)) & set(zip(test.rows, test.cols, strict=True))
        assert (train.shape, test.shape) == ((4, 3), (4, 3))
        held += test.values.tolist()
    assert sorted(held) == list(range(24))


# On data


def on_additive_data(seed):
    """The weight of rank 0, and the error over that of rank 0 alone, on data of rank 0."""
    X, Y = low_rank((30, 20), rank=0, noise=0.3, missing=0.3, seed=seed)
    fitted, additive = complete(Y, seed=1), complete(Y, 0, seed=1)
    missing = np.isnan(Y)
    error, least = (np.sqrt(np.mean((p.mean - X)[missing] ** 2)) for p in (fitted, additive))
    return fitted.rank_weights.get(0, 0.0), error / least


def test_additive_data_keep_rank_zero_and_its_error():
    weight, error = on_additive_data(seed=1)
    assert weight > 0
    assert error < 1.1


@pytest.mark.slow
def test_on_additive_data_rank_zero_gets_the_most_weight():
    """Higher ranks shrink to nothing there and predict as well, so one data set may prefer them a little."""
    weights, errors = zip(*(on_additive_data(seed) for seed in range(6)), strict=True)
    assert np.mean(weights) > 0.3
    assert np.mean(errors) < 1.05
    assert max(errors) < 1.15


def test_a_clear_rank_is_found():
    X, Y = low_rank((30, 20), rank=3, noise=0.1, missing=0.3, seed=1)
    fitted = complete(Y, seed=1)
    assert fitted.rank >= 2
    assert 0 not in fitted.rank_weights
    missing = np.isnan(Y)
    additive = complete(Y, 0, seed=1)
    error, worse = (np.sqrt(np.mean((p.mean - X)[missing] ** 2)) for p in (fitted, additive))
    assert error < 0.5 * worse


def test_stacked_ranks_answer_as_one(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.sampling.WORK", 1e6)
    _, Y = low_rank(missing=0.6, seed=2)
    fitted = complete(Y, sampling=SHORT, seed=5)
    assert len(fitted.rank_weights) > 1, "the test needs several ranks"
    assert sum(fitted.rank_weights.values()) == pytest.approx(1.0)
    assert fitted.draws.rank == max(fitted.rank_weights)
    for c, chain in enumerate(fitted.chains):
        assert np.all(fitted.draws.left[c, :, :, chain.rank :] == 0)
    assert "stacked" in repr(fitted)
    assert "held-out" in str(fitted.rank_choice)
    assert fitted.more(2).draws.mu.shape == (4, 8)
    assert "singular_values" in fitted.to_arviz().posterior
    assert equal(fitted, complete(Y, sampling=SHORT, seed=5, threads=1))


def test_one_entry_leaves_nothing_to_hold_out():
    Y = np.full((3, 4), np.nan)
    Y[1, 2] = 5.0
    assert complete(Y, sampling=SHORT, seed=1).rank == 0
    assert complete(Y, effects=False, sampling=SHORT, seed=1).rank == 1


@pytest.mark.parametrize("rank", [-1, 1.5, True, "low", None, np.nan])
def test_ranks_that_are_none_are_refused(rank):
    with pytest.raises(RankError, match="'auto' or a whole number of at least 0"):
        complete(low_rank()[1], rank)


def test_a_rank_beyond_half_the_shorter_side_is_refused_with_the_reason():
    Y = low_rank((12, 9))[1]
    with pytest.raises(RankError, match=r"12 x 9.*at most 4.*half its shorter side.*got 5"):
        complete(Y, 5)
    assert complete(Y, 4, sampling=SHORT, seed=1).rank == 4
    assert complete(Y, np.int64(4), sampling=SHORT, seed=1).rank == 4


def test_rank_zero_without_effects_is_refused():
    with pytest.raises(RankError, match="nothing to fit"):
        complete(low_rank()[1], 0, effects=False)
