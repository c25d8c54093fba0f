"""The pieces of the compiled sweep against dense algebra and known laws; each law with a control."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, gamma, invgamma, norm, uniform
from tests.reference import gibbs_slow as slow
from tests.reference import sums_slow
from tests.reference.laws import ACCEPT, REJECT, ks, z_score

from maxentry.kernels import gauge, rows
from maxentry.kernels import gibbs as kernel
from maxentry.kernels import rows as half_sweep
from maxentry.model.priors import KNOWN, InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs

PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)
PASS, FAIL = 4.0, 6.0  # largest |z| of a right sampler; a wrong one must exceed FAIL


def padded(A):
    """With columns of zeros to a multiple of eight, as the kernels want it."""
    return np.pad(A, ((0, 0), (0, -A.shape[1] % 8)))


def features(n, R, seed=0, weighted=False):
    """n measurements of one row: places, values, weights, features of the other side, offsets."""
    rng = np.random.default_rng(seed)
    index = rng.integers(0, 7, n).astype(np.int32)  # some places twice: replicates
    weights = rng.gamma(2.0, 0.5, n) if weighted else np.empty(0, bool)
    return index, rng.standard_normal(n), weights, rng.standard_normal((7, R)), rng.standard_normal(7)


def row_sums(start, stop, index, values, weights, F, offset, mu):
    """The compiled sums: out, with its padding, and the three numbers."""
    R, F = F.shape[1], padded(F)
    out, sums = np.full((F.shape[1] + 2, F.shape[1]), np.nan), np.full(3 * (R // 16 + 1), np.nan)
    half_sweep.accumulate_row(start, stop, index, values, weights, F, R, offset, mu, out, sums)
    return out, sums[:3]


# Pieces, exactly

RANKS = [
    0,
    1,
    3,
    4,
    5,
    8,
    10,
    12,
    13,
    16,
    17,
    21,
    26,
    30,
    32,
    37,
]  # every number of strips, and of blocks of them


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5, 300])  # 300 are read in several parts where there are many features
@pytest.mark.parametrize("R", RANKS)
def test_sums_over_a_row_are_the_dense_ones(n, R, weighted):
    index, values, weights, F, offset = features(n + 3, R, weighted=weighted)
    out, sums = row_sums(2, 2 + n, index, values, weights, F, offset, 0.3)
    part, last = slice(2, 2 + n), out.shape[1]
    w = weights[part] if weighted else np.ones(n)
    f, t = F[index[part]], values[part] - 0.3 - offset[index[part]]
    close = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(np.tril(out[:R, :R]), np.tril(f.T @ (w[:, None] * f)), **close)
    np.testing.assert_allclose(out[last, :R], f.T @ (w * t), **close)
    np.testing.assert_allclose(out[last + 1, :R], f.T @ w, **close)
    np.testing.assert_allclose(sums, [w.sum(), w @ t, w @ t**2], **close)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("R", [3, 10, 17])
def test_sums_over_a_row_are_chains_of_fused_multiply_adds_to_the_bit(R, weighted):
    index, values, weights, F, offset = features(9, R, weighted=weighted)
    out, sums = row_sums(0, 9, index, values, weights, F, offset, 0.3)
    slow_out, slow_sums = sums_slow.row_sums(index, values, weights, F, offset, 0.3)
    lower, last = np.tril_indices(R), out.shape[1]
    np.testing.assert_array_equal(out[:R, :R][lower], slow_out[:R][lower])
    np.testing.assert_array_equal(out[last : last + 2, :R], slow_out[R:])
    np.testing.assert_array_equal(sums, slow_sums)
    twice, _ = sums_slow.row_sums(
        index, values, weights, F, offset, 0.3, lambda a, b, c: a * b + c
    )  # control
    assert np.any(out[:R, :R][lower] != twice[:R][lower])


@pytest.mark.parametrize("registers", [True, False])
def test_every_sum_belongs_to_one_pass_for_any_registers(monkeypatch, registers):
    monkeypatch.setattr(rows, "has_avx512", lambda: registers)
    for strips in range(5):
        for shape in (rows.diagonal_blocks(strips), rows.lower_block(strips)):
            loops = rows.split_into_loops(shape)
            found = [
                (r, block.col + k)
                for part in loops
                for block in part
                for r in block.rows
                for k in range(block.width)
            ]
            wanted = [(r, block.col + k) for block in shape for r in block.rows for k in range(block.width)]
            assert sorted(found) == sorted(wanted)
            assert len(set(found)) == len(found)
            most = [
                sum(len(block.rows) * (1 if registers else block.width // 4) for block in part)
                for part in loops
            ]
            assert max(most, default=0) <= (20 if registers else 12)
        lower = {(r, c) for r in range(4 * strips) for c in range(r + 1)}
        borders = {(r, c) for r in (-1, -2) for c in range(4 * strips)}
        places = {
            (r, t.col + k) for t in rows.diagonal_blocks(strips) for r in t.rows for k in range(t.width)
        }
        assert lower | borders <= places


@pytest.mark.parametrize("n", [1, 2, 5])
def test_cholesky_and_the_triangular_solves(n):
    rng = np.random.default_rng(n)
    G = rng.standard_normal((n + 2, n))
    S, b = G.T @ G, rng.standard_normal(n)
    C = np.pad(S, (0, 1), constant_values=7.0)  # the routine is told to use n of n + 1
    assert gauge.cholesky(C, n)
    L = np.tril(C[:n, :n])
    np.testing.assert_allclose(L, np.linalg.cholesky(S), rtol=1e-11, atol=1e-13)
    assert (C[n] == 7).all()
    x = b.copy()
    gauge.solve_lower(C, x, n)
    np.testing.assert_allclose(L @ x, b, rtol=1e-11)
    x = b.copy()
    gauge.solve_upper(C, x, n)
    np.testing.assert_allclose(L.T @ x, b, rtol=1e-11)
    assert not gauge.cholesky(-S, n)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_change_of_gauge_keeps_the_matrix_and_makes_a_frame(condition, scale):
    rng, R = np.random.default_rng(0), 4
    frame, turn = np.linalg.qr(rng.standard_normal((9, R)))[0], np.linalg.qr(rng.standard_normal((R, R)))[0]
    A, B = scale * frame * np.geomspace(1, 1 / condition, R) @ turn, rng.standard_normal((7, R))
    V, T = padded(A), np.empty((R, R))
    gauge.orthonormalise(V, R, np.ones(9), T)
    X = A @ B.T
    np.testing.assert_allclose(V[:, :R] @ (B @ T).T, X, atol=1e-13 * np.abs(X).max())
    np.testing.assert_allclose(V[:, :R].T @ V[:, :R], np.eye(R), atol=1e-9)
    assert not V[:, R:].any()


ENDS = """
import numpy as np
from maxentry.kernels.gauge import orthonormalise
A, T = np.zeros((5, 8)), np.empty((2, 2))
A[:, :2] = {entry}
X = A[:, :2].copy()
orthonormalise(A, 2, np.ones(5), T)
assert np.isfinite(A).all() and np.isfinite(T).all()
assert np.allclose(A[:, :2] @ T.T, X, rtol=1e-6, atol=1e-140)
print("ended")
"""


@pytest.mark.process
@pytest.mark.parametrize("entry", ["0.0", "1e-200", "1.0"])  # zero, zero when squared, of lower rank
def test_the_change_of_gauge_ends_where_there_is_no_frame(entry):
    """In a process of its own: a compiled loop that does not end cannot be interrupted."""
    run = subprocess.run([sys.executable, "-c", ENDS.format(entry=entry)], timeout=250, capture_output=True)
    assert run.stdout.decode().strip() == "ended", run.stderr.decode()


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("R", [4, 11])
def test_the_other_sides_laws_after_the_change_of_gauge_without_moving_it(condition, scale, R):
    rng = np.random.default_rng(0)
    frame, turn = np.linalg.qr(rng.standard_normal((29, R)))[0], np.linalg.qr(rng.standard_normal((R, R)))[0]
    A = scale * frame * np.geomspace(1, 1 / condition, R) @ turn
    B, slope = np.linalg.qr(rng.standard_normal((27, R)))[0], rng.standard_normal(R)
    ones = np.ones(29)
    new, T, G, h = padded(A), np.empty((R, R)), np.empty((R, R)), np.empty(R)
    gauge.orthonormalise(new, R, ones, T)
    gauge.transform_gram(padded(B), B @ slope, R, ones, T, G, h)
    assert not new[:, R:].any()
    V, moved, X = new[:, :R], B @ T, A @ B.T
    np.testing.assert_allclose(V @ moved.T, X, atol=1e-13 * np.abs(X).max())
    np.testing.assert_allclose(V.T @ V, np.eye(R), atol=1e-9)
    np.testing.assert_allclose(G, moved.T @ moved, atol=1e-12 * np.abs(G).max())
    np.testing.assert_allclose(h, moved.T @ (B @ slope), atol=1e-12 * np.abs(h).max())
    if condition <= 1e3:
        found = np.empty(R)
        gauge.solve_slope(G, h, R, found)
        np.testing.assert_allclose(moved @ found, B @ slope, atol=1e-7)


def drawn(half, w, F, offset, Q, Z, R, effects, blocks, precision=2.5, means=None):
    """Rows drawn in blocks: factors, free effects, aligned effects, sums."""
    m, K = Z.shape
    G, free, aligned, here = (
        padded(np.zeros((m, R))),
        np.full(m, np.nan),
        np.full(m, np.nan),
        np.full((m, 4), np.nan),
    )
    slope, below = np.arange(1.0, R + 1), np.zeros((half_sweep.PADDING_ROWS, K))
    prior = () if means is None else (padded(means[:, :R]), means[:, -1].copy())
    for first, last in blocks:
        half_sweep.draw_rows(
            first, last, half.indptr, half.index, half.values, w, padded(F), offset, 0.3, precision,
            np.vstack([Q, below]), slope, R, effects, Z, G, free, aligned, here, *prior,
        )  # fmt: skip
    return G[:, :R], free, aligned, here


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("R", [0, 3, 9])
@pytest.mark.parametrize("centred", [True, False])
def test_rows_are_drawn_with_the_mean_and_the_covariance_of_the_formula(R, effects, weighted, centred):
    """g = P^-1 b + C'^-1 z from given normals can be checked exactly; with prior means M, b has Q M in it."""
    if R == 0 and not effects:
        return  # nothing to draw
    rng, (m1, m2, N) = np.random.default_rng(1), (19, 7, 70)  # more rows than are solved side by side
    obs = Observations((m1, m2), rng.integers(0, m1 - 10, N), rng.integers(0, m2, N), rng.standard_normal(N))
    half, w = obs.by_row, rng.gamma(2.0, 0.5, N) if weighted else np.empty(0, bool)
    K, F, offset = R + effects, rng.standard_normal((m2, R)), rng.standard_normal(m2)
    Q, Z = np.diag(np.arange(1.0, K + 1)) + 0.1, rng.standard_normal((m1, K))
    means = None if centred else rng.standard_normal((m1, K))
    M = np.zeros((m1, K)) if means is None else means
    G, free, aligned, here = drawn(half, w, F, offset, Q, Z, R, effects, [(0, m1)], means=means)
    F1, w = np.hstack([F, np.ones((m2, int(effects)))]), w if weighted else np.ones(N)
    g = np.column_stack([G, free]) if effects else G
    for i in range(m1):  # the last rows have no measurement: their prior
        n = obs.rows == i
        f, t = F1[obs.cols[n]], obs.values[n] - 0.3 - offset[obs.cols[n]]
        P, b = Q + 2.5 * f.T @ (w[n, None] * f), 2.5 * f.T @ (w[n] * t)
        expected = np.linalg.solve(P, b + Q @ M[i]) + np.linalg.solve(np.linalg.cholesky(P).T, Z[i])
        np.testing.assert_allclose(g[i], expected, rtol=1e-9, atol=1e-12)
    e = obs.values - 0.3 - offset[obs.cols] - (F1[obs.cols] * g[obs.rows]).sum(axis=1)
    sums = np.eye(m1)[obs.rows].T @ np.column_stack([w, w * e, w * e**2])
    np.testing.assert_allclose(here[:, 2], sums[:, 2], rtol=1e-9)
    np.testing.assert_allclose(here[:, 3], (G**2).sum(axis=1), rtol=1e-12)
    if effects:
        np.testing.assert_allclose(here[:, :2], sums[:, :2], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(aligned, G @ np.arange(1.0, R + 1), rtol=1e-11, atol=1e-12)
    w = w if weighted else np.empty(0, bool)
    again = drawn(half, w, F, offset, Q, Z, R, effects, [(8, m1), (0, 8)], means=means)
    for one, two in zip((G, free, aligned, here), again, strict=True):
        np.testing.assert_array_equal(one, two)


def test_small_sums_of_squares_are_taken_from_the_residuals_themselves(monkeypatch):
    """Data without noise: the identity leaves only rounding, which the sums over residuals do not have."""
    rng, (m1, m2, R) = np.random.default_rng(2), (16, 40, 3)
    F, truth = rng.standard_normal((m2, R)), rng.standard_normal((m1, R))
    rows, cols = np.divmod(np.arange(m1 * m2), m2)
    obs = Observations(
        (m1, m2), rows, cols, (truth @ F.T + 0.3).ravel() + 1e-9 * rng.standard_normal(rows.size)
    )
    Z, zeros = rng.standard_normal((m1, R)), np.zeros(m2)
    arguments = obs.by_row, np.empty(0, bool), F, zeros, np.eye(R), Z, R, False, [(0, m1)], 1e18
    G, _, _, here = drawn(*arguments)
    rss = ((obs.values.reshape(m1, m2) - 0.3 - G @ F.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(here[:, 2], rss, rtol=1e-5)
    out, S = np.zeros(8), np.zeros((R + 1, R, 8))  # the control: what the identity alone would have said
    for i in range(8):
        S[:R, :, i], S[R, :, i] = F.T @ F, F.T @ (obs.values.reshape(m1, m2)[i] - 0.3)
    t2 = ((obs.values.reshape(m1, m2)[:8] - 0.3) ** 2).sum(axis=1)
    half_sweep.residual_squares(S, R, np.ascontiguousarray(G[:8].T), t2, out, np.empty(8))
    assert np.abs(out / rss[:8] - 1).max() > 0.01


@pytest.mark.parametrize("R", [1, 2, 5, 12])
def test_a_symmetric_matrix_is_diagonalised(R):
    rng = np.random.default_rng(R)
    Q = np.linalg.qr(rng.standard_normal((R, R)))[0]
    wanted = 10.0 ** rng.uniform(-6, 6, R)
    S, E = Q @ np.diag(wanted) @ Q.T, np.empty((R, R))
    S = (S + S.T) / 2
    values = S.copy()
    gauge.diagonalise(values, R, E)
    assert np.abs(values - np.diag(np.diag(values))).max() <= 1e-12 * wanted.max()
    np.testing.assert_allclose(np.sort(np.diag(values)), np.sort(wanted), atol=1e-13 * wanted.max())
    np.testing.assert_allclose(E.T @ E, np.eye(R), atol=1e-13)
    np.testing.assert_allclose(E @ np.diag(np.diag(values)) @ E.T, S, atol=1e-12 * wanted.max())


# Pieces, in law


def wishart_draws(A, R, df, sigma2, n, seed):
    rng, Q, G = np.random.default_rng(seed), np.zeros((R + 1, R + 1)), A[:, :R].T @ A[:, :R]
    out = np.empty((n, R, R))
    for k in range(n):
        gauge.draw_augmented_precision(G, R, df, sigma2, rng, Q)
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
    rng, (R, N, beta, x2) = np.random.default_rng(6), (2, 9, 0.4, 7.5)
    e, w, hyper = rng.standard_normal(N), rng.gamma(2.0, 0.5, N), gibbs.hyperparameters(PRIORS)
    start = np.array([0.7, 2.0, 0.3, 1.0, 1.0, 4.0, 1.0, 1.0])
    draws = np.tile(start, (4000, 1))
    for s in draws:
        sums = np.array([w.sum(), w @ e, w @ e**2, x2])
        moved = kernel.update_scales(R, True, beta, sums, N, hyper, s, rng)
        assert moved == s[kernel.MU] - start[kernel.MU]
    mu, sigma2, eta2 = draws.T[:3]
    assert (draws[:, 3:] == start[3:]).all()
    p = 1 / PRIORS.mu_var + beta * w.sum() / start[kernel.ETA2]
    mean = beta * w @ (e + start[kernel.MU]) / start[kernel.ETA2] / p
    rss = (e + start[kernel.MU] - mu[:, None]) ** 2 @ w
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
        nu[k] = kernel.update_weights(
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


@pytest.mark.parametrize("by_row", [False, True])
def test_the_weights_of_lines_have_their_conditionals(by_row):
    rng, (m1, m2, R, N) = np.random.default_rng(7), (5, 4, 2, 12)
    rows, cols = (
        rng.integers(0, m1 - 1, N),
        rng.integers(0, m2 - 1, N),
    )  # the last row and column are not measured
    obs = Observations((m1, m2), rows, cols, rng.standard_normal(N))
    left, right = rng.standard_normal((m1, R + 2)), rng.standard_normal((m2, R + 2))
    row, col = 0.5 * rng.standard_normal(m1), 0.5 * rng.standard_normal(m2)
    fitted = (left[:, :R] @ right[:, :R].T + row[:, None] + col)[obs.rows, obs.cols]
    e, grid, half = obs.values - 0.7 - fitted, np.array([2.0, 6.0, 40.0]), obs.by_col
    w, nu, w_col = np.empty((3000, N)), np.empty(3000), np.empty(N)
    scalars = np.zeros(kernel.N_SCALARS + (m1 if by_row else m2))
    hyper = gibbs.hyperparameters(replace(PRIORS, noise=KNOWN))  # eta2 stays
    for k, w_row in enumerate(w):
        nu[k], eta2 = kernel.update_line_weights(
            half.indptr, half.index, half.values, half.source, left, right, R, row, col, 0.7, 3.0, by_row,
            w_row, w_col, grid, hyper, scalars, rng,
        )  # fmt: skip
        assert eta2 == 3.0
        assert np.array_equal(w_col, w_row[half.source])
        assert np.array_equal(w_row, scalars[kernel.N_SCALARS :][obs.rows if by_row else obs.cols])
    assert not scalars[: kernel.N_SCALARS].any()
    line = obs.rows if by_row else obs.cols
    _, first, place = np.unique(line, return_index=True, return_inverse=True)
    n, q = np.bincount(place), np.bincount(place, e**2 / 3.0)
    assert np.array_equal(w, w[:, first][:, place])
    u = gamma.cdf(w[:, first], (nu[:, None] + n) / 2, scale=2 / (nu[:, None] + q))
    assert min(ks(column, uniform.cdf) for column in u.T) > ACCEPT
    control = gamma.cdf(w[:, first], (nu[:, None] + 1) / 2, scale=2 / (nu[:, None] + q))
    assert ks(control.ravel(), uniform.cdf) < REJECT  # the measurements of a line counted once
    # p(nu | e) with the weights integrated out by quadrature
    grid_w = np.linspace(1e-4, 40, 400_001)

    def density(line, h):
        rate = np.log(grid_w) * (n[line] / 2) - grid_w * q[line] / 2
        return (np.exp(rate) * gamma.pdf(grid_w, h, scale=1 / h)).sum()

    p = np.array([np.prod([density(line, h) for line in range(len(n))]) for h in grid / 2])
    drawn = nu[:, None] == grid
    assert (p / p.sum() > 0.02).all()
    assert np.abs(z_score(drawn - p / p.sum(), 0.0)).max() < PASS
    assert np.abs(z_score(drawn - np.sqrt(p) / np.sqrt(p).sum(), 0.0)).max() > FAIL  # control


def redraw_common_noise(n, seed, shape=3.0):
    """Draw (eta2, w) from their prior, redraw eta2 with the noises of lines as they are: the prior must stay."""
    rng, nu, lines = np.random.default_rng(seed), 10.0, 6
    hyper = gibbs.hyperparameters(replace(PRIORS, noise=InverseGamma(shape, 0.8)))
    old, new, weights = np.empty(n), np.empty(n), np.empty((n, lines))
    for k in range(n):
        old[k], w = 0.8 / rng.standard_gamma(3.0), rng.standard_gamma(nu / 2, lines) / (nu / 2)
        noises = old[k] / w
        new[k] = kernel.redraw_common_noise(old[k], w, nu, hyper, rng)
        np.testing.assert_allclose(new[k] / w, noises, rtol=1e-12)
        weights[k] = w
    return old, new, gamma.cdf(weights, nu / 2, scale=2 / nu)


def test_the_common_noise_is_redrawn_with_the_noises_of_lines_as_they_are():
    old, new, ranks = redraw_common_noise(4000, seed=8)
    assert ks(new, invgamma(3.0, scale=0.8).cdf) > ACCEPT
    assert min(ks(line, uniform.cdf) for line in ranks.T) > ACCEPT
    assert np.corrcoef(np.log(old), np.log(new))[0, 1] < 0.95  # it moves
    assert (
        ks(redraw_common_noise(4000, seed=8, shape=6.0)[1], invgamma(3.0, scale=0.8).cdf) < REJECT
    )  # control
