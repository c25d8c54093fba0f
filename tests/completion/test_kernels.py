"""The compiled loops against their slow twins."""

import numpy as np
import pytest
from tests.completion.conditions import simulated
from tests.reference import nuclear_norm_slow as slow

from maxentry.completion.nuclear_norm import add, certify, drop, sweep
from maxentry.completion.result import LowRank, WeightedEntries
from maxentry.kernels import ridge

OBSERVATIONS = simulated(17, 13, 2, 0.5, 0.2, replicates=40)[0]
ENTRIES = WeightedEntries.from_measurements(
    OBSERVATIONS.shape, OBSERVATIONS.rows, OBSERVATIONS.cols, OBSERVATIONS.values
)
W, Y = slow.sums(OBSERVATIONS.shape, OBSERVATIONS.rows, OBSERVATIONS.cols, OBSERVATIONS.values)


def low_rank(k, seed=0):
    rng = np.random.default_rng(seed)
    return LowRank.from_factors(rng.standard_normal((17, k)), rng.standard_normal((13, k)))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 12])  # more and fewer than a row has entries, odd and even
def test_ridge_rows(k):
    B = np.random.default_rng(k).standard_normal((13, k))
    A, fitted = ENTRIES.by_row.ridge(B, 0.3)
    expected = slow.ridge_rows(W, Y, B, 0.3)
    assert np.allclose(A, expected, atol=1e-10)
    assert fitted == pytest.approx(np.sum(W * Y * (expected @ B.T)))
    A = np.random.default_rng(k).standard_normal((17, k))
    assert np.allclose(ENTRIES.by_col.ridge(A, 0.3)[0], slow.ridge_rows(W.T, Y.T, A, 0.3), atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 21])
def test_gram_and_solve(n):
    rng = np.random.default_rng(n)
    T, P, b = rng.standard_normal((n, 7)), 0.5 * np.eye(n), rng.standard_normal(n)
    expected = P + T @ T.T
    ridge.add_gram(T, P)
    assert np.allclose(np.triu(P), np.triu(expected))
    x = b.copy()
    ridge.solve_spd(P, x)
    assert np.allclose(expected @ x, b)


def test_entries_and_energies():
    X = low_rank(3)
    dense = (X.U * X.d) @ X.V.T
    seen = W > 0
    assert np.allclose(ENTRIES.at(X), dense[seen])
    half = ENTRIES.by_row
    h = ridge.component_energies(half.start, half.index, half.w, X.U, X.V)
    assert np.allclose(h, [np.sum(W * np.outer(u, v) ** 2) for u, v in zip(X.U.T, X.V.T, strict=True)])


def test_measurements_become_entries():
    assert np.allclose(ENTRIES.by_row.w, W[W > 0])
    assert np.allclose(ENTRIES.by_row.y, Y[W > 0])
    assert ENTRIES.by_row.w.sum() == OBSERVATIONS.n
    X = low_rank(2)
    dense = (X.U * X.d) @ X.V.T
    assert ENTRIES.objective(X, 0.7) == pytest.approx(slow.objective(dense, OBSERVATIONS, 0.7))


def test_a_sweep_reports_the_objective_of_the_factors():
    A, B, F = sweep(ENTRIES, low_rank(3).V, 0.7)
    expected = np.sum(W * (Y - A @ B.T) ** 2) + 0.35 * (np.sum(A**2) + np.sum(B**2))
    assert np.isclose(F, expected, rtol=1e-10)


@pytest.mark.parametrize("k", [0, 1, 4, 13])
def test_the_gap_bounds_the_excess_anywhere(k):
    penalty = 2.0
    X = low_rank(k) if k else LowRank.zero((17, 13))
    optimum = slow.objective(slow.proximal_gradient(OBSERVATIONS, penalty, 3000), OBSERVATIONS, penalty)
    state = certify(ENTRIES, X, penalty, 5, 1e-6)
    excess = state.objective - optimum
    assert excess > 0
    assert state.gap * state.objective >= excess


def test_the_gap_at_zero_is_that_of_the_dense_dual():
    penalty, seen, zero = 2.0, W > 0, LowRank.zero((17, 13))
    G = 2 * W * Y
    theta = G * penalty / np.linalg.norm(G, 2)
    dual = np.sum(theta[seen] * Y[seen] - theta[seen] ** 2 / (4 * W[seen]))
    objective = slow.objective(np.zeros((17, 13)), OBSERVATIONS, penalty)
    state = certify(ENTRIES, zero, penalty, 5, 1e-6)
    assert state.gap == pytest.approx((np.sum(W * Y**2) - dual) / objective, rel=1e-4)


def test_dropping_and_adding_never_raise_the_objective():
    rng = np.random.default_rng(0)
    for seed in range(30):
        X = low_rank(int(rng.integers(1, 8)), seed)
        X = X._replace(d=X.d * 10.0 ** rng.uniform(-4, 0, X.d.size))
        penalty = float(rng.uniform(0.5, 5.0))
        state = certify(ENTRIES, X, penalty, 4, 1e-6)
        fewer = drop(ENTRIES, X, penalty, state)
        lower = ENTRIES.objective(fewer, penalty)
        assert lower <= state.objective * (1 + 1e-12)
        more, added = add(ENTRIES, fewer, penalty, state.outside)
        assert ENTRIES.objective(more, penalty) <= lower * (1 + 1e-12)
        assert more.d.size <= fewer.d.size + added
        if (
            more.d.size > fewer.d.size
        ):  # the line search is exact: neither a longer nor a shorter step is better
            for factor in (0.99, 1.01):
                d = np.concatenate([fewer.d, factor * more.d[fewer.d.size :]])
                other = ENTRIES.objective(more._replace(d=d), penalty)
                assert other >= ENTRIES.objective(more, penalty) * (1 - 1e-12)
