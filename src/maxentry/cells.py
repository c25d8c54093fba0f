"""What the cell of a table says: a number, a limit, nothing, a failed measurement, a word with a number, or an id."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry.errors import DataError, ParameterError, is_flag
from maxentry.frames import is_missing, to_float
from maxentry.labels import as_array, floats, label_text
from maxentry.tables import DecimalComma, cell_text
from maxentry.wording import NO_WORDS, YES_WORDS, as_text, show

NOTHING = ("", "na", "n/a", "nan", "null", "none", "<na>")
FAILED = ("failed", "fail")
YES = ("1", "1.0", "true", "t", "yes", "y", "x", *FAILED)
NO = ("0", "0.0", "false", "f", "no", "n", *NOTHING)
LONGEST_ID = 18  # digits; Python refuses to parse a whole number of thousands of digits
# What people write where there is no value: not detected, not determined, below a limit of detection
ABSENT = (
    *(
        "nd",
        "n.d.",
        "n.d",
        "n/d",
        "n.a.",
        "n.a",
        "nq",
        "n.q.",
        "-",
        "--",
        "–",
        "—",
        "?",
        "missing",
        "#n/a",
        "#nv",
    ),
    *("unknown", "not detected", "not determined", "not measured", "failed", "trace", "traces"),
    *("below detection", "lod", "loq", "bdl", "bql", "blq", "<lod", "<loq", "< lod", "< loq"),
    *("nb", "n.b.", "n.b", "n.n.", "k.a.", "k. a.", "fehlt", "spuren", "<nwg", "<bg"),
    *("nicht bestimmt", "nicht gemessen", "nicht detektiert", "nicht nachweisbar", "unbekannt"),
)
# … and where measuring went wrong
WRONG = (
    *(
        "error",
        "err",
        "failure",
        "aborted",
        "crash",
        "crashed",
        "timeout",
        "time out",
        "timed out",
        "invalid",
    ),
    *("fehler", "fehlgeschlagen", "abgebrochen", "defekt", "ungültig", "missglückt"),
    *("#value!", "#wert!", "#div/0!", "#ref!", "#bezug!", "#num!", "#zahl!", "#name?"),
)

_POINTS_AND_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+")  # both marks: what each means is plain
_COMMAS_AND_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+\.\d+")
_POINT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,9}(\.0)?")
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}([eE].*)?")  # an English spreadsheet writes 1234 as 1,234
_POINT_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")  # where commas are decimal, 1.234 may be 1234


def lower_text(cell: Any) -> str:
    """A cell as lower-case text without blanks around it; empty where the cell is missing."""
    return "" if is_missing(cell) else as_text(cell).strip().lower()


def is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    return lower_text(cell) in NOTHING


def is_failure(cell: Any, words: Words | None = None) -> bool:
    """Whether a cell is the word for a failed measurement, and none of these words."""
    text = lower_text(cell)
    return text in FAILED and (words is None or text not in words.codes)


def parse_flag(cell: Any, where: str) -> bool:
    """Read yes or no; an empty cell is no."""
    text = lower_text(cell)
    if text not in (*YES, *NO):
        raise DataError(f"{where}: expected yes or no (1 or 0), got {show(cell)}.")
    return text in YES


def flag_text(x: Any) -> Any:
    """True and False as the words that yes and no have and numbers have not; anything else as it is."""
    return str(bool(x)).lower() if isinstance(x, bool | np.bool_) else x


def check_flag(x: Any, name: str) -> bool:
    """Return x as True or False; raise if it is neither."""
    if not is_flag(x):
        raise DataError(f"expected {name} to be True or False, got {show(x)}.")
    return bool(x)


def parse_id(cell: Any, where: str, wanted: str = "an id (a whole number)") -> int | None:
    """Read an id, or a count; None where the cell is empty."""
    if is_empty(cell):
        return None
    text = cell.strip() if isinstance(cell, str) else ""
    x: Any = int(text) if text.isdecimal() and len(text) <= LONGEST_ID else cell
    number = None if isinstance(x, bool | np.bool_) else to_float(x)
    if number is None or not number.is_integer() or abs(number) >= 10**LONGEST_ID:
        raise DataError(f"{where}: expected {wanted}, got {show(cell, 60)}.")
    return int(x)


def parse_number(cell: Any, where: str, decimal_comma: DecimalComma = "never") -> float | None:
    """Read a number; None where the cell is empty."""
    if is_empty(cell):
        return None
    try:
        return _number(cell, decimal_comma)
    except ValueError as error:
        hint = f" {COMMA}" if _has_comma(cell, decimal_comma) else ""
        raise DataError(f"{where}: {error}{hint}") from None


class _NoNumberError(ValueError):
    """A cell is no number."""


class _NoMeasurementError(ValueError):
    """A cell is no measurement: what is wrong with it, and what to write instead."""

    def __init__(self, said: str, advice: str) -> None:
        super().__init__(f"{said} {advice}".rstrip())
        self.said, self.advice = said, advice


def _number(cell: Any, decimal_comma: DecimalComma) -> float | None:
    """Read a number from a cell that is not empty; None for NaN. A ValueError says why it is none."""
    text = None
    if isinstance(cell, str):  # a typeset minus comes from word processors and some countries' spreadsheets
        text = _use_point(cell.strip().replace("\N{MINUS SIGN}", "-"), decimal_comma)
    if text is not None and _POINT.fullmatch(text):
        return float(text)
    number = to_float(cell)
    if number is not None:
        return None if math.isnan(number) else number
    raise _NoNumberError(f"{_show(cell)} is not a number.")


def _show(cell: Any, longest: int = 80) -> str:
    """A cell for messages; a date without a time as people write it."""
    if isinstance(cell, dt.date | dt.time):
        return as_text(cell).removesuffix(" 00:00:00")
    return show(cell, longest)


COMMA = "A decimal comma is read only where semicolons or tabs separate the cells. Write a point."


def _has_comma(cell: Any, decimal_comma: DecimalComma) -> bool:
    """Whether a decimal comma is in a cell of a table that has none."""
    return decimal_comma == "never" and isinstance(cell, str) and bool(re.search(r"\d,\d", cell))


def with_points(text: str, where: str, decimal_comma: DecimalComma) -> str:
    """Return a cell's text with decimal points, also in limits and ranges; text that is no number as it is."""
    parts = re.split(r"(\s*(?:\.\.|[<>≤≥]=?)\s*)", text.strip())
    try:
        return "".join(_use_point(part, decimal_comma) for part in parts)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None


