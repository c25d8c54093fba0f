"""Data frames of pandas, polars and others: read as plain columns, written with labels, and returned as they came.

`read_wide` and `read_long` turn a frame into arrays and labels. A `Form` remembers how a matrix came in, and builds
frames of pandas or polars, so that results go out alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry.errors import (
    DataError,
    MaxentryError,
    MissingDependencyError,
    ParameterError,
    SizeError,
    is_choice,
)
from maxentry.wording import ASIDE, is_word, printable, shorten, show

# Cells and labels, as they come from frames, arrays and lists


def is_missing(x: object) -> bool:
    """Whether it is None, NaN, NaT, pandas' NA or NumPy's masked."""
    if x is None or type(x).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    return isinstance(x, (float, np.floating, np.datetime64)) and bool(x != x)


def is_number(x: object) -> bool:
    """Whether it is a real number of any type (Decimal and Fraction too), not text, complex, a date or a class."""
    return hasattr(x, "__float__") and not isinstance(
        x, (type, complex, np.complexfloating, np.datetime64, np.timedelta64, np.ndarray, str, bytes)
    )


def to_float(x: Any) -> float | None:
    """Return a real number as a float, infinite if it is too large; None if it is none.

    Every number that a user gives in a cell, a list or a frame passes here once.
    """
    if not is_number(x):
        return None
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")
    except Exception:  # a signalling NaN, or a class of somebody else's
        return None


def is_sequence(x: object) -> bool:
    """Whether it has items; text has none, and neither has an array without dimensions."""
    plain = isinstance(x, Iterable) and not isinstance(x, (str, bytes)) and getattr(x, "ndim", 1) != 0
    return plain and not hasattr(x, "tocoo")  # iterating over a sparse matrix runs compiled loops


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """A one-dimensional array of objects, also where the objects are sequences."""
    array = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        array[k] = item
    return array


def to_list(items: Iterable[Any]) -> list[Any]:
    """Convert labels or values to a list of Python objects (dates stay dates)."""
    with foreign_code("a sequence", items):
        if isinstance(items, np.ndarray) and items.dtype.kind in "mM":
            return list(items.ravel())
        for method in ("to_list", "tolist"):
            if hasattr(items, method):
                return list(getattr(items, method)())
        return list(items)


@contextmanager
def foreign_code(expected: str, given: object) -> Iterator[None]:
    """Turn errors of other libraries and of a user's own classes, while they are read, into one refusal."""
    try:
        yield
    except MaxentryError:
        raise
    except MemoryError:
        raise SizeError(f"expected {expected} that fits in memory, got {show(given)}.") from None
    except Exception as error:
        reason = f"{type(error).__name__}: {printable(str(error))}"
        raise DataError(f"expected {expected}, got {show(given)} ({shorten(reason, 120)}).") from None


# Reading

UNNAMED = ("", "Unnamed: 0")  # names that pandas' to_csv gives to an index without a name
LONG_NAMES = {"row": ("row",), "col": ("col", "column"), "value": ("value",)}
# Columns of a long table beside these: limits, the standard error, how many of how many trials were a success
ENDS = {"low": ("low", "lower"), "high": ("high", "upper")}
END_NAMES = {name for names in ENDS.values() for name in names}
BESIDE = ENDS | {"successes": ("successes",), "trials": ("trials",), "se": ("se", "sem", "sd")}
COUNTS = ("successes", "trials")
COUNTED = "expected a column of values, got successes and trials, which need kind='yes/no' (--kind yes/no)."
PREDICTED = ("mean", "gain")  # a plate has an sd beside these: that of a prediction
OWN = {*PREDICTED, "told_at", "asked_at"} | {
    *("id", "well", "number", "who", "corrected", "sd", "cost", "status", "reason")
}
OWN_BY_ID = {*PREDICTED, "told_at", "asked_at"}  # one of them beside an id: maxentry wrote the table


