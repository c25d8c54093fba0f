"""Labels and positions of rows and columns, and the checks of user data that both need.

Users name a row or column by its label; all computations use its position. The functions here turn user data into
arrays of floats (missing as NaN) and of positions, and name the value that cannot be used. Frames and mappings given
by users are put in the order of labels that are known.
"""

from __future__ import annotations

import datetime as dt
import difflib
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry import frames, wording
from maxentry._io import check_memory
from maxentry.errors import DataError, LabelError, ParameterError, is_whole
from maxentry.frames import foreign_code, is_missing, object_array, to_float, to_list

PER_LABEL = 24  # bytes of a row or column: its count, its place, and one of work
NOTHING = "expected at least one observation that is not missing, got none."


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Return `values` as an array. Masked values become NaN; numbers next to text stay numbers."""
    with foreign_code("an array, or lists of equal length,", values):
        if isinstance(values, np.ma.MaskedArray):
            as_type = np.float64 if values.dtype.kind in "fiub" else object
            return np.where(np.ma.getmaskarray(values), np.nan, values.data.astype(as_type))
        try:
            array = np.asarray(values)
        except ValueError:
            raise DataError("expected rows of equal length, got a ragged sequence.") from None
        # NumPy turns all of [1, "a"] into text. As objects, an error can name the one text among the numbers.
        text = array.dtype.kind in "US" and not isinstance(values, np.ndarray)
        return np.array(values, dtype=object) if text else array


def floats(values: ArrayLike, place: Callable[[int], str]) -> NDArray[np.float64]:
    """Return a new array of floats in the shape of `values`; `place(k)` names the k-th value in an error."""
    array = as_array(values)
    if array.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes inf, which is refused later
            return array.astype(np.float64)
    flat = list(array.flat) if array.dtype.kind in "mM" else array.astype(object).ravel()  # dates stay dates
    return np.array([_float(x, k, place) for k, x in enumerate(flat)], dtype=np.float64).reshape(array.shape)


def _float(x: Any, k: int, place: Callable[[int], str]) -> float:
    if is_missing(x):
        return float("nan")
    number = to_float(x)
    if number is not None:
        return number
    is_text = isinstance(x, (str, bytes))
    kind = "text" if is_text else type(x).__name__
    message = f"expected real numbers, got {show(x)} ({kind}) at {place(k)}."
    raise DataError(message, code="text_value" if is_text else None)


def positions_within(items: ArrayLike, size: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the items as integers, and a mask of those that are not integers from 0 to size - 1."""
    array = as_array(items)
    kind = array.dtype.kind
    if kind in "iu":
        good = (array >= 0) & (array < size)
    elif kind == "f":
        good = (array >= 0) & (array < size) & (array == np.floor(array))
    else:
        good = np.array([_is_position(x, size) for x in array.ravel()], dtype=bool).reshape(array.shape)
    safe = array if good.all() else np.where(good, array if kind in "iuf" else array.astype(object), 0)
    return safe.astype(np.int64, copy=False), ~good


def _is_position(x: Any, size: int) -> bool:
    return is_whole(x, 0) and bool(x < size)


def check_shape(shape: Any) -> tuple[int, int]:
    """Return a shape as two ints; raise unless both are whole numbers of at least 2."""
    try:
        pair, bad = positions_within(shape, 2**31)
    except DataError:
        pair, bad = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    if pair.shape != (2,) or bad.any():
        raise DataError(f"expected a shape of two whole numbers below 2**31, got {show(shape)}.")
    m1, m2 = int(pair[0]), int(pair[1])
    if min(m1, m2) < 2:
        raise DataError(f"expected at least 2 rows and 2 columns, got a matrix of {m1} x {m2}.")
    return m1, m2


def check_size(shape: Any) -> tuple[int, int]:
    """Return a shape as two ints; raise unless there is memory for a matrix of so many rows and columns."""
    m1, m2 = check_shape(shape)
    check_memory(PER_LABEL * (m1 + m2), f"a matrix of {m1} x {m2}")
    return m1, m2


def is_matrix(data: Any) -> bool:
    """Whether this is an array of two dimensions, or a list of rows."""
    if isinstance(data, np.ndarray):
        return data.ndim == 2
    return isinstance(data, list | tuple) and bool(data) and all(np.ndim(row) == 1 for row in data)


