"""Options that users give: what they are is checked before anything is compared.

`==`, `<` and `in` of arrays, frames and sparse matrices give arrays or errors, and may run compiled loops.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def is_whole(x: Any, least: int | None = None) -> bool:
    """Whether it is a whole number of any type (True is none), from `least` on."""
    whole = isinstance(x, Integral) and not isinstance(x, bool) and type(x).__name__ != "timedelta64"
    return whole and (least is None or bool(x >= least))


def is_positive(x: Any) -> bool:
    """Whether it is a real number above zero that a float can hold."""
    real = isinstance(x, Real) and not isinstance(x, bool) and type(x).__name__ != "timedelta64"
    return real and bool(0 < x <= sys.float_info.max)


def is_choice(x: Any, choices: Iterable[str]) -> bool:
    """Whether it is one of these words."""
    return isinstance(x, str) and x in tuple(choices)


def is_flag(x: Any) -> bool:
    """Whether it is True or False, also NumPy's, or 1 or 0."""
    return isinstance(x, bool) or type(x).__name__ in ("bool_", "bool") or (is_whole(x) and x in (0, 1))