def find_beside(
    names: Sequence[Hashable],
    taken: Mapping[str, int | None],
    se: Hashable | None,
    cells: Callable[[int], Any],
) -> dict[str, int]:
    """Find the columns of a long table that say more of a value than the value: positions by role (see `BESIDE`).

    taken: columns with another role; se: the name of that of standard errors, where it is not a usual one; cells: of a
    column. Beside values, or other numbers, lower and upper are likely a confidence interval, and have no role.
    """
    used = {*taken.values()}
    free = {_plain_name(name): j for j, name in reversed([*enumerate(names)]) if j not in used}
    roles = {*OWN, *UNNAMED, *COUNTS, "failed", "expires_at", _plain_name(se)}
    unknown = [j for x, j in free.items() if not (x in roles or ASIDE.fullmatch(str(x)))]
    ends = {"lower", "upper"} & free.keys()
    if ends and (taken.get("value") is not None or any(hold_numbers(cells(j)) for j in unknown)):
        free = {name: j for name, j in free.items() if name not in ("lower", "upper")}
    found = {}
    for role, choices in BESIDE.items():
        usual = next((name for name in choices if name in free), None)
        if usual == "sd" and any(name in free for name in PREDICTED):
            usual = None
        if usual is not None:
            found[role] = free[usual]
    if se is not None:
        if _plain_name(se) not in free:
            got = f"{', '.join(map(show, names))}. One standard error for all is a column or matrix that repeats it."
            raise DataError(f"expected a column {show(se)} of standard errors beside the others, got {got}")
        found["se"] = free[_plain_name(se)]
    return found


def hold_numbers(cells: Iterable[Any]) -> bool:
    """Whether more of the cells are numbers than words; not where all are missing."""
    known = [x for x in cells if not is_missing(x)]
    return 2 * sum(map(is_word, known)) < len(known)


def find_unused(names: Sequence[Hashable], taken: Iterable[int | None]) -> list[Hashable]:
    """Find columns of a long table that have no role, except those that maxentry itself writes beside an id."""
    plain, used = [_plain_name(name) for name in names], {*taken}
    ours = {*OWN, "expires_at"} if "id" in plain and OWN_BY_ID & {*plain} else set()
    return [
        names[j] for j, name in enumerate(plain) if j not in used and name not in ours and name not in UNNAMED
    ]


def _plain_name(name: Hashable) -> Hashable:
    return name.strip().lower() if isinstance(name, str) else name


class Wide(NamedTuple):
    """A wide frame: its form, and one array per column of the matrix."""

    form: Form
    columns: list[NDArray[Any]]
    numbered: bool  # the first column, read as values, looks like the numbers of rows
    guessed: bool = False  # the first column was read as labels because it holds no numbers


class Long(NamedTuple):
    """A long frame: one line per measurement."""

    kind: str | None
    rows: list[Hashable]
    cols: list[Hashable]
    values: NDArray[Any]
    row_name: Hashable = None
    col_name: Hashable = None
    beside: Mapping[str, list[Any]] = {}  # cells by role
    unused: Sequence[Hashable] = ()
    valued: bool = True  # whether there is a column of values
    used: str = ""  # what row, column and value are called


class FrameTable(NamedTuple):
    """A frame of any library: its names, access to a column, and pandas' index where there is one."""

    kind: str | None
    names: list[Hashable]
    column: Callable[[int], Any]  # a pandas or a narwhals series
    index: Any
    across: Hashable = None  # the name of pandas' columns
    counted: bool = False  # the columns are pandas' default ones, 0, 1, ...

    @property
    def has_labels(self) -> bool:
        """Whether the index labels the rows, and does not only count them."""
        return self.index is not None and (self.index.dtype.kind not in "iu" or self.index.name is not None)

    def position(self, name: Hashable) -> int:
        """The position of the one column of this name."""
        places = [j for j, known in enumerate(self.names) if known == name]
        if len(places) != 1:
            names = ", ".join(map(show, self.names))
            got = f"{len(places)} of them" if places else f"the names {names}"
            raise DataError(f"expected one frame column named {show(name)}, got {got}.")
        return places[0]


def is_frame(data: object) -> bool:
    """Whether narwhals can read `data` as a data frame."""
    if type(data).__module__ in ("builtins", "numpy"):  # to import narwhals takes longer than to tell a value
        return False
    from narwhals import dependencies

    return dependencies.is_into_dataframe(data) or dependencies.is_polars_lazyframe(data)


