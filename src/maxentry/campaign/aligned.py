"""Masks and costs that come in frames: their cells in the order of the campaign's labels, not of the frame's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from narwhals import dependencies
from numpy.typing import NDArray

from maxentry import frames
from maxentry.campaign.cells import Lookup
from maxentry.errors import ParameterError
from maxentry.observations.labels import Axis, Labels

Array = NDArray[np.float64]


def matrix(given: Any, rows: Labels, cols: Labels, what: str) -> Any:
    """The cells of a wide frame by the labels of rows and columns; anything else as it is."""
    if frames.kind_of(given) is None or not frames.is_frame(given):
        return given
    wide = frames.read_wide(given)
    height = len(wide.columns[0]) if wide.columns else 0
    i = _places(wide.row_labels, height, Axis("row", len(rows), rows), what)
    j = _places(wide.col_labels, len(wide.columns), Axis("column", len(cols), cols), what)
    ordered = np.empty((len(rows), len(cols)), np.result_type(*wide.columns))
    for column, place in zip(wide.columns, j, strict=True):
        ordered[i, place] = column
    return ordered


def flags(given: Any, rows: Labels, cols: Labels) -> Any:
    """A mask by label; where it came in a frame, 1 and 0 are yes and no."""
    cells = matrix(given, rows, cols, "mask")
    return given if cells is given else frames.as_flags(cells)


def series(given: Any, labels: Labels, name: str) -> Any:
    """A pandas series with labels as a mapping; anything else as it is."""
    if not dependencies.is_pandas_series(given):
        return given
    came = frames.index_labels(given.index)
    if came is None:
        return given
    places = _places(came, len(came), Axis(name, len(labels), labels), f"{name} cost")
    ordered = np.empty(len(labels), dtype=object)
    ordered[places] = list(given)
    return ordered.tolist()


def _places(came: Sequence[Hashable] | None, n: int, axis: Axis, what: str) -> list[int]:
    """Where the labels that came stand on the axis, on which each must come once; in order if there are none."""
    if came is None:
        if n != axis.size:
            raise ParameterError(f"expected a {what} of {axis.size} {axis.name}s, but {n} came.")
        return list(range(n))
    find = Lookup(axis).find
    places = [find(label) for label in came]
    missing = sorted(set(range(axis.size)) - set(places))
    if missing:
        raise ParameterError(
            f"expected every {axis.name} label in the {what}, but {axis.show(missing[0])} is not there."
        )
    if len(places) != axis.size:
        raise ParameterError(f"expected every {axis.name} label once in the {what}, but one came twice.")
    return places
