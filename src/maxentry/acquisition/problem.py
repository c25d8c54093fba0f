"""The problem a criterion solves: which entries may be measured, at what cost, within which limits of a batch.

`Problem` is the input of every `Criterion`, `Selection` its output; `Quota` counts down the limits of a batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from maxentry._types import Array, Flags, Indices
from maxentry.belief import Belief, Entries, check_shape
from maxentry.errors import DataError, ParameterError, is_choice, is_flag, is_whole
from maxentry.frames import Form, frame_library, parse_flags
from maxentry.labels import Labels, align_matrix, align_vector, as_array
from maxentry.wording import show

LARGEST_DRAW = 1e70  # criteria compute fourth powers
Shape = tuple[int, int]
COST_PARTS = ("entry", "row", "col")
NO_LIMIT = 2**62
LARGEST_PLATE = 48  # rows or columns: plates of 1,536 wells have 32 x 48
_BLOCK = re.compile(r"\s*(\d{1,9})\s*[xX×]\s*(\d{1,9})\s*")


@dataclass(frozen=True, eq=False)
class Costs:
    """cost_ij = entry_ij + row_i + col_j of the parts given; 1 where none is given."""

    entry: Any = None  # (m1, m2)
    row: Any = None  # (m1,)
    col: Any = None  # (m2,)

    @property
    def parts(self) -> dict[str, Any]:
        """The parts that are given, by name."""
        return {name: part for name in COST_PARTS if (part := getattr(self, name)) is not None}

    @property
    def given(self) -> bool:
        """Whether any part is given."""
        return bool(self.parts)

    def at(self, rows: Any, cols: Any) -> Array:
        """Return the costs of the entries (rows, cols), which broadcast as indices do."""
        i, j = np.broadcast_arrays(np.asarray(rows), np.asarray(cols))
        if not self.given:
            return np.ones(i.shape)
        cost, places = np.zeros(i.shape), {"entry": (i, j), "row": (i,), "col": (j,)}
        for name, part in self.parts.items():
            cost += np.asarray(part)[places[name]]
        return cost

    def extremes(self, rows: Indices, cols: Indices) -> tuple[float, float]:
        """Return the least and the greatest cost of an entry of this block."""
        with np.errstate(over="ignore"):
            if self.entry is not None:
                cost = self.at(rows[:, None], cols)
                return float(cost.min()), float(cost.max())
            pairs = ((self.row, rows), (self.col, cols))
            parts = [np.asarray(part, dtype=float)[which] for part, which in pairs if part is not None]
            least, most = (float(np.sum([f(part) for part in parts])) for f in (np.min, np.max))
        return (least, most) if parts else (1.0, 1.0)

    def check(self, shape: Shape) -> None:
        """Refuse parts of another shape, infinite costs, and entries that cost nothing."""
        for name, part in self.parts.items():
            expected, values = _part_shape(name, shape), _numbers(part, name)
            if values.shape != expected:
                raise ParameterError(f"expected {name} costs of shape {expected}, got {values.shape}.")
            if not np.isfinite(values).all():
                raise ParameterError(f"expected finite {name} costs, got {values[~np.isfinite(values)][0]}.")
        least, most = self.extremes(*map(np.arange, shape))
        if not least > 0:
            raise ParameterError(f"expected costs above zero, got an entry that costs {least:g}.")
        if not np.isfinite(most):
            raise ParameterError("expected finite costs, got parts that add up to an infinite one.")

    def with_part(self, side: Literal["row", "col"], shape: Shape) -> Costs:
        """Return the same costs with a part for rows (or columns), so that new ones can have their own."""
        if getattr(self, side) is not None:
            return self
        part = np.full(_part_shape(side, shape), 0.0 if self.given else 1.0)
        return replace(self, **{side: part})

    def without(self, side: Literal["row", "col"], gone: Indices) -> Costs:
        """Return the costs of a matrix without these rows (or columns)."""
        axes = {"entry": 0 if side == "row" else 1, side: 0}
        parts = {
            name: np.delete(np.asarray(part), gone, axes[name]) if name in axes else part
            for name, part in self.parts.items()
        }
        return Costs(**parts)

    def extended(self, shape: Shape, row: Any = None, col: Any = None, *, by_line: bool = False) -> Costs:
        """Return the costs of a larger matrix. New rows and columns cost `row` and `col`, else the mean of the old.

        by_line: entry costs of a new row are the mean of each column, of a new column that of each row.
        """
        new = {"row": row, "col": col}
        parts = {
            name: _extend_part(part, _part_shape(name, shape), name, new.get(name), by_line)
            for name, part in self.parts.items()
        }
        larger = Costs(**parts)
        larger.check(shape)
        return larger


def read_costs(given: Any, rows: Labels, cols: Labels) -> Costs:
    """Read costs from None, an m1 x m2 array or wide frame, or parts named entry, row and col.

    Row and column parts may be arrays in the order of the labels, or mappings from each label to a number. Frames and
    pandas' series are read by their labels.
    """
    if isinstance(given, Costs):
        given = given.parts
    parts = dict(given) if isinstance(given, Mapping) else {"entry": given}
    unknown = [name for name in parts if name not in COST_PARTS]
    if unknown:
        raise ParameterError(f"expected costs named entry, row or col, got {show(unknown[0])}.")
    ordered = {
        "entry": align_matrix(parts.get("entry"), rows, cols, "cost"),
        "row": align_vector(parts.get("row"), rows, "row"),
        "col": align_vector(parts.get("col"), cols, "col"),
    }
    costs = Costs(**{name: _read_part(part, name) for name, part in ordered.items() if part is not None})
    costs.check((len(rows), len(cols)))
    return costs


def _numbers(part: Any, name: str) -> Array:
    try:
        if np.asarray(part).dtype.kind in "mMc":  # NumPy would count the days, and drop imaginary parts
            raise TypeError
        return np.array(part, dtype=np.float64)
    except Exception:  # text, lists of other lengths, numbers too large, a class of somebody else's
        raise ParameterError(f"expected numbers as {name} costs, got {show(part)}.") from None


def _read_part(part: Any, name: str) -> Array:
    """Return costs of a user as a read-only array of numbers from zero on."""
    array = _numbers(part, name)
    if (array < 0).any():
        raise ParameterError(f"expected {name} costs from zero on, got {array[array < 0][0]}.")
    array.setflags(write=False)
    return array


def _part_shape(name: str, shape: Shape) -> tuple[int, ...]:
    return {"entry": shape, "row": shape[:1], "col": shape[1:]}[name]


def _extend_part(part: Array, shape: tuple[int, ...], name: str, new: Any, by_line: bool) -> Array:
    larger = np.full(shape, part.mean())
    larger[tuple(slice(n) for n in part.shape)] = part
    if by_line and part.ndim == 2:
        m1, m2 = part.shape
        larger[m1:, :m2], larger[:m1, m2:] = part.mean(0), part.mean(1)[:, None]
    if new is not None and (more := shape[0] - len(part)):
        added = _read_part(new, name)
        if added.shape != (more,):
            raise ParameterError(f"expected {more} new {name} costs, got an array of shape {added.shape}.")
        larger[len(part) :] = added
    larger.setflags(write=False)
    return larger


@dataclass(frozen=True)
class Limits:
    """Limits of a batch: at most this many in a row or column, or plates: whole rows or columns, or a block.

    plates: "rows", "cols", or the size of a block like "8x12": as many rows by as many columns.
    """

    per_row: int | None = None
    per_col: int | None = None
    plates: str | None = None

    @cached_property
    def block(self) -> Shape | None:
        """The size of a plate that is a block of rows and columns; None for any other."""
        found = _BLOCK.fullmatch(self.plates) if isinstance(self.plates, str) else None
        return None if found is None else (int(found[1]), int(found[2]))

    def __post_init__(self) -> None:
        for name, most in (("per_row", self.per_row), ("per_col", self.per_col)):
            if most is not None and not is_whole(most, 1):
                raise ParameterError(f"expected {name} of at least 1, got {most}")
        if self.block is not None and not (min(self.block) >= 1 and max(self.block) <= LARGEST_PLATE):
            raise ParameterError(
                f"expected a plate of 1 to {LARGEST_PLATE} rows and columns, got {self.plates}"
            )
        if self.plates is not None and self.block is None and not is_choice(self.plates, ("rows", "cols")):
            raise ParameterError(
                f"expected plates 'rows', 'cols', a block like '8x12' or None, got {show(self.plates)}"
            )
        if self.plates is not None and (self.per_row is not None or self.per_col is not None):
            raise ParameterError("expected plates or limits per row and column, got both")


@dataclass(frozen=True, eq=False)
class Problem:
    """Which entries may be chosen, and which are measured or pending.

    An entry is available where the mask allows it and it is neither observed nor pending. With `again` the observed
    and the pending are available too, and one batch may hold an entry more than once, since noise makes replicates
    worthwhile (uniform and balanced batches, and plates, hold it once). Pending entries always count as measured.
    Where the mask or the costs of entries come in a frame, `choose` returns a frame with its labels.
    """

    shape: Shape
    observed: Entries = field(default_factory=Entries.none)
    pending: Entries = field(default_factory=Entries.none)
    mask: Flags | None = None
    again: bool = False
    costs: Costs = field(default_factory=Costs)
    limits: Limits = field(default_factory=Limits)
    form: Form = field(default=Form(), init=False)  # in which the mask, or the costs of entries, came

    def __post_init__(self) -> None:
        for name, kind in (("costs", Costs), ("limits", Limits)):
            if not isinstance(getattr(self, name), kind):
                raise ParameterError(
                    f"expected {name} to be {kind.__name__}(...), got {show(getattr(self, name))}"
                )
        if not is_flag(self.again):
            raise ParameterError(f"expected again to be True or False, got {show(self.again)}")
        self._read_frames()
        m1, m2 = check_shape(self.shape)
        if self.mask is not None:
            mask = as_array(self.mask)
            if mask.shape != (m1, m2):
                raise ParameterError(f"expected a mask of shape {(m1, m2)}, got {mask.shape}")
            if mask.dtype != np.bool_:
                raise ParameterError(f"expected a mask of True and False, got one of {mask.dtype}")
        for name, entries in (("observed", self.observed), ("pending", self.pending)):
            Entries.read(entries, name).check_within((m1, m2), name)
        self.costs.check(self.shape)

    def _read_frames(self) -> None:
        """Turn a mask and costs given as frames into arrays; both must have the same labels."""
        forms = []
        if frame_library(self.mask) is not None:
            form, cells = Form.read(self.mask)
            forms.append(form)
            object.__setattr__(self, "mask", parse_flags(cells))
        if frame_library(self.costs.entry) is not None:
            form, cells = Form.read(self.costs.entry)
            forms.append(form)
            object.__setattr__(self, "costs", replace(self.costs, entry=cells))
        labels = {(form.kind, tuple(form.row_labels or ()), tuple(form.col_labels or ())) for form in forms}
        if len(labels) > 1:
            raise ParameterError("expected a mask and costs with the same labels in the same order")
        object.__setattr__(self, "form", forms[0] if forms else Form())

    def row_alone(self, i: int) -> Problem:
        """Return the problem of row i alone, without limits of a batch."""
        parts = ((part.rows == i, part.cols) for part in (self.observed, self.pending))
        observed, pending = (Entries(np.zeros(at.sum(), dtype=np.int64), cols[at]) for at, cols in parts)
        mask = None if self.mask is None else np.asarray(self.mask)[[i]]
        costs = Costs(entry=self.costs.at(i, np.arange(self.shape[1]))[None]) if self.costs.given else Costs()
        return Problem((1, self.shape[1]), observed, pending, mask, self.again, costs)

    @cached_property
    def taken(self) -> Entries:
        """Entries that may not be chosen though the mask allows them, sorted and distinct."""
        if self.again:
            return Entries.none()
        m2 = self.shape[1]
        return Entries.from_keys(np.unique(self.observed.joined(self.pending).keys(m2)), m2)

    @cached_property
    def _taken_from(self) -> Indices:
        """Positions in `taken` where each row starts, and the end."""
        return np.searchsorted(self.taken.rows, np.arange(self.shape[0] + 1))

    def available(self, rows: Indices, cols: Indices) -> Flags:
        """Which entries of a block of rows and columns may be chosen."""
        if self.mask is None:
            free = np.ones((len(rows), len(cols)), dtype=bool)
        else:
            free = np.array(np.asarray(self.mask)[np.ix_(rows, cols)])
        if len(self.taken.rows):
            start = self._taken_from[rows]
            n = self._taken_from[rows + 1] - start
            within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
            place = np.full(self.shape[1], -1)
            place[cols] = np.arange(len(cols))
            col = place[self.taken.cols[np.repeat(start, n) + within]]
            inside = col >= 0
            free[np.repeat(np.arange(len(rows)), n)[inside], col[inside]] = False
        return free


class Quota:
    """How many more entries a batch may take of each row and column."""

    def __init__(self, shape: tuple[int, int], limits: Limits) -> None:
        m1, m2 = shape
        self.row = np.full(m1, NO_LIMIT if limits.per_row is None else limits.per_row)
        self.col = np.full(m2, NO_LIMIT if limits.per_col is None else limits.per_col)

    def at(self, rows: Indices, cols: Indices) -> Flags:
        """Which entries of a block still have quota."""
        return (self.row[rows] > 0)[:, None] & (self.col[cols] > 0)

    def take(self, i: int, j: int) -> bool:
        """Use the quota of row i and column j; False where there is none left."""
        if self.row[i] == 0 or self.col[j] == 0:
            return False
        self.row[i] -= 1
        self.col[j] -= 1
        return True


class Selection(NamedTuple):
    """Entries in the order chosen, each with its gain given those before it, and its cost."""

    rows: Indices
    cols: Indices
    gain: Array  # nats, or mean variance for integrated variance; NaN for designs, which measure none
    cost: Array
    evaluated: int = 0  # entries whose variance was computed, each counted once; 0 for designs
    sampled: int = 0  # candidates in the sample that the batch was chosen from; 0 where the search was exact
    better: float = (
        0.0  # at most this share of the available entries gains more than the one chosen, 95% sure
    )

    @property
    def entries(self) -> Entries:
        """Their positions."""
        return Entries(self.rows, self.cols)


# Chooses n entries (or plates), or fewer where no more are available; the belief may be None for designs.
Criterion = Callable[[Belief | None, Problem, int, np.random.Generator], Selection]


def check_belief(belief: Belief | None, problem: Problem) -> Belief:
    """Return the belief; refuse None, another shape, or noise without variance."""
    if belief is None:
        raise ParameterError("expected a belief, got None: only 'uniform' and 'balanced' choose without one")
    if not isinstance(belief, Belief):
        raise ParameterError(f"expected a Belief, got a {type(belief).__name__}")
    if belief.shape != problem.shape:
        raise ParameterError(f"expected a belief of shape {problem.shape}, got {belief.shape}")
    eta2 = float(np.mean(belief.noise_var))
    if not (np.isfinite(eta2) and eta2 > 0):
        raise ParameterError(f"expected noise of mean variance above zero, got {eta2:g}")
    arrays = belief.left, belief.right, belief.row, belief.col
    left, right, *effects = (np.maximum(x.max(initial=0.0), -x.min(initial=0.0)) for x in arrays)
    size = float(np.max([float(left) * float(right), *effects]))
    if not size < LARGEST_DRAW:  # NaN, too
        raise DataError(
            f"expected draws below {LARGEST_DRAW:g} to choose by, got {size:g}; rescale the values"
        )
    return belief
