"""Eq. (nuc) to a certified duality gap, for one penalty.

Each round (1) certifies X; (2) drops components whose removal lowers the objective; (3) adds the leading
directions in which G = 2 W (Y - X) exceeds lambda, by an exact line search; (4) descends on the factors.
Step 3 with step 4 is a conditional-gradient method for the penalised problem, which converges from any start
(Zhang, Yu and Schuurmans 2012; the active subspace as in Hsieh and Olsen 2014); no step raises the objective.
 The m1 x m2 array is never formed unless it is small.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from maxentry.completion.certificate import Certificate, certify
from maxentry.completion.descent import descend
from maxentry.completion.entries import Entries, LowRank
from maxentry.completion.result import Status
from maxentry.kernels.sparse_low_rank import component_energies

DIRECTIONS = 8  # looked for at first; doubled while all of them are needed
SWEEPS = 40  # of descent in a round, at most
FORCING = 0.3  # descent in a round goes to this part of the gap
PATIENCE = 5  # rounds with neither a smaller gap nor a smaller objective before giving up


class Solution(NamedTuple):
    """X with its certificate."""

    X: LowRank
    objective: float
    gap: float
    iterations: int
    status: Status


def solve(entries: Entries, penalty: float, start: LowRank, tol: float, max_iter: int) -> Solution:
    """Minimise Eq. (nuc) from `start` until the relative duality gap is at most `tol`."""
    # The matrices are too thin to gain from threads, which cost a lot where other work runs beside.
    with _blas().limit(limits=1):
        return _rounds(entries, penalty, start, tol, max_iter)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _rounds(entries: Entries, penalty: float, start: LowRank, tol: float, max_iter: int) -> Solution:
    X, directions, sweeps, idle = start, DIRECTIONS, 0, 0
    gap = objective = np.inf
    while True:
        state = certify(entries, X, penalty, directions, min(1e-3, 0.3 * tol))
        idle = 0 if state.gap < gap or state.objective < objective * (1.0 - 1e-12) else idle + 1
        gap, objective = min(gap, state.gap), min(objective, state.objective)
        status = _status(state.gap <= tol, sweeps >= max_iter, idle >= PATIENCE)
        if status is not None:
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


def _status(converged: bool, spent: bool, stalled: bool) -> Status | None:
    if converged:
        return Status.CONVERGED
    if stalled:
        return Status.STALLED
    return Status.ITERATION_LIMIT if spent else None


def drop(entries: Entries, X: LowRank, penalty: float, state: Certificate) -> LowRank:
    """Without the components whose removal lowers the objective.

    Removing d u v' changes it by d (u'Gv + d sum w (u_i v_j)^2 - lambda), exactly for one component.
    """
    half = entries.by_row
    curvature = component_energies(half.start, half.index, half.w, X.U, X.V)
    fewer = X.keep(state.inside + X.d * curvature >= penalty)
    if fewer.d.size == X.d.size or entries.objective(fewer, penalty) > state.objective:
        return X
    return fewer


def add(entries: Entries, X: LowRank, penalty: float, outside: LowRank) -> tuple[LowRank, int]:
    """With the directions beyond lambda, at the length of the exact line search; and their number.

    They are orthogonal to U and V, so |X + t Z|_* = |X|_* + t |Z|_* and the objective is a parabola in t.
    """
    Z = outside.keep(outside.d > penalty)
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
