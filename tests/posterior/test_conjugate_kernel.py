"""The pieces of the compiled sweep against dense algebra and known laws; each law with a control."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2, gamma, invgamma, norm, uniform
from tests.reference import conjugate_slow as slow
from tests.reference.laws import ACCEPT, REJECT, ks, z_score

from maxentry.kernels import conjugate as kernel
from maxentry.kernels import half_sweep, student
from maxentry.kernels import small_linalg as linalg
from maxentry.model.priors import InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior import conjugate

PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)
PASS, FAIL = 4.0, 6.0  # largest |z| of a right sampler; a wrong one must exceed FAIL


def features(n, K, seed=0, weighted=False):
    """n measurements of one row: places, values, weights, features of the other side, offsets."""
    rng = np.random.default_rng(seed)
    index = rng.integers(0, 7, n).astype(np.int32)  # some places twice: replicates
    weights = rng.gamma(2.0, 0.5, n) if weighted else np.empty(0)
    return index, rng.standard_normal(n), weights, rng.standard_normal((7, K)), rng.standard_normal(7)


# Pieces, exactly


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("K", [0, 1, 3])
def test_sums_over_a_row_are_the_dense_ones(n, K, weighted):
    index, values, weights, F, offset = features(n + 3, K, weighted=weighted)
    P, b = np.full((K, K), np.nan), np.full(K, np.nan)
    half_sweep.accumulate(2, 2 + n, index, values, weights, F, offset, 0.3, P, b)
    part = slice(2, 2 + n)
    w = weights[part] if weighted else np.ones(n)
    f, t = F[index[part]], values[part] - 0.3 - offset[index[part]]
    np.testing.assert_allclose(np.tril(P), np.tril(f.T @ (w[:, None] * f)), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(b, f.T @ (w * t), rtol=1e-13, atol=1e-13)

    g, here, there = np.arange(1.0, K + 1), np.full(3, np.nan), np.ones((7, 2))
    half_sweep.residual_sums(2, 2 + n, index, values, weights, F, offset, 0.3, g, here, there)
    e = t - f @ g
    np.testing.assert_allclose(here, [w.sum(), w @ e, w @ e**2], rtol=1e-12)
    np.testing.assert_allclose(there, 1 + np.eye(7)[index[part]].T @ np.column_stack([w, w * e]), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_cholesky_and_the_triangular_solves(n):
    rng = np.random.default_rng(n)
    G = rng.standard_normal((n + 2, n))
    S, b = G.T @ G, rng.standard_normal(n)
    C = np.pad(S, (0, 1), constant_values=7.0)  # the routine is told to use n of n + 1
    assert linalg.cholesky(C, n)
    L = np.tril(C[:n, :n])
    np.testing.assert_allclose(L, np.linalg.cholesky(S), rtol=1e-11, atol=1e-13)
    assert (C[n] == 7).all()
    x = b.copy()
    linalg.solve_lower(C, x, n)
    np.testing.assert_allclose(L @ x, b, rtol=1e-11)
    x = b.copy()
    linalg.solve_upper(C, x, n)
    np.testing.assert_allclose(L.T @ x, b, rtol=1e-11)
    assert not linalg.cholesky(-S, n)
    A = np.pad(G, ((0, 0), (0, 1)))
    out = np.empty((n, n))
    linalg.gram(A, n, out)
    np.testing.assert_allclose(out, S, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_change_of_gauge_keeps_the_matrix_and_makes_a_frame(condition, scale):
    rng, R = np.random.default_rng(0), 4
    frame, turn = np.linalg.qr(rng.standard_normal((9, R)))[0], np.linalg.qr(rng.standard_normal((R, R)))[0]
    A = np.column_stack([scale * frame * np.geomspace(1, 1 / condition, R) @ turn, np.arange(9.0)])
    B = np.column_stack([rng.standard_normal((7, R)), np.arange(7.0)])
    X = A[:, :R] @ B[:, :R].T
    linalg.regauge(A, B, R, np.empty((R, R)))
    np.testing.assert_allclose(A[:, :R] @ B[:, :R].T, X, atol=1e-13 * np.abs(X).max())
    np.testing.assert_allclose(A[:, :R].T @ A[:, :R], np.eye(R), atol=1e-9)
    np.testing.assert_array_equal(A[:, R], np.arange(9))  # the effects are not factors
    np.testing.assert_array_equal(B[:, R], np.arange(7))


ENDS = """
import numpy as np
from maxentry.kernels.small_linalg import regauge
A, B = np.full((5, 2), {entry}), np.ones((4, 2))
X = A @ B.T
regauge(A, B, 2, np.empty((2, 2)))
assert np.isfinite(A).all() and np.isfinite(B).all()
assert np.allclose(A @ B.T, X, rtol=1e-6, atol=1e-140)
print("ended")
"""


@pytest.mark.parametrize("entry", ["0.0", "1e-200", "1.0"])  # zero, zero when squared, of lower rank
def test_the_change_of_gauge_ends_where_there_is_no_frame(entry):
    """In a process of its own: a compiled loop that does not end cannot be interrupted."""
    run = subprocess.run([sys.executable, "-c", ENDS.format(entry=entry)], timeout=60, capture_output=True)
    assert run.stdout.decode().strip() == "ended", run.stderr.decode()


def test_rows_are_drawn_with_the_mean_and_the_covariance_of_the_formula():
    """The compiled generator and NumPy's give the same normals, so g = P^-1 b + C'^-1 z can be checked exactly."""
    rng, (m1, m2, K, N) = np.random.default_rng(1), (19, 7, 3, 70)  # more rows than are solved side by side
    obs = Observations((m1, m2), rng.integers(0, m1 - 1, N), rng.integers(0, m2, N), rng.standard_normal(N))
    half, w = obs.by_row, rng.gamma(2.0, 0.5, N)
    F, offset, G = rng.standard_normal((m2, K)), rng.standard_normal(m2), np.empty((m1, K))
    Q, here, there = np.diag([1.0, 2.0, 3.0]) + 0.1, np.empty((m1, 3)), np.zeros((m2, 2))
    half_sweep.half_sweep(
        half.indptr, half.index, half.values, w, F, offset, 0.3, 2.5, Q, G,
        np.random.default_rng(2), here, there,
    )  # fmt: skip
    z = np.random.default_rng(2).standard_normal((m1, K))
    for i in range(m1):  # the last row has no measurement: its prior
        n = obs.rows == i
        f, t = F[obs.cols[n]], obs.values[n] - 0.3 - offset[obs.cols[n]]
        P, b = Q + 2.5 * f.T @ (w[n, None] * f), 2.5 * f.T @ (w[n] * t)
        expected = np.linalg.solve(P, b) + np.linalg.solve(np.linalg.cholesky(P).T, z[i])
        np.testing.assert_allclose(G[i], expected, rtol=1e-10)
    e = obs.values - 0.3 - offset[obs.cols] - (F[obs.cols] * G[obs.rows]).sum(axis=1)
    sums = np.column_stack([w, w * e, w * e**2])
    np.testing.assert_allclose(here, np.eye(m1)[obs.rows].T @ sums, rtol=1e-11)
    np.testing.assert_allclose(there, np.eye(m2)[obs.cols].T @ sums[:, :2], rtol=1e-11)


# Pieces, in law


def wishart_draws(A, R, df, sigma2, n, seed):
    rng, Q = np.random.default_rng(seed), np.zeros((R + 1, R + 1))
    out = np.empty((n, R, R))
    for k in range(n):
        kernel.augmented_precision(A, R, df, sigma2, rng, Q)
        out[k] = Q[:R, :R] - np.eye(R) / sigma2
    assert (Q[R] == 0).all()
    return out


@pytest.mark.parametrize(("R", "df"), [(1, 6), (3, 4), (3, 3)])
def test_the_augmented_precision_is_a_wishart_with_the_degrees_asked_for(R, df):
    rng, m = np.random.default_rng(3), 7
    A = np.column_stack([rng.standard_normal((m, R)), rng.standard_normal(m)])
    L = wishart_draws(A, R, df, 2.0, 4000, seed=4)
    scale = np.linalg.inv(A[:, :R].T @ A[:, :R])
    for v in (*np.eye(R), rng.standard_normal(R)):  # v'Lv ~ (v' scale v) chi2(df), for every v
        q = np.einsum("a,nab,b->n", v, L, v) / (v @ scale @ v)
        assert ks(q, chi2(df).cdf) > ACCEPT
        assert ks(q, chi2(df + 1).cdf) < REJECT  # control: a degree too many
    root = np.linalg.cholesky(scale)
    log_det = np.linalg.slogdet(L)[1] - 2 * np.log(np.diagonal(root)).sum()
    g = np.random.default_rng(5).standard_normal((4000, R, df))
    assert ks(log_det, np.linalg.slogdet(g @ g.mT)[1]) > ACCEPT


def test_scales_have_their_conditionals():
    """Every draw becomes uniform by the distribution function of its conditional given what it is drawn from."""
    rng, (m1, m2, R, N, beta) = np.random.default_rng(6), (5, 4, 2, 9, 0.4)
    left, right = rng.standard_normal((m1, R + 1)), rng.standard_normal((m2, R + 1))
    e, w, hyper = rng.standard_normal(N), rng.gamma(2.0, 0.5, N), conjugate.hyperparameters(PRIORS)
    start = np.array([0.7, 2.0, 0.3, 1.0, 1.0, 4.0, 1.0, 1.0])
    draws = np.tile(start, (4000, 1))
    for s in draws:
        sums = np.array([w.sum(), w @ e, w @ e**2])
        moved = kernel.update_scales(left, right, R, True, beta, sums, N, hyper, s, rng)
        assert moved == s[kernel.MU] - start[kernel.MU]
    mu, sigma2, eta2 = draws.T[:3]
    assert (draws[:, 3:] == start[3:]).all()
    p = 1 / PRIORS.mu_var + beta * w.sum() / start[kernel.ETA2]
    mean = beta * w @ (e + start[kernel.MU]) / start[kernel.ETA2] / p
    rss = (e + start[kernel.MU] - mu[:, None]) ** 2 @ w
    x2 = (right[:, :R] ** 2).sum()
    u = [
        norm.cdf(mu, mean, 1 / np.sqrt(p)),
        invgamma.cdf(eta2, 5 + beta * N / 2, scale=0.4 + beta * rss / 2),
        invgamma.cdf(sigma2, 6 + R**2 / 2, scale=5 + x2 / 2),
    ]
    assert min(ks(column, uniform.cdf) for column in u) > ACCEPT
    assert np.abs(np.corrcoef(u)[np.triu_indices(3, 1)]).max() < 4 / np.sqrt(4000)
    assert ks(invgamma.cdf(eta2, 5 + N / 2, scale=0.4 + rss / 2), uniform.cdf) < REJECT  # not tempered
    assert ks(invgamma.cdf(sigma2, 6 + R / 2, scale=5 + x2 / 2), uniform.cdf) < REJECT  # the paper's slip


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_the_weights_of_student_noise_have_their_conditionals(beta):
    rng, (m1, m2, R, N) = np.random.default_rng(7), (5, 4, 2, 9)
    rows, cols = rng.integers(0, m1, N), rng.integers(0, m2, N)
    obs = Observations((m1, m2), rows, cols, rng.standard_normal(N))
    left, right = rng.standard_normal((m1, R + 2)), rng.standard_normal((m2, R + 2))
    row, col = 0.5 * rng.standard_normal(m1), 0.5 * rng.standard_normal(m2)
    fitted = (left[:, :R] @ right[:, :R].T + row[:, None] + col)[obs.rows, obs.cols]
    e, grid, half = obs.values - 0.7 - fitted, np.array([1.0, 2.0, 3.0]), obs.by_col
    w, nu, w_col = np.empty((3000, N)), np.empty(3000), np.empty(N)
    for k, w_row in enumerate(w):
        nu[k] = student.update_weights(
            half.indptr, half.index, half.values, half.source, left, right, R, row, col, 0.7, 0.3, 3.0, beta,
            w_row, w_col, grid, rng,
        )  # fmt: skip
        assert np.array_equal(w_col, w_row[half.source])
    rate = (3 + beta * e**2 / 0.3) / 2
    assert ks(gamma.cdf(w, (3 + beta) / 2, scale=1 / rate), uniform.cdf) > ACCEPT
    assert ks(gamma.cdf(w, (3 + beta) / 2, scale=2 / 3), uniform.cdf) < REJECT  # the residuals ignored
    drawn = nu[:, None] == grid
    excess = drawn - np.array([slow.nu_probabilities(row, grid) for row in w])
    assert (drawn.mean(axis=0) > 0.02).all()
    assert np.abs(z_score(excess, 0.0)).max() < PASS
    excess = drawn - np.array([slow.nu_probabilities(np.sqrt(row), grid) for row in w])  # control
    assert np.abs(z_score(excess, 0.0)).max() > FAIL
