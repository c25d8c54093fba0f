"""Row and column means: no low-rank part at all, on the entries that uniform has, from a uniform start.

The estimate is the additive fit mu + r_i + c_j by penalised least squares, `model.effects.row_column_means` with its
ridges of 1: a mean of k values is shrunk about k/(k + 1) of the way. It has no intervals.
"""

from __future__ import annotations

import numpy as np

from maxentry.campaign.state import State
from maxentry.model.effects import row_column_means
from maxentry.studies.case import Case
from maxentry.studies.sources import Truth
from maxentry.studies.strategies.strategy import Estimates, Estimator, Indices, Strategy
from maxentry.transform import Transform


def means(state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
    """mu + r_i + c_j on the scale of the model, in the user's units."""
    transform = Transform.of(state.settings.transform)
    i, j = (index.astype(np.intp) for index in state.told)
    effects = row_column_means(i, j, transform.forward(state.values), state.shape)
    return Estimates(transform.inverse(effects.at(rows, cols)))


def _estimator(truth: Truth, case: Case, seed: int) -> Estimator:
    return means


MEANS = Strategy("means", "row and column means", "uniform", "uniform", estimator=_estimator)
