"""How a table is laid out: long, one line a measurement, or wide; and which columns of a long one have which role."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from maxentry import frames, wording
from maxentry.frames import foreign_code, is_missing, to_cells, to_float

LABELS = re.compile(r"(?i:(.+[ _.-])?id|(row|col(umn)?|user|item|movie|model|task)([ _.-]?id)?)|.*[a-z]I[dD]")
ASIDE = re.compile(
    r"(?i).*(time|date|stamp|zeit|datum)|se|sem|sd|low|high|well|plate|batch|run|replicate|n|(.*[ _.-])?id"
)  # columns beside the values
LOOK_AT, MOST_COLUMNS = 10_000, 12  # lines and columns of a table that are looked at


def name_long(frame: Any, *, quiet: bool = False) -> dict[str, Hashable]:
    """Return the names of row, col and value of a frame that is plainly long, and say so; nothing for any other."""
    with foreign_code("a frame", frame):
        names, columns = _first_columns(frame)
    if not columns:
        return {}
    found, said = find_long(names, columns), ""
    roles = dict(zip(found or ("row", "col", "value"), names, strict=False))
    given = ", ".join(f"{role}={name!r}" for role, name in roles.items())
    if found:
        said = f"a long table: {given}. With these names given, this is not said."
    elif len(columns) < 6 and _are_pairs(*columns[:3]):
        labels = f"{names[0]!r} and {names[1]!r} look like labels of rows and columns"
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


def find_long(names: Sequence[Hashable], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> tuple[str, ...]:
    """Return the roles of the first columns of a plainly long table: row, col, value; nothing for any other table.

    Labels are words, or whole numbers under a name like user; those of rows repeat. No other column may be values.
    Where the third is one of low and high, or successes and trials are counted, there is no value.
    """
    if len(columns) < 3:
        return ()
    rows, cols, values, *rest = (cells[:LOOK_AT] for cells in columns[:MOST_COLUMNS])
    labelled = all(_are_labels(name, cells) for name, cells in zip(names, (rows, cols), strict=False))
    if not labelled or len({*rows}) == len(rows):
        return ()
    called = [str(name).strip().lower() for name in names[2:]]
    if called[0] in ("low", "high") or {*called} >= {*frames.COUNTS}:
        return "row", "col"
    if any(map(is_word, values)) and not all(map(is_yes_no, values)):
        return ()
    others = (cells for name, cells in zip(called[1:], rest, strict=False) if not ASIDE.fullmatch(name))
    plain = all(any(map(is_word, cells)) or all(map(is_missing, cells)) for cells in others)
    return ("row", "col", "value") if plain else ()


def is_yes_no(cell: Any) -> bool:
    """Whether it is True, False or a word for yes or no, or missing."""
    if isinstance(cell, str):
        return cell.strip().lower() in (*wording.YES_WORDS, *wording.NO_WORDS)
    return isinstance(cell, bool | np.bool_) or is_missing(cell)


def is_word(cell: Any) -> bool:
    """Whether it is text that begins neither like a number nor like a limit."""
    return isinstance(cell, str) and not cell.strip()[:1].isdigit() and cell.strip()[:1] not in "<>≤≥+-.,="


def _are_labels(name: Hashable, cells: Iterable[Any]) -> bool:
    if all(map(is_word, cells)):
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
