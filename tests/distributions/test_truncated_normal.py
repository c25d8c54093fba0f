"""Latent values between two ends have the law of a cut normal, however far out the ends lie."""

import numpy as np
import pytest
from numba import njit
from scipy.special import log_ndtr, ndtr, ndtri
from tests.reference import latent_slow as slow
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import latent as kernel
from maxentry.kernels import simd

INF = np.inf
# (low, high) in units of sd around the mean: both sides, both tails, narrow and wide, and 10 and 40 sd out
ENDS = [
    (-INF, 0.0), (0.0, INF), (-INF, 1.5), (-1.5, INF), (0.3, INF), (-INF, -0.3), (0.6, INF), (2.0, INF), (-INF, -5.0),
    (10.0, INF), (-INF, -10.0), (40.0, INF), (-0.5, 0.5), (-2.0, 3.0), (-0.1, 6.0), (0.2, 0.9), (1.0, 1.2), (1.0, 4.0),
    (-4.0, -1.0), (10.0, 10.05), (-10.5, -10.0), (10.0, 11.0), (-1e-9, 1e-9), (7.0, 7.5),
]  # fmt: skip
N = 4000


@njit
def _vectors(kind, x, out):
    for k in range(0, x.size, 8):
        if kind == 0:
            simd.store(out, k, simd.upper_tail(simd.load(x, k)))
        elif kind == 1:
            simd.store(out, k, simd.normal_quantile(simd.load(x, k)))
        else:
            simd.store(out, k, simd.uniforms(np.uint64(12345), k))


def vectors(kind, x):
    """A function for eight numbers at a time, at all of x."""
    out = np.empty(x.size)
    _vectors(("tail", "quantile", "uniform").index(kind), x, out)
    return out


def latent(pair, ends, mean, source=None):
    """What the kernel works on: all measurements in one column, line pair[n] of `ends` for measurement n."""
    n = len(pair)
    source = np.arange(n) if source is None else source
    parts = (np.array([0, n]), np.zeros(n, np.int32), np.empty(0, np.int64))
    made = kernel.make_latent(np.asarray(pair, np.int32), np.asarray(ends), source.astype(np.int32), *parts)
    made.mean[: made.place.size] = np.asarray(mean)[made.place]
    return made


def draws(low, high, n, seed, mean=0.0, sd=1.0, weights=None):
    """n draws by the kernel, which wrote the same numbers to both sides, in their orders."""
    rng = np.random.default_rng(seed)
    source = rng.permutation(n)
    work = latent(np.zeros(n), [[low, high]], np.full(n, mean), source)
    left, right = np.zeros(n), np.zeros(n)
    weights = np.empty(0, bool) if weights is None else weights
    kernel.fill_latent(work, weights, 1 / sd**2, left, right, rng)
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
    work = latent([-1, 0, -1, 0], [[0.0, INF]], np.array([0, 1, 0, np.nan]))
    left, right = np.full(4, 7.0), np.full(4, 7.0)
    kernel.fill_latent(work, np.empty(0, bool), 1.0, left, right, np.random.default_rng(0))
    np.testing.assert_array_equal(right[[0, 2]], 7.0)
    assert right[1] > 0
    assert np.isnan(right[3])


@pytest.mark.parametrize(("low", "high"), [*ENDS, (38.0, INF), (-INF, -100.0), (50.0, 50.1), (-INF, 9.0)])
def test_log_probabilities_keep_their_digits(low, high):
    assert kernel.log_between(low, high) == pytest.approx(
        slow.log_probability(low, high), rel=5e-9, abs=1e-12
    )


def log_probability(low, high):
    """The log probability of one measurement, by the kernel for eight at a time."""
    work = latent([0], [[low, high]], [0.0])
    return kernel.log_probability(work, work.ends, np.empty(0, bool), 1.0)


@pytest.mark.parametrize("low", [*np.linspace(-12, 45, 58), -40.0, 1e3, 1e6])
def test_log_tails_keep_their_digits(low):
    assert log_probability(low, INF) == pytest.approx(log_ndtr(-low), abs=1e-14, rel=1e-14)
    assert log_probability(-INF, -low) == pytest.approx(log_ndtr(-low), abs=1e-14, rel=1e-14)


@pytest.mark.parametrize(
    ("low", "high"), [*ENDS, (38.0, INF), (-INF, -100.0), (50.0, 50.1), (-INF, 9.0), (3.0, 40.0)]
)
def test_log_probabilities_of_intervals_keep_their_digits(low, high):
    assert log_probability(low, high) == pytest.approx(slow.log_probability(low, high), rel=5e-9, abs=1e-12)


def test_tails_and_quantiles_for_eight_at_a_time_keep_their_digits():
    a = np.concatenate([np.linspace(-9, 9, 200), [20.0, -20.0, 30.0, 33.0, INF, -INF, 0.0, 1e-300]])
    tail = vectors("tail", a)
    near = a < kernel.FAR  # no law is inverted beyond
    np.testing.assert_allclose(tail[near], ndtr(-a[near]), rtol=1e-14)
    np.testing.assert_allclose(tail, ndtr(-a), rtol=0, atol=1e-15)
    q = np.linspace(5e-4, 1 - 5e-4, 208)
    np.testing.assert_allclose(vectors("quantile", q), -ndtri(q), rtol=1e-13, atol=1e-14)


def test_log_probabilities_add_up_over_measurements():
    rng, n = np.random.default_rng(7), 2000
    cuts = np.array([-1.0, -0.2, 0.7, 1.1])
    edges = np.concatenate([[-INF], cuts, [INF]])
    pair, mean, w = rng.integers(-1, 5, n), 2 * rng.standard_normal(n), rng.gamma(2, 0.5, n)
    work = latent(pair, np.column_stack([edges[:-1], edges[1:]]), mean)
    for weights in (w, np.empty(0, bool)):
        root = np.sqrt(2.5 * (weights if weights.size else np.ones(n)))
        each = [
            slow.log_probability(r * (edges[k] - x), r * (edges[k + 1] - x)) if k >= 0 else 0.0
            for k, x, r in zip(pair, mean, root, strict=True)
        ]
        assert kernel.log_probability(work, work.ends, weights, 2.5) == pytest.approx(sum(each), rel=1e-12)
        some = sum(x for x, k in zip(each, pair, strict=True) if k in (1, 2))
        ends = np.array([[-INF, INF], [-1.0, -0.2], [-0.2, 0.7], *[[-INF, INF]] * 3])
        assert kernel.log_probability(work, ends, weights, 2.5) == pytest.approx(some, rel=1e-12)


def test_uniforms_for_eight_at_a_time_are_uniform_and_inside():
    u = vectors("uniform", np.zeros(80_000))
    assert 0 < u.min() < u.max() < 1
    assert np.unique(u).size == u.size
    assert ks(u, lambda t: t) > ACCEPT
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4 / np.sqrt(u.size)
    assert abs(np.corrcoef(u[:-8], u[8:])[0, 1]) < 4 / np.sqrt(u.size)
