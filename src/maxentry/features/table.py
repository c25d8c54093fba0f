"""Features as they are given: read from frames, tables, arrays and sparse matrices, in the order of labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxentry import frames, tables
from maxentry._io import pack, unpack
from maxentry._types import Array, Indices
from maxentry.cells import ABSENT, is_empty, lower_text, parse_number
from maxentry.errors import DataError, LabelError, is_whole
from maxentry.labels import Axis, as_array, check_labels, floats, is_sparse, label_text, show, sparse_triples
from maxentry.tables import DecimalComma
from maxentry.wording import as_text, count, shorten

MOST_LEVELS = 1_000  # of a category
MOST_COLUMNS = 5_000_000  # of sparse features
SPARSE_PARTS = ("indptr", "indices", "data")
FLAGS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """What is known of each row (or column), as it was given: numbers, and categories by the position of their level.

    cells: m x q, NaN where nothing is known; or a CSR matrix of numbers.
    levels: those of each column, None where it holds numbers.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    cells: Any

    @property
    def is_sparse(self) -> bool:
        """Whether the cells are a sparse matrix."""
        return is_sparse(self.cells)

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the columns that are categories."""
        return tuple(name for name, own in zip(self.names, self.levels, strict=True) if own is not None)

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a name that is none of these columns."""
        strange = next((name for name in names if name not in self.names), None)
        if strange is not None:
            listed = shorten(", ".join(map(show, self.names)), 120)
            raise DataError(f"expected features among {listed}, got {show(strange)}.")

    def describe(self) -> str:
        """The names in a few words."""
        some = ", ".join(shorten(name, 40) for name in self.names[:5])
        return f"{count(len(self.names), 'feature')}: {some}{', …' if len(self.names) > 5 else ''}"

    def __len__(self) -> int:
        return int(self.cells.shape[0])

    def take(self, places: Sequence[int] | Indices) -> FeatureTable:
        """The lines at these places; nothing is known of a line at -1."""
        at = np.asarray(places, dtype=np.int64)
        known = at >= 0
        if self.is_sparse:
            from scipy import sparse

            blank = sparse.csr_array((1, self.cells.shape[1]))
            return replace(self, cells=sparse.vstack([self.cells, blank], format="csr")[at])
        cells = np.full((at.size, len(self.names)), np.nan)
        cells[known] = self.cells[at[known]]
        return replace(self, cells=cells)

    def append(self, other: FeatureTable) -> FeatureTable:
        """These lines and others below them, in these columns; new levels come after those that are known."""
        if self.is_sparse or other.is_sparse:
            from scipy import sparse

            same = self.is_sparse and other.is_sparse and self.cells.shape[1] == other.cells.shape[1]
            if not same:
                wanted = f"{'sparse' if self.is_sparse else 'dense'} features in {len(self.names)} columns"
                raise DataError(f"expected {wanted}, got others in {len(other.names)}.")
            return replace(self, cells=sparse.vstack([self.cells, other.cells], format="csr"))
        levels = tuple(
            None if own is None else tuple(dict.fromkeys([*own, *(other.levels_of(name) or ())]))
            for name, own in zip(self.names, self.levels, strict=True)
        )
        grown = replace(self, levels=levels)
        return replace(grown, cells=np.vstack([self.cells, other.match(grown).cells]))

    def levels_of(self, name: str) -> tuple[str, ...] | None:
        """The levels of a feature; None of numbers, or if it is not there."""
        return self.levels[self.names.index(name)] if name in self.names else None

    def match(self, known: FeatureTable) -> FeatureTable:
        """These lines in the columns of another table: NaN where there is none, `inf` for a level that it lacks."""
        cells = np.full((len(self), len(known.names)), np.nan)
        at = {name: j for j, name in enumerate(self.names)}
        for k, (name, levels) in enumerate(zip(known.names, known.levels, strict=True)):
            if name not in at:
                continue
            own, column = self.levels[at[name]], self.cells[:, at[name]]
            if levels is None and own is not None:
                raise DataError(f"expected numbers of the feature {show(name)}, got {show(own[0])}.")
            if levels is not None:
                texts = [_level_text(x) if own is None else own[int(x)] for x in column[~np.isnan(column)]]
                codes = {level: float(code) for code, level in enumerate(levels)}
                column = column.copy()
                column[~np.isnan(column)] = [codes.get(text, np.inf) for text in texts]
            cells[:, k] = column
        return replace(known, cells=cells)

    def new_levels(self, known: FeatureTable) -> list[str]:
        """Notes on the levels of categories that a known table has not."""
        pairs = [(name, self.levels_of(name) or (), known.levels_of(name)) for name in known.categories]
        new = [(name, [level for level in own if level not in (old or ())]) for name, own, old in pairs]
        return [f"{show(name)} has new levels: {_list_some(levels)}" for name, levels in new if levels]

    @property
    def n_stored(self) -> int:
        """How many numbers there are; of a sparse matrix, those that are stored."""
        return int(self.cells.nnz if self.is_sparse else self.cells.size)

    def to_json(self) -> dict[str, Any]:
        """As JSON data, from which `from_json` gives an equal table."""
        if self.is_sparse:
            parts = {
                name: pack(np.asarray(getattr(self.cells, name), dtype=np.float64)) for name in SPARSE_PARTS
            }
            return {"width": self.cells.shape[1], **parts}
        levels = [None if own is None else list(own) for own in self.levels]
        return {"names": list(self.names), "levels": levels, "cells": pack(self.cells)}

    def to_plain(self, labels: Sequence[Hashable]) -> dict[str, Any]:
        """As JSON data that `read_features` reads, with the labels of the lines."""
        if self.is_sparse:
            return {"width": self.cells.shape[1]} | {
                name: getattr(self.cells, name).tolist() for name in SPARSE_PARTS
            }
        columns = {
            name: [None if x != x else x if own is None else own[int(x)] for x in cells]
            for name, own, cells in zip(self.names, self.levels, self.cells.T.tolist(), strict=True)
        }
        texts = list(map(label_text, labels))
        return {"labels": texts, "columns": columns, "categories": list(self.categories)}

    @cached_property
    def digest(self) -> str:
        """A hash of everything in the table."""
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> FeatureTable:
        """Read JSON data that `to_json` wrote."""
        if "indptr" in given:
            return _read_parts({**given, **{name: unpack(given[name]) for name in SPARSE_PARTS}})
        levels = tuple(None if own is None else tuple(own) for own in given["levels"])
        return cls(tuple(given["names"]), levels, unpack(given["cells"]))


