"""Values that must be slips: a lost decimal point, another unit, shares in per cent. Mostly there are none.

Most values that lie far from the others are no slips: hits, time-outs, heavy tails. What must be one also stands alone,
where the rest could not reach so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from warnings import warn

import numpy as np

from maxentry._types import Array, Indices, Indices32
from maxentry.labels import Axis, place
from maxentry.transform import FAR, FEWEST, FEWEST_FAR, MOST_GRADES, MOST_VALUES, Transform, find_far
from maxentry.wording import sentence

if TYPE_CHECKING:
    from maxentry.observations import Observations

MOST_SLIPS = 3  # more that stand alone are something that was found, ...
MANY = 50  # … below so many values more than one is


def name_far(modelled: Array, o: Observations) -> str:
    """Name the value farthest from nine tenths of all, and say what can be done; "" where none lies far.

    modelled: the values on the scale of the model, by which they are judged.
    """
    far = find_far(modelled)
    if not far.size:
        return ""
    k, (low, high) = int(far[0]), np.quantile(o.values, (0.05, 0.95))
    lines = (("column", o.cols), ("row", o.rows)) if far.size >= FEWEST else ()
    own = [name for name, at in lines if (at[far] == at[k]).all() and 2 * far.size >= (at == at[k]).sum()]
    more = f" and {far.size - 1} more{f' of this {own[0]}' if own else ''}" if far.size > 1 else ""
    unit = f"if this {own[0]} is in another unit, use scale='{own[0]}s'; " if own else ""
    return (
        f"{place(o.row_axis, int(o.rows[k]), o.col_axis, int(o.cols[k]))}: {o.values[k]:.4g}{more} (nine tenths of the "
        f"values lie between {low:.4g} and {high:.4g}); {unit}correct mistakes, use noise='student' against bad "
        "measurements, or transform='log' where values vary by factors"
    )


def find_slips(values: Array, rows: Indices | Indices32, cols: Indices | Indices32) -> Indices:
    """Return which values must be slips, the farthest first: a lost decimal point, another unit. Mostly none.

    They lie far (`find_far`), stand alone (farther from the rest than FAR times all of its range), are few, and others
    of their row and column are like the rest. And the rest could not reach so far: it fills a scale from 0 to 1 or to
    100, or is a few grades of which the highest are common, or varies by less than a factor of 10, and a slip is FAR
    times as large as all of it or as much smaller, and among it with the point elsewhere. Hits, time-outs (one value
    several times) and heavy tails are none.
    """
    found = find_far(values[: 0 if values.size > MOST_VALUES else None])  # of very many nobody looks at one
    if not found.size:
        return found
    rest = np.delete(values, found)
    low, high = rest.min(), rest.max()
    n = found.size
    while n and max(low - values[found[n - 1]], values[found[n - 1]] - high) <= FAR * (high - low):
        n -= 1  # the nearest of them belongs to the rest
        low, high = min(low, values[found[n]]), max(high, values[found[n]])
    slips: Indices = found[:n]
    if not 0 < n <= (MOST_SLIPS if values.size >= MANY else 1) or np.unique(values[slips]).size < n:
        return slips[:0]
    end = 1.0 if high <= 1 else 100.0
    lower, upper = np.quantile(rest, (0.25, 0.75))
    fills = low >= 0 and 0.5 * end <= high <= end and upper - lower >= 0.2 * end
    step = _step_of_grades(rest)
    if not (fills or step or 0 < low <= high < 10 * low):
        return slips[:0]
    slips = slips[(values[slips] > FAR * high) | (values[slips] < low / FAR)]
    with np.errstate(over="ignore"):
        moved = values[slips] * 10.0 ** np.array([[-3], [-2], [-1], [1], [2], [3]])
    near = max(0.1 * (high - low), 0.5 * step)
    slips = slips[((low - near <= moved) & (moved <= high + near)).any(0)]
    for side in (rows, cols):
        there, all_there = (np.bincount(x, minlength=int(side.max()) + 1) for x in (side[slips], side))
        slips = slips[2 * there[side[slips]] <= all_there[side[slips]]]
    return slips


def _step_of_grades(values: Array) -> float:
    """Return the step between values that are few and even, the highest two not rare, as they are of counts; else 0."""
    steps, times = np.unique(values, return_counts=True)
    even = 2 < steps.size <= MOST_GRADES + 1 <= values.size and np.ptp(np.diff(steps)) <= 1e-9 * np.ptp(steps)
    common = steps.size * times[-2:].sum() >= 1.4 * values.size  # 2 where all come equally often
    return float(steps[1] - steps[0]) if even and common else 0.0


def find_percent(values: Array, line: Indices | Indices32) -> Indices:
    """Return the lines (rows or columns, whose numbers are given) in percent among shares from 0 to 1. Mostly none.

    Such a line has FEWEST values or more from 0 to 100, half of them above 10; the others, at least as many, have none
    beyond 0 and 1, and are no yes and no. Divided by 100, its median is among the others.
    """
    n = np.bincount(line)
    lines = np.flatnonzero((n >= FEWEST) & (2 * np.bincount(line, values > 1) > n))
    among = np.isin(line, lines)
    of_lines, rest = values[among], values[~among]
    if not 0 < 2 * lines.size <= np.count_nonzero(n) or rest.size < FEWEST_FAR:
        return lines[:0]
    shares = rest.min() >= 0 and rest.max() <= 1 and np.unique(rest).size > 2
    if not shares or of_lines.min() < 0 or of_lines.max() > 100:
        return lines[:0]
    middle = np.array([np.median(values[line == j]) for j in lines])
    low, high = np.quantile(rest, (0.05, 0.95))
    fits = (middle >= 10) & (low <= middle / 100) & (middle / 100 <= high)
    return lines if fits.all() else lines[:0]


def note_slips(
    values: Array, rows: Indices | Indices32, cols: Indices | Indices32, axes: tuple[Axis, Axis]
) -> dict[int, str]:
    """Say of values that must be slips that they are far from all others, by place; of a line by that of its last."""
    slips = find_slips(values, rows, cols)
    rest = np.delete(values, slips)
    if slips.size:
        others = f"all other values lie between {rest.min():.4g} and {rest.max():.4g}"
        said = f"but {others}. Correct it if that is a slip."
        entries = (int(k) for k in slips)
        return {
            k: f"{place(axes[0], int(rows[k]), axes[1], int(cols[k]))}: {values[k]:.6g}, {said}"
            for k in entries
        }
    notes = {}
    for axis, line in zip(axes, (rows, cols), strict=True) if 0 < values.size <= MOST_VALUES else ():
        found = find_percent(values, line)
        others = "all others" if found.size == 1 else f"those of most {axis.name}s"
        for j in found[:MOST_SLIPS]:
            low, high = values[line == j].min(), values[line == j].max()
            said = f"{low:.4g} to {high:.4g}, but {others} lie from 0 to 1. If it is in percent, divide it by 100."
            notes[int(np.flatnonzero(line == j)[-1])] = (
                f"{axis.name} {axis.show(int(j))}: its values are {said}"
            )
    return notes


def warn_of_slips(o: Observations, kind: str | None, noise: str, transform: str | Transform) -> None:
    """Warn of values that must be slips. Student noise allows for them, and on other scales values go far."""
    if kind in (None, "numbers") and noise != "student" and str(transform) == "none":
        plain = np.arange(o.n) if o.low is None else np.flatnonzero(o.low == o.high)
        axes = o.row_axis, o.col_axis
        for note in note_slips(o.values[plain], o.rows[plain], o.cols[plain], axes).values():
            warn(sentence(note), stacklevel=3)
