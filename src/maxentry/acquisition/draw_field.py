"""`Field`: the entries as jointly Gaussian, all that the criteria need of a belief; `DrawField`: that of its draws.

    f_a     p        features of entry a: Cov(x_a, x_b) = f_a . f_b before anything pending is measured
    W       k x p    directions of the entries measured since: K = I - W'W, Cov(x_a, x_b) = f_a' K f_b
    eta2    -        variance of the noise of one measurement, at least NOISE_FLOOR of the largest bound of a variance
                     (where entries' noises differ, features are scaled so that it is the same for all: `WeightedField`)

Measuring entry a, whatever its value, adds the direction w = K f_a / sqrt(v_a + eta2), v_a = f_a' K f_a.

The field of the draws, with bounds on the sd of its entries:

| symbol | meaning | shape |
|---|---|---|
| A, B | factors, draws last | m1 x R x S, m2 x R x S |
| a, b | effects minus their means over the draws; mu is in a | m1 x S, m2 x S |
| d_ij | draws of entry (i, j) minus their mean: Cov(x, x') = d . d' / S | S |
| f_ij | features, d_ij / sqrt(S) | S |
| a_i*, b_j* | means of the aligned factors, a_i = a_i* + da_i | R |

Bounds that separate into rows and columns, by Minkowski and Cauchy-Schwarz:

    sd(x_ij) <= sd(a_i . b_j) + sd(row_i) + sd(col_j),
    sd(a_i . b_j) <= (E|a_i|^4)^(1/4) (E|b_j|^4)^(1/4)                                                       (far)
    sd(a_i . b_j) <= sd(da_i . b_j*) + sd(a_i* . db_j) + (E|da_i|^4)^(1/4) (E|db_j|^4)^(1/4)                 (near)

with sd(da_i . b_j*) <= |Cov(a_i)|^(1/2) |b_j*| (spectral norm). The draws' factors are first rotated to each other
(X = A B' = (A O)(B O)' for orthogonal O), so that the means are large and the deviations small, then scaled
(A M)(B M^-T)', so that a direction in which one side is small and well known does not meet large deviations of the
other. The bounds hold for any O and M.

A closer bound of a single entry (`upper`) costs two products of inner dimension (R + 1)(R + 2)/2, where the
variance itself takes R S multiplications. With the effects as one more coordinate, b = (b_j*, 1) and a = (a_i*, 1):

    sd(x_ij) <= (b' Cov(a_i, row_i) b)^(1/2) + (a' Cov(b_j, col_j) a)^(1/2) + (E|da_i|^4)^(1/4) (E|db_j|^4)^(1/4)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from maxentry._io import checkpoint, max_threads
from maxentry._types import Array, Indices
from maxentry.belief import Belief, Entries
from maxentry.errors import ParameterError
from maxentry.kernels import variances as kernel

WORTHWHILE = 100  # the aligned bound costs as much as evaluating this many times R (m1 + m2) entries
ROUNDING = 1e-10
RIDGE = 1e-6  # keeps directions that hardly exist from being scaled without end
ENTRIES_A_THREAD = 8192  # fewer are not worth a thread
BOUND_COST = 2  # bounding an entry costs this many times (R + 1)(R + 2) multiplications; its variance R S
SAME = 1e-13  # draws that differ by less than this share of their size differ by rounding
NOISE_FLOOR = 1e-10  # noise below this share of the variances would drown in their rounding
CHUNK = 4096  # entries whose features are formed at once
BLOCK_NUMBERS = 4_000_000  # a block of a map or of factors holds about this many numbers (32 MB)
MOST_SHARES = 2_000_000  # entries whose shares of information are held
SHARE_COST = 4  # a number of a single entry takes the time of so many multiplications of a block


class Field(Protocol):
    """Entries of an m1 x m2 matrix as jointly Gaussian, by features."""

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""

    @property
    def eta2(self) -> float:
        """The variance of the noise of one measurement."""

    @property
    def measured(self) -> Array:
        """Directions of measured entries that the features do not include, (k, p)."""

    @property
    def p(self) -> int:
        """The number of features."""

    def features(self, rows: Indices, cols: Indices) -> Array:
        """f_a for each entry, (n, p)."""

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """f_a' (I - W'W) f_a, W what is `measured`, for each entry of a block of rows and columns."""

    def variances_at(self, rows: Indices, cols: Indices) -> Array:
        """The same for some entries."""

    def upper(self, rows: Indices, cols: Indices) -> Array | None:
        """Bounds of the variances at each entry of a block, cheaper than these; None where there are none."""

    def bounds(self) -> list[tuple[Array, Array]]:
        """Pairs of non-negative P (m1, k) and Q (m2, k), each with P_i . Q_j at least the sd of every entry."""

    def estimates(self, rows: Indices, cols: Indices) -> NDArray[np.float32]:
        """About v/eta2 at each entry of a block, cheaper than the variances."""

    @property
    def work(self) -> Work:
        """The multiplications for one entry."""


class Work(NamedTuple):
    """Multiplications for one entry: to estimate or bound its variance, to compute it, to form its features."""

    estimate: int
    variance: int
    features: int


def noise_floor(bounds: list[tuple[Array, Array]]) -> float:
    """The least noise variance that rounding allows, given bounds of the standard deviations."""
    sd = min((float(P.max(0) @ Q.max(0)) for P, Q in bounds if len(P) and len(Q)), default=0.0)
    return NOISE_FLOOR * sd * sd


def cholesky_factor(M: Array) -> Array:
    """The lower Cholesky factor of a covariance plus noise; refuses noise that is lost in rounding."""
    try:
        C: Array = cholesky(M, lower=True)
    except LinAlgError:
        raise ParameterError(
            f"expected noise that rounding leaves visible beside variances of {np.diag(M).max():g}, got less"
        ) from None
    return C


def measurement_directions(F: Array, eta2: float, W: Array | None = None) -> Array:
    """The directions that measuring entries with features F adds to W, in their order; at most p.

    K - K F'(F K F' + eta2 I)^-1 F K = K - w'w with w = C^-1 F K, C C' = F K F' + eta2 I.
    """
    if F.size == 0:
        return np.zeros_like(F)
    F = compress(F)
    FK = F if W is None or len(W) == 0 else F - (F @ W.T) @ W
    w: Array = solve_triangular(cholesky_factor(FK @ F.T + eta2 * np.eye(len(F))), FK, lower=True)
    return w


def all_directions(field: Field, pending: Entries) -> Array:
    """The directions of measured and pending entries, compressed to at most p."""
    return compress(np.concatenate([field.measured, pending_directions(field, pending)]))


def pending_directions(field: Field, pending: Entries) -> Array:
    """The directions that pending entries add, at most p."""
    F = np.empty((0, field.p))
    for start in range(0, len(pending.rows), CHUNK):
        some = slice(start, start + CHUNK)
        F = compress(np.concatenate([F, field.features(pending.rows[some], pending.cols[some])]))
    return measurement_directions(F, field.eta2, field.measured)


def compress(X: Array) -> Array:
    """At most p rows with the same X'X (all that K depends on), for features or directions."""
    n, p = X.shape
    return np.asarray(np.linalg.qr(X, mode="r")) if n > p else X


