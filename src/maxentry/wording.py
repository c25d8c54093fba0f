"""How counts, numbers and labels are written in messages, figures and reports."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence

# Words for yes and no that a table can be known by: signs and digits may mean other things
YES_WORDS = ("yes", "y", "true", "t", "pass", "correct", "right")
NO_WORDS = ("no", "n", "false", "f", "fail", "wrong", "incorrect")

# Names that columns of a list may have which hold no values: beside the values, and remarks
_TIME = r".*(time|date|stamp|zeit|datum|uhr)"
TIMES = re.compile(rf"(?i){_TIME}")
ASIDE = re.compile(
    rf"(?i){_TIME}|se|sem|sd|low|lower|high|upper|well|plat(e|te)|batch|run|seed|replicate|n|(.*[ _.-])?id"
)
REMARKS = re.compile(
    r"(?i)(notes?|comments?|remarks?|info|bemerkung(en)?|kommentar|notiz(en)?|anmerkung(en)?|operator|analyst|by|who)"
)


def count(n: int, one: str, many: str | None = None) -> str:
    """`1 entry`, `1,200 entries`; without `many`, the plural is formed by an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def number(x: float, digits: int = 4) -> str:
    """So many significant digits; nothing for NaN and infinity."""
    return f"{x:.{digits}g}" if math.isfinite(x) else ""


def percent(share: float) -> str:
    """A share as `91%` or, below a tenth, `0.32%` (`<0.01%` at the least); nothing for NaN and infinity."""
    if not math.isfinite(share):
        return ""
    if 0 < abs(share) < 1e-4:
        return "<0.01%" if share > 0 else "0%"
    return f"{share:.0%}" if abs(share) >= 0.1 else f"{100 * share:.2g}%"


def chance(p: float) -> str:
    """A probability in whole per cent; `<1%` and `>99%` at the ends, since no count of draws shows less or more."""
    return "<1%" if p < 0.005 else ">99%" if p >= 0.995 else f"{p:.0%}"


def describe_ranks(low: int, high: int) -> str:
    """An interval of ranks: `1 to 3`, or `1`."""
    return f"{low}" if low == high else f"{low} to {high}"


def one_line(label: object) -> str:
    """A label as text on one line; `''` if there is none."""
    return " ".join(str(label).split()) or "''"


def printable(text: str) -> str:
    """A text on one line: ends of lines become blanks, other characters that cannot be shown their codes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


def as_text(x: object) -> str:
    """Any object as text, or as `show` has it where it has no text."""
    try:
        return (
            show(x) if hasattr(x, "tocoo") else str(x)
        )  # the text of a sparse matrix comes from compiled loops
    except Exception:  # as in `show`
        return show(x)


def show(x: object, longest: int = 80) -> str:
    """Any object as Python source for a message: on one line, shortened, and never an error itself."""
    try:
        text = repr(x.item() if _is_number(x) else x)  # type: ignore[attr-defined]
    except Exception:  # a whole number of thousands of digits, or a class of somebody else's
        text = f"a {type(x).__name__} that cannot be shown"
    return shorten(printable(text), longest)


def _is_number(x: object) -> bool:
    """Whether it is one of NumPy's numbers, whose repr names their type."""
    return type(x).__module__ == "numpy" and getattr(x, "ndim", 1) == 0 and x.dtype.kind in "biuf"  # type: ignore[attr-defined]


def shorten(text: str, longest: int) -> str:
    """A text with its middle left out where it is too long: `abcd…wxyz`."""
    if len(text) <= longest:
        return text
    rest = longest - 1
    return f"{text[: -(-rest // 2)]}…{text[len(text) - rest // 2 :]}"


def sentence(text: str) -> str:
    """A note as a sentence: a capital at the beginning, a full stop at the end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def name_unused(names: Sequence[Hashable], source: str = "", used: str = "row, col, value") -> str:
    """Return the warning for columns that are not used; used: what row, column and value are called."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    listed = ", ".join(show(name, 40) for name in names[:5]) + more
    are = "column is" if len(names) == 1 else "columns are"
    also = (
        "columns low, high and se are, if there are any (se= or --se names standard errors of another name)"
    )
    return f"{source or 'the long table'}: {len(names)} {are} not used: {listed}. Used are {used}; {also}."


def is_word(cell: object) -> bool:
    """Whether it is text that begins neither like a number nor like a limit."""
    return isinstance(cell, str) and not cell.strip()[:1].isdigit() and cell.strip()[:1] not in "<>≤≥+-.,="
