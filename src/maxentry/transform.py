"""The scale on which values are modelled: as they are, their logarithm, or the logit of their place in an interval.

The model is additive with noise of one size, so values that vary by factors (concentrations, counts, prices) belong
on the log scale, and values with limits at both ends (shares, percentages) on the logit scale. Every transform is
increasing, so it takes quantiles to quantiles.

Columns or rows in other units than the rest get `Scales` of their own, found by `find_scales`: y = shift + factor z,
after the transform. `ValueMap` is both together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, xlogy

from maxentry._types import Array, Flags, Indices, Indices32
from maxentry.cells import Statement
from maxentry.errors import DataError, ParameterError, is_choice
from maxentry.labels import place
from maxentry.wording import one_line, show

if TYPE_CHECKING:
    from maxentry.observations import Observations

Kind = Literal["none", "log", "logit"]

SMALLEST, LARGEST = 1e-150, 1e150  # of a value with a logarithm here: their squares are still numbers
PERCENT = "percent"
MOST_GRADES, EACH = 10, 4  # different values of grades at most, and how often each comes on average at least
BEYOND = 0.1  # of the width of a scale: a value farther beyond its ends is a mistake, not noise
NEAR_ENDS = 3  # values near the ends of a scale from which it is taken for one
EXPECTED = "transform must be 'none', 'log', 'logit', 'logit(low, high)' or 'percent'"

Side = Literal["columns", "rows"]
Scaling = Literal["auto", "columns", "rows", "none"]
BEYOND_DOUBT = 10.0  # scale "auto": so many times the typical spread are another unit
LARGER, MUCH_SMALLER = 3.0, 1000.0  # than the typical values, and than the typical spread
MOST_NAMED = 8  # lines on scales of their own in the printed posterior
FAR = 3.0  # so many times the range of nine tenths of the values beyond it; normal values never lie there
FEWEST_FAR = 20  # values that have such a range
FEWEST = 3  # values of a line whose scale can be told
EVIDENCE = 6  # values of a line in another unit: three or four may be nearly equal by chance
FAR_AWAY = 10.0  # … or as few as two, all of them so many times as far away as all others
# the sd of these lines, over the range of 2, 3, 4 or 5 values: 90% of the others then are as near as Student's t says
BY_RANGE = (3.4, 1.09, 0.75, 0.59)
HITS = 0.98  # share of the values of other lines that a line in another unit exceeds: these may have hits
SCALE_ERROR = 1.2  # sd of the log of a robust spread, times the root of the number of values
UPPER_QUARTILE = 1.15  # of |x| for a standard normal x
GAP = 2.0  # sds of the logarithms within lines, to those in another unit where no value is negative (or a factor of 10)
MOST_VALUES = 500_000  # to find scales from; of more, some at random


@dataclass(frozen=True, slots=True)
class Transform:
    """`forward` maps the user's units to the scale of the model, `inverse` maps back.

    kind: "none", "log", or "logit" of (y - low) / (high - low)
    low, high: the interval of a logit, its ends left out

    As text ("log", "logit(0, 100)"; also "percent", which is that one): `Transform.parse(text)`, and back by `str`.
    """

    kind: Kind = "none"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not is_choice(self.kind, get_args(Kind)):
            raise ParameterError(f"{EXPECTED}, got {show(self.kind)}")
        try:
            low, high = float(self.low), float(self.high)
        except Exception:  # no number, one too large, or a class of somebody else's
            low = high = np.nan
        if not (np.isfinite(high - low) and low < high):
            raise ParameterError(
                f"a logit needs an interval with low < high, got low = {show(self.low)} and high = {show(self.high)}"
            )
        if self.kind != "logit" and (low, high) != (0.0, 1.0):
            raise ParameterError(f"only a logit has an interval, got {show(self.kind)} with ({low}, {high})")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def parse(cls, wish: str | Transform) -> Transform:
        """A transform as it is, or read from its text."""
        if isinstance(wish, Transform):
            return wish
        text = wish.strip().lower() if isinstance(wish, str) else ""
        if text in get_args(Kind):
            return cls(text)  # type: ignore[arg-type]
        if text == PERCENT:
            return cls("logit", 0.0, 100.0)
        if match := re.fullmatch(r"logit\s*\(([^,()]+),([^,()]+)\)", text):
            return cls("logit", *match.groups())  # type: ignore[arg-type]
        raise ParameterError(f"{EXPECTED}, got {show(wish)}")

    def __str__(self) -> str:
        if self.kind != "logit" or (self.low, self.high) == (0.0, 1.0):
            return self.kind
        return f"logit({_number(self.low)}, {_number(self.high)})"

    def inside(self, values: ArrayLike) -> Flags:
        """Return which values the scale can represent; NaN and infinity never."""
        y = np.asarray(values, dtype=np.float64)
        if self.kind == "log":
            return np.asarray((y >= SMALLEST) & (y <= LARGEST))
        if self.kind == "logit":
            return np.asarray((y > self.low) & (y < self.high))
        return np.isfinite(y)

    def forward(self, values: ArrayLike, where: Callable[[int], str] | None = None) -> Array:
        """Return the values on the scale of the model; raise DataError for one outside, named by `where`."""
        y = np.asarray(values, dtype=np.float64)
        outside = ~self.inside(y)
        if outside.any():
            k = int(np.argmax(outside))
            got = f"{_number(float(y.flat[k]))}{f' at {where(k)}' if where else ''}"
            expected, advice = self._refusal()
            raise DataError(f"{expected}, got {got}{advice}.")
        if self.kind == "log":
            return _log(y)
        if self.kind == "logit":
            return _log((y - self.low) / (self.high - y))
        return y

    def forward_end(self, ends: Array) -> Array:
        """Return ends of measurements on the scale of the model; those beyond the scale are infinite."""
        z, inside = np.empty(ends.shape), self.inside(ends)
        z[inside] = self.forward(ends[inside])
        above = ends > (self.low if self.kind == "logit" else 0.0)
        z[~inside] = np.where(above, np.inf, -np.inf)[~inside]
        return z

    def check_limits(self, low: Array, high: Array, where: Callable[[int], str]) -> None:
        """Refuse limits that no value on the scale meets (`<0` with log), or that every one meets (`>0`)."""
        ends = self.forward_end(low), self.forward_end(high)
        never = ~((ends[0] < np.inf) & (ends[1] > -np.inf))
        always = ~never & np.isinf(ends[0]) & np.isinf(ends[1])
        for wrong, reason in (
            (never, "the scale has no values there, so leave the transform out"),
            (always, "all values are there, so leave it empty"),
        ):
            if wrong.any():
                k = int(np.argmax(wrong))
                got = f"{Statement(float(low[k]), float(high[k]))} at {where(k)}"
                raise DataError(f"expected limits within the {self} scale, got {got}: {reason}.")

    def inverse(self, z: ArrayLike) -> Array:
        """Return values in the user's units; the log scale stops at 1e150, so that nothing overflows."""
        x = np.asarray(z, dtype=np.float64)
        if self.kind == "log":
            return np.asarray(np.exp(np.clip(x, np.log(SMALLEST), np.log(LARGEST))))
        if self.kind == "logit":
            share = expit(x)
            return np.clip(self.low * (1.0 - share) + self.high * share, self.low, self.high)
        return x

    def slope(self, z: ArrayLike) -> Array:
        """Return by how much the user's units change with the scale of the model, at z."""
        x = np.asarray(z, dtype=np.float64)
        if self.kind == "logit":
            return np.asarray((self.high - self.low) * expit(x) * expit(-x))
        return self.inverse(x) if self.kind == "log" else np.ones(x.shape)

    def _refusal(self) -> tuple[str, str]:
        """What is expected of values, and what to do about those outside."""
        if self.kind == "log":
            expected = "expected positive values (1e-150 to 1e150) for the log scale"
            return expected, "; values that can be zero or negative are best left as they are"
        if self.kind == "logit":
            width = 0.01 * (self.high - self.low)
            low, high, lower, higher = map(
                _number, (self.low, self.high, self.low - width, self.high + width)
            )
            advice = (
                f"; if values at the ends mean at or beyond, leave out the transform and say limits=({low}, {high}) "
                f"(--limits {low},{high}), or take a wider interval, like transform='logit({lower}, {higher})'"
            )
            return f"expected values above {low} and below {high} for the {self} scale", advice
        return "expected finite numbers", ""


