"""Entries of a matrix by position, and what they cost, as used by designs, criteria and campaigns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.cells import align_matrix, align_vector
from maxentry.errors import ParameterError
from maxentry.labels import Labels

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Shape = tuple[int, int]
COST_PARTS = ("entry", "row", "col")
BLOCK_ENTRIES = 1_000_000  # entries of a block whose costs are checked at once


class Entries(NamedTuple):
    """Entries (i_n, j_n), n = 1..N, by position, in order and with repeats."""

    rows: Indices
    cols: Indices

    @classmethod
    def of(cls, rows: Any, cols: Any) -> Entries:
        """Build entries from sequences of whole numbers."""
        return cls(np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64))

    @classmethod
    def none(cls) -> Entries:
        """Return an empty set of entries."""
        return cls.of([], [])

    @classmethod
    def from_keys(cls, keys: Indices, m2: int) -> Entries:
        """Return the entries with these keys in a matrix of m2 columns."""
        return cls(keys // m2, keys % m2)

    def keys(self, m2: int) -> Indices:
        """Return one number per entry of a matrix of m2 columns: i m2 + j."""
        return self.rows * m2 + self.cols

    def joined(self, other: Entries) -> Entries:
        """Return these entries followed by the others."""
        return Entries(np.concatenate([self.rows, other.rows]), np.concatenate([self.cols, other.cols]))


@dataclass(frozen=True, eq=False)
class Costs:
    """cost_ij = entry_ij + row_i + col_j of the parts given; 1 where none is given."""

    entry: Any = None  # (m1, m2)
    row: Any = None  # (m1,)
    col: Any = None  # (m2,)

    @property
    def parts(self) -> dict[str, Any]:
        """The parts that are given, by name."""
        return {name: part for name in COST_PARTS if (part := getattr(self, name)) is not None}

    @property
    def given(self) -> bool:
        """Whether any part is given."""
        return bool(self.parts)

    def at(self, rows: Any, cols: Any) -> Array:
        """Return the costs of the entries (rows, cols), which broadcast as indices do."""
        i, j = np.broadcast_arrays(np.asarray(rows), np.asarray(cols))
        if not self.given:
            return np.ones(i.shape)
        cost = np.zeros(i.shape)
        for name, part in self.parts.items():
            cost += np.asarray(part)[{"entry": (i, j), "row": i, "col": j}[name]]
        return cost

    def least(self, rows: Indices, cols: Indices) -> float:
        """Return the least cost of an entry of this block."""
        if self.entry is not None:
            return float(self.at(rows[:, None], cols).min())
        if not self.given:
            return 1.0
        row = 0.0 if self.row is None else float(np.asarray(self.row)[rows].min())
        col = 0.0 if self.col is None else float(np.asarray(self.col)[cols].min())
        return row + col

    def extremes(self, shape: Shape) -> tuple[float, float]:
        """Return the least and the greatest cost of an entry of a matrix of this shape."""
        if not self.given:
            return 1.0, 1.0
        m1, m2 = shape
        with np.errstate(over="ignore"):
            if self.entry is None:
                parts = [np.asarray(part, dtype=float) for part in self.parts.values()]
                return sum(float(part.min()) for part in parts), float(np.sum([part.max() for part in parts]))
            least, most, step = np.inf, -np.inf, max(1, BLOCK_ENTRIES // m2)
            for i in range(0, m1, step):
                cost = self.at(np.arange(i, min(i + step, m1))[:, None], np.arange(m2))
                least, most = min(least, float(cost.min())), max(most, float(cost.max()))
        return least, most

    def check(self, shape: Shape) -> None:
        """Refuse parts of another shape, infinite costs, and entries that cost nothing."""
        for name, part in self.parts.items():
            expected = _part_shape(name, shape)
            if np.shape(part) != expected:
                raise ParameterError(f"expected {name} costs of shape {expected}, got {np.shape(part)}.")
            values = np.asarray(part, dtype=float)
            if not np.isfinite(values).all():
                raise ParameterError(f"expected finite {name} costs, got {values[~np.isfinite(values)][0]}.")
        least, most = self.extremes(shape)
        if not least > 0:
            raise ParameterError(f"expected costs above zero, got an entry that costs {least:g}.")
        if not np.isfinite(most):
            raise ParameterError("expected finite costs, got parts that add up to an infinite one.")

    def extended(self, shape: Shape, row: Any = None, col: Any = None) -> Costs:
        """Return the costs of a larger matrix. New rows and columns cost `row` and `col`, else the mean of the old."""
        new = {"row": row, "col": col}
        parts = {
            name: _extend_part(part, _part_shape(name, shape), name, new.get(name))
            for name, part in self.parts.items()
        }
        larger = Costs(**parts)
        larger.check(shape)
        return larger


def read_costs(given: Any, rows: Labels, cols: Labels) -> Costs:
    """Read costs from None, an m1 x m2 array or wide frame, or parts named entry, row and col.

    Row and column parts may be arrays in the order of the labels, or mappings from each label to a number. Frames and
    pandas' series are read by their labels.
    """
    if isinstance(given, Costs):
        given = given.parts
    parts = dict(given) if isinstance(given, Mapping) else {"entry": given}
    unknown = [name for name in parts if name not in COST_PARTS]
    if unknown:
        raise ParameterError(f"expected costs named entry, row or col, got {unknown[0]!r}.")
    ordered = {
        "entry": align_matrix(parts.get("entry"), rows, cols, "cost"),
        "row": align_vector(parts.get("row"), rows, "row"),
        "col": align_vector(parts.get("col"), cols, "col"),
    }
    costs = Costs(**{name: _read_part(part, name) for name, part in ordered.items() if part is not None})
    costs.check((len(rows), len(cols)))
    return costs


def _read_part(part: Any, name: str) -> Array:
    """Return costs of a user as a read-only array of numbers from zero on."""
    try:
        array = np.array(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"expected numbers as {name} costs, got {part!r:.60}.") from None
    if (array < 0).any():
        raise ParameterError(f"expected {name} costs from zero on, got {array[array < 0][0]}.")
    array.setflags(write=False)
    return array


def _part_shape(name: str, shape: Shape) -> tuple[int, ...]:
    return {"entry": shape, "row": shape[:1], "col": shape[1:]}[name]


def _extend_part(part: Array, shape: tuple[int, ...], name: str, new: Any) -> Array:
    larger = np.full(shape, part.mean())
    larger[tuple(slice(n) for n in part.shape)] = part
    if new is not None and (more := shape[0] - len(part)):
        added = _read_part(new, name)
        if added.shape != (more,):
            raise ParameterError(f"expected {more} new {name} costs, got an array of shape {added.shape}.")
        larger[len(part) :] = added
    larger.setflags(write=False)
    return larger
