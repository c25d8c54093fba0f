"""Intervals are quantiles of the draws; those of a new measurement contain its noise."""

import itertools

import numpy as np
import pytest
from scipy import stats
from tests.posterior.examples import MANY, SHORT, low_rank, matrices

from maxentry import belief as belief_module
from maxentry import complete
from maxentry.belief import Belief
from maxentry.errors import ParameterError
from maxentry.model.likelihood import NoiseLaw
from maxentry.posterior.intervals import Answers, check_level, interval_map, quantiles


@pytest.fixture(scope="module")
def posterior():
    return complete(low_rank()[1], 2, sampling=SHORT, seed=1)


def test_interval_map_is_the_quantile_of_the_draws(posterior):
    draws = matrices(posterior).reshape(-1, *posterior.shape)
    low, high = posterior.interval(0.8)
    expected = np.quantile(draws, [0.1, 0.9], axis=0, method="weibull")
    np.testing.assert_allclose([low, high], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("numbers", [1, 50, 10_000])
def test_small_blocks_give_the_same_maps(posterior, monkeypatch, numbers):
    whole = posterior.interval(), posterior.predictive_interval()
    monkeypatch.setattr(belief_module, "BLOCK_NUMBERS", numbers)
    np.testing.assert_allclose(posterior.interval(), whole[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(posterior.predictive_interval(), whole[1], rtol=0, atol=1e-12)


def test_intervals_are_nested_and_the_predictive_ones_wider():
    posterior = complete(low_rank()[1], 2, sampling=MANY, seed=1)
    levels = (0.5, 0.8, 0.9, 0.95)
    maps = [posterior.interval(level) for level in levels]
    for (low, high), (low_wider, high_wider) in itertools.pairwise(maps):
        assert np.all(low_wider <= low)
        assert np.all(high <= high_wider)
    low, high = maps[2]
    new_low, new_high = posterior.predictive_interval(0.9)
    width, new_width = high - low, new_high - new_low
    # The noise is a sample too: where the entry is known far worse than it can be measured, widths may tie, up to
    # two standard errors of a width of S draws: sqrt(2 * 0.05 * 0.95 / S) / (0.103 * 3.29), 5% for these 320.
    assert np.mean(new_width > width) > 0.95
    assert np.all(new_width > 0.9 * width)
    measured = posterior.observations.observed.toarray()
    # A measured entry is known at least as well as it can be measured: sqrt(2) times as wide, up to that error.
    assert np.median(new_width[measured] / width[measured]) > 1.3
    assert np.mean(new_width[measured] > 1.1 * width[measured]) >= 0.9


@pytest.mark.parametrize("S", [9, 99, 199])
def test_a_new_draw_falls_into_the_interval_with_its_probability(S):
    """P(low <= x <= high) is exact at k/(S + 1); the usual quantiles (k - 1)/(S - 1) fall short."""
    rng = np.random.default_rng(3)
    draws, new = rng.normal(size=(S, 20_000)), rng.normal(size=20_000)
    low, high = np.quantile(draws, [0.1, 0.9], axis=0)
    usual = np.mean((low <= new) & (new <= high))
    low, high = quantiles(draws, 0.8)
    held = np.mean((low <= new) & (new <= high))
    error = np.sqrt(0.8 * 0.2 / 20_000)
    assert abs(held - 0.8) < 4 * error
    if S == 9:
        assert abs(usual - 0.8) > 4 * error


def known_matrix(S, noise_var):
    """A belief that is certain of X = 0."""
    zero = [np.zeros((S, 2, 1)), np.zeros((S, 2, 1)), np.zeros((S, 2)), np.zeros((S, 2))]
    return Belief(*zero, np.zeros(S), np.full(S, noise_var))


@pytest.mark.parametrize("nu", [None, 3.0])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_of_a_known_entry_the_predictive_interval_is_that_of_the_noise(nu, level):
    S = 100
    belief = known_matrix(S, 4.0)
    noise = NoiseLaw(belief.noise_var, None if nu is None else np.full(S, nu))
    law = stats.norm(scale=2.0) if nu is None else stats.t(nu, scale=2.0)
    low, high = interval_map(belief, level, Answers(noise), measured=True)
    n = (
        noise.stratified().size
    )  # quantiles at (k + 1/2)/n, read at k/(n + 1): off by at most 1/n in probability
    np.testing.assert_allclose(
        law.cdf([low[0, 0], high[1, 1]]), [0.5 - level / 2, 0.5 + level / 2], atol=1 / n
    )


@pytest.mark.parametrize("level", [0, 1, -0.1, 90, True, np.nan, "0.9", None])
def test_a_level_that_is_no_probability_is_refused(posterior, level):
    asked = (
        posterior.interval,
        posterior.predictive_interval,
        lambda x: posterior.predict(0, 0, x),
        lambda x: posterior.to_frame(level=x),
        check_level,
    )
    for ask in asked:
        with pytest.raises(ParameterError, match="level must lie between 0 and 1"):
            ask(level)
