"""The effects of the compiled sampler, free and aligned with X, against dense algebra and their prior."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import halfcauchy, invgamma, multivariate_normal, norm
from tests.reference import gibbs_slow as slow
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import gauge
from maxentry.kernels import gibbs as kernel
from maxentry.kernels.rng import POINT, begin_slice, log_marginal, move_slice
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.priors import HalfCauchy, InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs

PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)


# Free effects

NOTHING = np.empty(0)
N_OF = np.array([0.0, 1.0, 2.5, 7.0])  # sums of weights of four rows, one of them without measurements


INVERSE_GAMMA = (3.0, 0.8, np.inf)
HALF_CAUCHY = kernel.effect_law(
    gibbs.hyperparameters(replace(PRIORS, cols=HalfCauchy(0.7))), kernel.H_COL, 2.5
)
PRIOR_OF = {  # of a log variance: the law as the kernel has it, and its log density
    "inverse gamma": (INVERSE_GAMMA, lambda x: invgamma.logpdf(np.exp(x), 3.0, scale=0.8) + x),
    "half-Cauchy": (
        HALF_CAUCHY,
        lambda x: halfcauchy.logpdf(np.exp(x / 2), scale=0.7 * np.sqrt(2.5)) + x / 2,
    ),
}


def test_the_law_of_a_variance_is_in_its_units():
    assert kernel.effect_law(gibbs.hyperparameters(PRIORS), kernel.H_ROW, 2.5) == (5.0, 5.0, np.inf)
    assert HALF_CAUCHY[2] == pytest.approx(0.7**2 * 2.5)


@pytest.mark.parametrize(("law", "log_prior"), PRIOR_OF.values(), ids=PRIOR_OF)
def test_the_marginal_of_the_variance_of_the_effects_is_the_dense_one(law, log_prior):
    """y_n = r_i + noise: with r integrated out, y is Gaussian with covariance tau2 Z Z' + I/precision."""
    rng, rows, precision = np.random.default_rng(8), np.array([1, 2, 2, 3, 3, 3]), 1.7
    y, Z = rng.standard_normal(6), np.eye(4)[rows]

    def dense(log_tau2):
        density = multivariate_normal.logpdf(y, cov=np.exp(log_tau2) * Z @ Z.T + np.eye(6) / precision)
        return density + log_prior(log_tau2)

    points = np.linspace(-4, 3, 8)
    n, s, ones = Z.sum(axis=0), Z.T @ y, np.ones(4)
    ours = [log_marginal(x, n, ones, s**2, precision, law, NOTHING) for x in points]
    np.testing.assert_allclose(np.diff(ours), np.diff([dense(x) for x in points]), rtol=1e-10)


def test_the_marginal_of_an_eigenvalue_is_the_dense_one():
    """The joint density of L and A, the rows' coordinates along an eigenvector integrated out as a dense Gaussian."""
    rng, (m, R, sigma2) = np.random.default_rng(9), (7, 3, 2.0)
    P, c, others = rng.gamma(2.0, 1.0, m) + 1 / sigma2, rng.standard_normal(m), np.array([0.3, 5.0])

    def dense(x, choice=1):  # x = log(1/l)
        value, n = np.exp(-x), m - R
        # the integral of exp(-P a^2/2 + c a) is one over the density of N(c/P, 1/P) at zero
        gaussian = multivariate_normal.logpdf(np.zeros(m), c / (P + value), np.diag(1 / (P + value)))
        total = (n - R - 1) / 2 * np.log(value) + np.log(np.abs(value - others)).sum() - x - gaussian
        return total + choice * np.log(value / (value + others.sum()))

    points, flat = np.linspace(-3, 3, 8), (-0.5, 0.0, np.inf)
    ours = [log_marginal(x, P, np.ones(m), c**2, 1.0, flat, others) for x in points]
    np.testing.assert_allclose(np.diff(ours), np.diff([dense(x) for x in points]), rtol=1e-9)
    assert np.abs(np.diff(ours) - np.diff([dense(x, 0) for x in points])).max() > 0.1  # control


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_alike_are_one_to_the_marginal(weighted):
    rng = np.random.default_rng(3)
    n, s = rng.integers(0, 4, 50).astype(float), rng.standard_normal(50)
    if weighted:
        n *= rng.gamma(2.0, 0.5, 50)
    s[n == 0] = 0.0
    alike = kernel.group_equal_counts(n, s)
    assert len(alike[0]) == (50 if weighted else 3)
    for x in (-2.0, 0.5):
        apart = log_marginal(x, n, np.ones(50), s**2, 1.7, INVERSE_GAMMA, NOTHING)
        assert log_marginal(x, *alike, 1.7, INVERSE_GAMMA, NOTHING) == pytest.approx(apart, rel=1e-12)
    counted_once = alike[0], np.ones(len(alike[0])), alike[2]
    assert weighted or log_marginal(0.5, *counted_once, 1.7, INVERSE_GAMMA, NOTHING) != pytest.approx(
        apart, rel=1e-3
    )