# Reading


class Column(NamedTuple):
    """A column as it was given; a category has levels where its type lists them."""

    name: str
    cells: Any
    is_category: bool = False
    levels: tuple[Any, ...] | None = None


class _Given(NamedTuple):
    """Columns of any source, the labels of their lines (None: only positions), and how a cell is read and named."""

    labels: Sequence[Hashable] | None
    columns: list[Column]
    lines: int
    decimal_comma: DecimalComma = "never"
    where: Callable[[int], str] = lambda k: f"line {k + 1}"


def read_features(
    given: Any, axis: Axis, categories: Iterable[str] = (), known: FeatureTable | None = None
) -> tuple[FeatureTable, tuple[str, ...]]:
    """Read features in the order of an axis, and notes for the one who gave them.

    given: a frame by label (or in order), a table of CSV or Excel, a mapping of columns or {row: {feature: value}}, a
    2-d array or a matrix of scipy.sparse in the order of the axis. In JSON: {"columns": {name: cells}, "labels": [...],
    "categories": [...]}, or a sparse matrix by rows, {"indptr": [...], "indices": [...], "data": [...], "width": p}.
    categories: columns of text that are categories. known: the only columns there may be, of the same kinds.
    """
    if isinstance(given, FeatureTable):
        return check_lines(given, axis), ()
    if is_sparse(given):
        return check_lines(read_sparse(given), axis), ()
    if isinstance(given, Mapping) and "indptr" in given:
        return check_lines(_read_parts(given), axis), ()
    labels = None
    if isinstance(given, Mapping) and isinstance(given.get("columns"), Mapping):
        labels, categories = given.get("labels"), given.get("categories") or ()
        given = given["columns"]
    named = _read_names(categories)
    source = _open(given, axis) if labels is None else _label(tables.read(given), labels, axis)
    plain = not frames.is_frame(given) and not isinstance(given, Mapping | tables.Table)
    if known is not None and plain and len(source.columns) == len(known.names):  # in the order of those known
        if known.is_sparse:
            return check_lines(read_sparse(_to_sparse(given)), axis), ()
        pairs = zip(known.names, source.columns, strict=True)
        source = source._replace(columns=[column._replace(name=name) for name, column in pairs])
    names = [column.name for column in source.columns]
    if known is not None and not known.is_sparse:
        known.check_names(names)
        named += tuple(name for name in known.categories if name in names)
    _check_names(names, named)
    table = _read_columns(source, named)
    return (check_lines(table, axis), ()) if source.labels is None else _align(table, source.labels, axis)


