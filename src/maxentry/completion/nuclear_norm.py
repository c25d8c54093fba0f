"""The nuclear-norm estimate, Eq. (nuc): argmin_X sum_Omega (Y - X)^2 + lambda |X|_*, and the choice of lambda.

lambda_max = 2 |P_Omega(Y)|_2 is the largest useful penalty: from there on the estimate is zero. Paths go down from it,
each solution the start of the next. Without a penalty, the one is taken that predicts held-out entries best.

Below, `solve` finds the estimate for one penalty to a certified duality gap.

    X        U diag(d) V'    the current matrix, of rank k
    w, y     entries         how often an entry was measured, and the mean of its measurements
    G        m1 x m2 sparse  2 W (Y - X), minus the gradient of the squares
    lambda   -               the penalty

Each round (1) certifies X; (2) drops components whose removal lowers the objective; (3) adds the leading
directions in which G = 2 W (Y - X) exceeds lambda, by an exact line search; (4) descends on the factors.
Step 3 with step 4 is a conditional-gradient method for the penalised problem, which converges from any start
(Zhang, Yu and Schuurmans 2012; the active subspace as in Hsieh and Olsen 2014); no step raises the objective.
The m1 x m2 array is never formed unless it is small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, svds
from threadpoolctl import ThreadpoolController

from maxentry.completion.result import Completion, LowRank, SolverStatus, WeightedEntries
from maxentry.errors import DataError, ParameterError, is_flag, is_positive, is_whole
from maxentry.kernels.ridge import component_energies
from maxentry.model.effects import Effects, row_column_means
from maxentry.observations import Observations
from maxentry.wording import show

Floats = NDArray[np.float64]
PATH_PATIENCE = 2  # penalties beyond the best one before the path is left
HOLD_OUT_SWEEPS = 300  # for one penalty of the hold-out, at most
DIRECTIONS = 8  # looked for at first; doubled while all of them are needed
SWEEPS = 40  # of descent in a round, at most
FORCING = 0.3  # descent in a round goes to this part of the gap
PATIENCE = 5  # rounds with neither a smaller gap nor a smaller objective before giving up
MEMORY = 8  # sweeps that Anderson's extrapolation combines
DENSE_SIDE, DENSE_SIZE = 256, 1_000_000  # LAPACK on the dense matrix beats Lanczos up to about this size
DENSE_FALLBACK = 20_000_000  # up to this size where Lanczos does not converge


def nuclear_norm(
    observations: Observations,
    penalty: float | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    center: bool = False,
    seed: int | np.random.Generator | None = None,
    warm_start: Completion | None = None,
) -> Completion:
    """The nuclear-norm estimate at `penalty`, or at a penalty chosen by hold-out (drawn with `seed`).

    Every measurement counts once, replicates too. The result is certified: `gap` bounds the relative excess
    of the objective over the optimum, and the solver stops when it is at most `tol` or after `max_iter`
    sweeps over the data. With `center`, row and column means are removed first and added to the predictions.
    """
    _check(tol, max_iter)
    if not isinstance(observations, Observations):
        raise DataError(
            f"expected Observations, got {type(observations).__name__}; use Observations.of(data)"
        )
    if not is_flag(center):
        raise ParameterError(f"expected center to be True or False, got {show(center)}")
    if penalty is None:
        penalty = choose_penalty(observations, center=center, seed=seed).penalty
    _check_penalty(penalty)
    start = LowRank.zero(observations.shape)
    if warm_start is not None:
        if not isinstance(warm_start, Completion):
            raise ParameterError(f"expected a Completion as warm start, got {type(warm_start).__name__}")
        if warm_start.shape != observations.shape:
            (m1, m2), got = observations.shape, warm_start.shape
            raise ParameterError(f"expected a warm start of {m1} x {m2}, got {got[0]} x {got[1]}")
        start = LowRank(warm_start.U, warm_start.d, warm_start.V)
    return next(_solve_path(observations, center, [float(penalty)], start, tol, max_iter))


def nuclear_norm_path(
    observations: Observations,
    penalties: Sequence[float] | None = None,
    *,
    points: int = 20,
    ratio: float = 1e-3,
    tol: float = 1e-3,
    max_iter: int = 1000,
    center: bool = False,
) -> Iterator[Completion]:
    """Estimates along decreasing penalties, each started from the one before.

    By default a geometric path from the largest useful penalty down to `ratio` of it.
    """
    _check(tol, max_iter)
    if penalties is None:
        path = penalty_path(largest_penalty(observations, center=center) or 1.0, points, ratio)
    else:
        path = np.asarray(penalties)
    for penalty in path:
        _check_penalty(float(penalty))
    if np.any(np.diff(path) > 0):
        raise ParameterError("expected penalties in decreasing order, since each warm-starts the next")
    return _solve_path(observations, center, path.tolist(), LowRank.zero(observations.shape), tol, max_iter)


def _solve_path(
    observations: Observations, center: bool, path: list[float], X: LowRank, tol: float, max_iter: int
) -> Iterator[Completion]:
    entries, effects = remove_means(observations, center)
    for penalty in path:
        X, objective, gap, iterations, status = solve(entries, penalty, X, tol, max_iter)
        yield Completion(
            X.U, X.d, X.V, effects, penalty, objective, gap, iterations, status, observations.form
        )  # fmt: skip


def _check(tol: float, max_iter: int) -> None:
    if not (is_positive(tol) and tol < 1):
        raise ParameterError(f"expected tol between 0 and 1, got {tol}")
    if not is_whole(max_iter, 1):
        raise ParameterError(f"expected max_iter of at least 1, got {max_iter}")


def _check_penalty(penalty: float) -> None:
    if not is_positive(penalty):
        raise ParameterError(f"expected a positive penalty, got {penalty}")


def remove_means(observations: Observations, center: bool) -> tuple[WeightedEntries, Effects | None]:
    """Collect the measurements into entries; with `center`, less row and column means, which are returned, too."""
    o = observations
    if not o.is_plain:
        got = "standard errors" if o.low is None else "limits"
        raise DataError(f"expected plain values for a point estimate, got {got}; `complete` is for those")
    if not center:
        return WeightedEntries.from_measurements(o.shape, o.rows, o.cols, o.values), None
    effects = row_column_means(o.rows.astype(np.intp), o.cols.astype(np.intp), o.values, o.shape)
    mean = effects.at(o.rows.astype(np.intp), o.cols.astype(np.intp))
    return WeightedEntries.from_measurements(o.shape, o.rows, o.cols, o.values - mean), effects


# The choice of the penalty


class PenaltyChoice(NamedTuple):
    """The penalty with the smallest held-out error, and the path it was chosen from."""

    penalty: float
    penalties: Floats  # decreasing, as far as the path was followed
    errors: Floats  # mean squared error of the held-out measurements at each


def choose_penalty(
    observations: Observations,
    *,
    center: bool = False,
    splits: int = 3,
    held_out: float = 0.1,
    points: int = 25,
    ratio: float = 1e-3,
    tol: float = 1e-2,
    seed: int | np.random.Generator | None = None,
) -> PenaltyChoice:
    """Choose the penalty that predicts held-out entries best.

    Each split holds out a random part of the entries with all their measurements, and follows the path from
    the largest penalty down with warm starts, until the error has risen for a few penalties.
    """
    if not 0 < held_out < 1:
        raise ParameterError(f"expected held_out between 0 and 1, got {held_out}")
    if splits < 1:
        raise ParameterError(f"expected at least one split, got {splits}")
    # With nothing to fit every penalty gives zero, and 1 is as good as any.
    path = penalty_path(largest_penalty(observations, center=center) or 1.0, points, ratio)
    rng = np.random.default_rng(seed)
    folds = [_Fold(observations, _hold_out(observations, held_out, rng), center) for _ in range(splits)]
    errors: list[float] = []
    for penalty in path:
        errors.append(float(np.mean(np.concatenate([f.squared_errors(penalty, tol) for f in folds]))))
        if len(errors) - 1 - int(np.argmin(errors)) >= PATH_PATIENCE:
            break
    followed = path[: len(errors)]
    return PenaltyChoice(float(followed[int(np.argmin(errors))]), followed, np.array(errors))


def _hold_out(observations: Observations, held_out: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which measurements are held out; an entry's measurements go together."""
    place = observations.rows.astype(np.int64) * observations.shape[1] + observations.cols
    distinct, entry = np.unique(place, return_inverse=True)
    if distinct.size < 2:
        raise DataError("expected at least 2 distinct entries to hold some out, got 1")
    n_held = min(max(1, round(held_out * distinct.size)), distinct.size - 1)
    held = np.zeros(distinct.size, dtype=bool)
    held[rng.choice(distinct.size, n_held, replace=False)] = True
    return np.asarray(held[entry])