NONE = Transform()


def _log(x: Array) -> Array:
    """The C library's logarithm: NumPy's rounds differently on other processors, which chains would magnify."""
    return np.asarray(xlogy(1.0, x))


def _number(x: float) -> str:
    return repr(x).removesuffix(".0")


def guess_ends(values: ArrayLike) -> tuple[float, float] | None:
    """Return 0 and 100, or 0 and 1, if values look like those of a scale that ends there; None otherwise.

    All lie between the ends, the largest in the upper tenth, and at least NEAR_ENDS of them within 1% of an end. Two
    different values are yes and no, and no scale.
    """
    y = np.asarray(values, dtype=np.float64)
    if not y.size or y.min() < 0:
        return None
    high = 1.0 if y.max() <= 1 else 100.0
    if not 0.9 * high <= y.max() <= high or len(np.unique(y)) < 3:
        return None
    near = (y <= 0.01 * high) | (y >= 0.99 * high)
    return (0.0, high) if near.sum() >= NEAR_ENDS else None


def is_beyond(values: ArrayLike, limits: tuple[float, float] | None) -> Flags:
    """Return which values lie so far beyond the two ends of a scale that they cannot be meant.

    Noise may carry a reading a little beyond an end, a lost decimal point or another unit much farther. A scale that is
    open at one end has no width to judge by.
    """
    low, high = limits or (-np.inf, np.inf)
    slack, y = BEYOND * (high - low), np.asarray(values, dtype=np.float64)
    return np.asarray((y < low - slack) | (y > high + slack))