def redrawn_effects(n, seed, forget_mu=False):
    """Draw (tau2, r, data) from their joint law, redraw (tau2, r) given the data: the joint law must stay."""
    rng, precision = np.random.default_rng(seed), 1.7
    old, new, r, s = np.empty(n), np.empty(n), np.empty((n, 4)), np.empty((n, 4))
    for k in range(n):
        old[k] = 0.8 / rng.standard_gamma(3.0)
        r[k], moved = np.sqrt(old[k]) * rng.standard_normal(4), rng.standard_normal()
        s[k] = N_OF * r[k] + np.sqrt(N_OF / precision) * rng.standard_normal(4)
        sums = np.column_stack([N_OF, s[k] - N_OF * (r[k] - moved)])  # residuals from before mu moved
        new[k] = kernel.redraw_effects(
            r[k], sums, 0.0 if forget_mu else moved, precision, INVERSE_GAMMA, old[k], rng
        )
    noise = (s - N_OF * r)[:, 1:] * np.sqrt(precision / N_OF[1:])
    return old, new, r, noise


def test_the_variance_and_the_effects_are_redrawn_from_their_conditional():
    def p_values(new, r, noise):
        parts = [
            (new, invgamma(3.0, scale=0.8).cdf),
            (r / np.sqrt(new)[:, None], norm.cdf),
            (noise, norm.cdf),
        ]
        return [ks(draws, law) for draws, law in parts]

    old, *after = redrawn_effects(4000, seed=9)
    assert min(p_values(*after)) > ACCEPT
    assert np.corrcoef(np.log(old), np.log(after[0]))[0, 1] < 0.9  # it moves
    assert min(p_values(*redrawn_effects(4000, seed=9, forget_mu=True)[1:])) < REJECT


# Aligned effects


def aligned_side(m, R, seed):
    """A side with factors A in some gauge, free effects, and aligned effects p = A slope."""
    rng = np.random.default_rng(seed)
    A, slope = rng.standard_normal((m, R)), rng.standard_normal(R)
    return np.column_stack([A, rng.standard_normal(m), A @ slope]), slope


@pytest.mark.parametrize("R", [1, 3])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_slope_of_the_aligned_effects_goes_there_and_back(R, scale):
    A, slope = aligned_side(8, R, seed=3)
    A[:, :R] *= scale
    found, p = np.empty(R), A[:, R + 1].copy()
    gauge.solve_slope(A[:, :R].T @ A[:, :R], A[:, :R].T @ p, R, found)
    np.testing.assert_allclose(found, slope / scale, rtol=1e-9)
    back = np.full(8, np.nan)
    kernel.matvec(A, R, found, back)
    np.testing.assert_allclose(back, p, rtol=1e-9, atol=1e-9)


def regression_on(A, sums, moved, precision, old):
    """G = A'A and P, h of the regression of the residuals without the aligned effects `old` on A."""
    n, we = sums[:, 0], sums[:, 1]
    return A.T @ A, precision * A.T @ (n[:, None] * A), precision * A.T @ (we + n * (old - moved))


