"""Charts: are intervals right, did the sampler converge, what is best, what is the low-rank part, how did it go.

Calibration. Each value has a place u from 0 to 1 in the distribution predicted for it; the share of values with
|2u - 1| <= level is the coverage of intervals of that level (`summary/places.py`). Predictions come from the most
telling source there is: values held out of the fit; in a campaign, the prediction stored when an entry was asked for;
else the fitted values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from threadpoolctl import threadpool_limits

from maxentry._types import Array, Flags, Indices
from maxentry.belief import Entries
from maxentry.errors import DataError, ParameterError
from maxentry.model.goal import OVERALL, Goal, Line
from maxentry.model.likelihood import ANSWER_WORDS
from maxentry.plots.plot import Plot, Subject
from maxentry.plots.records import LONGEST, Chart, Panel, Series
from maxentry.plots.style import BLUE, GREEN, GREY, INK, PURPLE, VERMILLION
from maxentry.posterior.diagnostics import LONG_RHAT, POPULATION_RHAT
from maxentry.posterior.draws import gram_matrices
from maxentry.posterior.draws import singular_values as spectrum
from maxentry.posterior.intervals import check_level, predict, quantiles
from maxentry.summary.error_curve import POINTS, ErrorCurve, curve_sizes, pair_predictions, surprises
from maxentry.summary.held_out import chance_range, describe_shares, is_chance
from maxentry.summary.places import place_values, scale_errors, state_ends
from maxentry.summary.reasons import coherence_blocks, factors_of_rank, leading_rank
from maxentry.transform import ValueMap
from maxentry.wording import chance, count, one_line

if TYPE_CHECKING:
    from maxentry.campaign.ledger.tables import Measurement
    from maxentry.campaign.state import State
    from maxentry.observations import Observations
    from maxentry.plots.plot import Source
    from maxentry.posterior.decisions import Answer
    from maxentry.posterior.posterior import Posterior

LEVELS = np.concatenate([np.arange(0.05, 0.96, 0.05), [0.99]])
SHOWN = 200  # values with their intervals
FEWEST = 10  # predictions from which on a campaign is judged by them alone
CHAINS = 32  # lines of a trace
NAMED = 25  # rows or columns of a panel of coherences
LISTED = 40  # lines of an answer
RHAT_LIMITS = {"population": POPULATION_RHAT, "long": LONG_RHAT}
RANK_0 = "the posterior has rank 0, row and column means alone: there is no low-rank part to show"


# Calibration


class Predictions(NamedTuple):
    """Values, their places in the distributions predicted for them, and the means and intervals of those."""

    entries: Entries
    value: Array
    place: Array
    mean: Array
    low: Array
    high: Array


def calibration(source: Source, held_out: Any = None, *, level: float = 0.9, unit: str = "") -> Plot:
    """Are intervals right: values against their intervals, and coverage by level.

    held_out: values that were not fitted, in any form that `complete` takes. Without them, a campaign is judged by the
    predictions it made before entries were measured, and a posterior by the values it was fitted to.
    """
    check_level(level)
    subject = Subject.check(source, unit)
    if not subject.has_numbers and (held_out is None or subject.posterior.fit.likelihood.discrete):
        raise DataError(
            "expected measured numbers to judge intervals by, got yes or no, grades or limits alone."
        )
    predictions, about = _predictions(subject, held_out, level)
    covered = float(np.mean(np.abs(2 * predictions.place - 1) <= level))
    n = len(predictions.value)
    note = f"{about}; {covered:.0%} of {n:,} inside their {100 * level:g}% intervals{_judge_share(covered, n, level)}"
    panels = _value_panel(subject, predictions, level), coverage_panel(predictions.place)
    return Plot(Chart(subject.title("Calibration"), note, panels))


def _judge_share(covered: float, n: int, level: float) -> str:
    """Say which shares of n values lie inside right intervals nine times in ten, and whether this one does."""
    low, high = chance_range(n, level)
    verdict = "as right intervals have" if is_chance(covered, low, high) else "right ones have"
    return f" ({verdict}: {describe_shares(low, high)} of {n:,})"


def _predictions(subject: Subject, held_out: Any, level: float) -> tuple[Predictions, str]:
    if held_out is not None:
        entries, data = _read_held_out(subject, held_out)
        return _predict_data(subject.posterior, entries, data, level), "values held out of the fit"
    if isinstance(subject.source, tuple):
        stored = predictions_from_asks(subject, level)
        if len(stored.value) >= FEWEST:
            return stored, "measured values against the predictions stored when they were asked for"
    data = subject.posterior.observations
    predictions = _predict_data(subject.posterior, Entries.from_lists(data.rows, data.cols), data, level)
    return predictions, "values that were fitted, so they look better than new ones would"


def _predict_data(posterior: Posterior, entries: Entries, data: Observations, level: float) -> Predictions:
    ends = None if data.low is None or data.high is None else (data.low, data.high)
    return predict_by_posterior(posterior, entries, data.values, level, ends, data.se)


def _read_held_out(subject: Subject, held_out: Any) -> tuple[Entries, Observations]:
    """Held-out values by label, in any form that `complete` takes; labels that the matrix lacks are refused."""
    from maxentry.observations import Observations

    data = held_out if isinstance(held_out, Observations) else Observations.of(held_out)
    fitted = subject.posterior.observations
    for k, labels in enumerate((data.row_labels, data.col_labels)):
        if labels is None and data.shape[k] != fitted.shape[k]:
            raise DataError(f"expected held-out values of a {fitted.shape} matrix, got {data.shape}.")
    by_row, by_col = data.row_labels, data.col_labels
    rows = data.rows if by_row is None else fitted.row_index([by_row[i] for i in data.rows])
    cols = data.cols if by_col is None else fitted.col_index([by_col[j] for j in data.cols])
    return Entries.from_lists(rows, cols), data


def predict_by_posterior(
    posterior: Posterior,
    entries: Entries,
    values: Array,
    level: float,
    ends: tuple[Array, Array] | None = None,
    se: Array | None = None,
) -> Predictions:
    """Values, their places (see `place_values`, also for ends and se), and means and intervals of those shown."""
    belief, n = posterior.belief, len(values)
    values = np.asarray(values, dtype=np.float64)
    place = place_values(posterior, entries, values, ends, se)
    error = scale_errors(posterior, entries, values, se)
    shown = _spread(n)
    rows, cols = entries.rows[shown], entries.cols[shown]
    prediction = predict(belief, rows, cols, level, posterior.answers, posterior.observations.form)
    shown_ends = prediction.new_low, prediction.new_high
    if error is not None:
        shown_ends = _ends_with_errors(posterior, rows, cols, error[shown], level)
    columns = np.full((3, n), np.nan)
    columns[:, shown] = prediction.mean, *shown_ends
    return Predictions(entries, values, place, *columns)


def _ends_with_errors(
    posterior: Posterior, rows: Indices, cols: Indices, error: Array, level: float
) -> tuple[Array, Array]:
    """Intervals of measurements with standard errors of their own, on the scale of the model."""
    answers, extra = posterior.answers, posterior.noise_law.stratified()
    x = posterior.belief.at(rows, cols)
    noisy = answers.add_noise(x, extra, rows, cols)
    noisy += error * np.random.default_rng(0).standard_normal((len(noisy), 1))
    low, high = (posterior.value_map.inverse(end, rows, cols) for end in quantiles(noisy, level))
    return posterior.likelihood.readings(low, answers.law), posterior.likelihood.readings(high, answers.law)


def predictions_from_asks(subject: Subject, level: float) -> Predictions:
    """Measured values in the normal distribution predicted when they were asked for, with today's noise."""
    _, state = subject.require_campaign("has asked for entries")
    pairs = pair_predictions(state, limits=True)
    entries = Entries.from_lists([m.row for m, _ in pairs], [m.col for m, _ in pairs])
    value, mean, sd = (np.array(x, dtype=np.float64) for x in (
        [m.value for m, _ in pairs], [ask.mean for _, ask in pairs], [ask.sd for _, ask in pairs]
    ))  # fmt: skip
    if not pairs:
        return Predictions(entries, value, value, value, value, value)
    transform = subject.transform
    centre = transform.forward(mean)
    # To first order: the sd is in the user's units, the noise on the scale of the model.
    slope = transform.slope(centre)
    noise_sd = subject.posterior.noise_sd * subject.posterior.value_map.factor(entries.rows, entries.cols)
    errors = np.array([m.se or 0.0 for m, _ in pairs]) / slope
    spread = np.sqrt((sd / slope) ** 2 + noise_sd**2 + errors**2)
    reach, likelihood = ndtri(0.5 + level / 2) * spread, state.settings.likelihood
    law = subject.posterior.noise_law
    ends = (likelihood.readings(transform.inverse(centre + side * reach), law) for side in (-1, 1))
    own = np.array([_own_ends(m) for m, _ in pairs]).T
    below, place = (
        ndtr((ValueMap(transform).forward_end(end, *entries) - centre) / spread)
        for end in state_ends(value, (own[0], own[1]), likelihood.limits)
    )
    place = below + np.where(below < place, np.random.default_rng(0).random(len(value)), 1.0) * (
        place - below
    )
    return Predictions(entries, value, place, mean, *ends)


