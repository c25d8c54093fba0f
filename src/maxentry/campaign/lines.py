"""Told values read into lines, from ids, from entries or from a table; they are checked against the state later."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn

from maxentry import cells, frames, tables
from maxentry.campaign.ledger.former import NO_FORMER
from maxentry.cells import Words
from maxentry.errors import DataError
from maxentry.frames import is_sequence, to_list
from maxentry.labels import label_columns, label_text
from maxentry.readings import Reading, parse_line
from maxentry.tables import DecimalComma, Table
from maxentry.tables.doubts import warn_of_copies
from maxentry.tables.layout import (
    MOST_COLUMNS,
    are_times,
    are_words,
    find_long,
    is_aside,
    is_yes_no,
    refuse_line_numbers,
)
from maxentry.wording import REMARKS, as_text, is_word, name_unused, show

if TYPE_CHECKING:
    from maxentry.campaign.state import State


class Line(NamedTuple):
    """One line of a report: an entry, by id or by labels, and its value, a failure, or neither (still awaited)."""

    id: int | None
    row: Any
    col: Any
    value: float | None  # for a limit or a range a number that stands for it
    failed: bool = False
    reason: str = ""
    where: str = ""
    reading: Reading | None = None  # ends and standard error of what is more than a plain value
    counts: tuple[int, int] | None = None  # successes and trials, where the line counts them

    @property
    def content(self) -> dict[str, Any]:
        """What the line says, wherever it came from; the same for the same line in all versions."""
        said, later = self._asdict() | {"where": ""}, {"reading": self.reading, "counts": self.counts}
        plain = {name: x for name, x in said.items() if name not in later}
        return plain | {name: list(x) for name, x in later.items() if x is not None}

    @property
    def n(self) -> int:
        """How many measurements the line tells of: one for each trial."""
        return 1 if self.counts is None else self.counts[1]


class Known(NamedTuple):
    """What a campaign knows of its rows and columns: their labels, and what they are called."""

    rows: Sequence[Hashable] = ()
    cols: Sequence[Hashable] = ()
    row_name: str | None = None
    col_name: str | None = None
    value_name: str | None = None
    words: Words | None = None  # that stand for values


def known_of(state: State) -> Known:
    """Return what a campaign knows of its rows and columns, with their former labels."""
    settings = state.settings
    nouns = settings.row_name, settings.col_name, settings.value_name
    former = (
        tuple(x for x, now in known.items() if now is not None)
        for known in (state.former.rows, state.former.cols)
    )
    rows, cols = (labels + more for labels, more in zip((settings.rows, settings.cols), former, strict=True))
    return Known(rows, cols, *nouns, settings.words)


def use_new_labels(lines: Sequence[Line], state: State) -> tuple[Sequence[Line], list[str]]:
    """Return the lines with the labels that renamed rows and columns have now, and notes that say so."""
    if state.former == NO_FORMER:
        return lines, []
    notes = []
    for side, axis, former in (
        ("row", state.row_axis, state.former.rows),
        ("col", state.col_axis, state.former.cols),
    ):
        now = {x: label for x, label in former.items() if label is not None and not axis.has_text(x)}
        reused = {x for x, label in former.items() if label is None and axis.has_text(x)}
        labels = [getattr(line, side) for line in lines] if now or reused else []
        texts = ["" if label is None else label_text(label) for label in labels]
        alone = [
            x for x, line in zip(texts, lines, strict=False) if line.id is None
        ]  # no texts: nothing to find
        if used := {x: now[x] for x in texts if x in now}:
            lines = [
                line._replace(**{side: used[x]}) if x in used else line
                for line, x in zip(lines, texts, strict=True)
            ]
            notes.append(_name_renamed(axis.name, used))
        if doubtful := [x for x in dict.fromkeys(alone) if x in reused]:
            notes.append(_name_reused(axis.name, doubtful))
    return lines, notes


def _name_renamed(side: str, used: Mapping[str, Any]) -> str:
    shown = [f"{show(text)} is read as {show(now)}" for text, now in used.items()]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return f"{side.capitalize()}s were renamed: {', '.join(shown[:MOST_NAMED])}{more}."


def _name_reused(side: str, doubtful: Sequence[str]) -> str:
    shown = ", ".join(map(show, doubtful[:MOST_NAMED]))
    more = f" and {len(doubtful) - MOST_NAMED} more" if len(doubtful) > MOST_NAMED else ""
    return (
        f"Another {side} was called {shown}{more} before. Values are of the {side} that is called so now: "
        f"check a list that is older than the renaming."
    )


COLUMNS = ("id", "row", "col", "value", "failed", "status", "reason")
ONE_VALUE = "Call the column of values value (in the shell --names ROW,COL,VALUE names it)."
MOST_NAMED = 3  # of renamed rows
LONGEST_LABEL = 40  # characters of a label in the place of an error
LONG = "A long table has the columns id (or row and col) and value."


def read_lines(
    ids: Any = None,
    values: Any = None,
    *,
    row: Any = None,
    col: Any = None,
    value: Any = None,
    low: Any = None,
    high: Any = None,
    se: Any = None,
    words: Words | None = None,
    flags: bool = False,
    known: Known | None = None,
) -> list[Line]:
    """Read the lines of a report: ids with values, rows and columns with values, or a table.

    low, high, se: ends and standard errors of the values; of a table, se may be the name of a column.
    words: that stand for numbers in the values (`Settings.words`); flags: take True and False for 1 and 0.
    known: of rows and columns, by which a table is known for a list or a matrix.
    """
    beside = {name: x for name, x in (("low", low), ("high", high), ("se", se)) if x is not None}
    if tables.is_table(ids):
        _refuse_beside("a table", values=values, row=row, col=col, value=value, low=low, high=high)
        return lines_from_table(ids, se, words, flags, known)
    if ids is not None:
        _refuse_beside("ids", row=row, col=col, value=value)
        return _lines_from_columns(beside, words, id=ids, value=values)
    _refuse_beside("row, col and value", values=values)
    return _lines_from_columns(beside, words, row=row, col=col, value=value)


def _refuse_beside(form: str, **given: Any) -> None:
    if extra := [name for name, x in given.items() if x is not None]:
        raise DataError(f"expected {form} alone, got {extra[0]} too.")


def _lines_from_columns(beside: dict[str, Any], words: Words | None, **given: Any) -> list[Line]:
    """Read lines from one entry (its id, or row and col labels) and its value, or from as many entries as values."""
    if given["value"] is None and beside.keys() & {"low", "high"}:
        del given["value"]
    if missing := [name for name, column in given.items() if column is None]:
        raise DataError(f"expected {', '.join(given)} together, got no {missing[0]}.")
    given |= beside
    if not is_sequence(next(given[name] for name in ("value", "low", "high") if name in given)):
        return lines_from_table({name: [x] for name, x in given.items()}, words=words)
    if single := [name for name, x in given.items() if not is_sequence(x)]:
        got = show(given[single[0]])
        raise DataError(f"expected several {single[0]}s with several values, got one: {got}.")
    columns = {name: to_list(x) for name, x in given.items()}
    if len({len(column) for column in columns.values()}) > 1:
        got = " and ".join(f"{len(column)} of {name}" for name, column in columns.items())
        raise DataError(f"expected as many values as entries, got {got}.")
    return lines_from_table(columns, words=words)


def _find_columns(table: Table, se: str | None, words: Words | None) -> dict[str, int]:
    """Return the positions of the columns that are read, by role; counts of trials are of yes and no only."""
    places = {name: place for name in COLUMNS if (place := table.role_place(name)) is not None}
    beside = frames.find_beside(table.names, places, se, table.columns.__getitem__)
    counts = () if words is not cells.YES_NO else ("successes", "trials")
    return places | {name: beside[name] for name in ("low", "high", "se", *counts) if name in beside}


def find_unused(table: Table, se: str | None = None, words: Words | None = None) -> list[Any]:
    """Return the names of the columns that `read_lines` does not read, of a table that `name_roles` returned."""
    used = _find_columns(table, se, words).values()
    return [] if _is_wide(table) else frames.find_unused(table.names, used)


def name_roles(table: Table, known: Known | None = None, se: str | None = None) -> Table:
    """Return a long table with its roles as names, and say how it was read; any other as it is.

    known: of rows and columns; a table with columns of their names is a list. se: its column of standard errors.
    """
    known = known or Known()
    rows, cols = ({*map(label_text, side)} for side in (known.rows, known.cols))
    if not cols.isdisjoint(name.strip() for name in table.names[1:]):
        return table  # a column is one of the matrix, or the first line has no names
    found = find_nouns(table, known, se)
    if not found and _is_wide(table, counts=True):
        found = find_long(table.names, table.columns) or _find_labels(table, rows, cols)
        found = found or _find_numbers(table, rows, cols)
    if not found:
        return table
    roles = {j: role for role, j in found.items()}
    called = {"row": "row", "col": "column", "value": "value"}
    said = ", ".join(f"{called[role]} = {show(table.names[j])}" for role, j in found.items())
    note = f"{table.source or 'The table'}: read as a list: {said}."
    warn(note, stacklevel=5)
    names = [roles.get(j, name) for j, name in enumerate(table.names)]
    return replace(table, names=names, notes=(*table.notes, note))


def find_nouns(table: Table, known: Known, se: str | None = None) -> dict[str, int]:
    """Return the positions of row, col and value where columns are named as the campaign calls its rows and columns.

    se: the column of standard errors. Values are in the column of the name they have in the campaign; else in the one
    column of numbers or words for yes and no, with words of those of the campaign. Where two may be meant, one of them
    still empty perhaps, the table is refused.
    """
    names = [_plain(name) for name in table.names]
    nouns = [_plain(noun or "") for noun in (known.row_name, known.col_name)]
    if "" in nouns or nouns[0] == nouns[1] or any(names.count(noun) != 1 for noun in nouns):
        return {}
    if any(table.role_place(role) is not None for role in ("id", "row", "col")):
        return {}
    at = dict(zip(("row", "col"), map(names.index, nouns), strict=True))
    others = {j: name for j, name in enumerate(names) if j not in at.values() and table.names[j] != se}
    called = [*others.values()]
    if not {"value", "values"}.isdisjoint(called):
        return at
    own = _plain(known.value_name or "")
    if own and called.count(own) == 1:
        return at | {"value": names.index(own)}
    beside = {"failed", "status", "reason", *frames.END_NAMES, *frames.COUNTS}  # values, or without any
    known_cells = {j: [x for x in table.columns[j] if not frames.is_missing(x)] for j in others}
    free = {
        j: x for j, x in known_cells.items() if others[j] not in beside and not is_aside(table.names[j], x)
    }
    values = [j for j, x in free.items() if x and known.words and all(map(_is_one_of(known.words), x))]
    if not values:
        values = [j for j, x in free.items() if _may_be_values(x) and (x or not REMARKS.fullmatch(others[j]))]
    if len(values) == 1:
        return at | {"value": values[0]}
    if not values and not beside.isdisjoint(called):
        return at
    if not values or find_long(table.names, table.columns):
        return {}
    got = ", ".join(table.names[j] for j in values)
    sides = f"{show(table.names[at['row']])} and {show(table.names[at['col']])}"
    where = f"{table.source}: " if table.source else ""
    raise DataError(f"{where}expected one column of values beside {sides}, got {got}.", hint=ONE_VALUE)


def _plain(name: str) -> str:
    """A name in lower case, on one line."""
    return " ".join(name.split()).lower()


def _is_one_of(words: Words) -> Callable[[Any], bool]:
    return lambda cell: words.has(cell) or cells.is_failure(cell)


def _may_be_values(known: Sequence[Any]) -> bool:
    """Whether cells that are not missing may be values, or failures; so may those of an empty column."""
    plain = [x for x in known if not cells.is_failure(x)]
    return not plain or not (are_words(plain) or are_times(plain)) or all(map(is_yes_no, plain))


def _find_numbers(table: Table, rows: set[str], cols: set[str]) -> dict[str, int]:
    """Return the positions of row, col and value of a short list of numbered rows and columns, all of them known.

    No label need come twice then. Nothing where rows and columns share numbers.
    """
    if len(table.columns) < 3 or not rows.isdisjoint(cols):
        return {}
    found = find_long(table.names, table.columns, repeats=False)
    labels = [(table.columns[found[role]], side) for role, side in (("row", rows), ("col", cols)) if found]
    fits = all(not are_words(x) and {*map(label_text, x)} <= side for x, side in labels)
    return found if fits else {}


def _find_labels(table: Table, rows: set[str], cols: set[str]) -> dict[str, int]:
    """Return the positions of row, col and value where one column holds known rows, one known columns, one numbers.

    Nothing where that could be said of other columns, too: labels that rows share with columns, or that are numbers.
    """
    if not rows.isdisjoint(cols):
        return {}
    texts = {j: {*map(label_text, x)} for j, x in enumerate(table.columns[:MOST_COLUMNS]) if are_words(x)}
    at = [j for side in (rows, cols) for j, x in texts.items() if x <= side]
    values = [j for j, x in enumerate(table.columns) if j not in at and not all(map(is_word, x))]
    fits = len(at) == 2 and texts[at[0]] <= rows and texts[at[1]] <= cols and len(values) == 1
    return dict(zip(("row", "col", "value"), (*at, *values), strict=True)) if fits else {}


def lines_from_table(
    data: Any,
    se: str | None = None,
    words: Words | None = None,
    flags: bool = False,
    known: Known | None = None,
) -> list[Line]:
    """Read lines from a frame, a CSV or Parquet file, or a mapping of columns.

    Columns: id, or row and col, or both; value; and optionally low, high, se (or the column named by `se`), failed,
    status and reason; of yes and no successes and trials in place of value. A table with none of these is a wide one.
    """
    read = tables.read(data)
    if read.unread and not isinstance(data, Table):
        warn(read.notes[-1], stacklevel=4)
    table = name_roles(read, known, se)
    if se is None and _is_wide(table):
        refuse_line_numbers(table, words)
        own = label_columns(data) if not isinstance(data, Mapping) and frames.is_frame(data) else None
        return _lines_from_wide(replace(table, names=own[0], columns=own[1]) if own else table, words, flags)
    places = _find_columns(table, se, words)
    columns = {name: table.columns[place] for name, place in places.items()}
    told = {"value", "low", "high", "trials"}
    if {"lower", "upper"}.isdisjoint(
        map(_plain, table.names)
    ):  # of a confidence interval the value must be known
        told |= {"failed", "status"}
    if not columns.keys() & told or not ("id" in columns or columns.keys() >= {"row", "col"}):
        names = ", ".join(table.names) or "none"
        raise DataError(f"expected columns id (or row and col) and value (or low, high), got {names}.")
    if unused := find_unused(table, se, words):
        warn(name_unused(unused, table.source), stacklevel=4)
    # In what a campaign begins with all lines count.
    if flags and words is None and not isinstance(data, Mapping):
        warn_of_copies(table, [place for name, place in places.items() if name in ("row", "col", "value")])
    cells_of = ({name: x[k] for name, x in columns.items()} for k in range(table.n))
    return _read_all(table, enumerate(cells_of), words, flags)


def _is_wide(table: Table, counts: bool = False) -> bool:
    """Whether a table has row labels and one column for each column of the matrix: it has no column with a role."""
    roles = {*COLUMNS, *(() if counts else frames.BESIDE)}.union(*tables.ALIASES.values()) - {"se"}
    names = [name.strip().lower() for name in table.names]
    return len(names) > 1 and table.n > 0 and roles.isdisjoint(names if names[0] != "row" else names[1:])


def _lines_from_wide(table: Table, words: Words | None, flags: bool) -> list[Line]:
    """Read one line for each cell that is not empty."""
    filled = (
        (k, {"row": table.columns[0][k], "col": name, "value": column[k]})
        for k in range(table.n)
        for name, column in zip(table.names[1:], table.columns[1:], strict=True)
        if not cells.is_empty(column[k]) or (words and words.has(column[k]))
    )
    return _read_all(table, filled, words, flags, hint=LONG)


def _read_all(
    table: Table, lines: Iterable[tuple[int, dict[str, Any]]], *how: Any, hint: str = ""
) -> list[Line]:
    """Read cells by role, each with its line of the table; cells that are no measurements are refused together."""
    read, refused = [], cells.Refusals(table.source)
    for k, cell in lines:
        try:
            read.append(_line(table, k, cell, *how, hint=hint))
        except DataError as error:
            refused.add(error)
    refused.check()
    return read


def _line(table: Table, k: int, cell: dict[str, Any], *how: Any, hint: str = "") -> Line:
    try:
        return _read(cell, table.where(k), not (table.source or table.lines), table.decimal_comma, *how)
    except DataError as error:
        about = {"hint": hint or error.hint, "line": k + 1, **error.fields}
        raise DataError(error.message, code=error.code, **about) from None


def _read(
    cell: dict[str, Any],
    where: str,
    by_label: bool,
    comma: DecimalComma,
    words: Words | None,
    flags: bool,
) -> Line:
    """Read one line; where: its place. by_label: errors of values name the entry instead, if its labels are given."""
    value, status = cell.get("value") if flags else cells.flag_text(cell.get("value")), cell.get("status")
    no_value = cells.is_failure(value, words)
    failed = cells.parse_flag(cell.get("failed"), f"{where}, column failed")
    failed = failed or no_value or cells.is_failure(status)
    measured = cell | {"value": None if no_value else value}
    row, col = (None if cells.lower_text(cell.get(side)) == "" else cell[side] for side in ("row", "col"))

    def place(name: str) -> str:
        if not by_label or row is None or col is None:
            return f"{where}, column {name}"
        entry = f"row {show(row, LONGEST_LABEL)}, column {show(col, LONGEST_LABEL)}"
        return entry if name == "value" else f"{entry}, {name}"

    found = parse_line(measured, place, comma, words)
    reading = found[0] if found else None
    known = None if reading is None else reading.statement.value
    counts = (sum(r.low > 0 for r in found), len(found)) if len(found) > 1 else None
    if failed and reading is not None:
        raise DataError(f"expected a value or a failure in {where}, got both: {reading} and failed.")
    reading = None if reading is None or reading.is_plain else reading
    reason = "" if cells.is_empty(cell.get("reason")) else as_text(cell["reason"]).strip()
    id = cells.parse_id(cell.get("id"), where)
    return Line(id, row, col, known, failed, reason, where, reading, counts)
