"""How a table is laid out: long, one line a measurement, or wide; and which columns of a long one have which role."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from maxentry import frames, wording
from maxentry.errors import DataError
from maxentry.frames import foreign_code, is_missing, to_cells, to_float
from maxentry.wording import ASIDE, TIMES, is_word, show

if TYPE_CHECKING:
    from maxentry.cells import Words
    from maxentry.tables.table import Table

LABELS = re.compile(r"(?i:(.+[ _.-])?id|(row|col(umn)?|user|item|movie|model|task)([ _.-]?id)?)|.*[a-z]I[dD]")
RARELY_VALUES = re.compile(
    r"(?i)(.*[ _.-])?(seed|random[ _]?state|run|rep|repeat|trial|fold|split|epoch|step|iter(ation)?|year|day|week"
    r"|id|idx|index|no|nr|number|line|version|#)([ _.-]?\d+|\.)?"
)  # names of columns of numbers that hardly anybody predicts
COUNTED = re.compile(
    r"(?i:(.*[ _.-])?(id|no|nr|number|nummer|index|#)\.?)|.*[a-z]I[dD]"
)  # names of columns that count lines
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d))([T ,].*)?|\d{1,2}:\d\d(:\d\d.*)?"
)
NUMBERED = re.compile(r"\d[\w,.'()-]*[^\W\d_]{4}")  # labels like 4-bromoanisole, 2,6-lutidine
EPOCHS = (1e9, 5e9), (1e12, 5e12)  # seconds and milliseconds since 1970, from 2001 on
MOST_WORDS = 0.25  # of the values of a list may be no numbers, and are refused then
MOSTLY = 0.75  # of the numbers of lines differ; some lines may be there twice
LOOK_AT, MOST_COLUMNS = 10_000, 12  # lines and columns of a table that are looked at
ROLES = ("row", "col", "value")


def name_long(frame: Any, *, quiet: bool = False) -> dict[str, Hashable]:
    """Return the names of row, col and value of a frame that is plainly long, and say so; nothing for any other.

    A frame that is plainly long, but for the order of its columns, is refused with the names to give.
    """
    with foreign_code("a frame", frame):
        names, columns = _first_columns(frame)
    if not columns:
        return {}
    if found := find_long(names, columns):
        roles = {role: names[j] for role, j in found.items()}
        if not quiet:
            said = f"a long table: {_name_options(roles)}. With these names given, this is not said."
            warn(f"the frame was read as {said}", stacklevel=4)
        return roles
    if quiet:
        return {}
    listed, others = suggest_names(names, columns)
    rest = [j for j, name in enumerate(names) if name not in listed]
    plain = not others and all(is_aside(names[j], columns[j]) for j in rest)
    if listed and plain and all(_are_whole(columns[names.index(name)]) for name in listed[:2]):
        given = _name_options(dict(zip(ROLES, listed, strict=True)))
        raise DataError(
            f"expected the columns of a list in the order row, column, value, got {_name_all(names)}.",
            hint=f"Say {given}.",
        )
    if pair := find_pairs(names, columns):
        labels = f"{pair[0]!r} and {pair[1]!r} look like labels of rows and columns"
        given = _name_options(dict(zip(ROLES, pair, strict=True)))
        said = f"a matrix, though {labels}. If each line is one measurement, say {given}."
        warn(f"the frame was read as {said}", stacklevel=4)
    return {}


def _name_options(roles: dict[str, Hashable]) -> str:
    return ", ".join(f"{role}={name!r}" for role, name in roles.items())


def _name_all(names: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, names))


def _first_columns(frame: Any) -> tuple[tuple[Hashable, ...], list[NDArray[Any]]]:
    """Return the names and some cells of the first columns; nothing where the frame labels its rows."""
    table = frames.open_frame(frame)
    if len(table.names) < 3 or table.has_labels:
        return (), []
    names = tuple(table.names[:MOST_COLUMNS])
    return names, [to_cells(table.column(j)[:LOOK_AT]) for j in range(len(names))]


def find_long(
    names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]], repeats: bool = True
) -> dict[str, int]:
    """Return the positions of row, col and value in a plainly long table; nothing for any other table.

    Columns that date or count the lines may stand before them. Labels are words, or whole numbers under a name like
    user; those of rows repeat (unless not `repeats`). No other column may be values. Where the third is one of low and
    high, or successes and trials are counted, there is no value.
    """
    if len(columns) < 3:
        return {}
    first = _count_aside(names, columns)
    return _find_roles(names, columns, 0, repeats) or _find_roles(names, columns, first, repeats)


def _find_roles(
    names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]], first: int, repeats: bool
) -> dict[str, int]:
    """Return the positions of row, col and value where labels of rows are in column `first`; nothing if they are not.

    Yes and no are no labels behind columns that date or count the lines: that is a wide table with ids.
    """
    rows, cols, values, *rest = (cells[:LOOK_AT] for cells in columns[first:MOST_COLUMNS])
    labelled = all(_are_labels(name, cells) for name, cells in zip(names[first:], (rows, cols), strict=False))
    if not labelled or (repeats and len({*rows}) == len(rows)) or (first and all(map(is_yes_no, cols))):
        return {}
    at = {"row": first, "col": first + 1}
    called = [str(name).strip().lower() for name in names[first + 2 :]]
    if called[0] in ("low", "high") or {*called} >= {*frames.COUNTS}:
        return at
    if called[0] in frames.END_NAMES:  # limits, or a confidence interval before its values
        free = (x for name, x in zip(called[1:], rest, strict=False) if not is_aside(name, x))
        return {} if any(map(frames.hold_numbers, free)) else at
    if not _are_values(values):
        return {}
    others = (cells for name, cells in zip(called[1:], rest, strict=False) if not ASIDE.fullmatch(name))
    plain = all(any(map(is_word, x)) or all(map(is_missing, x)) or are_times(x) for x in others)
    return at | {"value": first + 2} if plain else {}


def _count_aside(names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> int:
    """Count the columns before the labels that date or count the lines; at least three are left."""
    n = 0
    while n < min(len(columns), MOST_COLUMNS) - 3 and is_aside(names[n], columns[n][:LOOK_AT]):
        n += 1
    return n


def is_aside(name: Hashable, cells: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether a column is beside the values: it dates or counts the lines, or is named like a plate, a seed, an sd."""
    called = name.strip() if isinstance(name, str) else ""
    if are_times(cells) or (TIMES.fullmatch(called) and not all(map(is_word, cells))):
        return True
    if COUNTED.fullmatch(called) or called in frames.UNNAMED:
        with suppress(TypeError):  # cells that cannot be compared are refused later
            return len(cells) > 1 and len({*cells}) > MOSTLY * len(cells)
        return False
    seeds = called.lower() == "seed" and all(map(is_word, cells))  # of plants
    return ASIDE.fullmatch(called) is not None and not seeds


