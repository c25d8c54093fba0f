"""The one way in: a criterion by its name, or one of your own."""

from __future__ import annotations

import operator
from contextlib import nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from maxentry.acquisition.balanced import Balanced
from maxentry.acquisition.criterion import Chosen, Criterion
from maxentry.acquisition.integrated_variance import IntegratedVariance
from maxentry.acquisition.maxent import MaxEnt
from maxentry.acquisition.predictive_variance import PredictiveVariance
from maxentry.acquisition.question import Question
from maxentry.acquisition.subspaces import mean_projections, nearest_projections
from maxentry.acquisition.uniform import Uniform
from maxentry.belief import Belief
from maxentry.errors import ParameterError

CRITERIA: dict[str, Criterion] = {
    "maxent": MaxEnt(mean_projections),
    "maxent_nearest": MaxEnt(nearest_projections),
    "predictive_variance": PredictiveVariance(),
    "integrated_variance": IntegratedVariance(),
    "uniform": Uniform(),
    "balanced": Balanced(),
}


def choose(
    criterion: str | Criterion,
    belief: Belief | None,
    question: Question,
    n: int,
    *,
    rng: np.random.Generator,
) -> Chosen | Any:
    """Choose the next n entries (or plates, where the limits say so), in order; fewer where no more are available.

    criterion: one of CRITERIA by name, or any `Criterion`. belief: may be None for "uniform" and "balanced".
    rng: only these two are random; the others give the same entries whatever it is.
    A question with a mask or costs in a frame is answered by a frame: row, col (its labels), gain, cost.
    """
    if isinstance(criterion, str) and criterion not in CRITERIA:
        raise ParameterError(f"expected a criterion out of {', '.join(CRITERIA)}, got {criterion!r}")
    try:
        n = operator.index(n)
    except TypeError:
        raise ParameterError(f"expected a whole number of entries to choose, got {n!r}") from None
    if n < 0:
        raise ParameterError(f"expected to choose 0 or more entries, got {n}")
    which = CRITERIA[criterion] if isinstance(criterion, str) else criterion
    # Most products here are thin: threads cost more than they give.
    with nullcontext() if belief is None else threadpool_limits(1):
        found = which.choose(belief, question, n, rng)
    if question.form.kind is None:
        return found
    return question.form.entries(found.rows, found.cols, {"gain": found.gain, "cost": found.cost})