def _own_ends(measurement: Measurement) -> tuple[float, float]:
    """The ends of a limit or a range; of a value itself."""
    if measurement.limits is None:
        return measurement.value, measurement.value
    low, high = measurement.limits
    return -np.inf if low is None else low, np.inf if high is None else high


def _spread(n: int) -> Indices:
    return np.unique(np.linspace(0, n - 1, min(n, SHOWN)).astype(np.int64))


def _value_panel(subject: Subject, predictions: Predictions, level: float) -> Panel:
    shown = _spread(len(predictions.value))
    rows, cols = predictions.entries.rows[shown], predictions.entries.cols[shown]
    value, _, mean, low, high = (x[shown] for x in predictions[1:])
    labels = tuple(
        f"{subject.entry_name(i, j)}: {v:.4g}, predicted {m:.4g} ({a:.4g} to {b:.4g})"
        for i, j, v, m, a, b in zip(rows, cols, value, mean, low, high, strict=True)
    )
    ends = np.array([min(value.min(), mean.min()), max(value.max(), mean.max())])
    return Panel(
        f"values and {100 * level:g}% intervals",
        subject.with_unit("measured"),
        subject.with_unit("predicted"),
        (
            Series("", ends, ends, kind="line", color=GREY, dashes="dotted"),
            Series("", value, mean, low, high, "dots", BLUE, labels=labels),
        ),
        logarithmic=subject.transform.kind == "log",
    )


