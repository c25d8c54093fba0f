"""Tables of measurements that commands read, long or wide; `-` is stdin."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxentry import frames, tables
from maxentry.cells import (
    ABSENT,
    NOTHING,
    WRONG,
    YES_NO,
    Refusals,
    Words,
    is_empty,
    lower_text,
    parse_measurement,
)
from maxentry.cli.output import STD, show_warnings, warn
from maxentry.errors import DataError
from maxentry.labels import label_text
from maxentry.model.slips import warn_of_slips
from maxentry.readings import Reading, parse_line
from maxentry.tables import Format, Table
from maxentry.tables.doubts import doubt_table, warn_of_copies
from maxentry.tables.layout import (
    MOST_WORDS,
    are_times,
    find_long,
    find_pairs,
    is_yes_no,
    refuse_line_numbers,
    suggest_names,
)
from maxentry.wording import is_word, name_unused, show

if TYPE_CHECKING:
    from maxentry.observations import Observations

NO_NAMES = (
    " Its first line was taken for the names of columns, but has numbers: put a line of names before it."
)
THREE_NAMES = "expected three names, like ligand,substrate,yield, got {!r}."
YEAR = re.compile(r"[12]\d{3}")
LONGEST_HINT = 60  # characters of the names that a hint repeats


def read_table(
    path: str,
    form: Format | None = None,
    sheet: str | None = None,
    *,
    sheets: bool = False,
    quiet: bool = False,
) -> Table:
    """Read a table from a file or from stdin; unless quiet, say that it has other sheets.

    sheets: whether --sheet names one of this file.
    """
    data, source = (sys.stdin.buffer, "standard input") if path == STD else (path, "")
    file, colon, named = path.rpartition(":")
    if colon and not Path(path).exists() and Path(file).is_file():
        other = f", or name the sheet as --sheet {named or 'NAME'}" if sheets else ""
        raise DataError(f"{path} does not exist, but {file} does: leave out what follows it{other}.")
    with show_warnings():
        table = tables.read(data, form, source, sheet)
    if table.unread and not quiet:
        how = f"--sheet {table.unread[0]!r} reads that one" if sheets else "another needs a file of its own"
        warn(f"{table.notes[-1].removesuffix('.')}; {how}.")
    return table


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
    names: tuple[
        str, ...
    ] = ()  # of the columns with rows, columns and values, where they are not these words
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


def warn_of_doubts(matrix: Matrix, observations: Observations, settings: Mapping[str, Any]) -> None:
    """Name labels that may not be meant, and values that must be slips."""
    measured = {*matrix.rows}, {*matrix.cols}
    if noted := doubt_table(matrix.row_labels, matrix.col_labels, measured):
        warn(noted)
    with show_warnings():
        warn_of_slips(observations, *(settings[name] for name in ("kind", "noise", "transform")))


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
    long = labelled and any(
        table.role(name) is not None for name in ("value", *frames.END_NAMES, *frames.COUNTS)
    )
    if names is None and not long and (roles := find_long(table.names, table.columns)):
        found = tuple(table.names[j] for j in roles.values())
        recurs = any(table.names[j] in table.columns[j] for j in roles.values())
        if recurs and len(found) > 2 and _is_numeral(found[2]) and not YEAR.fullmatch(found[2]):
            raise DataError(
                f"{table.source}: expected a line of names first, got {', '.join(found)}.{NO_NAMES}"
            )
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
    named = () if names is None else tuple(titles[role] for role in ("row", "col", "value") if role in titles)
    matrix = Matrix(list(dict.fromkeys(rows)), list(dict.fromkeys(cols)), counted="trials" in at, names=named)
    cells = {role: table.columns[j] for role, j in at.items() if role not in ("row", "col")}
    flags = _are_flags([cells.get("value", [])])
    words = YES_NO if flags and words is None else words
    refused = Refusals(table.source)
    for k, (row, col) in enumerate(zip(rows, cols, strict=True)):

        def where(role: str, k: int = k) -> str:
            return f"{table.where(k)}, column {titles.get(role, role)}"

        line = {role: column[k] for role, column in cells.items()}
        try:
            matrix.add(row, col, parse_line(line, where, table.decimal_comma, words))
        except DataError as error:
            refused.add(error)
    refused.check()
    matrix = replace(matrix, flags=flags)
    unused = frames.find_unused(table.names, at.values())
    if words is None or _tell_apart(table, at.values()):
        warn_of_copies(table, at.values(), warn)
    if said := [name for name in unused if str(name).strip().lower() in ("status", "failed")]:
        warn(f"{table.source}: {show(said[0])} is not read here: clear the values of lines that failed.")
    if unused:
        called = ", ".join(titles.get(role, role) for role in ("row", "col", "value"))
        warn(name_unused(unused, table.source, called))
    return matrix


def _tell_apart(table: Table, used: Collection[int]) -> bool:
    """Whether a column beside the used ones is another in most lines, like a number or a time of a run."""
    beside = (x for j, x in enumerate(table.columns) if j not in used)
    return any(len({*map(str, x)}) > 0.75 * table.n for x in beside)


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
    at |= frames.find_beside(table.names, at, se, table.columns.__getitem__)
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
        named = (
            " If another column holds the values, pass --names ROW,COL,VALUE." if missing == ["value"] else ""
        )
        raise DataError(f"{table.source}: expected a column {missing[0]}, got {came}.{unnamed or named}")
    return at, {role: table.names[j] for role, j in at.items()}


def split_names(option: str) -> tuple[str, ...]:
    """The columns of a long table, as the option --names gives them: ROW,COL,VALUE; ROW,COL of counted trials."""
    parts = tuple(part.strip() for part in option.split(","))
    if len(parts) not in (2, 3) or not all(parts):
        raise DataError(THREE_NAMES.format(option))
    return parts


def _parse_wide(table: Table, words: Words | None) -> Matrix:
    """Row labels in the first column, one more column for each column of the matrix."""
    table = _leave_out_remarks(table) if words is None else table
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
    refuse_line_numbers(table, words)
    row_labels = [label_text(cell) for cell in table.columns[0]]
    col_labels = [label_text(name) for name in table.names[1:]]
    _check_labels("row", row_labels, table)
    _check_labels("column", col_labels, table)
    if all(map(_is_fraction, row_labels)):
        if found := find_pairs(table.names, table.columns) or suggest_names(table.names, table.columns)[0]:
            got = f"numbers that look like values ({table.names[0]!r})"
            hint = f" If this is a long table (one measurement per line), pass --names {_join(found)}."
            hint += " If they are labels, write a letter before them."
            raise DataError(f"{table.source}: expected row labels in the first column, got {got}.{hint}")
        warn(
            f"Taking the first column of {table.source}, {table.names[0]!r}, for row labels, though it looks like "
            "values. A table without labels needs a column of them before its values."
        )
    numerals = [x for x in map(_to_number, col_labels) if x is not None]
    if any(map(_is_fraction, col_labels)) and numerals not in (sorted(numerals), sorted(numerals)[::-1]):
        few = ", ".join(col_labels[:3])
        warn(
            f"{table.source}: the names of its columns look like values ({few}, …). If its first line has values, put "
            "a line of names before it."
        )
    flags = _are_flags(table.columns[1:])
    words = YES_NO if flags and words is None else words
    matrix = Matrix(row_labels, col_labels, corner=table.names[0] or "row", flags=flags)
    refused = Refusals(table.source)
    for k, row in enumerate(row_labels):
        for col, cells in zip(col_labels, table.columns[1:], strict=True):
            if cells[k] is not None:
                try:
                    place = f"{table.where(k)}, column {col}"
                    statement = parse_measurement(cells[k], place, table.decimal_comma, words)
                    matrix.add(row, col, [] if statement is None else [Reading(*statement)])
                except DataError as error:
                    refused.add(error)
    refused.check(_hint_names(table))
    return matrix


def _leave_out_remarks(table: Table) -> Table:
    """Leave out columns of a wide table that hold remarks, and say so: words alone, behind columns of numbers.

    Words before all numbers may be labels of columns, of a list.
    """
    known = [[x for x in column if x is not None] for column in table.columns]
    remarks = [j for j, x in enumerate(known) if j and x and all(map(_is_remark, x))]
    numbers = [j for j, x in enumerate(known) if j and x and not any(map(is_word, x)) and not are_times(x)]
    if not remarks or len(numbers) < max(2, len(remarks)) or remarks[0] < numbers[0]:
        return table
    listed = ", ".join(repr(table.names[j]) for j in remarks[:5])
    warn(f"{table.source}: columns of remarks are not used: {listed}.")
    kept = [j for j in range(len(table.names)) if j not in remarks]
    return replace(table, names=[table.names[j] for j in kept], columns=[table.columns[j] for j in kept])


def _is_remark(cell: Any) -> bool:
    text = lower_text(cell) if isinstance(cell, str) else ""
    return text[:1].isalpha() and not is_yes_no(cell) and text not in (*ABSENT, *WRONG, *NOTHING)


def _are_flags(columns: Iterable[Sequence[Any]]) -> bool:
    """Whether the cells that are not empty are True, False, words for yes and no, or + and -, and there are some.

    A few other words among them are mistakes, which are refused then.
    """
    known = [x for column in columns for x in column if not is_empty(x)]
    others = [x for x in known if not is_yes_no(x)]
    if {"+"} <= {str(x).strip() for x in known} <= {"+", "-", "\N{MINUS SIGN}"}:
        return True
    return bool(known) and len(others) <= MOST_WORDS * len(known) and all(map(is_word, others))


def _hint_names(table: Table) -> str:
    """How to read a table as a long one, where it may be one."""
    found, others = suggest_names(table.names, table.columns)
    labels = [x for x in table.columns[1] if lower_text(x) not in (*ABSENT, *WRONG)]
    if not found and (len(table.names) < 3 or not labels or not all(map(is_word, labels))):
        return ""
    found = found or suggest_names(table.names, table.columns, repeats=False)[0] or tuple(table.names[:3])
    if _is_numeral(str(found[2])) and not YEAR.fullmatch(str(found[2])):
        return NO_NAMES
    either = f" (or {', '.join(map(str, others[:3]))} as the last)" if others else ""
    return f" If this is a long table (one measurement per line), pass --names {_join(found)}{either}."


def _join(names: Iterable[Any]) -> str:
    """Names as the option --names takes them, where they are short."""
    joined = ",".join(map(str, names))
    return joined if len(joined) < LONGEST_HINT and " " not in joined else "ROW,COL,VALUE"


def _is_fraction(label: str) -> bool:
    """Whether it is a number that is not whole, which hardly anybody uses as a row's name."""
    number = _to_number(label)
    return number is not None and not number.is_integer()