class _Fold:
    """One split: the path is fitted to the training entries, each solution the start of the next."""

    def __init__(self, observations: Observations, held: NDArray[np.bool_], center: bool) -> None:
        o = observations
        self.entries, effects = remove_means(o.subset(~held), center)
        self.rows, self.cols = o.rows[held].astype(np.intp), o.cols[held].astype(np.intp)
        self.values = o.values[held] - (effects.at(self.rows, self.cols) if effects else 0.0)
        self.X = LowRank.zero(o.shape)

    def squared_errors(self, penalty: float, tol: float) -> Floats:
        """Fit at this penalty and return the squared errors of the held-out measurements."""
        self.X = solve(self.entries, penalty, self.X, tol, HOLD_OUT_SWEEPS).X
        x = np.einsum("nk,nk->n", self.X.U[self.rows] * self.X.d, self.X.V[self.cols])
        return np.asarray((self.values - x) ** 2)


def largest_penalty(observations: Observations, *, center: bool = False) -> float:
    """Compute lambda_max = 2 |P_Omega(Y)|_2, the penalty from which on the nuclear-norm estimate is zero."""
    entries, _ = remove_means(observations, center)
    G = entries.sparse(2.0 * entries.by_row.w * entries.by_row.y)
    if not G.data.any():
        return 0.0
    return float(triplets_outside(G, LowRank.zero(entries.shape), 1, 1e-9).d[0])