def numbered_rows(name: Hashable) -> str:
    """Return the warning of a column that may number the rows."""
    return (
        f"the first column, {name!r}, has distinct whole numbers and was read as a column of values, not as labels; "
        f"if it numbers the rows, say row_column={name!r} (or set_index({name!r}) in pandas, or cast it to text)."
    )


def check_lengths(rows: NDArray[Any], cols: NDArray[Any], values: NDArray[Any]) -> None:
    """Raise unless rows, columns and values are one-dimensional, equally long and not empty."""
    for name, array in (("rows", rows), ("columns", cols), ("values", values)):
        if array.ndim != 1:
            raise DataError(f"expected {name} in one dimension, got an array of {array.ndim}.")
    if not rows.size == cols.size == values.size:
        got = f"{rows.size} rows, {cols.size} columns and {values.size} values"
        raise DataError(f"expected as many rows as columns and values, got {got}.")
    if not rows.size:
        raise DataError(NOTHING)


Labels = tuple[Hashable, ...]


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a matrix: their number and their labels (None: positions are the labels)."""

    name: str
    size: int
    labels: Labels | None

    @classmethod
    def from_labels(cls, name: str, size: int, labels: Iterable[Hashable] | None) -> Axis:
        """Build an axis; raise unless the labels, if given, are distinct, not missing and of this number."""
        known = None if labels is None else check_labels(labels, name)
        if known is not None and len(known) != size:
            raise DataError(f"expected {size} {name} labels, got {len(known)}.")
        return cls(name, size, known)

    @cached_property
    def positions(self) -> dict[Hashable, int]:
        """Position by label."""
        return {label: i for i, label in enumerate(self.labels or ())}

    @cached_property
    def _positions_by_text(self) -> dict[str, int | None]:
        """Position by label as text; None where several labels read alike."""
        by_text: dict[str, int | None] = {}
        for label, i in self.positions.items():
            text = label_text(label)
            by_text[text] = None if text in by_text else i
        return by_text

    def has_text(self, text: str) -> bool:
        """Whether a label, or several, read like this as text."""
        return text in self._positions_by_text

    def find(self, cell: Any) -> int:
        """Return the position of the label that a cell means: the one it equals, else the only one of the same text."""
        try:
            return self.positions[cell]
        except (KeyError, TypeError):
            position = self._positions_by_text.get(label_text(cell))
        return int(self.look_up([cell])[0]) if position is None else position  # raises, naming the cell

    def select_removed(self, labels: Iterable[Hashable]) -> tuple[Labels, NDArray[np.int64]]:
        """Return labels that are to be removed, and their positions; refuse to leave fewer than two."""
        places = [self.find(label) for label in check_labels(labels, self.name)]
        if not 0 < len(set(places)) == len(places):
            raise DataError(f"expected labels of {self.name}s, each once, got {show(list(labels))}.")
        if self.size - len(places) < 2:
            got = f"{len(places)} of {self.size} to remove"
            raise DataError(f"expected at least two {self.name}s to stay, got {got}.")
        known = tuple(range(self.size)) if self.labels is None else self.labels
        return tuple(known[k] for k in places), np.array(places, dtype=np.int64)

    def show(self, i: int) -> str:
        """Return the label at a position as Python source, for messages."""
        return show(int(i) if self.labels is None else self.labels[i])

    def index(self, labels: Any) -> NDArray[np.int64]:
        """Return the position of one label (a 0-d array) or the positions of a sequence (in its shape)."""
        if self._is_one_label(labels):
            return self.look_up([labels.item() if isinstance(labels, np.ndarray) else labels]).reshape(())
        if isinstance(labels, np.ndarray):
            return self.look_up(labels.ravel()).reshape(labels.shape)
        return self.look_up(to_list(labels))

    def look_up(self, labels: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the positions of a list of labels."""
        if self.labels is None:
            positions, bad = positions_within(labels, self.size)
            if bad.any():
                self._refuse(as_array(labels)[bad].tolist())
            return positions
        wanted = to_list(labels)
        try:
            return np.fromiter(map(self.positions.__getitem__, wanted), dtype=np.int64, count=len(wanted))
        except (KeyError, TypeError):
            self._refuse([x for x in wanted if not self._knows(x)])

    def within(self, items: NDArray[Any]) -> NDArray[np.int64]:
        """Return the items as positions; raise if one is not on this axis."""
        positions, bad = positions_within(items, self.size)
        if bad.any():
            k = int(np.argmax(bad))
            wanted = f"{self.name} indices from 0 to {self.size - 1}"
            raise DataError(f"expected {wanted}, got {show(items[k])} for measurement {k}.")
        return positions

    def _is_one_label(self, labels: Any) -> bool:
        if isinstance(labels, np.ndarray):
            return labels.ndim == 0
        # A tuple is a sequence of labels unless it is itself a label.
        return not frames.is_sequence(labels) or self._knows(labels)

    def _knows(self, label: Any) -> bool:
        try:
            return label in self.positions
        except TypeError:
            return False

    def _refuse(self, labels: list[Any]) -> NoReturn:
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        got = ", ".join(show(x) for x in labels[:3]) + more
        if self.labels is None:
            raise LabelError(f"expected {self.name} positions from 0 to {self.size - 1}, got {got}.")
        by_text = {wording.as_text(label).casefold(): label for label in reversed(self.labels)}
        text = wording.as_text(labels[0])[:200].casefold().strip()
        near = difflib.get_close_matches(text, by_text, n=1, cutoff=1.0 if text.isdigit() else 0.6)
        hint = f" (did you mean {show(by_text[near[0]])}?)" if near else ""
        raise LabelError(f"expected known {self.name} labels, got {got}{hint}.")