def are_times(cells: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether all cells that are not missing are dates, times of day, or seconds since 1970."""
    known = [x for x in cells if not is_missing(x)]
    return bool(known) and all(map(_is_time, known))


def _is_time(cell: Any) -> bool:
    if isinstance(cell, str):
        return DATE.fullmatch(cell.strip()) is not None
    if isinstance(cell, dt.date | dt.time | np.datetime64):
        return True
    number = to_float(cell)
    return number is not None and any(low <= number < high for low, high in EPOCHS)


def _are_values(cells: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether nearly all cells are numbers, or nearly all are yes or no; single words among them are mistakes."""
    known = [x for x in cells if not is_missing(x)]
    words, answers = (sum(map(test, known)) for test in (is_word, is_yes_no))
    return words <= MOST_WORDS * len(known) or answers >= (1 - MOST_WORDS) * len(known)


def suggest_names(
    names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]], *, repeats: bool = True
) -> tuple[tuple[Hashable, ...], list[Hashable]]:
    """Return the names of row, col and value that a list may have, and other columns of numbers; nothing if it has not.

    For a hint: two columns of labels of which the first repeats (unless not `repeats`), and one of numbers, wherever
    they stand. Seeds, years and the like are no values where there are others.
    """
    looked = [cells[:LOOK_AT] for cells in columns[:MOST_COLUMNS]]
    free = [j for j, cells in enumerate(looked) if not is_aside(names[j], cells)]
    labels = [j for j in free if _are_labels(names[j], looked[j])][:2]
    numbers = [
        j for j in free if j not in labels and not all(map(is_word, looked[j])) and _are_values(looked[j])
    ]
    numbers = [j for j in numbers if not RARELY_VALUES.fullmatch(str(names[j]).strip())] or numbers
    if len(labels) < 2 or not numbers or (repeats and len({*looked[labels[0]]}) == len(looked[labels[0]])):
        return (), []
    return (*(names[j] for j in labels), names[numbers[0]]), [names[j] for j in numbers[1:]]