def read_new(
    new: Any, known: FeatureTable, labels: Sequence[Hashable] = (), counted: bool = False
) -> tuple[FeatureTable, tuple[str, ...], tuple[str, ...]]:
    """Read lines in the columns of a known table: those of the same names; an array has all of them in their order.

    labels: of the lines that are wanted, in their order; lines that have none, or are only counted, are as they stand.
    counted: whether the labels themselves only count; then lines are as they stand unless all of these are found.
    Returned with notes on lines that are not found, and on features that are not known.
    """
    source = _open(new, Axis("row", 0, None))
    if not frames.is_frame(new) and not isinstance(new, Mapping | tables.Table):
        if len(source.columns) != len(known.names):
            raise DataError(f"expected {len(known.names)} features, got {len(source.columns)}.")
        named = zip(known.names, source.columns, strict=True)
        source = source._replace(columns=[column._replace(name=name) for name, column in named])
    wanted = {*map(label_text, labels)}
    first = source.columns[0] if source.columns and not counted else None
    if first is not None and wanted and first.name not in known.names:  # an index may be left over
        texts = {*map(label_text, first.cells)}
        if source.labels is None:
            apart = wanted <= texts and len(texts) == len(first.cells)
        else:
            apart = _are_labels(first.cells, source.labels, wanted, False)
        source = _take_labels(source, 0) if apart else source
    common = [column for column in source.columns if column.name in known.names]
    if not common:
        listed = shorten(", ".join(map(show, known.names)), 150)
        raise DataError(f"expected some of the features {listed}, got none of them.")
    other = [column.name for column in source.columns if column.name not in known.names]
    some = shorten(", ".join(map(show, other)), 150)
    others = (
        (f"{count(len(other), 'feature')} that the fit does not have, left out: {some}",) if other else ()
    )
    table = _read_columns(source._replace(columns=common), known.categories)
    own = source.labels or ()
    at = [k for k, label in enumerate(own) if label_text(label) in wanted]
    if not at or (counted and len(at) < len(labels)):
        positions = [label_text(label) for label in own] == [str(k) for k in range(len(own))]
        if own and labels and not (counted or positions):
            listed = shorten(", ".join(map(show, own)), 150)
            raise LabelError(
                f"expected features of {show(labels[0])} and other new rows, got those of {listed}."
            )
        return table, (), others
    return *_align(table.take(at), [own[k] for k in at], Axis("row", len(labels), tuple(labels))), others


def read_labels(given: Any, axis: str) -> tuple[Hashable, ...]:
    """The labels in a table or a frame of features, in their order."""
    source = _open(given, Axis(axis, 0, ()), own=True)
    if source.labels is None:
        raise DataError(f"expected features with a column of {axis} labels, got none.")
    return check_labels(source.labels, axis)


def check_lines(table: FeatureTable, axis: Axis) -> FeatureTable:
    """Return a table of as many lines as the axis has; refuse others."""
    if len(table) != axis.size:
        raise DataError(
            f"expected features of {count(axis.size, axis.name)} in their order, got {len(table)}.",
            hint="With labels (a frame's index, or a column of labels) any order and number will do.",
        )
    if not table.names:
        raise DataError("expected at least one feature, got none.")
    return table