def place(row_axis: Axis, i: int, col_axis: Axis, j: int) -> str:
    """Return the name of an entry for messages."""
    return f"row {row_axis.show(i)}, column {col_axis.show(j)}"


def label_text(label: Hashable) -> str:
    """A label as text: whole numbers without a fraction, no blanks around it."""
    return wording.as_text(int(label) if isinstance(label, float) and label.is_integer() else label).strip()


def show(label: object) -> str:
    """Return a label or a value as Python source, without NumPy's type names."""
    return wording.show(
        label.item() if isinstance(label, np.generic) and label.dtype.kind in "iufbU" else label
    )


def check_labels(labels: Iterable[Hashable], name: str) -> Labels:
    """Return the labels as a tuple; raise if one is missing, not hashable or repeated."""
    if not frames.is_sequence(labels):
        raise DataError(f"expected a sequence of {name} labels, got {show(labels)}.")
    known = tuple(to_list(labels))
    if is_plain(known) and len(set(known)) == len(known):
        return known
    first: dict[Hashable, int] = {}
    for i, label in enumerate(known):
        if is_missing(label):
            raise DataError(f"expected a label for every {name}, got {show(label)} for {name} {i}.")
        if first.setdefault(_hashable(label, name), i) != i:
            raise DataError(
                f"expected distinct {name} labels, got {show(label)} twice, at {first[label]} and {i}.",
                code="duplicate_label",
                label=label,
            )
    return known


def is_plain(labels: Iterable[Any]) -> bool:
    """Whether all labels are text and whole numbers of Python: a quick look at very many labels."""
    return set(map(type, labels)) <= {str, int}


def code_labels(
    items: Sequence[Any] | NDArray[Any], labels: Iterable[Hashable] | None, name: str
) -> tuple[NDArray[np.int64], Labels]:
    """Return the positions of the items, and all labels: those given, else the items in order of appearance."""
    wanted = to_list(items)
    try:
        distinct = dict.fromkeys(wanted)
    except TypeError:
        distinct = {_hashable(x, name): None for x in wanted}  # raises, naming the label
    if any(is_missing(x) for x in distinct):
        k = next(k for k, x in enumerate(wanted) if is_missing(x))
        raise DataError(
            f"expected a {name} label with every measurement, got {show(wanted[k])} for measurement {k}."
        )
    known = tuple(distinct) if labels is None else check_labels(labels, name)
    return Axis(name, len(known), known).look_up(wanted), known


def as_column(items: Any, name: str) -> NDArray[Any]:
    """Return one column of triples as an array: integers stay integers, other values become objects."""
    if not frames.is_sequence(items):
        raise DataError(f"expected a sequence of {name}s, got {show(items)}.")
    with foreign_code(f"a sequence of {name}s", items):
        array = items.to_numpy() if hasattr(items, "to_numpy") else items
    if isinstance(array, np.ndarray) and (array.dtype.kind in "iu" or array.ndim != 1):
        return as_array(array)
    return object_array(to_list(items))


