"""Features as numbers: categories as columns of their levels, missing values marked, columns standardised.

F    m x p    `Features.matrix`, the features of m rows (or columns) in p standardised columns
f_i  p        its row i
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxentry._types import Array, Flags, Indices
from maxentry.errors import DataError
from maxentry.features.table import FeatureTable, check_lines, read_features, read_new, read_sparse
from maxentry.labels import Axis, is_sparse, show
from maxentry.transform import find_far
from maxentry.wording import count, shorten

CONSTANT = 1e-12  # a column that varies by less than this share of its largest value is constant
RARE = 0.2  # a level with fewer rows than this share of those of the commonest is rare
LONE = 20.0  # so many times the range of all others an end lies beyond them that is a slip, however often it comes
MANIFOLD = 10.0  # largest over least of positive numbers that vary by factors
FEWEST_OTHERS = 5  # numbers of which one can say so
FEW_SLIPS = 2  # different numbers of a feature that lie far from all others; more are no slips
MARKED = ", and marked"
VALUE, MISSING = -1, -2  # what a column of the matrix holds, where it is not a level


class Encoding(NamedTuple):
    """How cells become the p columns of the matrix: (x - centre) / scale, with x = fill where nothing is known.

    The scale is the sd, of marks of missing values 1, of rare levels the largest among the levels of the category.

    source: the column of the table; part: VALUE, MISSING (1 where it is missing) or the position of a level.
    """

    source: Indices
    part: Indices
    fill: Array
    centre: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class Features:
    """Features of the rows (or columns) of a matrix: what was given, and how it becomes standardised numbers.

    Sparse features stay sparse: they are not centred, and all columns are divided by one number, so that rows have
    p as their mean sum of squares, like standardised ones. Rare bits stay small.
    """

    table: FeatureTable
    encoding: Encoding
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any, axis: Axis, categories: Iterable[str] = ()) -> Features:
        """Read features of an axis (see `read_features`), and standardise them."""
        if isinstance(given, Features):
            return replace(given, table=check_lines(given.table, axis))
        table, notes = read_features(given, axis, categories)
        return cls.standardise(table, axis.name, notes)

    @classmethod
    def standardise(cls, table: FeatureTable, name: str = "row", notes: Sequence[str] = ()) -> Features:
        """Find the encoding of a table; columns that are constant are dropped, and said."""
        encoding = _sparse_encoding(table.cells) if table.is_sparse else _dense_encoding(table)
        told = [*notes, *_describe(table, encoding)]
        if not encoding.source.size:
            empty = not table.is_sparse and bool(np.isnan(table.cells).all())
            got = "no value at all" if empty else "only constant ones"
            raise DataError(f"expected {name} features that vary, got {got}.")
        return cls(table, encoding, tuple(f"{name} features: {note}" for note in told))

    @cached_property
    def matrix(self) -> Any:
        """F, m x p: an array, or a CSR matrix of scipy."""
        e = self.encoding
        if self.table.is_sparse:
            kept = self.table.cells[:, e.source]
            kept.data = kept.data / e.scale[0]
            return kept
        raw = _expand(self.table.cells, e.source, e.part)
        filled = np.where(np.isnan(raw), e.fill, raw)
        return filled / e.scale - e.centre / e.scale

    @cached_property
    def known(self) -> Flags:
        """Which numbers of the matrix are known, m x p: not those of missing cells or of levels that are new."""
        known = np.isfinite(self.table.cells[:, self.encoding.source])
        return np.asarray(known | (self.encoding.part == MISSING))

    @property
    def new(self) -> Flags:
        """Which numbers of the matrix are of levels that are new, m x p."""
        strange = np.isinf(self.table.cells[:, self.encoding.source])
        return np.asarray(strange & (self.encoding.part != MISSING))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the p columns."""
        return tuple(
            self._column_name(int(s), int(k))
            for s, k in zip(self.encoding.source, self.encoding.part, strict=True)
        )

    def _column_name(self, source: int, part: int) -> str:
        name, levels = self.table.names[source], self.table.levels[source]
        if part == MISSING:
            return f"{name} missing"
        return name if part == VALUE or levels is None else f"{name}={levels[part]}"

    @property
    def centre(self) -> Array:
        """What is subtracted from each column."""
        return self.encoding.centre

    @property
    def scale(self) -> Array:
        """What each column is divided by."""
        return self.encoding.scale

    @property
    def shape(self) -> tuple[int, int]:
        """m, p."""
        return len(self.table), self.encoding.source.size

    def encode(self, new: Any, labels: Sequence[Hashable] = (), counted: bool = False) -> Features:
        """New rows in the same columns: a frame, a mapping (of one row, or of columns), an array or a sparse matrix.

        labels: of the new rows; a frame that has some of them (all, where the labels are only counted) is brought into
        their order.
        Nothing is known of a feature that is not given, and a level that is not known is none of the levels; notes say
        so.
        """
        if self.table.is_sparse or is_sparse(new):
            table = read_sparse(new) if is_sparse(new) else None
            if table is None or not self.table.is_sparse or len(table.names) != len(self.table.names):
                kind = "sparse" if self.table.is_sparse else "dense"
                got = show(getattr(new, "shape", type(new).__name__))
                raise DataError(f"expected {kind} features in {len(self.table.names)} columns, got {got}.")
            return replace(self, table=table, notes=())
        if isinstance(new, FeatureTable):
            return self._match(new, (), ())
        return self._match(*read_new(new, self.table, labels, counted))

    def _match(self, new: FeatureTable, said: Sequence[str], others: Sequence[str]) -> Features:
        """said: notes on lines without any features; others: on features that are not known."""
        table = new.match(self.table)
        for column, old, levels in zip(table.cells.T, self.table.cells.T, table.levels, strict=True):
            if levels is not None:  # a level that is listed, but that no row has, is unknown as well
                column[~np.isnan(column) & ~np.isin(column, old)] = np.inf
        strange = [
            name for name, column in zip(table.names, table.cells.T, strict=True) if np.isinf(column).any()
        ]
        absent = [name for name in table.names if name not in new.names]
        named = dict(zip(new.names, new.levels, strict=True))
        notes = [*said, *others]
        for name in strange:
            own = [x for x in named.get(name) or () if x not in (self.table.levels_of(name) or ())]
            which = f" ({_list([show(x) for x in own])})" if own else ""
            notes.append(f"unknown level of {show(name)}{which}: none of its levels")
        unsure = ", and rows are as uncertain as that makes them"
        notes += [f"{show(name)} is not given: taken as its mean{unsure}" for name in absent]
        hidden = np.isnan(table.cells)
        hidden = hidden[~hidden.all(axis=1) | (not said)].sum(axis=0)  # rows without any are said already
        holes = [
            f"{name} ({n})" for name, n in zip(table.names, hidden, strict=True) if n and name not in absent
        ]
        notes += (
            [f"missing values are taken as the mean of their column{unsure}: {_list(holes)}"] if holes else []
        )
        notes += describe_slips(table, self.table)
        return Features(table, self.encoding, tuple(notes))

    def without_marks(self, measured: Flags) -> Features:
        """The same without marks of missing values that no measured row has: nothing can be learned of these."""
        if self.table.is_sparse:
            return self
        missing = np.isnan(self.table.cells[measured]).any(axis=0)[self.encoding.source]
        kept = missing | (self.encoding.part != MISSING)
        if kept.all() or not kept.any():
            return self
        marked = (self.encoding.part[kept] == MISSING).any()
        notes = self.notes if marked else tuple(note.replace(MARKED, "") for note in self.notes)
        return replace(self, encoding=Encoding(*(column[kept] for column in self.encoding)), notes=notes)

    def take(self, places: Sequence[int] | Indices) -> Features:
        """The rows at these places, encoded as they are."""
        return replace(self, table=self.table.take(places))

    def to_json(self) -> dict[str, Any]:
        """As JSON data, from which `from_json` gives equal features."""
        encoding = {name: part.tolist() for name, part in self.encoding._asdict().items()}
        return {"table": self.table.to_json(), **encoding, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Features:
        """Read JSON data."""
        source, part = (np.array(given[name], dtype=np.int64) for name in ("source", "part"))
        numbers = (np.array(given[name], dtype=np.float64) for name in ("fill", "centre", "scale"))
        table = FeatureTable.from_json(given["table"])
        return cls(table, Encoding(source, part, *numbers), tuple(given["notes"]))


def _expand(cells: Array, source: Indices, part: Indices) -> Array:
    """The columns before they are standardised, NaN where nothing is known."""
    raw = cells[:, source]
    hidden = np.isnan(raw)
    level = part >= 0
    raw[:, level] = np.where(hidden[:, level], np.nan, raw[:, level] == part[level])
    raw[:, part == MISSING] = hidden[:, part == MISSING]
    return raw


def _dense_encoding(table: FeatureTable) -> Encoding:
    parts = [
        (s, k)
        for s, levels in enumerate(table.levels)
        for k in ([VALUE] if levels is None else range(len(levels)))
    ]
    parts += [(s, MISSING) for s in _patterns(np.isnan(table.cells))]
    source, part = np.array(parts, dtype=np.int64).reshape(-1, 2).T
    raw = _expand(table.cells, source, part)
    unit = np.nanmax(np.abs(raw), axis=0, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    known = ~np.isnan(raw)
    shares = np.where(known, raw / unit, 0.0)  # of the largest, so that no square is too large
    mean = shares.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    sd = np.sqrt(np.mean(np.where(known, shares - mean, 0.0) ** 2, axis=0))
    # A mark of missing values has the size of one sd of a feature, however rare: standardised, that of a single row
    # would be several sds, and with nothing measured of the row say that it may be anywhere.
    scale = np.where(part == MISSING, 1.0, sd * unit)
    # So with a level that hardly any row has, beside those that many have: it has the size of the commonest.
    for s in {*source[part >= 0].tolist()}:
        own = (source == s) & (part >= 0)
        rare = own & (mean < RARE * mean[own].max())
        scale[rare & (sd > 0)] = scale[own].max()
    kept = (sd > CONSTANT) & (scale > 0) & np.isfinite(1 / np.where(scale > 0, scale, 1.0))
    fill = (mean * unit)[kept]
    return Encoding(source[kept], part[kept], fill, fill.copy(), scale[kept])


def _patterns(hidden: Flags) -> list[int]:
    """The first column of each pattern of missing values that is neither empty nor full."""
    first: dict[bytes, int] = {}
    for s, column in enumerate(hidden.T):
        if column.any() and not column.all():
            first.setdefault(column.tobytes(), s)
    return list(first.values())


def _sparse_encoding(matrix: Any) -> Encoding:
    kept = np.unique(matrix.indices[matrix.data != 0]).astype(np.int64)
    p = kept.size
    unit = float(np.abs(matrix.data).max(initial=0.0)) or 1.0
    mean_square = float(((matrix.data / unit) ** 2).sum()) / max(matrix.shape[0] * p, 1)
    zeros = np.zeros(p)
    scale = np.full(p, unit * math.sqrt(mean_square))
    return Encoding(kept, np.full(p, VALUE), zeros, zeros, scale)


def describe_missing(table: FeatureTable, most: float = np.inf) -> list[str]:
    """What is done to features that are missing; those with `most` missing cells or more are not named."""
    hidden = np.zeros(0) if table.is_sparse else np.isnan(table.cells).sum(axis=0)
    holes = np.flatnonzero((hidden > 0) & (hidden < most))
    some = _list([f"{table.names[j]} ({hidden[j]})" for j in holes])
    return [f"missing values are taken as the mean of their column{MARKED}: {some}"] if some else []


def describe_slips(table: FeatureTable, known: FeatureTable | None = None) -> list[str]:
    """Name numbers far from all others, and from those of a known table: by them features are standardised."""
    if table.is_sparse or (known is not None and known.is_sparse):
        return []
    found = []
    for name, levels, column in zip(table.names, table.levels, table.cells.T, strict=True):
        if levels is not None:
            continue
        old = known.cells[:, known.names.index(name)] if known is not None and name in known.names else []
        if (
            len(old)
            and not (
                (column < np.nanmin(old, initial=np.inf)) | (column > np.nanmax(old, initial=-np.inf))
            ).any()
        ):
            continue
        x = np.concatenate([old, column])
        some = np.flatnonzero(np.isfinite(x))
        far = some[_find_odd(x[some])]
        positive = some[x[some] > 0]
        sizes = positive.size and (x[some] >= 0).all() and x[positive].max() > MANIFOLD * x[positive].min()
        if (
            sizes or positive.size == some.size
        ):  # what varies by factors lies far from most without being a slip
            far = np.intersect1d(far, positive[_find_odd(np.log(x[positive]))])
        if 0 < np.unique(x[far]).size <= FEW_SLIPS and (far >= len(old)).any():
            low, high = np.quantile(x[np.setdiff1d(some, far)], (0.05, 0.95))
            worst = far[np.argmax(np.maximum(low - x[far], x[far] - high))]
            found.append(f"{show(name)} has {x[worst]:.4g} (nine tenths: {low:.4g} to {high:.4g})")
    return (
        [f"numbers far from all others (one such number spoils its feature): {'; '.join(found[:3])}"]
        if found
        else []
    )


def _find_odd(x: Array) -> Indices:
    """Which numbers lie far from nine tenths; and an end far beyond all others, perhaps a code for missing values."""
    odd = [find_far(x)]
    with np.errstate(over="ignore"):
        for end in (x.min(), x.max()) if x.size else ():
            others = x[x != end]
            if others.size >= max(FEWEST_OTHERS, x.size - others.size):
                low, high = others.min(), others.max()
                if high > low and max(low - end, end - high) > LONE * (high - low):
                    odd.append(np.flatnonzero(x == end))
    return np.unique(np.concatenate(odd))


def _describe(table: FeatureTable, encoding: Encoding) -> list[str]:
    """What was done to features that are missing or constant, and what may be a mistake."""
    notes = describe_missing(table, len(table)) + describe_slips(table)
    lost = sorted({*range(len(table.names))} - {*encoding.source.tolist()})
    if lost:
        notes.append(
            f"{count(len(lost), 'constant feature')} dropped: {_list([table.names[j] for j in lost])}"
        )
    return notes


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(shorten(name, 40) for name in names[:5]) + more