def _read_names(given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(frames.to_list(given))
    if not all(isinstance(name, str) for name in names):
        raise DataError(f"expected categories as names of features, got {show(given)}.")
    return names


def _label(table: tables.Table, labels: Any, axis: Axis) -> _Given:
    """The columns of a table whose labels are given beside it."""
    known = check_labels(labels, axis.name)
    if len(known) != table.n:
        raise DataError(f"expected a label for each of {count(table.n, 'line')}, got {len(known)}.")
    columns = [Column(name, cells) for name, cells in zip(table.names, table.columns, strict=True)]
    return _Given(known, columns, table.n)


def _check_names(names: Sequence[str], categories: Sequence[str]) -> None:
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise DataError(f"expected features of different names, got {show(twice)} twice.")
    strange = next((name for name in categories if name not in names), None)
    if strange is not None:
        listed = shorten(", ".join(map(show, names)), 150)
        raise DataError(f"expected categories among the features {listed}, got {show(strange)}.")


def _align(
    table: FeatureTable, labels: Sequence[Hashable], axis: Axis
) -> tuple[FeatureTable, tuple[str, ...]]:
    """The lines in the order of the axis; rows without features know nothing, features of unknown rows are left out."""
    known = {text: i for i, text in enumerate(map(label_text, _labels_of(axis)))}
    texts = list(map(label_text, check_labels(labels, axis.name)))
    places = np.full(axis.size, -1)
    strange = [k for k, text in enumerate(texts) if text not in known]
    for k, text in enumerate(texts):
        if text in known:
            places[known[text]] = k
    counts_from_one = axis.labels is None and str(axis.size) in texts and "0" not in texts
    if len(strange) == len(texts) and not counts_from_one:
        got = show(labels[0]) if len(texts) else "none"
        example = axis.show(0) if axis.size else "none"
        raise DataError(
            f"expected features by {axis.name} label ({example}, ...), got {got}, ... and none of these.",
            hint="The labels are a frame's index, a column named row or col, or else the first column.",
        )
    if counts_from_one:  # each would be its neighbour's
        raise DataError(
            f"expected features of {axis.name}s 0 to {axis.size - 1}, which have no labels, got those of "
            f"{show(labels[0])} to {show(labels[-1])}.",
            hint="Give the features in order, as an array or with an index from 0, or a table with labels.",
        )
    notes, without = [], np.flatnonzero(places < 0)
    if strange:
        some = ", ".join(show(labels[k]) for k in strange[:3]) + (", ..." if len(strange) > 3 else "")
        notes.append(f"features of {count(len(strange), f'unknown {axis.name}')} are left out: {some}")
    if without.size:
        some = ", ".join(axis.show(i) for i in without[:3]) + (", ..." if without.size > 3 else "")
        notes.append(f"{count(int(without.size), axis.name)} without features: {some}")
    return table.take(places), tuple(notes)


def _list_some(labels: Sequence[Hashable]) -> str:
    return ", ".join(map(show, labels[:3])) + (", ..." if len(labels) > 3 else "")


def _labels_of(axis: Axis) -> Sequence[Hashable]:
    return range(axis.size) if axis.labels is None else axis.labels


def _open(given: Any, axis: Axis, *, own: bool = False) -> _Given:
    """The columns of a source, and its labels; own: the first column has the labels, known or not."""
    if isinstance(given, tables.Table):
        columns = [Column(name, cells) for name, cells in zip(given.names, given.columns, strict=True)]
        source = _Given(None, columns, given.n, given.decimal_comma, given.where)
        return _split_labels(source, axis, own=own or bool(given.source))
    if frames.is_frame(given):
        return _open_frame(given, axis, own)
    if isinstance(given, Mapping):
        lines = list(given.values())
        if lines and all(isinstance(line, Mapping) for line in lines):  # {row: {feature: value}}
            names = list(dict.fromkeys(name for line in lines for name in line))
            cells = [frames.object_array([line.get(name) for line in lines]) for name in names]
            columns = [Column(as_text(name), column) for name, column in zip(names, cells, strict=True)]
            return _Given(list(given), columns, len(lines))
        return _open(tables.read(given), axis, own=own)
    array = as_array(given)
    if array.ndim != 2:
        raise DataError(
            f"expected features as a frame, a 2-d array or a sparse matrix, got {array.ndim} dimensions "
            f"({type(given).__name__})."
        )
    columns = [Column(str(j), array[:, j]) for j in range(array.shape[1])]
    return _Given(None, columns, array.shape[0])


def _open_frame(given: Any, axis: Axis, own: bool) -> _Given:
    with frames.foreign_code("a frame of features", given):
        opened = frames.open_frame(given)
        series = [opened.column(j) for j in range(len(opened.names))]
        kinds = [frames.categories(column) for column in series]
        cells = [frames.to_cells(column) for column in series]
        labels = frames.index_labels(opened.index)
    columns = [
        Column(as_text(name), cell, *kind)
        for name, cell, kind in zip(opened.names, cells, kinds, strict=True)
    ]
    lines = len(cells[0]) if cells else len(labels or ())
    source = _Given(labels, columns, lines)
    if labels is None:
        return _split_labels(source, axis, own=own)
    left_over = _find_left_over(opened.index, columns, axis)
    return source if left_over is None else _take_labels(source, left_over)


def _find_left_over(index: Any, columns: Sequence[Column], axis: Axis) -> int | None:
    """The column of labels, where an index that once counted the lines is left over from sorting or choosing some.

    Such an index has whole numbers and no name. The labels are in a column called row or col, or in the first one.
    """
    if index.name is not None or not all(is_whole(label, 0) for label in index):
        return None
    named = [j for j, column in enumerate(columns) if column.name.strip().lower() in _usual_names(axis)]
    at = named[0] if named else 0
    known = {*map(label_text, _labels_of(axis))}
    if not columns or not (known or named):
        return None
    return at if _are_labels(columns[at].cells, index, known, bool(named)) else None


def _are_labels(cells: Sequence[Any], index: Sequence[Any], known: set[str], named: bool) -> bool:
    """Whether the cells of a column, rather than an index, are the labels: they differ, and more of them are known.

    Where all of both are known, they are if the index counts in the same steps, as for lines 0, 1, … with ids 1, 2, …
    """
    texts, counts = list(map(label_text, cells)), list(map(label_text, index))
    if len({*texts}) < len(texts):
        return False
    ours, theirs = len(known.intersection(texts)), len(known.intersection(counts))
    if named:
        return ours >= theirs
    if ours == theirs == len(texts) and _are_whole([*cells, *index]):
        steps = {x - y for x, y in zip(cells, index, strict=True)}
        return len(steps) == 1 and 0 not in steps
    return ours > theirs and 2 * ours >= len(texts)


def _are_whole(cells: Sequence[Any]) -> bool:
    return all(is_whole(x) or (isinstance(x, float) and x.is_integer()) for x in cells)


def find_labels(given: Any) -> Sequence[Hashable] | None:
    """The labels of the lines of a frame of new rows, whose labels are not known before."""
    return _open_frame(given, Axis("row", 0, ()), False).labels


def _usual_names(axis: Axis) -> tuple[str, ...]:
    """Names of a column of labels."""
    return ("row", "row_label") if axis.name == "row" else ("col", "column", "col_label")


def _split_labels(source: _Given, axis: Axis, *, own: bool) -> _Given:
    """The column of labels apart: the one named row or col, else the first where it holds labels of the axis."""
    named = [
        j for j, column in enumerate(source.columns) if column.name.strip().lower() in _usual_names(axis)
    ]
    first = source.columns[0] if source.columns else None
    at = named[0] if named else None
    if at is None and first is not None and (own or _is_label(first, axis, len(source.columns) == 1)):
        at = 0
    return source if at is None else _take_labels(source, at)


def _take_labels(source: _Given, at: int) -> _Given:
    cells = (x.item() if isinstance(x, np.generic) else x for x in source.columns[at].cells)
    labels = [int(x) if isinstance(x, float) and x.is_integer() else x for x in cells]
    rest = [column for j, column in enumerate(source.columns) if j != at]
    return source._replace(labels=labels, columns=rest)


def _is_label(column: Column, axis: Axis, alone: bool) -> bool:
    """Whether at least half of the cells, or of the axis, are labels of the axis; or the cells are distinct text."""
    if column.name in frames.UNNAMED:
        return True
    if axis.labels is None or alone:
        return False
    texts = [label_text(x) for x in column.cells if not frames.is_missing(x)]
    known = {*map(label_text, axis.labels)}
    found = len(known.intersection(texts))
    distinct_text = len({*texts}) == len(texts) > 0 and all(isinstance(x, str) for x in column.cells)
    return 2 * found >= min(len(known), max(len(texts), 1)) or (distinct_text and not column.is_category)


def _read_columns(source: _Given, categories: Sequence[str]) -> FeatureTable:
    read = [_read_column(column, source, column.name in categories) for column in source.columns]
    if not read:
        raise DataError("expected at least one feature, got none.")
    cells = np.column_stack([cells for cells, _ in read])
    return FeatureTable(tuple(column.name for column in source.columns), tuple(own for _, own in read), cells)


def _read_column(column: Column, source: _Given, declared: bool) -> tuple[Array, tuple[str, ...] | None]:
    """The cells of a column as numbers, and its levels where it is a category."""

    def where(k: int) -> str:
        return f"feature {show(column.name)}, {source.where(k)}"

    cells = column.cells
    if declared or column.is_category:
        return _read_category(column)
    array = as_array(cells) if isinstance(cells, np.ndarray) else None
    if array is not None and array.dtype != object:
        numbers = floats(array, where)
    else:
        numbers = np.array([_read_cell(x, column.name, source, k) for k, x in enumerate(cells)], dtype=float)
    wrong = np.flatnonzero(np.isinf(numbers))
    if wrong.size:
        raise DataError(f"{where(int(wrong[0]))}: expected a finite number, got {numbers[wrong[0]]}.")
    return numbers, None


def _read_cell(cell: Any, name: str, source: _Given, k: int) -> float:
    text = lower_text(cell) if isinstance(cell, str) else ""
    if is_empty(cell) or text in ABSENT:
        return float("nan")
    if text in FLAGS:
        return FLAGS[text]
    quoted = shorten(show(name), 40)
    place = f"feature {quoted}, {source.where(k)}"
    try:
        number = parse_number(cell, place, source.decimal_comma)
    except DataError as error:
        if not isinstance(cell, str) or not any(c.isalpha() for c in cell):  # 1,5 with a comma, a date
            raise
        raise DataError(
            f"{place}: expected a number, got the text {shorten(show(cell), 40)}.",
            code="text_feature",
            hint=f"If {quoted} is a category, give it as one (frame.astype({{{quoted}: 'category'}}), in JSON "
            f"categories: [{quoted}]); else leave it out.",
            feature=name,
        ) from error
    return float("nan") if number is None else number


def _level_text(x: Any) -> str:
    return label_text(x.item() if isinstance(x, np.generic) else x)


def _read_category(column: Column) -> tuple[Array, tuple[str, ...]]:
    """Positions of levels: those that the type lists, else those that occur, in order."""
    # "none" may be a level: no additive
    absent = [frames.is_missing(x) or lower_text(x) in ("", "nan", "na", "n/a", "null") for x in column.cells]
    texts = [None if gone else _level_text(x) for gone, x in zip(absent, column.cells, strict=True)]
    listed = {text: None for text in texts if text is not None}
    levels = sorted(listed) if column.levels is None else [_level_text(x) for x in column.levels]
    levels = list(dict.fromkeys(levels))
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f"expected at most {MOST_LEVELS} levels of the category {show(column.name)}, got {len(levels)}.",
            hint="Leave it out, or give features as a sparse matrix.",
        )
    codes = {level: float(code) for code, level in enumerate(levels)}
    return np.array([np.nan if text is None else codes[text] for text in texts], dtype=float), tuple(levels)


