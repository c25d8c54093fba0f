"""How a table is laid out: long, one line a measurement, or wide; and which columns of a long one have which role."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from maxentry import frames, wording
from maxentry.frames import foreign_code, is_missing, to_cells, to_float

LABELS = re.compile(r"(?i:(.+[ _.-])?id|(row|col(umn)?|user|item|movie|model|task)([ _.-]?id)?)|.*[a-z]I[dD]")
_TIME = r".*(time|date|stamp|zeit|datum|uhr)"
TIMES = re.compile(rf"(?i){_TIME}")
ASIDE = re.compile(
    rf"(?i){_TIME}|se|sem|sd|low|high|well|plate|batch|run|replicate|n|(.*[ _.-])?id"
)  # columns beside the values
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


def name_long(frame: Any, *, quiet: bool = False) -> dict[str, Hashable]:
    """Return the names of row, col and value of a frame that is plainly long, and say so; nothing for any other."""
    with foreign_code("a frame", frame):
        names, columns = _first_columns(frame)
    if not columns:
        return {}
    found, said, first = find_long(names, columns), "", _count_aside(names, columns)
    at = found or dict(zip(("row", "col", "value"), range(first, first + 3), strict=True))
    roles = {role: names[j] for role, j in at.items()}
    given = ", ".join(f"{role}={name!r}" for role, name in roles.items())
    if found:
        said = f"a long table: {given}. With these names given, this is not said."
    elif len(columns) < 6 + first and _are_pairs(*columns[first : first + 3]):
        labels = f"{roles['row']!r} and {roles['col']!r} look like labels of rows and columns"
        said = f"a matrix, though {labels}. If each line is one measurement, say {given}."
    if said and not quiet:
        warn(f"the frame was read as {said}", stacklevel=4)
    return roles if found else {}


def _first_columns(frame: Any) -> tuple[tuple[Hashable, ...], list[NDArray[Any]]]:
    """Return the names and some cells of the first columns; nothing where the frame labels its rows."""
    table = frames.open_frame(frame)
    if len(table.names) < 3 or table.has_labels:
        return (), []
    names = tuple(table.names[:MOST_COLUMNS])
    return names, [to_cells(table.column(j)[:LOOK_AT]) for j in range(len(names))]


def find_long(names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> dict[str, int]:
    """Return the positions of row, col and value in a plainly long table; nothing for any other table.

    Columns that date or count the lines may stand before them. Labels are words, or whole numbers under a name like
    user; those of rows repeat. No other column may be values. Where the third is one of low and high, or successes and
    trials are counted, there is no value.
    """
    if len(columns) < 3:
        return {}
    return _find_roles(names, columns, 0) or _find_roles(names, columns, _count_aside(names, columns))


def _find_roles(
    names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]], first: int
) -> dict[str, int]:
    """Return the positions of row, col and value where labels of rows are in column `first`; nothing if they are not.

    Yes and no are no labels behind columns that date or count the lines: that is a wide table with ids.
    """
    rows, cols, values, *rest = (cells[:LOOK_AT] for cells in columns[first:MOST_COLUMNS])
    labelled = all(_are_labels(name, cells) for name, cells in zip(names[first:], (rows, cols), strict=False))
    if not labelled or len({*rows}) == len(rows) or (first and all(map(is_yes_no, cols))):
        return {}
    at = {"row": first, "col": first + 1}
    called = [str(name).strip().lower() for name in names[first + 2 :]]
    if called[0] in ("low", "high") or {*called} >= {*frames.COUNTS}:
        return at
    if not _are_values(values):
        return {}
    others = (cells for name, cells in zip(called[1:], rest, strict=False) if not ASIDE.fullmatch(name))
    plain = all(any(map(is_word, x)) or all(map(is_missing, x)) or are_times(x) for x in others)
    return at | {"value": first + 2} if plain else {}


def _count_aside(names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> int:
    """Count the columns before the labels that date or count the lines; at least three are left."""
    n = 0
    while n < min(len(columns), MOST_COLUMNS) - 3 and _is_aside(names[n], columns[n][:LOOK_AT]):
        n += 1
    return n


def _is_aside(name: Hashable, cells: Sequence[Any] | NDArray[Any]) -> bool:
    called = name.strip() if isinstance(name, str) else ""
    if are_times(cells) or (TIMES.fullmatch(called) and not all(map(is_word, cells))):
        return True
    if COUNTED.fullmatch(called) or called in frames.UNNAMED:
        with suppress(TypeError):  # cells that cannot be compared are refused later
            return len(cells) > 1 and len({*cells}) > MOSTLY * len(cells)
        return False
    return ASIDE.fullmatch(called) is not None


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
    names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]
) -> tuple[tuple[Hashable, ...], list[Hashable]]:
    """Return the names of row, col and value that a list may have, and other columns of numbers; nothing if it has not.

    For a hint: two columns of labels of which the first repeats, and one of numbers, wherever they stand.
    """
    looked = [cells[:LOOK_AT] for cells in columns[:MOST_COLUMNS]]
    free = [j for j, cells in enumerate(looked) if not _is_aside(names[j], cells)]
    labels = [j for j in free if _are_labels(names[j], looked[j])][:2]
    numbers = [
        j for j in free if j not in labels and not all(map(is_word, looked[j])) and _are_values(looked[j])
    ]
    if len(labels) < 2 or not numbers or len({*looked[labels[0]]}) == len(looked[labels[0]]):
        return (), []
    return (*(names[j] for j in labels), names[numbers[0]]), [names[j] for j in numbers[1:]]


def is_yes_no(cell: Any) -> bool:
    """Whether it is True, False or a word for yes or no, or missing."""
    if isinstance(cell, str):
        return cell.strip().lower() in (*wording.YES_WORDS, *wording.NO_WORDS)
    return isinstance(cell, bool | np.bool_) or is_missing(cell)


def is_word(cell: Any) -> bool:
    """Whether it is text that begins neither like a number nor like a limit."""
    return isinstance(cell, str) and not cell.strip()[:1].isdigit() and cell.strip()[:1] not in "<>≤≥+-.,="


def are_words(cells: Iterable[Any]) -> bool:
    """Whether all are words, or names that begin with a number, like 4-bromoanisole."""
    return all(is_word(x) or (isinstance(x, str) and NUMBERED.match(x.strip())) for x in cells)


def _are_labels(name: Hashable, cells: Sequence[Any] | NDArray[Any]) -> bool:
    if are_words(cells):
        return True
    named = isinstance(name, str) and LABELS.fullmatch(name.strip()) is not None
    return named and all(isinstance(x, str) or (to_float(x) or 0.5).is_integer() or x == 0 for x in cells)


def _are_pairs(rows: NDArray[Any], cols: NDArray[Any], values: NDArray[Any]) -> bool:
    """Whether two columns hold whole numbers, each at least twice on average, and no pair of them twice."""
    if rows.size < 20 or any(x.dtype == object or np.isnan(x).any() for x in (rows, cols, values)):
        return False
    whole = bool((rows == np.floor(rows)).all() and (cols == np.floor(cols)).all())
    few = max(np.unique(rows).size, np.unique(cols).size) <= rows.size // 2
    return whole and few and np.unique(np.stack([rows, cols]), axis=1).shape[1] == rows.size
