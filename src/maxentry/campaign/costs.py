"""Costs of entries: the sum of an entry cost, a row cost and a column cost, each optional.

Also: masks and costs given as frames, put in the order of the campaign's labels, and arrays packed for JSON.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from narwhals import dependencies
from numpy.typing import NDArray

from maxentry import frames
from maxentry.cells import Lookup
from maxentry.errors import ParameterError
from maxentry.labels import Axis, Labels

# Arrays in JSON


def pack(array: NDArray[Any] | None) -> dict[str, Any] | None:
    """Pack an array of floats or booleans for JSON: little-endian bytes (booleans as bits), compressed, base64."""
    if array is None:
        return None
    kind = "bool" if array.dtype == np.bool_ else "float64"
    data = np.packbits(array) if kind == "bool" else array.astype("<f8")
    text = base64.b64encode(zlib.compress(data.tobytes())).decode("ascii")
    return {"shape": list(array.shape), kind: text}


def unpack(packed: dict[str, Any] | None) -> NDArray[Any] | None:
    """Unpack an array; it is read-only."""
    if packed is None:
        return None
    shape = tuple(packed["shape"])
    kind = "bool" if "bool" in packed else "float64"
    data = zlib.decompress(base64.b64decode(packed[kind]))
    if kind == "float64":
        return np.frombuffer(data, dtype="<f8").reshape(shape)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=int(np.prod(shape)))
    return freeze(bits.astype(bool).reshape(shape))


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


# Masks and costs given as frames

Array = NDArray[np.float64]


def align_matrix(given: Any, rows: Labels, cols: Labels, what: str) -> Any:
    """Return the cells of a wide frame in the order of these labels; return anything else unchanged."""
    if frames.frame_library(given) is None or not frames.is_frame(given):
        return given
    wide = frames.read_wide(given)
    height = len(wide.columns[0]) if wide.columns else 0
    i = _places(wide.form.row_labels, height, Axis("row", len(rows), rows), what)
    j = _places(wide.form.col_labels, len(wide.columns), Axis("column", len(cols), cols), what)
    ordered = np.empty((len(rows), len(cols)), np.result_type(*wide.columns))
    for column, place in zip(wide.columns, j, strict=True):
        ordered[i, place] = column
    return ordered


def align_mask(given: Any, rows: Labels, cols: Labels) -> Any:
    """Put a mask given as a frame in the order of these labels, reading 1 and 0 as True and False."""
    cells = align_matrix(given, rows, cols, "mask")
    return given if cells is given else frames.parse_flags(cells)


def align_series(given: Any, labels: Labels, name: str) -> Any:
    """Return the values of a labelled pandas series in the order of these labels; return anything else unchanged."""
    if not dependencies.is_pandas_series(given):
        return given
    index = frames.index_labels(given.index)
    if index is None:
        return given
    places = _places(index, len(index), Axis(name, len(labels), labels), f"{name} cost")
    ordered = np.empty(len(labels), dtype=object)
    ordered[places] = list(given)
    return ordered.tolist()


def _places(labels: Sequence[Hashable] | None, n: int, axis: Axis, what: str) -> list[int]:
    """Return the positions of labels on the axis, each exactly once; without labels, 0 to n - 1."""
    if labels is None:
        if n != axis.size:
            raise ParameterError(f"expected a {what} of {axis.size} {axis.name}s, got {n}.")
        return list(range(n))
    find = Lookup(axis).find
    places = [find(label) for label in labels]
    missing = sorted(set(range(axis.size)) - set(places))
    if missing:
        raise ParameterError(
            f"expected every {axis.name} label in the {what}, got none for {axis.show(missing[0])}."
        )
    if len(places) != axis.size:
        raise ParameterError(f"expected every {axis.name} label once in the {what}, got one twice.")
    return places


class Costs(NamedTuple):
    """cost_ij = entry_ij + row_i + col_j, without the parts that are None; 1 if all are None."""

    entry: Array | None = None
    row: Array | None = None
    col: Array | None = None

    @classmethod
    def of(cls, costs: Any, rows: Labels, cols: Labels) -> Costs:
        """Build costs from None, an m1 x m2 array or wide frame, or parts named entry, row and col.

        Row and column parts may be arrays in the order of the labels, or mappings from each label to a number. Frames
        and pandas' series are read by their labels.
        """
        parts = _parts(costs)
        prices = cls(
            _checked(align_matrix(parts["entry"], rows, cols, "cost"), (len(rows), len(cols)), "entry"),
            _checked(_by_label(parts["row"], rows, "row"), (len(rows),), "row"),
            _checked(_by_label(parts["col"], cols, "col"), (len(cols),), "col"),
        )
        prices.check()
        return prices

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Costs:
        """Read costs from JSON."""
        return cls() if data is None else cls(*(unpack(data.get(part)) for part in cls._fields))

    def to_json(self) -> dict[str, Any] | None:
        """Return the costs as JSON data; None if no part is given."""
        given = {name: pack(part) for name, part in self._asdict().items() if part is not None}
        return given or None

    @property
    def given(self) -> bool:
        """Whether any part is given."""
        return any(part is not None for part in self)

    @property
    def least(self) -> float:
        """The cost of the cheapest entry."""
        row = 0.0 if self.row is None else self.row[:, None]
        col = 0.0 if self.col is None else self.col
        if self.entry is not None:
            return float((self.entry + row + col).min())
        return float(np.min(row) + np.min(col)) if self.given else 1.0

    def at(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Array:
        """Return the costs of these entries."""
        parts = [
            None if self.entry is None else self.entry[rows, cols],
            None if self.row is None else self.row[rows],
            None if self.col is None else self.col[cols],
        ]
        given = [part for part in parts if part is not None]
        return np.sum(given, axis=0) if given else np.ones(len(rows))

    def extended(self, shape: tuple[int, int], row: Any = None, col: Any = None) -> Costs:
        """Return the costs of a larger matrix. New rows and columns cost `row` and `col`, else the mean of the old."""
        m1, m2 = shape
        larger = Costs(
            None if self.entry is None else _grown(self.entry, shape, None),
            None if self.row is None else _grown(self.row, (m1,), row),
            None if self.col is None else _grown(self.col, (m2,), col),
        )
        larger.check()
        return larger

    def check(self) -> None:
        """Refuse costs of 0: criteria divide the gain by the cost."""
        if not self.least > 0:
            raise ParameterError("expected every entry to cost something, got a cost of 0.")


def _parts(costs: Any) -> dict[str, Any]:
    if costs is None:
        return dict.fromkeys(Costs._fields)
    if isinstance(costs, Mapping):
        unknown = [name for name in costs if name not in Costs._fields]
        if unknown:
            raise ParameterError(f"expected costs named entry, row or col, got {unknown[0]!r}.")
        return {name: costs.get(name) for name in Costs._fields}
    if all(hasattr(costs, name) for name in Costs._fields):
        return {name: getattr(costs, name) for name in Costs._fields}
    return {"entry": costs, "row": None, "col": None}


def _by_label(part: Any, labels: Labels, name: str) -> Any:
    if not isinstance(part, Mapping):
        return align_series(part, labels, name)
    missing = [label for label in labels if label not in part]
    unknown = [label for label in part if label not in set(labels)]
    if missing or unknown:
        got = f"none for {missing[0]!r}" if missing else f"one for {unknown[0]!r}"
        raise ParameterError(f"expected a cost for every {name} label and no other, got {got}.")
    return [part[label] for label in labels]


def _checked(part: Any, shape: tuple[int, ...], name: str) -> Array | None:
    if part is None:
        return None
    try:
        array = np.array(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"expected numbers as {name} costs, got {part!r:.60}.") from None
    if array.shape != shape:
        wanted = " x ".join(map(str, shape))
        raise ParameterError(f"expected {wanted} {name} costs, got an array of shape {array.shape}.")
    good = np.isfinite(array) & (array >= 0)
    if not good.all():
        raise ParameterError(f"expected finite {name} costs from zero on, got {array[~good][0]}.")
    return freeze(array)


def _grown(part: Array, shape: tuple[int, ...], new: Any) -> Array:
    larger = np.full(shape, part.mean())
    larger[tuple(slice(n) for n in part.shape)] = part
    if new is not None and len(part) < shape[0]:
        larger[len(part) :] = _checked(new, (shape[0] - len(part),), "new")
    return freeze(larger)
