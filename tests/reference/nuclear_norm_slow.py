"""Slow, obvious twins of the nuclear-norm estimate: dense arrays, full SVDs, one loop."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sums(shape, rows, cols, values):
    """Counts W and means Y of every entry, dense; Y is zero where W is."""
    W, S = np.zeros(shape), np.zeros(shape)
    np.add.at(W, (rows, cols), 1.0)
    np.add.at(S, (rows, cols), values)
    return W, np.divide(S, W, out=np.zeros(shape), where=W > 0)


def objective(X: Floats, observations, penalty: float) -> float:
    """Eq. (nuc), measurement by measurement."""
    o = observations
    rss = sum((y - X[i, j]) ** 2 for i, j, y in zip(o.rows, o.cols, o.values, strict=True))
    return float(rss + penalty * np.linalg.svd(X, compute_uv=False).sum())


def gradient(X: Floats, observations) -> Floats:
    """G = 2 W (Y - X), minus the gradient of the squares."""
    W, Y = sums(observations.shape, observations.rows, observations.cols, observations.values)
    return 2.0 * W * (Y - X)


def proximal_gradient(observations, penalty: float, steps: int) -> Floats:
    """Plain proximal gradient: a gradient step, then every singular value less penalty * step."""
    W, _ = sums(observations.shape, observations.rows, observations.cols, observations.values)
    step = 1.0 / (2.0 * W.max())
    X = np.zeros(observations.shape)
    for _ in range(steps):
        u, d, vt = np.linalg.svd(X + step * gradient(X, observations), full_matrices=False)
        X = (u * np.maximum(d - step * penalty, 0.0)) @ vt
    return X


def ridge_rows(W: Floats, Y: Floats, B: Floats, rho: float) -> Floats:
    """Row by row: (B' W_i B + rho I)^-1 B' W_i y_i."""
    k = B.shape[1]
    return np.array(
        [
            np.linalg.solve(B.T @ (w[:, None] * B) + rho * np.eye(k), B.T @ (w * y))
            for w, y in zip(W, Y, strict=True)
        ]
    )
