"""How a matrix came in, and so how maps of it go out: arrays for an array, frames with labels for a frame."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from maxentry.frames.writing import stacked_frame, wide_frame


class Form(NamedTuple):
    """The kind of frame a matrix came in (None: an array), its labels, and what it calls rows and columns."""

    kind: str | None = None
    row_labels: Sequence[Any] | None = None
    col_labels: Sequence[Any] | None = None
    row_name: Hashable = None
    col_name: Hashable = None

    def of(self, matrix: NDArray[Any]) -> Any:
        """The matrix in this form."""
        return matrix if self.kind is None else self.frame(matrix)

    def frame(self, matrix: NDArray[Any]) -> Any:
        """The matrix as a frame, also where none came in (then of whichever library is installed)."""
        names = {"row_name": self.row_name, "col_name": self.col_name}
        return wide_frame(matrix, self.row_labels, self.col_labels, self.kind, **names)

    def stacked(self, matrices: NDArray[Any]) -> Any:
        """Several matrices, (n, m1, m2): as they are, or below each other in a frame, by draw and row."""
        if self.kind is None:
            return matrices
        names = {"row_name": self.row_name, "col_name": self.col_name}
        return stacked_frame(matrices, self.row_labels, self.col_labels, self.kind, **names)
