"""Files that commands read beside measurements: labels, costs, masks, weights, features; `-` is stdin."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from maxentry import tables
from maxentry._io import decode_text
from maxentry.cells import parse_flag, parse_number
from maxentry.cli.matrices import check_distinct, read_table
from maxentry.cli.options import split_list
from maxentry.cli.output import STD, show_warnings, warn
from maxentry.errors import DataError, LabelError
from maxentry.labels import Axis, label_text
from maxentry.tables import DecimalComma, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.features import FeatureTable

TABLE_ENDINGS = (".csv", *tables.ENDINGS)
IN_TABLE = "Rows and columns without a value are known where the table names them, also with empty cells."


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
        table = _name_side(table, axes)
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


def _name_side(table: Table, axes: dict[str, Axis]) -> Table:
    """Name the labels of a list of costs row or col, where they have another name and only one of these fits."""
    cost = table.place("cost")
    if cost is None or len(table.names) != 2 or any(table.role(side) is not None for side in axes):
        return table
    labels = table.columns[1 - cost]
    fits = [side for side, axis in axes.items() if all(_has_label(axis, label) for label in labels)]
    return (
        replace(table, names=["cost" if k == cost else fits[0] for k in range(2)])
        if len(fits) == 1
        else table
    )


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
    return read_table(file, sheet=sheet, quiet=True)


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


def is_observed(path: str | None) -> bool:
    """Whether which entries were observed is meant, and not a file of that name."""
    return path == "observed" and not Path(path).is_file()


def read_all_features(
    settings: dict[str, Any], rows: Sequence[Hashable], cols: Sequence[Hashable], categories: str | None
) -> None:
    """Put the features in the place of the names of their files, and refuse a category that no file has."""
    words, found = split_list(categories), set[str]()
    for name, labels, side in (("row_features", rows, "row"), ("col_features", cols, "column")):
        if name in settings and not is_observed(settings[name]):
            settings[name] = read_features(settings[name], labels, side, words)
            found.update(settings[name].categories)
    if strange := [word for word in words if word not in found]:
        wanted = "columns of --row-features or --col-features"
        raise typer.BadParameter(f"expected {wanted}, got {strange[0]!r}.", param_hint="--categories")


def read_feature_labels(path: str | None, side: str) -> list[str]:
    """The labels in a file of features, in their order; none without a file."""
    from maxentry.features import read_labels as read_their_labels

    if path is None or is_observed(path):
        return []
    return [label_text(x) for x in read_their_labels(read_feature_table(path), side)]


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
    check_distinct("row", map(label_text, table.columns[0]), table.source)
    check_distinct("column", table.names[1:], table.source)
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