def coverage_panel(place: Array) -> Panel:
    """The share of values inside intervals of each level, by their places in the predicted distributions."""
    covered = np.mean(np.abs(2 * place - 1)[:, None] <= LEVELS, axis=0)
    low, high = map(np.asarray, chance_range(len(place), LEVELS))
    return Panel(
        "coverage",
        "level of the interval",
        "share of values inside",
        (
            Series("range of right intervals (90%)", LEVELS, LEVELS, low, high, "band", GREY),
            Series("", np.array([0.0, 1.0]), np.array([0.0, 1.0]), kind="line", color=INK, dashes="dotted"),
            Series("inside", LEVELS, covered, kind="line and dots", color=BLUE),
        ),
        unit_square=True,
    )


# The sampler


def trace(source: Source, *, unit: str = "") -> Plot:
    """The chains of the sampler: noise, overall mean and leading singular value. They should overlap and not drift."""
    subject = Subject.check(source, unit)
    posterior = subject.posterior
    draws = posterior.draws
    quantities = {"noise sd": np.sqrt(draws.eta2), "overall mean": draws.mu}
    if draws.rank:
        quantities["leading singular value"] = spectrum(
            gram_matrices(draws.left), gram_matrices(draws.right)
        )[..., 0]
    panels = tuple(
        Panel(name, "draw", "" if subject.scale_note else subject.unit, (_chain_lines(values, color),))
        for (name, values), color in zip(quantities.items(), (VERMILLION, BLUE, GREEN), strict=False)
    )
    chains = len(draws.mu)
    number = f"{CHAINS} of {chains}" if chains > CHAINS else f"{chains}"
    latent = "of the latent numbers" if subject.likelihood.discrete else f"on the {subject.transform} scale"
    scale = f"; {latent}" if subject.scale_note else ""
    advice = "those of one rank should cover the same range and not drift"
    note = f"{number} chains, a line each: {advice}; {rank_shares(posterior)}{scale}"
    return Plot(Chart(subject.title("Traces"), note, panels))


def rank_shares(posterior: Posterior) -> str:
    """The rank, or the ranks with their shares of the chains."""
    weights = posterior.rank_weights
    if len(weights) == 1:
        return f"rank {posterior.rank}"
    return "ranks " + ", ".join(f"{rank} ({share:.0%} of chains)" for rank, share in weights.items())


def _chain_lines(values: Array, color: str) -> Series:
    """All chains as one line with gaps."""
    some = np.asarray(values, dtype=np.float64)[:CHAINS]
    chains, n = some.shape
    x = np.tile(np.append(np.arange(1.0, n + 1), np.nan), chains)
    y = np.concatenate([some, np.full((chains, 1), np.nan)], axis=1)
    return Series("", x, y.ravel(), kind="line", color=color)


