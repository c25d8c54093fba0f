"""Heat maps: what was measured, the posterior's mean, uncertainty and interval width, and the next batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxentry.belief import Belief, Entries
from maxentry.errors import ParameterError
from maxentry.plots.records import Array, HeatMap, Indices, Kind, Marks, Side
from maxentry.plots.style import Scale
from maxentry.plots.subject import Subject
from maxentry.summary import maps
from maxentry.summary.maps import Bins, PosteriorMap, restrict
from maxentry.wording import one_line, percent

if TYPE_CHECKING:
    from maxentry.campaign.policy import Batch

Order = Literal["clustered"] | None

SAMPLED = 3  # rows (and columns) of a large cell that are evaluated at least
DOTTED = 2500  # cells of a map on which each measured entry can have a dot
PROFILE = 200  # columns by which rows are compared, evenly spread; and rows for columns
TREE, BEST_TREE = 2000, 400  # rows up to which a tree is made; up to which its best order is searched


def observed(subject: Subject, order: Order = None) -> HeatMap:
    """The measured values, replicates as their mean; where cells stand for many entries, the share measured."""
    return _measurement_map(subject, *_bins(subject, order))


def _measurement_map(subject: Subject, rows: Bins, cols: Bins) -> HeatMap:
    shape, keys = subject.shape, subject.measured_keys
    share = 100.0 * len(keys) / (shape[0] * shape[1])
    note = f"{len(keys):,} of {shape[0]:,} x {shape[1]:,} entries measured ({share:.3g}%)"
    if rows.binned or cols.binned:
        measured = Entries.from_keys(keys, shape[1])
        counts = maps.sum_entries(measured, np.ones(len(keys)), rows, cols)
        values = 100 * counts / (rows.sizes[:, None] * cols.sizes)
        ends = 0.0, max(float(values.max()), 1e-9)
        unit = "% of entries measured"
        return _heat_map(subject, "Measured entries", note, unit, values, rows, cols, "share", ends)
    values = maps.mean_values(*subject.measurements, rows, cols)
    unit = subject.with_unit("measured value")
    record = _heat_map(subject, "Measured entries", note, unit, values, rows, cols, "value")
    failed = _failure_marks(subject, rows, cols)
    return record._replace(marks=(failed,) if len(failed.rows) else ())


def mean(subject: Subject, order: Order = None) -> HeatMap:
    """The posterior mean of every entry."""
    return _posterior_map(subject, "Posterior mean", "posterior mean", "mean", *_bins(subject, order))


def sd(subject: Subject, order: Order = None) -> HeatMap:
    """The posterior standard deviation of every entry, without the noise of a measurement."""
    return _sd(subject, *_bins(subject, order))


def _sd(subject: Subject, rows: Bins, cols: Bins) -> HeatMap:
    return _posterior_map(subject, "Uncertainty", "posterior sd", "sd", rows, cols)


def width(subject: Subject, order: Order = None, level: float = 0.9) -> HeatMap:
    """The width of the interval that holds each entry with this probability."""
    from maxentry.posterior.intervals import check_level

    check_level(level)
    unit = f"width of {100 * level:g}% interval"
    return _posterior_map(subject, "Interval width", unit, "width", *_bins(subject, order), level)


def next_batch(subject: Subject, n: int = 8, order: Order = None, batch: Batch | None = None) -> HeatMap:
    """Where a campaign would measure next, and what it waits for, on the map of uncertainty."""
    batch = subject.next_batch(n) if batch is None else batch
    many = len(batch.rows)
    with_model = bool(np.isfinite(batch.sd).any()) or (not many and len(subject.measured_keys) > 0)
    rows, cols = _bins(subject, order)
    base = _sd(subject, rows, cols) if with_model else _measurement_map(subject, rows, cols)
    waiting = subject.pending
    pending = Entries.from_lists([a.row for a in waiting], [a.col for a in waiting])
    hints = [_prediction(batch, k) for k in range(many)]
    marks = [
        *(m for m in base.marks if m.kind == "measured"),
        _marks(subject, "pending", pending, [f"pending, id {a.id}" for a in waiting], rows, cols),
        _marks(subject, "next", Entries(batch.rows, batch.cols), hints, rows, cols),
        _failure_marks(subject, rows, cols),
    ]
    note = f"the next {many}" if many else f"none next: {batch.why}"
    note += f", {len(waiting)} pending" if waiting else ""
    if many and batch.why:  # a sentence, or the name of a criterion
        note += f"; {batch.why if ' ' in batch.why else 'chosen by ' + batch.why.replace('_', ' ')}"
    title = subject.title("Next batch")
    return base._replace(title=title, note=note, marks=tuple(m for m in marks if len(m.rows)))


def _prediction(batch: Batch, k: int) -> str:
    place = f"{k + 1} of the next {len(batch.rows)}"
    if not np.isfinite(batch.mean[k]):
        return place
    return f"{place}, predicted {batch.mean[k]:.4g} ± {batch.sd[k]:.3g}"


def _posterior_map(
    subject: Subject, title: str, unit: str, what: PosteriorMap, rows: Bins, cols: Bins, level: float = 0.9
) -> HeatMap:
    values, share = maps.posterior_cells(subject.posterior, what, rows, cols, level, least=SAMPLED)
    notes, marks = [subject.scale_note], []
    if rows.binned or cols.binned:
        sample = "" if share == 1 else f", from a sample of {percent(share)}"
        average = "mean" if what == "mean" else "root mean square"
        notes.insert(0, f"each cell the {average} of {rows.sizes.max()} x {cols.sizes.max()} entries{sample}")
    elif rows.n * cols.n <= DOTTED:
        measured = Entries.from_keys(subject.measured_keys, subject.shape[1])
        marks.append(_marks(subject, "measured", measured, ["measured"] * len(measured.rows), rows, cols))
    note, unit = "; ".join(filter(None, notes)), subject.with_unit(unit)
    scale: Scale = "value" if what == "mean" else "uncertainty"
    return _heat_map(subject, title, note, unit, values, rows, cols, scale)._replace(marks=tuple(marks))


def _heat_map(
    subject: Subject, title: str, note: str, unit: str, values: Array, rows: Bins, cols: Bins, scale: Scale,
    ends: tuple[float, float] | None = None,
) -> HeatMap:  # fmt: skip
    known = values[np.isfinite(values)]
    logarithmic = bool(
        scale != "share" and subject.transform.kind == "log" and known.size and known.min() > 0
    )
    if ends is None:
        ends = colour_limits(np.log(values)) if logarithmic else colour_limits(values)
        ends = (float(np.exp(ends[0])), float(np.exp(ends[1]))) if logarithmic else ends
    titles = subject.axis_titles
    sides = side(rows, titles[0], subject.row_labels), side(cols, titles[1], subject.col_labels)
    return HeatMap(subject.title(title), note, unit, values, *sides, scale, ends, logarithmic)


def colour_limits(values: Array) -> tuple[float, float]:
    """The least and the greatest value; where a few lie far out, where the bulk of them ends."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    bulk_low, bulk_high = (float(q) for q in np.quantile(known, [0.01, 0.99]))
    if bulk_high > bulk_low and high - low > 3 * (bulk_high - bulk_low):
        low, high = bulk_low, bulk_high
    if low == high:
        margin = 0.5 * abs(low) or 0.5
        return low - margin, high + margin
    return low, high


