"""The additive fit against dense least squares."""

import numpy as np
import pytest
from numpy.typing import NDArray

from maxentry.errors import DataError, ParameterError
from maxentry.model.effects import Effects, row_column_means

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
M1, M2 = 9, 6


def data(N: int, seed: int = 0, offset: float = 0.0) -> tuple[Indices, Indices, Floats]:
    """Entries may repeat; the last row has no observation."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, M1 - 1, N), rng.integers(0, M2, N)
    truth = Effects(offset, rng.standard_normal(M1), rng.standard_normal(M2))
    return rows, cols, truth.at(rows, cols) + 0.3 * rng.standard_normal(N)


def dense_design(rows: Indices, cols: Indices) -> Floats:
    return np.hstack([np.ones((len(rows), 1)), np.eye(M1)[rows], np.eye(M2)[cols]])


def test_effects_add_up() -> None:
    effects = Effects(1.0, np.array([0.5, -0.5]), np.array([10.0, 20.0, 30.0]))
    np.testing.assert_array_equal(effects.at(np.array([1, 0]), np.array([0, 2])), [10.5, 31.5])
    np.testing.assert_array_equal(effects.matrix(), [[11.5, 21.5, 31.5], [10.5, 20.5, 30.5]])


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_the_fit_is_the_dense_ridge_solution(offset: float) -> None:
    rows, cols, y = data(40, offset=offset)
    A = dense_design(rows, cols)
    penalty = np.diag([0.0] + [2.0] * M1 + [0.7] * M2)
    expected = np.linalg.solve(A.T @ A + penalty, A.T @ (y - offset))
    fit = row_column_means(rows, cols, y, (M1, M2), row_ridge=2.0, col_ridge=0.7)
    # The values themselves are rounded at 1e-16 of the offset.
    got = np.concatenate([[fit.mu - offset], fit.row, fit.col])
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_a_tiny_ridge_gives_least_squares() -> None:
    rows, cols, y = data(40, seed=1)
    A = dense_design(rows, cols)
    expected = A @ np.linalg.lstsq(A, y)[0]
    fit = row_column_means(rows, cols, y, (M1, M2), row_ridge=1e-7, col_ridge=1e-7)
    np.testing.assert_allclose(fit.at(rows, cols), expected, atol=1e-6)
    visible = row_column_means(rows, cols, y, (M1, M2), row_ridge=1.0, col_ridge=1.0)
    assert np.max(np.abs(visible.at(rows, cols) - expected)) > 1e-2  # the test can tell a ridge from none


def test_on_a_complete_matrix_the_effects_are_the_row_and_column_means() -> None:
    Y = np.random.default_rng(2).standard_normal((M1, M2)) + 5
    rows, cols = (k.ravel() for k in np.indices(Y.shape))
    fit = row_column_means(rows, cols, Y.ravel(), Y.shape, row_ridge=1e-9, col_ridge=1e-9)
    assert fit.mu == pytest.approx(Y.mean())
    np.testing.assert_allclose(fit.row, Y.mean(axis=1) - Y.mean(), atol=1e-7)
    np.testing.assert_allclose(fit.col, Y.mean(axis=0) - Y.mean(), atol=1e-7)


def test_effects_sum_to_zero_and_an_unseen_row_has_none() -> None:
    rows, cols, y = data(25, seed=3, offset=4.0)
    fit = row_column_means(rows, cols, y, (M1, M2))
    assert fit.row.sum() == pytest.approx(0, abs=1e-9)
    assert fit.col.sum() == pytest.approx(0, abs=1e-9)
    assert fit.row[-1] == 0


def test_disconnected_blocks_and_constant_values_are_no_trouble() -> None:
    rows, cols = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])
    fit = row_column_means(rows, cols, np.full(4, 7.0), (3, 3), row_ridge=1e-7, col_ridge=1e-7)
    np.testing.assert_allclose(fit.matrix(), 7.0)


def test_what_cannot_be_fitted_is_refused() -> None:
    none = np.zeros(0, dtype=np.intp)
    with pytest.raises(DataError, match="at least one observation, got none"):
        row_column_means(none, none, np.zeros(0), (3, 3))
    with pytest.raises(ParameterError, match=r"must be positive, got 1\.0 .rows. and 0\.0"):
        row_column_means(np.array([0]), np.array([0]), np.ones(1), (3, 3), col_ridge=0.0)