def warn_of_beyond(o: Observations, limits: tuple[float, float] | None) -> None:
    """Warn of plain values far beyond the ends of the scale."""
    far = np.flatnonzero(is_beyond(o.values, limits) & (True if o.low is None else o.low == o.high))
    if limits is not None and far.size:
        where = place(o.row_axis, int(o.rows[far[0]]), o.col_axis, int(o.cols[far[0]]))
        more = f" (and {far.size - 1} more)" if far.size > 1 else ""
        warn(
            f"expected values from {limits[0]:g} to {limits[1]:g}, got {o.values[far[0]]:g} at {where}{more}, which "
            "counts as at the end of the scale or beyond. Is it a mistake?",
            stacklevel=3,
        )


def hint_kind(values: ArrayLike, shell: bool = False) -> str:
    """Say what else values may be: yes and no if all are 0 and 1, grades if they are few numbers a step apart.

    Grades begin at 0 or 1, or at half a point in steps of half a point. "" for all other values.
    """
    y = np.asarray(values, dtype=np.float64)
    if len(np.unique(y[:1000])) > MOST_GRADES or len(found := np.unique(y)) > MOST_GRADES:
        return ""
    if y.size < EACH * len(found) or len(found) < 2 or found[0] not in (0, 0.5, 1):
        return ""
    step, steps = 0.5 if found[0] == 0.5 or (found % 1).any() else 1.0, np.diff(found)
    if not (steps == step).all():
        return ""
    listed = ",".join(f"{x:g}" for x in found)
    if listed == "0,1":
        how = "--kind yes/no" if shell else 'kind="yes/no"'
        return f"all values are 0 or 1; if they mean no and yes, say {how}"
    how = f"--kind grades --levels {listed}" if shell else f'kind="grades", levels=[{listed}]'
    return f"all values are among {listed}; if they are grades, say {how}" if len(found) > 2 else ""


