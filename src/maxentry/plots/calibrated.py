"""Are the intervals right: values against what was expected of them, and how many fell inside.

Each value has a place u in the law that was predicted of it, from 0 to 1. The share of values with |2u - 1| <= level
is the coverage of intervals of that level. Three sources, the most telling first: values held out of the fit; in a
campaign, what was believed of an entry when it was asked for, before anybody knew; the values that were fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from maxentry.belief import BLOCK_NUMBERS
from maxentry.entries import Entries
from maxentry.errors import DataError
from maxentry.plots.bins import text
from maxentry.plots.colours import BLUE, GREY, INK
from maxentry.plots.records import Array, Chart, Panel, Series
from maxentry.plots.subject import Subject

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

LEVELS = np.concatenate([np.arange(0.05, 0.96, 0.05), [0.99]])
SHOWN = 200  # values with their intervals
FEWEST = 10  # told of asked entries, for a judgement by them alone


class Foreseen(NamedTuple):
    """Values, their places in the laws predicted of them, and the means and intervals of those."""

    entries: Entries
    value: Array
    place: Array
    mean: Array
    low: Array
    high: Array


def calibration(subject: Subject, held_out: Any = None, level: float = 0.9) -> Chart:
    """Values against their intervals; coverage by level, with where it would be by chance if all were right."""
    from maxentry.posterior.intervals import check_level

    check_level(level)
    found, how = _foreseen(subject, held_out, level)
    covered = float(np.mean(np.abs(2 * found.place - 1) <= level))
    n = len(found.value)
    note = f"{how}; {covered:.0%} of {n:,} inside their {100 * level:g}% intervals"
    return Chart(subject.headed("Calibration"), note, (_values(subject, found, level), _coverage(found)))


def _foreseen(subject: Subject, held_out: Any, level: float) -> tuple[Foreseen, str]:
    if held_out is not None:
        return from_posterior(
            subject.posterior, *_read(subject, held_out), level
        ), "values held out of the fit"
    if subject.state is not None:
        told = as_asked(subject, level)
        if len(told.value) >= FEWEST:
            return told, "what was told, against what was believed when it was asked for"
    entries, values = subject.told
    how = "values that were fitted, so they look better than new ones would"
    return from_posterior(subject.posterior, entries, values, level), how


def _read(subject: Subject, held_out: Any) -> tuple[Entries, Array]:
    """Held-out values by label, in any form that `complete` takes; labels that the matrix has not are refused."""
    from maxentry.observations import Observations

    data = held_out if isinstance(held_out, Observations) else Observations.of(held_out)
    fitted = subject.posterior.observations
    for k, labels in enumerate((data.row_labels, data.col_labels)):
        if labels is None and data.shape[k] != fitted.shape[k]:
            raise DataError(f"expected held-out values of a {fitted.shape} matrix, but {data.shape} came.")
    by_row, by_col = data.row_labels, data.col_labels
    rows = data.rows if by_row is None else fitted.row_index([by_row[i] for i in data.rows])
    cols = data.cols if by_col is None else fitted.col_index([by_col[j] for j in data.cols])
    return Entries.of(rows, cols), data.values


def from_posterior(posterior: Posterior, entries: Entries, values: Array, level: float) -> Foreseen:
    """Places in the posterior predictive law: the mean over the draws of the noise's distribution function."""
    belief, transform = posterior.belief, posterior.transform
    sd, nu = np.sqrt(belief.noise_var), posterior._noise().nu
    z = transform.forward(values)
    place = np.empty(len(z))
    step = max(1, BLOCK_NUMBERS // belief.n_draws)
    for start in range(0, len(z), step):
        part = slice(start, start + step)
        distance = (z[part] - belief.at(entries.rows[part], entries.cols[part])) / sd[:, None]
        place[part] = (ndtr(distance) if nu is None else stdtr(nu[:, None], distance)).mean(0)
    shown = _spread(len(z))
    told = posterior.observations
    rows = entries.rows if told.row_labels is None else [told.row_labels[i] for i in entries.rows[shown]]
    cols = entries.cols if told.col_labels is None else [told.col_labels[j] for j in entries.cols[shown]]
    rows, cols = (x[shown] if isinstance(x, np.ndarray) else x for x in (rows, cols))
    seen = posterior.predict(rows, cols, level)
    full = np.full((3, len(z)), np.nan)
    full[:, shown] = seen.mean, seen.new_low, seen.new_high
    return Foreseen(entries, np.asarray(values, dtype=np.float64), place, *full)


def as_asked(subject: Subject, level: float) -> Foreseen:
    """What was told, in the normal law of the mean and sd believed when it was asked for, with today's noise."""
    state = subject.state
    assert state is not None
    pairs = [
        (m, state.asked[m.id])
        for m in state.standing
        if m.id is not None and np.isfinite(state.asked[m.id].sd)
    ]
    entries = Entries.of([m.row for m, _ in pairs], [m.col for m, _ in pairs])
    value = np.array([m.value for m, _ in pairs])
    mean, sd = (np.array([getattr(a, name) for _, a in pairs]) for name in ("mean", "sd"))
    if not pairs:
        return Foreseen(entries, value, value, value, value, value)
    transform, noise = subject.transform, subject.posterior.noise_sd
    z, centre = transform.forward(value), transform.forward(mean)
    # To first order: the sd is in the user's units, the noise on the scale of the model.
    slope = (transform.inverse(centre + 1e-4) - transform.inverse(centre - 1e-4)) / 2e-4
    spread = np.sqrt((sd / slope) ** 2 + noise**2)
    reach = ndtri(0.5 + level / 2) * spread
    ends = transform.inverse(centre - reach), transform.inverse(centre + reach)
    return Foreseen(entries, value, ndtr((z - centre) / spread), mean, *ends)


def _spread(n: int) -> Any:
    return np.unique(np.linspace(0, n - 1, min(n, SHOWN)).astype(np.int64))


def _values(subject: Subject, found: Foreseen, level: float) -> Panel:
    shown = _spread(len(found.value))
    mean, value = found.mean[shown], found.value[shown]
    low, high = found.low[shown], found.high[shown]
    rows, cols = subject.row_labels, subject.col_labels
    labels = tuple(
        f"{text(int(i) if rows is None else rows[i])}, {text(int(j) if cols is None else cols[j])}: {v:.4g}, "
        f"expected {m:.4g} ({a:.4g} to {b:.4g})"
        for i, j, v, m, a, b in zip(
            found.entries.rows[shown], found.entries.cols[shown], value, mean, low, high, strict=True
        )
    )
    ends = np.array([min(value.min(), mean.min()), max(value.max(), mean.max())])
    return Panel(
        f"values and {100 * level:g}% intervals",
        subject.measured_in("measured"),
        subject.measured_in("expected"),
        (
            Series("", ends, ends, kind="line", color=GREY, dashes="dotted"),
            Series("", value, mean, low, high, "dots", BLUE, labels=labels),
        ),
        logarithmic=subject.transform.kind == "log",
    )


def _coverage(found: Foreseen) -> Panel:
    from scipy.stats import binom  # here, since loading it takes longer than all the rest

    n = len(found.place)
    covered = np.mean(np.abs(2 * found.place - 1)[:, None] <= LEVELS, axis=0)
    low, high = (np.asarray(binom.ppf(q, n, LEVELS)) / n for q in (0.05, 0.95))
    return Panel(
        "coverage",
        "level of the interval",
        "share of values inside",
        (
            Series("90% of the time, if all is right", LEVELS, LEVELS, low, high, "band", GREY),
            Series("", np.array([0.0, 1.0]), np.array([0.0, 1.0]), kind="line", color=INK, dashes="dotted"),
            Series("inside", LEVELS, covered, kind="line and dots", color=BLUE),
        ),
        unit_square=True,
    )