def _use_point(text: str, decimal_comma: DecimalComma) -> str:
    """Replace a decimal comma by a point."""
    if decimal_comma == "only" and _POINT_THOUSANDS.fullmatch(text):
        both = f"{text.replace('.', '')} or {text.replace('.', ',')}"
        raise ValueError(f"{show(text)} may mean {both}, since other cells have decimal commas. Write which.")
    if decimal_comma == "never":
        return text
    if _POINTS_AND_COMMA.fullmatch(text):  # 1.234,5
        return text.replace(".", "").replace(",", ".")
    if decimal_comma != "only" and _COMMAS_AND_POINT.fullmatch(text):  # 1,234.5
        return text.replace(",", "")
    if not _COMMA.fullmatch(text):
        return text
    if decimal_comma == "unambiguous" and _THOUSANDS.fullmatch(text):
        both = f"{text.replace(',', '')} or {text.replace(',', '.')}"
        raise ValueError(f"{show(text)} may mean {both}. Use a decimal point.")
    return text.replace(",", ".")


# Measurements: a value, a limit or a range; or a word that stands for a number


class Statement(NamedTuple):
    """What a measurement says: the value is above `low` and at or below `high`; equal ends are a plain value."""

    low: float
    high: float

    @property
    def value(self) -> float:
        """A number that stands for it: the value, the finite end of a limit, the middle of a range."""
        if math.isinf(self.low) or math.isinf(self.high):
            return self.high if math.isinf(self.low) else self.low
        return self.low if self.is_value else self.low / 2 + self.high / 2

    @property
    def is_value(self) -> bool:
        """Whether it is a plain value."""
        return self.low == self.high

    def __str__(self) -> str:
        """The statement as a cell holds it: `0.5`, `<0.5`, `>100` or `0.5..0.7`."""
        if self.is_value:
            return cell_text(float(self.low))
        if math.isinf(self.low):
            return f"<{cell_text(float(self.high))}"
        low, high = cell_text(float(self.low)), cell_text(float(self.high))
        return f">{low}" if math.isinf(self.high) else f"{low}..{high}"