def positions_or_labels(
    items: NDArray[Any], labels: Iterable[Hashable] | None, shape: tuple[int, int] | None, side: str
) -> tuple[NDArray[Any], Labels | None]:
    """Return items and labels: items are positions if only a shape is given, else labels to look up."""
    if labels is None and shape is not None:
        return items, None
    name = {"row": "row", "col": "column"}[side]
    numbered = items.dtype.kind in "iu" or all(frames.is_number(x) for x in items)
    if labels is None and numbered:
        raise DataError(f"expected shape= or {side}_labels= with numbered {name}s, got neither.")
    return code_labels(items, labels, name)


def _hashable(label: Any, name: str) -> Hashable:
    try:
        hash(label)
    except TypeError:
        kind = type(label).__name__
        raise DataError(f"expected hashable {name} labels, got {show(label)} ({kind}).") from None
    return label  # type: ignore[no-any-return]


# Labels in JSON


def encode(labels: tuple[Hashable, ...] | None) -> list[Any] | None:
    """Return labels as JSON data: text and numbers unchanged, dates and tuples with their type.

    Other types are refused rather than turned into text, so that `decode` gives equal labels back.
    """
    if labels is None or is_plain(labels):
        return None if labels is None else list(labels)
    return [_encode(label) for label in labels]


def decode(labels: list[Any] | None) -> tuple[Hashable, ...] | None:
    """Read labels from JSON data."""
    if labels is None or is_plain(labels):
        return None if labels is None else tuple(labels)
    return tuple(_decode(label) for label in labels)


def _encode(label: Any) -> Any:
    kind = type(label).__name__
    if isinstance(label, np.datetime64):
        return {"datetime64": str(label), "unit": np.datetime_data(label.dtype)[0]}
    if isinstance(label, np.generic) and not isinstance(label.item(), np.generic):  # a long double stays one
        return _encode(label.item())
    if isinstance(label, tuple):
        return {"tuple": [_encode(part) for part in label]}
    if kind == "Timestamp":
        return {kind: label.isoformat(), "unit": label.unit}  # the unit is part of the type of a pandas index
    if isinstance(label, dt.datetime | dt.date):
        return {kind: label.isoformat()}
    if label is None or isinstance(label, str | int | float | bool):
        return label
    raise DataError(f"expected labels that are text, numbers, dates or tuples, got {show(label)} ({kind}).")


def _decode(label: Any) -> Any:
    if not isinstance(label, dict):
        return label
    if "datetime64" in label:
        return np.datetime64(label["datetime64"], label["unit"])
    if "Timestamp" in label:
        import pandas

        moment = pandas.Timestamp(label["Timestamp"])
        return moment.as_unit(label["unit"]) if "unit" in label else moment  # older files have no unit
    ((kind, value),) = label.items()
    if kind == "tuple":
        return tuple(_decode(part) for part in value)
    return dt.date.fromisoformat(value) if kind == "date" else dt.datetime.fromisoformat(value)


# Sparse matrices


def is_sparse(data: Any) -> bool:
    """Whether it is a matrix of scipy.sparse."""
    sparse = sys.modules.get("scipy.sparse")  # without the module there are no sparse matrices
    return sparse is not None and bool(sparse.issparse(data))


