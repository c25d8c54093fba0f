"""The nuclear-norm estimate, Eq. (nuc): argmin_X sum_Omega (Y - X)^2 + lambda |X|_*, and the choice of lambda.

lambda_max = 2 |P_Omega(Y)|_2 is the largest useful penalty: from there on the estimate is zero. Paths go down from it,
each solution the start of the next. Without a penalty, the one is taken that predicts held-out entries best.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.completion import solver
from maxentry.completion.result import Completion, LowRank, Measurements, WeightedEntries
from maxentry.completion.solver import solve
from maxentry.errors import DataError, ParameterError
from maxentry.frames import Form
from maxentry.model.effects import Effects, row_column_means
from maxentry.observations import Observations

Floats = NDArray[np.float64]
PATIENCE = 2  # penalties beyond the best one before the path is left
MAX_ITER = 300  # sweeps for one penalty of the hold-out


def nuclear_norm(
    observations: Measurements,
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
    if penalty is None:
        penalty = choose_penalty(observations, center=center, seed=seed).penalty
    _check_penalty(penalty)
    start = _start(observations.shape, warm_start)
    entries, effects = remove_means(observations, center)
    completion = _solve_one(entries, effects, float(penalty), start, tol, max_iter)
    return replace(completion, form=_form(observations))


def nuclear_norm_path(
    observations: Measurements,
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
    entries, effects = remove_means(observations, center)
    path = (
        penalty_path(find_largest(entries) or 1.0, points, ratio)
        if penalties is None
        else np.asarray(penalties)
    )
    for penalty in path:
        _check_penalty(float(penalty))
    if np.any(np.diff(path) > 0):
        raise ParameterError("expected penalties in decreasing order, since each warm-starts the next")
    completions = _solve_path(entries, effects, path.tolist(), tol, max_iter)
    return (replace(completion, form=_form(observations)) for completion in completions)


def _solve_path(
    entries: WeightedEntries, effects: Effects | None, path: list[float], tol: float, max_iter: int
) -> Iterator[Completion]:
    X = LowRank.zero(entries.shape)
    for penalty in path:
        result = _solve_one(entries, effects, penalty, X, tol, max_iter)
        X = LowRank(result.U, result.d, result.V)
        yield result


def _solve_one(
    entries: WeightedEntries,
    effects: Effects | None,
    penalty: float,
    start: LowRank,
    tol: float,
    max_iter: int,
) -> Completion:
    X, objective, gap, iterations, status = solve(entries, penalty, start, tol, max_iter)
    return Completion(X.U, X.d, X.V, effects, penalty, objective, gap, iterations, status)


def _form(observations: Measurements) -> Form:
    """Return the form in which the observations came; other measurements have neither frame nor labels."""
    return observations.form if isinstance(observations, Observations) else Form()


def _start(shape: tuple[int, int], warm_start: Completion | None) -> LowRank:
    if warm_start is None:
        return LowRank.zero(shape)
    if warm_start.shape != tuple(shape):
        got = f"{warm_start.shape[0]} x {warm_start.shape[1]}"
        raise ParameterError(f"expected a warm start of {shape[0]} x {shape[1]}, got {got}")
    return LowRank(warm_start.U, warm_start.d, warm_start.V)


def _check(tol: float, max_iter: int) -> None:
    if not 0 < tol < 1:
        raise ParameterError(f"expected tol between 0 and 1, got {tol}")
    if max_iter < 1:
        raise ParameterError(f"expected max_iter of at least 1, got {max_iter}")


def _check_penalty(penalty: float) -> None:
    if not (np.isfinite(penalty) and penalty > 0):
        raise ParameterError(f"expected a positive penalty, got {penalty}")


def remove_means(observations: Measurements, center: bool) -> tuple[WeightedEntries, Effects | None]:
    """Collect the measurements into entries; with `center`, less row and column means, which are returned, too."""
    o = observations
    if not center:
        return WeightedEntries.from_measurements(o.shape, o.rows, o.cols, o.values), None
    effects = row_column_means(o.rows.astype(np.intp), o.cols.astype(np.intp), o.values, o.shape)
    mean = effects.at(o.rows.astype(np.intp), o.cols.astype(np.intp))
    return WeightedEntries.from_measurements(o.shape, o.rows, o.cols, o.values - mean), effects


# The penalty


class PenaltyChoice(NamedTuple):
    """The penalty with the smallest held-out error, and the path it was chosen from."""

    penalty: float
    penalties: Floats  # decreasing, as far as the path was followed
    errors: Floats  # mean squared error of the held-out measurements at each


def choose_penalty(
    observations: Measurements,
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
    top = largest_penalty(observations, center=center)
    # With nothing to fit every penalty gives zero, and 1 is as good as any.
    path = penalty_path(top if top > 0 else 1.0, points, ratio)
    rng = np.random.default_rng(seed)
    folds = [_Fold(observations, _hold_out(observations, held_out, rng), center) for _ in range(splits)]
    errors: list[float] = []
    for penalty in path:
        errors.append(float(np.mean(np.concatenate([f.squared_errors(penalty, tol) for f in folds]))))
        if len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE:
            break
    followed = path[: len(errors)]
    return PenaltyChoice(float(followed[int(np.argmin(errors))]), followed, np.array(errors))


def _hold_out(observations: Measurements, held_out: float, rng: np.random.Generator) -> NDArray[np.bool_]:
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

    def __init__(self, observations: Measurements, held: NDArray[np.bool_], center: bool) -> None:
        o = observations
        training = _Training(o.shape, o.rows[~held], o.cols[~held], o.values[~held])
        self.entries, effects = remove_means(training, center)
        self.rows, self.cols = o.rows[held].astype(np.intp), o.cols[held].astype(np.intp)
        self.values = o.values[held] - (effects.at(self.rows, self.cols) if effects else 0.0)
        self.X = LowRank.zero(o.shape)

    def squared_errors(self, penalty: float, tol: float) -> Floats:
        """Fit at this penalty and return the squared errors of the held-out measurements."""
        self.X = solve(self.entries, penalty, self.X, tol, MAX_ITER).X
        x = np.einsum("nk,nk->n", self.X.U[self.rows] * self.X.d, self.X.V[self.cols])
        return np.asarray((self.values - x) ** 2)


class _Training(NamedTuple):
    """The measurements that are not held out."""

    shape: tuple[int, int]
    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    values: Floats


def largest_penalty(observations: Measurements, *, center: bool = False) -> float:
    """Compute the penalty from which on the nuclear-norm estimate is zero."""
    return find_largest(remove_means(observations, center)[0])


def find_largest(entries: WeightedEntries) -> float:
    """Compute lambda_max = 2 |P_Omega(Y)|_2."""
    G = entries.sparse(2.0 * entries.by_row.w * entries.by_row.y)
    if not G.data.any():
        return 0.0
    return float(solver.triplets_outside(G, LowRank.zero(entries.shape), 1, 1e-9).d[0])


def penalty_path(top: float, points: int = 20, ratio: float = 1e-3) -> Floats:
    """Return a geometric path from `top` down to `ratio * top`."""
    if not (np.isfinite(top) and top > 0):
        raise ParameterError(f"expected a positive largest penalty, got {top}")
    if points < 2 or not 0 < ratio < 1:
        raise ParameterError(
            f"expected at least 2 points and a ratio between 0 and 1, got {points} and {ratio}"
        )
    return np.asarray(np.geomspace(top, ratio * top, points))