@dataclass(frozen=True, eq=False)
class Scales:
    """Scales of the columns or of the rows: y = shift + factor z; 0 and 1 where a line has none of its own."""

    side: Side
    shift: Array  # (m,)
    factor: Array  # (m,)

    @property
    def own(self) -> Indices:
        """The lines with a scale or a location of their own."""
        return np.flatnonzero((self.factor != 1.0) | (self.shift != 0.0))

    def at(self, rows: Any, cols: Any) -> tuple[Array, Array]:
        """Shift and factor of the entries (rows, cols); of a block where these are slices."""
        line, extra = (cols, ()) if self.side == "columns" else (rows, (None,) * isinstance(rows, slice))
        return self.shift[(line, *extra)], self.factor[(line, *extra)]

    def move(self, to: Indices, m: int) -> Scales:
        """Return the scales with the lines at new positions among m; others have none of their own."""
        shift, factor = np.zeros(m), np.ones(m)
        shift[to], factor[to] = self.shift, self.factor
        return Scales(self.side, shift, factor)


class ValueMap(NamedTuple):
    """From values in the user's units to those that are modelled, and back: the transform, then the scales."""

    transform: Transform = NONE
    scales: Scales | None = None

    @property
    def plain(self) -> bool:
        """Whether values are modelled as they are."""
        return self.transform == NONE and self.scales is None

    def forward(
        self, values: ArrayLike, rows: Any, cols: Any, where: Callable[[int], str] | None = None
    ) -> Array:
        """Return the values of the entries (rows, cols) as they are modelled."""
        z = self.transform.forward(values, where)
        if self.scales is None:
            return z
        shift, factor = self.scales.at(rows, cols)
        return np.asarray((z - shift) / factor)

    def slope(self, values: Array, rows: Any, cols: Any) -> Array:
        """Return how fast values as they are modelled change with those in the user's units."""
        kind, low, high = self.transform.kind, self.transform.low, self.transform.high
        if kind == "log":
            slope = 1.0 / values
        elif kind == "logit":
            slope = (high - low) / ((values - low) * (high - values))
        else:
            slope = np.ones(values.shape)
        return np.asarray(slope / self.factor(rows, cols))

    def forward_end(self, ends: Array, rows: Any, cols: Any) -> Array:
        """Return ends of measurements of the entries as they are modelled; those beyond the scale are infinite."""
        z = self.transform.forward_end(ends)
        if self.scales is None:
            return z
        shift, factor = self.scales.at(rows, cols)
        return np.asarray((z - shift) / factor)

    def inverse(self, z: ArrayLike, rows: Any, cols: Any) -> Array:
        """Return the entries (rows, cols), the last axes of z, in the user's units; slices are of a block."""
        if self.scales is None:
            return self.transform.inverse(z)
        shift, factor = self.scales.at(rows, cols)
        return self.transform.inverse(shift + factor * np.asarray(z, dtype=np.float64))

    def common(self, values: Array, rows: Any, cols: Any) -> Array:
        """Return the values of these entries in the units that the other lines have."""
        return values if self.scales is None else self.transform.inverse(self.forward(values, rows, cols))

    def common_unit(self, values: Array, rows: Any, cols: Any) -> Array:
        """Return how large, in the units of the other lines, a small change of these entries' values is."""
        if self.scales is None:
            return np.ones(np.shape(values))
        z, u = self.forward(values, rows, cols), self.transform.forward(values)
        slope = np.maximum(self.transform.slope(u), np.finfo(np.float64).tiny)
        return np.asarray(self.transform.slope(z) / (self.factor(rows, cols) * slope))

    def factor(self, rows: Any, cols: Any) -> Array:
        """Return the size of the entries' scales, 1 where they have none of their own."""
        return np.ones(np.shape(rows)) if self.scales is None else self.scales.at(rows, cols)[1]

    def restrict(self, rows: Indices, cols: Indices) -> ValueMap:
        """Return the map of some rows and columns."""
        if self.scales is None:
            return self
        shift, factor = self.scales.at(rows, cols)
        return ValueMap(self.transform, Scales(self.scales.side, shift, factor))