def rhat(source: Source) -> Plot:
    """R-hat of all monitored quantities, group by group; 1 is perfect agreement of the chains."""
    subject = Subject.check(source)
    diagnostics = subject.posterior.diagnostics
    groups = tuple(dict.fromkeys(diagnostics.groups))
    limit = RHAT_LIMITS[diagnostics.kind]
    heights = np.array([groups.index(group) for group in diagnostics.groups], dtype=np.float64)
    # Points of a group are spread out by a fixed rule, so that the figure is always the same.
    apart = 0.28 * (2 * np.modf(np.arange(len(heights)) * 0.618034)[0] - 1)
    pairs = zip(diagnostics.names, diagnostics.rhat, strict=True)
    labels = tuple(f"{name}: {value:.3f}" for name, value in pairs)
    medians = np.array([np.median(diagnostics.rhat[diagnostics.in_group(group)]) for group in groups])
    y = np.arange(len(groups), dtype=np.float64)
    ends = np.array([-0.5, len(groups) - 0.5])
    series = (
        Series("", np.full(2, limit), ends, kind="line", color=GREY, dashes="dotted"),
        Series("each", diagnostics.rhat, heights + apart, kind="dots", color=BLUE, labels=labels),
        Series("median", medians, y, kind="dots", color=PURPLE, labels=tuple(f"{m:.3f}" for m in medians)),
    )
    verdict = "converged" if diagnostics.converged else "not converged"
    note = f"{verdict}; dotted: {limit:g}, below which all should lie"
    if diagnostics.kind == "population":
        beyond = f"right of the dotted line ({limit:g}) chains disagree, and intervals include that"
        note = f"{verdict}, judged by the Monte Carlo error of what is answered and not by R-hat; {beyond}"
    return Plot(Chart(subject.title("R-hat"), note, (Panel("", "R-hat", "", series, groups),)))


# The low-rank part


def singular_values(source: Source, *, level: float = 0.9, unit: str = "") -> Plot:
    """The singular values of the low-rank part, without row and column means, with intervals."""
    check_level(level)
    subject = Subject.check(source, unit)
    posterior = subject.posterior
    title, draws = subject.title("Singular values"), posterior.draws
    if draws.rank == 0:
        return Plot(Chart(title, RANK_0, ()))
    with threadpool_limits(1):
        values = spectrum(gram_matrices(draws.left), gram_matrices(draws.right)).reshape(-1, draws.rank)
    middle = np.median(values, axis=0)
    low, high = quantiles(values, level)
    number = np.arange(1.0, len(middle) + 1)
    labels = tuple(
        f"{k:g}: {m:.4g} ({a:.4g} to {b:.4g})" for k, m, a, b in zip(number, middle, low, high, strict=True)
    )
    series = Series("", number, middle, low, high, "dots", BLUE, labels=labels)
    unit = "on the scale of the model" if subject.scale_note else subject.unit
    y_label = f"singular value ({unit})" if unit else "singular value"
    mixed = "; what a chain of lower rank lacks counts as 0" if len(posterior.rank_weights) > 1 else ""
    note = f"medians with {100 * level:g}% intervals; {rank_shares(posterior)}{mixed}"
    panel = Panel("", "number", y_label, (series,), from_zero=True, whole=True)
    return Plot(Chart(title, note, (panel,)))


def coherence(source: Source, *, level: float = 0.9) -> Plot:
    """Which rows and columns are unlike the others: their coherence with the low-rank part, highest first.

    Coherences are the diagonals of the projections (paper, section 3.2). Where ranks are mixed, they are of the chains
    of one rank: the one with the most chains among those with a low-rank part.
    """
    check_level(level)
    subject = Subject.check(source)
    posterior, title = subject.posterior, subject.title("Coherence")
    if (R := leading_rank(posterior)) == 0:
        return Plot(Chart(title, RANK_0, ()))
    left, right = factors_of_rank(posterior, R)
    panels = (
        _coherence_panel("rows", coherence_intervals(left, level), subject.row_labels, R, BLUE),
        _coherence_panel("columns", coherence_intervals(right, level), subject.col_labels, R, VERMILLION),
    )
    note = (
        f"means with {100 * level:g}% intervals, highest first; dotted: all alike. What has a high coherence is hard"
        " to predict from the others, and worth measuring"
    )
    if len(posterior.rank_weights) > 1:
        note += f". Of the chains of rank {R}; {rank_shares(posterior)}"
    return Plot(Chart(title, note, panels))


