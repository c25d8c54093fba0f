"""Leading singular triplets of a sparse matrix outside given subspaces."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, svds

from maxentry.completion.entries import LowRank

Floats = NDArray[np.float64]

# LAPACK on the dense matrix beats Lanczos up to about this size.
DENSE_SIDE, DENSE_SIZE = 256, 1_000_000
DENSE_AT_NEED = 20_000_000  # and where Lanczos does not converge up to this one


def fits_dense(shape: tuple[int, int]) -> bool:
    """Whether a matrix of this shape is small enough for dense decompositions."""
    return min(shape) <= DENSE_SIDE and shape[0] * shape[1] <= DENSE_SIZE


def spectral_norm(M: Floats) -> float:
    """The largest singular value of a thin matrix."""
    if 0 in M.shape:
        return 0.0
    gram = M.T @ M if M.shape[0] >= M.shape[1] else M @ M.T
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))


def outside(G: csr_array, X: LowRank, p: int, accuracy: float) -> LowRank:
    """The p leading triplets of (I - UU') G (I - VV'), for the U and V of X, to this relative accuracy."""
    p = min(p, min(G.shape) - X.d.size)
    if p <= 0:
        return LowRank.zero(G.shape)
    if fits_dense(G.shape) or p >= min(G.shape):
        return _outside_dense(G, X, p)
    return _outside_lanczos(G, X, p, accuracy)


def _outside_dense(G: csr_array, X: LowRank, p: int) -> LowRank:
    D = G.toarray()
    D -= X.U @ (X.U.T @ D)
    D -= (D @ X.V) @ X.V.T
    if D.shape[0] < D.shape[1]:
        V, s, U = _leading(D.T, p)
    else:
        U, s, V = _leading(D, p)
    return LowRank(U, s, V)


def _leading(D: Floats, p: int) -> tuple[Floats, Floats, Floats]:
    """Leading triplets of a tall matrix through its Gram matrix, which is exact enough at the upper end."""
    squares, vectors = np.linalg.eigh(D.T @ D)
    s = np.sqrt(np.maximum(squares[: -p - 1 : -1], 0.0))
    s = s[s > 1e-6 * s[0]] if s[0] > 0 else s[:0]
    V = vectors[:, : -s.size - 1 : -1]
    return (D @ V) / s, s, V


def _outside_lanczos(G: csr_array, X: LowRank, p: int, accuracy: float) -> LowRank:
    U, V = X.U, X.V
    GT = G.T.tocsr()

    def product(v: Floats) -> Floats:
        z = G @ (v - V @ (V.T @ v))
        return np.asarray(z - U @ (U.T @ z))

    def adjoint(u: Floats) -> Floats:
        z = GT @ (u - U @ (U.T @ u))
        return np.asarray(z - V @ (V.T @ z))

    operator = LinearOperator(G.shape, matvec=product, rmatvec=adjoint, matmat=product, rmatmat=adjoint)
    # A fixed start makes the solve a function of its input; any start not orthogonal to the answer will do.
    start = np.random.default_rng(0).standard_normal(min(G.shape))
    try:
        u, s, vt = svds(operator, k=p, tol=accuracy, v0=start)  # type: ignore[type-var]
    except (
        ArpackNoConvergence
    ):  # tied singular values, as a handful of ratings of as many users and movies has
        if G.shape[0] * G.shape[1] <= DENSE_AT_NEED:
            return _outside_dense(G, X, p)
        most = min(min(G.shape) - 1, 20 * p + 100)
        u, s, vt = svds(operator, k=p, tol=accuracy, v0=start, ncv=most, maxiter=10**5)  # type: ignore[type-var]
    order = np.argsort(-s)
    return LowRank(*(np.asarray(x, dtype=np.float64) for x in (u[:, order], s[order], vt[order].T)))
