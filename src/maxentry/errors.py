"""Errors a user can act on. Each has a code and fields for programs, and a message and a hint for people.

No code reads the text of an error. The command line, the server and the client look at its class, its `code` and its
`fields`, and may put a hint of their own in place of the one for Python.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Integral, Rational, Real
from typing import Any

from maxentry.wording import printable, shorten

LONGEST = 300  # characters of an error: whatever value it quotes, it is one line that people read
LEAST = 120  # of its message, where a long hint follows


def refusal(text: str, longest: int = LONGEST) -> str:
    """A text as one line of at most so many characters; what is too long loses its middle."""
    return shorten(printable(text), longest)


class MaxentryError(Exception):
    """Base class of all errors that maxentry raises on purpose.

    code: a word for programs, more specific than the class where somebody needs to tell cases apart.
    message: what was expected and what was found. hint: what to do about it, in Python. Together they are one line of
        at most LONGEST characters, whatever was found: the middle of a longer text is left out.
    fields: the values the message is about (labels, ids, names, ...).
    """

    code: str = "error"

    def __init__(
        self, message: object = "", *, code: str | None = None, hint: str = "", **fields: Any
    ) -> None:
        self.hint, self.fields = printable(hint), fields
        room = LONGEST - len(self.hint) - 1 if hint else LONGEST
        self.message = refusal(str(message), max(room, LEAST))
        if code is not None:
            self.code = code
        super().__init__(refusal(f"{self.message} {self.hint}" if hint else self.message))

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DataError(MaxentryError, ValueError):
    """The observations cannot be used: wrong type, shape, label or value."""

    code = "data"


class LabelError(MaxentryError, KeyError):
    """A row or column label is not known."""

    code = "label"


class RankError(MaxentryError, ValueError):
    """The rank cannot be used with a matrix of this shape."""

    code = "rank"


class ParameterError(MaxentryError, ValueError):
    """An option has a value it cannot have."""

    code = "parameter"


class MissingDependencyError(MaxentryError, ImportError):
    """An optional package is not installed; the hint says how to install it."""

    code = "missing_dependency"


class SizeError(MaxentryError, MemoryError):
    """The result would not fit in memory; the message says what to request instead."""

    code = "size"


class CampaignError(MaxentryError):
    """A request contradicts the campaign's state; nothing was changed."""

    code = "campaign"


class NothingToAskError(CampaignError):
    """No entry is left to ask for; the message says why."""

    code = "nothing_to_ask"


class StorageError(MaxentryError, OSError):
    """The storage cannot be opened, read or written."""

    code = "storage"


# What an option is, is checked before it is compared: `==`, `<` and `in` of arrays, frames and sparse matrices give
# arrays or errors, and may run compiled loops.


def is_whole(x: Any, least: int | None = None) -> bool:
    """Whether it is a whole number of any type (True is none), from `least` on."""
    whole = isinstance(x, Integral) and not isinstance(x, bool) and type(x).__name__ != "timedelta64"
    return whole and (least is None or bool(x >= least))


def is_positive(x: Any) -> bool:
    """Whether it is a real number above zero that a float can hold."""
    real = isinstance(x, Real) and not isinstance(x, bool) and type(x).__name__ != "timedelta64"
    # A float of few bits cannot be compared with the largest one of many.
    return real and bool(0 < x < math.inf) and (not isinstance(x, Rational) or bool(x <= sys.float_info.max))


def is_choice(x: Any, choices: Iterable[str]) -> bool:
    """Whether it is one of these words."""
    return isinstance(x, str) and x in tuple(choices)


def is_flag(x: Any) -> bool:
    """Whether it is True or False, also NumPy's, or 1 or 0."""
    return isinstance(x, bool) or type(x).__name__ in ("bool_", "bool") or (is_whole(x) and x in (0, 1))