def find_numbered(frame: Any) -> str:
    """Say of a frame that is a matrix that its first column numbers its lines; "" for any other."""
    with foreign_code("a frame", frame):
        return find_line_numbers(*_first_columns(frame))


def refuse_line_numbers(table: Table, words: Words | None = None) -> None:
    """Refuse a matrix whose first column numbers its lines; words: that stand for values."""
    found = find_line_numbers(table.names, table.columns)
    if found and (words is None or not any(map(words.has, table.columns[1]))):
        raise DataError(f"{table.source or 'The table'}: {found}", code="line_numbers")


def find_line_numbers(names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> str:
    """Say that the first column of a matrix numbers its lines, and the second has the labels; "" for any other table.

    It has no name or that of a number, counts by ones from 0 or 1, words that differ stand in the second column, and no
    words in the third.
    """
    called = str(names[0]).strip() if names else ""
    if len(columns) < 3 or len(columns[0]) < 2 or not (COUNTED.fullmatch(called) or called in frames.UNNAMED):
        return ""
    start = _to_number(columns[0][0])
    if start not in (0, 1) or any(_to_number(x) != start + k for k, x in enumerate(columns[0])):
        return ""
    labels = [str(x).strip() for x in columns[1]]
    if not are_words(columns[1]) or any(map(is_missing, columns[1])) or all(map(is_yes_no, columns[1])):
        return ""
    if len({*labels}) < len(labels) or any(map(is_word, columns[2])):
        return ""
    called = f" ({show(names[0])})" if str(names[0]).strip() else ""
    return (
        f"expected row labels in the first column, got numbers of lines{called}; labels are in the second "
        f"({show(names[1])}). Delete the first column."
    )


def _to_number(cell: Any) -> float | None:
    """Return the number that a cell is, or that stands there as text."""
    if isinstance(cell, str):
        with suppress(ValueError):
            return float(cell)
        return None
    return to_float(cell)


def is_yes_no(cell: Any) -> bool:
    """Whether it is True, False or a word for yes or no, or missing."""
    if isinstance(cell, str):
        return cell.strip().lower() in (*wording.YES_WORDS, *wording.NO_WORDS)
    return isinstance(cell, bool | np.bool_) or is_missing(cell)


def are_words(cells: Iterable[Any]) -> bool:
    """Whether all are words, or names that begin with a number, like 4-bromoanisole."""
    return all(is_word(x) or (isinstance(x, str) and NUMBERED.match(x.strip())) for x in cells)


def _are_labels(name: Hashable, cells: Sequence[Any] | NDArray[Any]) -> bool:
    if are_words(cells):
        return True
    named = isinstance(name, str) and LABELS.fullmatch(name.strip()) is not None
    return named and all(isinstance(x, str) or (to_float(x) or 0.5).is_integer() or x == 0 for x in cells)


def _are_whole(cells: Sequence[Any] | NDArray[Any]) -> bool:
    return all((_to_number(x) or 0.5).is_integer() or _to_number(x) == 0 for x in cells)


def find_pairs(
    names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]
) -> tuple[Hashable, ...]:
    """Return the names of row, col and value in a table of numbers that may be a list; nothing for any other.

    Two columns hold whole numbers, each at least twice on average, and no pair of them twice, but for copied lines.
    Where the value is not the last, it is no whole number. Columns that date or count the lines may come first.
    """
    first = _count_aside(names, columns)
    if not 3 <= len(columns) - first < 6:
        return ()
    cells = [[_to_number(x) for x in column[:LOOK_AT]] for column in columns[first : first + 3]]
    if any(x is None or x != x for column in cells for x in column):
        return ()
    lines = np.unique(np.array(cells, dtype=np.float64), axis=1)  # without copies
    for row, col, value in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        if _are_pairs(lines[[row, col]]) and (value == 2 or not _are_whole(lines[value])):
            return names[first + row], names[first + col], names[first + value]
    return ()


def _are_pairs(labels: NDArray[Any]) -> bool:
    """Whether two lists of whole numbers have each at least twice on average, and no pair of them twice."""
    n = labels.shape[1]
    few = max(np.unique(side).size for side in labels) <= n // 2
    whole = bool((labels == np.floor(labels)).all())
    return n >= 20 and whole and few and np.unique(labels, axis=1).shape[1] == n