def frame_library(*things: object) -> Literal["pandas", "polars"] | None:
    """The library of the first of these that is a frame, a series or an index; None if none is."""
    if not {"pandas", "polars"} & sys.modules.keys():  # a frame cannot come before its library
        return None
    from narwhals import dependencies as nwd

    for thing in things:
        if nwd.is_pandas_dataframe(thing) or nwd.is_pandas_series(thing) or nwd.is_pandas_index(thing):
            return "pandas"
        if nwd.is_polars_dataframe(thing) or nwd.is_polars_lazyframe(thing) or nwd.is_polars_series(thing):
            return "polars"
    return None


def is_long(data: Any) -> bool:
    """Whether the frame's columns are recognisably named row, col (or column) and value (or low, high, trials)."""
    with foreign_code("a frame", data):
        names = set(open_frame(_index_as_columns(data, {})).names)
    named = {role: any(name in names for name in choices) for role, choices in LONG_NAMES.items()}
    return named["row"] and named["col"] and (named["value"] or bool(names & {*END_NAMES, *COUNTS}))


def read_wide(frame: Any, row_column: Hashable | None = None) -> Wide:
    """One line per row of the matrix, one column per column.

    The row labels are the column `row_column`; else a first column that is named "row" or holds no numbers
    (where the frame has no labelled index of its own); else pandas' index; else positions.
    """
    with foreign_code("a frame", frame):
        return _read_wide(open_frame(frame), row_column)


def _read_wide(table: FrameTable, row_column: Hashable | None) -> Wide:
    if not table.names:
        raise DataError("expected a frame with columns, got an empty frame.")
    label_at = _label_column(table) if row_column is None else table.position(row_column)
    values = [j for j in range(len(table.names)) if j != label_at]
    row_labels = index_labels(table.index) if label_at is None else table.column(label_at).to_list()
    col_labels = None if label_at is None and table.counted else [table.names[j] for j in values]
    row_name = getattr(table.index, "name", None) if label_at is None else table.names[label_at]
    row_name = None if row_name in UNNAMED else row_name
    columns = [to_cells(table.column(j)) for j in values]
    numbered = row_labels is None and _looks_numbered(table.column(0), columns)
    guessed = row_column is None and label_at == 0 and table.names[0] not in ("row", *UNNAMED)
    return Wide(Form(table.kind, row_labels, col_labels, row_name, table.across), columns, numbered, guessed)


def read_long(
    frame: Any, row: Hashable | None, col: Hashable | None, value: Hashable | None, se: Hashable | None = None
) -> Long:
    """One line per measurement; a role not named is found by its usual name, else by its order among 3."""
    given = {"row": row, "col": col, "value": value}
    with foreign_code("a frame", frame):
        return _read_long(open_frame(_index_as_columns(frame, given)), given, se)


def _read_long(table: FrameTable, given: Mapping[str, Hashable | None], se: Hashable | None) -> Long:
    at = {role: _find(table, role, name) for role, name in given.items()}
    read = partial(find_beside, table.names, se=se, cells=lambda j: to_cells(table.column(j)))
    beside = read(at)
    left = [j for j in range(len(table.names)) if j not in (*at.values(), *beside.values())]
    for role in (role for role, place in at.items() if place is None):
        if role == "value" and (beside := read(at)).keys() & {"low", "high", *COUNTS}:
            continue
        if len(table.names) != 3 or not left:
            wanted = " or ".join(map(repr, LONG_NAMES[role]))
            got = ", ".join(map(show, table.names)) or "no column"
            raise DataError(
                f"expected a long frame with a column {wanted} (or its name in {role}=), got {got}."
            )
        at[role] = left.pop(0)
    rows, cols = (table.column(place).to_list() for place in (at["row"], at["col"]) if place is not None)
    values = object_array([None] * len(rows)) if at["value"] is None else to_cells(table.column(at["value"]))
    names = [table.names[place] for place in (at["row"], at["col"]) if place is not None]
    unused = find_unused(table.names, (*at.values(), *beside.values()))
    cells = {role: list(to_cells(table.column(place))) for role, place in beside.items()}
    counts, valued = [beside[name] for name in COUNTS if name in beside], at["value"]
    used = ", ".join(str(table.names[j]) for j in (*at.values(), *counts) if j is not None)
    return Long(table.kind, rows, cols, values, names[0], names[1], cells, unused, valued is not None, used)


