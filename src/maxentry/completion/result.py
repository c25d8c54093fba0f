"""What a point estimate returns: the matrix in factors, its certificate, and advice."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry.errors import DataError
from maxentry.frames import Form
from maxentry.model.effects import Effects

Floats = NDArray[np.float64]


class Status(Enum):
    """How the solver ended; the text says what to do."""

    CONVERGED = "converged: the objective is within the relative duality gap asked for."
    ITERATION_LIMIT = (
        "stopped at the iteration limit before the duality gap was small enough: raise max_iter, loosen tol, "
        "or start from the solution at a larger penalty (warm_start)."
    )
    STALLED = (
        "neither the objective nor the duality gap shrinks any more, which is the limit of floating point: the "
        "result is as good as it gets; loosen tol, or raise the penalty."
    )

    @property
    def advice(self) -> str:
        """The text."""
        return self.value


@dataclass(frozen=True, eq=False)
class Completion:
    """The estimate mean + U diag(d) V', kept as factors."""

    U: Floats = field(repr=False)  # (m1, k), orthonormal columns
    d: Floats = field(repr=False)  # (k,), decreasing
    V: Floats = field(repr=False)  # (m2, k), orthonormal columns
    effects: Effects | None = field(repr=False)  # mu + r_i + c_j, if centred
    penalty: float
    objective: float  # Eq. (nuc) at the estimate, of the centred values if centred
    gap: float  # relative duality gap: the objective is within gap * objective of the optimum
    iterations: int
    status: Status
    form: Form = field(default=Form(), repr=False)  # how the observations came

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.U.shape[0], self.V.shape[0]

    @property
    def rank(self) -> int:
        """The number of components."""
        return int(self.d.size)

    @property
    def converged(self) -> bool:
        """Whether the certificate holds."""
        return self.status is Status.CONVERGED

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> Floats:
        """The estimate at the entries (rows[n], cols[n]), given by position; rows and cols broadcast."""
        i, j = np.broadcast_arrays(
            _positions(rows, "row", self.shape[0]), _positions(cols, "column", self.shape[1])
        )
        x = np.einsum("...k,...k->...", self.U[i] * self.d, self.V[j])
        return np.asarray(x if self.effects is None else x + self.effects.at(i, j))

    def matrix(self) -> Any:
        """The estimate of every entry, m1 x m2: a frame with labels if the observations came in one, else an array.

        Only for matrices that fit.
        """
        X: Floats = (self.U * self.d) @ self.V.T
        return self.form.of(X if self.effects is None else X + self.effects.matrix())


def _positions(index: ArrayLike, name: str, m: int) -> NDArray[np.intp]:
    positions = np.asarray(index)
    if positions.dtype.kind not in "iu":
        raise DataError(f"expected whole numbers as {name} positions, but {positions.dtype} came.")
    if positions.size and not (positions.min() >= 0 and positions.max() < m):
        came = f"{positions.min()} to {positions.max()}"
        raise DataError(f"expected {name} positions from 0 to {m - 1}, but {came} came.")
    return positions.astype(np.intp)
