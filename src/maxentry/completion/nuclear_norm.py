"""The nuclear-norm estimate, Eq. (nuc): argmin_X sum_Omega (Y - X)^2 + lambda |X|_*."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from maxentry.completion.entries import Entries, LowRank, Measured
from maxentry.completion.penalty import centred, choose_penalty, largest, penalty_path
from maxentry.completion.result import Completion
from maxentry.completion.solver import solve
from maxentry.errors import ParameterError
from maxentry.frames import Form
from maxentry.model.effects import Effects
from maxentry.observations import Observations


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