@pytest.mark.parametrize(("law", "log_prior"), PRIOR_OF.values(), ids=PRIOR_OF)
def test_the_marginal_of_the_variance_of_aligned_effects_is_the_dense_one(law, log_prior):
    """y_n = p_i + noise: with m integrated out, y is Gaussian with covariance s2 Z A (A'A)^-1 A'Z' + I/precision."""
    rng, rows, precision = np.random.default_rng(8), np.array([1, 2, 2, 3, 3, 3, 4, 5]), 1.7
    y, Z, A = rng.standard_normal(8), np.eye(6)[rows], rng.standard_normal((6, 2))
    frame = Z @ np.linalg.qr(A)[0]

    def dense(x):
        covariance = np.exp(x) * frame @ frame.T + np.eye(8) / precision
        return multivariate_normal.logpdf(y, cov=covariance) + log_prior(x)

    sums = np.column_stack([Z.sum(axis=0), Z.T @ y])
    G, P, h = regression_on(A, sums, 0.0, precision, np.zeros(6))
    points, L, m = np.linspace(-9, 5, 8), np.empty((2, 2)), np.empty(2)
    ours = [kernel.log_slope_marginal(x, G, P, h, law, L, m) for x in points]
    np.testing.assert_allclose(np.diff(ours), np.diff([dense(x) for x in points]), rtol=1e-9)


def test_aligned_effects_are_redrawn_with_the_mean_and_the_covariance_of_the_formula():
    """s2 by a slice, then m ~ N(H^-1 h, H^-1), H = A'A/s2 + A'NA/eta2: checked exactly from the same numbers."""
    (m, R, precision, s2, moved), rng = (6, 2, 1.7, 0.6, 0.4), np.random.default_rng(4)
    A, _ = aligned_side(m, R, seed=5)
    sums = np.column_stack([rng.gamma(2.0, 1.0, m), rng.standard_normal(m), np.full(m, np.nan)])
    sums[0, :2] = 0.0  # a row without measurements
    new, n, we = A[:, R + 1].copy(), sums[:, 0].copy(), sums[:, 1].copy()
    factors, old = A[:, :R].copy(), new.copy()
    G, P, h = regression_on(factors, sums, moved, precision, old)
    padded = np.pad(factors, ((0, 0), (0, 8 - R)))
    new_s2 = kernel.redraw_aligned(
        padded, R, np.ones(m), new, sums, moved, precision, INVERSE_GAMMA, s2, np.random.default_rng(6)
    )
    twin = np.random.default_rng(6)

    def log_density(x):
        H = G + np.exp(x) * P
        prior = invgamma.logpdf(np.exp(x), 3.0, scale=0.8) + x
        return prior - np.linalg.slogdet(H)[1] / 2 + np.exp(x) * h @ np.linalg.solve(H, h) / 2

    s = begin_slice(np.log(s2), log_density(np.log(s2)), 1.0, -np.inf, np.inf, twin)
    while not move_slice(s, log_density(s[POINT]), twin):
        pass
    np.testing.assert_allclose(new_s2, np.exp(s[POINT]), rtol=1e-11)
    H, z = G / new_s2 + P, twin.standard_normal(R)
    p = factors @ (np.linalg.solve(H, h) + np.linalg.solve(np.linalg.cholesky(H).T, z))
    np.testing.assert_allclose(new, p, rtol=1e-10)
    np.testing.assert_allclose(sums[:, 1], we + n * (old - p), rtol=1e-9, atol=1e-12)


def redrawn_aligned(n, seed, forget_mu=False):
    """Draw (s2, m, data) from their joint law, redraw (s2, m) given the data: the joint law must stay."""
    rng, precision, R = np.random.default_rng(seed), 1.7, 2
    A = np.random.default_rng(3).standard_normal((4, R))
    frame, padded = np.linalg.qr(A)[0], np.pad(A, ((0, 0), (0, 8 - R)))
    old, new, coordinates = np.empty(n), np.empty(n), np.empty((n, R))
    for k in range(n):
        old[k] = 0.8 / rng.standard_gamma(3.0)
        p, moved = frame @ (np.sqrt(old[k]) * rng.standard_normal(R)), rng.standard_normal()
        s = N_OF * p + np.sqrt(N_OF / precision) * rng.standard_normal(4)
        sums = np.column_stack([N_OF, s - N_OF * (p - moved)])  # residuals from before mu moved
        told = 0.0 if forget_mu else moved
        new[k] = kernel.redraw_aligned(
            padded, R, np.ones(4), p, sums, told, precision, INVERSE_GAMMA, old[k], rng
        )
        coordinates[k] = frame.T @ p
    return old, new, coordinates / np.sqrt(new)[:, None]