def coherence_intervals(factors: NDArray[np.floating], level: float) -> tuple[Array, Array, Array]:
    """Mean, low and high of the coherence of each row."""
    parts = [(block.mean(0), *quantiles(block, level)) for block in coherence_blocks(factors)]
    mean, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
    return mean, low, high


def _coherence_panel(
    side: str, intervals: tuple[Array, Array, Array], labels: Sequence[Any] | None, rank: int, color: str
) -> Panel:
    mean, low, high = intervals
    even = rank / len(mean)  # coherences add up to the rank
    order = np.argsort(-mean, kind="stable")[:NAMED]
    names = tuple(one_line(int(k) if labels is None else labels[k]) for k in order)
    hints = tuple(
        f"{name}: coherence {mean[k]:.3g} ({low[k]:.3g} to {high[k]:.3g}), {mean[k] / even:.3g} times the average"
        for name, k in zip(names, order, strict=True)
    )
    y = np.arange(len(order), dtype=np.float64)
    middle, left, right = (x[order] / even for x in (mean, low, high))
    ends = np.array([-0.5, len(order) - 0.5])
    series = (
        Series("", np.ones(2), ends, kind="line", color=GREY, dashes="dotted"),
        Series("", middle, y, left, right, "dots", color, labels=hints),
    )
    which = f"the {NAMED} highest of {len(mean):,}" if len(mean) > NAMED else f"all {len(mean)}"
    x_label = "coherence, in units of its average R/m"
    return Panel(f"{side}, {which}", x_label, "", series, names, from_zero=True)


# Answers to goals


def best(
    source: Source, k: int | None = None, per: Line | None = None, *, smallest: bool = False, level: float = 0.9,
    unit: str = "",
) -> Plot:  # fmt: skip
    """The largest (or smallest) entries, of all or of each row or column, and those that may be better."""
    subject = Subject.check(source, unit)
    goal = Goal("best", -1 if smallest else 1, per, (OVERALL if per is None else 1) if k is None else k)
    found = subject.posterior.answer(goal, level)
    which = "smallest" if smallest else "best"
    pairs = zip(found.table["row"], found.table["col"], strict=True)
    named = ((one_line(i), one_line(j)) for i, j in pairs)
    names = tuple(f"{j}: {i}" if per == "column" else f"{i}: {j}" for i, j in named)
    chosen = np.asarray(found.table["place"]) > 0
    groups = (which, chosen, BLUE), ("may be better", ~chosen, GREY)
    panel = _answer_panel(subject, found, names, groups, f"P({which})")
    of = "all entries" if per is None else f"each {per}"
    note = f"the {which} of {of}, with {100 * level:g}% intervals. {found.summary[-1]}"
    return Plot(Chart(subject.title(which.capitalize()), note, (panel,)))


def ranking(
    source: Source, of: Literal["rows", "columns"] = "rows", *, weights: Any = None, smallest: bool = False,
    level: float = 0.9, unit: str = "",
) -> Plot:  # fmt: skip
    """Rows (or columns) by their average, the best first, with intervals; ties are marked.

    "=": the order of this line and the next (or the one before) is less sure than the level. weights: those of the
    campaign if its goal is this ranking.
    """
    subject = Subject.check(source, unit)
    goal = Goal.rank(of, smallest)
    own = subject.source[1].settings.wanted if isinstance(subject.source, tuple) else Goal()
    if weights is None and goal.averaged == own.averaged:
        goal = replace(goal, weights=own.weights)
    found = subject.posterior.answer(goal, level, weights)
    tied = np.asarray(found.table["tied"])
    marks = tied | np.append(False, tied[:-1])
    names = tuple(
        f"{one_line(label)} =" if mark else one_line(label)
        for label, mark in zip(found.labels, marks, strict=True)
    )
    leading = np.asarray(found.table["rank_low"]) == 1
    groups = ("may be the best", leading, VERMILLION), ("others", ~leading, BLUE)
    panel = _answer_panel(subject, found, names, groups, "P(best)")
    averages = "averages" if found.goal.weights is None else "weighted averages"
    ties = f" =: neighbours whose order is less sure than {100 * level:g}%." if tied.any() else ""
    note = f"{averages} with {100 * level:g}% intervals.{ties} {found.summary[-1]}"
    return Plot(Chart(subject.title(f"Ranking of {of}"), note, (panel,)))