def has_flags(frame: Any, value: Hashable | None = None, row_column: Hashable | None = None) -> bool:
    """Whether the values of a frame are booleans, except those that are missing."""
    with foreign_code("a frame", frame):
        columns = _value_columns(frame, value, row_column)
        return bool(columns) and all(are_flags(_raw(column)) for column in columns)


def find_levels(
    frame: Any, value: Hashable | None = None, row_column: Hashable | None = None
) -> tuple[Any, ...] | None:
    """Find the categories that all values of a frame share, where these have an order; None if there are none."""
    with foreign_code("a frame", frame):
        found = {_levels(column) for column in _value_columns(frame, value, row_column)}
    return found.pop() if len(found) == 1 else None


def _value_columns(frame: Any, value: Hashable | None, row_column: Hashable | None) -> list[Any]:
    """The columns of a long or a wide frame that hold values."""
    if value is not None or (row_column is None and is_long(frame)):
        table = open_frame(_index_as_columns(frame, {"value": value}))
        place = _find(table, "value", value)
        return [] if place is None else [table.column(place)]
    table = open_frame(frame)
    label_at = _label_column(table) if row_column is None else table.position(row_column)
    return [table.column(j) for j in range(len(table.names)) if j != label_at]


def are_flags(cells: NDArray[Any]) -> bool:
    """Whether all of these are True or False, except those that are missing."""
    if cells.dtype != object:
        return cells.dtype == bool or (cells.dtype.kind == "f" and bool(np.isnan(cells).all()))
    return all(isinstance(x, bool | np.bool_) or is_missing(x) for x in cells.flat)


def _raw(series: Any) -> NDArray[Any]:
    """The column as an array, booleans as they are."""
    import narwhals as nw

    if not (isinstance(series.dtype, np.dtype) and series.dtype == bool):
        column = nw.from_native(series, series_only=True)
        if column.dtype != nw.Boolean:
            return to_cells(series)
        return object_array(column.to_list())
    return np.asarray(series)


def _levels(series: Any) -> tuple[Any, ...] | None:
    """The categories of a column in their order; None where they have none."""
    return categories(series)[1] if getattr(series.dtype, "ordered", True) else None


def categories(series: Any) -> tuple[bool, tuple[Any, ...] | None]:
    """Whether a column is of a categorical type, and its categories, where the type lists them."""
    import narwhals as nw

    if hasattr(series.dtype, "categories") and hasattr(series.dtype, "ordered"):  # of pandas
        return True, tuple(series.dtype.categories)
    column = nw.from_native(series, series_only=True)
    if column.dtype == nw.Enum:
        return True, tuple(nw.to_native(column).dtype.categories)
    return column.dtype == nw.Categorical, None


