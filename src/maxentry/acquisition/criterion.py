"""The one protocol of all criteria, and what they answer."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.question import Question
from maxentry.belief import Belief
from maxentry.entries import Entries
from maxentry.errors import ParameterError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Chosen(NamedTuple):
    """Entries in the order chosen, each with its gain given those before it, and its cost."""

    rows: Indices
    cols: Indices
    gain: Array  # nats, or mean variance for integrated variance; NaN for designs, which measure none
    cost: Array
    evaluated: int = 0  # entries whose variance was computed, each counted once; 0 for designs

    @property
    def entries(self) -> Entries:
        """Where they are."""
        return Entries(self.rows, self.cols)


class Criterion(Protocol):
    """A way to choose: n entries (or plates), or fewer where no more are available."""

    def choose(self, belief: Belief | None, question: Question, n: int, rng: np.random.Generator) -> Chosen:
        """The next entries to measure."""


def require(belief: Belief | None, question: Question) -> Belief:
    """The belief, or an error where there is none or it is of another matrix."""
    if belief is None:
        raise ParameterError("expected a belief, got None: only 'uniform' and 'balanced' choose without one")
    if belief.shape != question.shape:
        raise ParameterError(f"expected a belief of shape {question.shape}, got {belief.shape}")
    eta2 = float(np.mean(belief.noise_var))
    if not (np.isfinite(eta2) and eta2 > 0):
        raise ParameterError(f"expected noise of mean variance above zero, got {eta2:g}")
    return belief