def measurement_direction(f: Array, W: Array, eta2: float) -> tuple[Array, float]:
    """The direction that measuring one entry with features f adds to W, and the variance it has before."""
    Kf = f - W.T @ (W @ f)
    v = max(float(f @ Kf), 0.0)
    return Kf / np.sqrt(v + eta2), v


@dataclass(frozen=True, eq=False, repr=False)
class DrawField:
    """The field of a belief's draws; covariances are those of the S draws themselves (divisor S)."""

    A: Array
    B: Array
    a: Array
    b: Array
    noise_var: float
    size: float  # of the largest number in a draw

    @classmethod
    def from_belief(cls, belief: Belief) -> DrawField:
        """Lay the draws out in the order the compiled loops read them."""
        used = np.any(belief.left, axis=(0, 1)) & np.any(belief.right, axis=(0, 1))
        row = np.asarray(belief.row, dtype=float).T + belief.mu
        col = np.asarray(belief.col, dtype=float).T
        level = col.mean(0)  # moved from columns to rows: the bounds are tighter
        row, col = row + level, col - level
        A, B = _draws_last(belief.left[:, :, used]), _draws_last(belief.right[:, :, used])
        return cls(
            A,
            B,
            np.ascontiguousarray(row - row.mean(1, keepdims=True)),
            np.ascontiguousarray(col - col.mean(1, keepdims=True)),
            float(np.mean(belief.noise_var)),
            _longest(A) * _longest(B) + sum(_greatest(x) for x in (belief.row, belief.col, belief.mu)),
        )

    @property
    def plain(self) -> DrawField:
        """Itself: all entries have the same noise."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return len(self.a), len(self.b)

    @property
    def p(self) -> int:
        """S."""
        return int(self.a.shape[1])

    @property
    def least(self) -> float:
        """Variances below this are rounding errors and count as zero."""
        return (SAME * self.size) ** 2

    @cached_property
    def eta2(self) -> float:
        """The noise variance of one measurement, at least `noise_floor`."""
        return max(self.noise_var, noise_floor(self.bounds()))

    @property
    def measured(self) -> Array:
        """Nothing: the draws already know the observed entries."""
        return np.empty((0, self.p))

    def features(self, rows: Indices, cols: Indices) -> Array:
        """d_a / sqrt(S) for each entry, (n, S)."""
        F = np.empty((len(rows), self.p))

        def fill(some: slice) -> None:
            kernel.fill_features(*self._draws, rows[some], cols[some], self.least, F[some])

        run_in_threads(fill, len(rows), 1)
        return F

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """The variance of the draws at each entry of a block."""
        v = np.empty((len(rows), len(cols)))

        def fill(some: slice) -> None:
            kernel.block_variances(*self._draws, rows[some], cols, self.least, v[some])

        run_in_threads(fill, len(rows), len(cols))
        return v

    def variances_at(self, rows: Indices, cols: Indices) -> Array:
        """The variance of the draws at some entries."""
        v = np.empty(len(rows))

        def fill(some: slice) -> None:
            kernel.entry_variances(*self._draws, rows[some], cols[some], self.least, v[some])

        run_in_threads(fill, len(rows), 1)
        return v

    @property
    def _draws(self) -> tuple[Array, Array, Array, Array]:
        return self.A, self.B, self.a, self.b

    def products(self, w: Array, keys: Indices) -> Array:
        """f . w for each row of w (which sum to zero) and each entry by its key, (len(w), n), from the factors.

        sum_s w_s x_ij^s is one product of inner dimension S R for all entries of some rows; keys are increasing.
        """
        (m1, m2), R = self.shape, self.A.shape[1]
        products = np.empty((len(w), len(keys)))
        w = w / np.sqrt(self.p)
        B = self.B.reshape(m2, -1).T
        step = max(1, BLOCK_NUMBERS // max(m2, R * self.p))
        for i in range(0, m1, step):
            checkpoint()
            some = slice(*np.searchsorted(keys, (i * m2, (i + step) * m2)))
            for k, w_k in enumerate(w):
                A = self.A[i : i + step] * w_k
                x = A.reshape(len(A), -1) @ B + (self.a[i : i + step] @ w_k)[:, None] + self.b @ w_k
                products[k, some] = x.ravel()[keys[some] - i * m2]
        return products

    def bounds(self) -> list[tuple[Array, Array]]:
        """Pairs (P, Q) with sd(x_ij) <= P_i . Q_j: the far bound, and the near one where there are moments."""
        return self._bounds

    @cached_property
    def _bounds(self) -> list[tuple[Array, Array]]:
        row_sd, col_sd = self.a.std(1), self.b.std(1)
        kinds = [([_fourth(self.A)], [_fourth(self.B)])]
        if self._moments is not None:
            (A_mean, A_spread, A_fourth), (B_mean, B_spread, B_fourth) = (x.bound() for x in self._moments)
            kinds.append(([A_spread, A_mean, A_fourth], [B_mean, B_spread, B_fourth]))
        return [
            (np.stack([*P, row_sd, np.ones_like(row_sd)], 1), np.stack([*Q, np.ones_like(col_sd), col_sd], 1))
            for P, Q in kinds
        ]

    @cached_property
    def _moments(self) -> tuple[AlignedMoments, AlignedMoments] | None:
        """None where they cost more than they save."""
        (m1, m2), R = self.shape, self.A.shape[1]
        return None if R == 0 or m1 * m2 <= WORTHWHILE * R * (m1 + m2) else align_draws(*self._draws)

    def upper(self, rows: Indices, cols: Indices) -> Array | None:
        """Bounds of the variances at each entry of a block; None where they would cost as much as the variances."""
        R, S = self.A.shape[1:]
        if BOUND_COST * (R + 1) * (R + 2) > R * S or self._moments is None:
            return None
        left, right = self._moments
        sd: Array = np.multiply.outer(left.fourth[rows], right.fourth[cols])
        for X, Y in ((left.forms, right.squares), (left.squares, right.forms)):
            form = X[rows] @ Y[cols].T
            np.maximum(form, 0.0, out=form)
            sd += np.sqrt(form, out=form)
        sd *= sd
        return sd

    def estimates(self, rows: Indices, cols: Indices) -> NDArray[np.float32]:
        """About v/eta2, as if the factors and effects of rows were independent of those of columns."""
        P, Q = self._estimate_factors
        estimates: NDArray[np.float32] = P[rows] @ Q[cols].T
        return estimates

    @cached_property
    def _estimate_factors(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """P and Q such that P_i . Q_j = {b' Cov(a_i) b + a' Cov(b_j) a + tr(Cov(a_i) Cov(b_j))} / eta2."""
        if self.A.shape[1] == 0:
            row, col = self.a.var(1), self.b.var(1)
            P, Q = np.stack([row, np.ones_like(row)], 1), np.stack([np.ones_like(col), col], 1)
        else:
            left, right = self._moments or align_draws(*self._draws)
            P = np.concatenate([left.forms, left.squares, left.products(2.0)], axis=1)
            Q = np.concatenate([right.squares, right.forms, right.products(1.0)], axis=1)
        size = np.maximum(
            np.abs(P).max(0, initial=0.0), np.finfo(float).tiny
        )  # single precision reaches 1e38
        return (P / size).astype(np.float32), (Q * (size / self.eta2)).astype(np.float32)

    @property
    def work(self) -> Work:
        """A variance and features are sums over R + 1 products for each draw."""
        R = self.A.shape[1]
        return Work(2 * (R + 1) * (R + 2), (R + 1) * self.p, (R + 1) * self.p)


class WeightedField:
    """A field in which a measurement of each entry has its own noise: what is measured is x_a sqrt(share_a).

    An entry with working noise eta2 / share (`Belief.noise_at`) tells as much as x sqrt(share) with noise eta2: gains,
    directions and what an entry takes off the variance of others are the same. So every criterion takes entries' own
    noises by features, variances and bounds of x sqrt(share), and is otherwise as it was.
    """

    def __init__(self, field: Field, belief: Belief) -> None:
        self.field, self.belief = field, belief
        self.eta2, self.shape, self.p = field.eta2, field.shape, field.p
        own = None if belief.information is None else belief.information.lines
        self.most = 1.0 if own is None else float(own.max(initial=0.0))  # no share is greater

    @property
    def measured(self) -> Array:
        """Those of the field, whose noise was known when it was made."""
        return self.field.measured

    @cached_property
    def _held(self) -> Array | None:
        """The shares of all entries; None where they are too many."""
        m1, m2 = self.shape
        if m1 * m2 > MOST_SHARES:
            return None
        shares = np.empty((m1, m2))

        def fill(some: slice) -> None:
            step = max(1, BLOCK_NUMBERS // (8 * m2))
            for i in range(some.start, some.stop, step):
                rows = np.arange(i, min(i + step, some.stop))
                shares[rows] = self.belief.share_block(rows, np.arange(m2))

        run_in_threads(fill, m1, m2)
        return shares

    def _shares_at(self, rows: Indices, cols: Indices) -> Array:
        return self.belief.share_at(rows, cols) if self._held is None else self._held[rows, cols]

    def features(self, rows: Indices, cols: Indices) -> Array:
        """f_a sqrt(share_a) for each entry."""
        F = self.field.features(rows, cols)
        F *= np.sqrt(self._shares_at(rows, cols))[:, None]
        return F

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """Variances times shares, of a block."""
        shares = self.belief.share_block(rows, cols) if self._held is None else self._held[np.ix_(rows, cols)]
        return self.field.variances(rows, cols) * shares

    def variances_at(self, rows: Indices, cols: Indices) -> Array:
        """The same for some entries."""
        return self.field.variances_at(rows, cols) * self._shares_at(rows, cols)

    def upper(self, rows: Indices, cols: Indices) -> Array | None:
        """Bounds of the variances at each entry of a block."""
        upper = self.field.upper(rows, cols)
        return None if upper is None else upper * self._most_at(rows, cols)

    def _most_at(self, rows: Indices, cols: Indices) -> Array:
        return np.array(self.most) if self._held is None else self._held[np.ix_(rows, cols)]

    def bounds(self) -> list[tuple[Array, Array]]:
        """Those of the field, times the greatest root of a share in the row, and likewise in the column."""
        bounds = self.field.bounds()
        if self._held is None or 0 in self.shape:
            return [(np.sqrt(self.most) * P, Q) for P, Q in bounds]
        by_row, by_col = (np.sqrt(self._held.max(axis))[:, None] for axis in (1, 0))
        return [pair for P, Q in bounds for pair in ((P * by_row, Q), (P, Q * by_col))]

    def estimates(self, rows: Indices, cols: Indices) -> NDArray[np.float32]:
        """About v/eta2 at each entry of a block; where shares are too many to hold, without them."""
        return self.field.estimates(rows, cols) * self._most_at(rows, cols).astype(np.float32)

    @property
    def work(self) -> Work:
        """Those of the field; where shares are not held, each takes a product of R + 1 numbers a draw, one by one."""
        work, R = self.field.work, self.belief.left.shape[2]
        more = 0 if self._held is not None else SHARE_COST * (R + 2) * self.belief.n_draws
        return Work(work.estimate, work.variance + more, work.features + more)


class WeightedDraws(WeightedField):
    """The same for the field of the draws."""

    field: DrawField

    @property
    def plain(self) -> DrawField:
        """The field with the same noise everywhere."""
        return self.field

    @property
    def A(self) -> Array:
        """The left factors."""
        return self.field.A

    def products(self, w: Array, keys: Indices) -> Array:
        """f . w sqrt(share) for each row of w and each entry by its key."""
        return self.field.products(w, keys) * np.sqrt(
            self._shares_at(*Entries.from_keys(keys, self.shape[1]))
        )


ChoiceField = DrawField | WeightedDraws


def choice_field(belief: Belief) -> ChoiceField:
    """The field of a belief's draws to choose by, with each entry's own noise where they differ."""
    field = DrawField.from_belief(belief)
    return field if belief.information is None else WeightedDraws(field, belief)


def _draws_last(factors: NDArray[np.floating]) -> Array:
    return np.ascontiguousarray(factors.transpose(1, 2, 0), dtype=np.float64)


def _longest(X: Array) -> float:
    """The length of the longest row of any draw."""
    return float(np.sqrt(np.einsum("irs,irs->is", X, X).max(initial=0.0)))


def _greatest(x: NDArray[np.floating]) -> float:
    return float(np.abs(x).max(initial=0.0))


def run_in_threads(work: Callable[[slice], None], n: int, entries_each: int) -> None:
    """Call work(slice) for slices that cover 0 to n - 1, on as many threads as the number of entries is worth."""
    threads = max(1, min(max_threads(), n, n * entries_each // ENTRIES_A_THREAD + 1))
    edges = [k * (n // threads) + min(k, n % threads) for k in range(threads + 1)]
    mine, *others = (slice(start, stop) for start, stop in pairwise(edges))
    helping = [_thread_pool().submit(work, some) for some in others]
    try:
        work(mine)
    finally:
        wait(helping)
    for done in helping:
        done.result()


@cache
def _thread_pool() -> ThreadPoolExecutor:
    """A pool that stays: starting a thread takes as long as a thousand entries."""
    return ThreadPoolExecutor(max(1, max_threads() - 1), "maxentry-acquisition")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)  # a forked child has no threads


@dataclass(frozen=True, eq=False)
class AlignedMoments:
    """Moments of the rows of one side: of the aligned factors, and of the effect, whose mean is zero."""

    mean: Array  # (m, R)
    cov: Array  # (m, R + 1, R + 1)
    fourth: Array  # (m,) (E|dx_i|^4)^(1/4)

    def bound(self) -> list[Array]:
        """|x_i*|, |Cov(x_i)|^(1/2) of the factors, and (E|dx_i|^4)^(1/4)."""
        spread = np.linalg.eigvalsh(self.cov[:, :-1, :-1])[:, -1]
        return [np.linalg.norm(self.mean, axis=1), np.sqrt(np.maximum(spread, 0.0)), self.fourth]

    @cached_property
    def forms(self) -> Array:
        """Cov(x_i) as a vector of its lower triangle, which times `squares` is a quadratic form; rounded up."""
        K = self.cov.shape[1]
        lower = np.tril_indices(K)
        size = np.einsum("itt->i", self.cov)
        upwards = self.cov + ROUNDING * size[:, None, None] * np.eye(K)
        return np.ascontiguousarray(upwards[:, *lower] * np.where(lower[0] == lower[1], 1.0, 2.0))

    def products(self, twice: float) -> Array:
        """Cov(x_i) of the factors, its lower triangle as a vector; `twice` multiplies what is off the diagonal."""
        lower = np.tril_indices(self.mean.shape[1])
        return np.ascontiguousarray(self.cov[:, *lower] * np.where(lower[0] == lower[1], 1.0, twice))

    @cached_property
    def squares(self) -> Array:
        """(x_i*, 1) times itself, its lower triangle as a vector."""
        with_one = np.concatenate([self.mean, np.ones((len(self.mean), 1))], axis=1)
        lower = np.tril_indices(with_one.shape[1])
        return np.ascontiguousarray(with_one[:, lower[0]] * with_one[:, lower[1]])


def align_draws(A: Array, B: Array, a: Array, b: Array) -> tuple[AlignedMoments, AlignedMoments]:
    """Rotate the draws to each other and take the moments of both sides.

    A is (m1, R, S), B is (m2, R, S), R at least 1; the effects a, b have means of zero.
    """
    turns = _turns(A, B, A[:, :, -1], B[:, :, -1])
    turns = _turns(A, B, _turned_mean(A, turns), _turned_mean(B, turns))
    M, inverse = _balance(_turned_mean(A, turns), _turned_mean(B, turns))
    return _spread(A, a, turns, M), _spread(B, b, turns, inverse.T)


def _fourth(X: Array) -> Array:
    """(E|x_i|^4)^(1/4)."""
    lengths = np.einsum("irs,irs->is", X, X)
    fourth: Array = np.sqrt(np.sqrt(np.mean(lengths**2, axis=1)))
    return fourth


def _turns(A: Array, B: Array, A_to: Array, B_to: Array) -> Array:
    """Orthogonal O_s (R, R, S) that bring [A_s; B_s] O_s nearest to [A_to; B_to] (Procrustes).

    Each side counts by its size, since the draws may hold the scale of X in one of them.
    """
    R, S = A.shape[1:]
    products = np.zeros((R * S, R))
    for X, to in ((A, A_to), (B, B_to)):
        products += X.reshape(len(X), R * S).T @ to / max(float((to**2).sum()), np.finfo(float).tiny)
    u, _, vt = np.linalg.svd(products.reshape(R, S, R).swapaxes(0, 1))
    return np.ascontiguousarray((u @ vt).transpose(1, 2, 0))


def _turned_mean(X: Array, turns: Array) -> Array:
    R, S = X.shape[1:]
    mean: Array = X.reshape(len(X), R * S) @ turns.swapaxes(1, 2).reshape(R * S, R) / S
    return mean


def _balance(A_mean: Array, B_mean: Array) -> tuple[Array, Array]:
    """M and its inverse such that A M and B M^-T have like squares: M M' is the geometric mean of (A'A)^-1 and B'B."""
    P, Q = (X.T @ X for X in (A_mean, B_mean))
    R = len(P)
    if not (np.trace(P) > 0 and np.trace(Q) > 0):
        return np.eye(R), np.eye(R)
    P, Q = (X / np.trace(X) + RIDGE * np.eye(R) for X in (P, Q))
    root, inverse_root = _power(P, 0.5), _power(P, -0.5)
    M = _power(inverse_root @ _power(root @ Q @ root, 0.5) @ inverse_root, 0.5)
    return M, np.asarray(np.linalg.inv(M), dtype=np.float64)


def _power(X: Array, exponent: float) -> Array:
    """Of a positive definite matrix."""
    values, vectors = np.linalg.eigh((X + X.T) / 2)
    power: Array = (vectors * np.maximum(values, RIDGE**2) ** exponent) @ vectors.T
    return power


def _spread(X: Array, effect: Array, turns: Array, M: Array) -> AlignedMoments:
    """The moments of the rows of X, turned and then multiplied by M in each draw, and of their effects."""
    turns = np.ascontiguousarray(np.einsum("rts,tq->rqs", turns, M))
    (m, R, _), mean = X.shape, _turned_mean(X, turns)
    cov, fourth = np.empty((m, R + 1, R + 1)), np.empty(m)
    kernel.rotate_moments(X, effect, turns, mean, cov, fourth)
    return AlignedMoments(mean, cov, np.sqrt(np.sqrt(fourth)))