def open_frame(frame: Any) -> FrameTable:
    """The names of a frame of any library, and access to its columns."""
    import narwhals as nw

    frame = nw.to_native(frame, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(frame):
        # Read pandas by position: narwhals refuses repeated names, and we have a clearer sentence for those.
        counted = index_labels(frame.columns) is None
        across = frame.columns.name
        return FrameTable(
            "pandas", list(frame.columns), lambda j: frame.iloc[:, j], frame.index, across, counted
        )
    table = nw.from_native(frame)
    eager = table.collect() if isinstance(table, nw.LazyFrame) else table
    kind = "polars" if eager.implementation.is_polars() else None
    names: list[Hashable] = list(eager.columns)
    return FrameTable(kind, names, lambda j: eager.get_column(str(names[j])), None)


def to_cells(series: Any) -> NDArray[Any]:
    """The column as floats with NaN for null, or, where its type is not numeric, as objects."""
    import narwhals as nw

    # pandas on NumPy needs no narwhals, which takes its time where a frame has very many columns.
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiub":
        return np.asarray(series, dtype=np.float64)
    column = nw.from_native(series, series_only=True)
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return object_array(column.to_list())


def _label_column(table: FrameTable) -> int | None:
    if len(table.names) < 2 or table.has_labels:
        return None
    if table.names[0] in ("row", *UNNAMED):
        return 0
    first = to_cells(table.column(0))
    known = [x for x in first if not is_missing(x)] if first.dtype == object else []
    return 0 if known and not any(is_number(x) for x in known) else None


def _looks_numbered(first: Any, columns: list[NDArray[Any]]) -> bool:
    """Whether the first column has distinct whole numbers and no hole, and another has a hole or a fraction."""
    import narwhals as nw

    if not nw.from_native(first, series_only=True).dtype.is_integer():
        return False
    numbers = columns[0]
    if np.isnan(numbers).any() or np.unique(numbers).size < numbers.size:
        return False
    return any(column.dtype != object and bool((column != np.floor(column)).any()) for column in columns[1:])


def index_labels(index: Any) -> list[Hashable] | None:
    """The labels of pandas' index; None where it only counts."""
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return None
    labels: list[Hashable] = index.tolist()
    return labels


def _index_as_columns(frame: Any, given: Mapping[str, Hashable | None]) -> Any:
    """The frame, its index as columns where that carries a role (a MultiIndex named row, col, say)."""
    names = getattr(getattr(frame, "index", None), "names", ())
    named = [name for name in given.values() if name is not None]
    wanted = {*named, *(name for choices in LONG_NAMES.values() for name in choices)}
    carried = any(name in wanted and name not in frame.columns for name in names if name is not None)
    return frame.reset_index() if carried else frame


def _find(table: FrameTable, role: str, name: Hashable | None) -> int | None:
    if name is not None:
        return table.position(name)
    usual = next((n for n in LONG_NAMES[role] if n in table.names), None)
    return None if usual is None else table.position(usual)


# Writing: native frames from plain columns


def make_frame(columns: Mapping[str, ArrayLike], kind: str | None) -> Any:
    """A native frame with these columns; with None, of whichever library is installed."""
    library = _library(kind)
    if library.__name__ == "pandas":
        return library.DataFrame(dict(columns))
    return library.DataFrame([_polars_column(library, name, column) for name, column in columns.items()])


def frame_like(frame: Any, values: NDArray[Any]) -> Any:
    """The values as a frame with the labels of this one; unchanged if it is not of pandas or polars."""
    kind = frame_library(frame)
    if kind is None:
        return values
    if kind == "polars":
        return _library(kind).DataFrame(values, schema=frame.columns)
    return _library(kind).DataFrame(values, index=frame.index, columns=frame.columns)


def _library(kind: str | None) -> Any:
    """Import pandas or polars; with None, the first of them that is installed."""
    from importlib import import_module

    if kind is not None and not is_choice(kind, ("pandas", "polars")):
        raise ParameterError(f"expected a frame of kind 'pandas' or 'polars', got {show(kind)}.")
    for name in ("pandas", "polars") if kind is None else (kind,):
        try:
            return import_module(name)
        except ImportError:
            continue
    wanted = kind or "pandas or polars"
    raise MissingDependencyError(f"a frame needs {wanted}, which is not installed: pip install it.")


def _pandas_index(pandas: Any, labels: Sequence[Any], name: Hashable = None) -> Any:
    return pandas.Index(list(labels), tupleize_cols=False, name=name)


def _polars_names(labels: Sequence[Any] | None, m: int) -> list[str]:
    names = [str(label) for label in (range(m) if labels is None else labels)]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(
            f"expected column labels that differ as text for a polars frame, got {show(twice)} twice. "
            "Use a long frame instead."
        )
    return names


def _polars_column(polars: Any, name: str, values: Any) -> Any:
    try:
        return polars.Series(name, values)
    except TypeError:  # polars has no column of mixed types; the labels still read as text
        return polars.Series(name, [str(x) for x in values])


def _take_labels(library: Any, labels: Sequence[Any], positions: NDArray[np.integer[Any]]) -> Any:
    if library.__name__ == "pandas":
        return _pandas_index(library, labels).take(positions)
    return _polars_column(library, "", list(labels)).gather(positions)


def _free_name(taken: Iterable[str], wanted: Hashable = None) -> str:
    name, names = "row" if wanted is None else str(wanted), set(taken)
    while name in names:
        name += "_"
    return name


# The form of a matrix: results come back as arrays for an array, as labelled frames for a frame


class Form(NamedTuple):
    """The kind of frame a matrix came in (None: an array), its labels, and what it calls rows and columns.

    Labels are None where there are only positions.
    """

    kind: str | None = None
    row_labels: Sequence[Any] | None = None
    col_labels: Sequence[Any] | None = None
    row_name: Hashable = None
    col_name: Hashable = None

    @classmethod
    def read(cls, frame: Any) -> tuple[Form, NDArray[Any]]:
        """The form of a wide frame, and its cells."""
        wide = read_wide(frame)
        return wide.form, np.column_stack(wide.columns)

    def wrap(self, matrix: NDArray[Any]) -> Any:
        """The matrix in this form."""
        return matrix if self.kind is None else self.frame(matrix)

    def frame(self, matrix: ArrayLike) -> Any:
        """The matrix as a frame, also where none came in (then of whichever library is installed).

        Its labels are pandas' index and columns, or polars' first column ("row") and names. Rows known by position have
        pandas' default index, and no column of their own in polars.
        """
        library, array = _library(self.kind), np.asarray(matrix)
        if library.__name__ == "polars":
            names = _polars_names(self.col_labels, array.shape[1])
            rows = {} if self.row_labels is None else {_free_name(names, self.row_name): self.row_labels}
            return make_frame(rows | dict(zip(names, array.T, strict=True)), "polars")
        sides = zip(array.shape, self[1:3], self[3:5], strict=True)
        index, columns = (
            library.RangeIndex(m, name=name) if labels is None else _pandas_index(library, labels, name)
            for m, labels, name in sides
        )
        return library.DataFrame(array, index=index, columns=columns, copy=True)

    def stack(self, matrices: NDArray[Any], name: str = "draw", names: Sequence[Any] | None = None) -> Any:
        """Several matrices, (n, m1, m2): as they are, or below each other in a frame.

        Its index is (draw, row) in pandas; its first columns are draw and row in polars.
        names: those of the matrices, where they are not numbered; name: what these are.
        """
        if self.kind is None:
            return matrices
        library, (n, m1, m2) = _library(self.kind), matrices.shape
        labels: Sequence[Any] = range(m1) if self.row_labels is None else self.row_labels
        frame = self._replace(row_labels=None, row_name=None).frame(matrices.reshape(n * m1, m2))
        if self.kind == "pandas":
            outer = library.RangeIndex(n) if names is None else _pandas_index(library, names)
            sides = [outer, _pandas_index(library, labels)]
            titles = [name, "row" if self.row_name is None else self.row_name]
            return frame.set_axis(library.MultiIndex.from_product(sides, names=titles), axis="index")
        rows = _polars_column(library, _free_name(frame.columns, self.row_name), list(labels) * n)
        title = _free_name([*frame.columns, rows.name], name)
        first = library.Series(title, [x for x in (names or range(n)) for _ in range(m1)])
        return frame.insert_column(0, first).insert_column(1, rows)

    def entries(self, rows: NDArray[Any], cols: NDArray[Any], measures: Mapping[str, ArrayLike]) -> Any:
        """A long frame, one line an entry by position: its labels as "row" and "col", then the measures."""
        library = _library(self.kind)
        columns: dict[str, Any] = {
            name: positions if labels is None else _take_labels(library, labels, positions)
            for name, labels, positions in (("row", self.row_labels, rows), ("col", self.col_labels, cols))
        }
        return make_frame(columns | dict(measures), library.__name__)


def parse_flags(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Convert the cells of a mask in a frame to booleans; 1 and 0 are True and False."""
    odd = ~((cells == 0) | (cells == 1))
    if odd.any():
        raise ParameterError(f"expected a mask of True and False, got {cells[odd][0]}.")
    return cells.astype(bool)
