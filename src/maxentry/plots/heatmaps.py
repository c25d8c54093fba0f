"""Heat maps: what was measured, the posterior's mean, uncertainty and interval width, and the next batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxentry._types import Array, Indices
from maxentry.belief import Belief, Entries
from maxentry.errors import ParameterError, is_choice
from maxentry.model.likelihood import ANSWER_WORDS
from maxentry.plots.plot import Plot, Subject
from maxentry.plots.records import AxisLabels, HeatMap, Kind, Marks
from maxentry.plots.style import Scale
from maxentry.summary import maps
from maxentry.summary.maps import Bins, PosteriorMap, restrict
from maxentry.wording import one_line, percent

if TYPE_CHECKING:
    from maxentry.campaign.policy import Batch
    from maxentry.plots.plot import Source

Order = Literal["clustered"] | None
BinPair = tuple[Bins, Bins]  # of the rows, of the columns

SHARES = tuple((k / 4, f"{25 * k}%") for k in range(5))  # along the colours of probabilities
SAMPLED = 3  # rows (and columns) of a large cell that are evaluated at least
DOTTED = 2500  # cells of a map on which each measured entry can have a dot
PROFILE = 200  # columns by which rows are compared, evenly spread; and rows for columns
TREE, BEST_TREE = 2000, 400  # rows up to which a tree is made; up to which its best order is searched


def observed(source: Source, *, order: Order = None, unit: str = "") -> Plot:
    """Which entries were measured, and their values; where cells stand for many entries, the share measured."""
    subject = Subject.check(source, unit)
    return Plot(_measurement_map(subject, _bins(subject, order)))


def _measurement_map(subject: Subject, bins: BinPair) -> HeatMap:
    shape, keys = subject.shape, subject.measured_keys
    share = 100.0 * len(keys) / (shape[0] * shape[1])
    note = f"{len(keys):,} of {shape[0]:,} x {shape[1]:,} entries measured ({share:.3g}%)"
    rows, cols = bins
    if rows.binned or cols.binned:
        counts = maps.sum_entries(Entries.from_keys(keys, shape[1]), np.ones(len(keys)), rows, cols)
        shares = 100 * counts / (rows.sizes[:, None] * cols.sizes)
        return _heat_map(subject, "Measured entries", note, "% of entries measured", shares, bins, "share")
    values = maps.mean_values(subject.measured, subject.values, rows, cols)
    unit = subject.with_unit("measured value")
    if subject.likelihood.discrete:
        unit = subject.with_unit("grade" if subject.likelihood.levels else "answer")
    record = _heat_map(subject, "Measured entries", note, unit, values, bins, "value")
    failed = _failure_marks(subject, bins)
    return record._replace(marks=(failed,) if len(failed.rows) else ())


def mean(source: Source, *, order: Order = None, unit: str = "") -> Plot:
    """The completed matrix: the posterior mean of every entry, dots where measured.

    order: "clustered" puts rows and columns that are alike beside each other.
    unit: what values are measured in ("% yield"), for the colour bar.

    Rows and columns beyond 200 are put together in cells, whose averages are shown.
    """
    subject = Subject.check(source, unit)
    return Plot(_posterior_map(subject, "mean", _bins(subject, order)))


def sd(source: Source, *, order: Order = None, unit: str = "") -> Plot:
    """How far each entry may be off: the posterior standard deviation, without the noise of a measurement."""
    subject = Subject.check(source, unit)
    return Plot(_posterior_map(subject, "sd", _bins(subject, order)))


def width(source: Source, *, level: float = 0.9, order: Order = None, unit: str = "") -> Plot:
    """The width of the interval that holds each entry with probability `level`."""
    from maxentry.posterior.intervals import check_level

    check_level(level)
    subject = Subject.check(source, unit)
    return Plot(_posterior_map(subject, "width", _bins(subject, order), level))


def _posterior_map(subject: Subject, what: PosteriorMap, bins: BinPair, level: float = 0.9) -> HeatMap:
    rows, cols = bins
    values, share = maps.posterior_cells(subject.posterior, what, rows, cols, level, least=SAMPLED)
    notes, marks = [subject.scale_note], []
    if rows.binned or cols.binned:
        sample = "" if share == 1 else f", from a sample of {percent(share)}"
        average = "mean" if what == "mean" else "root mean square"
        notes.insert(0, f"each cell the {average} of {rows.sizes.max()} x {cols.sizes.max()} entries{sample}")
    elif rows.n * cols.n <= DOTTED:
        measured = Entries.from_keys(subject.measured_keys, subject.shape[1])
        marks.append(_marks(subject, "measured", measured, ["measured"] * len(measured.rows), bins))
    answer = ANSWER_WORDS[subject.likelihood.kind]
    title, unit = {
        "mean": (f"{answer[0].upper()}{answer[1:]}", answer),
        "sd": ("Uncertainty", f"sd of the {answer}" if subject.likelihood.discrete else "posterior sd"),
        "width": ("Interval width", f"width of {100 * level:g}% interval"),
    }[what]
    note, unit = "; ".join(filter(None, notes)), subject.with_unit(unit)
    scale: Scale = "value" if what == "mean" else "uncertainty"
    record = _heat_map(subject, title, note, unit, values, bins, scale)._replace(marks=tuple(marks))
    return record._replace(ticks=SHARES) if what == "mean" and subject.likelihood.kind == "yes/no" else record


def next_batch(campaign: Source, n: int = 8, *, order: Order = None, unit: str = "") -> Plot:
    """The n entries that `ask` would hand out next (nothing is asked for), and what is pending, on the map."""
    subject = Subject.check(campaign, unit)
    batch = subject.next_batch(n)
    many = len(batch.rows)
    with_model = bool(np.isfinite(batch.sd).any()) or (not many and len(subject.measured_keys) > 0)
    bins = _bins(subject, order)
    base = _posterior_map(subject, "sd", bins) if with_model else _measurement_map(subject, bins)
    waiting = subject.pending
    pending = Entries.from_lists([a.row for a in waiting], [a.col for a in waiting])
    words = ANSWER_WORDS[subject.likelihood.kind] if subject.likelihood.discrete else "predicted"
    hints = [_prediction(batch, k, words) for k in range(many)]
    marks = [
        *(m for m in base.marks if m.kind == "measured"),
        _marks(subject, "pending", pending, [f"pending, id {a.id}" for a in waiting], bins),
        _marks(subject, "next", Entries(batch.rows, batch.cols), hints, bins),
        _failure_marks(subject, bins),
    ]
    note = f"the next {many}" if many else f"none next: {batch.why}"
    note += f", {len(waiting)} pending" if waiting else ""
    if many and batch.why:  # a sentence, or the name of a criterion
        note += f"; {batch.why if ' ' in batch.why else 'chosen by ' + batch.why.replace('_', ' ')}"
    title = subject.title("Next batch")
    return Plot(base._replace(title=title, note=note, marks=tuple(m for m in marks if len(m.rows))))


def _prediction(batch: Batch, k: int, words: str) -> str:
    place = f"{k + 1} of the next {len(batch.rows)}"
    if not np.isfinite(batch.mean[k]):
        return place
    return f"{place}, {words} {batch.mean[k]:.4g} ± {batch.sd[k]:.3g}"


def _heat_map(
    subject: Subject, title: str, note: str, unit: str, values: Array, bins: BinPair, scale: Scale
) -> HeatMap:
    known = values[np.isfinite(values)]
    logarithmic, ticks = False, subject.likelihood.words if scale == "value" else ()
    if ticks:
        limits = ticks[0][0], ticks[-1][0]
    elif scale == "share":
        limits = 0.0, max(float(values.max()), 1e-9)
    elif subject.transform.kind == "log" and known.size and known.min() > 0:
        low, high = colour_limits(np.log(values))
        limits, logarithmic = (float(np.exp(low)), float(np.exp(high))), True
    else:
        limits = colour_limits(values)
    rows, cols = map(side, bins, subject.axis_titles, (subject.row_labels, subject.col_labels))
    return HeatMap(
        subject.title(title), note, unit, values, rows, cols, scale, limits, logarithmic, ticks=ticks
    )


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


def _marks(subject: Subject, kind: Kind, entries: Entries, hints: Sequence[str], bins: BinPair) -> Marks:
    names = tuple(
        f"{subject.entry_name(i, j)}: {hint}"
        for i, j, hint in zip(entries.rows, entries.cols, hints, strict=True)
    )
    rows, cols = bins
    return Marks(kind, rows.cells_at(entries.rows), cols.cells_at(entries.cols), names)


def _failure_marks(subject: Subject, bins: BinPair) -> Marks:
    return _marks(subject, "failed", subject.failed, ["failed"] * len(subject.failed.rows), bins)


# Rows and columns of a map


def _bins(subject: Subject, order: Order) -> BinPair:
    if order is not None and not is_choice(order, ("clustered",)):
        raise ParameterError(f"expected order to be None or 'clustered', got {order!r}.")
    orders = map(np.arange, subject.shape) if order is None else cluster_order(subject.posterior.belief)
    rows, cols = (Bins.split(side) for side in orders)
    return rows, cols


def side(bins: Bins, title: str, labels: Sequence[Any] | None) -> AxisLabels:
    """The names of cells: "A … F" for rows in their own order, "A + 5" for rows in another."""
    in_order = bool((np.diff(bins.order) > 0).all())
    names = [one_line(i if labels is None else labels[i]) for i in bins.order.tolist()]
    cells = []
    for first, last in pairwise(bins.edges.tolist()):
        others = f" … {names[last - 1]}" if in_order else f" + {last - first - 1}"
        cells.append(names[first] + (others if last > first + 1 else ""))
    return AxisLabels(title, tuple(cells), len(names))


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