def _to_number(label: str) -> float | None:
    """Return the number that a label is, with a decimal point or comma; None for others."""
    try:
        number = float(label.replace(",", ".", 1))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _check_labels(side: str, labels: list[str], table: Table) -> None:
    listed = ", ".join(table.names)
    columns = f"three of its columns ({listed})" if len(listed) < LONGEST_HINT else "its columns"
    wanted = "ROW,COL,VALUE"
    if {*frames.COUNTS} <= {name.strip().lower() for name in table.names}:
        wanted, columns = "ROW,COL --kind yes/no", columns.replace("three", "two")
    hint = f" If this is a long table (one measurement per line), pass --names {wanted} with {columns}."
    hint = (_hint_names(table) if suggest_names(table.names, table.columns)[0] else "") or hint
    if {"lower", "upper"} & {name.strip().lower() for name in table.names}:
        hint += (
            " Limits are read from columns that are named low and high (or lower and upper, without values)."
        )
    if all(map(_is_numeral, table.names)):
        hint = NO_NAMES
    if "" in labels:
        above = "If there is a title above the names of the columns, delete it."
        raise DataError(f"{table.source}: expected a name for every column, got an empty one. {above}")
    check_distinct(side, labels, table.source, hint if side == "row" else "")


def _is_numeral(name: str) -> bool:
    return name[:1] not in "_" and _to_number(name.strip()) is not None


def check_distinct(side: str, labels: Iterable[str], source: str, hint: str = "") -> None:
    """Refuse a label that appears twice."""
    for label, times in Counter(labels).items():
        if times > 1:
            raise DataError(f"{source}: {side} label {label!r} appears twice.{hint}")