def test_the_variance_and_the_aligned_effects_are_redrawn_from_their_conditional():
    def p_values(new, standardised):
        return [ks(new, invgamma(3.0, scale=0.8).cdf), ks(standardised, norm.cdf)]

    old, *after = redrawn_aligned(4000, seed=9)
    assert min(p_values(*after)) > ACCEPT
    assert np.corrcoef(np.log(old), np.log(after[0]))[0, 1] < 0.9  # it moves
    assert min(p_values(*redrawn_aligned(4000, seed=9, forget_mu=True)[1:])) < REJECT


def swept(shape, R, n, seed):
    """States of n sweeps, one by one, on noise at half of the entries, and what each sweep keeps."""
    rng, (m1, m2) = np.random.default_rng(seed), shape
    rows, cols = np.divmod(rng.permutation(m1 * m2)[: m1 * m2 // 2], m2)
    data = gibbs.prepare(
        Observations(shape, rows, cols, rng.standard_normal(rows.size)), True, GAUSSIAN, False, None
    )
    state, hyper = gibbs.init(data, R, PRIORS, rng), gibbs.hyperparameters(PRIORS)
    for _ in range(n):
        sizes = (1, m1, R), (1, m2, R), (1, m1), (1, m2), (1, kernel.N_SCALARS)
        kept = gibbs.DrawBuffers(*(np.full(size, np.nan) for size in sizes))
        state = gibbs.step(state, data, R, hyper, rng, np.ones(1), kept, 1)
        yield state, kept


@pytest.mark.parametrize("R", [1, 2])
def test_aligned_effects_stay_in_the_spaces_of_x_and_are_kept_with_the_free_ones(R):
    sizes = []
    for state, kept in swept((7, 6), R, 50, seed=7):
        for G, effect in ((state.left, kept.row), (state.right, kept.col)):
            off = G[:, R + 1] - G[:, :R] @ np.linalg.lstsq(G[:, :R], G[:, R + 1], rcond=None)[0]
            np.testing.assert_allclose(off, 0, atol=1e-9 * np.abs(G[:, R + 1]).max())
            np.testing.assert_array_equal(effect[0], G[:, R] + G[:, R + 1])
            sizes.append((G[:, R + 1] ** 2).sum())
    assert min(sizes) > 0
    assert np.unique(sizes).size == len(sizes)


@pytest.mark.parametrize(("shape", "R"), [((4, 4), 2), ((6, 4), 2), ((3, 2), 1), ((5, 4), 0)])
def test_without_room_there_are_no_aligned_effects(shape, R):
    for state, kept in swept(shape, R, 20, seed=8):
        assert not state.left[:, R + 1].any()
        assert not state.right[:, R + 1].any()
        np.testing.assert_array_equal(kept.row[0], state.left[:, R])
        np.testing.assert_array_equal(kept.col[0], state.right[:, R])


def test_chains_start_from_the_prior_of_the_effects():
    (shape, R, n), rng = ((6, 5), 2, 4000), np.random.default_rng(9)
    data = gibbs.prepare(
        Observations(shape, np.array([0]), np.array([0]), np.zeros(1)), True, GAUSSIAN, False, None
    )
    starts = [gibbs.init(data, R, PRIORS, rng) for _ in range(n)]
    prior = slow.prior_draws(
        n, slow.Model(shape, R, PRIORS, effects=True), np.zeros(1, int), np.zeros(1, int), rng
    )
    left, right, scalars = (np.array([start[k] for start in starts]) for k in range(3))
    X = left[:, :, :R] @ right[:, :, :R].mT
    p, q = left[:, :, R + 1], right[:, :, R + 1]
    parts = [
        ((p**2).sum(axis=1), (prior.p**2).sum(axis=1)),
        ((q**2).sum(axis=1), (prior.q**2).sum(axis=1)),
        (np.einsum("ni,nij,nj->n", p, X, q), np.einsum("ni,nij,nj->n", prior.p, prior.X, prior.q)),
        (left[:, 0, R] + p[:, 0], prior.r[:, 0] + prior.p[:, 0]),
        (scalars[:, kernel.S2_ROW], invgamma(5.0, scale=2.0 * 6 / R).cdf),
        (scalars[:, kernel.S2_COL], invgamma(6.0, scale=1.0 * 5 / R).cdf),
    ]
    assert min(ks(*part) for part in parts) > ACCEPT
    assert ks(scalars[:, kernel.S2_ROW], invgamma(5.0, scale=2.0).cdf) < REJECT  # the side's length forgotten