def find_scales(
    wish: Scaling, rows: Indices32, cols: Indices32, values: Array, shape: tuple[int, int], centred: bool
) -> Scales | None:
    """Find the columns or rows that need a scale of their own; None where there are none.

    "columns" and "rows" scale every line by its own spread, shrunken to the typical one where values are few. "auto"
    scales only lines that differ beyond doubt: in other units, not merely more or less varied. Where both columns and
    rows seem to, it takes the side without small ones, or that leaves fewer of both: beside rows in other units,
    columns that have hardly any of their values look small. centred: whether the model has means, so that locations
    are free.
    """
    whole = values.size <= MOST_VALUES
    if not whole:  # at random: every tenth value, say, may be of the same few columns
        some = np.unique(np.random.default_rng(0).integers(values.size, size=MOST_VALUES))
        rows, cols, values = rows[some], cols[some], values[some]
    lines = {"columns": cols, "rows": rows}
    sizes = {"columns": shape[1], "rows": shape[0]}
    sides: tuple[Side, ...] = ("columns", "rows") if wish == "auto" else () if wish == "none" else (wish,)

    def measure(side: Side, x: Array) -> OwnScales | None:
        spreads = LineSpreads.measure(lines[side], x, sizes[side], centred)
        other = lines["rows" if side == "columns" else "columns"]
        return spreads.scales(side, every=wish != "auto", entries=(lines[side], other, x), whole=whole)

    found = [own for side in sides if (own := measure(side, values)) is not None]
    if len(found) < 2:
        return found[0].scales if found else None

    def doubt(own: OwnScales) -> tuple[bool, int]:
        shift, factor = own.scales.at(rows, cols)
        again = (measure(side, (values - shift) / factor) for side in sides)
        return own.small, sum(other.scales.own.size for other in again if other is not None)

    return min(found, key=doubt).scales


class OwnScales(NamedTuple):
    """The scales of lines of one side, and whether some have them because their values are small."""

    scales: Scales
    small: bool


Entries = tuple[Indices32, Indices32, Array]  # the lines and the other lines of values, and these