def penalty_path(top: float, points: int = 20, ratio: float = 1e-3) -> Floats:
    """Return a geometric path from `top` down to `ratio * top`."""
    if not (np.isfinite(top) and top > 0):
        raise ParameterError(f"expected a positive largest penalty, got {top}")
    if points < 2 or not 0 < ratio < 1:
        raise ParameterError(
            f"expected at least 2 points and a ratio between 0 and 1, got {points} and {ratio}"
        )
    return np.asarray(np.geomspace(top, ratio * top, points))


# The solver


class Solution(NamedTuple):
    """X with its certificate."""

    X: LowRank
    objective: float
    gap: float
    iterations: int
    status: SolverStatus


def solve(entries: WeightedEntries, penalty: float, start: LowRank, tol: float, max_iter: int) -> Solution:
    """Minimise Eq. (nuc) from `start` until the relative duality gap is at most `tol`."""
    # The matrices are too thin to gain from threads, which cost a lot where other work runs beside.
    with _blas().limit(limits=1):
        return _run_rounds(entries, penalty, start, tol, max_iter)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _run_rounds(
    entries: WeightedEntries, penalty: float, start: LowRank, tol: float, max_iter: int
) -> Solution:
    X, directions, sweeps, idle = start, DIRECTIONS, 0, 0
    gap = objective = np.inf
    while True:
        state = certify(entries, X, penalty, directions, min(1e-3, 0.3 * tol))
        idle = 0 if state.gap < gap or state.objective < objective * (1.0 - 1e-12) else idle + 1
        gap, objective = min(gap, state.gap), min(objective, state.objective)
        if state.gap <= tol or idle >= PATIENCE or sweeps >= max_iter:
            stopped = SolverStatus.STALLED if idle >= PATIENCE else SolverStatus.ITERATION_LIMIT
            status = SolverStatus.CONVERGED if state.gap <= tol else stopped
            return Solution(X, state.objective, state.gap, sweeps, status)
        X = drop(entries, X, penalty, state)
        X, added = add(entries, X, penalty, state.outside)
        directions = 2 * directions if added == directions else DIRECTIONS
        if X.d.size:
            accuracy = FORCING * state.gap
            X, taken = descend(entries, X, penalty, accuracy, min(SWEEPS, max_iter - sweeps))
            sweeps += taken
        else:
            sweeps += 1


def drop(entries: WeightedEntries, X: LowRank, penalty: float, state: Certificate) -> LowRank:
    """Drop the components whose removal lowers the objective.

    Removing d u v' changes it by d (u'Gv + d sum w (u_i v_j)^2 - lambda), exactly for one component.
    """
    half = entries.by_row
    curvature = component_energies(half.start, half.index, half.w, X.U, X.V)
    fewer = X.select(state.inside + X.d * curvature >= penalty)
    if fewer.d.size == X.d.size or entries.objective(fewer, penalty) > state.objective:
        return X
    return fewer


