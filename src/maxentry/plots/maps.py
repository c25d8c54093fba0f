"""Maps: what was measured, the posterior's mean, spread and interval width, and the next batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from maxentry.belief import Belief
from maxentry.errors import ParameterError
from maxentry.plots import bins as binning
from maxentry.plots.bins import Bins
from maxentry.plots.colours import Scale
from maxentry.plots.records import Array, HeatMap, Indices, Kind, Marks, limits
from maxentry.plots.subject import Subject

if TYPE_CHECKING:
    from maxentry.campaign.policy import BatchLike

Order = Literal["clustered"] | None

DOTTED = 2500  # cells of a map on which each measured entry can have a dot


def observed(subject: Subject, order: Order = None) -> HeatMap:
    """The measured values, replicates as their mean; where cells stand for many entries, the share measured."""
    rows, cols = _bins(subject, order)
    shape, keys = subject.shape, subject.told_keys
    share = 100.0 * len(keys) / (shape[0] * shape[1])
    note = f"{len(keys):,} of {shape[0]:,} x {shape[1]:,} entries measured ({share:.3g}%)"
    if rows.n < shape[0] or cols.n < shape[1]:
        values = 100 * binning.counted(keys, shape, rows, cols) / (rows.sizes[:, None] * cols.sizes)
        return _map(
            subject, "Measured entries", note, "% of entries measured", values, rows, cols, "share",
            (0.0, max(float(values.max()), 1e-9)),
        )  # fmt: skip
    entries, told = subject.told
    cells = rows.cell_of[entries.rows], cols.cell_of[entries.cols]
    total, count = np.zeros(shape), np.zeros(shape)
    np.add.at(total, cells, told)
    np.add.at(count, cells, 1.0)
    values = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    unit = subject.measured_in("measured value")
    shown = _map(subject, "Measured entries", note, unit, values, rows, cols, "value")
    failed = _failed(subject, rows, cols)
    return shown._replace(marks=(failed,) if len(failed.rows) else ())


def mean(subject: Subject, order: Order = None) -> HeatMap:
    """The posterior mean of every entry."""
    from maxentry.posterior.intervals import mean_map

    transform = subject.transform
    return _posterior_map(
        subject, "Posterior mean", "posterior mean", "value", order, lambda b: mean_map(b, transform)
    )


def sd(subject: Subject, order: Order = None) -> HeatMap:
    """The posterior standard deviation of every entry, without the noise of a measurement."""
    from maxentry.posterior.intervals import mean_map, sd_map

    def spread(belief: Belief) -> Array:
        return sd_map(belief, mean_map(belief, subject.transform), subject.transform)

    return _posterior_map(subject, "Uncertainty", "posterior sd", "uncertainty", order, spread)


def width(subject: Subject, order: Order = None, level: float = 0.9) -> HeatMap:
    """The width of the interval that holds each entry with this probability."""
    from maxentry.posterior.intervals import check_level, interval_map

    check_level(level)

    def between(belief: Belief) -> Array:
        low, high = interval_map(belief, level, None, subject.transform)
        return high - low

    unit = f"width of {100 * level:g}% interval"
    return _posterior_map(subject, "Interval width", unit, "uncertainty", order, between)


def next_batch(subject: Subject, n: int = 8, order: Order = None, batch: BatchLike | None = None) -> HeatMap:
    """Where a campaign would measure next, and what it waits for, on the map of uncertainty."""
    chosen = subject.upcoming(n) if batch is None else batch
    assert subject.state is not None
    with_model = bool(np.isfinite(chosen.sd).any()) or (len(chosen.rows) == 0 and len(subject.told_keys) > 0)
    base = sd(subject, order) if with_model else observed(subject, order)
    rows, cols = _bins(subject, order)
    said = [_expected(chosen, k) for k in range(len(chosen.rows))]
    waits = subject.pending
    marks = [
        *(m for m in base.marks if m.kind == "measured"),
        _marks(subject, "pending", [a.row for a in waits], [a.col for a in waits],
               [f"pending, id {a.id}" for a in waits], rows, cols),
        _marks(subject, "next", chosen.rows, chosen.cols, said, rows, cols),
        _failed(subject, rows, cols),
    ]  # fmt: skip
    many = len(chosen.rows)
    note = f"the next {many}" if many else f"none next: {chosen.why}"
    note += f", {len(waits)} pending" if waits else ""
    if many and chosen.why:
        note += f"; {chosen_by(chosen.why)}"
    return base._replace(
        title=subject.headed("Next batch"), note=note, marks=tuple(m for m in marks if len(m.rows))
    )


def chosen_by(why: str) -> str:
    """Why a batch is as it is, in words: the name of a criterion, or a sentence."""
    return why if " " in why else f"chosen by {why.replace('_', ' ')}"


def _expected(batch: BatchLike, k: int) -> str:
    place = f"{k + 1} of the next {len(batch.rows)}"
    if not np.isfinite(batch.mean[k]):
        return place
    return f"{place}, expected {batch.mean[k]:.4g} ± {batch.sd[k]:.3g}"


def _posterior_map(
    subject: Subject, title: str, unit: str, scale: Scale, order: Order, made: Callable[[Belief], Array]
) -> HeatMap:
    """A map of some of the entries of every cell, averaged."""
    rows, cols = _bins(subject, order)
    (row_at, row_starts), (col_at, col_starts) = rows.picked(), cols.picked()
    values = made(binning.part(subject.posterior.belief, row_at, col_at))
    values = binning.averaged(values, row_starts, col_starts)
    cells = ""
    if rows.n < subject.shape[0] or cols.n < subject.shape[1]:
        tall, wide = int(rows.sizes.max()), int(cols.sizes.max())
        looked = (
            f"{min(tall, binning.EACH)} x {min(wide, binning.EACH)} of its"
            if max(tall, wide) > binning.EACH
            else "its"
        )
        cells = f"each cell the average of {looked} {tall} x {wide} entries"
    note = "; ".join(part for part in (cells, subject.scale_note()) if part)
    marks: tuple[Marks, ...] = ()
    if rows.n * cols.n <= DOTTED and not cells:
        entries = subject.told_keys // subject.shape[1], subject.told_keys % subject.shape[1]
        marks = (_marks(subject, "measured", *entries, ["measured"] * len(subject.told_keys), rows, cols),)
    return _map(subject, title, note, subject.measured_in(unit), values, rows, cols, scale)._replace(
        marks=marks
    )


def _map(
    subject: Subject, title: str, note: str, unit: str, values: Array, rows: Bins, cols: Bins, scale: Scale,
    ends: tuple[float, float] | None = None,
) -> HeatMap:  # fmt: skip
    known = values[np.isfinite(values)]
    logarithmic = scale != "share" and subject.transform.kind == "log" and known.size > 0 and known.min() > 0
    if ends is None:
        ends = limits(np.log(values)) if logarithmic else limits(values)
        ends = (float(np.exp(ends[0])), float(np.exp(ends[1]))) if logarithmic else ends
    titles = subject.called
    sides = rows.side(titles[0], subject.row_labels), cols.side(titles[1], subject.col_labels)
    return HeatMap(subject.headed(title), note, unit, values, *sides, scale, ends, bool(logarithmic))


def _marks(
    subject: Subject, kind: Kind, rows: Sequence[int] | Indices, cols: Sequence[int] | Indices,
    said: Sequence[str], row_bins: Bins, col_bins: Bins,
) -> Marks:  # fmt: skip
    i, j = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    names = (
        f"{_label(subject.row_labels, a)}, {_label(subject.col_labels, b)}: {what}"
        for a, b, what in zip(i, j, said, strict=True)
    )
    return Marks(kind, row_bins.cell_of[i], col_bins.cell_of[j], tuple(names))


def _failed(subject: Subject, rows: Bins, cols: Bins) -> Marks:
    return _marks(subject, "failed", *subject.failed, ["failed"] * len(subject.failed.rows), rows, cols)


def _label(labels: Sequence[object] | None, i: int) -> str:
    return binning.text(int(i) if labels is None else labels[i])


def _bins(subject: Subject, order: Order) -> tuple[Bins, Bins]:
    if order not in (None, "clustered"):
        raise ParameterError(f"expected order to be None or 'clustered', but {order!r} came.")
    rows, cols = (None, None) if order is None else subject.clustered
    return binning.bins(subject.shape[0], rows), binning.bins(subject.shape[1], cols)
