"""What in a table may not be meant: lines of sums and means, footers, and labels that differ by a slip.

Nothing is left out or changed for it: users are told, and decide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard
from warnings import warn

import numpy as np

from maxentry import frames
from maxentry.tables.read import read
from maxentry.wording import sentence, show

if TYPE_CHECKING:
    from maxentry.tables.table import Table

# What people call lines that are computed from the others, in English and German
_TOTALS = {
    *(
        "mean",
        "means",
        "average",
        "averages",
        "avg",
        "median",
        "sum",
        "sums",
        "total",
        "totals",
        "grand total",
    ),
    *("subtotal", "overall", "sd", "std", "stdev", "std dev", "standard deviation", "min", "max", "minimum"),
    *("maximum", "macro average", "micro average", "macro avg", "micro avg", "mean score", "average score"),
    *(
        "mittelwert",
        "mittelwerte",
        "mittel",
        "durchschnitt",
        "schnitt",
        "summe",
        "summen",
        "gesamt",
        "gesamtsumme",
    ),
    *("insgesamt", "zwischensumme", "standardabweichung", "stabw", "std abw", "mw", "ø", "∅", "σ", "∑"),
}
_COUNTS = {"n", "count", "counts", "anzahl", "number of values", "n values"}
_FIRST_WORDS = {
    *(
        "average",
        "avg",
        "subtotal",
        "mittelwert",
        "durchschnitt",
        "summe",
        "gesamtsumme",
        "standardabweichung",
    )
}
_BETWEEN = re.compile(r"(?<=[^\W\d])[\s_-]+(?=\w)|(?<=\w)[\s_-]+(?=[^\W\d])")  # not between two digits
_FOOTER_LINES = 3  # at the end of a table
_FOOTER = re.compile(
    r"(?i)[*†‡].*|(notes?|source|legend|remarks?|quelle|stand|legende|anmerkung|hinweis)\b.*"
)
_WORD = re.compile(
    r"[^\W\d_][^\W\d_A-ZÄÖÜ]{5,}"
)  # words in which a slip is looked for: no formulas, no sequences
_SMILES = re.compile(r"(Br|Cl|[BCFHINOPScnops\d()\[\]=#@+/\\.-])+")  # in which case has a meaning
_LINE_NUMBERS = re.compile(r"(?i)(lfd\.? ?)?(nr|no)\.|(lfd\.? ?)?nr|#|index|nummer|number|unnamed: \d+")
MOST_LETTERS = 60  # of a label that is looked at
MOST_LABELS = 5_000  # that are looked at
MOST_NAMED = 3
MOST_LINES = 1_000_000  # in which copies are looked for
CHANCE = 0.01  # that two values are equal: above it replicates agree, and are no copies


def is_total(label: Hashable) -> bool:
    """Whether a label names a sum, a mean or another figure of the other lines."""
    if not _is_short(label):
        return False
    words = re.sub(r"\(.*?\)|\[.*?\]|[:.*=]", " ", label).casefold().split()
    return " ".join(words) in _TOTALS or (len(words) > 1 and words[0] in _FIRST_WORDS)


def find_totals(labels: Sequence[Hashable]) -> list[str]:
    """Find labels that name a sum, a mean or another figure of the others.

    A count, like n, must be one of the last lines, and no other label a single letter.
    """
    counts = [x for x in labels[-_FOOTER_LINES:] if _is_short(x) and x.casefold().strip(" =:") in _COUNTS]
    if any(_is_short(x) and len(x.strip()) == 1 and x not in counts for x in labels):
        counts = []
    return [x for x in labels if _is_short(x) and (is_total(x) or x in counts)]


def find_alike(labels: Sequence[Hashable], known: Sequence[Hashable] = ()) -> list[tuple[str, str]]:
    """Find pairs of labels that may be the same: they differ in case, in blanks and hyphens, or by a slip in a word.

    A slip is a letter twice in a row, an "e" too many at the end of a word, or two letters swapped. Another letter is
    none, nor one more: propane is no propene, and diethyl ether no dimethyl ether. Case means something in formulas.
    known: labels that are there already: only pairs with one of the others are returned.
    """
    texts = [unicodedata.normalize("NFKC", x) for x in labels if _is_short(x)]
    first: dict[str, str] = {}
    for text in filter(_is_short, known):
        first.setdefault(_fold(text), text)
    pairs: dict[tuple[str, str], None] = {}
    for text in texts:
        other = first.setdefault(_fold(text), text)
        if other.strip() != text.strip():
            pairs[other, text] = None
    for long in dict.fromkeys(texts):
        for short in map(first.get, map(_fold, _slips(long))):
            if short is not None and _fold(short) != _fold(long):
                pairs.setdefault((short, long))
    return [*dict.fromkeys((min(pair), max(pair)) for pair in pairs)]


def _is_short(label: Hashable) -> TypeGuard[str]:
    return isinstance(label, str) and len(label) <= MOST_LETTERS


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).strip()
    if (len(text) < 3 and text.isalpha()) or _SMILES.fullmatch(text):
        return text
    return _BETWEEN.sub("", text.casefold())


def _slips(text: str) -> list[str]:
    """What a text would be without one slip: a double letter once, a word without its last e, two letters swapped."""
    found: list[str] = []
    for word in _WORD.finditer(text):
        start, end = word.span()
        double = [k for k in range(start + 1, end) if text[k] == text[k - 1]]
        last = [end - 1] if text[end - 1] == "e" else []
        found += [text[:k] + text[k + 1 :] for k in dict.fromkeys(double + last)]
        swapped = (k for k in range(start + 1, end - 1) if text[k] != text[k + 1])
        found += [text[:k] + text[k + 1] + text[k] + text[k + 2 :] for k in swapped]
    return found


def find_footers(labels: Sequence[Hashable], measured: Collection[Hashable]) -> list[Hashable]:
    """Find labels of the last lines that read like a remark, and have no measurement."""
    last = [x for x in labels[-_FOOTER_LINES:] if x not in measured]
    return [x for x in last if _is_short(x) and _FOOTER.fullmatch(x.strip())]


def doubt_labels(
    side: str,
    labels: Sequence[Hashable],
    measured: Collection[Hashable] | None = None,
    known: Sequence[Hashable] = (),
) -> list[str]:
    """Say in sentences which labels of rows or columns (side) may not be meant.

    measured: those with a measurement, where that is known; known: labels that are there already.
    """
    if len(labels) + len(known) > MOST_LABELS or not any(isinstance(x, str) for x in labels):
        return []
    totals, notes = find_totals(labels), []
    if totals:
        which, they = _name(side, [*map(show, totals)]), "it counts" if len(totals) == 1 else "they count"
        notes.append(f"{which}: named like a sum, mean or count of others, but {they} like any other {side}.")
    numbered = [x for x in labels if _is_short(x) and _LINE_NUMBERS.fullmatch(x.strip())]
    if numbered and side == "column":
        which, they = _name(side, [*map(show, numbered)]), "it counts" if len(numbered) == 1 else "they count"
        notes.append(f"{which}: named like numbers of lines, but {they} like any other {side}.")
    if measured and (footers := [x for x in find_footers(labels, measured) if x not in totals]):
        counts = "counts" if len(footers) == 1 else "count"
        notes.append(
            f"{_name(side, [*map(show, footers)])}: without a value, like a footer, but {counts} as a {side}."
        )
    if alike := find_alike(labels, known):
        which = _name(side, [f"{show(a)} and {show(b)}" for a, b in alike], 2)
        notes.append(f"{which}: named nearly alike, but taken for different {side}s.")
    return notes


def _name(side: str, found: Sequence[str], each: int = 1) -> str:
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f"{side}{'s' if each * len(found) > 1 else ''} {'; '.join(found[:MOST_NAMED])}{more}"


LEAVE_OUT = "To leave something out, delete it in the table"
TAKE_OUT = (
    f"{LEAVE_OUT}, or take it out of the campaign: remove_rows, remove_cols (maxentry remove-rows LABEL)."
)


def doubt_table(
    rows: Sequence[Hashable],
    cols: Sequence[Hashable],
    measured: tuple[Collection[Hashable], Collection[Hashable]] | None = None,
    advice: str = f"{LEAVE_OUT}.",
) -> str:
    """Say which labels of a table may not be meant, and what to do; nothing where all seems to be."""
    known = measured or (None, None)
    notes = [*doubt_labels("row", rows, known[0]), *doubt_labels("column", cols, known[1])]
    return "\n".join([*map(sentence, notes), advice]) if notes else ""


def warn_of_labels(observations: Any) -> None:
    """Warn of labels of observations that may not be meant."""
    axes, counts = (
        (observations.row_axis, observations.col_axis),
        (observations.row_counts, observations.col_counts),
    )
    if max(axis.size for axis in axes) > MOST_LABELS or not any(axis.labels for axis in axes):
        return
    labels = [axis.labels or () for axis in axes]
    rows, cols = (
        {x for x, n in zip(side, times, strict=False) if n}
        for side, times in zip(labels, counts, strict=True)
    )
    if noted := doubt_table(labels[0], labels[1], (rows, cols), f"{LEAVE_OUT} or the frame."):
        warn(noted, stacklevel=3)


def warn_of_copies(table: Table, used: Iterable[int], say: Callable[[str], None] | None = None) -> None:
    """Say that lines are the same in every cell: values of other measurements are rarely so.

    used: the columns that are read, in which no cell of a line is empty. say: how, by default a warning.
    """
    first: dict[str, int] = {}
    lines = zip(*table.columns, strict=True) if table.n <= MOST_LINES else ()
    same = [k for k, line in enumerate(lines) if first.setdefault(repr(line), k) != k]
    places = [*used]
    if copies := [k for k in same if not any(frames.is_missing(table.columns[j][k]) for j in places)]:
        n, where = len(copies), table.where(copies[0]).removeprefix(f"{table.source}, ")
        text = f"{where} is" if n == 1 else f"{n} lines ({where} the first) are"
        text += " the same as an earlier line in every cell, and counted as measured again. Delete copies."
        text = f"{table.source}: {text}" if table.source else sentence(text)
        warn(text, stacklevel=4) if say is None else say(text)


def warn_of_lines(data: Any, observations: Any, value: Hashable | None = None) -> None:
    """Warn of lines of a long frame that are copies; not where values are so coarse that replicates often agree."""
    if not MOST_LINES >= observations.n > observations.observed.nnz or frames.frame_library(data) is None:
        return
    key, values = observations.rows * observations.shape[1] + observations.cols, observations.values
    order = np.lexsort((values, key))
    alike = (np.diff(key[order]) == 0) & (np.diff(values[order]) == 0)
    once = values[order][~np.append(alike, False)]
    times, n = np.unique(once, return_counts=True)[1], once.size
    index = getattr(data, "index", None)
    named = index is not None and index.dtype.kind not in "iu" and index.is_unique  # tells lines apart
    if alike.any() and (times * (times - 1)).sum() <= CHANCE * n * (n - 1) and not named:
        table, name = read(data), str("value" if value is None else value)
        warn_of_copies(table, [j for j, x in enumerate(table.names) if x == name])