def add(entries: WeightedEntries, X: LowRank, penalty: float, outside: LowRank) -> tuple[LowRank, int]:
    """Add the directions beyond lambda, at the length of the exact line search; return X and their number.

    They are orthogonal to U and V, so |X + t Z|_* = |X|_* + t |Z|_* and the objective is a parabola in t.
    """
    Z = outside.select(outside.d > penalty)
    Z = Z._replace(d=Z.d - penalty)
    if not Z.d.size:
        return X, 0
    w, z = entries.by_row.w, entries.at(Z)
    slope = 2.0 * float((w * entries.residual(X)) @ z) - penalty * float(Z.d.sum())
    t = slope / (2.0 * float(w @ z**2))
    if not t > 0.0:
        return X, Z.d.size
    joined = LowRank(np.hstack([X.U, Z.U]), np.concatenate([X.d, t * Z.d]), np.hstack([X.V, Z.V]))
    return joined, Z.d.size


# The certificate. The dual of  min_X sum w (y - x)^2 + lambda |X|_*  is
#
#     max_Theta  sum (theta y - theta^2 / (4 w))    over Theta on the observed entries with |Theta|_2 <= lambda,
#
# and G = 2 W (Y - X), scaled into the ball, is such a Theta. The gap between the two values bounds the excess
# of the objective at X over the optimum.


class Certificate(NamedTuple):
    """X against the optimality conditions U'GV = lambda I and |G outside U, V| <= lambda."""

    objective: float
    gap: float  # (primal - dual) / primal
    inside: Floats  # (k,) u_r' G v_r, equal to lambda at the optimum
    outside: LowRank  # leading triplets of G outside U and V, all at most lambda at the optimum


def certify(
    entries: WeightedEntries, X: LowRank, penalty: float, directions: int, accuracy: float
) -> Certificate:
    """Compute the duality gap at X, and up to this many leading directions outside its subspaces.

    The norm outside is found to the relative `accuracy` and padded by it, so the gap can be too large by that.
    """
    y, w = entries.by_row.y, entries.by_row.w
    r = entries.residual(X)
    G = entries.sparse(2.0 * w * r)
    GV, GtU = G @ X.V, G.T @ X.U
    core = X.U.T @ GV
    # |G|_2 is at most the norm of the 2 x 2 matrix of the norms of its blocks, inside and outside U and V.
    energy = float(G.data @ G.data) - np.sum(GV**2) - np.sum(GtU**2) + np.sum(core**2)
    beyond = float(np.sqrt(max(energy, 0.0)))
    out = LowRank.zero(entries.shape)
    if beyond > penalty:
        out = triplets_outside(G, X, directions, accuracy)
        beyond = min(beyond, float(out.d.max(initial=0.0)) * (1.0 + accuracy))
    blocks = [
        [spectral_norm(core), spectral_norm(GtU - X.V @ core.T)],
        [spectral_norm(GV - X.U @ core), beyond],
    ]
    norm = float(np.linalg.norm(blocks, 2))
    rss, inner = float(w @ r**2), float((w * r) @ y)
    largest = penalty / norm if norm > 0 else 1.0
    scale = float(np.clip(inner / rss, -largest, largest)) if rss > 0 else 0.0
    dual = scale * (2.0 * inner - scale * rss) + entries.scatter
    primal = rss + penalty * float(X.d.sum()) + entries.scatter
    gap = max(primal - dual, 0.0) / primal if primal > 0 else 0.0
    return Certificate(primal, gap, np.diagonal(core).copy(), out)


# Descent on the factors, by accelerated alternating ridge regression.
#
# |X|_* = min over A B' = X of (|A|^2 + |B|^2) / 2, so with enough columns in A and B, Eq. (nuc) is
#
#     F(A, B) = sum w (y - a_i' b_j)^2 + lambda / 2 (|A|^2 + |B|^2),
#
# a ridge regression of every row on B for fixed B, and of every column on A for fixed A. One sweep does both.
# The sweep is a fixed-point map of B alone; Anderson's extrapolation over the last few sweeps speeds it up, and
# is taken back where it fails to lower F, so F never rises.


class Sweep(NamedTuple):
    """One sweep from B: the new factors and their F."""

    A: Floats
    B: Floats
    F: float


def sweep(entries: WeightedEntries, B: Floats, penalty: float) -> Sweep:
    """Solve for A given B, then for B given that A."""
    A, _ = entries.by_row.ridge(B, penalty / 2)
    B, fitted = entries.by_col.ridge(A, penalty / 2)
    # At the ridge solution, sum w (y - x)^2 + lambda/2 |B|^2 = sum w y^2 - sum w y x.
    return Sweep(A, B, entries.energy - fitted + penalty / 2 * float(np.sum(A * A)))


