"""Files that commands read: plates, matrices, measurements, labels, costs and masks; `-` is stdin."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from maxentry import frames, tables
from maxentry._io import decode_text
from maxentry.cells import YES_NO, Words, is_empty, parse_flag, parse_measurement, parse_number
from maxentry.cli.options import split_list
from maxentry.cli.output import STD, show_warnings, warn
from maxentry.errors import DataError, LabelError
from maxentry.labels import Axis, label_text
from maxentry.readings import Reading, parse_line
from maxentry.tables import DecimalComma, Format, Table
from maxentry.tables.layout import find_long, is_word, is_yes_no

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.features import FeatureTable

TABLE_ENDINGS = (".csv", *tables.ENDINGS)
NO_NAMES = (
    " Its first line was taken for the names of columns, but has numbers: put a line of names before it."
)
IN_TABLE = "Rows and columns without a value are known where the table names them, also with empty cells."
THREE_NAMES = "expected three names, like ligand,substrate,yield, got {!r}."
LONGEST_HINT = 60  # characters of the names that a hint repeats


def read_table(
    path: str, form: Format | None = None, sheet: str | None = None, *, sheets: bool = False
) -> Table:
    """Read a table from a file or from stdin; sheets: whether --sheet names one of this file."""
    data, source = (sys.stdin.buffer, "standard input") if path == STD else (path, "")
    file, colon, named = path.rpartition(":")
    if colon and not Path(path).exists() and Path(file).is_file():
        other = f", or name the sheet as --sheet {named or 'NAME'}" if sheets else ""
        raise DataError(f"{path} does not exist, but {file} does: leave out what follows it{other}.")
    with show_warnings():
        return tables.read(data, form, source, sheet)


# Measurements: a long table (row, col, value), or a wide one (a matrix with holes)


@dataclass(frozen=True)
class Matrix:
    """All labels of a table in order, and the measurements in it, with rows and columns by label."""

    row_labels: list[str]
    col_labels: list[str]
    rows: list[str] = field(default_factory=list)
    cols: list[str] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    corner: str = "row"  # the name of the column of row labels
    counted: bool = False  # whether lines count successes of trials
    names: tuple[str, ...] = ()  # of the columns with row and column labels, where the user named them
    flags: bool = False  # whether all values are True, False or words for yes and no

    def add(self, row: str, col: str, readings: Iterable[Reading]) -> None:
        """Append measurements of an entry."""
        for reading in readings:
            self.rows.append(row)
            self.cols.append(col)
            self.readings.append(reading)

    @property
    def values(self) -> list[float]:
        """The values; for a limit a number that stands for it."""
        return [reading.statement.value for reading in self.readings]

    @property
    def is_plain(self) -> bool:
        """Whether all measurements are plain values without standard errors."""
        return all(reading.is_plain for reading in self.readings)

    def columns(self) -> dict[str, list[Any]]:
        """The measurements as a table that `Campaign.tell` takes."""
        if self.counted:
            return self._counts()
        columns: dict[str, list[Any]] = {"row": self.rows, "col": self.cols}
        if self.is_plain:
            return columns | {"value": self.values}
        return columns | {
            "value": [str(r.statement) for r in self.readings],
            "se": [r.se for r in self.readings],
        }

    def _counts(self) -> dict[str, list[Any]]:
        """The trials of each entry: how many, and how many of them were a success."""
        entries = [*zip(self.rows, self.cols, strict=True)]
        trials, successes = Counter(entries), Counter[tuple[str, str]]()
        for entry, value in zip(entries, self.values, strict=True):
            successes[entry] += int(value)
        rows, cols = ([entry[side] for entry in trials] for side in (0, 1))
        counts = {"successes": [successes[entry] for entry in trials], "trials": [*trials.values()]}
        return {"row": rows, "col": cols} | counts

    def triples(self) -> dict[str, Any]:
        """The measurements as `Observations.from_triples` takes them."""
        given: dict[str, Any] = {"rows": self.rows, "cols": self.cols, "values": self.values}
        if not self.is_plain:
            low, high, se = ([*column] for column in zip(*self.readings, strict=True))
            given |= {"low": low, "high": high, "se": se}
        return given | {"row_labels": self.row_labels, "col_labels": self.col_labels}

    def refuse_limits(self, reason: str) -> None:
        """Refuse limits and standard errors where they cannot be used."""
        if not self.is_plain:
            k = next(k for k, reading in enumerate(self.readings) if not reading.is_plain)
            where = f"row {self.rows[k]!r}, column {self.cols[k]!r}"
            raise DataError(f"expected plain values, since {reason}, got {self.readings[k]} at {where}.")

    def positions(self) -> tuple[list[int], list[int]]:
        """Rows and columns of the measurements, by position."""
        row_at, col_at = (
            {label: k for k, label in enumerate(side)} for side in (self.row_labels, self.col_labels)
        )
        return [row_at[row] for row in self.rows], [col_at[col] for col in self.cols]


def read_matrix(
    path: str,
    names: str | None = None,
    se: str | None = None,
    words: Words | None = None,
    sheet: str | None = None,
    *,
    sheets: bool = False,
) -> Matrix:
    """Read all labels and measurements of a long or a wide table; sheets: whether --sheet names one of this file."""
    return parse_matrix(read_table(path, sheet=sheet, sheets=sheets), names, se, words)


def take_for_yes_no(path: str | None) -> str:
    """Say that a table of True and False, or of such words, is taken for yes and no; return the kind."""
    warn(f"{path}: its values are taken for yes and no. For 1 and 0 say --kind numbers.")
    return "yes/no"


def parse_matrix(
    table: Table, names: str | None = None, se: str | None = None, words: Words | None = None
) -> Matrix:
    """All labels and measurements of a long or a wide table; a long one may name entries without a value.

    se: the column of standard errors of a long table, where it is not named se, sem or sd.
    words: words that stand for numbers.
    """
    labelled = table.role("row") is not None and table.role("col") is not None
    long = labelled and any(table.role(name) is not None for name in ("value", "low", "high", *frames.COUNTS))
    if names is None and not long and (roles := find_long(table.names, table.columns)):
        found = tuple(table.names[j] for j in roles.values())
        warn(f"{table.source}: read as a long table, one measurement a line: {', '.join(found)}.")
        return _parse_long(table, found, se, words)
    if names is None and not long:
        if se is not None:
            raise DataError(
                f"{table.source}: expected a long table with --se, got a matrix (or pass --names)."
            )
        return _parse_wide(table, words)
    return _parse_long(table, None if names is None else split_names(names), se, words)


def _parse_long(table: Table, names: tuple[str, ...] | None, se: str | None, words: Words | None) -> Matrix:
    """One line per measurement; a line with an empty value only names its labels."""
    at, titles = _long_columns(table, names, se, words)
    rows, cols = ([label_text(label) for label in table.columns[at[side]]] for side in ("row", "col"))
    for side, labels in (("row", table.columns[at["row"]]), ("column", table.columns[at["col"]])):
        if None in labels:
            raise DataError(f"{table.where(labels.index(None))}: expected a {side} label, got an empty cell.")
    named = () if names is None else (titles["row"], titles["col"])
    matrix = Matrix(list(dict.fromkeys(rows)), list(dict.fromkeys(cols)), counted="trials" in at, names=named)
    cells = {role: table.columns[j] for role, j in at.items() if role not in ("row", "col")}
    flags = _are_flags([cells.get("value", [])])
    words = YES_NO if flags and words is None else words
    for k, (row, col) in enumerate(zip(rows, cols, strict=True)):

        def where(role: str, k: int = k) -> str:
            return f"{table.where(k)}, column {titles.get(role, role)}"

        line = {role: column[k] for role, column in cells.items()}
        matrix.add(row, col, parse_line(line, where, table.decimal_comma, words))
    matrix = replace(matrix, flags=flags)
    unused = frames.find_unused(table.names, at.values())
    if unused:
        called = ", ".join(titles.get(role, role) for role in ("row", "col", "value"))
        warn(frames.name_unused(unused, table.source, called))
    return matrix


def _long_columns(
    table: Table, names: tuple[str, ...] | None, se: str | None, words: Words | None
) -> tuple[dict[str, int], dict[str, str]]:
    """The positions of the columns of a long table by role, and their names."""
    at: dict[str, int] = {}
    wanted = dict(zip(("row", "col", "value"), names or ("row", "col", "value"), strict=False))
    if names and words is YES_NO and wanted.get("value", "").lower() in frames.COUNTS:
        del wanted["value"]  # with the other of them it says more than alone
    for role, name in wanted.items():
        place = table.role_place(name) if names is None else table.place(name.lower())
        if place is not None:
            at[role] = place
    at |= frames.find_beside(table.names, at.values(), se)
    if words is not YES_NO:
        if not at.keys() & {"value", "low", "high"} and at.keys() & {*frames.COUNTS}:
            raise DataError(f"{table.source}: {frames.COUNTED}")
        at = {role: place for role, place in at.items() if role not in frames.COUNTS}
    if (names is None or "value" not in wanted) and at.keys() & {"low", "high", *frames.COUNTS}:
        wanted.pop("value", None)
    elif names is not None and len(names) == 2:
        raise DataError(THREE_NAMES.format(",".join(names)))
    if missing := [name for role, name in wanted.items() if role not in at]:
        came = ", ".join(table.names)
        unnamed = NO_NAMES if all(map(_is_numeral, table.names)) else ""
        raise DataError(f"{table.source}: expected a column {missing[0]}, got {came}.{unnamed}")
    return at, {role: table.names[j] for role, j in at.items()}


def split_names(option: str) -> tuple[str, ...]:
    """The columns of a long table, as the option --names gives them: ROW,COL,VALUE; ROW,COL of counted trials."""
    parts = tuple(part.strip() for part in option.split(","))
    if len(parts) not in (2, 3) or not all(parts):
        raise DataError(THREE_NAMES.format(option))
    return parts


def _parse_wide(table: Table, words: Words | None) -> Matrix:
    """Row labels in the first column, one more column for each column of the matrix."""
    if len(table.names) < 2:
        only = f"only the column {table.names[0]!r}"
        hint = " Commas, semicolons or tabs separate the cells of a CSV file."
        hint = f" Choose another sheet: --sheet {table.unread[0]!r}." if table.unread else hint
        raise DataError(
            f"{table.source}: expected row labels and at least one more column, got {only}.{hint}"
        )
    if None in table.columns[0]:
        where = table.where(table.columns[0].index(None))
        raise DataError(f"{where}: expected a row label in the first cell, got an empty cell.")
    row_labels = [label_text(cell) for cell in table.columns[0]]
    col_labels = [label_text(name) for name in table.names[1:]]
    _check_labels("row", row_labels, table)
    _check_labels("column", col_labels, table)
    if all(map(_is_fraction, row_labels)):
        warn(
            f"Taking the first column of {table.source}, {table.names[0]!r}, for row labels, though it looks like "
            "values. A table without labels needs a column of them before its values."
        )
    flags = _are_flags(table.columns[1:])
    words = YES_NO if flags and words is None else words
    matrix = Matrix(row_labels, col_labels, corner=table.names[0] or "row", flags=flags)
    for k, row in enumerate(row_labels):
        for col, cells in zip(col_labels, table.columns[1:], strict=True):
            if cells[k] is not None:
                place = f"{table.where(k)}, column {col}"
                try:
                    statement = parse_measurement(cells[k], place, table.decimal_comma, words)
                except DataError as error:
                    raise DataError(f"{error.message}{_hint_names(table)}") from None
                matrix.add(row, col, [] if statement is None else [Reading(*statement)])
    return matrix


def _are_flags(columns: Iterable[Sequence[Any]]) -> bool:
    """Whether the cells that are not empty are True, False or words for yes and no, and there are some."""
    known = [x for column in columns for x in column if not is_empty(x)]
    return bool(known) and all(map(is_yes_no, known))


def _hint_names(table: Table) -> str:
    """How to read a table as a long one, where its second column is text that labels columns, not measurements."""
    if len(table.names) < 3 or not all(map(is_word, table.columns[1])):
        return ""
    names = ",".join(table.names[:3])
    wanted = names if len(names) < LONGEST_HINT and " " not in names else "ROW,COL,VALUE"
    return f" If this is a long table (one measurement per line), pass --names {wanted}."


def _is_fraction(label: str) -> bool:
    """Whether it is a number that is not whole, which hardly anybody uses as a row's name."""
    try:
        return not float(label.replace(",", ".", 1)).is_integer()
    except ValueError:
        return False


