"""`Goal`: what people want of a matrix. Fill it, find its best entries, rank its rows, or say what exceeds a value.

| goal | in words | what is wanted |
|---|---|---|
| fill | `fill` | a small error everywhere |
| best | `best`, `best 20`, `best per row`, `smallest 3 per column` | the largest (smallest) of all or of each line |
| rank | `rank rows`, `rank columns`, `rank rows smallest` | the order of rows (columns) by their average |
| threshold | `threshold 6.5` | which entries exceed the value |

A goal is a function of draws. `posterior.decisions` answers it, `acquisition.targets` chooses entries for it, and a
campaign keeps it as text. Values, `sign` and `threshold` are in the user's units.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from maxentry.errors import ParameterError, is_choice, is_whole
from maxentry.wording import show

GoalKind = Literal["fill", "best", "rank", "threshold"]
Line = Literal["row", "column"]
KINDS = ("fill", "best", "rank", "threshold")
LINES = ("row", "column")
OVERALL = 10  # entries that `best` looks for in the whole matrix
MOST = 10_000
PATTERN = re.compile(
    r"(?P<fill>fill)"
    r"|(?P<best>best|largest|smallest)(?: (?P<k>\d{1,9}))?(?: per (?P<per>row|column|col))?"
    r"|rank (?P<of>rows|columns|cols)(?: (?P<order>largest|smallest))?"
    r"|(?:threshold|above) (?P<threshold>[-+.\deE]+)"
)
EXPECTED = (
    "'fill', 'best', 'best 20', 'best per row', 'smallest per column', 'rank rows', 'rank columns' or "
    "'threshold 6.5'"
)


@dataclass(frozen=True)
class Goal:
    """What is wanted of a matrix.

    sign: 1 if large values are good, -1 if small ones are
    per: the lines of which each has its best; None: the whole matrix. For `rank`, the lines that are ranked.
    k: how many best entries are wanted, of the whole matrix or of each line
    threshold: the value to exceed
    """

    kind: GoalKind = "fill"
    sign: int = 1
    per: Line | None = None
    k: int = 1
    threshold: float = math.nan

    def __post_init__(self) -> None:
        if not is_choice(self.kind, KINDS):
            raise ParameterError(f"a goal must be {EXPECTED}, got {show(self.kind)}")
        if self.per is not None and not is_choice(self.per, LINES):
            raise ParameterError(f"per must be 'row', 'column' or None, got {show(self.per)}")
        if not is_whole(self.k, 1) or self.k > MOST:
            raise ParameterError(
                f"the number of best entries must be a whole number from 1 to {MOST:,}, got {show(self.k)}"
            )
        if self.kind == "threshold" and not _is_finite(self.threshold):
            raise ParameterError(f"a threshold must be a finite number, got {show(self.threshold)}")

    @classmethod
    def parse(cls, given: Any) -> Goal:
        """Read a goal from its words; a Goal is returned as it is."""
        if isinstance(given, Goal):
            return given
        words = " ".join(given.lower().replace(",", " ").split()) if isinstance(given, str) else ""
        found = PATTERN.fullmatch(words)
        if found is None:
            raise ParameterError(f"a goal must be {EXPECTED}, got {show(given)}")
        if found["fill"]:
            return cls()
        if found["of"]:
            per: Line = "row" if found["of"] == "rows" else "column"
            return cls("rank", -1 if found["order"] == "smallest" else 1, per)
        if found["threshold"]:
            return cls("threshold", threshold=_to_number(found["threshold"]))
        line: Line | None = None if not found["per"] else "row" if found["per"] == "row" else "column"
        k = int(found["k"]) if found["k"] else OVERALL if line is None else 1
        return cls("best", -1 if found["best"] == "smallest" else 1, line, k)

    @property
    def fills(self) -> bool:
        """Whether all entries count alike."""
        return self.kind == "fill"

    def __str__(self) -> str:
        if self.kind == "threshold":
            return f"threshold {self.threshold:.15g}"
        if self.kind == "rank":
            return f"rank {self.per}s" + (" smallest" if self.sign < 0 else "")
        if self.kind == "fill":
            return "fill"
        usual = OVERALL if self.per is None else 1
        number, lines = (
            "" if self.k == usual else f" {self.k}",
            "" if self.per is None else f" per {self.per}",
        )
        return ("best" if self.sign > 0 else "smallest") + number + lines


def _is_finite(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # refused as a threshold
