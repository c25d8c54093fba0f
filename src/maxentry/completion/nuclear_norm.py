"""The nuclear-norm estimate, Eq. (nuc): argmin_X sum_Omega (Y - X)^2 + lambda |X|_*."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.completion import solver
from maxentry.completion.result import Completion, Entries, LowRank, Measured
from maxentry.completion.solver import solve
from maxentry.errors import DataError, ParameterError
from maxentry.frames import Form
from maxentry.model.effects import Effects, row_column_means
from maxentry.observations import Observations

# The penalty of Eq. (nuc): its largest useful value, the path down from it, the choice by hold-out.
Floats = NDArray[np.float64]
PATIENCE = 2  # penalties beyond the best one before the path is left
MAX_ITER = 300


class PenaltyChoice(NamedTuple):
    """The penalty with the smallest held-out error, and the path it was chosen from."""

    penalty: float
    penalties: Floats  # decreasing, as far as the path was followed
    errors: Floats  # mean squared error of the held-out measurements at each


def centred(observations: Measured, center: bool) -> tuple[Entries, Effects | None]:
    """The entries, less row and column means if asked for."""
    o = observations
    if not center:
        return Entries.of(o.shape, o.rows, o.cols, o.values), None
    effects = row_column_means(o.rows.astype(np.intp), o.cols.astype(np.intp), o.values, o.shape)
    mean = effects.at(o.rows.astype(np.intp), o.cols.astype(np.intp))
    return Entries.of(o.shape, o.rows, o.cols, o.values - mean), effects


def largest(entries: Entries) -> float:
    """lambda_max = 2 |P_Omega(Y)|_2: from here on the estimate is zero."""
    G = entries.sparse(2.0 * entries.by_row.w * entries.by_row.y)
    if not G.data.any():
        return 0.0
    return float(solver.outside(G, LowRank.zero(entries.shape), 1, 1e-9).d[0])


def largest_penalty(observations: Measured, *, center: bool = False) -> float:
    """The penalty from which on the nuclear-norm estimate is zero."""
    return largest(centred(observations, center)[0])


def penalty_path(top: float, points: int = 20, ratio: float = 1e-3) -> Floats:
    """A geometric path from `top` down to `ratio * top`."""
    if not (np.isfinite(top) and top > 0):
        raise ParameterError(f"expected a positive largest penalty, but {top} came.")
    if points < 2 or not 0 < ratio < 1:
        raise ParameterError(
            f"expected at least 2 points and a ratio between 0 and 1, but {points} and {ratio} came."
        )
    return np.asarray(np.geomspace(top, ratio * top, points))


class _Fold:
    """One split: the path fitted to the kept entries, each solution the start of the next."""

    def __init__(self, observations: Measured, held: NDArray[np.bool_], center: bool) -> None:
        o = observations
        kept = _Kept(o.shape, o.rows[~held], o.cols[~held], o.values[~held])
        self.entries, effects = centred(kept, center)
        self.rows, self.cols = o.rows[held].astype(np.intp), o.cols[held].astype(np.intp)
        self.values = o.values[held] - (effects.at(self.rows, self.cols) if effects else 0.0)
        self.X = LowRank.zero(o.shape)

    def squared_errors(self, penalty: float, tol: float) -> Floats:
        self.X = solve(self.entries, penalty, self.X, tol, MAX_ITER).X
        x = np.einsum("nk,nk->n", self.X.U[self.rows] * self.X.d, self.X.V[self.cols])
        return np.asarray((self.values - x) ** 2)


class _Kept(NamedTuple):
    shape: tuple[int, int]
    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    values: Floats


def choose_penalty(
    observations: Measured,
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
        raise ParameterError(f"expected held_out between 0 and 1, but {held_out} came.")
    if splits < 1:
        raise ParameterError(f"expected at least one split, but {splits} came.")
    top = largest_penalty(observations, center=center)
    # With nothing to fit every penalty gives zero, and 1 is as good as any.
    path = penalty_path(top if top > 0 else 1.0, points, ratio)
    rng = np.random.default_rng(seed)
    folds = [_Fold(observations, _held(observations, held_out, rng), center) for _ in range(splits)]
    errors: list[float] = []
    for penalty in path:
        errors.append(float(np.mean(np.concatenate([f.squared_errors(penalty, tol) for f in folds]))))
        if len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE:
            break
    followed = path[: len(errors)]
    return PenaltyChoice(float(followed[int(np.argmin(errors))]), followed, np.array(errors))


def _held(observations: Measured, held_out: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which measurements are held out; an entry's measurements go together."""
    place = observations.rows.astype(np.int64) * observations.shape[1] + observations.cols
    distinct, entry = np.unique(place, return_inverse=True)
    if distinct.size < 2:
        raise DataError("expected at least 2 distinct entries to hold some out, but 1 came.")
    number = min(max(1, round(held_out * distinct.size)), distinct.size - 1)
    held = np.zeros(distinct.size, dtype=bool)
    held[rng.choice(distinct.size, number, replace=False)] = True
    return np.asarray(held[entry])


def nuclear_norm(
    observations: Measured,
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
    entries, effects = centred(observations, center)
    found = _complete(entries, effects, float(penalty), start, tol, max_iter)
    return replace(found, form=_form(observations))


def nuclear_norm_path(
    observations: Measured,
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
    entries, effects = centred(observations, center)
    path = (
        penalty_path(largest(entries) or 1.0, points, ratio) if penalties is None else np.asarray(penalties)
    )
    for penalty in path:
        _check_penalty(float(penalty))
    if np.any(np.diff(path) > 0):
        raise ParameterError("expected penalties in decreasing order, since each warm-starts the next.")
    found = _follow(entries, effects, path.tolist(), tol, max_iter)
    return (replace(result, form=_form(observations)) for result in found)


def _follow(
    entries: Entries, effects: Effects | None, path: list[float], tol: float, max_iter: int
) -> Iterator[Completion]:
    X = LowRank.zero(entries.shape)
    for penalty in path:
        result = _complete(entries, effects, penalty, X, tol, max_iter)
        X = LowRank(result.U, result.d, result.V)
        yield result


def _complete(
    entries: Entries, effects: Effects | None, penalty: float, start: LowRank, tol: float, max_iter: int
) -> Completion:
    X, objective, gap, iterations, status = solve(entries, penalty, start, tol, max_iter)
    return Completion(X.U, X.d, X.V, effects, penalty, objective, gap, iterations, status)


def _form(observations: Measured) -> Form:
    """How the observations came; whatever else has measurements came without frame or labels."""
    return observations.form if isinstance(observations, Observations) else Form()


def _start(shape: tuple[int, int], warm_start: Completion | None) -> LowRank:
    if warm_start is None:
        return LowRank.zero(shape)
    if warm_start.shape != tuple(shape):
        came = f"{warm_start.shape[0]} x {warm_start.shape[1]}"
        raise ParameterError(f"expected a warm start of {shape[0]} x {shape[1]}, but one of {came} came.")
    return LowRank(warm_start.U, warm_start.d, warm_start.V)


def _check(tol: float, max_iter: int) -> None:
    if not 0 < tol < 1:
        raise ParameterError(f"expected tol between 0 and 1, but {tol} came.")
    if max_iter < 1:
        raise ParameterError(f"expected max_iter of at least 1, but {max_iter} came.")


def _check_penalty(penalty: float) -> None:
    if not (np.isfinite(penalty) and penalty > 0):
        raise ParameterError(f"expected a positive penalty, but {penalty} came.")