class Words(NamedTuple):
    """Words that stand for numbers, in lower case, and what messages say of them. The first of a number is shown."""

    codes: Mapping[str, float]
    expected: str
    names: Mapping[str, float]  # as they are shown

    @classmethod
    def grades(cls, levels: Sequence[Hashable]) -> Words:
        """The words of grades: the first level is 1, the next 2, and so on, and may be told so."""
        names = [label_text(level) for level in levels]
        codes = {_word(name): float(k) for k, name in enumerate(names, 1)}
        if len(codes) < len(names) or len(names) < 2 or "" in codes:
            got = ", ".join(map(show, names))
            raise ParameterError(f"expected at least 2 levels with different names, got {got or 'none'}.")
        shown = {name: float(k) for k, name in enumerate(names, 1)}
        if not any(_POINT.fullmatch(word) for word in codes):  # else a number is a name
            codes |= {str(k): float(k) for k in range(1, len(names) + 1)}
        return cls(codes, f"one of {', '.join(names)}", shown)

    def has(self, cell: Any) -> bool:
        """Whether a cell is one of the words: a grade may be called "none"."""
        return isinstance(cell, str) and _word(cell) in self.codes

    def find(self, cell: Any) -> float:
        """Return the number of a word, or one of these numbers; a ValueError says what was expected."""
        code = self.codes.get(_word(cell)) if isinstance(cell, str) else to_float(cell)
        if code not in self.codes.values():
            counts = _WHOLE.fullmatch(str(cell).strip()) and "yes" in self.codes
            hint = " Counts of trials go in two columns, successes and trials." if counts else ""
            if not hint and lower_text(cell) in (*ABSENT, *WRONG):
                hint = f" {EMPTY}."
            raise ValueError(f"expected {self.expected}, got {show(cell, 40)}.{hint}")
        return code  # type: ignore[return-value]

    def show(self, code: float) -> str:
        """Return the word of a number."""
        return next(word for word, known in self.names.items() if known == code)


def _word(cell: Any) -> str:
    """A cell as a word: in lower case, a number without superfluous digits."""
    text = label_text(cell).lower()
    return label_text(float(text)) if _POINT.fullmatch(text) else text


YES_NO = Words(
    dict.fromkeys((*YES_WORDS, "+", "1"), 1.0) | dict.fromkeys((*NO_WORDS, "-", "\N{MINUS SIGN}", "0"), 0.0),
    "yes or no (or true/false, right/wrong, pass/fail, +/-, 1/0)",
    {"yes": 1.0, "no": 0.0},
)
_SIGNS = {"<": "<", "<=": "<", "≤": "<", ">": ">", ">=": ">", "≥": ">"}
_LIMIT = re.compile(r"(<=|>=|[<>≤≥])\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"(?P<low>.*[^.])\.\.(?P<high>[^.].*)", re.DOTALL)
_PAIR = re.compile(r"\[(.*)\]", re.DOTALL)
_LIKE_A_LIMIT = re.compile(r"[<>≤≥=~\[\](){}…±]|\.\.|\d\s*[-–—:]\s*\d|\d\s+\D*\d")
_UNIT = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)\s*[^\d\s.,]+")
WRITTEN = "Write a number, a limit as <0.5 or >100, or a range as 0.5..0.7"


def parse_measurement(
    cell: Any, where: str, decimal_comma: DecimalComma = "never", words: Words | None = None
) -> Statement | None:
    """Read a value, a limit (`<0.5`) or a range (`0.5..0.7`, `[0.5, 0.7]`), or one of the words; None where empty.

    The fields of an error have what is wrong (`said`), the same with its place (`reason`), both without advice, and the
    place (`at`); its code says which kind of data the cell needs, where that can be guessed.
    """
    if is_empty(cell) and not (words and words.has(cell)):
        return None
    try:
        return read_cell(cell, decimal_comma, words)
    except ValueError as error:
        said, code = getattr(error, "said", str(error)), NEEDS.get(getattr(error, "advice", ""))
        about = {"said": said, "reason": f"{where}: {said}", "at": where, "cell": _show(cell, 20)}
        raise DataError(f"{where}: {error}", code=code, **about) from None