def _answer_panel(
    subject: Subject,
    found: Answer,
    names: tuple[str, ...],
    groups: Sequence[tuple[str, Flags, str]],
    what: str,
) -> Panel:
    """A line for each name from the top, groups in colours of their own."""
    columns = ("estimate", "low", "high", "probability")
    middle, low, high, share = (np.asarray(found.table[name], dtype=np.float64)[:LISTED] for name in columns)
    hints = [
        f"{name}: {m:.4g} ({a:.4g} to {b:.4g}), {what} {chance(p)}"
        for name, m, a, b, p in zip(names, middle, low, high, share, strict=False)
    ]
    y, series = np.arange(len(middle), dtype=np.float64), []
    for name, whole, color in groups:
        mine = np.flatnonzero(whole[:LISTED])
        if len(mine):
            labels = tuple(hints[a] for a in mine)
            series.append(
                Series(name, middle[mine], y[mine], low[mine], high[mine], "dots", color, labels=labels)
            )
    told = [f"{name} ({chance(p)})" if p >= 0.005 else name for name, p in zip(names, share, strict=False)]
    shown = tuple(text if len(text) <= LONGEST else name for text, name in zip(told, names, strict=False))
    title = f"the first {LISTED} of {len(names):,}" if len(names) > LISTED else ""
    return Panel(title, subject.with_unit("estimate"), "", tuple(series), shown)


# History


def history(campaign: Source, *, points: int = POINTS, unit: str = "") -> Plot:
    """The expected error as measurements came in, how far off predictions were, and the pace of asking and telling.

    points: how many points the curve of the expected error has at most, a fit or two each the first time; 0: none.
    """
    subject = Subject.check(campaign, unit)
    opened, state = subject.require_campaign("has a history")
    if isinstance(points, bool) or not isinstance(points, int) or points < 0:
        raise ParameterError(f"expected a whole number of points from 0 on, got {points!r}.")
    curve = ErrorCurve(opened.cache if isinstance(opened.cache, Path) else None)
    panels = _error_panel(subject, state, curve, points), _pace_panel(subject, state)
    shown = tuple(panel for panel in panels if panel.series)
    note = f"{count(len(state.standing), 'measurement')} in {count(state.version, 'event')}"
    note = note if shown else "no entries asked for or measured yet"
    return Plot(Chart(subject.title("History"), note, shown))


def _error_panel(subject: Subject, state: State, curve: ErrorCurve, points: int) -> Panel:
    curve.complete(state, lambda: subject.posterior, points)
    known = curve.points_at(state, curve_sizes(state, points))
    x, errors = (np.array([p[k] for p in known], dtype=np.float64) for k in (0, 1))
    hints = tuple(f"{p.measurements} measurements: {p.error:.3g}" for p in known)
    surprise = surprises(state, lambda: subject.posterior)
    at = surprise.measurements
    series = [
        Series("expected error of the matrix", x, errors, kind="line and dots", color=BLUE, labels=hints),
        Series("error of predictions", at, surprise.error, kind="dots", color=VERMILLION),
        Series("their expected error", at, surprise.expected, kind="dots", color=PURPLE),
    ]
    if state.settings.target_sd is not None and known:
        target = np.full(2, state.settings.target_sd)
        series.append(Series("target", x[[0, -1]], target, color=GREY, dashes="dotted"))
    likelihood = state.settings.likelihood
    about = f" of the {ANSWER_WORDS[likelihood.kind]}" if likelihood.discrete else ""
    return Panel(
        "expected error and predictions",
        "measurements",
        subject.with_unit("error") if subject.unit else f"error{about} (root mean square)",
        tuple(s for s in series if len(s.y)),
        from_zero=True,
    )


def _pace_panel(subject: Subject, state: State) -> Panel:
    """Entries asked for and measured, over time."""
    times: tuple[tuple[str, list[dt.datetime], str, Any], ...] = (
        ("asked for", [a.asked_at for a in state.asked.values()], BLUE, "dashed"),
        ("measured", [m.told_at for m in state.standing], GREEN, "solid"),
    )
    series = []
    for name, moments, color, dashes in times:
        if moments:
            at, counts = np.unique(np.array(moments, dtype=object), return_counts=True)
            steps = [at[0], *at, max(subject.now, at[-1])]
            total = np.cumsum(counts, dtype=np.float64)
            heights = np.concatenate([[0.0], total, total[-1:]])
            series.append(Series(name, steps, heights, kind="steps", color=color, dashes=dashes))
    return Panel("pace", "time (UTC)", "entries", tuple(series), from_zero=True)
