"""`Goal`: what people want of a matrix. Fill it, find its best entries, rank its rows, or say what exceeds a value.

| goal | in words | what is wanted |
|---|---|---|
| fill | `fill` | a small error everywhere |
| best | `best`, `best 20`, `best per row`, `smallest 3 per column` | the largest (smallest) of all or of each line |
| rank | `rank rows`, `rank columns`, `rank rows smallest` | the order of rows (columns) by their average |
| threshold | `threshold 6.5` | which entries exceed the value |

A goal is a function of draws. `posterior.decisions` answers it, `acquisition.targets` chooses entries for it, and a
campaign keeps it as text, and weights beside it. Values, `sign` and `threshold` are in the user's units.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from maxentry.errors import ParameterError, is_choice, is_whole
from maxentry.wording import show

if TYPE_CHECKING:
    from maxentry._types import Array
    from maxentry.labels import Axis
    from maxentry.observations import Observations
    from maxentry.transform import Side

GoalKind = Literal["fill", "best", "rank", "threshold"]
Line = Literal["row", "column"]
KINDS = ("fill", "best", "rank", "threshold")
LINES = ("row", "column")
OVERALL = 10  # entries that `best` looks for in the whole matrix
MOST = 10_000
PATTERN = re.compile(
    r"(?P<fill>fill)"
    r"|(?P<best>best|largest|smallest)(?: (?P<k>\d{1,9}))?(?: per (?P<per>row|column|col)s?)?"
    r"|rank (?P<of>row|column|col)s?(?: (?P<order>largest|smallest))?"
    r"|(?:threshold|above) (?P<threshold>[-+.\deE]+)"
)
JOINT = re.compile(r",|(?<=[a-z])[-_](?=[a-z])")  # between words: "best-per-row"
OTHER_LINE = re.compile(r"(best|largest|smallest)( \d+)? per (?!rows?|col)\w|rank (?!rows?|col)\w")
BEST_LINES = re.compile(r"(?:best|largest) (row|column)s?")
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
    weights: of a ranking of rows, how much each column counts in the averages (of columns: each row); None: all alike
    """

    kind: GoalKind = "fill"
    sign: int = 1
    per: Line | None = None
    k: int = 1
    threshold: float = math.nan
    weights: tuple[float, ...] | None = None

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
        words = " ".join(JOINT.sub(" ", given.lower()).split()) if isinstance(given, str) else ""
        found = PATTERN.fullmatch(words)
        if found is None:
            advice = ": write row or column, whatever they are called" if OTHER_LINE.match(words) else ""
            if several := BEST_LINES.fullmatch(words):
                advice = f": 'rank {several[1]}s' orders them by their average"
            raise ParameterError(f"a goal must be {EXPECTED}, got {show(given)}{advice}")
        if found["fill"]:
            return cls()
        if found["of"]:
            per: Line = "row" if found["of"] == "row" else "column"
            return cls("rank", -1 if found["order"] == "smallest" else 1, per)
        if found["threshold"]:
            return cls("threshold", threshold=_to_number(found["threshold"]))
        line: Line | None = None if not found["per"] else "row" if found["per"] == "row" else "column"
        k = int(found["k"]) if found["k"] else OVERALL if line is None else 1
        return cls("best", -1 if found["best"] == "smallest" else 1, line, k)

    @classmethod
    def rank(cls, of: Any, smallest: bool = False) -> Goal:
        """Return the goal to rank the "rows" or the "columns"."""
        if not is_choice(of, ("rows", "columns")):
            raise ParameterError(f"of must be 'rows' or 'columns', got {show(of)}")
        return cls("rank", -1 if smallest else 1, "row" if of == "rows" else "column")

    @property
    def fills(self) -> bool:
        """Whether all entries count alike."""
        return self.kind == "fill"

    @property
    def averaged(self) -> Line | None:
        """The lines that have weights: columns where rows are ranked, rows where columns are; None: no ranking."""
        return None if self.kind != "rank" else "column" if self.per == "row" else "row"

    def weighted(self, given: Any, rows: Axis, cols: Axis) -> Goal:
        """Return the goal with these weights of its columns (or rows): in order, or by label."""
        if self.averaged is None:
            wanted = "expected weights with the goal 'rank rows' or 'rank columns'"
            raise ParameterError(
                f"{wanted}, got the goal '{self}': drop them (weights=None, --drop weights)."
            )
        return replace(self, weights=read_weights(given, cols if self.averaged == "column" else rows))

    def keep_weights(self, words: str) -> None:
        """Refuse another goal that has no use for the weights of this one."""
        if Goal.parse(words).averaged != self.averaged:
            raise ParameterError(
                f"expected a goal for the weights of {self.averaged}s, got '{words}': drop them (weights=None, --drop "
                "weights), or give others."
            )

    def shares(self, n: int) -> Array:
        """Return the share of each of n lines in an average; lines added since the weights were given count once."""
        import numpy as np

        w = np.ones(n)
        given = () if self.weights is None else self.weights[:n]
        w[: len(given)] = given
        return w / w.sum() if w.sum() > 0 else np.full(n, 1 / n)

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


def note_units(goal: Goal, data: Observations, transform: object = "none") -> str:
    """Say that a goal compares, or adds up, columns (or rows) that may have other units; "" where it does not.

    Weights of a ranking say what counts how much, and with a transform values may vary by factors: nothing is said.
    """
    from maxentry.transform import MOST_VALUES, LineSpreads, describe_scales

    if goal.fills or goal.weights is not None or data.n > MOST_VALUES or str(transform) != "none":
        return ""
    does, weights = "compares", ""
    if goal.kind == "rank":
        does, weights = "adds up", "give weights (set --weights), "
    lines = (data.col_axis, data.cols, data.rows), (data.row_axis, data.rows, data.cols)
    for axis, line, other in lines:
        if goal.per == axis.name:  # compared within each, or an average of each
            continue
        side: Side = "rows" if axis.name == "row" else "columns"
        spreads = LineSpreads.measure(line, data.values, axis.size, True)
        own = spreads.scales(side, every=False, entries=(line, other, data.values))
        if own is not None:
            found = own.scales
            which = describe_scales({axis.show(int(k)): float(found.factor[k]) for k in found.own})
            return (
                f"Some {side} lie far from the rest, or vary far more or less: {which}. '{goal}' {does} values as they "
                f"are, so that few {side} decide. If units differ, bring them to one, "
                f"{weights}or keep a campaign for each."
            )
    return ""


def _is_finite(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # refused as a threshold


def read_weights(given: Any, axis: Axis) -> tuple[float, ...]:
    """Read how much each line of an axis counts: in order, or by label, where those that are not named count once."""
    import numpy as np
    from narwhals import dependencies

    if dependencies.is_pandas_series(given):
        given = given.to_dict() if axis.labels is not None else given.to_numpy()
    try:
        if isinstance(given, Mapping):
            weights = np.ones(axis.size)
            for label, weight in given.items():
                weights[axis.find(label)] = float(weight)
        else:
            weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"weights must be numbers, got {show(given)}") from None
    good = weights.shape == (axis.size,) and np.isfinite(weights).all() and (weights >= 0).all()
    if not good or not np.isfinite(weights.sum()) or not weights.sum() > 0:
        raise ParameterError(
            f"weights must be {axis.size} numbers from zero on, one for each {axis.name} and not all zero, got "
            f"{show(given)}"
        )
    return tuple(weights.tolist())