class Refusals:
    """Cells of a table that are no measurements, refused together: the first in full, then where others are."""

    ROOM = 230  # characters, so that a further hint fits

    def __init__(self, source: str = "") -> None:
        self.source, self.found = source, list[DataError]()

    def add(self, error: DataError) -> None:
        """Keep the error of a cell; any other is raised at once."""
        if "at" not in error.fields:
            raise error
        self.found.append(error)

    def check(self, more: str = "") -> None:
        """Raise if a cell was refused. more: a sentence on the table as a whole."""
        if not self.found:
            return
        first, *rest = self.found
        places = [f"{e.fields['at'].removeprefix(f'{self.source}, ')} ({e.fields['cell']})" for e in rest]
        others = ""
        for n in (2, 1, 0) if rest else ():  # as many as a line has room for
            named, left = "; ".join(places[:n]), len(rest) - n
            others = (
                f" Likewise {named}{f' and {left} more' if left > 0 else ''}."
                if n
                else f" {left} more {'is' if left == 1 else 'are'} alike."
            )
            if len(first.message) + len(others) + len(more) + len(first.hint) < self.ROOM:
                break
        fields = {key: x for key, x in first.fields.items() if key not in ("at", "cell")}
        if "reason" in fields:
            fields["reason"] += f"{others}{more}"
        raise DataError(f"{first.message}{others}{more}", code=first.code, hint=first.hint, **fields)


def read_cell(
    cell: Any, decimal_comma: DecimalComma = "never", words: Words | None = None
) -> Statement | None:
    """Read a measurement from a cell that is not empty; a ValueError says why it is none."""
    if words is not None:
        code = words.find(cell)
        return Statement(code, code)
    ends = _split_ends(cell.strip(), decimal_comma) if isinstance(cell, str) else None
    if ends is None:
        try:
            number = _number(cell, decimal_comma)
        except _NoNumberError as error:
            raise _NoMeasurementError(str(error), _advice(cell, decimal_comma)) from None
        return None if number is None else Statement(number, number)
    try:
        low, high = (_number(end.strip(), decimal_comma) if isinstance(end, str) else end for end in ends)
    except ValueError as error:
        advice = _advice(cell, decimal_comma) if isinstance(error, _NoNumberError) else f"{WRITTEN}."
        raise _NoMeasurementError(f"{show(cell, 40)} is no limit or range: {error}", advice) from None
    if low is None or high is None or not low <= high:
        raise ValueError(f"{show(cell, 40)} is no range: the lower end comes first. {WRITTEN}.")
    if math.isinf(low) and math.isinf(high):
        raise ValueError(f"{show(cell, 40)} has no finite end. {WRITTEN}.")
    return Statement(low, high)


def _split_ends(text: str, decimal_comma: DecimalComma) -> tuple[str | float, str | float] | None:
    """The two ends of a limit or a range, as text or as an infinity; None where the text is neither."""
    if limit := _LIMIT.fullmatch(text):
        return (-math.inf, limit[2]) if _SIGNS[limit[1]] == "<" else (limit[2], math.inf)
    if pair := _PAIR.fullmatch(text):
        one = decimal_comma == "never" or (decimal_comma == "unambiguous" and pair[1].count(",") == 1)
        ends = re.split(";" if ";" in pair[1] else "," if one else r",\s+", pair[1])
        if len(ends) != 2:
            example = "[0.5, 0.7]" if decimal_comma == "never" else "[0,5; 0,7]"
            raise ValueError(f"{show(text, 40)} is no range of two numbers, like {example}. {WRITTEN}.")
        return ends[0], ends[1]
    ends_of = _RANGE.fullmatch(text)
    return None if ends_of is None else (ends_of["low"], ends_of["high"])


EMPTY = "Leave it empty if it was not measured"
OR_FAILED = "or write failed there (maxentry fail)."
GRADES = f"{EMPTY}. Grades need kind='grades' and their order in levels (--kind grades --levels A,B,C)."
YES_OR_NO = "Values that are yes or no need kind='yes/no' (--kind yes/no)."
NEEDS = {GRADES: "needs_grades", YES_OR_NO: "needs_yes_no"}  # codes of errors by their advice