class LineSpreads(NamedTuple):
    """Robust locations and spreads of the lines (columns or rows), all (m,)."""

    n: Indices  # values
    middle: Array  # median; 0 where the model has no means
    spread: Array  # upper quartile of the distances from it, as an sd of normal values
    largest: Array  # nine tenths of the values are at most this far from zero
    distinct: Array  # share of distinct values
    low: Array  # least value
    high: Array  # greatest value
    centred: bool

    @classmethod
    def measure(cls, line: Indices32, values: Array, m: int, centred: bool) -> LineSpreads:
        """Measure the m lines, given the line of each value."""
        n = np.bincount(line, minlength=m)
        first, some = np.cumsum(n) - n, n > 0

        def quantile(x: Array, q: float, order: Indices) -> Array:
            at = np.zeros(m)
            at[some] = x[order][(first + (q * np.maximum(n - 1, 0)).astype(np.int64))[some]]
            return at

        order = np.lexsort((values, line))
        middle = quantile(values, 0.5, order) if centred else np.zeros(m)
        distance, size = np.abs(values - middle[line]), np.abs(values)
        spread = quantile(distance, 0.75, np.lexsort((distance, line))) / UPPER_QUARTILE
        largest = quantile(size, 0.9, np.lexsort((size, line)))
        sorted_line, sorted_values = line[order], values[order]
        new = np.ones(values.size, dtype=bool)
        new[1:] = (np.diff(sorted_line) > 0) | (np.diff(sorted_values) > 0)
        distinct = np.bincount(sorted_line[new], minlength=m) / np.maximum(n, 1)
        low, high = (quantile(values, q, order) for q in (0.0, 1.0))
        return cls(n, middle, spread, largest, distinct, low, high, centred)

    def scales(
        self, side: Side, *, every: bool, entries: Entries | None = None, whole: bool = True
    ) -> OwnScales | None:
        """Return scales of every line, or of those that differ beyond doubt; None if no line gets one.

        entries: what was measured, for lines that differ; whole: whether that is all, so that few of a line are few.
        """
        known = (self.n >= FEWEST) & (self.spread > 0)
        if known.sum() < 2:
            return None
        log_spread = np.log(self.spread, out=np.zeros(self.n.size), where=known)
        typical = _lower_median(log_spread[known])
        ratio = np.where(known, log_spread - typical, 0.0)
        error = SCALE_ERROR / np.sqrt(np.maximum(self.n, 1))
        centre = _lower_median(self.middle[known])
        scaled, moved = self._beyond_doubt(known, ratio, error, np.exp(typical), centre)
        small = scaled & (ratio < 0) & ~moved
        if entries is not None and not every:
            far = self._away(centre) > FAR_AWAY * _lower_median(self.largest[self.n > 0])
            few = far & (self.n < EVIDENCE) & self.centred
            unlike = self._unlike_in_size(scaled | moved | few, entries)
            scaled, moved, small, few = scaled & unlike, moved & unlike, small & unlike, few & unlike
            line, _, values = entries
            rest = np.abs(values[~(scaled | moved | few)[line]] - centre)
            high = float(np.quantile(rest, HITS, method="lower")) if rest.size else 0.0
            scaled &= (ratio < 0) | (self.spread > high)
            moved &= np.abs(self.middle - centre) > high
            most = float(np.abs(values[~(scaled | moved | few)[line]] - centre).max(initial=0.0))
            few &= whole & self._stand_apart(few, most, centre, entries)
            by_range = (self.high - self.low) * np.take(BY_RANGE, np.clip(self.n - 2, 0, 3))
            ratio = np.where(few, np.log(np.maximum(by_range, np.exp(typical))) - typical, ratio)
            # in another unit, so that the spread is another one, too, if it looks so
            scaled |= few | (moved & known & (np.abs(ratio) - 2 * error > np.log(LARGER)))
            moved |= few
        alike = max(float(np.mean(ratio[known] ** 2 - error[known] ** 2)), 0.05)
        between = np.where(scaled, ratio**2, alike)
        shrunken = ratio * between / (between + error**2)
        factor = np.exp(np.where(known | scaled if every else scaled, shrunken, 0.0))
        location = np.where(scaled | moved, self.middle, centre)
        shift = np.where((factor == 1.0) & ~moved, 0.0, location - factor * centre)
        found = Scales(side, shift, factor)
        return OwnScales(found, bool(small.any())) if found.own.size else None

    def _away(self, centre: float) -> Array:
        """How far from the centre all values of each line are, on one side; negative where they are on both."""
        return np.asarray(np.maximum(self.low - centre, centre - self.high))

    def _unlike_in_size(self, odd: Flags, entries: Entries) -> Flags:
        """Which of the odd lines lie beyond a gap to the others, by the logarithms of their values.

        All of them may where some values are negative. Where none is, lines may differ by factors in any table, as run
        times and concentrations do, but then there are lines of every size: another unit leaves a gap.
        """
        line, _, values = entries
        some = values > 0
        if not some.any() or (values < 0).any():
            return np.ones(self.n.size, dtype=bool)
        logs, at = np.log(values[some]), line[some]
        by_line = LineSpreads.measure(at, logs, self.n.size, True)
        above = (logs - by_line.middle[at])[by_line.n[at] >= FEWEST]
        above = above[above > 0]  # below, values near zero have very small logarithms
        typical = float(np.quantile(above, 0.75)) / UPPER_QUARTILE if above.size else 0.0
        centre = _lower_median(by_line.middle[by_line.n > 0])
        order, first = np.lexsort((logs, at)), np.cumsum(by_line.n) - by_line.n
        quarter = (0.25 * np.maximum(by_line.n - 1, 0)).astype(np.int64)
        low, high = (
            logs[order][np.minimum(k, logs.size - 1)]
            for k in (first + quarter, first + by_line.n - 1 - quarter)
        )
        gap = np.maximum(np.log(BEYOND_DOUBT), GAP * (1 + 1 / np.sqrt(np.maximum(by_line.n, 1))) * typical)
        ordinary, unlike = ~odd & (by_line.n > 0), odd.copy()
        for outward, near in (
            (by_line.middle - centre, low - centre),
            (centre - by_line.middle, centre - high),
        ):
            apart = np.flatnonzero(odd & (by_line.n > 0) & (outward > 0))
            apart = apart[np.argsort(outward[apart], kind="stable")]
            ends = np.append(outward[ordinary].max(initial=0.0), outward[apart])
            gaps = np.flatnonzero(np.diff(ends) >= gap[apart])
            unlike[apart[: gaps[0] if gaps.size else None]] = False
            unlike[apart[near[apart] <= ends[0]]] = False  # a line with hits has others, too
        return np.asarray(unlike)

    def _stand_apart(self, few: Flags, rest: float, centre: float, entries: Entries) -> Flags:
        """Which of few lines have 2 entries or more, all of them farther away than the rest by far.

        Repeated measurements are one entry.
        """
        apart = few & (self.n > 1) & (self._away(centre) > FAR_AWAY * rest)
        line, other, _ = entries
        some = np.flatnonzero(apart[line])
        order = some[np.lexsort((other[some], line[some]))]
        new = np.ones(order.size, dtype=bool)
        new[1:] = (np.diff(line[order]) > 0) | (np.diff(other[order]) > 0)
        return np.asarray(apart & (np.bincount(line[order][new], minlength=apart.size) > 1))

    def _beyond_doubt(
        self, known: Flags, ratio: Array, error: Array, typical: float, centre: float
    ) -> tuple[Flags, Flags]:
        """Which lines have another spread, and which another location, than the lines of one table ever have.

        Spreads alone do not tell: a line may be nearly constant (all at a limit), or all others may be. In other units
        the values themselves are of another size: the spread of a large line exceeds the typical values, and a
        small line as a whole is lost in the typical spread.
        """
        size = max(_lower_median(self.largest[lines]) for lines in (known, self.n > 0))  # few may be known
        large = (ratio - 2 * error > np.log(BEYOND_DOUBT)) & (self.spread > LARGER * size)
        small = (-ratio - 2 * error > np.log(MUCH_SMALLER)) & (self.largest * MUCH_SMALLER < typical)
        away = np.abs(self.middle - centre)
        far = (away > 2 * BEYOND_DOUBT * np.maximum(typical, 3 * error * self.spread)) & (
            away > BEYOND_DOUBT * size
        )
        enough = self.n >= EVIDENCE  # a constant line has a location, too
        return enough & known & (large | (small & (self.distinct >= 0.75))), enough & far & self.centred


def _lower_median(x: Array) -> float:
    """Return the median, of an even number the lower one: a mean of the two would belong to neither half."""
    return float(np.sort(x)[(x.size - 1) // 2])


def describe_scales(scales: dict[Any, float]) -> str:
    """Name the lines on scales of their own, those farthest from the others first."""
    ordered = sorted(scales.items(), key=lambda item: -abs(np.log(item[1])))
    listed = [
        f"{one_line(label)} ({'location only' if factor == 1 else f'x {factor:.3g}'})"
        for label, factor in ordered[:MOST_NAMED]
    ]
    more = len(ordered) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")


def find_far(values: Array) -> Indices:
    """Return which values lie far from nine tenths of all, the farthest first; none where there are few values."""
    if values.size < FEWEST_FAR:
        return np.empty(0, dtype=np.int64)
    low, high = np.quantile(values, (0.05, 0.95))
    away = np.maximum(low - values, values - high)
    far = np.flatnonzero(away > FAR * (high - low)) if high > low else np.empty(0, dtype=np.int64)
    return far[np.argsort(-away[far], kind="stable")]
