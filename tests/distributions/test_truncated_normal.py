"""Latent values between two ends have the law of a cut normal, however far out the ends lie."""

import numpy as np
import pytest
from scipy.special import log_ndtr
from tests.reference import latent_slow as slow
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import latent as kernel

INF = np.inf
# (low, high) in units of sd around the mean: both sides, both tails, narrow and wide, and 10 and 40 sd out
ENDS = [
    (-INF, 0.0), (0.0, INF), (-INF, 1.5), (-1.5, INF), (0.3, INF), (-INF, -0.3), (0.6, INF), (2.0, INF), (-INF, -5.0),
    (10.0, INF), (-INF, -10.0), (40.0, INF), (-0.5, 0.5), (-2.0, 3.0), (-0.1, 6.0), (0.2, 0.9), (1.0, 1.2), (1.0, 4.0),
    (-4.0, -1.0), (10.0, 10.05), (-10.5, -10.0), (10.0, 11.0), (-1e-9, 1e-9), (7.0, 7.5),
]  # fmt: skip
N = 4000


def draws(low, high, n, seed, mean=0.0, sd=1.0, weights=None):
    """n draws by the kernel, which wrote the same numbers to both sides, in their orders."""
    rng = np.random.default_rng(seed)
    source = rng.permutation(n).astype(np.int32)
    pair = np.zeros(n, np.int32)
    work = kernel.Latent(pair, np.array([[low, high]]), np.full(n, mean), np.empty(0, np.int64), np.zeros(1))
    left, right = np.zeros(n), np.zeros(n)
    weights = np.empty(0, bool) if weights is None else weights
    kernel.fill_latent(work, source, weights, 1 / sd**2, left, right, rng)
    np.testing.assert_array_equal(left[source], right)
    return right


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_draws_have_the_law_of_a_cut_normal(low, high):
    x = draws(low, high, N, seed=1)
    assert low <= x.min() <= x.max() <= high
    assert ks(x, lambda t: slow.cdf(t, 0.0, 1.0, low, high)) > ACCEPT


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_the_slow_twin_has_the_same_law(low, high):
    rng = np.random.default_rng(2)
    x = [slow.draw(0.0, 1.0, low, high, rng) for _ in range(500)]
    assert ks(x, lambda t: slow.cdf(t, 0.0, 1.0, low, high)) > ACCEPT


def test_means_and_sds_and_weights_scale_the_law():
    x = draws(4.0, INF, N, seed=3, mean=1.0, sd=2.0)
    assert ks(x, lambda t: slow.cdf(t, 1.0, 2.0, 4.0, INF)) > ACCEPT
    x = draws(4.0, INF, N, seed=4, mean=1.0, sd=2.0, weights=np.full(N, 4.0))
    assert ks(x, lambda t: slow.cdf(t, 1.0, 1.0, 4.0, INF)) > ACCEPT


@pytest.mark.parametrize("low", [0.0, 3.0, 10.0, 38.0])
def test_the_mean_beyond_an_end_is_the_ratio_of_density_and_tail(low):
    x = draws(low, INF, 20_000, seed=5)
    mean = np.exp(-0.5 * low**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-low))
    assert abs(x.mean() - mean) < 4 * x.std() / np.sqrt(x.size)


def test_negative_control_an_end_that_is_a_little_off_is_rejected():
    x = draws(10.0, INF, 20_000, seed=6)
    assert ks(x, lambda t: slow.cdf(t, 0.0, 1.0, 9.98, INF)) < REJECT
    assert ks(x, lambda t: slow.cdf(t, 0.0, 1.03, 10.0, INF)) < REJECT


def test_plain_values_are_left_alone_and_numbers_that_are_none_do_not_hang():
    pair = np.array([-1, 0, -1, 0], np.int32)
    work = kernel.Latent(
        pair, np.array([[0.0, INF]]), np.array([0, 1, 0, np.nan]), np.empty(0, np.int64), np.zeros(1)
    )
    left, right = np.full(4, 7.0), np.full(4, 7.0)
    kernel.fill_latent(
        work, np.arange(4, dtype=np.int32), np.empty(0, bool), 1.0, left, right, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(right[[0, 2]], 7.0)
    assert right[1] > 0
    assert np.isnan(right[3])


@pytest.mark.parametrize(("low", "high"), [*ENDS, (38.0, INF), (-INF, -100.0), (50.0, 50.1), (-INF, 9.0)])
def test_log_probabilities_keep_their_digits(low, high):
    assert kernel.log_between(low, high) == pytest.approx(
        slow.log_probability(low, high), rel=5e-9, abs=1e-12
    )


@pytest.mark.parametrize("a", [*np.linspace(-12, 45, 400), 1e3])
def test_the_quick_log_tail_is_right_to_nine_digits(a):
    work = kernel.Latent(
        np.zeros(1, np.int32), np.array([[a, INF]]), np.zeros(1), np.empty(0, np.int64), np.zeros(1)
    )
    found = kernel.log_probability(work, np.empty(0, bool), 1.0, 0, 0)
    assert found == pytest.approx(log_ndtr(-a), abs=2e-9, rel=1e-12)


def test_log_probabilities_add_up_over_measurements():
    rng, n = np.random.default_rng(7), 2000
    cuts = np.array([-1.0, -0.2, 0.7, 1.1])
    edges = np.concatenate([[-INF], cuts, [INF]])
    pair, mean, w = rng.integers(-1, 5, n).astype(np.int32), 2 * rng.standard_normal(n), rng.gamma(2, 0.5, n)
    work = kernel.Latent(
        pair, np.column_stack([edges[:-1], edges[1:]]), mean, np.empty(0, np.int64), np.zeros(1)
    )
    for weights in (w, np.empty(0, bool)):
        root = np.sqrt(2.5 * (weights if weights.size else np.ones(n)))
        each = [
            slow.log_probability(r * (edges[k] - x), r * (edges[k + 1] - x)) if k >= 0 else 0.0
            for k, x, r in zip(pair, mean, root, strict=True)
        ]
        assert kernel.log_probability(work, weights, 2.5, 0, 4) == pytest.approx(sum(each), rel=1e-8)
        some = sum(x for x, k in zip(each, pair, strict=True) if k in (1, 2))
        assert kernel.log_probability(work, weights, 2.5, 1, 2) == pytest.approx(some, rel=1e-8)
