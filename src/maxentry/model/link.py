"""The linear link of rows (or columns) to their features: their basis, and the law of coefficients given a draw.

    F      m x p    features, centred, over the root of their mean squared length
    U, s   q x m, q left singular vectors and singular values of F; the constant comes before them
    G      m x K    coefficients of the rows: factors and, with effects, the effect
    W      p x K    coefficients of the features: G = 1 w_0' + F W + E, rows of E ~ N(0, Q^-1)
    rho    -        W ~ N(0, rho Q^-1) row by row

Where both sides of F are above `MOST`, or above `FEW` and F has few numbers, its singular vectors would take longer
than conjugate gradients, by which the coefficients are then found (`kernels.gradients`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maxentry._types import Array, Flags
from maxentry.errors import ParameterError
from maxentry.kernels.gradients import allocate, set_sides, solve_blocks

if TYPE_CHECKING:
    from maxentry.features import Features
    from maxentry.labels import Axis
    from maxentry.observations import Observations

Observed = Literal["observed"]

LANES = 8
FEW = 1000  # rows or features, whichever are fewer, of which singular vectors are always found ...
MOST = 5000  # ... and beyond which they never are
STEPS = 30  # of conjugate gradients, about, where the work is estimated
LEAST_SHARE = 1e-12  # of the largest squared singular value: less is rounding


class LinkPrior(NamedTuple):
    """Q ~ Wishart(df + K - 1, scale^-1), with one scale for factors and one for effects; rho ~ IG(shape, scale).

    What features do not explain has variances IG(df/2, scale/2): of factors 1/2 in the mean, of effects 1/20, a fifth
    of the spread of the data as their sd. With hardly any prior (df = 1 and a tenth of these scales) features that
    say nothing make fits of small tables worse (tests/posterior/test_link.py).
    """

    df: float = 4.0
    factors: float = 1.0
    effect: float = 0.1
    shape: float = 0.5
    scale: float = 0.005


PRIOR = LinkPrior()


@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis of what features can say of m rows; without features it is the constant."""

    m: int
    F: Any = None  # (m, p) array or scipy.sparse; None: no features
    features: Features | None = None  # where they were given

    @property
    def p(self) -> int:
        """The number of features."""
        return 0 if self.F is None else int(self.F.shape[1])

    def __str__(self) -> str:
        notes = () if self.features is None else self.features.notes
        return "; ".join([str(self.p), *(note.partition(": ")[2] for note in notes)])

    @cached_property
    def centre(self) -> Array:
        """Means of the features."""
        return np.asarray(self.F.mean(axis=0), dtype=float).ravel()

    @cached_property
    def spread(self) -> Array:
        """Standard deviations of the features."""
        squares = (
            self.F.multiply(self.F).mean(axis=0) if hasattr(self.F, "multiply") else (self.F**2).mean(axis=0)
        )
        return np.sqrt(np.maximum(np.asarray(squares, dtype=float).ravel() - self.centre**2, 0.0))

    @cached_property
    def length(self) -> float:
        """The root of the mean squared length of a centred row."""
        return float(np.sqrt((self.spread**2).sum())) or 1.0

    def apply(self, X: Array) -> Array:
        """F X."""
        return np.asarray(self.F @ X - self.centre @ X) / self.length

    def apply_transposed(self, X: Array) -> Array:
        """F'X."""
        return np.asarray(self.F.T @ X - np.outer(self.centre, X.sum(axis=0))) / self.length

    def encode(self, new: Any) -> Array:
        """Features of new rows, as those of F are: centred, over the same length."""
        dense = new.toarray() if hasattr(new, "toarray") else np.asarray(new, dtype=float)
        return np.asarray((dense - self.centre) / self.length)

    @property
    def iterates(self) -> bool:
        """Whether there is no U, and coefficients are found by conjugate gradients.

        Between `FEW` and `MOST` they are where it is less work: on sparse bits the two cost the same where the numbers
        that are stored, times the steps, are about as many as those of U (benchmarks/side_information.md, crossover).
        """
        fewer = min(self.m, self.p)
        stored = self.F.nnz if hasattr(self.F, "nnz") else self.m * self.p
        return fewer > MOST or (fewer > FEW and STEPS * stored < self.m * fewer)

    @property
    def work(self) -> float:
        """The multiplications of a sweep for each factor: U G and U'(U M), or some steps with two right-hand sides."""
        return 4.0 * STEPS * self.sparse[2].size if self.iterates else 2.0 * self.U.size

    @cached_property
    def sparse(self) -> tuple[Any, ...]:
        """F by row and by column, as `kernels.gradients.Sparse` has it; empty where there is a U."""
        if not self.iterates:
            index, none = np.empty(0, np.int32), np.empty(0)
            return np.zeros(1, np.int64), index, none, np.zeros(1, np.int64), index, none, none, none
        from scipy.sparse import csr_array

        by_row: Any = csr_array(self.F, dtype=float) / self.length
        by_col = by_row.T.tocsr()
        halves = [
            (half.indptr.astype(np.int64), half.indices.astype(np.int32), half.data)
            for half in (by_row, by_col)
        ]
        squares = self.m * (self.spread / self.length) ** 2
        return *halves[0], *halves[1], self.centre / self.length, squares

    @cached_property
    def _decomposition(self) -> tuple[Array, Array]:
        """U (q, m) and squared singular values, the constant first, by the eigenvectors of the smaller Gram matrix."""
        constant = np.full((1, self.m), 1 / np.sqrt(self.m))
        if self.iterates:
            return np.empty((0, self.m)), np.empty(0)
        if self.p == 0:
            return constant, np.array([float(self.m)])
        identity = np.eye(min(self.m, self.p))
        if self.p < self.m:
            s2, V = np.linalg.eigh(self.apply_transposed(self.apply(identity)))
            keep = np.flatnonzero(s2 > LEAST_SHARE * s2[-1])[::-1]
            U = self.apply(V[:, keep]).T / np.sqrt(s2[keep])[:, None]
        else:
            s2, V = np.linalg.eigh(self.apply(self.apply_transposed(identity)))
            keep = np.flatnonzero(s2 > LEAST_SHARE * s2[-1])[::-1]
            U = V[:, keep].T
        return np.vstack([constant, U]), np.concatenate([[float(self.m)], s2[keep]])

    @cached_property
    def U(self) -> Array:
        """The basis, with rows and columns of zeros up to multiples of eight, for the sampler."""
        U = self._decomposition[0]
        padded = np.zeros(tuple(-(-n // LANES) * LANES for n in U.shape))
        padded[: U.shape[0], : U.shape[1]] = U
        return padded

    @cached_property
    def s2(self) -> Array:
        """m of the constant, then squared singular values, with zeros as U has."""
        s2 = self._decomposition[1]
        return np.concatenate([s2, np.zeros(-s2.size % LANES)])

    def draw_coefficients(
        self, G: Array, rho: float, prior: LinkPrior, effects: bool, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """Draw (Q, w_0, W) given G and rho, as `kernels.link` does."""
        draw = self._draw_by_gradients if self.iterates else self._draw_by_vectors
        return draw(G, rho, prior, effects, rng)

    def _draw_by_vectors(
        self, G: Array, rho: float, prior: LinkPrior, effects: bool, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """W by Matheron's rule."""
        K, (U, s2) = G.shape[1], self._decomposition
        H, d = U @ G, np.concatenate([s2[:1], rho * s2[1:]])
        share = (d / (1 + d))[:, None]
        Q = self._draw_precision(G.T @ G, H.T @ (share * H), prior, effects, rng)
        inverse = np.linalg.cholesky(np.linalg.inv(Q)).T  # normals times this have covariance Q^-1
        w_0 = share[0] * H[0] + np.sqrt(share[0]) * (rng.standard_normal(K) @ inverse)
        W = np.zeros((self.p, K))
        if self.p:
            W = np.sqrt(rho) * rng.standard_normal((self.p, K)) @ inverse
            gap = H[1:] - U[1:] @ self.apply(W) - rng.standard_normal((len(s2) - 1, K)) @ inverse
            W += rho * self.apply_transposed(U[1:].T @ (gap / (1 + d[1:, None])))
        return Q, w_0 / np.sqrt(self.m), W

    def _draw_by_gradients(
        self, G: Array, rho: float, prior: LinkPrior, effects: bool, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """W by a ridge regression with noise in its right-hand side."""
        K, F, total = G.shape[1], allocate(self.sparse, G.shape[1]), G.sum(axis=0)
        set_sides(F, np.ascontiguousarray(G), np.zeros(self.m), K, False, 1 / rho, rng)
        solve_blocks(np.zeros(1, np.int64), F, 1 / rho)
        X, Y = (part.transpose(1, 0, 2).reshape(part.shape[1], -1) for part in (F.X, F.Y))
        shared = G.T @ Y[:, :K]
        explained = np.outer(total, total) / (1 + self.m) + (shared + shared.T) / 2
        Q = self._draw_precision(G.T @ G, explained, prior, effects, rng)
        inverse = np.linalg.cholesky(np.linalg.inv(Q)).T
        w_0 = total / (1 + self.m) + rng.standard_normal(K) @ inverse / np.sqrt(1 + self.m)
        return Q, w_0, X[:, :K] + X[:, K : 2 * K] @ inverse

    def _draw_precision(
        self, squares: Array, explained: Array, prior: LinkPrior, effects: bool, rng: np.random.Generator
    ) -> Array:
        """Q, given the squares of G and those of them that features explain."""
        K = len(squares)
        scale = np.full(K, prior.factors)
        scale[K - 1 :] = prior.effect if effects else prior.factors
        root = np.linalg.cholesky(np.linalg.inv(np.diag(scale) + squares - explained))
        T = np.tril(rng.standard_normal((K, K)), -1)
        T[np.diag_indices(K)] = np.sqrt(rng.chisquare(self.m + K - 1 + prior.df - np.arange(K)))
        return np.asarray((root @ T) @ (root @ T).T)


def read_side(given: Any, axis: Axis, measured: Flags | None = None) -> Basis | Observed | None:
    """Read the features of an axis: what `Features.of` reads, "observed", or None.

    measured: which rows have a measurement; of the others one does not learn what a missing feature says.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given != "observed":
            raise ParameterError(
                f"{axis.name} features must be a frame, an array, a sparse matrix or 'observed', got {given!r}"
            )
        return "observed"
    from maxentry.features import Features

    features = Features.of(given, axis)
    if measured is not None:
        features = features.without_marks(measured)
    return Basis(axis.size, features.matrix, features)


def read_sides(
    row_features: Any, col_features: Any, o: Observations
) -> tuple[Basis | Observed | None, Basis | Observed | None]:
    """Read the features of rows and of columns of what was observed."""
    rows = read_side(row_features, o.row_axis, o.row_counts > 0)
    return rows, read_side(col_features, o.col_axis, o.col_counts > 0)


def find_basis(given: Basis | Observed | None, observed: Any, side: int) -> Basis:
    """Return the basis of the rows (side 0) or columns (1) of a matrix with this mask of observed entries."""
    if isinstance(given, Basis):
        return given
    if given is None:
        return Basis(observed.shape[side])
    mask = observed.T.tocsr() if side else observed.tocsr()
    return _observed_basis(mask.indptr.tobytes(), mask.indices.tobytes(), str(mask.indices.dtype), mask.shape)


@lru_cache(maxsize=4)
def _observed_basis(indptr: bytes, indices: bytes, dtype: str, shape: tuple[int, int]) -> Basis:
    """By the mask itself: choosing a rank asks for that of the same table again and again."""
    from scipy.sparse import csr_array

    starts, cols = np.frombuffer(indptr, dtype), np.frombuffer(indices, dtype)
    return Basis(shape[0], normalise_mask(csr_array((np.ones(cols.size), cols, starts), shape=shape)))


def normalise_mask(mask: Any) -> Any:
    """Divide each row of a CSR matrix of ones by the root of how many it has."""
    counts = np.diff(mask.indptr)
    mask.data = 1 / np.sqrt(np.repeat(counts, counts).astype(float))
    return mask
