"""Observations: the measured entries of a matrix, from arrays, sparse matrices, frames or triples.

An entry that is NaN, null, masked or not stored is missing; a stored zero is data. An entry may be measured several
times; each measurement counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry import frames
from maxentry.cells import YES_NO, Words, are_measurements, read_cells
from maxentry.errors import DataError, is_choice
from maxentry.labels import (
    NOTHING,
    Axis,
    Labels,
    align_matrix,
    as_array,
    as_column,
    check_lengths,
    check_shape,
    check_size,
    code_labels,
    floats,
    is_matrix,
    is_sparse,
    numbered_rows,
    place,
    positions_or_labels,
    positions_within,
    show,
    sparse_triples,
)
from maxentry.readings import check_ends, check_errors, count_limits, read_lines
from maxentry.tables.layout import find_numbered, name_long
from maxentry.wording import name_unused

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGE = 500_000  # measurements from which a compiled sort is worth its compilation


@dataclass(frozen=True, slots=True)
class Half:
    """Measurements grouped by row (or column), as in CSR: those of row i are at indptr[i]:indptr[i + 1]."""

    indptr: NDArray[np.int64]
    index: NDArray[np.int32]  # the column (or row) of each
    values: NDArray[np.float64]
    source: NDArray[np.int32]  # the position of each in the row-sorted order


@dataclass(frozen=True, eq=False, repr=False)
class Observations:
    """Measured entries of an m1 x m2 matrix, sorted by row, then column, with replicates in their given order.

    Use `Observations.of(data)` or one of the `from_...` constructors. The constructor itself takes positions, checks
    them, drops missing values and sorts.
    """

    shape: tuple[int, int]
    rows: NDArray[np.int32]
    cols: NDArray[np.int32]
    values: NDArray[np.float64]
    row_labels: Labels | None = None
    col_labels: Labels | None = None
    frame_kind: str | None = None
    row_name: Hashable = None  # the frame's names of rows and columns
    col_name: Hashable = None
    low: NDArray[np.float64] | None = None  # ends of what was measured; None: all are plain values
    high: NDArray[np.float64] | None = None
    se: NDArray[np.float64] | None = None  # standard errors, 0 where none is given; None: none is given

    def __post_init__(self) -> None:
        given_rows, given_cols = as_array(self.rows), as_array(self.cols)
        check_lengths(given_rows, given_cols, as_array(self.values))
        if given_rows.size >= 2**31:
            raise DataError(f"expected fewer than 2**31 measurements, got {given_rows.size}.")
        shape = check_size(self.shape)
        row_axis = Axis.from_labels("row", shape[0], self.row_labels)
        col_axis = Axis.from_labels("column", shape[1], self.col_labels)
        rows, cols = row_axis.within(given_rows), col_axis.within(given_cols)

        def where(k: int) -> str:
            return place(row_axis, rows[k], col_axis, cols[k])

        values = floats(self.values, where)
        beside = self.low is not None or self.high is not None
        low, high = check_ends(self.low, self.high, values, where) if beside else (None, None)
        se = None if self.se is None else check_errors(self.se, values, where)
        known = ~np.isnan(values)
        if not known.any():
            raise DataError(NOTHING)
        if np.isinf(values).any():
            k = int(np.argmax(np.isinf(values)))
            raise DataError(f"expected finite numbers, got {values[k]} at {where(k)}.")
        order = _row_order(rows, cols, shape, known)
        checked: dict[str, Any] = {"shape": shape, "values": values[order]}
        checked |= {"rows": rows[order].astype(np.int32), "cols": cols[order].astype(np.int32)}
        checked |= {"row_labels": row_axis.labels, "col_labels": col_axis.labels}
        limited = low is not None and high is not None and bool((low[order] < high[order]).any())
        checked |= {"low": low[order] if limited else None, "high": high[order] if limited else None}  # type: ignore[index]
        checked |= {"se": se[order] if se is not None and se[order].any() else None}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    # Constructors

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        shape: tuple[int, int] | None = None,
        row_labels: Iterable[Hashable] | None = None,
        col_labels: Iterable[Hashable] | None = None,
        row: Hashable | None = None,
        col: Hashable | None = None,
        value: Hashable | None = None,
        row_column: Hashable | None = None,
        se: Any = None,
        words: Words | None = None,
    ) -> Observations:
        """Build observations from Observations, an array, scipy.sparse, a frame or a tuple (rows, cols, values).

        A pair of matrices (lower, upper) holds the ends of what was measured; see `from_limits`.
        A frame is read as long if row=, col= or value= is given, if its columns have these names, or (with a warning)
        if it is plainly long under others, like user, item, rating; and as wide otherwise.
        Cells of text may be limits and ranges, like `<0.5`, `>100` and `0.5..0.7`.

        se: standard errors: for a long frame the name of their column (by default se, sem or sd), for an array or a
            wide frame a matrix (or a frame, which is read by its labels), for triples a sequence.
        words: words in cells that stand for numbers, like `cells.YES_NO`.
        """
        labels = {"row_labels": row_labels, "col_labels": col_labels}
        names = {"row": row, "col": col, "value": value}
        options: dict[str, Any] = {"shape": shape, "row_column": row_column} | labels | names | {"se": se}
        options = {name: option for name, option in options.items() if option is not None}
        if isinstance(data, Observations):
            _check_options(options, "Observations")
            return data
        if isinstance(data, tuple) and len(data) == 3:
            _check_options(options, "triples", "shape", *labels, "se")
            return cls.from_triples(*data, words=words, **options)
        if _is_pair(data):
            _check_options(options, "a pair of matrices", *labels, "se")
            return cls.from_limits(*data, **options)
        if is_sparse(data):
            _check_options(options, "a sparse matrix", *labels)
            return cls.from_sparse(data, **options)
        if not isinstance(data, (np.ndarray, list, tuple)) and frames.is_frame(data):
            long = row_column is None and frames.is_long(data)
            if not (long or options):
                options = name_long(data)
            matrix = se is not None and (is_matrix(se) or frames.is_frame(se))
            if options.keys() & {*names} or long or (se is not None and not matrix):
                _check_options(options, "a long frame", *names, *labels, "se")
                if matrix:
                    raise DataError(
                        f"expected the name of a column in se= with a long frame, got {show(se)}."
                    )
                return cls.from_long(data, words=words, **options)
            _check_options(options, "a wide frame", "row_column", "se")
            return cls._wide_or_hint(data, words=words, **options)
        _check_options(options, "an array", *labels, "se")
        return cls.from_array(data, words=words, **options)

    @classmethod
    def from_array(
        cls,
        array: ArrayLike,
        row_labels: Iterable[Hashable] | None = None,
        col_labels: Iterable[Hashable] | None = None,
        *,
        se: ArrayLike | None = None,
        words: Words | None = None,
    ) -> Self:
        """Build observations from a dense matrix with NaN, None or masked values where missing.

        Cells of text may be limits. se: a matrix of standard errors.
        """
        given = as_array(array)
        if given.ndim != 2:
            got = f"one of {given.ndim}" if given.ndim else f"{type(array).__name__} {show(array)}"
            got += " (ends of limits are a tuple: (lower, upper))" if given.shape[:1] == (2,) else ""
            raise DataError(f"expected an array of 2 dimensions, got {got}.")
        axes = _axes(check_shape(given.shape), row_labels, col_labels)
        return cls._from_matrix(axes, *read_cells(given, _place_in(axes), words), se=se)

    @classmethod
    def from_limits(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        row_labels: Iterable[Hashable] | None = None,
        col_labels: Iterable[Hashable] | None = None,
        *,
        se: ArrayLike | None = None,
    ) -> Self:
        """Build observations from two matrices: every measurement lies above `lower` and at or below `upper`.

        Equal ends are a plain value, -inf and inf are open ends, NaN in both is missing. se: standard errors. Wide
        frames are read by their labels.
        """
        frame = next((end for end in (lower, upper) if frames.frame_library(end) is not None), None)
        form, cells = (frames.Form(), np.empty(0)) if frame is None else frames.Form.read(frame)
        if frame is not None:
            row_labels, col_labels = form[1:3]
            lower, upper, se = (_align(end, form, cells.shape) for end in (lower, upper, se))
        ends = as_array(lower), as_array(upper)
        if any(end.ndim != 2 for end in ends) or ends[0].shape != ends[1].shape:
            got = " and ".join(str(end.shape) for end in ends)
            raise DataError(f"expected lower and upper ends in two matrices of one shape, got shapes {got}.")
        axes = _axes(check_shape(ends[0].shape), row_labels, col_labels)
        low, high = (floats(end, _place_in(axes)) for end in ends)
        names = form.kind, form.row_name, form.col_name
        return cls._from_matrix(axes, np.full(low.shape, np.nan), low, high, *names, se=se)

    @classmethod
    def from_sparse(
        cls,
        matrix: Any,
        row_labels: Iterable[Hashable] | None = None,
        col_labels: Iterable[Hashable] | None = None,
    ) -> Self:
        """Build observations from a scipy.sparse matrix. A stored 0 is data; duplicates are replicates."""
        if not is_sparse(matrix):
            raise DataError(f"expected a scipy.sparse matrix, got {type(matrix).__name__}.")
        if len(matrix.shape) != 2:
            raise DataError(f"expected a sparse matrix of 2 dimensions, got one of {len(matrix.shape)}.")
        check_size(matrix.shape)  # conversions take memory for every row
        with frames.foreign_code("a sparse matrix whose parts agree", matrix):
            rows, cols, values = sparse_triples(matrix)
        return cls(matrix.shape, rows, cols, values, row_labels, col_labels)  # type: ignore[arg-type]

    @classmethod
    def from_triples(
        cls,
        rows: Iterable[Any],
        cols: Iterable[Any],
        values: ArrayLike,
        shape: tuple[int, int] | None = None,
        row_labels: Iterable[Hashable] | None = None,
        col_labels: Iterable[Hashable] | None = None,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        se: ArrayLike | None = None,
        words: Words | None = None,
    ) -> Self:
        """Build observations from lists of rows, columns and values; rows and columns are positions or labels.

        They are positions if only a shape is given. Labels keep their order of appearance, or the order of row_labels
        and col_labels, which may also name rows and columns that were never measured. low, high and se are the ends and
        the standard errors of the values.
        """
        row_items, col_items, given = as_column(rows, "row"), as_column(cols, "column"), as_array(values)
        check_lengths(row_items, col_items, given)
        row_codes, row_known = positions_or_labels(row_items, row_labels, shape, "row")
        col_codes, col_known = positions_or_labels(col_items, col_labels, shape, "col")
        size = (len(row_known or ()), len(col_known or ())) if shape is None else shape
        numbers, *ends = read_cells(
            given, lambda k: f"row {show(row_items[k])}, column {show(col_items[k])}", words
        )
        if ends[0] is not None and (low is not None or high is not None):
            raise DataError("expected limits in the values, or in low= and high=, got both.")
        low, high = (low, high) if ends[0] is None else ends
        return cls(size, row_codes, col_codes, numbers, row_known, col_known, low=low, high=high, se=se)  # type: ignore[arg-type]

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        row_column: Hashable | None = None,
        *,
        se: Any = None,
        words: Words | None = None,
    ) -> Self:
        """Build observations from a frame with one line per row of the matrix and one column per column.

        The row labels are in `row_column`; else in a first column that is named "row" or holds no numbers; else in
        pandas' index. Otherwise positions are the labels, with a warning if the first column holds distinct whole
        numbers, which may be labels. se: standard errors, in a frame with these labels or in an array.
        """
        wide = frames.read_wide(frame, row_column)
        form = wide.form
        labels = form.row_labels or ()
        if wide.guessed and (are_measurements(labels) or (words and all(map(words.has, labels)))):
            warn(
                f"the first column, {form.row_name!r}, is text and was read as row labels, though it looks like "
                "values. A frame of text without labels needs a column of them before its values.",
                stacklevel=2,
            )
        m1, m2 = check_shape((len(wide.columns[0]) if wide.columns else 0, len(wide.columns)))
        axes = _axes((m1, m2), form.row_labels, form.col_labels)
        matrix, ends = np.empty((m1, m2)), None
        for j, column in enumerate(wide.columns):
            matrix[:, j], low, high = read_cells(column, lambda i, j=j: place(axes[0], i, axes[1], j), words)  # type: ignore[misc]
            if low is not None:
                ends = np.full((2, m1, m2), np.nan) if ends is None else ends
                ends[:, :, j] = low, high
        if wide.numbered:
            warn(numbered_rows(0 if form.col_labels is None else form.col_labels[0]), stacklevel=2)
        low, high = (None, None) if ends is None else ends
        names = form.kind, form.row_name, form.col_name
        return cls._from_matrix(axes, matrix, low, high, *names, se=_align(se, form, (m1, m2), row_column))

    @classmethod
    def _wide_or_hint(cls, frame: Any, **options: Any) -> Self:
        try:
            return cls.from_wide(frame, **options)
        except DataError as error:
            if error.code not in ("duplicate_label", "text_value"):
                raise
            if numbered := find_numbered(frame):
                raise DataError(numbered) from None
            hint = "If this is a long frame (one measurement per line), give row=, col= and value= (or low, high)."
            raise DataError(error.message, code=error.code, hint=hint, **error.fields) from None

    @classmethod
    def from_long(
        cls,
        frame: Any,
        row: Hashable | None = None,
        col: Hashable | None = None,
        value: Hashable | None = None,
        row_labels: Iterable[Hashable] | None = None,
        col_labels: Iterable[Hashable] | None = None,
        *,
        se: Hashable | None = None,
        words: Words | None = None,
    ) -> Self:
        """Build observations from a frame with one line per measurement and columns row, col (or column), value.

        Other column names can be given. In a frame of three columns, those with other names are used in order. Labels
        are treated as in `from_triples`. Columns low and high hold limits (empty: open), se (or sem, sd, or the name
        given) standard errors. A warning names columns that are not used.
        """
        long = frames.read_long(frame, row, col, value, se)
        if not long.rows:
            raise DataError(NOTHING)
        row_codes, row_known = code_labels(long.rows, row_labels, "row")
        col_codes, col_known = code_labels(long.cols, col_labels, "column")
        beside, unused = long.beside, [*long.unused]
        if words is not YES_NO and (counts := [name for name in beside if name in frames.COUNTS]):
            if not long.valued and not beside.keys() & {"low", "high"}:
                raise DataError(frames.COUNTED)
            beside, unused = {k: x for k, x in beside.items() if k not in counts}, [*unused, *counts]
        if unused:
            warn(name_unused(unused, "", long.used), stacklevel=4)
        lines, values, low, high, se = read_lines(long.values, beside, long.rows, long.cols, words)
        if lines is not None:
            row_codes, col_codes = row_codes[lines], col_codes[lines]
        shape, names = (len(row_known), len(col_known)), (long.kind, long.row_name, long.col_name)
        ends: dict[str, Any] = {"low": low, "high": high, "se": se}
        return cls(shape, row_codes, col_codes, values, row_known, col_known, *names, **ends)  # type: ignore[arg-type]

    @classmethod
    def _from_matrix(
        cls,
        axes: tuple[Axis, Axis],
        matrix: NDArray[np.float64],
        low: Any,
        high: Any,
        *frame: Any,
        se: Any = None,
    ) -> Self:
        known = ~np.isnan(matrix) if low is None else ~(np.isnan(matrix) & np.isnan(low) & np.isnan(high))
        at = rows, cols = np.nonzero(known)
        errors = None if se is None else floats(se, _place_in(axes))
        if errors is not None and errors.shape != matrix.shape:
            raise DataError(f"expected se= of shape {matrix.shape}, like the values, got {errors.shape}.")
        beside = (None if x is None else x[at] for x in (low, high, errors))
        names: dict[str, Any] = dict(zip(("frame_kind", "row_name", "col_name"), frame, strict=False))
        names |= dict(zip(("low", "high", "se"), beside, strict=True))
        return cls(matrix.shape, rows, cols, matrix[at], axes[0].labels, axes[1].labels, **names)  # type: ignore[arg-type]

    # Properties

    @property
    def n(self) -> int:
        """The number of measurements, including replicates."""
        return self.values.size

    @cached_property
    def row_axis(self) -> Axis:
        """The rows and their labels."""
        return Axis("row", self.shape[0], self.row_labels)

    @cached_property
    def col_axis(self) -> Axis:
        """The columns and their labels."""
        return Axis("column", self.shape[1], self.col_labels)

    @property
    def form(self) -> frames.Form:
        """The form of the input, which results share: arrays, or frames with these labels."""
        return frames.Form(self.frame_kind, self.row_labels, self.col_labels, self.row_name, self.col_name)

    @property
    def is_plain(self) -> bool:
        """Whether all measurements are plain values: no limits and no standard errors."""
        return self.low is None and self.se is None

    # Halves are not cached: a fit holds standardised copies already, and these would double the memory.

    @property
    def by_row(self) -> Half:
        """The measurements row by row."""
        return self.halves(self.values)[0]

    @property
    def by_col(self) -> Half:
        """The measurements column by column."""
        return self.halves(self.values)[1]

    def halves(self, values: NDArray[np.float64]) -> tuple[Half, Half]:
        """Return the measurements by row and by column, with these values in place of the measured ones."""
        order = self._col_order
        by_row = Half(_indptr(self.row_counts), self.cols, values, np.arange(self.n, dtype=np.int32))
        if self.n < LARGE:
            return by_row, Half(_indptr(self.col_counts), self.rows[order], values[order], order)
        from maxentry.kernels.sorting import CountingSort  # compiled code takes long to import

        sort = CountingSort(self.cols, self.shape[1])
        return by_row, Half(_indptr(self.col_counts), sort.arrange(self.rows), sort.arrange(values), order)

    @cached_property
    def _col_order(self) -> NDArray[np.int32]:
        return _sort(self.cols, self.shape[1])

    @cached_property
    def row_counts(self) -> NDArray[np.int64]:
        """Measurements in each row."""
        return np.bincount(self.rows, minlength=self.shape[0])

    @cached_property
    def col_counts(self) -> NDArray[np.int64]:
        """Measurements in each column."""
        return np.bincount(self.cols, minlength=self.shape[1])

    @cached_property
    def observed(self) -> csr_array[Any]:
        """The mask of observed entries, as a sparse array."""
        from scipy.sparse import csr_array

        new = np.ones(self.n, dtype=bool)
        new[1:] = (np.diff(self.rows) != 0) | (np.diff(self.cols) != 0)
        indptr = _indptr(np.bincount(self.rows[new], minlength=self.shape[0]))
        return csr_array((np.ones(int(new.sum()), dtype=bool), self.cols[new], indptr), shape=self.shape)

    @property
    def repeated(self) -> bool:
        """Whether an entry has several plain values, and some differ: copied lines tell nothing of the noise."""
        plain = slice(None) if self.low is None else self.low == self.high
        same = (np.diff(self.rows[plain]) == 0) & (np.diff(self.cols[plain]) == 0)
        return bool((same & (np.diff(self.values[plain]) != 0)).any())

    @property
    def density(self) -> float:
        """The fraction of entries observed at least once."""
        return float(self.observed.nnz) / (self.shape[0] * self.shape[1])

    def row_index(self, labels: Any) -> NDArray[np.int64]:
        """Return the positions of rows by label: a 0-d array for one label, else the shape of the labels."""
        return self.row_axis.index(labels)

    def col_index(self, labels: Any) -> NDArray[np.int64]:
        """Return the positions of columns by label: a 0-d array for one label, else the shape of the labels."""
        return self.col_axis.index(labels)

    def __repr__(self) -> str:
        entries = self.observed.nnz
        again = f", {self.n - entries} of them again" if self.n > entries else ""
        lines = [
            f"Observations: {self.shape[0]} x {self.shape[1]}, {self.n} measurements{again}, "
            f"{100 * self.density:.3g}% of entries observed",
            *(f"  {a.name}s {a.show(0)} ... {a.show(a.size - 1)}" for a in (self.row_axis, self.col_axis)),
            f"  values {self.values.min():.4g} to {self.values.max():.4g}, mean {self.values.mean():.4g}",
        ]
        if self.low is not None:
            lines.append(f"  {count_limits(self.low, self.high)}")
        if self.se is not None:
            given = self.se[self.se > 0]
            few = f" of {given.size} of them" if given.size < self.n else ""
            lines.append(f"  standard errors {given.min():.4g} to {given.max():.4g}{few}")
        return "\n".join(lines)

    def subset(self, keep: ArrayLike) -> Observations:
        """Return the measurements chosen by a mask, or by indices into the row-sorted order; same shape and labels."""
        chosen = as_array(keep)
        if chosen.dtype == bool and chosen.shape != (self.n,):
            raise DataError(f"expected a mask of length {self.n}, got one of shape {chosen.shape}.")
        if chosen.dtype != bool:
            chosen, bad = positions_within(chosen, self.n)
            if bad.any():
                got = show(as_array(keep).ravel()[np.argmax(bad)])
                raise DataError(f"expected measurements from 0 to {self.n - 1} to keep, got {got}.")
        parts = {name: getattr(self, name) for name in ("rows", "cols", "values", "low", "high", "se")}
        return replace(self, **{name: x[chosen] for name, x in parts.items() if x is not None})


def _axes(shape: tuple[int, int], rows: Any, cols: Any) -> tuple[Axis, Axis]:
    return Axis.from_labels("row", shape[0], rows), Axis.from_labels("column", shape[1], cols)


def _place_in(axes: tuple[Axis, Axis]) -> Callable[[int], str]:
    """Return the name of the k-th cell of a matrix for messages."""
    m2 = axes[1].size
    return lambda k: place(axes[0], k // m2, axes[1], k % m2)


def _check_options(options: dict[str, Any], kind: str, *allowed: str) -> None:
    extra = [name for name in options if name not in allowed]
    if extra:
        taken = f"only {', '.join(allowed)}" if allowed else "no option"
        raise DataError(f"expected {taken} with {kind}, got {', '.join(extra)}.")


def find_kind(
    data: Any, kind: Any, levels: Any, value: Any = None, row_column: Any = None
) -> tuple[Any, Any]:
    """Return the kind of data and its levels: those given, else as the types of the data say.

    Booleans are yes and no; categories with an order are the levels of grades. All else is numbers.
    """
    if kind is not None and (not is_choice(kind, ["grades"]) or levels is not None):
        return kind, levels
    in_frame = not isinstance(data, np.ndarray | list | tuple) and frames.is_frame(data)
    if kind is not None:
        return kind, frames.find_levels(data, value, row_column) if in_frame else None
    if in_frame:
        if value is None and row_column is None:
            value = name_long(data, quiet=True).get("value")
        flags = frames.has_flags(data, value, row_column)
    else:
        values = data[2] if isinstance(data, tuple) and len(data) == 3 else data
        flags = isinstance(values, np.ndarray | list | tuple) and not _is_pair(data) and _has_flags(values)
    return ("yes/no" if flags else "numbers"), levels


def _has_flags(values: Any) -> bool:
    cells = as_array(values)
    return cells.size > 0 and cells.dtype.kind in "bO" and frames.are_flags(cells)


def _align(matrix: Any, form: frames.Form, shape: tuple[int, ...], row_column: Hashable | None = None) -> Any:
    """Return the cells of a frame in the order of another one; arrays as they are."""
    if frames.frame_library(matrix) is None:
        return matrix
    rows, cols = (
        tuple(range(m) if labels is None else labels) for m, labels in zip(shape, form[1:3], strict=True)
    )
    return align_matrix(matrix, rows, cols, "frame", row_column)


def _is_pair(data: Any) -> bool:
    """Whether this is a tuple of two matrices or frames; a tuple of two rows is one matrix."""
    two = isinstance(data, tuple) and len(data) == 2
    return two and (all(is_matrix(part) for part in data) or any(frames.is_frame(part) for part in data))


def _row_order(
    rows: NDArray[np.int64], cols: NDArray[np.int64], shape: tuple[int, int], known: NDArray[np.bool_]
) -> NDArray[np.int64] | slice:
    """Return the order of the known measurements by row, then column, then as given."""
    entry = rows * shape[1] + cols
    if known.all() and (entry[1:] >= entry[:-1]).all():
        return slice(None)
    order = np.flatnonzero(known)
    if order.size < LARGE:
        return order[np.argsort(entry[order], kind="stable")]
    order = order[_sort(cols[order], shape[1])]
    return order[_sort(rows[order], shape[0])]


def _sort(keys: NDArray[Any], n_keys: int) -> NDArray[np.int32]:
    """Return the stable order of keys from 0 to n_keys - 1."""
    if keys.size < LARGE:
        return np.argsort(keys, kind="stable").astype(np.int32)
    from maxentry.kernels.sorting import CountingSort

    return CountingSort(keys, n_keys).order


def _indptr(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
