"""The criteria by name, and `choose`, the one way in.

| name | gain of an entry | needs a belief |
|---|---|---|
| maxent | 1/2 log(1 + sigma2 score / eta2), Lemma 2 for the mean projections (`subspace_field`) | yes |
| maxent_nearest | the same for the projections nearest to the means | yes |
| predictive_variance (default) | 1/2 log(1 + Var(x_ij) / eta2), the variance of the draws (`draw_field`) | yes |
| integrated_variance | the fall of the mean variance of all entries (`total_variance`) | yes |
| uniform, balanced | none: designs, at random or with even counts of rows and columns | no |

All respect the mask, the limits and plates of the problem. The first three choose a greedy determinant (`greedy`).
eta2 is each entry's own working noise (`Belief.noise_at`): a yes or no tells less where the answer is nearly sure.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from maxentry import design
from maxentry._io import checkpoint
from maxentry._types import Flags, Indices
from maxentry.acquisition.draw_field import choice_field
from maxentry.acquisition.greedy import greedy_information
from maxentry.acquisition.plates import count_plates, first_plates, greedy_plates, level_block
from maxentry.acquisition.problem import Criterion, Problem, Quota, Selection, check_belief
from maxentry.acquisition.subspace_field import maximise_entropy, mean_projections, nearest_projections
from maxentry.acquisition.total_variance import gram_matrix, greedy_variance
from maxentry.belief import Belief, Entries
from maxentry.design.uniform import find_available
from maxentry.errors import ParameterError, is_whole
from maxentry.wording import show


class CriterionObject(Protocol):
    """A criterion with parameters or state of its own."""

    def choose(self, belief: Belief | None, problem: Problem, n: int, rng: np.random.Generator) -> Selection:
        """Choose n entries, as a `Criterion` does."""


def choose(
    criterion: str | Criterion | CriterionObject,
    belief: Belief | None,
    problem: Problem,
    n: int,
    *,
    rng: np.random.Generator,
) -> Selection | Any:
    """Choose the next n entries (or plates, where the limits say so), in order; fewer where no more are available.

    criterion: one of CRITERIA by name, a function (belief, problem, n, rng) -> Selection, or an object whose method
    `choose` is one. belief: may be None for "uniform" and "balanced".
    rng: these two are random. The others give the same entries whatever it is, unless so many entries have like scores
    that an exact search would take minutes: then the candidates are a sample, and `Selection.sampled` says how many.
    For a problem with a mask or costs in a frame, returns a frame: row, col (its labels), gain, cost.
    """
    which: Any = CRITERIA.get(criterion) if isinstance(criterion, str) else criterion
    if not isinstance(criterion, np.ndarray | np.generic):  # their `choose` is another
        which = getattr(which, "choose", which)
    if not callable(which) or not _takes_four(which):
        expected = f"one of {', '.join(CRITERIA)} or a function (belief, problem, n, rng) -> Selection"
        raise ParameterError(f"criterion must be {expected}, got {show(criterion)}")
    if not is_whole(n):
        raise ParameterError(f"expected a whole number of entries to choose, got {show(n)}")
    if n < 0:
        raise ParameterError(f"expected to choose 0 or more entries, got {show(n)}")
    if which in (uniform, balanced) and not isinstance(rng, np.random.Generator):
        raise ParameterError(f"expected rng to be a numpy.random.Generator, got {show(rng)}")
    # Most products here are thin: threads cost more than they give.
    with nullcontext() if belief is None else threadpool_limits(1):
        selection: Selection = which(belief, problem, n, rng)
    if problem.form.kind is None:
        return selection
    return problem.form.entries(
        selection.rows, selection.cols, {"gain": selection.gain, "cost": selection.cost}
    )


def _takes_four(function: Any) -> bool:
    """Whether a function can be called as a criterion is."""
    try:
        signature(function).bind(*range(4))
    except TypeError:
        return False
    except ValueError:  # one in C may not say what it takes
        return True
    return True


def predictive_variance(
    belief: Belief | None, problem: Problem, n: int, rng: np.random.Generator
) -> Selection:
    """Gain: 1/2 log(1 + Var(x_ij | y, pending, batch so far) / eta2), in nats.

    The entropy of the next observations under a Gaussian approximation of the posterior. The covariance is that of
    the draws, so it includes the uncertainty of the subspaces.
    """
    return greedy_information(choice_field(check_belief(belief, problem)), problem, n, rng)


def integrated_variance(
    belief: Belief | None, problem: Problem, n: int, rng: np.random.Generator
) -> Selection:
    """Gain: the fall of the mean over all entries of the posterior variance, h_a / (v_a + eta2)."""
    draws = choice_field(check_belief(belief, problem))
    m1, m2 = draws.shape
    Gamma = gram_matrix(draws.plain) / (draws.p * m1 * m2)
    if problem.limits.plates is not None:
        return greedy_plates(draws, problem, n, Gamma)
    return greedy_variance(draws, Gamma, problem, n, rng)


def uniform(belief: Belief | None, problem: Problem, n: int, rng: np.random.Generator) -> Selection:
    """Entries, or plates, at random: the baseline."""
    if problem.limits.block is not None:
        nothing = (np.zeros(problem.shape[0], dtype=np.int64), np.zeros(problem.shape[1], dtype=np.int64))
        return selection_without_gain(problem, level_block(problem, nothing, rng))
    if problem.limits.plates is not None:
        order = rng.permutation(count_plates(problem))
        return selection_without_gain(problem, first_plates(problem, order, n))

    def layout(k: int, part: OpenPart, chosen: Entries) -> Entries:
        return design.uniform(part.shape, k, mask=part.mask, taken=part.taken, seed=rng)

    return selection_without_gain(problem, lay_out_within_limits(problem, n, layout))


def balanced(
    belief: Belief | None,
    problem: Problem,
    n: int,
    rng: np.random.Generator,
    added: tuple[Indices, Indices] | None = None,
) -> Selection:
    """Measure rows and columns evenly, counting observed and pending entries; of plates, the least measured first.

    added: counts to add to those of each row and column (not of plates), for a design that is uneven on purpose.
    """
    measured = problem.observed.joined(problem.pending)
    if problem.limits.block is not None:
        rows, cols = (np.bincount(x, minlength=m) for x, m in zip(measured, problem.shape, strict=True))
        return selection_without_gain(problem, level_block(problem, (rows, cols), rng))
    if problem.limits.plates is not None:
        lines = measured.rows if problem.limits.plates == "rows" else measured.cols
        count = np.bincount(lines, minlength=count_plates(problem))
        order = np.lexsort((rng.permutation(len(count)), count))
        return selection_without_gain(problem, first_plates(problem, order, n))

    def layout(k: int, part: OpenPart, chosen: Entries) -> Entries:
        m1, m2 = problem.shape
        counted = measured.joined(chosen)
        rows, cols = np.bincount(counted.rows, minlength=m1), np.bincount(counted.cols, minlength=m2)
        if added is not None:
            rows, cols = rows + added[0], cols + added[1]
        return design.balanced(
            part.shape, k, part.mask, rng,
            row_counts=rows[part.rows],
            col_counts=cols[part.cols],
            taken=part.taken,
        )  # fmt: skip

    return selection_without_gain(problem, lay_out_within_limits(problem, n, layout))


def selection_without_gain(problem: Problem, entries: Entries) -> Selection:
    """The selection of a design, which has no gain."""
    rows, cols = entries
    return Selection(rows, cols, np.full(len(rows), np.nan), problem.costs.at(rows, cols))


def lay_out_within_limits(
    problem: Problem, n: int, layout: Callable[[int, OpenPart, Entries], Entries]
) -> Entries:
    """Lay out n entries within the limits, or fewer where no more have quota left.

    layout(k, part, chosen): k entries by position in the part; `chosen` are those before.
    Entries beyond a limit are laid out again elsewhere, on the rows and columns that still have quota left.
    """
    quota, chosen = Quota(problem.shape, problem.limits), Entries.none()
    while True:
        checkpoint()
        part = OpenPart.from_problem(problem, quota, problem.taken.joined(chosen))
        if min(part.shape) == 0:
            return chosen
        n_free = find_available(part.shape, part.mask, part.taken).count
        rows, cols = layout(min(n - len(chosen.rows), n_free), part, chosen)
        rows, cols = part.rows[rows], part.cols[cols]
        accepted = np.array([quota.take(i, j) for i, j in zip(rows, cols, strict=True)], dtype=bool)
        chosen = chosen.joined(Entries(rows[accepted], cols[accepted]))
        if accepted.all():
            return chosen


class OpenPart(NamedTuple):
    """The rows and columns with quota left, as a matrix of its own: mask and taken use its positions."""

    rows: Indices
    cols: Indices
    mask: Flags | None
    taken: Entries

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns have quota left."""
        return len(self.rows), len(self.cols)

    @classmethod
    def from_problem(cls, problem: Problem, quota: Quota, taken: Entries) -> OpenPart:
        """Cut a problem to the rows and columns with quota left; without a mask nothing of its size is formed."""
        rows, cols = np.flatnonzero(quota.row > 0), np.flatnonzero(quota.col > 0)
        mask = problem.mask
        if mask is not None and (len(rows), len(cols)) != problem.shape:
            mask = np.asarray(mask)[np.ix_(rows, cols)]
        here = (quota.row[taken.rows] > 0) & (quota.col[taken.cols] > 0)
        places = (np.searchsorted(index, of[here]) for index, of in zip((rows, cols), taken, strict=True))
        return cls(rows, cols, mask, Entries(*places))


CRITERIA: dict[str, Criterion] = {
    "maxent": partial(maximise_entropy, mean_projections),
    "maxent_nearest": partial(maximise_entropy, nearest_projections),
    "predictive_variance": predictive_variance,
    "integrated_variance": integrated_variance,
    "uniform": uniform,
    "balanced": balanced,
}
