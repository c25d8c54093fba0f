"""Linear algebra of the sweep on a device: R x R matrices in double precision, the systems of all rows in any.

    A     m x R    factors of a side, spread over the devices
    T     R x R    lower triangular: A B' = A T V' with V orthonormal
    P, b  R x R    precision and linear term of each row

`total` adds up over the devices; on one device it is the identity. On a GPU Cholesky factors of all rows are taken in
blocks of `BLOCK` coefficients. On the diagonal, with the rows last, each number is a vector over rows, which a GPU
reads at full width; below it, products of blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

# Before JAX looks at the machine. On processors a call of LAPACK waits, on a thread of XLA's pool, for other threads of
# that pool. With a thread for each core, two such calls on two cores wait for each other for ever. So there are more
# threads than calls that can be open at once.
os.environ.setdefault("PJRT_NPROC", str(max(64, os.cpu_count() or 1)))

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular

Total = Callable[[Array], Array]
BLOCK = 8  # coefficients whose factors are written out number by number
LEAST_DIAGONAL = 1e-290
SMALL = 1e-12  # of a diagonal: a side may have lost rank to rounding


def gram(A: Array, B: Array, total: Total) -> Array:
    """Return A'B in double precision."""
    return total(jnp.matmul(A.T.astype(jnp.float64), B.astype(jnp.float64), precision="highest"))


def cholesky(G: Array) -> Array:
    """Return the Cholesky factor of G, whose diagonal is raised by next to nothing."""
    diagonal = jnp.diagonal(G)
    return jnp.linalg.cholesky(G + jnp.diag(SMALL * diagonal + LEAST_DIAGONAL))


def orthonormalise(B: Array, total: Total) -> tuple[Array, Array]:
    """Return V with orthonormal columns and T with A B' = A T V': Cholesky's QR, twice."""
    V, T = B.astype(jnp.float64), jnp.eye(B.shape[1])
    for _ in range(2):  # squaring the condition number loses digits; the second pass restores them
        C = cholesky(gram(V, V, total))
        inverse = solve_triangular(C, jnp.eye(len(C)), lower=True)
        V, T = jnp.matmul(V, inverse.T, precision="highest"), jnp.matmul(T, C, precision="highest")
    return V, T


def draw_wishart(G: Array, chi2: Array, normals: Array) -> Array:
    """Return L ~ Wishart(df, G^-1) by Bartlett's decomposition; chi2 has df, df - 1, ... degrees of freedom."""
    bartlett = jnp.tril(normals, -1) + jnp.diag(jnp.sqrt(chi2))
    W = solve_triangular(cholesky(G).T, bartlett, lower=False)
    return W @ W.T


def solve_slope(G: Array, h: Array) -> Array:
    """Return m = G^-1 h: the slope of the aligned effects p = A m, from A'A and A'p."""
    C = cholesky(G)
    return solve_triangular(C.T, solve_triangular(C, h, lower=True), lower=False)


def draw_rows(P: Array, b: Array, z: Array, blocks: bool) -> Array:
    """Return P^-1 b + C'^-1 z of every row, P = C C'; (m, R, R) and twice (m, R) give (m, R).

    blocks: as a GPU likes it; otherwise by the library.
    """
    R = P.shape[-1]
    if not blocks or R == 0:
        C = jnp.linalg.cholesky(P)
        y = solve_triangular(C, b[..., None], lower=True) + z[..., None]
        return solve_triangular(C, y, lower=True, trans="T")[..., 0]
    below, inverses, y = [], [], []
    for start in range(0, R, BLOCK):
        n = min(BLOCK, R - start)
        inverse = jnp.moveaxis(_invert_factor(jnp.moveaxis(P[:, :n, :n], 0, -1)), -1, 0)
        panel = _multiply("mik,mjk->mij", P[:, n:, :n], inverse)
        y.append(_multiply("mij,mj->mi", inverse, b[:, :n]))
        P = P[:, n:, n:] - _multiply("mik,mjk->mij", panel, panel)
        b = b[:, n:] - _multiply("mij,mj->mi", panel, y[-1])
        inverses.append(inverse)
        below.append(panel)
    g = jnp.zeros_like(z[:, :0])
    for k in reversed(range(len(y))):
        rest = y[k] + z[:, k * BLOCK : (k + 1) * BLOCK] - _multiply("mij,mi->mj", below[k], g)
        g = jnp.concatenate([_multiply("mij,mi->mj", inverses[k], rest), g], axis=1)
    return g


_multiply = partial(jnp.einsum, precision="highest")


def _invert_factor(P: Array) -> Array:
    """C^-1 with P = C C' of every row, rows last: (n, n, m). Each number is a vector over rows, all in one kernel."""
    n = P.shape[0]
    zero = jnp.zeros_like(P[0, 0])
    C = [[zero] * n for _ in range(n)]  # its diagonal holds the reciprocals
    W = [[zero] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            x = P[i, j]
            for k in range(j):
                x = x - C[i][k] * C[j][k]
            C[i][j] = jax.lax.rsqrt(x) if i == j else x * C[j][j]
    for j in range(n):
        W[j][j] = C[j][j]
        for i in range(j + 1, n):
            x = zero
            for k in range(j, i):
                x = x - C[i][k] * W[k][j]
            W[i][j] = x * C[i][i]
    return jnp.stack([jnp.stack(row) for row in W])