def descend(
    entries: WeightedEntries, X: LowRank, penalty: float, accuracy: float, sweeps: int
) -> tuple[LowRank, int]:
    """Sweep until no component moves by more than `accuracy`, relatively; return the matrix and number of sweeps."""
    start = np.ascontiguousarray(X.balance()[1])
    best = sweep(entries, start, penalty)
    history: deque[tuple[Floats, Floats]] = deque([(start, best.B)], maxlen=MEMORY)
    taken = 1
    while taken < sweeps and movement(*history[-1]) > accuracy:
        proposal = extrapolate(history)
        trial = sweep(entries, proposal, penalty)
        taken += 1
        if trial.F > best.F * (1.0 + 1e-13) and len(history) > 1:
            history.clear()
            proposal = best.B
            trial = sweep(entries, proposal, penalty)
            taken += 1
        best = trial
        history.append((proposal, best.B))
    return LowRank.from_factors(best.A, best.B), taken


def movement(old: Floats, new: Floats) -> float:
    """The largest relative change of a column: small components count as much as large ones."""
    size = np.sum(new**2, axis=0)
    change = np.sum((new - old) ** 2, axis=0)
    return float(np.sqrt(np.max(change[size > 0] / size[size > 0], initial=0.0)))


def extrapolate(history: deque[tuple[Floats, Floats]]) -> Floats:
    """Anderson: the combination of the last sweeps whose combined movement is smallest."""
    last = history[-1][1]
    if len(history) == 1:
        return last
    images = np.array([image.ravel() for _, image in history])
    moves = images - np.array([point.ravel() for point, _ in history])
    steps = np.diff(moves, axis=0)
    gram = steps @ steps.T
    gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) + np.finfo(float).tiny
    weights = np.linalg.solve(gram, steps @ moves[-1])
    combined: Floats = last - (weights @ np.diff(images, axis=0)).reshape(last.shape)
    return combined


# Leading singular triplets of a sparse matrix outside given subspaces


def spectral_norm(M: Floats) -> float:
    """The largest singular value of a thin matrix."""
    if 0 in M.shape:
        return 0.0
    gram = M.T @ M if M.shape[0] >= M.shape[1] else M @ M.T
    return float(np.sqrt(max(np.linalg.eigvalsh(gram)[-1], 0.0)))


def triplets_outside(G: csr_array, X: LowRank, p: int, accuracy: float) -> LowRank:
    """Compute the p leading triplets of (I - UU') G (I - VV'), for the U and V of X, to this relative accuracy."""
    p = min(p, min(G.shape) - X.d.size)
    if p <= 0:
        return LowRank.zero(G.shape)
    fits_dense = min(G.shape) <= DENSE_SIDE and G.shape[0] * G.shape[1] <= DENSE_SIZE
    if fits_dense or p >= min(G.shape):
        return _triplets_dense(G, X, p)
    return _triplets_lanczos(G, X, p, accuracy)


def _triplets_dense(G: csr_array, X: LowRank, p: int) -> LowRank:
    D = G.toarray()
    D -= X.U @ (X.U.T @ D)
    D -= (D @ X.V) @ X.V.T
    tall = D if D.shape[0] >= D.shape[1] else D.T
    # Through the Gram matrix, which is exact enough at the upper end.
    squares, vectors = np.linalg.eigh(tall.T @ tall)
    s = np.sqrt(np.maximum(squares[: -p - 1 : -1], 0.0))
    s = s[s > 1e-6 * s[0]] if s[0] > 0 else s[:0]
    V = vectors[:, : -s.size - 1 : -1]
    U = (tall @ V) / s
    return LowRank(U, s, V) if tall is D else LowRank(V, s, U)


def _triplets_lanczos(G: csr_array, X: LowRank, p: int, accuracy: float) -> LowRank:
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
    ):  # tied singular values, as a handful of ratings has of as many users and movies
        if G.shape[0] * G.shape[1] <= DENSE_FALLBACK:
            return _triplets_dense(G, X, p)
        most = min(min(G.shape) - 1, 20 * p + 100)
        u, s, vt = svds(operator, k=p, tol=accuracy, v0=start, ncv=most, maxiter=10**5)  # type: ignore[type-var]
    order = np.argsort(-s)
    return LowRank(*(np.asarray(x, dtype=np.float64) for x in (u[:, order], s[order], vt[order].T)))