def _check_labels(side: str, labels: list[str], table: Table) -> None:
    listed = ", ".join(table.names)
    columns = f"three of its columns ({listed})" if len(listed) < LONGEST_HINT else "its columns"
    wanted = "ROW,COL,VALUE"
    if {*frames.COUNTS} <= {name.strip().lower() for name in table.names}:
        wanted, columns = "ROW,COL --kind yes/no", columns.replace("three", "two")
    hint = f" If this is a long table (one measurement per line), pass --names {wanted} with {columns}."
    if all(map(_is_numeral, table.names)):
        hint = NO_NAMES
    if "" in labels:
        above = "If there is a title above the names of the columns, delete it."
        raise DataError(f"{table.source}: expected a name for every column, got an empty one. {above}")
    _check_distinct(side, labels, table.source, hint if side == "row" else "")


def _is_numeral(name: str) -> bool:
    return name.strip().lstrip("+-").replace(".", "", 1).replace(",", "", 1).isdigit()


def _check_distinct(side: str, labels: Iterable[str], source: str, hint: str = "") -> None:
    for label, times in Counter(labels).items():
        if times > 1:
            raise DataError(f"{source}: {side} label {label!r} appears twice.{hint}")


# Labels, costs and masks of a campaign


def read_new_labels(words: Sequence[str]) -> list[str]:
    """Labels to add: each word is a file of labels (see `read_labels`) if there is one of this name, else a label."""
    labels: list[str] = []
    for word in words:
        if Path(word).is_file() or Path(word.rpartition(":")[0]).is_file():
            labels += read_labels(word)
        elif Path(word).suffix.lower() in (*TABLE_ENDINGS, ".txt"):
            raise DataError(f"{word} does not exist. If it is a label, say --label {word}.")
        else:
            labels.append(word)
    return labels