def sparse_triples(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows, columns and values of what is stored.

    scipy's compiled conversions trust `indptr` and `indices` and write where they say. So these are checked first, and
    rows are counted here.
    """
    if matrix.format in ("csr", "csc"):
        end = _check_compressed(matrix, (1, 1))
        rows, cols = (
            np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr)),
            matrix.indices[:end],
        )
        return (rows, cols, matrix.data[:end]) if matrix.format == "csr" else (cols, rows, matrix.data[:end])
    if matrix.format == "bsr":
        _check_compressed(matrix, matrix.data.shape[1:])
    elif matrix.format == "lil":
        lengths = np.fromiter(map(len, matrix.rows), np.int64, len(matrix.rows))
        if lengths.size != matrix.shape[0] or lengths.tolist() != [len(values) for values in matrix.data]:
            raise DataError("expected as many values as columns in every row of a sparse matrix, got others.")
        cols = [j for row in matrix.rows for j in row]
        return np.repeat(np.arange(lengths.size), lengths), np.array(cols), np.concatenate([*matrix.data])
    elif matrix.format == "dia":  # its tocoo drops stored zeros, so convert positions from 1
        numbered = np.arange(1, matrix.data.size + 1).reshape(matrix.data.shape)
        coo = type(matrix)((numbered, matrix.offsets), shape=matrix.shape).tocoo()
        return coo.row, coo.col, matrix.data.ravel()[coo.data - 1]
    coo = matrix.tocoo()
    return coo.row, coo.col, coo.data


def _check_compressed(matrix: Any, block: tuple[int, ...]) -> int:
    """Check the index of a sparse matrix in rows (or columns) of blocks; return how many are stored."""
    blocks = [m // size for m, size in zip(matrix.shape, block, strict=True)]
    major, minor = blocks if matrix.format != "csc" else blocks[::-1]
    indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    whole = all(x.ndim == 1 and x.dtype.kind in "iu" for x in (indptr, indices))
    if not whole or indptr.size != major + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        got = show(indptr.tolist())
        raise DataError(f"expected indptr of a sparse matrix to rise from 0 in {major + 1} steps, got {got}.")
    end = int(indptr[-1])
    if end > min(indices.size, len(matrix.data)):
        raise DataError(
            f"expected {end} stored values, as indptr says, got {min(indices.size, len(matrix.data))}."
        )
    wrong = (indices[:end] < 0) | (indices[:end] >= minor)
    if wrong.any():
        got = indices[int(np.argmax(wrong))]
        raise DataError(f"expected indices of a sparse matrix from 0 to {minor - 1}, got {got}.")
    return end


# Frames in the order of known labels


def align_matrix(
    given: Any, rows: Labels, cols: Labels, what: str, row_column: Hashable | None = None
) -> Any:
    """Return the cells of a wide frame in the order of these labels; return anything else unchanged.

    row_column: the column of row labels, where the frame has one of this name.
    """
    if frames.frame_library(given) is None or not frames.is_frame(given):
        return given
    wide = frames.read_wide(given, row_column if row_column in [*given.columns] else None)
    height = len(wide.columns[0]) if wide.columns else 0
    i = _places(wide.form.row_labels, height, Axis("row", len(rows), rows), what)
    j = _places(wide.form.col_labels, len(wide.columns), Axis("column", len(cols), cols), what)
    ordered = np.empty((len(rows), len(cols)), np.result_type(*wide.columns))
    for column, place in zip(wide.columns, j, strict=True):
        ordered[i, place] = column
    return ordered


def label_columns(frame: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return the names and columns of a wide frame, the column of row labels first; these may be pandas' index."""
    form, columns, *_ = frames.read_wide(frame)
    rows = range(len(columns[0])) if form.row_labels is None else form.row_labels
    cols = range(len(columns)) if form.col_labels is None else form.col_labels
    return ["row", *cols], [[*rows], *map(list, columns)]


def align_vector(given: Any, labels: Labels, name: str) -> Any:
    """Return the values of a mapping or pandas series by label in the order of these labels; else `given` itself."""
    from narwhals import dependencies

    if isinstance(given, Mapping):
        names, values = list(given), list(given.values())
    elif dependencies.is_pandas_series(given) and frames.index_labels(given.index) is not None:
        names, values = given.index.tolist(), list(given)
    else:
        return given
    places = _places(names, len(names), Axis(name, len(labels), labels), f"{name} costs")
    ordered = np.empty(len(labels), dtype=object)
    ordered[places] = values
    return ordered.tolist()


def _places(labels: Sequence[Hashable] | None, n: int, axis: Axis, what: str) -> list[int]:
    """Return the positions of labels on the axis, each exactly once; without labels, 0 to n - 1."""
    if labels is None:
        if n != axis.size:
            raise ParameterError(f"expected a {what} of {axis.size} {axis.name}s, got {n}.")
        return list(range(n))
    places = [axis.find(label) for label in labels]
    missing = sorted(set(range(axis.size)) - set(places))
    if missing:
        raise ParameterError(
            f"expected every {axis.name} label in the {what}, got none for {axis.show(missing[0])}."
        )
    if len(places) != axis.size:
        twice = next(axis.show(place) for place in places if places.count(place) > 1)
        raise ParameterError(f"expected every {axis.name} label once in the {what}, got {twice} twice.")
    return places
