"""A line of the table, and what a check is."""

from collections.abc import Callable
from typing import NamedTuple


class Line(NamedTuple):
    """What was measured, the figure with its error, and what was asked."""

    what: str
    value: str
    asked: str = ""


Check = Callable[[bool], list[Line]]  # quick -> lines