def read_labels(path: str) -> list[str]:
    """Read labels: one a line, or (CSV, Excel, Parquet) the first column, or FILE:COLUMN."""
    wanted = None
    if path != STD and not Path(path).exists() and ":" in path:
        path, _, wanted = path.rpartition(":")
    if wanted is None and Path(path).suffix.lower() not in TABLE_ENDINGS:
        content = sys.stdin.buffer.read() if path == STD else tables.read_bytes(path)
        with show_warnings():
            text, _ = decode_text(content, "standard input" if path == STD else path)
        return [line.strip() for line in text.splitlines() if line.strip()]
    table = read_table(path)
    cells = table.columns[0] if wanted is None else table.column(wanted.strip().lower())
    if cells is None:
        raise DataError(f"{path}: expected a column {wanted}, got {', '.join(table.names)}.")
    return [label_text(cell) for cell in cells if cell is not None]


def read_costs(
    paths: Sequence[str], rows: Sequence[Hashable], cols: Sequence[Hashable], *, partial: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Read costs: row,cost or col,cost for a side; a matrix, or row,col,cost, for every entry.

    partial: of costs for every entry, some may be missing (NaN), and those of other labels are left out.
    """
    parts: dict[str, NDArray[np.float64]] = {}
    for path in paths:
        table, axes = read_table(path), _axes(rows, cols)
        sides = [side for side in axes if table.role(side) is not None]
        part = "entry"
        if table.column("cost") is not None and len(sides) == 1:
            part = sides[0]
            axes = {part: axes[part]}
        if part in parts:
            raise DataError(f"expected one file of {part} costs, got another, {path}.")
        lenient = partial and part == "entry"
        parts[part] = _read_grid(table, axes, "cost", parse_number, skip_others=lenient)
        if not lenient:
            _check_complete(part, parts[part], axes)
    return parts


def read_entries(
    path: str, rows: Sequence[Hashable], cols: Sequence[Hashable], known: str = IN_TABLE
) -> tuple[list[Hashable], list[Hashable]]:
    """Read which entries are wanted, by label: the columns row and col, or the first two where only one way fits.

    known: how a label comes to be known, for the error that one is not.
    """
    table, axes = read_table(path), [*_axes(rows, cols).values()]
    sides = [table.role(side) for side in ("row", "col")]
    cells = table.columns[:2] if None in sides else sides
    if len(cells) < 2:
        raise DataError(f"{table.source}: expected the columns row and col, got {', '.join(table.names)}.")
    if None in sides and any(_has_label(axis, name) for axis, name in zip(axes, table.names, strict=False)):
        wanted = "expected a line of names first, got an entry"
        first = ",".join(table.names[:2])
        raise DataError(f"{table.source}: {wanted}: {first}. Put the line row,col before it.")
    if not table.n:
        raise DataError(f"{table.source}: expected entries, got none.")
    found: list[list[Hashable]] = []
    for axis, column in zip(axes, cells, strict=True):
        found.append([])
        for k, cell in enumerate(column or ()):
            try:
                found[-1].append((axis.labels or ())[axis.find(label_text(cell))])
            except LabelError as error:
                raise LabelError(f"{table.where(k)}: {error.message} {known}", **error.fields) from None
    if None in sides and all(
        _has_label(axis, cell) for axis, line in zip(axes, found[::-1], strict=True) for cell in line
    ):
        names = ",".join(table.names[:2])
        raise DataError(
            f"{table.source}: expected the columns row and col, got {names}, which may be either way round. "
            "Write row and col in its first line."
        )
    return found[0], found[1]


def _has_label(axis: Axis, cell: Any) -> bool:
    try:
        axis.find(cell)
    except LabelError:
        return False
    return True


def read_feature_table(path: str) -> Table:
    """Read a file of features; `descriptors.xlsx:Compounds` is a sheet of it."""
    file, sheet = _split_sheet(path)
    return read_table(file, sheet=sheet)


def _split_sheet(path: str) -> tuple[str, str | None]:
    """The file and the sheet that are named; a file with such a name is a file."""
    found = None if Path(path).is_file() else re.fullmatch(r"(.+\.xls[xm]):(.+)", path, re.IGNORECASE)
    return (found[1], found[2]) if found else (path, None)


def read_features(
    path: str, labels: Sequence[Hashable], side: str, categories: Sequence[str] = ()
) -> FeatureTable:
    """Read what is known of rows or columns by label, and say what is missing or left out."""
    from maxentry.features import Features

    table = read_feature_table(path)
    if table.unread and path == _split_sheet(path)[0]:
        others = ", ".join(f"{path}:{name}" for name in table.unread[:5])
        warn(f"{table.source}: the features are those of this sheet; for another write {others}")
    mine = [name for name in categories if name in table.names]
    features = Features.of(table, Axis(side, len(labels), tuple(labels)), mine)
    for note in features.notes:
        warn(f"{table.source}: {note}")
    return features.table


def read_all_features(
    settings: dict[str, Any], rows: Sequence[Hashable], cols: Sequence[Hashable], categories: str | None
) -> None:
    """Put the features in the place of the names of their files, and refuse a category that no file has."""
    words, found = split_list(categories), set[str]()
    for name, labels, side in (("row_features", rows, "row"), ("col_features", cols, "column")):
        if name in settings:
            settings[name] = read_features(settings[name], labels, side, words)
            found.update(settings[name].categories)
    if strange := [word for word in words if word not in found]:
        wanted = "columns of --row-features or --col-features"
        raise typer.BadParameter(f"expected {wanted}, got {strange[0]!r}.", param_hint="--categories")


def read_feature_labels(path: str | None, side: str) -> list[str]:
    """The labels in a file of features, in their order; none without a file."""
    from maxentry.features import read_labels as read_their_labels

    return [] if path is None else [label_text(x) for x in read_their_labels(read_feature_table(path), side)]


def read_mask(path: str, rows: Sequence[Hashable], cols: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Read which entries can be measured: a matrix of 1 and 0, or row,col,available.

    Entries that such a list does not name are available if the list has zeros only, and not available otherwise.
    """
    import numpy as np

    table, axes = read_table(path), _axes(rows, cols)
    grid = _read_grid(table, axes, "available", lambda cell, where, _: parse_flag(cell, where))
    flags = grid[~np.isnan(grid)]
    if _list_columns(table, axes, "available") and flags.size and not flags.any():
        return np.isnan(grid)
    return np.asarray(grid == 1, dtype=np.bool_)


def read_weights(
    path: str, rows: Sequence[Hashable], cols: Sequence[Hashable], goal: str
) -> dict[Hashable, float]:
    """Read how much each column counts in a ranking of rows: col,weight; of columns: row,weight.

    The column of labels may have another name where there is no further one.
    """
    from maxentry.model.goal import Goal

    side, other = ("row", "col") if Goal.parse(goal).averaged == "row" else ("col", "row")
    table, axis = read_table(path), _axes(rows, cols)[side]
    weight = table.place("weight")
    if weight is not None and len(table.names) == 2 and table.role(other) is None:
        table = replace(table, names=["weight" if k == weight else side for k in range(2)])
    if table.role(side) is None or weight is None:
        wanted = f"expected the columns {side} and weight with the goal '{goal}'"
        raise DataError(f"{table.source}: {wanted}, got {', '.join(table.names)}.")
    grid = _read_grid(table, {side: axis}, "weight", parse_number)
    return {label: x for label, x in zip(axis.labels or (), grid.tolist(), strict=True) if not math.isnan(x)}


def _axes(rows: Sequence[Hashable], cols: Sequence[Hashable]) -> dict[str, Axis]:
    """The axes of the matrix, by the names of their columns in a table."""
    return {"row": Axis("row", len(rows), tuple(rows)), "col": Axis("column", len(cols), tuple(cols))}


def _read_grid(
    table: Table, axes: Mapping[str, Axis], name: str, parse: Callable[[Any, str, DecimalComma], float | None], *,
    skip_others: bool = False,
) -> NDArray[np.float64]:  # fmt: skip
    """Numbers in the order of the labels, NaN where there is none.

    The table has one line per number (a column of labels for each axis, and the column `name`), or it is a matrix.
    """
    import numpy as np

    grid = np.full([axis.size for axis in axes.values()], np.nan)
    first = np.full(grid.shape, -1)  # the line of the table that has the number
    for k, column, labels, cell in _list_cells(table, axes, name):
        try:
            place = tuple(axis.find(label) for axis, label in zip(axes.values(), labels, strict=True))
        except LabelError as error:
            if skip_others:
                continue
            raise LabelError(
                f"{table.where(k)}: {error.message}{_hint_list(table, axes, name)}", **error.fields
            ) from None
        value = parse(cell, f"{table.where(k)}, column {column}", table.decimal_comma)
        if value is None:
            continue
        if first[place] >= 0:
            entry = _show_place(axes, place)
            before = f"the first is in {table.where(first[place])}"
            raise DataError(f"{table.where(k)}: expected one {name} for {entry}, got another; {before}.")
        grid[place], first[place] = value, k
    return grid


def _list_cells(
    table: Table, axes: Mapping[str, Axis], name: str
) -> Iterator[tuple[int, str, Sequence[Hashable], Any]]:
    """Each cell, with its line of the table, its column and its labels; a matrix has every label once."""
    if columns := _list_columns(table, axes, name):
        for k, (*labels, cell) in enumerate(zip(*columns, strict=True)):
            yield k, name, labels, cell
        return
    _check_distinct("row", map(label_text, table.columns[0]), table.source)
    _check_distinct("column", table.names[1:], table.source)
    for k, row in enumerate(table.columns[0]):
        for col, cells in zip(table.names[1:], table.columns[1:], strict=True):
            yield k, col, (row, col), cells[k]


def _list_columns(table: Table, axes: Mapping[str, Axis], name: str) -> list[list[Any]] | None:
    """The columns of labels and of cells, if the table has one line per cell; None where it is a matrix."""
    columns = [*map(table.role, axes), table.column(name, "value")]
    present = [column for column in columns if column is not None]
    return present if len(present) == len(columns) else None


def _hint_list(table: Table, axes: Mapping[str, Axis], name: str) -> str:
    """What a list must be called to be read as one, where a table with other names was taken for a matrix."""
    if _list_columns(table, axes, name):
        return ""
    sides = [[side] for side in axes] if name == "cost" else []
    kinds = [*(",".join((*side, name)) for side in sides), ",".join((*axes, name))]
    return f" It was read as a matrix; a list has the columns {' or '.join(kinds)}."


def _check_complete(part: str, costs: NDArray[np.float64], axes: Mapping[str, Axis]) -> None:
    import numpy as np

    for place in np.argwhere(np.isnan(costs))[:1]:
        raise DataError(f"expected a cost for every {part}, got none for {_show_place(axes, place)}.")


def _show_place(axes: Mapping[str, Axis], place: Iterable[int]) -> str:
    """A place by its labels, as error messages name it."""
    return ", ".join(f"{axis.name} {axis.show(k)}" for axis, k in zip(axes.values(), place, strict=True))