def _marks(
    subject: Subject, kind: Kind, entries: Entries, hints: Sequence[str], rows: Bins, cols: Bins
) -> Marks:
    names = tuple(
        f"{subject.entry_name(i, j)}: {hint}"
        for i, j, hint in zip(entries.rows, entries.cols, hints, strict=True)
    )
    return Marks(kind, rows.cells_at(entries.rows), cols.cells_at(entries.cols), names)


def _failure_marks(subject: Subject, rows: Bins, cols: Bins) -> Marks:
    failed = subject.failed
    return _marks(subject, "failed", failed, ["failed"] * len(failed.rows), rows, cols)


# Rows and columns of a map


def _bins(subject: Subject, order: Order) -> tuple[Bins, Bins]:
    if order not in (None, "clustered"):
        raise ParameterError(f"expected order to be None or 'clustered', got {order!r}.")
    orders = map(np.arange, subject.shape) if order is None else cluster_order(subject.posterior.belief)
    rows, cols = (Bins.split(side) for side in orders)
    return rows, cols


def side(bins: Bins, title: str, labels: Sequence[Any] | None) -> Side:
    """The names of cells: "A … F" for rows in their own order, "A + 5" for rows in another."""
    in_order = bool((np.diff(bins.order) > 0).all())

    def name(k: int) -> str:
        i = int(bins.order[k])
        return one_line(i if labels is None else labels[i])

    def cell_name(first: int, last: int) -> str:
        if last == first + 1:
            return name(first)
        return f"{name(first)} … {name(last - 1)}" if in_order else f"{name(first)} + {last - first - 1}"

    ends = zip(bins.edges[:-1].tolist(), bins.edges[1:].tolist(), strict=True)
    return Side(title, tuple(cell_name(*pair) for pair in ends), len(bins.order))


def cluster_order(belief: Belief) -> tuple[Indices, Indices]:
    """Orders of rows and columns that put like ones beside each other, by posterior means on the model's scale."""
    m1, m2 = belief.shape
    some_rows, some_cols = (Bins.split(np.arange(m), PROFILE).sample(1)[0] for m in (m1, m2))
    by_row = restrict(belief, np.arange(m1), some_cols).mean()
    by_col = restrict(belief, some_rows, np.arange(m2)).mean().T
    return similarity_order(by_row), similarity_order(by_col)


def similarity_order(profiles: Array) -> Indices:
    """The leaves of a tree of average linkage; by the first principal component if there are very many rows."""
    # Here, since loading them takes its time, and few maps are clustered.
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import pdist

    m = len(profiles)
    if m < 3:
        return np.arange(m)
    if m > TREE:
        centred = profiles - profiles.mean(0)
        leading = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        return np.argsort(centred @ leading, kind="stable").astype(np.int64)
    distances = pdist(profiles)
    tree = linkage(distances, "average")
    if m <= BEST_TREE:
        tree = optimal_leaf_ordering(tree, distances)
    return np.asarray(leaves_list(tree), dtype=np.int64)
