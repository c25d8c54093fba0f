"""How a matrix came in, and so how maps of it go out: arrays for an array, frames with labels for a frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError
from maxentry.frames.reading import read_wide
from maxentry.frames.writing import long_frame, stacked_frame, wide_frame


class Form(NamedTuple):
    """The kind of frame a matrix came in (None: an array), its labels, and what it calls rows and columns."""

    kind: str | None = None
    row_labels: Sequence[Any] | None = None
    col_labels: Sequence[Any] | None = None
    row_name: Hashable = None
    col_name: Hashable = None

    @classmethod
    def read(cls, frame: Any) -> tuple[Form, NDArray[Any]]:
        """The form of a wide frame, and its cells."""
        wide = read_wide(frame)
        form = cls(wide.kind, wide.row_labels, wide.col_labels, wide.row_name, wide.col_name)
        return form, np.column_stack(wide.columns)

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

    def entries(self, rows: NDArray[Any], cols: NDArray[Any], measures: Mapping[str, Any]) -> Any:
        """Entries by position as a long frame of their labels, then the measures."""
        return long_frame(rows, cols, measures, self.row_labels, self.col_labels, self.kind)


def as_flags(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """The cells of a mask that came in a frame; 1 and 0 are yes and no."""
    odd = ~((cells == 0) | (cells == 1))
    if odd.any():
        raise ParameterError(f"expected a mask of True and False, but {cells[odd][0]!r} came.")
    return cells.astype(bool)