def read_sparse(given: Any) -> FeatureTable:
    """Read a matrix of scipy.sparse: what is stored are finite numbers, what is not is 0."""
    from scipy import sparse

    if given.ndim != 2 or given.shape[1] > MOST_COLUMNS:
        got = f"shape {show(given.shape)}"
        raise DataError(f"expected a sparse matrix of at most {MOST_COLUMNS:,} features, got {got}.")
    rows, cols, values = sparse_triples(given)
    numbers = floats(values, lambda k: f"row {rows[k]}, column {cols[k]} of the features")
    if not np.isfinite(numbers).all():
        k = int(np.argmin(np.isfinite(numbers)))
        raise DataError(
            f"expected finite numbers in sparse features, got {numbers[k]} at row {rows[k]}, column {cols[k]}.",
            hint="What is not stored is 0; give dense features where some are missing.",
        )
    matrix = sparse.coo_array((numbers, (rows, cols)), shape=given.shape).tocsr()  # sums duplicates
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return _sparse_table(matrix)


def _to_sparse(given: Any) -> Any:
    from scipy import sparse

    cells = as_array(given)
    return sparse.csr_array(
        floats(cells.ravel(), lambda k: f"number {k + 1} of the features").reshape(cells.shape)
    )


def _read_parts(parts: Mapping[str, Any]) -> FeatureTable:
    """A sparse table from the parts of a matrix by rows, checked; without data, what is stored is 1."""
    from scipy import sparse

    with frames.foreign_code("indptr, indices, data and width of a sparse matrix", parts):
        indptr, indices = (np.asarray(parts[name], dtype=np.int64) for name in ("indptr", "indices"))
        data = parts.get("data")
        numbers = np.ones(indices.size) if data is None else np.asarray(data, dtype=np.float64)
        shape = (indptr.size - 1, int(parts["width"]))
        return read_sparse(sparse.csr_array((numbers, indices, indptr), shape=shape))


def _sparse_table(matrix: Any) -> FeatureTable:
    p = matrix.shape[1]
    return FeatureTable(tuple(map(str, range(p))), (None,) * p, matrix)