def _advice(cell: Any, decimal_comma: DecimalComma = "never") -> str:
    """What to write instead of a cell that is no measurement; empty where nothing can be guessed."""
    if isinstance(cell, dt.date | dt.time):
        return "Excel takes 1.5 or 3-4 for a date: format the cell as text, and enter the value again."
    text = lower_text(cell) if isinstance(cell, str) else ""
    if text in ABSENT:
        yes_no = " For + and - say kind='yes/no' (--kind yes/no)." if text in YES_NO.codes else ""
        return f"{EMPTY}, write <0.5 if it was below a limit of 0.5, {OR_FAILED}{yes_no}"
    if text in WRONG:
        times = " Where the values are times, write > and the time at which it was stopped."
        return f"{EMPTY}, {OR_FAILED}{times if text[:4] == 'time' else ''}"
    if text in YES_NO.codes:
        return YES_OR_NO
    if "±" in text:
        return f"{WRITTEN}; a standard error goes in a column se."
    if text[:1] == "[" or text[-1:] == "]":
        return f'{WRITTEN} (in CSV a cell with a comma needs quotes: "[0.5, 0.7]").'
    if re.search(r"\d,\d+,\d", text):
        return "Write one number, without commas between its digits."
    if _has_comma(cell, decimal_comma):
        return COMMA
    bare = text.lstrip("<>≤≥= ")
    if _UNIT.fullmatch(bare) and not _LIKE_A_LIMIT.search(bare):
        return "Write the number alone, without its unit."
    if _LIKE_A_LIMIT.search(text):
        return f"{WRITTEN}."
    if re.search(r"\b\d", text):
        return f"{WRITTEN}."
    return GRADES if text else ""


def read_cells(
    values: ArrayLike, where: Callable[[int], str], words: Words | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Read an array of measurements, of numbers or of text: values, and their ends (None: all are plain values).

    `where(k)` names the k-th cell in an error.
    """
    array = as_array(values)
    if array.dtype.kind in "fiub":
        return floats(array, where), None, None
    flat = list(array.flat) if array.dtype.kind in "mM" else array.astype(object).ravel()
    low, high, refused = np.full(len(flat), np.nan), np.full(len(flat), np.nan), Refusals()
    for k, cell in enumerate(flat):
        if is_missing(cell) or (isinstance(cell, str) and is_empty(cell) and not (words and words.has(cell))):
            continue
        try:
            statement = read_cell(cell, "unambiguous", words)
        except ValueError as error:
            refused.add(_refuse_cell(cell, where(k), error, words))
            continue
        if statement is not None:
            low[k], high[k] = statement
    refused.check()
    known = ~np.isnan(low)
    plain = np.array_equal(low[known], high[known])
    middle = [Statement(a, b).value for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    numbers = low if plain else np.where(known, middle, np.nan)
    ends = (None, None) if plain else (low.reshape(array.shape), high.reshape(array.shape))
    return numbers.reshape(array.shape), *ends


def _refuse_cell(cell: Any, where: str, reason: ValueError, words: Words | None) -> DataError:
    """Return the error for a cell of an array that is no measurement."""
    is_text, advice = isinstance(cell, str | bytes), _advice(cell, "unambiguous")
    # Text that is certainly meant as a measurement tells nothing about the form of the table
    code = "text_value" if is_text and advice in ("", GRADES) else None
    if words or not isinstance(reason, _NoMeasurementError) or (is_text and _LIKE_A_LIMIT.search(str(cell))):
        return DataError(f"{where}: {reason}", code=code, at=where, cell=show(cell, 20))
    kind = "text" if is_text else type(cell).__name__
    said = f"expected real numbers, got {show(cell)} ({kind}) at {where}. {advice}".rstrip()
    return DataError(said, code=code, at=where, cell=show(cell, 20))


def are_measurements(cells: Sequence[Any]) -> bool:
    """Whether all cells are numbers, limits or ranges in text, and one of them is not a whole number."""
    try:
        statements = [read_cell(cell) for cell in cells]
    except ValueError:
        return False
    return not all(s is not None and s.is_value and s.low.is_integer() for s in statements)


def check_distinct(new: Iterable[Hashable], side: str, known: Iterable[Hashable] = ()) -> None:
    """Refuse labels that are empty, that exist, or that read like another one, as 1 and "1" do in a file."""
    new, known = list(new), list(known)
    if not known:  # a quick look at very many
        kinds = set(map(type, new))
        texts = {str(x).strip() for x in new} if kinds == {str} else set(new) if kinds == {int} else set()
        if len(texts) == len(new) and "" not in texts:
            return
    first = {label_text(label): label for label in known}
    existing = set(first.values())
    for label in new:
        if not label_text(label):
            raise DataError(f"expected {side} labels that are not empty, got {show(label)}.")
        if label in existing:
            raise DataError(f"expected new {side} labels, got {show(label)}, which is there already.")
        other = first.setdefault(label_text(label), label)
        if other != label:
            both = f"{show(other)} and {show(label)}"
            raise DataError(f"expected {side} labels that read differently as text, got {both}.")
